//! Judgements of the generator: read from the likelihoods of their labels, from its replies where it does not
//! answer in these words, and calibrated by what it says of nothing.

use crate::config::{JudgeCalibration, JudgeRead};
use crate::event::RunEvent;
use crate::llm::{Decoding, Labelled, Prompt, labels as label_reading};
use crate::methods::calibrate::{CONTENT_FREE, calibrate, prior};
use crate::methods::{JudgementKind, MethodError, ModelCalls as _};

use super::state::Run;
use super::values::PriorKey;

/// The values of the prompts of judgements.
const VALUES: [&str; 5] = ["q", "c", "a", "b", "f"];

/// Judgements that were read from likelihoods, and the number of their first call.
struct Reading {
    call: u32,
    /// One per prompt; empty when likelihoods are not read.
    labelled: Vec<Labelled>,
    /// The prior of each label; empty where readings are not calibrated.
    prior: Vec<f32>,
}

impl Run<'_> {
    /// Returns the probability that the reply to each prompt means each label.
    pub(super) fn read_judgements(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
    ) -> Result<Vec<Labelled>, MethodError> {
        let judge = &self.tools.config.judge;
        let reading = match (judge.read, judge.calibration) {
            (JudgeRead::Reply, JudgeCalibration::Off | JudgeCalibration::ContentFree) => Reading {
                call: self.usage.model_calls,
                labelled: Vec::new(),
                prior: Vec::new(),
            },
            (JudgeRead::Likelihood, JudgeCalibration::Off) => {
                self.read_likelihoods(kind.purpose, prompts, kind.labels)?
            }
            (JudgeRead::Likelihood, JudgeCalibration::ContentFree) => {
                let prior = self.prior(kind)?;
                Reading {
                    prior,
                    ..self.read_likelihoods(kind.purpose, prompts, kind.labels)?
                }
            }
        };
        self.read_replies(kind, prompts, reading)
    }

    /// Returns the prior of each label: its share after the prompt of this kind without content.
    fn prior(&mut self, kind: JudgementKind<'_>) -> Result<Vec<f32>, MethodError> {
        let mut prompts = Vec::with_capacity(CONTENT_FREE.len());
        let mut rendered = Vec::with_capacity(CONTENT_FREE.len());
        for text in CONTENT_FREE {
            let prompt = self.prompt(kind.prompt, &VALUES.map(|name| (name, text)))?;
            rendered.push(self.tools.generator.render(&prompt)?.text);
            prompts.push(prompt);
        }
        let key = PriorKey {
            model: self.tools.generator.card().fingerprint.clone(),
            prompts: rendered,
            labels: kind
                .labels
                .iter()
                .map(|label| (*label).to_owned())
                .collect(),
        };
        if let Some(known) = self.tools.priors.find(&key) {
            return Ok(known);
        }

        let purpose = format!("{}: prior", kind.purpose);
        let reading = self.read_likelihoods(&purpose, &prompts, kind.labels)?;
        let rows: Vec<Vec<f32>> = reading.labelled.into_iter().map(|one| one.shares).collect();
        let prior = prior(&rows);
        self.tools.priors.insert(key, prior.clone());
        Ok(prior)
    }

    fn read_likelihoods(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        labels: &[&str],
    ) -> Result<Reading, MethodError> {
        let call = self.emit_model_calls(purpose, prompts)?;
        let mut labelled = self.tools.generator.classify(prompts, labels)?;
        self.emit_usage(call);
        self.check_stopped()?;

        // a model that gives every label no probability has no shares, and events hold finite
        // numbers
        for one in &mut labelled {
            let shares = one.shares.iter_mut();
            for number in shares.chain([&mut one.mass]) {
                if !number.is_finite() {
                    *number = 0.0;
                }
            }
        }
        Ok(Reading {
            call,
            labelled,
            prior: Vec::new(),
        })
    }

    /// Completes a reading: where the model hardly begins its reply with a label, it writes the reply
    /// and the label is read from that. A reply that names none leaves the likelihoods as they are.
    fn read_replies(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
        reading: Reading,
    ) -> Result<Vec<Labelled>, MethodError> {
        let JudgementKind {
            purpose, labels, ..
        } = kind;
        let Reading {
            call,
            labelled,
            prior,
        } = reading;
        let masses: Vec<f32> = labelled.iter().map(|one| one.mass).collect();
        let is_clear = |at: usize| {
            masses
                .get(at)
                .is_some_and(|mass| *mass >= label_reading::MIN_MASS)
        };
        let unclear: Vec<usize> = (0..prompts.len()).filter(|at| !is_clear(*at)).collect();

        let even = Labelled {
            shares: vec![1.0 / labels.len().max(1) as f32; labels.len()],
            mass: 0.0,
            greedy: None,
        };
        let mut rows = labelled;
        rows.resize(prompts.len(), even);
        if !prior.is_empty() {
            for row in &mut rows {
                row.shares = calibrate(&row.shares, &prior);
                row.greedy = None;
            }
        }

        let mut unread = 0;
        if !unclear.is_empty() {
            let asked: Vec<Prompt> = unclear.iter().map(|at| prompts[*at].clone()).collect();
            let decoding = Decoding::one_line(label_reading::REPLY_TOKENS, self.tools.config.seed);
            let purpose = format!("{purpose}: reply");
            let replies = self.complete(&purpose, &asked, &decoding)?;
            for (at, reply) in unclear.iter().zip(replies) {
                match label_reading::find(&reply.text, labels) {
                    Some(named) => {
                        let row = &mut rows[*at];
                        row.greedy = Some(named);
                        row.shares = (0..labels.len())
                            .map(|label| f32::from(u8::from(label == named)))
                            .collect();
                    }
                    None => unread += 1,
                }
            }
        }

        let count = |items: usize| u32::try_from(items).unwrap_or(u32::MAX);
        self.emit(RunEvent::JudgementsRead {
            call,
            calls: self.usage.model_calls - call,
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            parsed: count(unclear.len()),
            unread,
            masses: masses.clone(),
            priors: prior,
        });
        if !masses.is_empty() && !unclear.is_empty() {
            self.warn_of_other_words(purpose, labels, &masses);
        }
        Ok(rows)
    }

    /// Warns, once per purpose and run, that the model does not answer with the labels.
    fn warn_of_other_words(&mut self, purpose: &str, labels: &[&str], masses: &[f32]) {
        if !self.warned.insert(purpose.to_owned()) {
            return;
        }
        let mean = masses.iter().sum::<f32>() / masses.len().max(1) as f32;
        let first: Vec<&str> = labels.iter().take(3).copied().collect();
        self.emit(RunEvent::Warned {
            text: format!(
                "{purpose}: this model does not answer in these words ({} begin {:.0} % of its replies); its replies are parsed instead",
                first.join(", "),
                mean * 100.0
            ),
            advice: None,
        });
    }
}
