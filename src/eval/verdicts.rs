//! Agreement of a judge of answers with people: SePer's table 1, over the answers of five systems
//! in EVOUNA (Wang et al. 2023), each with a human verdict on whether it says what the reference
//! answer says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::datasets;
use super::error::not_questions;
use super::metrics::{exact_match, substring};
use super::tables::{self, Table, cell, heads, row};
use crate::event::{Flow, Problem};
use crate::llm::{Entailment, LlmError};
use crate::methods::ModelCalls;

/// Answers that are judged in one call.
const BATCH: usize = 32;

/// An answer of a system, with a human verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub system: String,
    pub question: String,
    /// The reference answers.
    pub references: Vec<String>,
    pub answer: String,
    /// Whether the annotator calls the answer right.
    pub is_right: bool,
}

/// The rule by which an answer is called right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evaluator {
    /// The answer equals a reference answer.
    ExactMatch,
    /// A reference answer is part of it.
    LexicalMatch,
    /// The judge finds that it entails a reference answer, or the reverse.
    Entailment,
}

impl Evaluator {
    const ALL: [Self; 3] = [Self::ExactMatch, Self::LexicalMatch, Self::Entailment];

    fn name(self) -> &'static str {
        match self {
            Self::ExactMatch => "exact match",
            Self::LexicalMatch => "lexical match",
            Self::Entailment => "entailment",
        }
    }
}

/// The table as the paper prints it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictTable {
    pub name: String,
    pub title: String,
    /// The judge whose figures are quoted.
    pub model: String,
    pub left_out: Vec<String>,
    /// The systems, as the file names them.
    systems: Vec<String>,
    /// F1 and accuracy in percent, by file and evaluator, one pair per system.
    published: BTreeMap<String, BTreeMap<Evaluator, Vec<[f64; 2]>>>,
}

static TABLE: LazyLock<Option<VerdictTable>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        verdicts: VerdictTable,
    }

    // the file is embedded, and a test reads it
    let file: Result<File, _> = toml::from_str(include_str!("../../config/papers.toml"));
    file.ok().map(|file| file.verdicts)
});

impl VerdictTable {
    /// Returns the table with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::get().filter(|table| table.name == name)
    }

    /// Returns the table.
    pub fn get() -> Option<&'static Self> {
        TABLE.as_ref()
    }

    fn published_figures(
        &self,
        file: &str,
        evaluator: Evaluator,
        system: &str,
    ) -> Option<[f64; 2]> {
        let of_file = self
            .published
            .iter()
            .find(|(name, _)| file.contains(name.as_str()))?;
        let at = self.systems.iter().position(|known| known == system)?;

        let [f1, accuracy] = of_file.1.get(&evaluator)?.get(at)?;
        // in percent with one digit
        let share = |percent: &f64| (percent * 10.0).round() / 1000.0;
        Some([share(f1), share(accuracy)])
    }
}

/// The agreement of an evaluator with people, on the answers of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictFigure {
    pub evaluator: Evaluator,
    pub system: String,
    pub answers: usize,
    /// F1 of calling an answer right, in 0..=1.
    pub f1: f64,
    pub accuracy: f64,
    /// F1 and accuracy that the paper prints.
    pub published: Option<[f64; 2]>,
}

/// Reads the judged answers of a file of EVOUNA, at most `limit` of each system, spread evenly;
/// questions that it calls improper and answers without a verdict are left out.
///
/// # Errors
/// A file that cannot be read or has no judged answer.
pub fn read(path: &Path, limit: Option<usize>) -> Result<Vec<Judged>, Problem> {
    let text = datasets::text(path)?;
    let records: Vec<Value> =
        serde_json::from_str(&text).map_err(|error| not_questions(path, &error.to_string()))?;

    let mut by_system: BTreeMap<String, Vec<Judged>> = BTreeMap::new();
    let proper = records.iter().filter(|record| record["improper"] != true);
    for judged in proper.flat_map(answers_of) {
        let of_system = by_system.entry(judged.system.clone()).or_default();
        of_system.push(judged);
    }
    if by_system.is_empty() {
        let reason = "no answer in it has a verdict, as those of EVOUNA have";
        return Err(not_questions(path, reason));
    }
    let spread = |judged: Vec<Judged>| {
        let wanted = limit.unwrap_or(judged.len()).min(judged.len());
        let known = judged.len();
        (0..wanted).map(move |at| judged[at * known / wanted.max(1)].clone())
    };
    Ok(by_system.into_values().flat_map(spread).collect())
}

fn answers_of(record: &Value) -> Vec<Judged> {
    let text = |name: &str| record[name].as_str().map(str::to_owned);
    let (Some(question), Some(golden), Some(fields)) =
        (text("question"), text("golden_answer"), record.as_object())
    else {
        return Vec::new();
    };

    let systems = fields
        .keys()
        .filter_map(|name| name.strip_prefix("answer_"));
    systems
        .filter_map(|system| {
            Some(Judged {
                system: system.to_owned(),
                question: question.clone(),
                references: golden.split('/').map(str::to_owned).collect(),
                answer: text(&format!("answer_{system}"))?,
                is_right: record[format!("judge_{system}")].as_bool()?,
            })
        })
        .collect()
}

