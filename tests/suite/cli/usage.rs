//! The command line without a question: what it prints, how it exits, and what bad input gets.

use std::fs;
use std::io::Read as _;

use crate::support::environment::{QUESTION, TestEnvironment};

#[test]
fn commands_that_only_look_say_what_they_see() {
    let cases = [
        ("--version", "ragscope 0."),
        ("--help", "Answer one question over a folder"),
        ("ask --help", "--set <ROLE.KEY=VALUE>"),
        ("models", "ragscope-demo.Q8_0.gguf"),
        ("models --json", "\"used_as\": \"embedder\""),
        ("paths", "sessions"),
        ("paths --json", "\"sessions\":"),
        ("config", "# Number of chunks in the context;"),
        ("config --effective --set retriever.k=7", "k = 7"),
        ("config --json --seed 5", "\"seed\": 5"),
        (
            "--preset closed-book config --effective",
            "preset = \"closed-book\"",
        ),
        ("completions bash", "_ragscope()"),
        ("formats", "sheet and row"),
        ("formats", "an e-book: convert it to EPUB (Calibre)"),
        ("formats --json", "\"way_out\": null"),
        ("man", ".TH ragscope 1"),
        ("man", "ragscope\\-ask"),
        ("doctor", "ok    generator"),
    ];
    let test = TestEnvironment::new();
    for (arguments, expected) in cases {
        // a pipe gets no colours
        let output = test.run(arguments).succeeds().prints(expected);
        output.does_not_print("\u{1b}");
    }
}

#[test]
fn wrong_usage_names_what_was_meant() {
    let cases: [(&[&str], &str); 8] = [
        (&["--nonsense"], "--nonsense"),
        (&["ask", "notes"], "<QUESTION>"),
        (&["models", "--set", "retriever.k"], "role.key=value"),
        (
            &["models", "--set", "retreiver.k=3"],
            "did you mean `retriever.k`?",
        ),
        (
            &["models", "--set", "retriever.kind=hybird"],
            "did you mean `hybrid`?",
        ),
        (&["models", "--preset", "naiv"], "did you mean `naive`?"),
        (&["ask", "notes", "  "], "the question is empty"),
        (&["notes"], "the screen needs a terminal"),
    ];
    let test = TestEnvironment::new();
    for (arguments, expected) in cases {
        let output = test.run(arguments).exits(2).reports(expected);
        assert_eq!(output.stdout, "", "{arguments:?}");

        let output = test.run([arguments, &["--json"]].concat()).exits(2);
        assert!(output.failure().0.contains(expected), "{output}");
    }
}

#[test]
fn bad_settings_in_the_users_file_are_named() {
    let test = TestEnvironment::new();
    for (text, expected) in [
        ("[retriever]\nkk = 3\n", "did you mean `retriever.k`?"),
        ("[retriever\n", "config.toml"),
    ] {
        test.write(test.paths().config_file(), text);
        for command in ["models", "doctor"] {
            let output = test.run(command).exits(1);
            assert!(output.all().contains(expected), "{output}");
        }
    }
}

#[test]
fn a_bundled_generator_is_marked_on_documents_of_the_user() {
    let test = TestEnvironment::new();
    let mark = "practice model";
    test.ask("").prints(mark);
    test.run("models").prints(mark);
    test.run("doctor").prints(mark);
    test.run("demo").does_not_print(mark);
}

#[test]
fn a_recorded_run_that_cannot_be_read_is_named() {
    let test = TestEnvironment::new();
    test.write("notes.jsonl", "text\n");
    test.run("replay gone.jsonl").exits(1).reports("gone.jsonl");
    test.run("replay notes.jsonl").exits(1).reports("line 1");
}

#[test]
fn settings_at_their_limits_never_crash() {
    let cases = [
        "generator.context_tokens=1",
        "generator.threads=4000000000",
        "generator.temperature=-1.0",
        "retriever.k=0",
        "retriever.pool=0",
        "retriever.k=4000000000",
        "chunker.max_tokens=1",
        "chunker.max_tokens=0",
        "answer.max_tokens=0",
        "answer.max_sentences=0",
        "corpus.max_file_bytes=0",
        "seed=18446744073709551615",
    ];
    let test = TestEnvironment::new();
    for setting in cases {
        let output = test.ask(["--set", setting]);
        let is_refused = output.stderr.contains("error: ");
        let codes: &[i32] = if is_refused { &[1, 2] } else { &[0] };
        let is_known = output.code.is_some_and(|code| codes.contains(&code));
        assert!(is_known, "{setting}: {output}");
        assert!(!output.stderr.contains("panicked"), "{setting}: {output}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_is_no_error() {
    let test = TestEnvironment::new();
    let ask: &[&str] = &["ask", "notes", QUESTION, "--json"];
    for arguments in [ask, &["config"], &["man"]] {
        let mut child = test.start(arguments);
        let mut output = child.stdout.take().expect("piped");
        output.read_exact(&mut [0]).expect("a byte");
        drop(output);

        let output = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // what fits the pipe was written before
        let is_known = matches!(output.status.code(), Some(0 | 141));
        assert!(is_known, "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panic"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn an_unusable_model_is_named_with_what_to_do() {
    let test = TestEnvironment::new();
    let bundled = ragscope::config::assets_folder().join("models/ragscope-demo.Q8_0.gguf");
    let whole = fs::read(&bundled).expect("the bundled model");
    test.write("empty.gguf", "");
    test.write("cut.gguf", &whole[..whole.len() / 2]);
    test.write("text.gguf", "Only text is in this file.");
    for name in [
        "./gone.gguf",
        "empty.gguf",
        "cut.gguf",
        "text.gguf",
        "no-such-model",
        "all-MiniLM-L6-v2.Q8_0",
    ] {
        let shown = name.trim_start_matches("./");
        for output in [
            test.ask(["--model", name]),
            test.run(["doctor", "--model", name]),
        ] {
            let said = output.exits(1).all();
            assert!(said.contains(shown), "{name}: {said}");
            let has_advice = said.contains("ragscope models") || said.contains("--model");
            assert!(has_advice, "{name}: {said}");
        }
        let (error, advice) = test.ask(["--json", "--model", name]).failure();
        assert!(error.contains(shown), "{name}: {error}");
        assert!(!advice.is_empty(), "{name}: {error}");
    }
}
