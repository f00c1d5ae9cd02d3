//! The gates: how unsure was the model of a sentence, and is that too unsure?

use crate::config::Config;
use crate::engine::error::RunError;
use crate::engine::run::{Draft, Gate, Run};
use crate::event::{Decision, GateCard, Uncertainty, UncertaintyMeasure};
use crate::llm::{HiddenAt, Token};
use crate::methods::searag::{SentenceSampling, mean_token_entropy, sampled_semantic_entropy};
use crate::probe::{features, position};

/// Tokens that a sampled sentence may be longer than the drafted one.
const LONGER: usize = 8;

/// Without a gate the mean token entropy is still measured and shown; nothing follows from it.
pub struct Measuring;

impl Gate for Measuring {
    fn at_once(&self, tokens: &[Token]) -> Option<Uncertainty> {
        Some(Uncertainty {
            measure: UncertaintyMeasure::TokenEntropy,
            value: mean_token_entropy(tokens),
            threshold: None,
            decision: Decision::Measured,
        })
    }

    fn judge(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError> {
        Ok(judged(
            UncertaintyMeasure::TokenEntropy,
            mean_token_entropy(&draft.sentence.tokens),
            f32::INFINITY,
        ))
    }
}

/// The mean token entropy decides.
pub struct ByTokenEntropy {
    threshold: f32,
    fallback: Option<String>,
}

impl ByTokenEntropy {
    /// `fallback` says why it stands in for another gate.
    pub fn new(config: &Config, fallback: Option<String>) -> Self {
        Self {
            threshold: config.gate.token_entropy_threshold,
            fallback,
        }
    }
}

impl Gate for ByTokenEntropy {
    fn card(&self, _run: &Run<'_>) -> Option<GateCard> {
        Some(GateCard {
            measure: UncertaintyMeasure::TokenEntropy,
            threshold: self.threshold,
            probe: None,
            fallback: self.fallback.clone(),
        })
    }

    fn at_once(&self, tokens: &[Token]) -> Option<Uncertainty> {
        Some(judged(
            UncertaintyMeasure::TokenEntropy,
            mean_token_entropy(tokens),
            self.threshold,
        ))
    }

    fn judge(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError> {
        Ok(judged(
            UncertaintyMeasure::TokenEntropy,
            mean_token_entropy(&draft.sentence.tokens),
            self.threshold,
        ))
    }
}

/// The semantic entropy of sampled sentences decides: the expensive truth that the probe imitates.
pub struct BySampling;

impl Gate for BySampling {
    fn card(&self, run: &Run<'_>) -> Option<GateCard> {
        Some(GateCard {
            measure: UncertaintyMeasure::SemanticEntropy,
            threshold: run.tools.config.gate.semantic_entropy_threshold,
            probe: None,
            fallback: None,
        })
    }

    fn judge(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError> {
        let config = run.tools.config;
        let sampling = sampling(config, draft, config.seed);
        let entropy = sampled_semantic_entropy(run, question, &draft.prompt, &sampling)?;
        Ok(judged(
            UncertaintyMeasure::SemanticEntropy,
            entropy as f32,
            config.gate.semantic_entropy_threshold,
        ))
    }
}

/// How the sentence of a draft is sampled again.
pub fn sampling(config: &Config, draft: &Draft, seed: u64) -> SentenceSampling {
    SentenceSampling {
        samples: config.probe.samples,
        temperature: config.probe.temperature,
        max_tokens: u32::try_from(draft.sentence.tokens.len() * 2 + LONGER).unwrap_or(u32::MAX),
        seed,
    }
}

/// The probe decides, from the hidden states of the sentence's first token.
pub struct ByProbe;

impl Gate for ByProbe {
    fn card(&self, run: &Run<'_>) -> Option<GateCard> {
        Some(GateCard {
            measure: UncertaintyMeasure::Probe,
            threshold: run.tools.config.gate.threshold,
            probe: run
                .tools
                .probe
                .as_ref()
                .ok()
                .map(|probe| probe.card.clone()),
            fallback: None,
        })
    }

    fn taps(&self, run: &Run<'_>) -> Vec<HiddenAt> {
        vec![position(run.tools.config.probe.position)]
    }

    fn judge(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError> {
        let config = run.tools.config;
        match (&run.tools.probe, draft.hidden.first()) {
            (Ok(probe), Some(hidden)) => {
                let value = probe.uncertainty(&features(hidden))?;
                Ok(judged(
                    UncertaintyMeasure::Probe,
                    value,
                    config.gate.threshold,
                ))
            }
            // a sentence of one token has no state that was gone on from
            (Err(_), _) | (_, None) => {
                ByTokenEntropy::new(config, None).judge(run, question, draft)
            }
        }
    }
}

pub fn judged(measure: UncertaintyMeasure, value: f32, threshold: f32) -> Uncertainty {
    let decision = if value > threshold {
        Decision::LookUp
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
