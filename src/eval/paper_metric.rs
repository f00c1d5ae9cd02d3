//! The figures that papers print of a preset.

use super::metrics::Format::{Number, Share};
use super::metrics::UncertaintyMetric::{
    Degree, Dense, DiscreteSemanticEntropy, Eigenvalue, KernelHeat, KernelMatern,
};
use super::metrics::{
    AnswerMetric, ChunkMetric, ListMetric, Metric as _, SeparationMetric, UncertaintyMetric,
    UnderstandingMetric, UtilityMetric, metrics,
};
use super::summary::{PresetSummary, UnderstandingSummary};
use PaperFigure::{Answers, Auarc, Auroc, Chunks, Context, Pearson, Understood};

metrics! {
    /// A figure of a preset as a paper prints it.
    PublishedMetric: PaperFigure {
        /// Exact match.
        ExactMatch "exact match": Higher, Share => Answers(AnswerMetric::ExactMatch);
        /// Harmonic mean of precision and recall over words.
        F1 "F1": Higher, Share => Answers(AnswerMetric::F1);
        /// Share of replies that contain an answer.
        Substring "answer in the reply": Higher, Share => Answers(AnswerMetric::Substring);
        /// Longest common subsequence of words.
        RougeL "ROUGE-L": Higher, Share => Answers(AnswerMetric::RougeL);
        /// Words matched, with a penalty for scattered matches.
        Meteor "METEOR": Higher, Share => Answers(AnswerMetric::Meteor);
        /// Recall in the context, summed over 1, 3 and 5 chunks.
        RecallSum "recall, sum": Higher, Share => Context(ListMetric::RecallSum);
        /// Precision in the context, summed over 1, 3 and 5 chunks.
        PrecisionSum "precision, sum": Higher, Share => Context(ListMetric::PrecisionSum);
        /// Integrated effectiveness in the context, summed over 1, 3 and 5 chunks.
        IeSum "IE, sum": Higher, Share => Context(ListMetric::IeSum);
        /// Mean grade of what was retrieved.
        Grade "grade of what is found": Higher, Number(3) => Chunks(ChunkMetric::Grade);
        /// Mean grade of what was kept.
        GradeOfUsed "grade of what is used": Higher, Number(3) => Chunks(ChunkMetric::GradeOfUsed);
        /// Share of rephrasings that say what their chunk says.
        RephrasingsEntailed "rephrasings entailed": Higher, Share => Chunks(ChunkMetric::Entailed);
        /// Exact match on questions whose context is understood.
        CertainExactMatch "exact match, certain": Higher, Share => Understood(true);
        /// Exact match on questions whose context is not understood.
        UncertainExactMatch "exact match, uncertain": Higher, Share => Understood(false);
        /// AUROC of DENSE.
        DenseAuroc "AUROC of DENSE": Higher, Share => Auroc(Dense);
        /// AUARC of DENSE.
        DenseAuarc "AUARC of DENSE": Higher, Share => Auarc(Dense);
        /// AUROC of the discrete semantic entropy.
        DiscreteSemanticEntropyAuroc "AUROC of discrete semantic entropy": Higher, Share =>
            Auroc(DiscreteSemanticEntropy);
        /// AUARC of the discrete semantic entropy.
        DiscreteSemanticEntropyAuarc "AUARC of discrete semantic entropy": Higher, Share =>
            Auarc(DiscreteSemanticEntropy);
        /// AUROC of the degree of agreement.
        DegreeAuroc "AUROC of the degree": Higher, Share => Auroc(Degree);
        /// AUARC of the degree of agreement.
        DegreeAuarc "AUARC of the degree": Higher, Share => Auarc(Degree);
        /// AUROC of the eigenvalues.
        EigenvalueAuroc "AUROC of the eigenvalues": Higher, Share => Auroc(Eigenvalue);
        /// AUARC of the eigenvalues.
        EigenvalueAuarc "AUARC of the eigenvalues": Higher, Share => Auarc(Eigenvalue);
        /// AUROC of KLE with the heat kernel.
        KernelHeatAuroc "AUROC of KLE with the heat kernel": Higher, Share => Auroc(KernelHeat);
        /// AUARC of KLE with the heat kernel.
        KernelHeatAuarc "AUARC of KLE with the heat kernel": Higher, Share => Auarc(KernelHeat);
        /// AUROC of KLE with the Matern kernel.
        KernelMaternAuroc "AUROC of KLE with the Matern kernel": Higher, Share =>
            Auroc(KernelMatern);
        /// AUARC of KLE with the Matern kernel.
        KernelMaternAuarc "AUARC of KLE with the Matern kernel": Higher, Share =>
            Auarc(KernelMatern);
        /// Pearson's correlation of soft delta SePer with the evidence.
        SoftPearson "Pearson, delta SePer soft": Higher, Number(3) => Pearson(UtilityMetric::Soft);
        /// Pearson's correlation of hard delta SePer with the evidence.
        HardPearson "Pearson, delta SePer hard": Higher, Number(3) => Pearson(UtilityMetric::Hard);
        /// Pearson's correlation of the improvement of exact match with the evidence.
        ExactMatchPearson "Pearson, exact match": Higher, Number(3) =>
            Pearson(UtilityMetric::ExactMatch);
        /// Pearson's correlation of the improvement of ROUGE-L with the evidence.
        RougeLPearson "Pearson, ROUGE-L": Higher, Number(3) => Pearson(UtilityMetric::RougeL);
        /// Pearson's correlation of the improvement of perplexity with the evidence.
        PerplexityPearson "Pearson, perplexity": Higher, Number(3) =>
            Pearson(UtilityMetric::Perplexity);
        /// Pearson's correlation of the improvement of the predictive entropy with the evidence.
        EntropyPearson "Pearson, entropy": Higher, Number(3) => Pearson(UtilityMetric::Entropy);
        /// Pearson's correlation of the improvement of semantic entropy with the evidence.
        SemanticEntropyPearson "Pearson, semantic entropy": Higher, Number(3) =>
            Pearson(UtilityMetric::SemanticEntropy);
    }
}

