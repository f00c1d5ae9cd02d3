//! Fields of records.

use serde_json::Value;

use super::record::Record;
use crate::corpus::{fold_white_space, sentences};
use crate::eval::questions::{Evidence, Passage, Question, QuestionEntry};

/// Returns the elements of a list; nothing of anything else.
pub fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the first of these fields that is present, as text: numbers count as text.
pub fn text(record: &Record, names: &[&str]) -> Option<String> {
    names
        .iter()
        .find_map(|name| record.get(*name).and_then(as_text))
}

/// Returns a question with its id, where it has one, from the first of these fields that are
/// present; or what is missing.
pub fn question(record: &Record, ids: &[&str], questions: &[&str]) -> Result<Question, String> {
    Ok(Question {
        id: text(record, ids).unwrap_or_default(),
        question: text(record, questions).ok_or_else(|| missing(questions[0]))?,
        ..Question::default()
    })
}

/// Returns the passage of a record with its title, where it has one.
pub fn passage(record: &Record, titles: &[&str], texts: &[&str]) -> Option<Passage> {
    Some(Passage {
        title: text(record, titles).unwrap_or_default(),
        text: text(record, texts)?,
    })
}

/// Returns a question with passages, those of which that are marked are its evidence.
pub fn with_marked(question: Question, passages: Vec<(bool, Passage)>) -> QuestionEntry {
    let marked = passages.iter().filter(|(is_marked, _)| *is_marked);
    let evidence = marked.map(|(_, passage)| Evidence::anywhere(&passage.text));
    QuestionEntry {
        question: Question {
            evidence: evidence.collect(),
            ..question
        },
        passages: passages.into_iter().map(|(_, passage)| passage).collect(),
        is_unanswerable: false,
    }
}

/// Returns the fault of a record without this field.
pub fn missing(name: &str) -> String {
    format!("it has no `{name}`")
}

pub fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the texts of a list, or the one text.
pub fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(all)) => all.iter().filter_map(as_text).collect(),
        Some(one) => as_text(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Returns the answer of a yes or no question.
pub fn yes_or_no(value: &Value) -> Option<String> {
    let is_yes = match value {
        Value::Bool(answer) => *answer,
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" | "yes" => true,
            "false" | "no" => false,
            _ => return None,
        },
        _ => return None,
    };
    Some(if is_yes { "yes" } else { "no" }.to_owned())
}

/// Returns the sentence that contains byte `at` of `context`.
pub fn sentence_at(context: &str, at: usize) -> Option<Evidence> {
    let found = sentences(context, "en")
        .into_iter()
        .find(|sentence| sentence.contains(&at))?;
    Some(Evidence::anywhere(fold_white_space(&context[found])))
}

/// Returns the first sentence that contains one of the answers.
pub fn sentence_with(context: &str, answers: &[String]) -> Option<Evidence> {
    let at = answers
        .iter()
        .find_map(|answer| context.find(answer.as_str()))?;
    sentence_at(context, at)
}
