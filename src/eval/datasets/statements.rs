//! Questions and statements with a verdict: StrategyQA, BoolQ, PubHealth.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{list, missing, passage, question, text, texts, with_marked, yes_or_no};
use super::form::{Dataset, Fallible, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Question, QuestionEntry};

pub const STRATEGY_QA: Dataset = Dataset {
    name: "strategyqa",
    about: "StrategyQA: the published JSON, with strategyqa_train_paragraphs.json beside it for its documents",
    questions: &["strategyqa_train.json", "strategyqa_dev.json"],
    is_record: |record| record.contains_key("qid") && record.contains_key("facts"),
    read: |record, beside: &Beside| one(strategy_qa(record, beside)?),
    ..LINES
};

pub const BOOL_Q: Dataset = Dataset {
    name: "boolq",
    about: "BoolQ: the published JSON lines",
    questions: &["dev.jsonl"],
    is_record: |record| {
        record.contains_key("passage") && record.get("answer").is_some_and(Value::is_boolean)
    },
    read: |record, _: &Beside| {
        let asked = question(record, &["id"], &["question"])?;
        let passage = passage(record, &["title"], &["passage"]);
        one(QuestionEntry {
            question: Question {
                question: as_question(&asked.question),
                answers: vec![verdict(record)?],
                ..asked
            },
            passages: passage.into_iter().collect(),
            is_unanswerable: false,
        })
    },
    ..LINES
};

pub const PUB_HEALTH: Dataset = Dataset {
    name: "pubhealth",
    about: "PubHealth: the published table, or the JSON lines of Self-RAG; claims that are neither true nor false are left out",
    questions: &["test.tsv", "dev.tsv"],
    is_record: |record| record.contains_key("claim"),
    read: |record, _: &Beside| pub_health(record),
    ..LINES
};

fn verdict(record: &Record) -> Result<String, String> {
    let answer = record.get("answer").ok_or_else(|| missing("answer"))?;
    yes_or_no(answer).ok_or_else(|| "its `answer` is neither true nor false".to_owned())
}

/// Returns a question of BoolQ, which is in lower case without its mark, as one is written.
fn as_question(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    let mut written: String = first.into_iter().flatten().chain(letters).collect();
    // BoolQ's questions are search queries: lower case, without a mark
    if !written.ends_with('?') {
        written.push('?');
    }
    written
}

/// The paragraphs of StrategyQA's evidence, by their names.
const PARAGRAPHS: &str = "strategyqa_train_paragraphs.json";

fn strategy_qa(record: &Record, beside: &Beside) -> Result<QuestionEntry, String> {
    let mut names = Vec::new();
    collect_names(record.get("evidence"), &mut names);
    let paragraphs = beside.read_keyed(PARAGRAPHS, "para_id");
    let passages = names.iter().filter_map(|name| {
        let paragraph = paragraphs.as_ref()?.get(name)?;
        Some((true, passage(paragraph, &["title"], &["content", "text"])?))
    });

    let question = question(record, &["qid"], &["question"])?;
    let question = Question {
        answers: vec![verdict(record)?],
        ..question
    };
    Ok(with_marked(question, passages.collect()))
}

/// Collects the names of paragraphs in StrategyQA's evidence: lists of annotators, of steps, and of
/// names or the words `operation` and `no_evidence`.
fn collect_names(value: Option<&Value>, names: &mut Vec<String>) {
    match value {
        Some(Value::Array(all)) => all.iter().for_each(|one| collect_names(Some(one), names)),
        Some(Value::String(name)) if !names.contains(name) => names.push(name.clone()),
        Some(_) | None => {}
    }
}

/// Returns the question whether a claim is true, in the words of Self-RAG's prompt.
fn pub_health(record: &Record) -> Result<Vec<Fallible>, String> {
    let claim = question(record, &["claim_id", "id"], &["claim"])?;
    let label = text(record, &["label"])
        .or_else(|| texts(record.get("answers")).into_iter().next())
        .ok_or_else(|| missing("label"))?
        .to_lowercase();
    // PubHealth has `mixture` and `unproven` too, which Self-RAG leaves out
    if !["true", "false"].contains(&label.as_str()) {
        return Ok(Vec::new());
    }

    let main = passage(record, &[], &["main_text"]);
    let found = list(record.get("ctxs")).iter();
    let found = found.filter_map(|found| passage(found.as_object()?, &["title"], &["text"]));
    one(QuestionEntry {
        question: Question {
            question: format!(
                "Is the following statement correct or not? Say true if it's correct; otherwise say false. Statement: {}",
                claim.question
            ),
            answers: vec![label],
            ..claim
        },
        passages: main.into_iter().chain(found).collect(),
        is_unanswerable: false,
    })
}