/// Compares each evaluator with the verdicts of people, system by system in the order of the table;
/// `file` is the name of the file. `observe` is called with the number of answers judged so far and
/// may stop.
///
/// # Errors
/// Failures of the judge; [`crate::llm::LlmError::Stopped`].
pub fn compare(
    calls: &mut dyn ModelCalls,
    judged: &[Judged],
    file: &str,
    table: &VerdictTable,
    observe: &mut dyn FnMut(usize) -> Flow,
) -> Result<Vec<VerdictFigure>, LlmError> {
    let entailed = judge_entailment(calls, judged, observe)?;

    let mut systems: Vec<&str> = judged.iter().map(|one| one.system.as_str()).collect();
    systems.dedup();
    let place = |system: &str| table.systems.iter().position(|known| known == system);
    systems.sort_by_key(|system| place(system).unwrap_or(usize::MAX));

    let mut figures = Vec::new();
    for evaluator in Evaluator::ALL {
        for system in &systems {
            let of_system = judged
                .iter()
                .zip(&entailed)
                .filter(|(one, _)| one.system == *system);
            let verdicts: Vec<(bool, bool)> = of_system
                .map(|(one, entailed)| (is_called_right(evaluator, one, *entailed), one.is_right))
                .collect();
            let [f1, accuracy] = agreement(&verdicts);
            figures.push(VerdictFigure {
                evaluator,
                system: (*system).to_owned(),
                answers: verdicts.len(),
                f1,
                accuracy,
                published: table.published_figures(file, evaluator, system),
            });
        }
    }
    Ok(figures)
}

/// Returns whether the judge finds that each answer entails one of its references, or the reverse.
fn judge_entailment(
    calls: &mut dyn ModelCalls,
    judged: &[Judged],
    observe: &mut dyn FnMut(usize) -> Flow,
) -> Result<Vec<bool>, LlmError> {
    let mut entailed = Vec::with_capacity(judged.len());

    for batch in judged.chunks(BATCH) {
        for one in batch {
            let answer = one.answer.trim();
            let pairs: Vec<(&str, &str)> = one
                .references
                .iter()
                .flat_map(|reference| [(answer, reference.trim()), (reference.trim(), answer)])
                .collect();

            let is_entailed = !answer.is_empty()
                && calls
                    .entail(&one.question, &pairs)?
                    .iter()
                    .any(Entailment::is_entailed);
            entailed.push(is_entailed);
        }

        observe(entailed.len()).check()?;
    }

    Ok(entailed)
}

fn is_called_right(evaluator: Evaluator, one: &Judged, entailed: bool) -> bool {
    let matches = |compare: fn(&str, &str) -> f64| {
        let mut references = one.references.iter();
        references.any(|reference| compare(&one.answer, reference) > 0.5)
    };
    match evaluator {
        Evaluator::ExactMatch => matches(exact_match),
        Evaluator::LexicalMatch => matches(substring),
        Evaluator::Entailment => entailed,
    }
}

/// Returns F1 and accuracy of verdicts: what is called right, and what is.
fn agreement(verdicts: &[(bool, bool)]) -> [f64; 2] {
    let count = |called, is| verdicts.iter().filter(|one| **one == (called, is)).count() as f64;
    let both = count(true, true);
    let wrong = count(true, false) + count(false, true);
    let f1 = if both + wrong > 0.0 {
        2.0 * both / (2.0 * both + wrong)
    } else {
        0.0
    };
    let accuracy = (both + count(false, false)) / (verdicts.len() as f64).max(1.0);
    [f1, accuracy]
}

/// Returns the figures as a table: F1 and accuracy in percent, the paper's in brackets.
pub fn table(title: &str, figures: &[VerdictFigure]) -> Table {
    let pair = |[f1, accuracy]: [f64; 2]| format!("{:.1} / {:.1}", f1 * 100.0, accuracy * 100.0);
    let row = |figure: &VerdictFigure| {
        row![
            figure.evaluator.name(),
            figure.system,
            figure.answers,
            pair([figure.f1, figure.accuracy]),
            cell(figure.published, pair),
        ]
    };

    let head = heads("evaluator|answers of|answers|F1 / accuracy, %|published");
    tables::table(title, head, figures.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_f1_and_accuracy() {
        // scikit-learn: f1_score 0.6666667, accuracy_score 0.6
        let verdicts = [
            (true, true),
            (true, true),
            (true, false),
            (false, true),
            (false, false),
        ];
        let [f1, accuracy] = agreement(&verdicts);
        assert!((f1 - 2.0 / 3.0).abs() < 1e-9 && (accuracy - 0.6).abs() < 1e-9);
        assert_eq!(agreement(&[(false, false)]), [0.0, 1.0]);
        assert_eq!(agreement(&[]), [0.0, 0.0]);
    }

    #[test]
    fn the_table_has_the_papers_figures() {
        let table = VerdictTable::find("seper:1").expect("a table");
        let figures = |file, evaluator, system| table.published_figures(file, evaluator, system);
        assert_eq!(
            figures("NQ.json", Evaluator::Entailment, "fid"),
            Some([0.966, 0.953])
        );
        assert_eq!(
            figures("TQ.json", Evaluator::LexicalMatch, "newbing"),
            Some([0.941, 0.898])
        );
        assert_eq!(figures("TQ.json", Evaluator::ExactMatch, "fid"), None);
        assert_eq!(figures("other.json", Evaluator::Entailment, "fid"), None);
    }
}
