//! Open questions whose documents are elsewhere, or given as passages: Natural Questions in the
//! forms of NQ-open, KILT, AmbigNQ and EVOUNA, and PopQA.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{list, missing, passage, question, text, texts, with_marked};
use super::form::{Dataset, Fallible, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Passage, Question, QuestionEntry};

pub const NQ_OPEN: Dataset = Dataset {
    name: "nq-open",
    about: "NQ-open, FlashRAG, CRAG: JSON lines with `answer`, `answers` or `golden_answers`, and passages in `ctxs`",
    questions: &["NQ-open.dev.jsonl"],
    is_record: |record| record.contains_key("ctxs") || record.contains_key("golden_answers"),
    read: |record, _: &Beside| one(nq_open(record)?),
    ..LINES
};

pub const KILT: Dataset = Dataset {
    name: "kilt",
    about: "Natural Questions, FEVER and others of KILT: JSON lines with `input` and `output`",
    questions: &["nq-dev-kilt.jsonl"],
    is_record: |record| record.contains_key("input") && record.contains_key("output"),
    read: |record, _: &Beside| {
        // KILT lists answers and their provenance as outputs of the same form
        let outputs = list(record.get("output")).iter();
        let answers = outputs.filter_map(|output| text(output.as_object()?, &["answer"]));
        one(Question {
            answers: answers.collect(),
            ..question(record, &["id"], &["input"])?
        })
    },
    ..LINES
};

pub const AMBIG_NQ: Dataset = Dataset {
    name: "ambignq",
    about: "AmbigNQ: the published JSON; every reading's answers count as right",
    questions: &["dev.json", "dev_light.json"],
    is_record: |record| record.contains_key("annotations"),
    read: |record, _: &Beside| ambig_nq(record),
    ..LINES
};

pub const EVOUNA: Dataset = Dataset {
    name: "evouna",
    about: "EVOUNA: the published JSON; questions that it calls improper are left out",
    questions: &["NQ.json", "TQ.json"],
    is_record: |record| record.contains_key("golden_answer") && record.contains_key("improper"),
    read: |record, _: &Beside| {
        if record.get("improper").and_then(Value::as_bool) == Some(true) {
            return Ok(Vec::new());
        }
        let golden = text(record, &["golden_answer"]).ok_or_else(|| missing("golden_answer"))?;
        one(Question {
            // EVOUNA separates spellings with slashes
            answers: golden.split('/').map(str::to_owned).collect(),
            ..question(record, &[], &["question"])?
        })
    },
    ..LINES
};

pub const POP_QA: Dataset = Dataset {
    name: "popqa",
    about: "PopQA: the published table, or JSON lines with `possible_answers`",
    questions: &["popQA.tsv"],
    is_record: |record| record.contains_key("possible_answers"),
    read: |record, _: &Beside| {
        let possible = record.get("possible_answers");
        // in the table it is a cell that holds JSON
        let parsed = possible
            .and_then(Value::as_str)
            .and_then(|cell| serde_json::from_str::<Value>(cell).ok());
        one(Question {
            answers: texts(parsed.as_ref().or(possible)),
            kind: text(record, &["prop"]).unwrap_or_default(),
            ..question(record, &["id"], &["question"])?
        })
    },
    ..LINES
};

fn nq_open(record: &Record) -> Result<QuestionEntry, String> {
    let answers = ["answers", "answer", "golden_answers"]
        .iter()
        .find_map(|name| record.get(*name))
        .ok_or_else(|| missing("answers"))?;
    let passages: Vec<(bool, Passage)> = list(record.get("ctxs"))
        .iter()
        .filter_map(|given| {
            let given = given.as_object()?;
            let is_gold = given.get("isgold").and_then(Value::as_bool);
            let passage = passage(given, &["title"], &["text"])?;
            Some((is_gold.unwrap_or(false), passage))
        })
        .collect();

    let question = Question {
        answers: texts(Some(answers)),
        ..question(record, &["id", "_id"], &["question", "query"])?
    };
    Ok(with_marked(question, passages))
}

/// Reads a record whose annotations are single answers, or pairs of a clearer question and its
/// answers.
fn ambig_nq(record: &Record) -> Result<Vec<Fallible>, String> {
    let mut answers = Vec::new();
    for annotation in list(record.get("annotations")) {
        answers.extend(texts(annotation.get("answer")));
        for pair in list(annotation.get("qaPairs")) {
            answers.extend(texts(pair.get("answer")));
        }
    }

    one(Question {
        answers,
        ..question(record, &["id"], &["question"])?
    })
}
