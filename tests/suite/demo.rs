//! The demo corpus is what its README says.

use std::path::{Path, PathBuf};

use ragscope::config::Layers;
use ragscope::corpus::{Document, fold_white_space};
use ragscope::engine::Worker;
use ragscope::event::{Ask, Decision, Event, Flow, Outcome, Record, RunEvent, SESSION, StopFlag};

use crate::support::environment::TestEnvironment;
use crate::support::find;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/corpus")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the corpus") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn the_corpus_has_many_short_documents_in_three_formats() {
    let files = files_below(&corpus());
    assert!(files.len() >= 60, "only {} documents", files.len());
    for (format, least) in [("md", 60), ("txt", 30), ("html", 8)] {
        let count = files
            .iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == format))
            .count();
        assert!(count >= least, "only {count} documents in {format}");
    }
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text in UTF-8");
        let words = text.split_whitespace().count();
        assert!(
            (10..=400).contains(&words),
            "{} has {words} words",
            file.display()
        );
        assert!(
            text.ends_with('\n') && !text.contains('\r'),
            "{}: odd line ends",
            file.display()
        );
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    id: String,
    question: String,
    answers: Vec<String>,
    kind: String,
    evidence: Vec<Place>,
    split: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    file: String,
    quote: String,
}

fn questions() -> Vec<Question> {
    let file = corpus().with_file_name("questions.jsonl");
    let text = std::fs::read_to_string(file).expect("questions.jsonl");
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[test]
fn the_questions_are_of_every_kind_in_both_splits() {
    let questions = questions();
    let count = |kind: &str, split: &str| {
        questions
            .iter()
            .filter(|q| q.kind == kind && q.split == split)
            .count()
    };
    for (kind, tune, held_out) in [
        ("one-hop", 34, 66),
        ("two-hop", 26, 54),
        ("comparison", 14, 26),
        ("two-places", 13, 27),
        ("unanswerable", 13, 27),
    ] {
        assert_eq!(
            (count(kind, "tune"), count(kind, "held_out")),
            (tune, held_out),
            "{kind}"
        );
    }
    assert_eq!(questions.len(), 300);
    let ids: std::collections::BTreeSet<_> = questions.iter().map(|q| &q.id).collect();
    let texts: std::collections::BTreeSet<_> = questions.iter().map(|q| &q.question).collect();
    assert_eq!(
        (ids.len(), texts.len()),
        (300, 300),
        "an id or a question occurs twice"
    );
}

#[test]
fn every_question_quotes_its_evidence_word_for_word() {
    for question in questions() {
        let places = question.evidence.len();
        let (answered, enough) = match question.kind.as_str() {
            "unanswerable" => (false, places == 0),
            "one-hop" => (true, places == 1),
            _ => (true, places == 2),
        };
        assert_eq!(
            !question.answers.is_empty(),
            answered,
            "{}: {:?}",
            question.id,
            question.answers
        );
        assert!(enough, "{} has {places} places of evidence", question.id);
        for place in &question.evidence {
            // As the program reads it: without the tags of HTML, and the cells of tables between
            // bars.
            let bytes = std::fs::read(corpus().join(&place.file)).expect(&place.file);
            let text =
                fold_white_space(&Document::new(&place.file, bytes).expect(&place.file).text);
            assert!(
                text.contains(&place.quote),
                "{}: {} does not say “{}”",
                question.id,
                place.file,
                place.quote
            );
        }
        if question.kind == "two-places" {
            assert_eq!(
                question.evidence[0].file, question.evidence[1].file,
                "{}",
                question.id
            );
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Prepared {
    question: Vec<PreparedQuestion>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PreparedQuestion {
    question: String,
    preset: String,
    answer: String,
    shows: String,
}

fn prepared() -> Prepared {
    let file = corpus().with_file_name("prepared.toml");
    toml::from_str(&std::fs::read_to_string(file).expect("prepared.toml"))
        .expect("prepared questions")
}

#[test]
fn five_questions_are_prepared_under_presets_that_exist() {
    let prepared = prepared();
    assert_eq!(prepared.question.len(), 5);
    let presets = ragscope::config::preset_names(Path::new(""));
    for entry in prepared.question {
        assert!(
            presets.contains(&entry.preset),
            "no preset {}",
            entry.preset
        );
        assert!(
            entry.question.ends_with('?') && !entry.answer.is_empty(),
            "{}",
            entry.question
        );
        assert_eq!(
            entry.shows.matches(". ").count(),
            0,
            "one sentence: {}",
            entry.shows
        );
        assert!(entry.shows.ends_with('.'), "{}", entry.shows);
    }
}

#[test]
fn the_settings_of_the_demo_are_settings() {
    let mut layers = Layers::defaults();
    layers
        .add_base_layer(&corpus().with_file_name("ragscope.toml"))
        .expect("known keys");
    let config = layers.config().expect("valid settings");
    assert!(
        config.chunker.max_tokens < 100,
        "the bundled generator reads short chunks best"
    );
}

/// The demo as it is shown: its settings, the bundled models, an index of its own under `home`.
struct Demo {
    worker: Worker,
    _test: TestEnvironment,
}

impl Demo {
    fn open() -> Self {
        let test = TestEnvironment::empty();
        let mut layers = Layers::defaults();
        layers
            .add_base_layer(&corpus().with_file_name("ragscope.toml"))
            .expect("known keys");
        let mut worker = Worker::new(layers, test.paths(), StopFlag::default());
        let mut ignore = |_| Flow::Continue;
        worker
            .open(&[PathBuf::from("assets/demo/corpus")], false, &mut ignore)
            .expect("the corpus opens");
        let report = worker
            .update(&mut ignore)
            .expect("the corpus is indexed")
            .expect("nothing stops it");
        assert_eq!(report.skipped, []);
        Self {
            worker,
            _test: test,
        }
    }

    fn ask(&mut self, question: &str, preset: &str) -> Vec<Record> {
        self.ask_with(question, ("preset", preset))
    }

    fn ask_with(&mut self, question: &str, (key, value): (&str, &str)) -> Vec<Record> {
        let mut records = Vec::new();
        let asked = Ask {
            overrides: vec![(key.to_owned(), value.to_owned())],
            ..Ask::new(question)
        };
        let outcome = self.worker.ask(&asked, &mut |record| {
            if record.run != SESSION {
                records.push(record);
            }
            Flow::Continue
        });
        assert_eq!(outcome.expect("it ran"), Outcome::Completed, "{question}");
        records
    }
}

fn answer_of(records: &[Record]) -> &str {
    match records.last().map(|record| &record.event) {
        Some(Event::Run(RunEvent::RunFinished { answer, .. })) => answer,
        other => panic!("the last record is {other:?}"),
    }
}

#[test]
fn the_bundled_models_answer_the_prepared_questions() {
    let mut demo = Demo::open();
    let mut wrong = Vec::new();
    for entry in prepared().question {
        let records = demo.ask(&entry.question, &entry.preset);
        if answer_of(&records) != entry.answer || !shows_preset(&entry.preset, &records) {
            wrong.push(format!(
                "{} ({}): {}",
                entry.question,
                entry.preset,
                answer_of(&records)
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_sentence_is_least_likely_without_the_source_that_it_cites() {
    let mut demo = Demo::open();
    for question in [
        "In what year was Della Marbaley born?",
        "Which lighthouse is taller, Gorynpoint Light or Dandohead Light?",
    ] {
        let records = demo.ask_with(question, ("answer.attribution", "causal"));
        let mut events = records.iter().map(|record| &record.event);
        let cited = find!(
            events,
            Event::Run(RunEvent::StepFinished { step: 1, citations, .. }) => citations[0].chunk
        );
        let ablated = find!(
            events,
            Event::Run(RunEvent::StepAblated { step: 1, chunks }) => chunks.clone()
        );
        let mut chunks = ablated.expect("the first sentence was measured");
        chunks.sort_by(|a, b| b.logprob_drop.total_cmp(&a.logprob_drop));
        assert_eq!(Some(chunks[0].chunk), cited, "{question}: {chunks:?}");
        assert!(
            chunks[0].logprob_drop > 1.0 && chunks[1].logprob_drop < 1.0,
            "{question}: {chunks:?}"
        );
    }
}

/// Whether a run has the event that its preset is asked for.
fn shows_preset(preset: &str, records: &[Record]) -> bool {
    let shows = |record: &Record| match (preset, &record.event) {
        ("naive", Event::Run(RunEvent::StepFinished { citations, .. })) => !citations.is_empty(),
        ("searag", Event::Run(RunEvent::StepFinished { uncertainty, .. })) => {
            uncertainty.decision == Decision::Retrieve
        }
        // The first context was uncertain, and a repaired one was better.
        ("dense-rag", Event::Run(RunEvent::RefinementFinished { best, .. })) => *best > 1,
        ("chunkrag", Event::Run(RunEvent::ChunksGraded { .. }))
        | ("saki-rag", Event::Run(RunEvent::ChunksMerged { .. })) => true,
        _ => false,
    };
    records.iter().any(shows)
}

/// The recorded run of the prepared question `number`, from 1.
fn run_file(number: usize, entry: &PreparedQuestion) -> PathBuf {
    corpus()
        .with_file_name("runs")
        .join(format!("{number}-{}.jsonl", entry.preset))
}

#[test]
fn the_recorded_runs_belong_to_the_prepared_questions() {
    let here = env!("CARGO_MANIFEST_DIR");
    for (number, entry) in (1..).zip(prepared().question) {
        let file = run_file(number, &entry);
        let text = std::fs::read_to_string(&file).expect("a recorded run");
        assert!(
            !text.contains(here),
            "{} names a folder of the machine it was recorded on",
            file.display()
        );
        let records = ragscope::trace::read_run(&file).expect("a run that replays");
        let Some(Event::Run(RunEvent::RunStarted {
            question,
            preset,
            corpus: card,
            ..
        })) = records.first().map(|r| &r.event)
        else {
            panic!("{} does not begin with a run", file.display());
        };
        assert_eq!((question, preset), (&entry.question, &entry.preset));
        assert!(
            card.as_ref()
                .is_none_or(|card| Path::new(&card.folder).is_relative())
        );
        assert_eq!(answer_of(&records), entry.answer, "{}", entry.question);
        assert!(
            shows_preset(&entry.preset, &records),
            "{} shows nothing of {}",
            file.display(),
            entry.preset
        );
    }
}

/// Records the prepared runs again: `cargo test --test suite demo::record -- --ignored`.
#[test]
#[ignore = "writes into assets/demo/runs"]
fn record_the_prepared_questions() {
    let mut demo = Demo::open();
    for (number, entry) in (1..).zip(prepared().question) {
        let records = demo.ask(&entry.question, &entry.preset);
        let lines: Vec<String> = records
            .iter()
            .map(|r| serde_json::to_string(r).expect("JSON"))
            .collect();
        std::fs::write(run_file(number, &entry), lines.join("\n") + "\n").expect("written");
    }
}
