//! Fields of records.

use serde_json::Value;

use super::record::Record;
use crate::corpus::{fold_white_space, sentences};
use crate::eval::questions::Evidence;

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

/// Returns the question, or what is missing.
pub fn question(record: &Record, names: &[&str]) -> Result<String, String> {
    text(record, names).ok_or_else(|| format!("it has no `{}`", names[0]))
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
