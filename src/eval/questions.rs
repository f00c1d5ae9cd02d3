//! Reads question files: our own JSON lines, and the formats of SQuAD, HotpotQA and NQ-open.
//!
//! A line that is not a question is listed and left out; only a file without any question is an error.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::EvalError;
use crate::corpus::{fold_white_space, sentences};

/// A question with its reference answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Unique in its set.
    pub id: String,
    pub question: String,
    /// The spellings that count as right. Empty when the corpus does not hold the answer: a reply that
    /// says so is right.
    pub answers: Vec<String>,
    pub evidence: Vec<Evidence>,
    /// A name for questions of one kind; empty when the file gives none.
    pub kind: String,
    /// A name for a part of the set; empty when the file gives none.
    pub split: String,
}

/// A passage that holds the answer, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Path inside the corpus, when the file names one.
    pub file: Option<String>,
    /// The text, word for word but for white space.
    pub quote: String,
}

/// The questions of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionSet {
    pub questions: Vec<Question>,
    /// Faults of single entries, each as `place: fault`.
    pub remarks: Vec<String>,
}

impl QuestionSet {
    /// Reads a question file.
    ///
    /// # Errors
    /// A file that cannot be read, or that has no question in a known format.
    pub fn read(file: &Path) -> Result<Self, EvalError> {
        let shown = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|error| EvalError::Unreadable {
            file: shown.clone(),
            reason: error.to_string(),
        })?;
        let fail = |reason: &str| EvalError::Questions {
            file: shown.clone(),
            reason: reason.to_owned(),
        };
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(fail("it is compressed; unpack it with gunzip first"));
        }
        let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8 text"))?;
        let set = Self::parse(text.trim_start_matches('\u{feff}'));
        if !set.questions.is_empty() {
            return Ok(set);
        }
        let remark = set.remarks.first();
        Err(fail(remark.map_or("it is empty", String::as_str)))
    }

    /// Parses the text of a question file.
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader::default();
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(file)) if file.contains_key("data") => reader.squad(&file),
            Ok(Value::Array(entries)) => {
                for (number, entry) in (1..).zip(&entries) {
                    reader.entry(&format!("entry {number}"), entry);
                }
            }
            // a single line is a file, too
            Ok(_) | Err(_) => {
                for (number, line) in (1..)
                    .zip(text.lines())
                    .filter(|(_, line)| !line.trim().is_empty())
                {
                    reader.line(&format!("line {number}"), line);
                }
            }
        }
        reader.set
    }
}

#[derive(Default)]
struct Reader {
    set: QuestionSet,
    /// The ids that are used.
    ids: HashSet<String>,
}

impl Reader {
    fn remark(&mut self, place: &str, what: &str) {
        self.set.remarks.push(format!("{place}: {what}"));
    }

    fn line(&mut self, place: &str, line: &str) {
        match serde_json::from_str(line) {
            Ok(entry) => self.entry(place, &entry),
            Err(_) => self
                .remark(place, "it is not a JSON object (use JSON lines, or the format of SQuAD, HotpotQA or NQ-open)"),
        }
    }

    /// Reads an entry of a list: a question of our own, of HotpotQA or of NQ-open, distinguished by
    /// their fields.
    fn entry(&mut self, place: &str, entry: &Value) {
        let Some(entry) = entry.as_object() else {
            return self.remark(place, "it is not a JSON object");
        };
        let Some(question) = text(entry, &["question", "query"]) else {
            return self.remark(place, "it has no `question`");
        };
        let Some(answers) = entry
            .get("answers")
            .or_else(|| entry.get("answer"))
            .or_else(|| entry.get("golden_answers"))
        else {
            return self.remark(
                place,
                "it has no `answers` (an empty list says that the corpus does not hold the answer)",
            );
        };
        let evidence = match (entry.get("supporting_facts"), entry.get("ctxs")) {
            (Some(facts), _) => hotpot_evidence(facts, entry.get("context")),
            (None, Some(passages)) => gold_passages(passages),
            (None, None) => own_evidence(entry.get("evidence")),
        };
        let named = |names: &[&str]| text(entry, names).unwrap_or_default();
        self.push(
            place,
            Question {
                id: named(&["id", "_id"]),
                question,
                answers: answers_of(answers),
                evidence,
                kind: named(&["kind", "type"]),
                split: named(&["split"]),
            },
            is_empty_list(answers),
        );
    }

    fn squad(&mut self, file: &Map<String, Value>) {
        for article in list(file.get("data")) {
            let title = article
                .get("title")
                .and_then(Value::as_str)
                .unwrap_or("an article");
            for paragraph in list(article.get("paragraphs")) {
                let context = paragraph
                    .get("context")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                for entry in list(paragraph.get("qas")) {
                    self.squad_entry(title, context, entry);
                }
            }
        }
        if self.set.questions.is_empty() && self.set.remarks.is_empty() {
            self.remark("data", "it holds no `paragraphs` with `qas`");
        }
    }

