//! What a measured understanding of the context says about the answers, and what measuring and repairing cost: after figure 4 and
//! table 5 of "DENSE-RAG".

use serde::{Deserialize, Serialize};

use super::metrics::mean;
use super::row::Row;
use crate::story::Refinement;

/// How the context of a run was understood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Understood {
    /// The entropy of the first context, as it was found, nats, and whether it counts as understood.
    pub dse: f64,
    pub certain: bool,
    /// Milliseconds that measuring it took.
    pub measuring_ms: f64,
    /// Contexts that were measured.
    pub rounds: u32,
}

impl Understood {
    /// The first measured context of a run; None where none was measured.
    pub(super) fn of(refinement: &Refinement) -> Option<Self> {
        let measured = refinement
            .rounds
            .iter()
            .filter_map(|round| round.measured.as_ref().ok());
        let first = measured.clone().next()?;
        Some(Self {
            dse: f64::from(first.dse),
            certain: first.certain,
            measuring_ms: first.wall_ms as f64,
            rounds: u32::try_from(measured.count()).unwrap_or(u32::MAX),
        })
    }
}

/// The questions of a preset whose context was understood, or was not, against the same questions under the first preset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderstandingSummary {
    pub preset: String,
    pub certain: bool,
    pub questions: usize,
    pub exact_match: f64,
    /// Exact match of the first preset.
    pub exact_match_of_first: f64,
    /// Means over the questions.
    pub rounds: f64,
    pub measuring_ms: f64,
    pub wall_ms: f64,
    pub wall_ms_of_first: f64,
    pub model_calls: f64,
    pub prompt_tokens_evaluated: f64,
    pub prompt_tokens_reused: f64,
}

impl UnderstandingSummary {
    /// Both groups of a preset, where there are any questions in them.
    pub(super) fn of(rows: &[&Row], first: &[&Row]) -> Vec<Self> {
        [true, false]
            .into_iter()
            .filter_map(|certain| Self::of_group(certain, rows, first))
            .collect()
    }

    fn of_group(certain: bool, rows: &[&Row], first: &[&Row]) -> Option<Self> {
        let group: Vec<(&Row, Understood)> = rows
            .iter()
            .filter_map(|row| Some((*row, row.understood?)))
            .filter(|(_, understood)| understood.certain == certain)
            .collect();
        let same: Vec<&Row> = first
            .iter()
            .copied()
            .filter(|row| group.iter().any(|(known, _)| known.id == row.id))
            .collect();
        let over = |value: &dyn Fn(&Row, &Understood) -> f64| {
            mean(
                &group
                    .iter()
                    .map(|(row, understood)| value(row, understood))
                    .collect::<Vec<f64>>(),
            )
        };
        let of_first = |value: &dyn Fn(&Row) -> f64| {
            mean(&same.iter().map(|row| value(row)).collect::<Vec<f64>>())
        };
        Some(Self {
            preset: group.first()?.0.preset.clone(),
            certain,
            questions: group.len(),
            exact_match: over(&|row, _| row.scores.exact_match),
            exact_match_of_first: of_first(&|row| row.scores.exact_match),
            rounds: over(&|_, understood| f64::from(understood.rounds)),
            measuring_ms: over(&|_, understood| understood.measuring_ms),
            wall_ms: over(&|row, _| row.usage.wall_ms as f64),
            wall_ms_of_first: of_first(&|row| row.usage.wall_ms as f64),
            model_calls: over(&|row, _| f64::from(row.usage.model_calls)),
            prompt_tokens_evaluated: over(&|row, _| row.usage.prompt_tokens_evaluated as f64),
            prompt_tokens_reused: over(&|row, _| row.usage.prompt_tokens_reused as f64),
        })
    }
}
