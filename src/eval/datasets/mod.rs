//! The published question sets that are read, and our own JSON lines.
//!
//! A set is a line of [`DATASETS`]: the file of its questions, how its records are recognised, and
//! how a record becomes questions with passages and evidence. A file may be packed with gzip; its
//! records are a JSON array, JSON lines, the list in an object of one published form, or the rows
//! of a table with tabs.

mod record;
mod fields;
mod beside;
mod form;
mod lines;
mod squad;
mod multi_hop;
mod statements;
mod pages;
mod natural_questions;
mod retrieval;

pub(super) use beside::text;
pub use form::Dataset;

use std::path::{Path, PathBuf};

use super::error::not_questions;
use super::questions::{Collector, QuestionSet};
use crate::event::Problem;
use beside::Beside;
use record::{Placed, Record, records};

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

impl QuestionSet {
    /// Reads a question file, of this dataset or of the one that its records look like.
    ///
    /// # Errors
    /// A file that cannot be read, or that has no question in a known format.
    pub fn read(file: &Path, dataset: Option<&'static Dataset>) -> Result<Self, Problem> {
        let set = read(file, dataset)?;
        if !set.questions.is_empty() {
            return Ok(set);
        }
        let reason = set.remarks.first().map_or("it is empty", String::as_str);
        Err(not_questions(file, reason))
    }

    /// Parses the text of a question file that needs no other file.
    pub fn parse(text: &str) -> Self {
        collect(records(text), None, &Beside::default())
    }
}

/// Reads the questions of a file or of a published folder.
fn read(path: &Path, named: Option<&'static Dataset>) -> Result<QuestionSet, Problem> {
    let path = question_file(path, named);
    let text = text(&path)?;
    Ok(collect(records(&text), named, &Beside::new(&path)))
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

fn collect(records: Vec<Placed>, named: Option<&'static Dataset>, beside: &Beside) -> QuestionSet {
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
    collector.set.remarks.extend(beside.faults());
    collector.set
}
