//! The figures that tables of papers print, beside those of a report.

use serde::Serialize;

use super::metrics::Format::{Number, Share};
use super::metrics::{
    AnswerMetric, ChunkMetric, ListMetric, Metric as _, SeparationMetric, UncertaintyMetric,
    UnderstandingMetric, UtilityMetric, metrics,
};
use super::paper::{PaperRow, PaperTable};
use super::report::{PresetSummary, Report};

/// A published figure beside the one that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedFigure {
    pub row: String,
    pub metric: PublishedMetric,
    pub dataset: String,
    pub published: f64,
    /// `None` where nothing was measured.
    pub measured: Option<f64>,
}

/// The figures of a table beside those measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    pub title: String,
    pub figures: Vec<PublishedFigure>,
}

impl Published {
    /// Compares a report whose presets are the rows of this table with what the paper prints for one
    /// dataset, or for all of them without a name.
    pub fn of(table: &PaperTable, report: &Report, dataset: Option<&str>) -> Self {
        let rows = table.rows.iter();
        Self {
            title: format!(
                "{} {}, as published of {} and here",
                table.name, table.title, table.model
            ),
            figures: rows
                .flat_map(|row| table.figures_of(row, report, dataset))
                .collect(),
        }
    }
}

impl PaperTable {
    fn figures_of(
        &self,
        row: &PaperRow,
        report: &Report,
        dataset: Option<&str>,
    ) -> Vec<PublishedFigure> {
        let scale = if self.percent { 0.01 } else { 1.0 };
        let summary = report
            .presets
            .iter()
            .find(|preset| preset.preset == row.name);
        let of_dataset = row
            .published
            .iter()
            .filter(|(name, _)| dataset.is_none_or(|dataset| dataset == *name));

        let mut figures = Vec::new();
        for (name, values) in of_dataset {
            for (metric, value) in self.figures.iter().zip(values) {
                let compute = metric.declaration().compute;
                figures.push(PublishedFigure {
                    row: row.name.clone(),
                    metric: *metric,
                    dataset: name.clone(),
                    published: value * scale,
                    measured: summary.and_then(|summary| compute(report, summary)),
                });
            }
        }
        figures
    }
}

