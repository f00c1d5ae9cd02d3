use ragscope::eval::{Evidence, QuestionSet, find_missing_evidence};

use crate::support::effort::check_times;

/// Returns questions as `id question [answers] (evidence)`, then the remarks.
fn parsed(file: &str) -> Vec<String> {
    let set = QuestionSet::parse(file);
    let questions = set.questions.iter().map(|question| {
        let quotes: Vec<String> = question
            .evidence
            .iter()
            .map(|Evidence { file, quote }| {
                format!(
                    "{}{quote}",
                    file.as_ref()
                        .map_or(String::new(), |file| format!("{file}: "))
                )
            })
            .collect();
        let mut line = format!(
            "{} {} {:?}",
            question.id, question.question, question.answers
        );
        if !quotes.is_empty() {
            line.push_str(&format!(" ({})", quotes.join("; ")));
        }
        line
    });
    questions
        .chain(set.remarks.iter().map(|remark| format!("! {remark}")))
        .collect()
}

#[track_caller]
fn check(file: &str, expected: &[&str]) {
    assert_eq!(parsed(file), expected);
}

#[test]
fn our_own_lines() {
    check(
        r#"{"id": "a", "question": "Who?", "answers": ["Mira", "M. Oakes"], "evidence": ["Mira did it.", {"file": "x.md", "quote": "So."}]}
{"question": " When? ", "answers": 1838}

{"id": 7, "question": "Where?", "answers": []}"#,
        &[
            r#"a Who? ["Mira", "M. Oakes"] (Mira did it.; x.md: So.)"#,
            r#"q2 When? ["1838"]"#,
            "7 Where? []",
        ],
    );
}

#[test]
fn the_formats_of_other_question_files() {
    // SQuAD 2.0
    check(
        r#"{"version": "2", "data": [{"title": "Light", "paragraphs": [{"context": "It is tall. It was lit in 1838. It stands.", "qas": [
            {"id": "s1", "question": "When?", "answers": [{"text": "1838", "answer_start": 26}, {"text": "1838", "answer_start": 26}]},
            {"id": "s2", "question": "Who?", "is_impossible": true, "answers": []}]}]}]}"#,
        &[r#"s1 When? ["1838"] (It was lit in 1838.)"#, "s2 Who? []"],
    );
    // HotpotQA
    check(
        r#"[{"_id": "h1", "type": "bridge", "question": "Where?", "answer": "Lorby",
             "supporting_facts": [["Mira", 1], ["Tam", 0], ["Gone", 4]],
             "context": [["Mira", ["Mira sang.", " Tam taught her."]], ["Tam", ["Tam is from Lorby."]]]}]"#,
        &[r#"h1 Where? ["Lorby"] (Tam taught her.; Tam is from Lorby.)"#],
    );
    // NQ-open, and NQ-open with gold passages
    check(
        r#"{"question": "who sang", "answer": ["Mira", "Mira Oakes"]}
{"question": "who taught", "answers": ["Tam"], "ctxs": [{"text": "Ships.", "isgold": false}, {"text": "Tam taught.", "isgold": true}]}"#,
        &[
            r#"q1 who sang ["Mira", "Mira Oakes"]"#,
            r#"q2 who taught ["Tam"] (Tam taught.)"#,
        ],
    );
}

#[test]
fn faulty_entries_are_listed_and_the_rest_is_read() {
    check(
        "{\"question\": \"A?\", \"answers\": [\"a\"], \"id\": \"x\"}\n\
         no json\n\
         {\"answers\": [\"a\"]}\n\
         {\"question\": \"B?\"}\n\
         {\"question\": \"C?\", \"answers\": [\"\", \" \"]}\n\
         {\"question\": \"D?\", \"answers\": [\"d\", \"\"]}\n\
         {\"question\": \" \", \"answers\": [\"a\"]}\n\
         {\"question\": \"E?\", \"answers\": [\"e\"], \"id\": \"x\"}\n\
         [1, 2]",
        &[
            r#"x A? ["a"]"#,
            r#"q2 D? ["d"]"#,
            r#"x#2 E? ["e"]"#,
            "! line 2: it is not a JSON object (use JSON lines with `question` and `answers`, or a published dataset)",
            "! line 3: it has no `question`",
            "! line 4: it has no `answers` (an empty list says that the corpus does not hold the answer)",
            "! line 5: every answer is empty",
            "! line 6: an empty answer was left out",
            "! line 7: the question is empty",
            "! line 8: the id x occurs again; this one is x#2",
            "! line 9: it is not a JSON object",
        ],
    );
    check(
        r#"{"data": [{"title": "T", "articles": []}]}"#,
        &["! entry 1: it has no `question`"],
    );
}