    fn squad_entry(&mut self, title: &str, context: &str, entry: &Value) {
        let Some(entry) = entry.as_object() else {
            return self.remark(title, "a question is not a JSON object");
        };
        let id = text(entry, &["id"]).unwrap_or_default();
        let place = if id.is_empty() {
            title.to_owned()
        } else {
            id.clone()
        };
        let Some(question) = text(entry, &["question"]) else {
            return self.remark(&place, "it has no `question`");
        };
        let Some(answers) = entry.get("answers") else {
            return self.remark(&place, "it has no `answers`");
        };
        let is_impossible = entry
            .get("is_impossible")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let found = list(Some(answers));
        let mut spellings: Vec<String> = found
            .iter()
            .filter_map(|answer| text(answer.as_object()?, &["text"]))
            .collect();
        spellings.dedup();
        let start = found
            .first()
            .and_then(|answer| answer.get("answer_start"))
            .and_then(Value::as_u64);
        let evidence = start.and_then(|start| sentence_at(context, usize::try_from(start).ok()?));
        let question = Question {
            id,
            question,
            answers: spellings,
            evidence: evidence
                .map(|quote| Evidence { file: None, quote })
                .into_iter()
                .collect(),
            kind: String::new(),
            split: String::new(),
        };
        self.push(&place, question, is_impossible || is_empty_list(answers));
    }

    /// Adds a question. `is_unanswerable` says that it is meant to have no answers.
    fn push(&mut self, place: &str, mut question: Question, is_unanswerable: bool) {
        let given = question.answers.len();
        question.answers.retain(|answer| !answer.trim().is_empty());
        if question.question.trim().is_empty() {
            return self.remark(place, "the question is empty");
        }
        if question.answers.is_empty() && !is_unanswerable {
            return self.remark(place, "every answer is empty");
        }
        if question.answers.len() < given {
            self.remark(place, "an empty answer was left out");
        }
        if question.id.is_empty() {
            question.id = format!("q{}", self.set.questions.len() + 1);
        }
        let given = question.id.clone();
        for number in 2.. {
            if self.ids.insert(question.id.clone()) {
                break;
            }
            question.id = format!("{given}#{number}");
        }
        if question.id != given {
            let twin = &question.id;
            self.set.remarks.push(format!(
                "{place}: the id {given} occurs again; this one is {twin}"
            ));
        }
        self.set.questions.push(question);
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Returns the first of these fields that is present, as text: numbers count as text.
fn text(entry: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names
        .iter()
        .find_map(|name| entry.get(*name).and_then(as_text))
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn answers_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(answers) => answers.iter().filter_map(as_text).collect(),
        one => as_text(one).into_iter().collect(),
    }
}

/// Returns the evidence of our own format: quotes, or objects with a `quote` and perhaps a `file`.
fn own_evidence(value: Option<&Value>) -> Vec<Evidence> {
    let place = |value: &Value| match value {
        Value::Object(place) => Some(Evidence {
            file: text(place, &["file"]),
            quote: text(place, &["quote", "text"])?,
        }),
        other => as_text(other).map(|quote| Evidence { file: None, quote }),
    };
    list(value)
        .iter()
        .filter_map(place)
        .filter(|evidence| !evidence.quote.is_empty())
        .collect()
}

/// Returns the evidence of HotpotQA: `supporting_facts` are pairs of a title and the number of a
/// sentence; `context` has the sentences by title.
fn hotpot_evidence(facts: &Value, context: Option<&Value>) -> Vec<Evidence> {
    let sentence = |fact: &Value| {
        let title = fact.get(0)?.as_str()?;
        let number = usize::try_from(fact.get(1)?.as_u64()?).ok()?;
        let of_title = |page: &&Value| page.get(0).and_then(Value::as_str) == Some(title);
        let page = list(context).iter().find(of_title)?;
        let quote = page.get(1)?.get(number)?.as_str()?.trim().to_owned();
        (!quote.is_empty()).then_some(Evidence { file: None, quote })
    };
    list(Some(facts)).iter().filter_map(sentence).collect()
}

/// Returns the evidence of NQ-open: the passages that are marked as gold.
fn gold_passages(passages: &Value) -> Vec<Evidence> {
    let gold = |passage: &&Value| {
        passage
            .get("isgold")
            .and_then(Value::as_bool)
            .unwrap_or(false)
    };
    let quote = |passage: &Value| {
        Some(Evidence {
            file: None,
            quote: text(passage.as_object()?, &["text"])?,
        })
    };
    list(Some(passages))
        .iter()
        .filter(gold)
        .filter_map(quote)
        .collect()
}

/// Returns the sentence that contains character `start` of `context`.
fn sentence_at(context: &str, start: usize) -> Option<String> {
    let at = context.char_indices().nth(start).map(|(at, _)| at)?;
    let found = sentences(context, "en")
        .into_iter()
        .find(|sentence| sentence.contains(&at))?;
    Some(fold_white_space(&context[found]))
}
