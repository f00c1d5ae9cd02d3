//! Measures of how much a context helps the model, after table 2 of SePer.

use super::declare::Format::Number;
use super::declare::{Values, metrics};
use super::text::AnswerMetric;
use crate::event::Belief;

/// A belief with the scores of its most likely answer.
#[derive(Debug)]
pub struct ScoredBelief<'a> {
    pub belief: &'a Belief,
    pub scores: Values<AnswerMetric>,
}

metrics! {
    /// A value of the model's answers to a question; its improvement from no context to a context
    /// is correlated with the share of the evidence in that context.
    UtilityMetric: fn(&ScoredBelief<'_>) -> f64 {
        /// Belief in the right answer, by probabilities of entailment (SePer).
        Soft "delta SePer, soft": Higher, Number(3), in Utility => |of| f64::from(of.belief.soft);
        /// Belief in the right answer, by entailment, yes or no (SePer).
        Hard "delta SePer, hard": Higher, Number(3), in Utility => |of| f64::from(of.belief.hard);
        /// Exact match of the most likely answer.
        ExactMatch "exact match": Higher, Number(3), in Utility =>
            |of| of.scores[AnswerMetric::ExactMatch];
        /// F1 of the most likely answer.
        F1 "F1": Higher, Number(3), in Utility => |of| of.scores[AnswerMetric::F1];
        /// ROUGE-L of the most likely answer.
        RougeL "ROUGE-L": Higher, Number(3), in Utility => |of| of.scores[AnswerMetric::RougeL];
        /// Perplexity of the sampled answers.
        Perplexity "perplexity": Lower, Number(3), in Utility =>
            |of| f64::from(of.belief.uncertainty.perplexity);
        /// Predictive entropy of the sampled answers: their mean negative log-likelihood by token,
        /// nats.
        Entropy "entropy": Lower, Number(3), in Utility =>
            |of| -f64::from(of.belief.uncertainty.mean_logprob);
        /// Semantic entropy of the sampled answers, nats.
        SemanticEntropy "semantic entropy": Lower, Number(3), in Utility =>
            |of| f64::from(of.belief.uncertainty.semantic_entropy);
        /// Discrete semantic entropy of the sampled answers, nats.
        DiscreteSemanticEntropy "discrete semantic entropy": Lower, Number(3), in Utility =>
            |of| f64::from(of.belief.uncertainty.discrete_semantic_entropy);
    }
}
