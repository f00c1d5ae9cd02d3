//! Links between chunks, and passage traces: the real program with the bundled models.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use ragscope::event::{Event, RunEvent, SessionEvent};
use serde_json::Value;

use crate::support::environment::{CommandOutput, QUESTION, TestEnvironment};
use crate::support::find;

const TOKENS: [&str; 5] = [
    "--preset",
    "saki-rag",
    "--set",
    "linker.kind=tokens",
    "--json",
];
const SENTENCE: [&str; 5] = [
    "--preset",
    "saki-rag",
    "--set",
    "linker.kind=sentence",
    "--json",
];

/// Runs `links FOLDER` with these flags and more, and returns every printed document and the
/// report.
fn links(
    test: &TestEnvironment,
    folder: &str,
    flags: &[&str],
    more: &[&str],
) -> (Vec<Value>, Value) {
    let ended = test
        .run([&["links", folder], flags, more].concat())
        .succeeds();
    let mut lines: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON a line"))
        .collect();
    let report = lines.pop().expect("a report");
    (lines, report)
}

fn write(test: &TestEnvironment, folder: &str, files: &[(&str, String)]) {
    let folder = test.folder().join(folder);
    fs::create_dir_all(&folder).expect("made");
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("written");
    }
}

fn links_files(test: &TestEnvironment) -> Vec<PathBuf> {
    let indexes = test.paths().indexes();
    let folders = fs::read_dir(indexes).into_iter().flatten().flatten();
    let files =
        folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files
        .map(|file| file.path())
        .filter(|file| name(file).starts_with("links-"))
        .collect()
}

