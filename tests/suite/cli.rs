//! The real program without a screen: what it prints, how it exits, and what bad input gets.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{self, Child, Stdio};

use ragscope::event::{
    AsAsked, Event, IndexPhase, Outcome, Record, RunEvent, SESSION, SessionEvent,
};
use ragscope::index::Index;
use ragscope::trace::{list_runs, read_run};
use serde_json::Value;

use super::program::{Program, QUESTION};

#[test]
fn a_search_prints_the_chunks_and_why_they_were_found() {
    let program = Program::new();
    fs::write(
        program.corpus().join("ships.md"),
        "# Ships\n\nThe Heron sails north.\n",
    )
    .expect("written");

    let ended = program.run(&["search", "notes", "Where was Tam Reeve born?"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(
        lines[0].starts_with(" 1  people.md:")
            && lines[0].contains("bm25 ")
            && lines[0].contains("cosine "),
        "{}",
        ended.stdout
    );
    assert!(
        lines[1].contains("Tam Reeve was born in Lorbymouth."),
        "{}",
        ended.stdout
    );
    assert!(
        lines[2].contains("ships.md") && lines[2].ends_with("by its meaning alone"),
        "{}",
        ended.stdout
    );

    let ended = program.run(&[
        "search",
        "notes",
        "Reeve",
        "--limit",
        "1",
        "--json",
        "--preset",
        "closed-book",
    ]);
    let found: Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found["hits"][0]["chunk"]["document"], "people.md");

    let ended = program.run(&[
        "search",
        "notes",
        "Reeve",
        "--only",
        "ships.md",
        "--set",
        "retriever.kind=bm25",
    ]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), ""),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("nothing was found"),
        "{}",
        ended.stderr
    );
    assert_eq!(program.run(&["search", "notes", " "]).code, Some(2));
}

#[test]
fn commands_that_only_look_say_what_they_see() {
    let cases: [(&[&str], &str); 18] = [
        (&["--version"], "ragscope 0."),
        (&["--help"], "Answer one question over a folder"),
        (&["ask", "--help"], "--set <ROLE.KEY=VALUE>"),
        (&["models"], "ragscope-demo.Q8_0.gguf"),
        (&["models", "--json"], "\"used_as\": \"embedder\""),
        (&["paths"], "sessions"),
        (&["paths", "--json"], "\"sessions\":"),
        (&["config"], "# Number of chunks in the context."),
        (
            &["config", "--effective", "--set", "retriever.k=7"],
            "k = 7",
        ),
        (&["config", "--json", "--seed", "5"], "\"seed\": 5"),
        (
            &["--preset", "closed-book", "config", "--effective"],
            "preset = \"closed-book\"",
        ),
        (&["completions", "bash"], "_ragscope()"),
        (&["formats"], "sheet and row"),
        (&["formats"], "an e-book: convert it to EPUB (Calibre)"),
        (&["formats", "--json"], "\"way_out\": null"),
        (&["man"], ".TH ragscope 1"),
        (&["man"], "ragscope\\-ask"),
        (&["doctor"], "ok    generator"),
    ];
    let program = Program::new();
    for (arguments, expected) in cases {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stdout.contains(expected),
            "{arguments:?}: {}",
            ended.stdout
        );
        assert!(
            !ended.stdout.contains('\u{1b}'),
            "{arguments:?}: colours in a pipe"
        );
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
    let program = Program::new();
    for (arguments, expected) in cases {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(expected),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "", "{arguments:?}");

        let json = program.run(&[arguments, &["--json"]].concat());
        assert_eq!(json.code, Some(2), "{arguments:?}: {}", json.stdout);
        assert!(
            json.failure().0.contains(expected),
            "{arguments:?}: {}",
            json.stdout
        );
    }
}

#[test]
fn bad_settings_in_the_users_file_are_named() {
    let program = Program::new();
    let file = program.paths().config_file();
    fs::create_dir_all(file.parent().expect("a parent")).expect("made");
    for (text, expected) in [
        ("[retriever]\nkk = 3\n", "did you mean `retriever.k`?"),
        ("[retriever\n", "config.toml"),
    ] {
        fs::write(&file, text).expect("written");
        for arguments in [&["models"][..], &["doctor"][..]] {
            let ended = program.run(arguments);
            assert_eq!(ended.code, Some(1), "{arguments:?}");
            assert!(
                format!("{}{}", ended.stdout, ended.stderr).contains(expected),
                "{arguments:?}: {}",
                ended.stderr
            );
        }
    }
}

