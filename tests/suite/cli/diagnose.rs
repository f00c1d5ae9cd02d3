//! `diagnose`: a chain that is broken at each link in turn.

use ragscope::trace::list_runs;
use serde_json::Value;

use crate::support::environment::TestEnvironment;

const QUESTION: &str = "When was the bridge over the Lune opened?";
const BRIDGE: &str = "# The bridge\n\nThe bridge over the Lune was opened in 1931 after two years of \
    work. It carries forty tonnes.\n";

/// A folder in which one document of ten answers the question.
fn environment() -> TestEnvironment {
    let test = TestEnvironment::empty();
    test.write("notes/bridge.md", BRIDGE);
    for number in 1..9 {
        let ferry = format!(
            "# Ferry {number}\n\nThe ferry number {number} was built and opened in 19{}. The bridge \
             of ferry {number} was built of oak. When the bridge was built is not written.\n",
            40 + number
        );
        test.write(format!("notes/ferry{number}.md"), ferry);
    }
    test
}

/// Returns the diagnosis of a question under these settings.
fn diagnose(test: &TestEnvironment, question: &str, expected: &str, flags: &str) -> Value {
    let mut arguments = vec!["diagnose", "notes", question, "--json"];
    if !expected.is_empty() {
        arguments.extend(["--expect", expected]);
    }
    for flag in flags.split_whitespace() {
        // a flag is a setting, unless it is written as one
        let is_setting = flag.contains('.') && flag.contains('=');
        arguments.extend(is_setting.then_some("--set"));
        arguments.push(flag);
    }
    test.run(arguments).exits(0).json()
}

/// Returns whether the passage came into the context and into the answer with a change.
fn find_tried<'d>(diagnosis: &'d Value, change: &str) -> (&'d Value, &'d Value) {
    let mut all = diagnosis["tried"].as_array().expect("a list").iter();
    let tried = all.find(|tried| tried["change"] == change);
    let tried = tried.unwrap_or_else(|| panic!("{change}: {diagnosis}"));
    (&tried["label"], &tried["says"])
}

#[test]
fn the_first_broken_link_is_named_wherever_the_chain_breaks() {
    let test = environment();
    test.write("notes/.old/keeper.md", "The keeper was Tam Reeve.\n");
    test.write("notes/scan.pdf", [7_u8; 64]);
    let quotes = "answer.prompt=quotes";
    let cut = "chunker.max_sentences=1 chunker.overlap_tokens=0 retriever.k=1";
    let built = "When was the bridge built?";
    let cases: &[(&str, &str, &str, &str, &str)] = &[
        (QUESTION, "1931", quotes, "", "the answer holds it"),
        (
            QUESTION,
            "Nobody at all",
            quotes,
            "not_in_corpus",
            "scan.pdf",
        ),
        (QUESTION, "Tam Reeve", quotes, "not_read", "corpus.hidden"),
        (
            QUESTION,
            "of work. It carries forty",
            cut,
            "cut",
            "the rest in bridge.md:3",
        ),
        (
            QUESTION,
            "1931",
            "retriever.kind=off",
            "not_searched",
            "bridge.md:1-3",
        ),
        (built, "1931", quotes, "not_found", "takes the top 3"),
        (
            QUESTION,
            "1931",
            "--only ferry*",
            "left_out",
            "bridge.md:1-3",
        ),
        (
            QUESTION,
            "1931",
            "filter.kind=binary",
            "filtered",
            "below the minimum",
        ),
        (
            built,
            "1931",
            "reranker.kind=model retriever.kind=vectors",
            "outranked",
            "bridge.md",
        ),
        (
            built,
            "1931",
            "retriever.k=9 generator.context_tokens=256",
            "no_room",
            "does not fit",
        ),
        (
            QUESTION,
            "1931",
            "answer.prompt=quotes answer.min_support=1",
            "refused",
            "100 %",
        ),
        (
            QUESTION,
            "1931",
            "answer.prompt=step_by_step",
            "unread",
            "used as [1]",
        ),
    ];
    for (question, expected, flags, broken, finding) in cases {
        let diagnosis = diagnose(&test, question, expected, flags);
        let link = diagnosis["broken"].as_str().unwrap_or_default();
        assert_eq!(link, *broken, "{flags}: {diagnosis}");
        let found = diagnosis["finding"].as_str().unwrap_or_default();
        assert!(found.contains(finding), "{flags}: {found}");

        let chain = diagnosis["chain"].as_array().expect("a list");
        let said = chain.last().expect("a link");
        assert_eq!(said["holds"], broken.is_empty(), "{flags}: {diagnosis}");
        let broken_links = chain.iter().filter(|link| link["holds"] == false).count();
        assert_eq!(
            broken_links,
            2 * usize::from(!broken.is_empty()),
            "{flags}: {diagnosis}"
        );
    }
}

