//! The gates: measure how uncertain the model was about a sentence, and decide whether to retrieve
//! more (SEARAG, section 3.1).

use crate::config::{Config, GateKind};
use crate::engine::error::RunError;
use crate::engine::run::{Draft, Gate, Run, Tools};
use crate::event::{Decision, GateCard, Uncertainty, UncertaintyMeasure, saturating_u32};
use crate::llm::{HiddenAt, Token};
use crate::methods::query::least_probability;
use crate::methods::searag::{SentenceSampling, mean_token_entropy, sampled_semantic_entropy};
use crate::methods::{dragin, flare};
use crate::probe::features;

/// Probability of the probe above which a sentence is uncertain: the likelier side.
const PROBE_THRESHOLD: f32 = 0.5;
/// Mean token entropy above which a sentence is uncertain, in nats. It differs from model to model:
/// `ragscope probe calibrate` derives one.
const TOKEN_ENTROPY_THRESHOLD: f32 = 0.5;
/// Semantic entropy above which a sentence is uncertain, in nats: two meanings of equal weight.
const SEMANTIC_ENTROPY_THRESHOLD: f32 = 0.69;
/// Tokens by which a sampled sentence may exceed twice the length of the drafted one.
const EXTRA_TOKENS: usize = 8;

/// Returns the gate that the settings name.
pub fn select_gate(tools: &Tools<'_>) -> Box<dyn Gate> {
    let gate = &tools.config.gate;
    let (measure, usual) = match gate.kind {
        GateKind::Off => return Box::new(Measuring),
        GateKind::TokenEntropy => (UncertaintyMeasure::TokenEntropy, TOKEN_ENTROPY_THRESHOLD),
        GateKind::TokenProbability => (UncertaintyMeasure::TokenProbability, 1.0 - flare::THETA),
        GateKind::AttendedEntropy => (UncertaintyMeasure::AttendedEntropy, dragin::MAX_NEED),
        GateKind::SemanticEntropy => (
            UncertaintyMeasure::SemanticEntropy,
            SEMANTIC_ENTROPY_THRESHOLD,
        ),
        GateKind::Probe if tools.probe.is_ok() => (UncertaintyMeasure::Probe, PROBE_THRESHOLD),
        GateKind::Probe => return Box::new(FALLBACK),
    };
    let threshold = gate.threshold.or(usual);
    Box::new(ByMeasure { measure, threshold })
}

/// No gate: the mean token entropy is measured and shown, and decides nothing.
struct Measuring;

impl Gate for Measuring {
    fn decide_early(&self, tokens: &[Token]) -> Option<Uncertainty> {
        Some(Uncertainty {
            measure: UncertaintyMeasure::TokenEntropy,
            value: mean_token_entropy(tokens),
            threshold: None,
            decision: Decision::Measured,
        })
    }

    fn judge(&mut self, _run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        Ok(decide(
            UncertaintyMeasure::TokenEntropy,
            mean_token_entropy(&draft.sentence.tokens),
            f32::INFINITY,
        ))
    }
}

/// A measure of the sentence decides: it is uncertain above the threshold.
struct ByMeasure {
    measure: UncertaintyMeasure,
    threshold: f32,
}

/// Decides where the probe cannot. A threshold in the settings is not of this measure.
const FALLBACK: ByMeasure = ByMeasure {
    measure: UncertaintyMeasure::TokenEntropy,
    threshold: TOKEN_ENTROPY_THRESHOLD,
};

impl ByMeasure {
    fn decide(&self, value: f32) -> Uncertainty {
        decide(self.measure, value, self.threshold)
    }
}

impl Gate for ByMeasure {
    fn card(&self, run: &Run<'_>) -> Option<GateCard> {
        let is_named = run.tools.config.gate.kind == GateKind::Probe;
        let probe = is_named.then_some(run.tools.probe.as_ref());
        Some(GateCard {
            measure: self.measure,
            threshold: self.threshold,
            probe: probe.and_then(Result::ok).map(|probe| probe.card.clone()),
            fallback: probe.and_then(Result::err).cloned(),
        })
    }

    fn taps(&self, _run: &Run<'_>) -> Vec<HiddenAt> {
        let reads_states = self.measure == UncertaintyMeasure::Probe;
        Vec::from_iter(reads_states.then_some(HiddenAt::FirstToken))
    }

    fn decide_early(&self, tokens: &[Token]) -> Option<Uncertainty> {
        let value = match self.measure {
            UncertaintyMeasure::TokenEntropy => mean_token_entropy(tokens),
            // what is measured is an uncertainty, not a probability (FLARE)
            UncertaintyMeasure::TokenProbability => 1.0 - least_probability(tokens),
            UncertaintyMeasure::AttendedEntropy
            | UncertaintyMeasure::SemanticEntropy
            | UncertaintyMeasure::Probe => return None,
        };
        Some(self.decide(value))
    }

    fn judge(&mut self, run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        let (config, question) = (run.tools.config, run.question);
        let tokens = &draft.sentence.tokens;
        if let Some(decided) = self.decide_early(tokens) {
            return Ok(decided);
        }

        let value = match (self.measure, &run.tools.probe, draft.hidden.first()) {
            (UncertaintyMeasure::AttendedEntropy, ..) => {
                let generator = &mut *run.tools.generator;
                let needs = dragin::information_needs(generator, &draft.confirmed, tokens)?;
                dragin::largest_need(&needs)
            }
            // the expensive measure that the probe predicts
            (UncertaintyMeasure::SemanticEntropy, ..) => {
                let sampling = sampling(config, draft, config.seed);
                sampled_semantic_entropy(run, question, &draft.prompt, &sampling)? as f32
            }
            (_, Ok(probe), Some(hidden)) => probe.uncertainty(&features(hidden))?,
            // a sentence of one token is never evaluated itself, so it has no hidden state
            (_, Err(_), _) | (_, _, None) => return Ok(FALLBACK.decide(mean_token_entropy(tokens))),
        };
        Ok(self.decide(value))
    }
}

/// Returns how the sentence of a draft is sampled.
pub fn sampling(config: &Config, draft: &Draft, seed: u64) -> SentenceSampling {
    let max_tokens = draft.sentence.tokens.len() * 2 + EXTRA_TOKENS;
    SentenceSampling {
        samples: config.probe.samples,
        max_tokens: saturating_u32(max_tokens),
        seed,
    }
}

/// Returns the uncertainty with the decision that follows from it: above the threshold, retrieve.
pub fn decide(measure: UncertaintyMeasure, value: f32, threshold: f32) -> Uncertainty {
    let decision = if value > threshold {
        Decision::Retrieve
    } else {
        Decision::Keep
    };
    Uncertainty {
        measure,
        value,
        threshold: Some(threshold).filter(|threshold| threshold.is_finite()),
        decision,
    }
}