#[test]
fn a_file_without_questions_is_an_error_that_names_the_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes, reason) in [
        (
            "prose.txt",
            &b"Dear Mira,\nit rains."[..],
            "line 1: it is not a JSON object",
        ),
        (
            "packed.jsonl.gz",
            &[0x1f, 0x8b, 8, 0][..],
            "it cannot be unpacked",
        ),
        (
            "latin.jsonl",
            &b"{\"question\": \"caf\xe9\"}"[..],
            "it is not UTF-8 text",
        ),
        ("empty.jsonl", b"", "it is empty"),
        (
            "other.json",
            b"{\"rows\": []}",
            "line 1: it has no `question`",
        ),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("written");
        let error = QuestionSet::read(&file, None).expect_err(name);
        let error = error.line();
        assert!(error.contains(reason), "{name}: {error}");
        assert!(
            error.contains("give JSON lines with `question` and `answers`"),
            "{name}: {error}"
        );
    }
    let missing = QuestionSet::read(&folder.path().join("gone.jsonl"), None).expect_err("gone");
    let missing = missing.line();
    assert!(
        missing.contains("No such file") && missing.ends_with("check the path"),
        "{missing}"
    );
}

#[test]
fn evidence_that_no_document_holds_is_listed() {
    let file = r#"{"question": "A?", "answers": ["a"], "evidence": ["Tam was  born\nin Lorby.", "Tam was born in Harwen."]}
{"question": "B?", "answers": ["b"], "evidence": [{"file": "people.md", "quote": "Tam was born"}, {"file": "ships.md", "quote": "Tam was born"}]}
{"question": "C?", "answers": ["c"], "evidence": ["<td>Tam</td> was <b>born</b> in", "2 < 3 and more"]}"#;
    let set = QuestionSet::parse(file);
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("people.md", "Mira sang. Tam was born in Lorby."),
        ("ships.md", "Ships sail, since 2 < 3 and more."),
    ] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let settings = ragscope::config::Layers::defaults()
        .config()
        .expect("defaults")
        .corpus;
    let walked = ragscope::corpus::walk(folder.path(), &settings, &mut |_| {
        ragscope::event::Flow::Continue
    });
    let documents: Vec<_> = walked
        .expect("walked")
        .files
        .iter()
        .map(|file| ragscope::corpus::read(file, &Default::default()).expect("read"))
        .collect();
    assert_eq!(
        find_missing_evidence(&set.questions, &documents),
        [
            "q1: the corpus does not hold “Tam was born in Harwen.”",
            "q2: ships.md does not hold “Tam was born”",
        ]
    );
}

#[test]
fn one_id_throughout_takes_no_longer_than_many() {
    let line = |id: &str| {
        format!("{{\"id\": \"{id}\", \"question\": \"Who?\", \"answers\": [\"Mira\"]}}\n")
    };
    let one = line("a").repeat(50_000);
    let many: String = (0..50_000).map(|id| line(&id.to_string())).collect();
    check_times(
        "one id",
        || drop(QuestionSet::parse(&one)),
        4,
        || drop(QuestionSet::parse(&many)),
    );

    let set = QuestionSet::parse(&one);
    let ids: std::collections::HashSet<&str> =
        set.questions.iter().map(|q| q.id.as_str()).collect();
    assert_eq!(ids.len(), 50_000);
    assert!(ids.contains("a") && ids.contains("a#50000"));
}
