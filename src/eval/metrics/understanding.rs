//! The answers with and without a measured understanding of the context, and the cost of measuring
//! and repairing it: after figure 4 and table 5 of "DENSE-RAG".

use serde::{Deserialize, Serialize};

use super::declare::Format::{Milliseconds, Number, Share};
use super::declare::metrics;
use super::statistics::mean;
use crate::event::{RefinementEnd, RunUsage, saturating_u32};
use crate::story::Refinement;

/// The model's understanding of the context of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Understood {
    /// Entropy of the first context, as it was retrieved, nats; and whether it counts as
    /// understood.
    pub dse: f64,
    pub certain: bool,
    /// Milliseconds that measuring it took.
    pub measuring_ms: f64,
    /// Number of contexts that were measured.
    pub rounds: u32,
    /// The reason why refinement ended, where there was any.
    #[serde(default)]
    pub end: Option<RefinementEnd>,
}

impl Understood {
    /// Returns the understanding of the first measured context; `None` where none was measured.
    pub(crate) fn from_refinement(refinement: &Refinement) -> Option<Self> {
        let measured = refinement
            .rounds
            .iter()
            .filter_map(|round| round.measured.as_ref().ok());
        let first = measured.clone().next()?;
        Some(Self {
            dse: f64::from(first.dse),
            certain: first.certain,
            measuring_ms: first.wall_ms as f64,
            rounds: saturating_u32(measured.count()),
            end: refinement.finished.map(|(_, end)| end),
        })
    }
}

/// A question of a [`Group`].
#[derive(Debug, Clone, Copy)]
pub struct GroupMember<'a> {
    pub exact_match: f64,
    pub usage: &'a RunUsage,
    pub understood: Understood,
}

/// The questions of a preset whose context was understood, or those whose context was not, beside
/// the same questions under the first preset.
#[derive(Debug, Default)]
pub struct Group<'a> {
    pub members: Vec<GroupMember<'a>>,
    pub under_first: Vec<GroupMember<'a>>,
}

impl Group<'_> {
    fn mean(&self, value: impl Fn(&GroupMember<'_>) -> f64) -> f64 {
        mean(self.members.iter().map(value))
    }

    fn mean_under_first(&self, value: impl Fn(&GroupMember<'_>) -> f64) -> f64 {
        mean(self.under_first.iter().map(value))
    }

    /// Returns how many times the time of a question under the first preset this is.
    fn times_first(&self, ms: f64) -> f64 {
        ms / self.mean_under_first(wall_ms).max(1.0)
    }
}

fn wall_ms(member: &GroupMember<'_>) -> f64 {
    member.usage.wall_ms as f64
}

fn measuring_ms(member: &GroupMember<'_>) -> f64 {
    member.understood.measuring_ms
}

metrics! {
    /// A mean over the questions of a [`Group`].
    UnderstandingMetric: fn(&Group<'_>) -> f64 {
        /// Exact match of the answers.
        ExactMatch "exact match": Higher, Share, in Understanding =>
            |group| group.mean(|member| member.exact_match);
        /// Exact match of the same questions under the first preset.
        ExactMatchOfFirst "of the first preset": Higher, Share, in Understanding =>
            |group| group.mean_under_first(|member| member.exact_match);
        /// Contexts that were measured.
        Rounds "rounds": Lower, Number(1), in Understanding =>
            |group| group.mean(|member| f64::from(member.understood.rounds));
        /// Calls of a model.
        ModelCalls "model calls": Lower, Number(1), in Understanding =>
            |group| group.mean(|member| f64::from(member.usage.model_calls));
        /// Prompt tokens that the generator evaluated.
        PromptTokensEvaluated "prompt tokens evaluated": Lower, Number(0), in Understanding =>
            |group| group.mean(|member| member.usage.prompt_tokens_evaluated as f64);
        /// Prompt tokens that were in the KV cache already.
        PromptTokensReused "reused": Neither, Number(0), in Understanding =>
            |group| group.mean(|member| member.usage.prompt_tokens_reused as f64);
        /// Time of a question.
        WallMs "seconds": Lower, Milliseconds, in Understanding => |group| group.mean(wall_ms);
        /// Time of measuring the first context, part of the time of the question.
        MeasuringMs "measuring": Lower, Milliseconds, in Understanding =>
            |group| group.mean(measuring_ms);
        /// Time of a question under the first preset.
        WallMsOfFirst "seconds of the first preset": Lower, Milliseconds =>
            |group| group.mean_under_first(wall_ms);
        /// Time of a question divided by that under the first preset.
        WallTimes "times the first preset": Lower, Number(1), in Understanding =>
            |group| group.times_first(group.mean(wall_ms));
        /// Time of measuring divided by the time of a question under the first preset.
        MeasuringTimes "measuring, times the first preset": Lower, Number(1), in Understanding =>
            |group| group.times_first(group.mean(measuring_ms));
    }
}
