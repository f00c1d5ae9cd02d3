//! Open questions whose documents are elsewhere, or given as passages: Natural Questions in the
//! forms of NQ-open, KILT, AmbigNQ and EVOUNA, and PopQA.

use serde_json::Value;

use super::beside::Beside;
use super::fields::{list, missing, question, text, texts};
use super::form::{Dataset, one};
use super::lines::LINES;
use super::record::Record;
use crate::eval::questions::{Evidence, Passage, Question, QuestionEntry};

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
            id: text(record, &["id"]).unwrap_or_default(),
            question: question(record, &["input"])?,
            answers: answers.collect(),
            ..Question::default()
        }
        .into())
    },
    ..LINES
};

pub const AMBIG_NQ: Dataset = Dataset {
    name: "ambignq",
    about: "AmbigNQ: the published JSON; every reading's answers count as right",
    questions: &["dev.json", "dev_light.json"],
    is_record: |record| record.contains_key("annotations"),
    read: |record, _: &Beside| one(ambig_nq(record)?),
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
            question: question(record, &["question"])?,
            // EVOUNA separates spellings with slashes
            answers: golden.split('/').map(str::to_owned).collect(),
            ..Question::default()
        }
        .into())
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
            id: text(record, &["id"]).unwrap_or_default(),
            question: question(record, &["question"])?,
            answers: texts(parsed.as_ref().or(possible)),
            kind: text(record, &["prop"]).unwrap_or_default(),
            ..Question::default()
        }
        .into())
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
        .filter_map(|passage| {
            let passage = passage.as_object()?;
            let is_gold = passage.get("isgold").and_then(Value::as_bool);
            let given = Passage {
                title: text(passage, &["title"]).unwrap_or_default(),
                text: text(passage, &["text"])?,
            };
            Some((is_gold.unwrap_or(false), given))
        })
        .collect();

    let gold = passages.iter().filter(|(is_gold, _)| *is_gold);
    Ok(QuestionEntry {
        question: Question {
            id: text(record, &["id", "_id"]).unwrap_or_default(),
            question: question(record, &["question", "query"])?,
            answers: texts(Some(answers)),
            evidence: gold
                .map(|(_, passage)| Evidence::anywhere(&passage.text))
                .collect(),
            ..Question::default()
        },
        passages: passages.into_iter().map(|(_, passage)| passage).collect(),
        is_unanswerable: false,
    })
}

/// Reads a record whose annotations are single answers, or pairs of a clearer question and its
/// answers.
fn ambig_nq(record: &Record) -> Result<QuestionEntry, String> {
    let mut answers = Vec::new();
    for annotation in list(record.get("annotations")) {
        answers.extend(texts(annotation.get("answer")));
        for pair in list(annotation.get("qaPairs")) {
            answers.extend(texts(pair.get("answer")));
        }
    }

    Ok(Question {
        id: text(record, &["id"]).unwrap_or_default(),
        question: question(record, &["question"])?,
        answers,
        ..Question::default()
    }
    .into())
}
