//! The metrics of an evaluation, each declared once.
//!
//! A file of this module is a family of metrics that are computed from the same thing, with the
//! functions that compute them:
//!
//! | file | a metric is computed from |
//! |---|---|
//! | `text` | an answer and a reference answer |
//! | `ranking` | the evidence in the lists of chunks of a preset |
//! | `uncertainty` | a run; and how well that separates wrong answers from right ones |
//! | `utility` | what the model answers with a context, and without |
//! | `understanding` | questions whose context was understood, or was not |
//! | `chunks` | what became of the chunks between the search and the prompt |
//! | `cost` | what a run used |
//!
//! A line in `metrics!` is all that a metric needs: rows, JSON, tables, the page and its plots
//! come from the lists.

mod statistics;
pub(super) mod declare;
mod text;
mod ranking;
mod understanding;
mod uncertainty;
mod utility;
mod chunks;
mod cost;

pub use chunks::{ChunkFigures, ChunkMetric};
pub use cost::CostMetric;
pub use declare::{Declaration, Metric, Section, Values};
pub(super) use declare::{Format, metrics};
pub use ranking::{DEPTHS, DepthMetric, EvidenceList, ListMetric};
pub(crate) use statistics::mean_of_any;
pub use statistics::{
    Interval, accuracy_by_coverage, auarc, auroc, auroc_interval, bootstrap, mean,
    paired_bootstrap, pearson,
};
pub use text::{
    AnswerMetric, exact_match, f1, is_refusal, meteor, normalise, rouge_l, score, substring,
};
pub use uncertainty::{SeparationMetric, UncertaintyMetric, confidence};
pub use understanding::{Group, GroupMember, UnderstandingMetric, Understood};
pub use utility::{ScoredBelief, UtilityMetric};

/// Returns the explanations of all metrics that tables show.
pub(super) fn explanations() -> Vec<String> {
    fn explain<M: Metric>() -> impl Iterator<Item = String> {
        let shown = M::ALL
            .iter()
            .map(|metric| metric.declaration())
            .filter(|declaration| declaration.is_shown());
        shown.map(Declaration::explanation)
    }

    explain::<AnswerMetric>()
        .chain(explain::<DepthMetric>())
        .chain(explain::<ListMetric>())
        .chain(explain::<UncertaintyMetric>())
        .chain(explain::<SeparationMetric>())
        .chain(explain::<UtilityMetric>())
        .chain(explain::<UnderstandingMetric>())
        .chain(explain::<ChunkMetric>())
        .chain(explain::<CostMetric>())
        .collect()
}