#[test]
fn changes_are_tried_as_runs() {
    let test = environment();
    let set = "answer.prompt=quotes";
    let below = diagnose(&test, "When was the bridge built?", "1931", set);
    let all = below["tried"].as_array().expect("a list");
    let deeper = all
        .iter()
        .find(|tried| tried["change"].to_string().contains("k = "));
    let deeper = deeper.expect("a larger k");
    assert_eq!(
        deeper["change"],
        format!("k = {}", deeper["label"]),
        "{below}"
    );
    assert_eq!(
        find_tried(&below, "the passage alone"),
        (&1.into(), &true.into())
    );

    // and only the question itself is recorded
    let recorded = list_runs(&test.paths().sessions()).expect("a list");
    assert_eq!(recorded.len(), 1);

    let left_out = diagnose(&test, QUESTION, "1931", &format!("--only ferry* {set}"));
    let without = "without the filter of documents and exclusions";
    assert_eq!(find_tried(&left_out, without), (&1.into(), &true.into()));

    let refused = diagnose(
        &test,
        QUESTION,
        "1931",
        &format!("{set} answer.min_support=1"),
    );
    let (_, says) = find_tried(&refused, "whatever its support");
    assert_eq!(says, &true, "{refused}");
    let alone = refused["tried"][0]["settings"].to_string();
    assert!(alone.contains("bridge.md@"), "{alone}");
}

#[test]
fn a_passage_that_nobody_named_is_a_guess() {
    let test = environment();
    let set = "answer.prompt=quotes";
    let left_out = diagnose(&test, QUESTION, "", &format!("{set} --only ferry*"));
    assert_eq!(left_out["broken"], "left_out", "{left_out}");
    let expected = &left_out["expected"];
    assert!(
        expected["passages"][0].to_string().contains("1931"),
        "{left_out}"
    );
    assert!(
        expected["guess"].to_string().contains("bridge.md:1-3"),
        "{left_out}"
    );

    let foreign = "Which volcano did Napoleon climb in Peru?";
    let missing = diagnose(&test, foreign, "", set);
    assert_eq!(missing["broken"], "not_in_corpus", "{missing}");
    assert!(
        missing["finding"].to_string().contains("a guess"),
        "{missing}"
    );
}

#[test]
fn bad_input_is_refused_in_a_sentence() {
    let test = environment();
    let cases: [(&[&str], i32, &str); 4] = [
        (&["diagnose", "notes", " "], 1, "the question is empty"),
        (
            &["diagnose", "notes", QUESTION, "--expect", " . "],
            2,
            "the expected text is empty",
        ),
        (
            &["diagnose", "nowhere", QUESTION],
            1,
            "cannot open nowhere: there is no such folder",
        ),
        (
            &["diagnose", "empty", QUESTION],
            1,
            "no readable document in empty",
        ),
    ];
    std::fs::create_dir(test.path("empty")).expect("made");
    for (arguments, code, expected) in cases {
        test.run(arguments).exits(code).reports(expected);
    }
}