fn name(file: &Path) -> String {
    file.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

/// Checks that every chunk has links to other chunks of its document, whose weights are lifts: at
/// most the number of chunks.
fn check(document: &Value) {
    let chunks = document["chunks"].as_array().expect("chunks");
    for (at, chunk) in chunks.iter().enumerate() {
        let links = chunk["links"].as_array().expect("links");
        assert_eq!(links.is_empty(), chunks.len() == 1, "{chunk}");
        for link in links {
            let (to, weight) = (
                link["to"].as_u64().expect("a place"),
                link["weight"].as_f64().expect("a weight"),
            );
            assert!((to as usize) < chunks.len() && to as usize != at, "{chunk}");
            assert!(weight > 0.0 && weight <= chunks.len() as f64, "{chunk}");
        }
    }
}

#[test]
fn documents_of_any_shape_are_linked_by_both_linkers() {
    let test = TestEnvironment::new();
    let ship =
        |ship: usize| format!("The ship number {ship} sails at dawn. Its captain is Tam Reeve. ");
    let files = [
        ("one.txt", "One sentence alone.".to_owned()),
        ("story.md", (0..12).map(ship).collect::<String>()),
        ("unended.txt", "harbour mast rope and sail ".repeat(120)),
        (
            "unspaced.txt",
            "灯台は島の北にある。船は朝に出る。船長は年老いた人だ。彼は港を知っている。".repeat(3),
        ),
        ("long-words.txt", "x".repeat(1500)),
    ];
    write(&test, "shapes", &files);
    for flags in [TOKENS, SENTENCE] {
        let (documents, report) = links(&test, "shapes", &flags, &[]);
        assert_eq!(
            (documents.len(), &report["linked"]),
            (5, &Value::from(5)),
            "{report}"
        );
        assert_eq!(
            report["skipped"].as_array().map(Vec::len),
            Some(0),
            "{report}"
        );
        documents.iter().for_each(check);
        let story = documents
            .iter()
            .find(|document| document["document"] == "story.md")
            .expect("the story");
        assert_eq!(story["chunks"].as_array().map(Vec::len), Some(12));
        let (_, again) = links(&test, "shapes", &flags, &["story.md"]);
        assert_eq!(
            (&again["linked"], &again["known"]),
            (&Value::from(0), &Value::from(5)),
            "{again}"
        );
    }
    // only what changed is linked again
    write(
        &test,
        "shapes",
        &[("story.md", (0..9).map(ship).collect::<String>())],
    );
    let (_, changed) = links(&test, "shapes", &TOKENS, &[]);
    assert_eq!(
        (&changed["linked"], &changed["known"]),
        (&Value::from(1), &Value::from(4)),
        "{changed}"
    );
}

#[test]
fn a_document_of_fifty_thousand_sentences_is_linked_in_windows() {
    let test = TestEnvironment::new();
    let pairs = [
        "Ropes hold.",
        "Ships sail.",
        "Tam Reeve is old.",
        "The harbour is deep.",
        "Coal is black.",
    ];
    let text: String = (0..50_000)
        .map(|at| format!("{} ", pairs[at * at % 7 % pairs.len()]))
        .collect();
    write(&test, "huge", &[("huge.txt", text)]);
    let flags = [&SENTENCE[..], &["--set", "chunker.max_sentences=10"]].concat();
    let (documents, report) = links(&test, "huge", &flags, &[]);
    assert!(
        report["chunks"]
            .as_u64()
            .is_some_and(|chunks| chunks >= 5_000),
        "{report}"
    );
    check(&documents[0]);
}

fn wait_for(child: &mut Child, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() && child.try_wait().expect("asked").is_none() {
        assert!(
            started.elapsed() < Duration::from_secs(300),
            "it never came"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn linking_continues_after_a_kill() {
    let test = TestEnvironment::new();
    let count = 24;
    let files: Vec<(String, String)> = (0..count)
        .map(|file| {
            let sentences = (0..6).map(|at| {
                format!("Ship {at} of harbour {file} has a rope. It is {at} fathoms long. ")
            });
            (format!("{file}.txt"), sentences.collect())
        })
        .collect();
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    write(&test, "many", &files);
    assert_eq!(
        test.run([&["index", "many"], &TOKENS[..4]].concat()).code,
        Some(0)
    );
    let mut killed = test.start([&["links", "many"], &TOKENS[..]].concat());
    let some = || {
        links_files(&test)
            .iter()
            .any(|file| fs::metadata(file).is_ok_and(|about| about.len() > 1500))
    };
    wait_for(&mut killed, some);
    killed.kill().expect("killed");
    killed.wait().expect("ended");
    let (documents, report) = links(&test, "many", &TOKENS, &[]);
    let number = |key: &str| report[key].as_u64().expect("a number");
    assert_eq!(
        (documents.len(), number("linked") + number("known")),
        (count, count as u64),
        "{report}"
    );
    assert!(
        number("known") > 0,
        "what was linked before the kill is still there: {report}"
    );
    documents.iter().for_each(check);
}

#[test]
fn links_of_another_model_are_reported_and_rebuilt_on_request() {
    let test = TestEnvironment::new();
    let (_, report) = links(&test, "notes", &TOKENS, &[]);
    assert_eq!(report["linked"], 1);
    let mut other = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/assets/models/ragscope-demo.Q8_0.gguf"
    ))
    .expect("a model");
    // weights that are a little larger make another model
    let weights = other.len() / 2;
    other[weights..]
        .iter_mut()
        .step_by(512)
        .for_each(|byte| *byte ^= 1);
    let file = test.path("other.gguf");
    fs::write(&file, other).expect("written");
    let set = format!("generator.model={}", file.display());
    let ended = test.run([&["links", "notes"], &TOKENS[..], &["--set", &set]].concat());
    assert!(
        ended
            .stderr
            .contains("were made with ragscope-demo.Q8_0.gguf")
            || has_reported(&ended),
        "{}",
        ended.stderr
    );
    let report: Value =
        serde_json::from_str(ended.stdout.lines().last().expect("a report")).expect("JSON");
    assert_eq!(
        (&report["linked"], &report["documents"]),
        (&Value::from(0), &Value::from(0)),
        "{report}"
    );
    let (_, rebuilt) = links(
        &test,
        "notes",
        &[&TOKENS[..], &["--set", &set]].concat(),
        &["--rebuild"],
    );
    assert_eq!(
        (&rebuilt["linked"], &rebuilt["known"]),
        (&Value::from(1), &Value::from(0)),
        "{rebuilt}"
    );
    assert_eq!(links_files(&test).len(), 1);
}

fn has_reported(ended: &CommandOutput) -> bool {
    ended.stdout.contains("were made with")
}

#[test]
fn a_damaged_file_of_links_loses_only_the_links() {
    let test = TestEnvironment::new();
    links(&test, "notes", &TOKENS, &[]);
    let file = links_files(&test).pop().expect("a file of links");
    let whole = fs::read(&file).expect("bytes");
    for damaged in [&whole[..whole.len() - 3], b"no links", b""] {
        fs::write(&file, damaged).expect("damaged");
        let (documents, report) = links(&test, "notes", &TOKENS, &[]);
        assert_eq!(report["linked"], 1, "{report}");
        documents.iter().for_each(check);
    }
}

#[test]
fn unknown_folders_and_documents_and_empty_phrases_are_refused() {
    let test = TestEnvironment::new();
    let cases: [(&[&str], i32, &str); 3] = [
        (
            &["links", "nowhere", "--preset", "saki-rag"],
            1,
            "cannot open nowhere: there is no such folder",
        ),
        (
            &["links", "notes", "ghost.md", "--preset", "saki-rag"],
            1,
            "no document ghost.md",
        ),
        (
            &["explain", "notes", QUESTION, "--expect", " "],
            2,
            "the expected text is empty",
        ),
    ];
    for (arguments, code, expected) in cases {
        test.run(arguments).exits(code).reports(expected);
    }
}

fn explain(test: &TestEnvironment, phrase: &str, more: &[&str]) -> Value {
    let ended = test.run(
        [
            &["explain", "notes", QUESTION, "--expect", phrase, "--json"],
            more,
        ]
        .concat(),
    );
    let trace: Value = serde_json::from_str(&ended.stdout).expect("one object");
    let lookups = trace["lookups"].as_array().expect("a list");
    let is_found = |lookup: &Value| {
        lookup["chunks"]
            .as_array()
            .is_some_and(|found| !found.is_empty())
    };
    let expected = i32::from(!lookups.iter().any(is_found));
    assert_eq!(
        ended.code,
        Some(expected),
        "{} {}",
        ended.stdout,
        ended.stderr
    );
    trace
}

#[test]
fn a_passage_is_traced_through_every_stage_of_every_preset() {
    let test = TestEnvironment::new();
    let ships: String = (0..40)
        .map(|at| format!("The Heron {at} sails from Lorby. It was built in 18{at}. "))
        .collect();
    fs::write(test.corpus().join("ships.md"), ships).expect("written");
    for preset in ["naive", "chunkrag", "saki-rag"] {
        let trace = explain(&test, "tam reeve  was born", &["--preset", preset]);
        let chunk = &trace["lookups"][0]["chunks"][0];
        assert_eq!(chunk["chunk"]["document"], "people.md", "{preset}: {trace}");
        assert_eq!(chunk["bm25"]["rank"], 1, "{preset}: {trace}");
        let marks: Vec<&str> = chunk["marks"]
            .as_array()
            .expect("marks")
            .iter()
            .filter_map(|mark| mark["mark"].as_str())
            .collect();
        assert!(
            !marks.is_empty() && matches!(marks.last(), Some(&("used" | "fell"))),
            "{preset}: {marks:?}"
        );
    }
    let lost = explain(
        &test,
        "Heron 37",
        &[
            "--set",
            "chunker.max_sentences=2",
            "--set",
            "retriever.pool=5",
        ],
    );
    let chunk = &lost["lookups"][0]["chunks"][0];
    assert_eq!(chunk["marks"][0]["mark"], "no_hit", "{lost}");
    assert!(
        chunk["vector"]["rank"]
            .as_u64()
            .is_some_and(|rank| rank > 5)
            && chunk["fused"].is_null(),
        "{lost}"
    );
    let missing = explain(&test, "words that are not there", &[]);
    assert_eq!(
        missing["lookups"][0]["chunks"].as_array().map(Vec::len),
        Some(0),
        "{missing}"
    );
    test.run([
        "explain",
        "notes",
        QUESTION,
        "--expect",
        "words that are not there",
    ])
    .prints("it is not indexed");
    let split = explain(
        &test,
        "Lorby. It was built in 184",
        &[
            "--set",
            "chunker.max_sentences=1",
            "--set",
            "chunker.overlap_tokens=0",
        ],
    );
    let chunks = split["lookups"][0]["chunks"].as_array().expect("chunks");
    assert!(
        chunks.iter().all(|chunk| chunk["whole"] == false) && chunks.len() == 2,
        "{split}"
    );
}

#[test]
fn the_generator_links_where_the_sentence_model_cannot_read_the_vectors() {
    let test = TestEnvironment::new();
    let cases = [
        ("retriever.kind=bm25", "BM25 search keeps none"),
        (
            "embedder.document_prefix=passage: ",
            "with a document prefix",
        ),
    ];
    for (setting, reason) in cases {
        let asked = ["ask", "notes", QUESTION, "--set", setting];
        let ended = test.run([&asked[..], &SENTENCE].concat()).succeeds();

        let events: Vec<Event> = ended
            .records()
            .into_iter()
            .map(|record| record.event)
            .collect();
        let warned = events.iter().any(|event| {
            matches!(event, Event::Session(SessionEvent::Warned { text, .. })
                if text.contains(reason) && text.contains("linker.kind = \"tokens\""))
        });
        assert!(warned, "{setting}: {}", ended.stdout);
        let started = find!(
            events.iter(),
            Event::Run(RunEvent::RunStarted { settings, .. }) => settings
        );
        let settings = started.expect("a run");
        assert_eq!(settings["linker"]["kind"], "tokens", "{setting}");
    }

    // What it was made for stays.
    test.run([&["ask", "notes", QUESTION][..], &SENTENCE].concat())
        .does_not_print("the generator links instead");
}
