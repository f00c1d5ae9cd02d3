//! Sets that judge what is found: those of BEIR (NFCorpus, SCIDOCS and others), and RAGEval's
//! Dragonball, which has answers, too.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::beside::Beside;
use super::fields::{as_text, list, missing, passage, question, text, texts};
use super::form::{Dataset, Fallible, one};
use super::record::Record;
use crate::eval::questions::{Evidence, Passage, Question, QuestionEntry};

pub const BEIR: Dataset = Dataset {
    name: "beir",
    about: "A set of BEIR: its folder with corpus.jsonl, queries.jsonl and qrels/test.tsv; found passages are judged, answers are not",
    questions: &["queries.jsonl"],
    is_record: |record| record.contains_key("_id") && record.contains_key("text"),
    shared: |beside| {
        let corpus = beside.read_keyed("corpus.jsonl", "_id");
        all_of(corpus.as_deref(), &["title"], &["text"])
    },
    read: |record, beside: &Beside| beir(record, beside),
};

pub const DRAGONBALL: Dataset = Dataset {
    name: "dragonball",
    about: "Dragonball of RAGEval: dragonball_queries.jsonl with dragonball_docs.jsonl beside it",
    questions: &["dragonball_queries.jsonl"],
    is_record: |record| record.contains_key("ground_truth") && record.contains_key("query"),
    shared: |beside| {
        let documents = beside.read_keyed(DOCUMENTS, "doc_id");
        all_of(documents.as_deref(), SUBJECTS, &["content"])
    },
    read: |record, _: &Beside| one(dragonball(record)?),
};

/// The documents of Dragonball, and the fields that name the subject of one.
const DOCUMENTS: &str = "dragonball_docs.jsonl";
const SUBJECTS: &[&str] = &["company_name", "court_name", "hospital_patient_name"];

/// Returns every document of a corpus, in the order of their names.
fn all_of(
    documents: Option<&HashMap<String, Record>>,
    title: &[&str],
    content: &[&str],
) -> Vec<Passage> {
    let by_name: BTreeMap<&String, &Record> = documents.into_iter().flatten().collect();
    let documents = by_name.values();
    documents
        .filter_map(|document| passage(document, title, content))
        .collect()
}

/// The files of BEIR's judgements, the first that exists counts.
const JUDGEMENTS: [&str; 3] = ["qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv"];

fn beir(record: &Record, beside: &Beside) -> Result<Vec<Fallible>, String> {
    let id = text(record, &["_id"]).ok_or_else(|| missing("_id"))?;
    let corpus = beside
        .read_keyed("corpus.jsonl", "_id")
        .ok_or("there is no corpus.jsonl beside it")?;
    let relevant = beside
        .read_grouped(&JUDGEMENTS, judgement)
        .ok_or("there is no qrels/test.tsv beside it")?;
    // of a set with parts, the file has the queries of all of them
    let Some(relevant) = relevant.get(&id) else {
        return Ok(Vec::new());
    };

    let judged = relevant.iter().filter_map(|name| corpus.get(name));
    let quotes = judged.filter_map(|document| text(document, &["text"]));
    one(Question {
        evidence: quotes.map(Evidence::anywhere).collect(),
        is_retrieval_only: true,
        ..question(record, &["_id"], &["text"])?
    })
}

/// Returns the query and the document of a judgement that calls it relevant.
fn judgement(row: &Record) -> Option<(String, String)> {
    let grade: f64 = text(row, &["score"])?.parse().ok()?;
    let pair = (text(row, &["query-id"])?, text(row, &["corpus-id"])?);
    // BEIR lists judged passages that are beside the point with 0
    (grade > 0.0).then_some(pair)
}

fn dragonball(record: &Record) -> Result<QuestionEntry, String> {
    let query = record.get("query").and_then(Value::as_object);
    let query = query.ok_or_else(|| missing("query"))?;
    let truth = record.get("ground_truth").and_then(Value::as_object);
    let truth = truth.ok_or_else(|| missing("ground_truth"))?;
    let quotes = list(truth.get("references")).iter().filter_map(as_text);
    let answers = texts(truth.get("content"));
    let kind = text(query, &["query_type"]).unwrap_or_default();

    Ok(QuestionEntry {
        is_unanswerable: answers.is_empty() || kind == "Irrelevant Unsolvable Question",
        question: Question {
            answers,
            evidence: quotes.map(Evidence::anywhere).collect(),
            kind,
            split: text(record, &["language"]).unwrap_or_default(),
            ..question(query, &["query_id"], &["content"])?
        },
        passages: Vec::new(),
    })
}
