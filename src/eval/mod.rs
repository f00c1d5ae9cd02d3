//! Evaluation: compares presets on the user's own documents, and measures how much each context
//! helped.
//!
//! In reading order: [`QuestionSet`] reads a file of questions, ours or one of the published
//! [`DATASETS`], [`Documents`] makes a folder of the passages that come with it, [`EvidenceCheck`] finds their
//! evidence in the corpus, [`run`] asks each question under each preset and appends one [`Row`] of
//! figures per answer to a [`Journal`](crate::trace::Journal), which survives a kill, and a
//! [`Report`] sums the rows up, as tables in Markdown or as a page of HTML with plots. The figures
//! are declared in [`metrics`].

mod questions;
mod datasets;
mod documents;
mod evidence;
mod metrics;
mod row;
mod runner;
mod report;
mod paper;
mod published;
mod tables;
pub mod verdicts;
mod plot;
mod html;
mod make;

pub use datasets::{DATASETS, Dataset};
pub use documents::Documents;
pub use evidence::EvidenceCheck;
pub use html::page;
pub use make::{GeneratedQuestion, MakeProgress, make_questions};
pub use metrics::{
    AnswerMetric, ChunkFigures, ChunkMetric, CostMetric, DEPTHS, DepthMetric, EvidenceList,
    Interval, ListMetric, Metric, SeparationMetric, UncertaintyMetric, UnderstandingMetric,
    Understood, UtilityMetric, Values, accuracy_by_coverage, auarc, auroc, exact_match, f1,
    is_refusal, meteor, normalised, paired_bootstrap, pearson, rouge_l, score, substring,
};
pub use paper::{PaperRow, PaperTable};
pub use published::{Published, PublishedFigure, PublishedMetric};
pub use questions::{Evidence, Passage, Question, QuestionSet};
pub use report::{
    Comparison, DenseInterval, ListSummary, PresetSummary, RepeatSummary, Report,
    UncertaintySummary, UnderstandingSummary,
};
pub use row::{ContextUtility, Row};
pub use runner::{Answers, Ended, Plan, Progress, run};
pub use tables::{Table, headline, markdown, tables};

use std::borrow::Cow;

use crate::event::Advice;

/// An error before an evaluation begins.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error("{file} is not a question file ({reason})")]
    Questions { file: String, reason: String },
    #[error("the question file {file} cannot be read ({reason})")]
    Unreadable { file: String, reason: String },
}

impl Advice for EvalError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Questions { .. } => {
                "give JSON lines with `question` and `answers`, or a dataset that `ragscope eval --help` lists"
            }
            Self::Unreadable { .. } => "check the path",
        };
        Some(advice.into())
    }
}
