//! Our own form: JSON lines with `question` and `answers`, and what resembles it.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{as_text, list, passage, question, sentence_with, text, texts};
use super::form::{Dataset, one};
use super::record::Record;
use crate::eval::questions::{Evidence, Question, QuestionEntry};

pub const LINES: Dataset = Dataset {
    name: "lines",
    about: "JSON lines with `question`, `answers`, and if you like `id`, `evidence`, `kind`, `split`, `title` and `passage`",
    questions: &["questions.jsonl"],
    is_record: |_| true,
    shared: |_| Vec::new(),
    read: |record, _: &Beside| one(line(record)?),
};

fn line(record: &Record) -> Result<QuestionEntry, String> {
    let question = question(record, &["id", "_id"], &["question", "query"])?;
    let answers = record
        .get("answers")
        .or_else(|| record.get("answer"))
        .ok_or(
            "it has no `answers` (an empty list says that the corpus does not hold the answer)",
        )?;
    let spellings = texts(Some(answers));
    let named = |names: &[&str]| text(record, names).unwrap_or_default();

    let passage = passage(record, &["title"], &["passage", "context"]);
    let mut evidence = own_evidence(record.get("evidence"));
    if evidence.is_empty()
        && let Some(passage) = &passage
    {
        evidence.extend(sentence_with(&passage.text, &spellings));
    }

    Ok(QuestionEntry {
        question: Question {
            answers: spellings,
            evidence,
            kind: named(&["kind", "type"]),
            split: named(&["split"]),
            ..question
        },
        passages: passage.into_iter().collect(),
        is_unanswerable: answers.as_array().is_some_and(Vec::is_empty),
    })
}

/// Returns the evidence: quotes, or objects with a `quote` and perhaps a `file`.
fn own_evidence(value: Option<&Value>) -> Vec<Evidence> {
    let place = |value: &Value| match value {
        Value::Object(place) => Some(Evidence {
            file: text(place, &["file"]),
            quote: text(place, &["quote", "text"])?,
        }),
        other => as_text(other).map(Evidence::anywhere),
    };
    list(value)
        .iter()
        .filter_map(place)
        .filter(|evidence| !evidence.quote.is_empty())
        .collect()
}
