//! The demo corpus is what its README says.

use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/corpus")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the corpus") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn the_corpus_has_many_short_documents_in_three_formats() {
    let files = files_below(&corpus());
    assert!(files.len() >= 60, "only {} documents", files.len());
    for (format, least) in [("md", 60), ("txt", 30), ("html", 8)] {
        let count = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == format)).count();
        assert!(count >= least, "only {count} documents in {format}");
    }
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text in UTF-8");
        let words = text.split_whitespace().count();
        assert!((10..=400).contains(&words), "{} has {words} words", file.display());
        assert!(text.ends_with('\n') && !text.contains('\r'), "{}: odd line ends", file.display());
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
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn the_questions_are_of_every_kind_in_both_splits() {
    let questions = questions();
    let count = |kind: &str, split: &str| questions.iter().filter(|q| q.kind == kind && q.split == split).count();
    for (kind, tune, held_out) in [
        ("one-hop", 34, 66),
        ("two-hop", 26, 54),
        ("comparison", 14, 26),
        ("two-places", 13, 27),
        ("unanswerable", 13, 27),
    ] {
        assert_eq!((count(kind, "tune"), count(kind, "held_out")), (tune, held_out), "{kind}");
    }
    assert_eq!(questions.len(), 300);
    let ids: std::collections::BTreeSet<_> = questions.iter().map(|q| &q.id).collect();
    let texts: std::collections::BTreeSet<_> = questions.iter().map(|q| &q.question).collect();
    assert_eq!((ids.len(), texts.len()), (300, 300), "an id or a question occurs twice");
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
        assert_eq!(!question.answers.is_empty(), answered, "{}: {:?}", question.id, question.answers);
        assert!(enough, "{} has {places} places of evidence", question.id);
        for place in &question.evidence {
            let text = std::fs::read_to_string(corpus().join(&place.file)).expect(&place.file);
            assert!(text.contains(&place.quote), "{}: {} does not say “{}”", question.id, place.file, place.quote);
        }
        if question.kind == "two-places" {
            assert_eq!(question.evidence[0].file, question.evidence[1].file, "{}", question.id);
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

#[test]
fn five_questions_are_prepared_under_presets_that_exist() {
    let file = corpus().with_file_name("prepared.toml");
    let text = std::fs::read_to_string(file).expect("prepared.toml");
    let prepared: Prepared = toml::from_str(&text).expect("prepared questions");
    assert_eq!(prepared.question.len(), 5);
    let presets = ragscope::config::preset_names(Path::new(""));
    for entry in prepared.question {
        assert!(presets.contains(&entry.preset), "no preset {}", entry.preset);
        assert!(entry.question.ends_with('?') && !entry.answer.is_empty(), "{}", entry.question);
        assert_eq!(entry.shows.matches(". ").count(), 0, "one sentence: {}", entry.shows);
        assert!(entry.shows.ends_with('.'), "{}", entry.shows);
    }
}

#[test]
fn the_settings_of_the_demo_are_settings() {
    let mut layers = ragscope::config::Layers::defaults();
    layers.lay_beneath(&corpus().with_file_name("ragscope.toml")).expect("known keys");
    let config = layers.config().expect("valid settings");
    assert!(config.chunker.tokens < 100, "the bundled generator reads short chunks only");
}