/// The figure of a summary that a paper prints.
#[derive(Debug, Clone, Copy)]
pub enum PaperFigure {
    Answers(AnswerMetric),
    Context(ListMetric),
    Chunks(ChunkMetric),
    /// Exact match on the questions whose context is understood, or is not.
    Understood(bool),
    Auroc(UncertaintyMetric),
    Auarc(UncertaintyMetric),
    Pearson(UtilityMetric),
}

impl PaperFigure {
    /// Returns the figure of a preset; `None` where it was not measured.
    pub fn value(self, groups: &[UnderstandingSummary], preset: &PresetSummary) -> Option<f64> {
        let separation = |measure, metric| {
            let mut measures = preset.uncertainty.iter();
            measures.find(|one| one.measure == measure)?.separation[metric]
        };

        match self {
            Answers(metric) => (preset.answered > 0).then(|| preset.scores[metric]),
            Context(metric) => Some(preset.context.as_ref()?.whole[metric]),
            Chunks(metric) => preset.chunks[metric],
            Understood(certain) => {
                let is_group = |group: &&UnderstandingSummary| {
                    group.preset == preset.preset && group.certain == certain
                };
                let group = groups.iter().find(is_group)?;
                Some(group.values[UnderstandingMetric::ExactMatch])
            }
            Auroc(measure) => separation(measure, SeparationMetric::Auroc),
            Auarc(measure) => separation(measure, SeparationMetric::Auarc),
            Pearson(metric) => {
                let label = metric.declaration().label;
                let mut every = preset.utility.as_ref()?.every.iter();
                every.find(|one| one.of == label)?.pearson
            }
        }
    }
}
