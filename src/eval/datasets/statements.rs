//! Questions and statements with a verdict: StrategyQA, BoolQ, PubHealth.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{list, missing, question, text, texts, yes_or_no};
use super::form::{Dataset, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Evidence, Passage, Question, QuestionEntry};

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
        one(QuestionEntry {
            question: Question {
                id: text(record, &["id"]).unwrap_or_default(),
                question: as_question(&question(record, &["question"])?),
                answers: vec![verdict(record)?],
                ..Question::default()
            },
            passages: vec![Passage {
                title: text(record, &["title"]).unwrap_or_default(),
                text: text(record, &["passage"]).unwrap_or_default(),
            }],
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
    let passages: Vec<Passage> = names
        .iter()
        .filter_map(|name| {
            let paragraph = paragraphs.as_ref()?.get(name)?;
            Some(Passage {
                title: text(paragraph, &["title"]).unwrap_or_default(),
                text: text(paragraph, &["content", "text"])?,
            })
        })
        .collect();

    Ok(QuestionEntry {
        question: Question {
            id: text(record, &["qid"]).unwrap_or_default(),
            question: question(record, &["question"])?,
            answers: vec![verdict(record)?],
            evidence: passages
                .iter()
                .map(|passage| Evidence::anywhere(&passage.text))
                .collect(),
            ..Question::default()
        },
        passages,
        is_unanswerable: false,
    })
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
fn pub_health(record: &Record) -> Result<Vec<super::form::Fallible>, String> {
    let claim = question(record, &["claim"])?;
    let label = text(record, &["label"])
        .or_else(|| texts(record.get("answers")).into_iter().next())
        .ok_or_else(|| missing("label"))?
        .to_lowercase();
    // PubHealth has `mixture` and `unproven` too, which Self-RAG leaves out
    if !["true", "false"].contains(&label.as_str()) {
        return Ok(Vec::new());
    }

    let main = text(record, &["main_text"]);
    let found = list(record.get("ctxs")).iter().filter_map(|found| {
        let found = found.as_object()?;
        Some(Passage {
            title: text(found, &["title"]).unwrap_or_default(),
            text: text(found, &["text"])?,
        })
    });
    let main = main.map(|text| Passage {
        title: String::new(),
        text,
    });
    one(QuestionEntry {
        question: Question {
            id: text(record, &["claim_id", "id"]).unwrap_or_default(),
            question: format!(
                "Is the following statement correct or not? Say true if it's correct; otherwise say false. Statement: {claim}"
            ),
            answers: vec![label],
            ..Question::default()
        },
        passages: main.into_iter().chain(found).collect(),
        is_unanswerable: false,
    })
}