metrics! {
    /// A figure of a preset as a paper prints it; `None` where it was not measured.
    PublishedMetric: fn(&Report, &PresetSummary) -> Option<f64> {
        /// Exact match.
        ExactMatch "exact match": Higher, Share => |_, preset| score(preset, AnswerMetric::ExactMatch);
        /// Harmonic mean of precision and recall over words.
        F1 "F1": Higher, Share => |_, preset| score(preset, AnswerMetric::F1);
        /// Share of replies that contain an answer.
        Substring "answer in the reply": Higher, Share =>
            |_, preset| score(preset, AnswerMetric::Substring);
        /// Longest common subsequence of words.
        RougeL "ROUGE-L": Higher, Share => |_, preset| score(preset, AnswerMetric::RougeL);
        /// Words matched, with a penalty for scattered matches.
        Meteor "METEOR": Higher, Share => |_, preset| score(preset, AnswerMetric::Meteor);
        /// Recall in the context, summed over 1, 3 and 5 chunks.
        RecallSum "recall, sum": Higher, Share => |_, preset| of_context(preset, ListMetric::RecallSum);
        /// Precision in the context, summed over 1, 3 and 5 chunks.
        PrecisionSum "precision, sum": Higher, Share =>
            |_, preset| of_context(preset, ListMetric::PrecisionSum);
        /// Integrated effectiveness in the context, summed over 1, 3 and 5 chunks.
        IeSum "IE, sum": Higher, Share => |_, preset| of_context(preset, ListMetric::IeSum);
        /// Mean grade of what was retrieved.
        Grade "grade of what is found": Higher, Number(3) =>
            |_, preset| preset.chunks[ChunkMetric::Grade];
        /// Mean grade of what was kept.
        GradeOfUsed "grade of what is used": Higher, Number(3) =>
            |_, preset| preset.chunks[ChunkMetric::GradeOfUsed];
        /// Share of rephrasings that say what their chunk says.
        RephrasingsEntailed "rephrasings entailed": Higher, Share =>
            |_, preset| preset.chunks[ChunkMetric::Entailed];
        /// Exact match on questions whose context is understood.
        CertainExactMatch "exact match, certain": Higher, Share =>
            |report, preset| by_understanding(report, preset, true);
        /// Exact match on questions whose context is not understood.
        UncertainExactMatch "exact match, uncertain": Higher, Share =>
            |report, preset| by_understanding(report, preset, false);
        /// AUROC of DENSE.
        DenseAuroc "AUROC of DENSE": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::Dense, SeparationMetric::Auroc);
        /// AUARC of DENSE.
        DenseAuarc "AUARC of DENSE": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::Dense, SeparationMetric::Auarc);
        /// AUROC of the discrete semantic entropy.
        DiscreteSemanticEntropyAuroc "AUROC of discrete semantic entropy": Higher, Share =>
            |_, preset| separation(
                preset, UncertaintyMetric::DiscreteSemanticEntropy, SeparationMetric::Auroc,
            );
        /// AUARC of the discrete semantic entropy.
        DiscreteSemanticEntropyAuarc "AUARC of discrete semantic entropy": Higher, Share =>
            |_, preset| separation(
                preset, UncertaintyMetric::DiscreteSemanticEntropy, SeparationMetric::Auarc,
            );
        /// AUROC of the degree of agreement.
        DegreeAuroc "AUROC of the degree": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::Degree, SeparationMetric::Auroc);
        /// AUARC of the degree of agreement.
        DegreeAuarc "AUARC of the degree": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::Degree, SeparationMetric::Auarc);
        /// AUROC of the eigenvalues.
        EigenvalueAuroc "AUROC of the eigenvalues": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::Eigenvalue, SeparationMetric::Auroc);
        /// AUARC of the eigenvalues.
        EigenvalueAuarc "AUARC of the eigenvalues": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::Eigenvalue, SeparationMetric::Auarc);
        /// AUROC of KLE with the heat kernel.
        KernelHeatAuroc "AUROC of KLE with the heat kernel": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::KernelHeat, SeparationMetric::Auroc);
        /// AUARC of KLE with the heat kernel.
        KernelHeatAuarc "AUARC of KLE with the heat kernel": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::KernelHeat, SeparationMetric::Auarc);
        /// AUROC of KLE with the Matern kernel.
        KernelMaternAuroc "AUROC of KLE with the Matern kernel": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::KernelMatern, SeparationMetric::Auroc);
        /// AUARC of KLE with the Matern kernel.
        KernelMaternAuarc "AUARC of KLE with the Matern kernel": Higher, Share =>
            |_, preset| separation(preset, UncertaintyMetric::KernelMatern, SeparationMetric::Auarc);
        /// Pearson's correlation of soft delta SePer with the evidence.
        SoftPearson "Pearson, delta SePer soft": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::Soft);
        /// Pearson's correlation of hard delta SePer with the evidence.
        HardPearson "Pearson, delta SePer hard": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::Hard);
        /// Pearson's correlation of the improvement of exact match with the evidence.
        ExactMatchPearson "Pearson, exact match": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::ExactMatch);
        /// Pearson's correlation of the improvement of ROUGE-L with the evidence.
        RougeLPearson "Pearson, ROUGE-L": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::RougeL);
        /// Pearson's correlation of the improvement of perplexity with the evidence.
        PerplexityPearson "Pearson, perplexity": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::Perplexity);
        /// Pearson's correlation of the improvement of semantic entropy with the evidence.
        SemanticEntropyPearson "Pearson, semantic entropy": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::SemanticEntropy);
    }
}

fn score(preset: &PresetSummary, metric: AnswerMetric) -> Option<f64> {
    (preset.answered > 0).then(|| preset.scores[metric])
}

fn of_context(preset: &PresetSummary, metric: ListMetric) -> Option<f64> {
    Some(preset.context.as_ref()?.whole[metric])
}

fn by_understanding(report: &Report, preset: &PresetSummary, certain: bool) -> Option<f64> {
    let group = report
        .understanding
        .iter()
        .find(|group| group.preset == preset.preset && group.certain == certain)?;
    Some(group.values[UnderstandingMetric::ExactMatch])
}

fn separation(
    preset: &PresetSummary,
    measure: UncertaintyMetric,
    metric: SeparationMetric,
) -> Option<f64> {
    let summary = preset
        .uncertainty
        .iter()
        .find(|one| one.measure == measure)?;
    summary.separation[metric]
}

fn correlation(preset: &PresetSummary, metric: UtilityMetric) -> Option<f64> {
    let every = &preset.utility.as_ref()?.every;
    let label = metric.declaration().label;
    every.iter().find(|one| one.of == label)?.pearson
}
