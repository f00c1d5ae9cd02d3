//! The gates: measure how uncertain the model was about a sentence, and decide whether to retrieve
//! more (SEARAG, section 3.1).

use crate::config::{Config, GateKind};
use crate::engine::error::RunError;
use crate::engine::run::{Draft, Gate, Run, Tools};
use crate::event::{Decision, GateCard, Problem, Uncertainty, UncertaintyMeasure, saturating_u32};
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
    let config = tools.config;
    match (config.gate.kind, &tools.probe) {
        (GateKind::Off, _) => Box::new(Measuring),
        (GateKind::TokenEntropy, _) => Box::new(ByTokens::with_entropy(config, None)),
        (GateKind::TokenProbability, _) => Box::new(ByTokens::with_probability(config)),
        (GateKind::AttendedEntropy, _) => Box::new(ByAttendedEntropy),
        (GateKind::SemanticEntropy, _) => Box::new(BySampling),
        (GateKind::Probe, Ok(_)) => Box::new(ByProbe),
        (GateKind::Probe, Err(reason)) => {
            Box::new(ByTokens::with_entropy(config, Some(reason.clone())))
        }
    }
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

/// A number that follows from the tokens of a sentence decides.
struct ByTokens {
    measure: UncertaintyMeasure,
    value: fn(&[Token]) -> f32,
    threshold: f32,
    fallback: Option<Problem>,
}

impl ByTokens {
    /// Creates the gate by the mean token entropy. `fallback` is the reason why it replaces the
    /// gate of the settings.
    fn with_entropy(config: &Config, fallback: Option<Problem>) -> Self {
        // another threshold in the settings is that of another measure
        let is_own = config.gate.kind == GateKind::TokenEntropy;
        Self {
            measure: UncertaintyMeasure::TokenEntropy,
            value: mean_token_entropy,
            threshold: if is_own {
                config.gate.threshold.or(TOKEN_ENTROPY_THRESHOLD)
            } else {
                TOKEN_ENTROPY_THRESHOLD
            },
            fallback,
        }
    }

    /// Creates the gate by the least likely token (FLARE): a sentence is uncertain if its
    /// probability is below the threshold.
    fn with_probability(config: &Config) -> Self {
        Self {
            measure: UncertaintyMeasure::TokenProbability,
            // what is measured is an uncertainty, not a probability
            value: |tokens| 1.0 - least_probability(tokens),
            threshold: config.gate.threshold.or(1.0 - flare::THETA),
            fallback: None,
        }
    }

    fn judge_tokens(&self, tokens: &[Token]) -> Uncertainty {
        decide(self.measure, (self.value)(tokens), self.threshold)
    }
}

impl Gate for ByTokens {
    fn card(&self, _run: &Run<'_>) -> Option<GateCard> {
        let card = card(self.measure, self.threshold);
        Some(GateCard {
            fallback: self.fallback.clone(),
            ..card
        })
    }

    fn decide_early(&self, tokens: &[Token]) -> Option<Uncertainty> {
        Some(self.judge_tokens(tokens))
    }

    fn judge(&mut self, _run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        Ok(self.judge_tokens(&draft.sentence.tokens))
    }
}

/// The largest information need of a word decides (DRAGIN).
struct ByAttendedEntropy;

impl Gate for ByAttendedEntropy {
    fn card(&self, run: &Run<'_>) -> Option<GateCard> {
        let threshold = run.tools.config.gate.threshold.or(dragin::MAX_NEED);
        Some(card(UncertaintyMeasure::AttendedEntropy, threshold))
    }

    fn judge(&mut self, run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        let needs = dragin::information_needs(
            run.tools.generator,
            &draft.confirmed,
            &draft.sentence.tokens,
        )?;
        Ok(decide(
            UncertaintyMeasure::AttendedEntropy,
            dragin::largest_need(&needs),
            run.tools.config.gate.threshold.or(dragin::MAX_NEED),
        ))
    }
}

/// The semantic entropy of sampled sentences decides: the expensive measure that the probe
/// predicts.
struct BySampling;

impl Gate for BySampling {
    fn card(&self, run: &Run<'_>) -> Option<GateCard> {
        let threshold = run.tools.config.gate.threshold;
        let threshold = threshold.or(SEMANTIC_ENTROPY_THRESHOLD);
        Some(card(UncertaintyMeasure::SemanticEntropy, threshold))
    }

    fn judge(&mut self, run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        let config = run.tools.config;
        let question = run.question;
        let sampling = sampling(config, draft, config.seed);
        let entropy = sampled_semantic_entropy(run, question, &draft.prompt, &sampling)?;

        Ok(decide(
            UncertaintyMeasure::SemanticEntropy,
            entropy as f32,
            config.gate.threshold.or(SEMANTIC_ENTROPY_THRESHOLD),
        ))
    }
}

/// The probe decides, from the hidden states of the sentence's first token.
struct ByProbe;

impl Gate for ByProbe {
    fn card(&self, run: &Run<'_>) -> Option<GateCard> {
        let probe = run.tools.probe.as_ref().ok();
        let threshold = run.tools.config.gate.threshold.or(PROBE_THRESHOLD);
        Some(GateCard {
            probe: probe.map(|probe| probe.card.clone()),
            ..card(UncertaintyMeasure::Probe, threshold)
        })
    }

    fn taps(&self, _run: &Run<'_>) -> Vec<HiddenAt> {
        vec![HiddenAt::FirstToken]
    }

    fn judge(&mut self, run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        let config = run.tools.config;
        match (&run.tools.probe, draft.hidden.first()) {
            (Ok(probe), Some(hidden)) => {
                let value = probe.uncertainty(&features(hidden))?;
                Ok(decide(
                    UncertaintyMeasure::Probe,
                    value,
                    config.gate.threshold.or(PROBE_THRESHOLD),
                ))
            }
            // a sentence of one token is never evaluated itself, so it has no hidden state
            (Err(_), _) | (_, None) => ByTokens::with_entropy(config, None).judge(run, draft),
        }
    }
}

fn card(measure: UncertaintyMeasure, threshold: f32) -> GateCard {
    GateCard {
        measure,
        threshold,
        probe: None,
        fallback: None,
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
