//! The result of an evaluation.

use serde::Serialize;

use super::published::Published;
use super::row::Row;
use super::summary::{Comparison, PresetSummary, UnderstandingSummary};
use super::verdict_fit::FittedVerdicts;

/// The result of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Questions asked, and how many of them the corpus cannot answer.
    pub questions: usize,
    pub unanswerable: usize,
    pub presets: Vec<PresetSummary>,
    /// Each further preset against the first.
    pub comparisons: Vec<Comparison>,
    /// Questions of each preset whose context was understood, then the others.
    pub understanding: Vec<UnderstandingSummary>,
    /// The figures of a paper's table beside those measured here.
    pub published: Option<Published>,
    /// The verdicts of each model, fitted to the folder where that was wanted.
    pub fitted_verdicts: Vec<FittedVerdicts>,
    /// Faults of the question file, entry by entry.
    pub remarks: Vec<String>,
    /// Evidence that no document holds.
    pub missing_evidence: Vec<String>,
}

impl Report {
    /// Sums up the rows of these presets; lists of chunks are scored at these depths.
    pub fn new(presets: &[String], rows: &[Row], depths: &[usize]) -> Self {
        let by_preset: Vec<Vec<&Row>> = presets
            .iter()
            .map(|preset| rows.iter().filter(|row| row.preset == *preset).collect())
            .collect();
        let first = by_preset.first().map_or(&[][..], Vec::as_slice);

        let summaries = presets.iter().zip(&by_preset);
        let others = by_preset.iter().skip(1);
        let understanding = by_preset.iter().flat_map(|rows| {
            [true, false]
                .into_iter()
                .filter_map(|certain| UnderstandingSummary::new(certain, rows, first))
        });
        Self {
            questions: first.len(),
            unanswerable: first.iter().filter(|row| row.unanswerable).count(),
            presets: summaries
                .map(|(preset, rows)| PresetSummary::new(preset, rows, depths))
                .collect(),
            comparisons: others
                .filter_map(|rows| Comparison::new(rows, first))
                .collect(),
            understanding: understanding.collect(),
            ..Self::default()
        }
    }
}
