//! Runs, checked by their events, with scripted models and a corpus of a few lines.

mod follow_up;
mod funnel;
mod utility;
mod ablation;
mod searag;
mod presets;
mod judged;
mod translated;
mod links;
mod models;
mod answers;
pub mod dense;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use ragscope::config::prompts::Prompts;
use ragscope::config::{Config, RetrieverSettings};
use ragscope::corpus::{SemanticSplit, TokenCounter};
use ragscope::engine::{Corpus, RunError, Tools, ask};
use ragscope::event::{
    Ask, ChunkText, CorpusCard, DropReason, DroppedChunk, Flow, Hit, Outcome, Problem, Ranked,
    Retrieval, RunEvent,
};
use ragscope::index::{ChunkLinks, IndexError, Rechunked, Search};
use ragscope::llm::{Embedder, LlmError};

use super::llm::runtime;
use crate::support::environment::small_settings;
use crate::support::find;
use crate::support::scripted::{ScriptedEmbedder, ScriptedGenerator};

static COUNTER: LazyLock<TokenCounter> = LazyLock::new(|| {
    let embedder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/all-MiniLM-L6-v2.Q8_0.gguf");
    TokenCounter::from_gguf(&embedder, &runtime()).expect("the embedder")
});

/// Chunks in the order in which every query finds them.
struct Shelf(Vec<&'static str>);

impl Shelf {
    fn hits(&self) -> Vec<Hit> {
        let hit = |(rank, text): (u32, &&str)| Hit {
            chunk: ChunkText {
                id: u64::from(rank) * 10,
                document: "people.md".to_owned(),
                bytes: [0, text.len() as u64],
                lines: [rank, rank],
                tokens: 8,
                text: (*text).to_owned(),
                ..ChunkText::default()
            },
            bm25: Some(Ranked { score: 1.0, rank }),
            fused: Ranked {
                score: 1.0 / rank as f32,
                rank,
            },
            ..Hit::default()
        };
        (1..).zip(&self.0).map(hit).collect()
    }
}

impl Search for Shelf {
    fn documents(&self) -> Result<Vec<String>, IndexError> {
        Ok(vec!["people.md".to_owned()])
    }

    fn search(
        &self,
        query: &str,
        _vector: &[f32],
        _embedder: &str,
        _settings: &RetrieverSettings,
    ) -> Result<Retrieval, IndexError> {
        Ok(Retrieval {
            query: query.to_owned(),
            hits: self.hits(),
            bm25_found: 1,
            vector_found: 0,
            wall_us: 1,
            filter: None,
            documents: std::collections::BTreeMap::new(),
        })
    }

    fn vectors(&self, chunks: &[u64]) -> Result<Vec<Option<Vec<f32>>>, IndexError> {
        Ok(chunks.iter().map(|_| None).collect())
    }

    /// Each sentence of the shelf is a chunk of its own.
    fn rechunk(
        &self,
        documents: &[&str],
        _split: SemanticSplit,
        embedder: &mut dyn Embedder,
        _counter: &TokenCounter,
    ) -> Result<Vec<Rechunked>, LlmError> {
        let texts: Vec<&str> = self
            .0
            .iter()
            .flat_map(|text| text.split_inclusive(". "))
            .map(str::trim)
            .collect();
        let vectors = embedder.embed(&texts)?;
        let chunk = |(line, text): (u32, &str)| ChunkText {
            id: (1 << 52) + u64::from(line),
            document: "people.md".to_owned(),
            bytes: [0, text.len() as u64],
            lines: [line, line],
            tokens: 8,
            text: text.to_owned(),
            ..ChunkText::default()
        };
        let chunks = (1..).zip(texts).map(chunk).zip(vectors).collect();
        assert_eq!(documents, ["people.md"], "each document once");
        Ok(vec![Rechunked {
            document: "people.md".to_owned(),
            chunks: Ok(Arc::new(chunks)),
            sentences: 4,
            is_cached: false,
        }])
    }

    fn document(&self, _path: &str) -> Result<Vec<ChunkText>, IndexError> {
        Ok(self.hits().into_iter().map(|hit| hit.chunk).collect())
    }

    fn links(&self, _document: &str) -> Result<Option<ChunkLinks>, IndexError> {
        Ok(None)
    }

    fn keep_links(&self, _document: &str, _links: &ChunkLinks) -> Result<(), IndexError> {
        Ok(())
    }

    fn card(&self) -> CorpusCard {
        CorpusCard {
            folders: Vec::new(),
            folder: "notes".to_owned(),
            documents: 1,
            chunks: 3,
            generation: 1,
            read_only: false,
            demo: false,
            words_only: false,
        }
    }
}

const SHELF: [&str; 4] = [
    "Mira Oakes was a student of Tam Reeve.",
    "Tam Reeve was born in Aldmouth.",
    "Ships sail.",
    "Ropes hold.",
];

pub fn config(settings: &[(&str, &str)]) -> Config {
    let mut layers = small_settings();
    for (key, value) in settings {
        layers.set("test", key, value).expect("a known key");
    }
    layers.config().expect("a valid configuration")
}

/// Ask over [`SHELF`] and give the events; `stop_at` is the number of the event that is answered
/// with a stop.
pub fn run(
    config: &Config,
    generator: &mut ScriptedGenerator,
    question: &str,
    stop_at: usize,
) -> (Result<Outcome, RunError>, Vec<RunEvent>) {
    run_from(config, generator, (question, &[]), stop_at)
}

/// [`run`], with the sentences that the answer begins with.
pub fn run_from(
    config: &Config,
    generator: &mut ScriptedGenerator,
    asked: (&str, &[String]),
    stop_at: usize,
) -> (Result<Outcome, RunError>, Vec<RunEvent>) {
    run_over(&SHELF, config, generator, asked, stop_at)
}

/// [`run_from`], over other chunks.
pub fn run_over(
    shelf: &[&'static str],
    config: &Config,
    generator: &mut ScriptedGenerator,
    (question, confirmed): (&str, &[String]),
    stop_at: usize,
) -> (Result<Outcome, RunError>, Vec<RunEvent>) {
    let asked = Ask {
        confirmed: confirmed.to_vec(),
        ..Ask::new(question)
    };
    run_asked(shelf, config, generator, &asked, stop_at)
}

/// [`run_over`], for a question in its thread.
pub fn run_asked(
    shelf: &[&'static str],
    config: &Config,
    generator: &mut ScriptedGenerator,
    asked: &Ask,
    stop_at: usize,
) -> (Result<Outcome, RunError>, Vec<RunEvent>) {
    let prompts = Prompts::default();
    let (shelf, mut embedder) = (Shelf(shelf.to_vec()), ScriptedEmbedder::new(8));
    let mut events = Vec::new();
    let reading_rate = generator.reading_rate;
    let tools = Tools {
        config,
        prompts: &prompts,
        generator,
        corpus: Some(Corpus {
            index: &shelf,
            embedder: &mut embedder,
            counter: &COUNTER,
        }),
        reranker: None,
        linker: None,
        judge: None,
        reading_rate,
        verdict_fit: None,
        probe: Err(Problem::without_advice("no probe in this test")),
    };
    let outcome = ask(tools, asked, &mut |event| {
        events.push(event);
        if events.len() > stop_at {
            Flow::Stop
        } else {
            Flow::Continue
        }
    });
    (outcome, events)
}

pub fn names(events: &[RunEvent]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for event in events {
        let json = serde_json::to_value(event).expect("an event is JSON");
        let name = json["type"].as_str().expect("a type").to_owned();
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    names
}

pub fn finished(events: &[RunEvent]) -> (&str, &str, Vec<(u32, u32)>) {
    match events.last() {
        Some(RunEvent::RunFinished {
            text,
            answer,
            citations,
            ..
        }) => (
            text,
            answer,
            citations
                .iter()
                .map(|cited| (cited.label, cited.first_line))
                .collect(),
        ),
        other => panic!("the last event is {other:?}"),
    }
}

#[test]
fn naive_retrieves_once_and_answers_sentence_by_sentence() {
    let mut generator = ScriptedGenerator::new().when(
        "Context:",
        " Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Aldmouth. So the answer is Aldmouth.",
    );
    let (outcome, events) = run(
        &config(&[]),
        &mut generator,
        " Where was the teacher of Mira born? ",
        usize::MAX,
    );
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    let step = ["step_started", "token_generated", "step_finished"];
    let expected: Vec<&str> = [
        "run_started",
        "query_written",
        "retrieval_finished",
        "context_built",
        "model_called",
    ]
    .into_iter()
    .chain(step.into_iter().cycle().take(8))
    .chain([
        "model_call_finished",
        "step_finished",
        "verdict_given",
        "run_finished",
    ])
    .collect();
    assert_eq!(names(&events), expected);
    let (text, answer, citations) = finished(&events);
    assert_eq!(text.split(". ").count(), 3, "{text}");
    assert_eq!(answer, "Aldmouth");
    assert_eq!(citations, [(1, 1), (2, 2)]);
    assert!(
        generator.seen[0]
            .user
            .starts_with("Context:\n[1] Mira Oakes was a student of Tam Reeve.\n[2] Tam Reeve")
    );
}

#[test]
fn closed_book_looks_nothing_up() {
    let mut generator = ScriptedGenerator::new().when("step by step", " So the answer is Lorby.");
    let (_, events) = run(
        &config(&[("preset", "closed-book")]),
        &mut generator,
        "Where?",
        usize::MAX,
    );
    assert!(
        !names(&events)
            .iter()
            .any(|name| name == "retrieval_finished" || name == "context_built")
    );
    assert_eq!(finished(&events).1, "Lorby");
    assert!(!generator.seen[0].user.contains("Context"));
}

#[test]
fn hits_below_k_and_beyond_the_context_are_dropped_with_the_reason() {
    let mut generator = ScriptedGenerator::new()
        .when("Context:", " So the answer is X.")
        .with_context(68);
    let (_, events) = run(
        &config(&[("answer.max_tokens", "34")]),
        &mut generator,
        "Where?",
        usize::MAX,
    );
    let context =
        find!(events.iter(), RunEvent::ContextBuilt { context, .. } => context).expect("a context");
    assert!(context.prompt_tokens <= context.available_tokens);
    let dropped: Vec<(u64, bool)> = context
        .dropped
        .iter()
        .map(|dropped| {
            (
                dropped.chunk,
                matches!(dropped.reason, DropReason::ContextFull { .. }),
            )
        })
        .collect();
    let kept: Vec<u64> = context.chunks.iter().map(|chunk| chunk.chunk).collect();
    assert_eq!(kept.len() + dropped.len(), SHELF.len());
    assert_eq!(
        dropped.last(),
        Some(&(40, false)),
        "the fourth is below k = 3"
    );
    assert!(
        dropped.first().is_some_and(|first| first.1),
        "a whole chunk was dropped by the token budget: {dropped:?}"
    );
}

#[test]
fn sources_that_would_be_read_too_late_are_left_out_behind_the_best_three() {
    // (tokens per second, seconds until the first word, chunks that are read)
    for (rate, seconds, read) in [(0.0, "8", 4), (1e6, "8", 4), (1.0, "8", 3), (1.0, "0", 4)] {
        let mut generator = ScriptedGenerator::new().when("Where?", "Lorby.");
        generator.reading_rate = rate;
        let config = config(&[
            ("answer.prompt", "sources"),
            ("answer.first_word_seconds", seconds),
            ("retriever.k", "4"),
        ]);
        let (_, events) = run(&config, &mut generator, "Where?", usize::MAX);
        let context = find!(events.iter(), RunEvent::ContextBuilt { context, .. } => context);
        let context = context.expect("a context");
        assert_eq!(context.chunks.len(), read, "{rate} {seconds}");
        let is_late = |dropped: &DroppedChunk| matches!(dropped.reason, DropReason::Late { .. });
        assert_eq!(
            context.dropped.iter().filter(|one| is_late(one)).count(),
            4 - read
        );
    }
}

#[test]
fn a_reply_without_the_phrase_is_led_to_a_short_answer() {
    let mut generator = ScriptedGenerator::new()
        .when("Aldmouth. So the answer is", " Aldmouth.")
        .when("Context:", " Tam Reeve was born in Aldmouth.");
    let (_, events) = run(
        &config(&[]),
        &mut generator,
        "Where was Tam Reeve born?",
        usize::MAX,
    );
    assert_eq!(finished(&events).1, "Aldmouth");
    assert_eq!(generator.seen.len(), 2);
}

#[test]
fn a_complete_answer_is_not_replaced_by_another_completion() {
    // the reply, the short answer, the calls that it takes
    let cases = [
        (" The answer to the question is: Paris", "Paris", 1),
        (" It is a city. The final answer is **Paris**.", "Paris", 1),
        (" It is on the Seine. Therefore, Paris.", "Paris", 1),
        (" Paris", "Paris", 1),
        // led to the answer, but the model has nothing to add
        (
            " Tam left the town. He moved to Lorby",
            "He moved to Lorby",
            2,
        ),
    ];
    for (reply, short, calls) in cases {
        let mut generator = ScriptedGenerator::new()
            .when("Lorby. So the answer is", "")
            .when("Context:", reply);
        let (_, events) = run(&config(&[]), &mut generator, "Where?", usize::MAX);
        assert_eq!(finished(&events).1, short, "{reply}");
        assert_eq!(generator.seen.len(), calls, "{reply}");
    }
}

#[test]
fn a_judgement_is_read_from_the_reply_where_the_labels_do_not_begin_it() {
    // how much of the replies begins with a label, the reply, the setting; probability, parsed,
    // unread
    let cases = [
        (1.0, "0", 0.9, 0, 0),
        (0.01, "1, it is relevant.", 1.0, 4, 0),
        (0.01, "\n**0**", 0.0, 4, 0),
        (0.01, "I cannot help with that.", 0.9, 4, 4),
    ];
    for (mass, reply, expected, parsed, unread) in cases {
        let mut generator = ScriptedGenerator::new()
            .when("Determine whether", reply)
            .when("Context:", " So the answer is Lorby.")
            .labelling("Determine whether", mass)
            .judging("Determine whether", "1", 0.9);
        let settings = [("filter.kind", "binary")];
        let (_, events) = run(&config(&settings), &mut generator, "Where?", usize::MAX);

        let judged = find!(events.iter(), RunEvent::ChunksJudged { judged, .. } => judged);
        for one in judged.expect("judgements") {
            assert!(
                (one.probability - expected).abs() < 1e-6,
                "{reply}: {one:?}"
            );
        }
        let readings = find!(
            events.iter(),
            RunEvent::JudgementsRead { parsed, unread, .. } => (*parsed, *unread)
        );
        assert_eq!(readings, Some((parsed, unread)), "{reply}");
        let warnings = events
            .iter()
            .filter(|event| matches!(event, RunEvent::Warned { text, .. } if text.contains("does not answer in these words")))
            .count();
        assert_eq!(warnings, usize::from(mass < 0.05), "{reply}");
    }
}

#[test]
fn a_stop_at_any_event_ends_the_run_and_keeps_what_was_written() {
    let reply = " Mira Oakes was a student of Tam Reeve. So the answer is Tam Reeve.";
    let script = || ScriptedGenerator::new().when("Context:", reply);
    let (_, all) = run(&config(&[]), &mut script(), "Who?", usize::MAX);
    for stop_at in 0..all.len() - 1 {
        let (outcome, events) = run(&config(&[]), &mut script(), "Who?", stop_at);
        assert_eq!(
            outcome.expect("it ran"),
            Outcome::Stopped,
            "stopped at {stop_at}"
        );
        assert!(
            reply.trim().starts_with(finished(&events).0),
            "stopped at {stop_at}"
        );
    }
}

#[test]
fn the_sentence_limit_is_a_limit_and_not_a_stop() {
    let mut generator = ScriptedGenerator::new()
        .when("is. So the answer", " C")
        .when("Context:", " One is. Two is. Three is.");
    let (outcome, events) = run(
        &config(&[("answer.max_sentences", "2")]),
        &mut generator,
        "Who?",
        usize::MAX,
    );
    assert_eq!(outcome.expect("it ran"), Outcome::LimitReached);
    assert_eq!(finished(&events).0, "One is. Two is.");
}

/// Lines of code are no sentences, of which an answer may have twelve.
#[test]
fn a_block_of_code_is_one_sentence() {
    let reply = "It is this:\n```rust\nfn a() {\n    b();\n}\n```\nThat is all.";
    let mut generator = ScriptedGenerator::new().when("Context:", reply);
    let settings = config(&[("answer.max_sentences", "3")]);
    let (outcome, events) = run(&settings, &mut generator, "Who?", usize::MAX);
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    let code = "```rust\nfn a() {\n    b();\n}\n```";
    assert_eq!(texts(&events), ["It is this:", code, "That is all."]);
}

#[test]
fn a_mark_behind_a_full_stop_is_of_the_sentence_before_it() {
    let reply = "Otters swim across rivers [1]. Herons nest near Pier 7. [1] Ducks (see [2]) dive \
                 for food! [1][2]\n\n[1] Geese fly south together.";
    let mut generator = ScriptedGenerator::new().when("Context:", reply);
    let (_, events) = run(&config(&[]), &mut generator, "Who?", usize::MAX);
    let without_marks = [
        "Otters swim across rivers.",
        "Herons nest near Pier 7.",
        "Ducks (see) dive for food!",
        "Geese fly south together.",
    ];
    assert_eq!(texts(&events), without_marks, "no source holds them");
}

/// The sentences that were written.
fn texts(events: &[RunEvent]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match event {
        RunEvent::StepFinished { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn questions_that_cannot_be_asked_are_refused_before_anything_runs() {
    let long = "word ".repeat(4000);
    for (question, expected) in [
        ("  \n", "the question is empty"),
        (long.as_str(), "the question needs"),
    ] {
        let (outcome, events) = run(
            &config(&[]),
            &mut ScriptedGenerator::new(),
            question,
            usize::MAX,
        );
        let error = outcome.expect_err("it cannot be asked").to_string();
        assert!(error.contains(expected), "{error}");
        assert!(events.is_empty());
    }
}

#[test]
fn an_answer_that_fills_the_context_is_kept() {
    let long = " Ropes hold and".repeat(30);
    let mut generator = ScriptedGenerator::new()
        .when("Context:", &long)
        .with_context(100);
    let settings = [("answer.max_tokens", "60"), ("retriever.k", "2")];
    let (outcome, events) = run(
        &config(&settings),
        &mut generator,
        "Which ropes hold?",
        usize::MAX,
    );
    assert_eq!(outcome.expect("it ran"), Outcome::LimitReached);
    let (text, answer, _) = finished(&events);
    assert!(
        text.starts_with("Ropes hold and") && answer == text,
        "{text} / {answer}"
    );
}

#[test]
fn each_sentence_is_attributed_to_the_chunks_it_attends_to() {
    let reply = " Mira Oakes was a student of Tam Reeve. Born in Aldmouth.";
    // the scripted generator has no room for a second context
    let cases = [
        ("on", vec![(1, 1), (2, 2)]),
        ("auto", Vec::new()),
        ("off", Vec::new()),
    ];
    for (setting, expected) in cases {
        let mut generator = ScriptedGenerator::new()
            .when("Aldmouth. So the", " X")
            .when("Context:", reply);
        let (_, events) = run(
            &config(&[("answer.attribution", setting)]),
            &mut generator,
            "Where?",
            usize::MAX,
        );
        let strongest: Vec<(u32, u32)> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::StepAttributed { step, chunks } => {
                    assert!(
                        (chunks.iter().map(|chunk| chunk.share).sum::<f32>() - 1.0).abs() < 1e-5
                    );
                    let best = chunks
                        .iter()
                        .max_by(|a, b| a.share.total_cmp(&b.share))
                        .expect("chunks");
                    Some((*step, best.label))
                }
                _ => None,
            })
            .collect();
        assert_eq!(strongest, expected, "attribution {setting}");
    }
}

#[test]
fn uncertainty_is_the_mean_token_entropy_of_the_sentence() {
    let mut generator = ScriptedGenerator::new()
        .when("Context:", " Tam lived in Lorby. So the answer is X.")
        .unsure_of("Lorby", 2.5);
    let (_, events) = run(&config(&[]), &mut generator, "Where?", usize::MAX);
    let values: Vec<f32> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::StepFinished { uncertainty, .. } => Some(uncertainty.value),
            _ => None,
        })
        .collect();
    let tokens: Vec<f32> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::TokenGenerated {
                step: 1, entropy, ..
            } => Some(*entropy),
            _ => None,
        })
        .collect();
    let mean = tokens.iter().sum::<f32>() / tokens.len() as f32;
    assert!(
        (values[0] - mean).abs() < 1e-6 && values[0] > values[1],
        "{values:?}"
    );
    assert!(tokens.contains(&2.5));
}

/// A worker on the bundled models, over a folder of its own.
mod worker {
    use std::path::{Path, PathBuf};

    use ragscope::engine::{Inbox, Outbox, Worker, mailbox};
    use ragscope::event::{
        Ask, Command, Event, Flow, Outcome, Record, RunEvent, SessionEvent, StopFlag,
    };

    use crate::support::environment::{TestEnvironment, small_settings};
    use crate::support::find;

    fn corpus(folder: &Path) {
        std::fs::create_dir_all(folder).expect("a folder");
        let texts = [
            (
                "people.md",
                "# People\n\nFenby Wilam was born in Bertiston.\nYelmas Sorvinden married Fenby Wilam.\n",
            ),
            (
                "ships.txt",
                "The Silver Heron was built in Lorusgate. The captain of the Silver Heron was Yelmas Sorvinden.\n",
            ),
        ];
        for (name, text) in texts {
            std::fs::write(folder.join(name), text).expect("written");
        }
    }

    /// Returns a worker whose first command opens a folder, and its mailbox.
    fn opening(folder: PathBuf, test: &TestEnvironment) -> (Worker, Outbox, Inbox) {
        let stop = StopFlag::default();
        let (outbox, inbox) = mailbox(&stop);
        outbox.send(Command::Open {
            folders: vec![folder],
        });
        let worker = Worker::new(small_settings(), test.paths(), stop);
        (worker, outbox, inbox)
    }

    fn events(records: &[Record]) -> impl Iterator<Item = &Event> {
        records.iter().map(|record| &record.event)
    }

    #[test]
    fn commands_are_served_in_order_and_a_question_overtakes_nothing_it_needs() {
        let test = TestEnvironment::empty();
        let folder = test.corpus();
        corpus(&folder);
        let (layers, paths, stop) = (small_settings(), test.paths(), StopFlag::default());
        let (outbox, inbox) = mailbox(&stop);
        let (records, seen) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            Worker::new(layers, paths, stop.clone()).serve(&inbox, &mut |record| {
                let _ = records.send(record);
                stop.flow()
            });
        });
        outbox.send(Command::Open {
            folders: vec![folder],
        });
        let mut records = Vec::new();
        let until = |records: &mut Vec<Record>, wanted: &dyn Fn(&Event) -> bool| {
            while !records
                .last()
                .is_some_and(|record: &Record| wanted(&record.event))
            {
                let record = seen
                    .recv_timeout(std::time::Duration::from_secs(60))
                    .expect("a record in time");
                records.push(record);
            }
        };
        until(
            &mut records,
            &|event| matches!(event, Event::Session(SessionEvent::IndexFinished { report }) if report.added == 2),
        );
        outbox.send(Command::Ask(Ask::new("Where was the Silver Heron built?")));
        until(&mut records, &|event| {
            matches!(event, Event::Run(RunEvent::RunFinished { .. }))
        });
        outbox.send(Command::OpenSource {
            document: "people.md".to_owned(),
            first_line: 3,
            last_line: 3,
        });
        until(&mut records, &|event| {
            matches!(event, Event::Session(SessionEvent::SourceOpened { .. }))
        });
        outbox.send(Command::Ask(Ask::default()));
        until(&mut records, &|event| {
            matches!(event, Event::Session(SessionEvent::OperationFailed { .. }))
        });
        drop(outbox);
        thread
            .join()
            .expect("the worker ends when the sender is dropped");

        let finished = find!(
            events(&records),
            Event::Run(RunEvent::RunFinished { outcome, answer, citations, usage, .. }) =>
                (outcome, answer, citations, usage)
        );
        let (outcome, answer, citations, usage) = finished.expect("a run");
        assert_eq!(outcome, &Outcome::Completed);
        assert!(!answer.is_empty());
        // the small model names a town that no passage has
        assert!(
            !answer.contains("Lorusgate") && citations.is_empty(),
            "{citations:?}"
        );
        assert!(usage.prompt_tokens_evaluated > 0 && usage.tokens_generated > 0);
        for run in records
            .chunk_by(|a, b| a.run == b.run)
            .filter(|run| run[0].run != ragscope::event::SESSION)
        {
            assert!(
                (0..).zip(run).all(|(seq, record)| record.seq == seq),
                "sequence numbers have no gaps"
            );
        }
    }

    /// The question waits in the queue while the models are loading.
    #[test]
    fn a_question_asked_at_once_finds_the_words_of_a_new_folder() {
        let test = TestEnvironment::empty();
        let folder = test.corpus();
        corpus(&folder);
        let (mut worker, outbox, inbox) = opening(folder, &test);
        outbox.send(Command::Ask(Ask::new("Where was the Silver Heron built?")));
        let (mut outbox, mut found) = (Some(outbox), Vec::new());
        worker.serve(&inbox, &mut |record| {
            match record.event {
                Event::Run(RunEvent::RetrievalFinished { retrieval, .. }) => {
                    found.push(retrieval.hits.len());
                }
                Event::Run(RunEvent::RunFinished { .. }) => drop(outbox.take()),
                _ => {}
            }
            Flow::Continue
        });
        assert!(found.first().is_some_and(|hits| *hits > 0), "{found:?}");
    }

    /// A stopped measurement keeps what it had found: without and with all chunks first, then a
    /// chunk at a time. Its texts are counted over all of it.
    #[test]
    fn a_measurement_emits_what_it_knows_so_far() {
        let test = TestEnvironment::empty();
        let folder = test.corpus();
        corpus(&folder);
        std::fs::write(
            folder.join("quay.txt"),
            "Yelmas Sorvinden was born in Corex.\n",
        )
        .expect("written");
        let (mut worker, outbox, inbox) = opening(folder, &test);
        let mut outbox = Some(outbox);
        let (mut known, mut begun) = (Vec::new(), Vec::new());
        worker.serve(&inbox, &mut |record| {
            let Event::Session(event) = record.event else {
                return Flow::Continue;
            };
            match event {
                SessionEvent::IndexFinished { .. } => {
                    let search = Command::Search {
                        query: "Yelmas Sorvinden".to_owned(),
                        overrides: Vec::new(),
                    };
                    outbox.as_ref().expect("not searched yet").send(search);
                }
                SessionEvent::Searched { retrieval } => {
                    let outbox = outbox.take().expect("searched once");
                    outbox.send(Command::MeasureUtility {
                        run: "1".to_owned(),
                        question: "Where was Yelmas Sorvinden born?".to_owned(),
                        hits: retrieval.hits,
                        own: "Corex".to_owned(),
                        overrides: vec![("utility.samples".to_owned(), "2".to_owned())],
                    });
                }
                SessionEvent::MeasurementProgressed {
                    purpose,
                    begun: count,
                    total,
                } if purpose == "utility samples" && total > 0 => begun.push((count, total)),
                SessionEvent::UtilityProgressed { utility, .. } => {
                    known.push((utility.beliefs.len(), utility.hits.len()));
                }
                SessionEvent::UtilityMeasured { utility, .. } => {
                    known.push((utility.beliefs.len(), utility.hits.len()));
                }
                _ => {}
            }
            Flow::Continue
        });
        assert_eq!(known, [(2, 0), (4, 1), (6, 2), (8, 3)]);
        assert!(begun.is_sorted(), "{begun:?}");
        assert_eq!(begun.last(), Some(&(16, 16)));
    }

    #[test]
    fn a_stopped_question_makes_room_for_the_next() {
        let test = TestEnvironment::empty();
        let (layers, paths, stop) = (small_settings(), test.paths(), StopFlag::default());
        let (outbox, inbox) = mailbox(&stop);
        let overrides = vec![("preset".to_owned(), "closed-book".to_owned())];
        for question in ["Who wrote Silver Notes?", "Who founded Corex Mills?"] {
            outbox.send(Command::Ask(Ask {
                overrides: overrides.clone(),
                ..Ask::new(question)
            }));
            if question.contains("wrote") {
                // pressed before the worker has taken the question up: it must not be lost, nor hit
                // the next question
                stop.stop();
            }
        }
        drop(outbox);
        let mut ends = Vec::new();
        Worker::new(layers, paths, stop.clone()).serve(&inbox, &mut |record| {
            match record.event {
                Event::Run(RunEvent::RunFinished { outcome, .. }) => {
                    ends.push(format!("{outcome:?}"));
                }
                Event::Session(SessionEvent::OperationStopped { operation }) => {
                    ends.push(format!("{operation:?} stopped"));
                }
                _ => {}
            }
            if stop.is_set() {
                Flow::Stop
            } else {
                Flow::Continue
            }
        });
        assert_eq!(
            ends,
            ["Ask stopped", "Completed"],
            "the first was stopped while its model was loading"
        );
    }
}
