//! SQuAD 1.1 and 2.0, in the published form and row by row as on Hugging Face (the form of XQuAD's
//! and of many other sets' files, too).

use serde_json::Value;

use super::beside::Beside;
use super::fields::{list, missing, question, sentence_at, sentence_with, text, texts};
use super::form::{Dataset, Fallible, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Passage, Question, QuestionEntry};

pub const SQUAD: Dataset = Dataset {
    name: "squad",
    about: "SQuAD 1.1, SQuAD 2.0, XQuAD: the published JSON, or its rows from Hugging Face",
    questions: &["dev-v2.0.json", "dev-v1.1.json"],
    is_record: |record| {
        let is_row =
            record.contains_key("context") && record.get("answers").is_some_and(Value::is_object);
        let is_article = record.contains_key("paragraphs") && !record.contains_key("question");
        is_article || is_row
    },
    read: |record, _: &Beside| {
        if record.contains_key("context") {
            return one(row(record)?);
        }
        match record.get("paragraphs") {
            Some(paragraphs) => Ok(article(record, list(Some(paragraphs)))),
            None => Err("it holds no `paragraphs` with `qas`".to_owned()),
        }
    },
    ..LINES
};

/// Reads an article of the published form.
fn article(record: &Record, paragraphs: &[Value]) -> Vec<Fallible> {
    let title = text(record, &["title"]).unwrap_or_default();
    let mut entries = Vec::new();

    for paragraph in paragraphs {
        let context = paragraph.get("context").and_then(Value::as_str);
        let passage = Passage {
            title: title.clone(),
            text: context.unwrap_or_default().to_owned(),
        };

        for asked in list(paragraph.get("qas")) {
            entries.push(in_paragraph(asked, &passage));
        }
    }

    entries
}

fn in_paragraph(asked: &Value, passage: &Passage) -> Fallible {
    let place = if passage.title.is_empty() {
        "an article"
    } else {
        &passage.title
    };
    let fail = |name: &str, fault: String| (name.to_owned(), fault);
    let Some(asked) = asked.as_object() else {
        return Err(fail(place, "a question is not a JSON object".to_owned()));
    };
    let id = text(asked, &["id"]).unwrap_or_default();
    let name = if id.is_empty() { place } else { &id };

    let question = question(asked, &["id"], &["question"]).map_err(|fault| fail(name, fault))?;
    let answers = asked
        .get("answers")
        .ok_or_else(|| fail(name, missing("answers")))?;
    let found = list(Some(answers));
    let spellings = found
        .iter()
        .filter_map(|answer| text(answer.as_object()?, &["text"]));
    let start = found.first().and_then(|answer| answer.get("answer_start"));
    let is_impossible = asked.get("is_impossible").and_then(Value::as_bool);

    Ok(QuestionEntry {
        question: Question {
            answers: spellings.collect(),
            evidence: start
                .and_then(|start| at_character(&passage.text, start))
                .and_then(|at| sentence_at(&passage.text, at))
                .into_iter()
                .collect(),
            ..question
        },
        passages: vec![passage.clone()],
        is_unanswerable: is_impossible.unwrap_or(false) || found.is_empty(),
    })
}

/// Reads a row of Hugging Face's form, where the answers are `{text: [...], answer_start: [...]}`.
fn row(record: &Record) -> Result<QuestionEntry, String> {
    let context = text(record, &["context"]).unwrap_or_default();
    let answers = record
        .get("answers")
        .and_then(Value::as_object)
        .ok_or_else(|| missing("answers"))?;
    let spellings = texts(answers.get("text"));
    let start = list(answers.get("answer_start")).first();
    let evidence = start
        .and_then(|start| at_character(&context, start))
        .and_then(|at| sentence_at(&context, at))
        .or_else(|| sentence_with(&context, &spellings));

    Ok(QuestionEntry {
        is_unanswerable: spellings.is_empty(),
        question: Question {
            answers: spellings,
            evidence: evidence.into_iter().collect(),
            ..question(record, &["id"], &["question"])?
        },
        passages: vec![Passage {
            title: text(record, &["title"]).unwrap_or_default(),
            text: context,
        }],
    })
}

/// Returns the byte of a character given by its number.
fn at_character(text: &str, number: &Value) -> Option<usize> {
    let number = usize::try_from(number.as_u64()?).ok()?;
    // SQuAD counts characters, not bytes
    text.char_indices().nth(number).map(|(at, _)| at)
}
