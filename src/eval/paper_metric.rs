//! The figures that papers print of a preset.

use super::metrics::Format::{Number, Share};
use super::metrics::{
    AnswerMetric, ChunkMetric, ListMetric, Metric as _, SeparationMetric, UncertaintyMetric,
    UnderstandingMetric, UtilityMetric, metrics,
};
use super::summary::{PresetSummary, UnderstandingSummary};

metrics! {
    /// A figure of a preset as a paper prints it; `None` where it was not measured.
    PublishedMetric: fn(&[UnderstandingSummary], &PresetSummary) -> Option<f64> {
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
        RecallSum "recall, sum": Higher, Share => |_, preset| context_value(preset, ListMetric::RecallSum);
        /// Precision in the context, summed over 1, 3 and 5 chunks.
        PrecisionSum "precision, sum": Higher, Share =>
            |_, preset| context_value(preset, ListMetric::PrecisionSum);
        /// Integrated effectiveness in the context, summed over 1, 3 and 5 chunks.
        IeSum "IE, sum": Higher, Share => |_, preset| context_value(preset, ListMetric::IeSum);
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
            |groups, preset| by_understanding(groups, preset, true);
        /// Exact match on questions whose context is not understood.
        UncertainExactMatch "exact match, uncertain": Higher, Share =>
            |groups, preset| by_understanding(groups, preset, false);
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
        /// Pearson's correlation of the improvement of the predictive entropy with the evidence.
        EntropyPearson "Pearson, entropy": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::Entropy);
        /// Pearson's correlation of the improvement of semantic entropy with the evidence.
        SemanticEntropyPearson "Pearson, semantic entropy": Higher, Number(3) =>
            |_, preset| correlation(preset, UtilityMetric::SemanticEntropy);
    }
}

fn score(preset: &PresetSummary, metric: AnswerMetric) -> Option<f64> {
    (preset.answered > 0).then(|| preset.scores[metric])
}

fn context_value(preset: &PresetSummary, metric: ListMetric) -> Option<f64> {
    Some(preset.context.as_ref()?.whole[metric])
}

fn by_understanding(
    groups: &[UnderstandingSummary],
    preset: &PresetSummary,
    certain: bool,
) -> Option<f64> {
    let group = groups
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