#[test]
fn a_bundled_generator_is_marked_on_documents_of_the_user() {
    let program = Program::new();
    let mark = "practice model";
    let cases: [(&[&str], bool); 4] = [
        (&["ask", "notes", QUESTION], true),
        (&["demo"], false),
        (&["models"], true),
        (&["doctor"], true),
    ];
    for (arguments, is_marked) in cases {
        let ended = program.run(arguments);
        assert_eq!(
            ended.stdout.contains(mark),
            is_marked,
            "{arguments:?}: {}",
            ended.stdout
        );
    }
}

#[test]
fn a_question_is_limited_to_some_documents() {
    let program = Program::new();
    fs::create_dir(program.corpus().join("reports")).expect("made");
    let report = program.corpus().join("reports/reeve.txt");
    fs::write(report, "Tam Reeve was born in Harwenby, the report says.").expect("written");
    let documents = |flags: &[&str]| -> Vec<String> {
        let asked = program.run(&[&["ask", "notes", QUESTION, "--json"], flags].concat());
        assert_eq!(asked.code, Some(0), "{}", asked.stderr);
        let mut documents: Vec<String> = asked
            .records()
            .into_iter()
            .filter_map(|record| match record.event {
                Event::Run(RunEvent::RetrievalFinished { retrieval, .. }) => Some(retrieval.hits),
                _ => None,
            })
            .flatten()
            .map(|hit| hit.chunk.document)
            .collect();
        documents.sort();
        documents
    };

    assert_eq!(documents(&[]), ["people.md", "reports/reeve.txt"]);
    assert_eq!(documents(&["--only", "reports/**"]), ["reports/reeve.txt"]);
    assert_eq!(documents(&["--type", "md"]), ["people.md"]);
    assert!(documents(&["--before", "1999"]).is_empty());

    let refused = program.run(&["ask", "notes", QUESTION, "--after", "soon"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("`soon` is not a date"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_first_answer_comes_from_the_words_alone_where_the_settings_say_so() {
    let program = Program::new();
    let words = "index.first_answer=words";
    let vectors = "index.first_answer=vectors";
    // (arguments before, whether the words alone were searched)
    let cases: [(&[&str], bool); 5] = [
        (&["ask", "notes", QUESTION, "--set", words], true),
        (&["ask", "notes", QUESTION, "--set", words], true),
        // a pipe waits
        (&["ask", "notes", QUESTION], false),
        (&["ask", "notes", QUESTION, "--set", words], false),
        (&["ask", "notes", QUESTION, "--set", vectors], false),
    ];
    for (at, (arguments, is_by_words)) in cases.into_iter().enumerate() {
        let asked = program.run(&[arguments, &["--json"]].concat());
        assert_eq!(asked.code, Some(0), "{at}: {}", asked.stderr);
        let says = asked.stderr.contains("answering from the words alone");
        assert_eq!(says, is_by_words, "{at}: {}", asked.stderr);

        let records = asked.records();
        let hits = records.iter().find_map(|record| match &record.event {
            Event::Run(RunEvent::RetrievalFinished { retrieval, .. }) => Some(&retrieval.hits),
            _ => None,
        });
        let hit = &hits.expect("a search")[0];
        assert!(hit.chunk.text.contains("Lorbymouth"), "{at}: {hit:?}");
        assert_eq!(hit.vector.is_none(), is_by_words, "{at}: {hit:?}");
        let corpus = records.iter().find_map(|record| match &record.event {
            Event::Run(RunEvent::RunStarted { corpus, .. }) => corpus.as_ref(),
            _ => None,
        });
        assert_eq!(corpus.map(|corpus| corpus.words_only), Some(is_by_words));
    }
}

#[test]
fn an_answer_comes_with_its_sources_and_is_recorded() {
    let program = Program::new();
    let text = program.run(&["ask", "notes", QUESTION]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(
        text.stdout.contains("tokens in") && text.stdout.contains("ragscope replay"),
        "{}",
        text.stdout
    );

    let json = program.run(&["ask", "notes", QUESTION, "--json"]);
    assert_eq!(json.code, Some(0), "{}", json.stderr);
    let run: Vec<Record> = json
        .records()
        .into_iter()
        .filter(|record| record.run != SESSION)
        .collect();
    let last: Value =
        serde_json::from_str(json.stdout.lines().last().expect("a line")).expect("JSON");
    let event = &last["event"];
    assert_eq!(event["type"], "run_finished");
    assert!(
        event["answer"].is_string() && event["citations"].is_array(),
        "{event}"
    );
    for key in [
        "prompt_tokens_evaluated",
        "prompt_tokens_reused",
        "tokens_generated",
        "wall_ms",
    ] {
        assert!(event["usage"][key].is_u64(), "{key}: {event}");
    }
    for citation in event["citations"].as_array().expect("an array") {
        assert_eq!(citation["file"], "people.md");
        assert!(
            citation["first_line"].as_u64() <= citation["last_line"].as_u64(),
            "{citation}"
        );
    }

    let recorded = list_runs(&program.paths().sessions()).expect("a list");
    assert_eq!(recorded.len(), 2);
    let file = &recorded
        .iter()
        .find(|summary| summary.run == run[0].run)
        .expect("recorded")
        .file;
    assert_eq!(
        read_run(Path::new(file)).expect("a run"),
        run,
        "the file holds what was printed"
    );

    let replayed = program.run(&["replay", file, "--json"]);
    assert_eq!((replayed.code, replayed.records()), (Some(0), run));
    let replayed = program.run(&["replay", file]);
    assert!(
        replayed.stdout.starts_with(QUESTION) && replayed.stdout.contains("people.md:"),
        "{}",
        replayed.stdout
    );
}

#[test]
fn a_thread_continues_after_a_restart_and_says_which_wording_is_used() {
    let program = Program::new();
    let ask = |question: &str, more: &[&str]| {
        let arguments = ["ask", "notes", question, "--thread", "the teacher"];
        program.run(&[&arguments[..], more].concat())
    };
    let first = ask(QUESTION, &[]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(!first.stdout.contains("used as asked"), "{}", first.stdout);

    let second = ask("And where was she born?", &[]);
    assert!(
        second
            .stdout
            .contains("used as asked: the bundled generator"),
        "{}",
        second.stdout
    );

    let third = ask("And he?", &["--json"]);
    let records = third.records();
    let started = records.iter().find_map(|record| match &record.event {
        Event::Run(RunEvent::RunStarted { thread, .. }) => thread.clone(),
        _ => None,
    });
    let rewritten = records.iter().find_map(|record| match &record.event {
        Event::Run(RunEvent::FollowUpRewritten {
            question, as_asked, ..
        }) => Some((question.as_str(), as_asked.clone())),
        _ => None,
    });
    assert_eq!(rewritten, Some(("And he?", Some(AsAsked::Untrained))));

    let off = ask("And he?", &["--json", "--set", "thread.rewrite=off"]);
    assert!(
        !off.stdout.contains("follow_up_rewritten"),
        "{}",
        off.stdout
    );

    let listed = program.run(&["threads", "--json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let thread = &listed["threads"][0];
    assert_eq!(thread["name"], "the teacher");
    assert_eq!(thread["id"].as_str(), started.as_deref());
    assert_eq!(thread["runs"].as_array().map(Vec::len), Some(4));
    let renamed = program.run(&["threads", "rename", "the teacher", "Tam Reeve"]);
    assert_eq!(renamed.code, Some(0), "{}", renamed.stderr);
    let table = program.run(&["threads"]).stdout;
    assert!(table.starts_with("Tam Reeve ("), "{table}");
    assert!(
        table.contains("4 questions") && table.contains("  And he?"),
        "{table}"
    );
    let shown = program.run(&["threads", "show", "Tam Reeve"]).stdout;
    assert!(
        shown.contains(QUESTION) && shown.contains("And where was she born?"),
        "{shown}"
    );

    let unknown = program.run(&["threads", "show", "the teacher"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("no thread `the teacher`"),
        "{}",
        unknown.stderr
    );
    let unrecorded = ask(QUESTION, &["--set", "record.enabled=false"]);
    assert_eq!(unrecorded.code, Some(2));
    assert!(
        unrecorded.stderr.contains("recording is off"),
        "{}",
        unrecorded.stderr
    );
}

#[test]
fn recording_can_be_switched_off() {
    let program = Program::new();
    let ended = program.run(&["ask", "notes", QUESTION, "--set", "record.enabled=false"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        !program.paths().sessions().exists() && !ended.stdout.contains("replay"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let program = Program::new();
    let answer = |seed: &str| {
        let set = [
            "--set",
            "generator.temperature=2.0",
            "--seed",
            seed,
            "--preset",
            "closed-book",
            "--json",
        ];
        let ended = program.run(&[&["ask", "notes", QUESTION][..], &set[..]].concat());
        match ended.records().pop().expect("a record").event {
            Event::Run(RunEvent::RunFinished { text, outcome, .. }) => {
                assert!(!matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
                text
            }
            other => panic!("{other:?}"),
        }
    };
    let first = answer("7");
    assert_eq!(answer("7"), first);
    assert_ne!(answer("8"), first, "another seed, another answer");
}

#[test]
fn an_unusable_model_is_named_with_what_to_do() {
    let program = Program::new();
    let bundled =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/ragscope-demo.Q8_0.gguf");
    let whole = fs::read(&bundled).expect("the bundled model");
    let put = |name: &str, bytes: &[u8]| {
        fs::write(program.home.path().join(name), bytes).expect("written");
    };
    put("empty.gguf", b"");
    put("cut.gguf", &whole[..whole.len() / 2]);
    put("text.gguf", b"This is no model at all, only text.");
    let names = [
        "./gone.gguf",
        "empty.gguf",
        "cut.gguf",
        "text.gguf",
        "no-such-model",
        "all-MiniLM-L6-v2.Q8_0",
    ];
    for name in names {
        for command in [&["ask", "notes", QUESTION][..], &["doctor"][..]] {
            let ended = program.run(&[command, &["--model", name]].concat());
            assert_eq!(ended.code, Some(1), "{command:?} {name}: {}", ended.stderr);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(
                said.contains(name.trim_start_matches("./")),
                "{command:?} {name}: {said}"
            );
            assert!(
                said.contains("ragscope models") || said.contains("--model"),
                "{command:?} {name}: {said}"
            );
        }
        let (error, advice) = program
            .run(&["ask", "notes", QUESTION, "--json", "--model", name])
            .failure();
        assert!(
            error.contains(name.trim_start_matches("./")) && !advice.is_empty(),
            "{name}: {error} / {advice}"
        );
    }
}

#[test]
fn a_question_that_cannot_be_asked_is_refused_before_anything_runs() {
    let program = Program::new();
    let long = "Where was Tam Reeve born? ".repeat(4000);
    let ended = program.run(&["ask", "notes", &long, "--json"]);
    assert_eq!(ended.code, Some(1));
    let (error, advice) = ended.failure();
    assert!(
        error.contains("tokens") && advice.contains("shorten"),
        "{error} / {advice}"
    );
    assert!(!ended.stdout.contains("run_started"), "nothing ran");
}

#[test]
fn folders_without_documents_are_said_to_be_so() {
    let program = Program::new();
    let empty = program.home.path().join("empty");
    fs::create_dir(&empty).expect("made");
    let cases: [(&[&str], i32, &str); 5] = [
        (&["index", "empty"], 0, "0 documents"),
        (&["ask", "empty", QUESTION], 1, "no readable document"),
        (
            &["ask", "empty", QUESTION, "--preset", "closed-book"],
            0,
            "tokens in",
        ),
        (&["index", "nowhere"], 1, "cannot open the folder nowhere"),
        (
            &["ask", "notes/people.md", QUESTION],
            1,
            "people.md is a file",
        ),
    ];
    for (arguments, code, expected) in cases {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(
            format!("{}{}", ended.stdout, ended.stderr).contains(expected),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn files_that_cannot_be_read_are_counted_and_the_rest_is_indexed() {
    let program = Program::new();
    fs::write(
        program.corpus().join("image.md"),
        b"\x00\x01\x02\xff\xfe\x00binary\x00",
    )
    .expect("written");
    let ended = program.run(&["index", "notes"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("1 document, ") && ended.stdout.contains("image.md: "),
        "{}",
        ended.stdout
    );
    let asked = program.run(&["ask", "notes", QUESTION]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let json = program.run(&["index", "notes", "--json"]);
    assert!(
        json.records().iter().any(|record| matches!(
            record.event,
            Event::Session(SessionEvent::IndexFinished { .. })
        )),
        "{}",
        json.stdout
    );
}

#[test]
fn the_second_process_on_a_corpus_reads_and_does_not_write() {
    let program = Program::new();
    assert_eq!(program.run(&["index", "notes"]).code, Some(0));
    let writer = Index::open(&program.corpus(), &program.paths().indexes()).expect("opened");
    assert!(!writer.card().read_only, "this process writes");
    let asked = program.run(&["ask", "notes", QUESTION]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(
        asked
            .stderr
            .contains("another ragscope has this index open"),
        "{}",
        asked.stderr
    );
    let indexed = program.run(&["index", "notes", "--rebuild"]);
    assert_eq!(indexed.code, Some(1), "{}", indexed.stdout);
    assert!(
        indexed.stderr.contains("another ragscope"),
        "{}",
        indexed.stderr
    );
}

#[test]
fn escape_sequences_of_documents_and_file_names_never_reach_the_output() {
    let program = Program::new();
    let text = "Tam\u{1b}[31m Reeve was born in \u{1b}]0;title\u{7}Lorbymouth.\u{9b}2J \u{202e}x\n";
    let name = if cfg!(windows) {
        "odd.md"
    } else {
        "odd\u{1b}[2J\n\u{7}.md"
    };
    fs::write(program.corpus().join(name), text.repeat(3)).expect("written");
    fs::write(program.corpus().join(format!("bad{name}")), b"\0\0\0\xff").expect("written");
    for arguments in [
        &["index", "notes"][..],
        &["ask", "notes", QUESTION],
        &["ask", "notes", "\u{1b}[31mWhere?"],
    ] {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        let harmful = said
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\n' | '\t') || *c == '\u{202e}');
        assert_eq!(harmful, None, "{arguments:?}: {said:?}");
    }
}

/// Documents in [`long_corpus`].
const SHIPS: u64 = 120;

/// A corpus that takes a while to embed.
fn long_corpus(program: &Program) {
    let folder = program.home.path().join("long");
    fs::create_dir(&folder).expect("made");
    for ship in 0..SHIPS {
        let text: String = (1..8)
            .map(|port| {
                format!(
                    "Ship {ship} of harbour {port} has {} barrels. ",
                    ship * port
                )
            })
            .collect();
        fs::write(folder.join(format!("ship-{ship}.txt")), text).expect("written");
    }
}

/// Read records until one satisfies `condition`.
fn wait_until(condition: impl Fn(&Event) -> bool, lines: &mut impl BufRead) {
    for line in lines.lines() {
        let record: Record =
            serde_json::from_str(&line.expect("readable")).expect("a record a line");
        if condition(&record.event) {
            return;
        }
    }
    panic!("the program ended before");
}

fn some_are_embedded(event: &Event) -> bool {
    matches!(event, Event::Session(SessionEvent::IndexProgressed { progress }) if progress.phase == IndexPhase::Embedding && progress.done > 0)
}

fn signal(child: &Child, name: &str) {
    let sent = process::Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill is there");
    assert!(sent.success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_cleanly_and_a_kill_loses_nothing() {
    let program = Program::new();
    long_corpus(&program);

    let mut interrupted = program.start(&["index", "long", "--json"]);
    let mut lines = BufReader::new(interrupted.stdout.take().expect("piped"));
    wait_until(some_are_embedded, &mut lines);
    signal(&interrupted, "-INT");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("readable");
    assert_eq!(
        interrupted.wait().expect("ended").code(),
        Some(130),
        "{rest}"
    );
    assert!(!rest.contains("index_finished"), "{rest}");

    let mut killed = program.start(&["index", "long", "--json"]);
    let mut lines = BufReader::new(killed.stdout.take().expect("piped"));
    wait_until(some_are_embedded, &mut lines);
    signal(&killed, "-KILL");
    killed.wait().expect("ended");

    let ended = program.run(&["ask", "long", "Which ship has barrels?", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    let report = ended
        .records()
        .into_iter()
        .find_map(|record| match record.event {
            Event::Session(SessionEvent::IndexFinished { report }) => Some(report),
            _ => None,
        });
    let report = report.expect("the index was finished first");
    assert!(report.reused > 0, "nothing is embedded twice: {report:?}");
    assert_eq!(report.corpus.documents, SHIPS);
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_an_answer_keeps_what_was_written() {
    let program = Program::new();
    assert_eq!(program.run(&["index", "notes"]).code, Some(0));
    let endless = [
        "--set",
        "answer.max_tokens=100000",
        "--set",
        "answer.max_sentences=100000",
    ];
    let hot = ["--set", "generator.temperature=5.0", "--json"];
    let mut child = program.start(&[&["ask", "notes", QUESTION][..], &endless, &hot].concat());
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    wait_until(
        |event| matches!(event, Event::Run(RunEvent::TokenGenerated { .. })),
        &mut lines,
    );
    signal(&child, "-INT");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("readable");
    assert_eq!(child.wait().expect("ended").code(), Some(130), "{rest}");
    let last: Record =
        serde_json::from_str(rest.lines().last().expect("a line")).expect("a record");
    let Event::Run(RunEvent::RunFinished { outcome, text, .. }) = last.event else {
        panic!("{last:?}")
    };
    assert_eq!(outcome, Outcome::Stopped);
    assert!(!text.is_empty(), "what was written stays");
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_is_no_error() {
    let program = Program::new();
    for arguments in [
        &["ask", "notes", QUESTION, "--json"][..],
        &["config"],
        &["man"],
    ] {
        let mut child = program.start(arguments);
        let mut first = [0; 1];
        child
            .stdout
            .take()
            .expect("piped")
            .read_exact(&mut first)
            .expect("a byte");
        let output = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), stderr.contains("panic")),
            (Some(0), false),
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn a_recorded_run_that_cannot_be_read_is_named() {
    let program = Program::new();
    fs::write(program.home.path().join("notes.jsonl"), "text\n").expect("written");
    for (file, expected) in [("gone.jsonl", "gone.jsonl"), ("notes.jsonl", "line 1")] {
        let ended = program.run(&["replay", file]);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

#[test]
fn settings_at_their_limits_never_crash() {
    let cases = [
        "generator.context_tokens=1",
        "generator.batch_tokens=1",
        "generator.batch_tokens=4000000000",
        "generator.threads=4000000000",
        "generator.temperature=-1.0",
        "generator.top_p=0.0",
        "retriever.k=0",
        "retriever.pool=0",
        "retriever.ef_search=0",
        "retriever.k=4000000000",
        "retriever.rrf_k=0.0",
        "chunker.max_tokens=1",
        "chunker.max_tokens=0",
        "answer.max_tokens=0",
        "answer.max_sentences=0",
        "corpus.max_file_bytes=0",
        "seed=18446744073709551615",
    ];
    let program = Program::new();
    for setting in cases {
        let ended = program.run(&["ask", "notes", QUESTION, "--set", setting]);
        let refused = ended.code == Some(1) || ended.code == Some(2);
        assert!(
            ended.code == Some(0) || refused,
            "{setting}: {:?} {}",
            ended.code,
            ended.stderr
        );
        assert!(
            !ended.stderr.contains("panicked"),
            "{setting}: {}",
            ended.stderr
        );
        assert!(
            !refused || ended.stderr.contains("error: "),
            "{setting}: {}",
            ended.stderr
        );
    }
}

#[test]
fn a_damaged_index_is_never_served_and_is_rebuilt_on_request() {
    let program = Program::new();
    assert_eq!(program.run(&["index", "notes"]).code, Some(0));
    let index = fs::read_dir(program.paths().indexes())
        .expect("indexes")
        .next()
        .expect("one")
        .expect("an entry")
        .path();
    let manifest = index.join("gen-1/manifest.json");
    let mut bytes = fs::read(&manifest).expect("a manifest");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&manifest, bytes).expect("written");
    for arguments in [
        &["ask", "notes", QUESTION][..],
        &["index", "notes"],
        &["doctor"],
    ] {
        let ended = program.run(arguments);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {said}");
        assert!(
            said.contains("damaged") && said.contains("--rebuild"),
            "{arguments:?}: {said}"
        );
    }
    assert_eq!(program.run(&["index", "notes", "--rebuild"]).code, Some(0));
    for arguments in [&["ask", "notes", QUESTION][..], &["doctor"]] {
        assert_eq!(program.run(arguments).code, Some(0), "{arguments:?}");
    }
}

#[test]
fn doctor_names_a_folder_that_cannot_be_written() {
    let program = Program::new();
    fs::create_dir_all(program.home.path().join("home")).expect("made");
    fs::write(program.paths().state, "a file where a folder should be").expect("written");
    let ended = program.run(&["doctor", "--json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    let object: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let wrong: Vec<&Value> = object["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["state"] == "wrong")
        .collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0]["what"], "sessions");
    assert!(
        wrong[0]["advice"]
            .as_str()
            .is_some_and(|advice| advice.contains("RAGSCOPE_HOME")),
        "{wrong:?}"
    );
}

#[test]
fn doctor_names_a_bundled_model_that_was_changed() {
    let program = Program::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    let assets = program.home.path().join("assets");
    fs::create_dir_all(assets.join("models")).expect("made");
    for file in fs::read_dir(&shipped)
        .expect("models")
        .map(|entry| entry.expect("an entry").path())
    {
        if file
            .extension()
            .is_some_and(|extension| extension == "gguf")
        {
            fs::copy(
                &file,
                assets
                    .join("models")
                    .join(file.file_name().expect("a name")),
            )
            .expect("copied");
        }
    }
    let check = || {
        let output = program
            .command(&["doctor", "--json"])
            .env("RAGSCOPE_ASSETS", &assets)
            .output()
            .expect("started");
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let checks = object["checks"].as_array().expect("a list").clone();
        checks
            .into_iter()
            .find(|check| check["what"] == "bundled models")
            .expect("a check of the bundled models")
    };
    assert_eq!(check()["state"], "good", "{}", check());
    let generator = assets.join("models/ragscope-demo.Q8_0.gguf");
    let mut bytes = fs::read(&generator).expect("a copy");
    fs::remove_file(&generator).expect("removed");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&generator, bytes).expect("written");
    let found = check();
    assert_eq!(found["state"], "poor", "{found}");
    assert!(
        found["found"]
            .as_str()
            .is_some_and(|text| text.starts_with("ragscope-demo.Q8_0.gguf differs")),
        "{found}"
    );
    assert!(
        found["advice"]
            .as_str()
            .is_some_and(|advice| advice.contains("MODELS.md")),
        "{found}"
    );
}

#[test]
fn the_demo_without_a_terminal_prints_one_run() {
    let program = Program::new();
    let ended = program.run(&["demo"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let prepared = ragscope::cli::demo::questions().expect("prepared questions");
    let first = &prepared[0];
    assert!(
        ended.stdout.starts_with(&first.question),
        "{}",
        ended.stdout
    );
    for expected in [
        format!("answer: {}", first.answer),
        format!("expected: {}", first.answer),
        first.shows.clone(),
    ] {
        assert!(
            ended.stdout.contains(&expected),
            "{expected}: {}",
            ended.stdout
        );
    }
}

#[test]
fn the_plain_mode_asks_line_by_line() {
    let program = Program::new();
    let lines = "Where was Tam Reeve born?\n/source 1\n/source 7\n/preset nope\n/preset closed-book\nWhere was Mira Oakes born?\n/new\n/what\n/quit\nnot asked\n";
    let mut child = program
        .command(&["notes", "--plain"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(lines.as_bytes()).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");

    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{text}\n{error}");
    let mut rest = text.as_str();
    for part in [
        "Searching for: Where was Tam Reeve born?",
        "1 chunk retrieved, 1 in the prompt:",
        "answer: ",
        "people.md:1-3\n",
        "no passage with this number",
        "nope",
        "The next question is asked under preset closed-book.",
        "answer: ",
        "A new conversation begins.",
        "/what is not known",
    ] {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("no {part:?} after\n{rest}\nin\n{text}"));
        rest = &rest[at + part.len()..];
    }
    assert!(!text.contains("not asked"), "{text}");

    let refused = program.run(&["notes", "--plain", "--json"]);
    assert_eq!(refused.code, Some(2));
}
