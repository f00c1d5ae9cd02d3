//! Evaluation: compares presets on the user's own documents, and measures how much each context
//! helped.
//!
//! In reading order: [`QuestionSet`] reads a file of questions, ours or one of the published
//! [`DATASETS`], [`Documents`] makes a folder of the passages that come with it,
//! [`find_missing_evidence`] finds out what evidence the corpus does not hold, [`run`] asks each
//! question under each preset and appends one [`Row`] of figures per answer to a
//! [`Journal`](crate::trace::Journal), which survives a kill, and a [`Report`] sums the rows up, as
//! tables in Markdown or as a page of HTML with plots. The figures are declared in [`metrics`].

mod error;
mod questions;
mod datasets;
mod documents;
mod evidence;
mod metrics;
mod diagnose;
mod stress;
mod row;
mod runner;
mod summary;
mod paper_metric;
mod paper;
mod published;
mod verdict_fit;
mod report;
mod tables;
pub mod verdicts;
mod plot;
mod html;
mod make;

pub use datasets::{DATASETS, Dataset};
pub use diagnose::{diagnose, find_broken_link};
pub use documents::Documents;
pub use evidence::find_missing_evidence;
pub use html::page;
pub use make::{GeneratedQuestion, MakeProgress, make_questions};
pub use metrics::{
    AnswerMetric, ChunkFigures, ChunkMetric, CostMetric, DEPTHS, DepthMetric, EvidenceList,
    Interval, ListMetric, Metric, SeparationMetric, UncertaintyMetric, UnderstandingMetric,
    Understood, UtilityMetric, Values, accuracy_by_coverage, auarc, auroc, auroc_interval,
    bootstrap, exact_match, f1, is_refusal, meteor, normalise, paired_bootstrap, pearson, rouge_l,
    score, substring,
};
pub use paper::{PaperRow, PaperTable, paper_name};
pub use paper_metric::PublishedMetric;
pub use published::{Published, PublishedFigure};
pub use questions::{Evidence, Passage, Question, QuestionSet};
pub use report::Report;
pub use row::{ContextUtility, Row};
pub use runner::{Answers, Ended, Examined, Plan, Progress, run};
pub use stress::{Disturbance, StressSummary, Stressed, stress};
pub use summary::{
    Comparison, Correlation, DenseInterval, ListSummary, PresetSummary, UncertaintySummary,
    UnderstandingSummary,
};
pub use tables::{Table, headline, markdown, tables};
pub use verdict_fit::{Accepted, Calibration, FittedVerdicts, fit_verdicts};
