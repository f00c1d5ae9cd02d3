//! The published question sets that are read, and our own JSON lines.
//!
//! A set is a line of [`DATASETS`]: the file of its questions, how its records are recognised, and
//! how a record becomes questions with passages and evidence. A file may be packed with gzip; its
//! records are a JSON array, JSON lines, the list in an object of one published form, or the rows
//! of a table with tabs.

mod beside;
mod fields;
mod lines;
mod multi_hop;
mod natural_questions;
mod pages;
mod retrieval;
mod squad;
mod statements;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::EvalError;
use super::questions::{Collector, Entry, Passage, QuestionSet};
use beside::Beside;

/// A record of a question file.
pub(super) type Record = Map<String, Value>;

/// A question set in its published form.
pub struct Dataset {
    /// As `--dataset` takes it.
    pub name: &'static str,
    /// The set and its forms.
    pub about: &'static str,
    /// Where a published folder has its questions; empty for a set that is one file.
    questions: &'static [&'static str],
    /// Returns whether a record is of this set, for a file whose set is not named.
    is_record: fn(&Record) -> bool,
    /// Returns the passages that belong to the set as a whole.
    shared: fn(&Beside) -> Vec<Passage>,
    /// Returns the questions of a record, each or the whole with its fault.
    read: fn(&Record, &Beside) -> Result<Vec<Fallible>, String>,
}

/// A question, or its name and the fault of it.
type Fallible = Result<Entry, (String, String)>;

impl std::fmt::Debug for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The sets, the most specific records first: the first that recognises a record reads the file.
/// Our own form is the last, and takes what no other does.
pub static DATASETS: &[Dataset] = &[
    squad::SQUAD,
    multi_hop::MUSIQUE,
    multi_hop::TWO_WIKI,
    multi_hop::HOTPOT_QA,
    statements::STRATEGY_QA,
    statements::BOOL_Q,
    statements::PUB_HEALTH,
    pages::IIRC,
    pages::TRIVIA_QA,
    pages::MS_MARCO,
    natural_questions::KILT,
    natural_questions::AMBIG_NQ,
    natural_questions::EVOUNA,
    natural_questions::POP_QA,
    natural_questions::NQ_OPEN,
    retrieval::BEIR,
    retrieval::DRAGONBALL,
    lines::LINES,
];

/// Reads the questions of a file or of a published folder.
pub(super) fn read(path: &Path, named: Option<&'static Dataset>) -> Result<QuestionSet, EvalError> {
    let path = question_file(path, named);
    let text = beside::text(&path)?;
    let records = records(&text);
    Ok(collected(records, named, &Beside::of(&path)))
}

/// Returns the text of a file, unpacked.
pub(super) fn text(path: &Path) -> Result<String, EvalError> {
    beside::text(path)
}

/// Parses the text of a question file that needs no other file.
pub(super) fn parse(text: &str) -> QuestionSet {
    collected(records(text), None, &Beside::nothing())
}

/// Returns the file of the questions: of a folder, the first that its set names.
fn question_file(path: &Path, named: Option<&'static Dataset>) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let sets = DATASETS
        .iter()
        .filter(|set| named.is_none_or(|named| named.name == set.name));
    let files = sets
        .flat_map(|set| set.questions)
        .map(|file| path.join(file));
    let mut present = files.filter(|file| file.is_file());
    present.next().unwrap_or_else(|| path.to_owned())
}

/// A record with the name of its place in the file, or the fault at that place.
type Placed = (String, Result<Record, &'static str>);

const NOT_AN_OBJECT: &str = "it is not a JSON object";
const NOT_JSON: &str = "it is not a JSON object (use JSON lines with `question` and `answers`, or a published dataset)";

/// Splits a file into its records.
fn records(text: &str) -> Vec<Placed> {
    let numbered = |name: &'static str, values: Vec<Value>| -> Vec<Placed> {
        let placed = |(number, value): (usize, Value)| match value {
            Value::Object(record) => (format!("{name} {number}"), Ok(record)),
            _ => (format!("{name} {number}"), Err(NOT_AN_OBJECT)),
        };
        (1..).zip(values).map(placed).collect()
    };

    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(entries)) => numbered("entry", entries),
        Ok(Value::Object(mut file)) => match pages::of_columns(&file) {
            Some(rows) => numbered("entry", rows),
            None => match ["data", "Data"].iter().find_map(|name| file.remove(*name)) {
                Some(Value::Array(entries)) => numbered("entry", entries),
                Some(_) => vec![("data".to_owned(), Err("it is not a list"))],
                None => vec![("line 1".to_owned(), Ok(file))],
            },
        },
        Ok(_) => vec![("line 1".to_owned(), Err(NOT_AN_OBJECT))],
        Err(_) => table(text).unwrap_or_else(|| lines(text)),
    }
}

fn lines(text: &str) -> Vec<Placed> {
    let line = |(number, line): (usize, &str)| {
        let record = match serde_json::from_str(line) {
            Ok(Value::Object(record)) => Ok(record),
            Ok(_) => Err(NOT_AN_OBJECT),
            Err(_) => Err(NOT_JSON),
        };
        (format!("line {number}"), record)
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(line)
        .collect()
}

/// Reads the rows of a table with tabs whose first line names the columns.
fn table(text: &str) -> Option<Vec<Placed>> {
    let head = text.lines().next()?;
    if !head.contains('\t') || head.trim_start().starts_with('{') {
        return None;
    }
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b'\t')
        .flexible(true)
        .from_reader(text.as_bytes());
    let names = reader.headers().ok()?.clone();
    let row = |(number, row): (usize, Result<csv::StringRecord, csv::Error>)| {
        let place = format!("row {number}");
        let Ok(row) = row else {
            return (place, Err("it is not a row of the table"));
        };
        let cells = names.iter().zip(row.iter());
        let record = cells
            .map(|(name, cell)| (name.trim().to_owned(), Value::from(cell)))
            .collect();
        (place, Ok(record))
    };
    Some((1..).zip(reader.records()).map(row).collect())
}

fn collected(
    records: Vec<Placed>,
    named: Option<&'static Dataset>,
    beside: &Beside,
) -> QuestionSet {
    // a file may hold records of several forms
    let dataset_of = |record: &Record| {
        let recognised = || DATASETS.iter().find(|set| (set.is_record)(record));
        named.or_else(recognised).unwrap_or(&lines::LINES)
    };
    let first = records.iter().find_map(|(_, record)| record.as_ref().ok());
    let shared = first.map(|record| (dataset_of(record).shared)(beside));

    let mut collector = Collector::sharing(shared.unwrap_or_default());
    for (place, record) in &records {
        let entries = match record {
            Ok(record) => (dataset_of(record).read)(record, beside),
            Err(fault) => Err((*fault).to_owned()),
        };
        match entries {
            Err(fault) => collector.remark(place, &fault),
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => collector.push(place, entry),
                        Err((name, fault)) => collector.remark(&name, &fault),
                    }
                }
            }
        }
    }
    for fault in beside.faults() {
        collector.set.remarks.push(fault);
    }
    collector.set
}

/// Returns a record's one question.
fn one(entry: Entry) -> Result<Vec<Fallible>, String> {
    Ok(vec![Ok(entry)])
}
