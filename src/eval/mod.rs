//! Evaluation: which preset is better on a person's own documents, and what each lookup was worth.
//!
//! In reading order: [`QuestionSet`] reads a file of questions, [`Places`] finds their evidence in the corpus, [`run`] asks each question
//! under each preset and writes one [`Row`] of figures an answer into a [`Journal`](crate::trace::Journal), which survives a kill, and a [`Report`] sums the
//! rows up, as a table in Markdown or as a page of HTML with plots.

mod questions;
mod evidence;
mod metrics;
mod row;
mod understanding;
mod runner;
mod report;
mod tables;
mod plot;
mod html;
mod make;

pub use evidence::Places;
pub use html::page;
pub use make::{Made, Making, make_questions};
pub use metrics::{
    DEPTHS, Interval, RankScores, TextScores, accuracy_by_coverage, auarc, auroc, declines,
    exact_match, f1, meteor, normalised, paired_bootstrap, pearson, rouge_l, substring,
};
pub use questions::{Evidence, Question, QuestionSet};
pub use report::{Comparison, PresetSummary, Report};
pub use row::{Measure, Row};
pub use runner::{Answers, Ended, Plan, Progress, run};
pub use tables::{Table, headline, markdown, tables};
pub use understanding::{UnderstandingSummary, Understood};

/// What an evaluation can fail with before it begins. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error(
        "{file} is no question file ({reason}): give JSON lines with `question` and `answers`, or a file of SQuAD, HotpotQA or NQ-open"
    )]
    Questions { file: String, reason: String },
    #[error("the question file {file} cannot be read ({reason}): check the path")]
    Unreadable { file: String, reason: String },
}
