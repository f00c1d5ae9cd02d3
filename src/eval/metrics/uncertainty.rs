//! Measures of the uncertainty of an answer, and of how well they separate wrong answers from right
//! ones.

use super::declare::Format::Number;
use super::declare::metrics;
use super::statistics::{auarc, auroc, mean_of_any};
use super::understanding::Understood;
use crate::event::{SampledUncertainty, UncertaintyMeasure, VerdictKind};
use crate::methods::{mean_logprob, perplexity};
use crate::story::{Run, Token};

metrics! {
    /// A measure of the uncertainty of an answer; `None` for a run in which it was not measured.
    UncertaintyMetric: fn(&Run) -> Option<f64> {
        /// Mean entropy of the token distributions of the answer, nats.
        TokenEntropy "token entropy": Lower, Number(3), in Uncertainty => token_entropy;
        /// Mean log-probability of the answer's tokens, negated, nats.
        Logprob "mean log-probability": Lower, Number(3), in Uncertainty =>
            |run| logprob(run).map(|logprob| -logprob);
        /// Perplexity of the answer.
        Perplexity "perplexity": Lower, Number(3), in Uncertainty =>
            |run| logprob(run).map(perplexity);
        /// Uncertainty that the probe reads in the hidden states: the highest of the answer's
        /// sentences as they were first written, in 0..=1.
        Probe "probe": Lower, Number(3), in Uncertainty =>
            |run| gate(run, UncertaintyMeasure::Probe);
        /// Improbability of the least likely token (FLARE): the highest of the answer's sentences
        /// as they were first written, in 0..=1.
        TokenProbability "least likely token": Lower, Number(3), in Uncertainty =>
            |run| gate(run, UncertaintyMeasure::TokenProbability);
        /// Largest entropy of a word times the attention that it gets (DRAGIN): the highest of the
        /// answer's sentences as they were first written, nats.
        AttendedEntropy "attended entropy": Lower, Number(3), in Uncertainty =>
            |run| gate(run, UncertaintyMeasure::AttendedEntropy);
        /// Improbability that the sources answer the question, in 0..=1.
        Support "lack of support": Lower, Number(3), in Uncertainty =>
            |run| run.support.map(|support| f64::from(1.0 - support.probability));
        /// Improbability, to the model, that the sources state the answer, in 0..=1.
        Stated "not stated": Lower, Number(3), in Uncertainty =>
            |run| Some(f64::from(1.0 - run.support?.stated?));
        /// Improbability that the answer is right by its sources, as the verdict has it before it
        /// is fitted, in 0..=1; of answers that are not refused.
        Verdict "verdict": Lower, Number(3), in Uncertainty => verdict;
        /// Entropy of the answers to the context with one chunk rephrased at a time, nats.
        Dense "DENSE": Lower, Number(3), in Uncertainty =>
            |run| Understood::from_refinement(&run.refinement).map(|understood| understood.dse);
        /// Entropy of the sizes of the clusters of sampled answers, nats.
        DiscreteSemanticEntropy "discrete semantic entropy": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| Some(uncertainty.discrete_semantic_entropy));
        /// Entropy of the likelihoods of the clusters of sampled answers, nats.
        SemanticEntropy "semantic entropy": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| Some(uncertainty.semantic_entropy));
        /// DENSE-RAG's entropy over degrees of agreement, of sampled answers, nats.
        DegreeEntropy "degree entropy": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| Some(uncertainty.degree_entropy));
        /// Share of pairs of sampled answers that do not agree.
        Degree "degree": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| Some(uncertainty.degree));
        /// Approximate number of meanings of the sampled answers, by the eigenvalues of their
        /// Laplacian.
        Eigenvalue "eigenvalues": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| Some(uncertainty.eigenvalue));
        /// Kernel language entropy of the sampled answers with the heat kernel, nats.
        KernelHeat "KLE, heat": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| uncertainty.kernel_heat);
        /// Kernel language entropy of the sampled answers with the Matern kernel, nats.
        KernelMatern "KLE, Matern": Lower, Number(3), in Uncertainty =>
            |run| sampled_value(run, |uncertainty| uncertainty.kernel_matern);
    }
}

metrics! {
    /// Measures of the separation of wrong answers from right ones (right: exact match) by an
    /// uncertainty. Computed from the uncertainty of each answer and whether it is right.
    SeparationMetric: fn(&[f64], &[bool]) -> Option<f64> {
        /// Probability that a wrong answer is more uncertain than a right one.
        Auroc "AUROC": Higher, Number(3), in Uncertainty => auroc;
        /// Area under the accuracy of the most certain answers, by how many are kept.
        Auarc "AUARC": Higher, Number(3), in Uncertainty => auarc;
    }
}

/// Returns the geometric mean probability of the answer's tokens, in 0..=1; `None` without tokens.
pub fn confidence(run: &Run) -> Option<f64> {
    logprob(run).map(f64::exp)
}

fn logprob(run: &Run) -> Option<f64> {
    let tokens: Vec<&Token> = run.tokens().collect();
    let logprobs = tokens.iter().map(|token| token.logprob);
    (!tokens.is_empty()).then(|| mean_logprob(logprobs))
}

fn token_entropy(run: &Run) -> Option<f64> {
    mean_of_any(run.tokens().map(|token| f64::from(token.entropy)))
}

fn verdict(run: &Run) -> Option<f64> {
    let verdict = run.verdict.as_ref()?;
    let is_answered = verdict.kind != VerdictKind::NotInDocuments;
    let probability = verdict.unfitted.unwrap_or(verdict.probability);
    is_answered.then(|| f64::from(1.0 - probability))
}

/// Returns the highest value that the gate measured of a sentence of the answer as it was first
/// written, when the gate decided; `None` where it measures something else. What replaced an
/// uncertain sentence is written from passages, and says how well they are understood.
fn gate(run: &Run, measure: UncertaintyMeasure) -> Option<f64> {
    let uncertainties = run.steps.iter().filter_map(|step| {
        let replaced = step.replaced.first().map(|draft| &draft.uncertainty);
        replaced.unwrap_or(&step.uncertainty).as_ref()
    });
    let measured = uncertainties.filter(|known| known.measure == measure);
    measured
        .map(|known| f64::from(known.value))
        .reduce(f64::max)
}

fn sampled_value(run: &Run, value: fn(&SampledUncertainty) -> Option<f32>) -> Option<f64> {
    value(&run.sampled.as_ref()?.uncertainty).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Decision, Uncertainty};
    use crate::story::{Replaced, Step};

    #[test]
    fn the_gate_is_measured_where_it_decided() {
        let measured = |value| {
            Some(Uncertainty {
                measure: UncertaintyMeasure::Probe,
                value,
                threshold: Some(0.5),
                decision: Decision::Measured,
            })
        };
        let replaced = Step {
            uncertainty: measured(0.1),
            replaced: vec![Replaced {
                text: String::new(),
                tokens: Vec::new(),
                uncertainty: measured(0.9),
            }],
            ..Step::default()
        };
        let kept = Step {
            uncertainty: measured(0.3),
            ..Step::default()
        };
        let mut run = Run::default();
        run.steps = vec![kept, replaced];
        let highest = gate(&run, UncertaintyMeasure::Probe).expect("measured");
        assert!((highest - 0.9).abs() < 1e-6);
        assert_eq!(gate(&run, UncertaintyMeasure::TokenProbability), None);
    }
}
