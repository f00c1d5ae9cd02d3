//! Judgements of the generator: read from the likelihoods of their labels, and from its replies
//! where it does not answer in these words.

use crate::event::{Problem, RunEvent, saturating_u32};
use crate::llm::{Decoding, Labelled, LlmError, Prompt, labels as label_reading};
use crate::methods::{JudgementKind, ModelCalls as _};

use super::state::Run;

impl Run<'_> {
    /// Returns the probability that the reply to each prompt means each label.
    pub(super) fn read_judgements(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
    ) -> Result<Vec<Labelled>, LlmError> {
        let JudgementKind { purpose, labels } = kind;
        let call = self.emit_model_calls(purpose, prompts)?;
        let mut rows = self.read_likelihoods(call, prompts, labels)?;
        let masses: Vec<f32> = rows.iter().map(|row| row.mass).collect();

        let unclear: Vec<usize> = (0..rows.len())
            .filter(|at| masses[*at] < label_reading::MIN_MASS)
            .collect();
        let unread = self.read_replies(kind, prompts, &unclear, &mut rows)?;

        self.emit(RunEvent::JudgementsRead {
            call,
            calls: self.usage.model_calls - call,
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            parsed: saturating_u32(unclear.len()),
            unread,
            masses: masses.clone(),
        });
        if !unclear.is_empty() {
            self.warn_of_other_words(purpose, labels, &masses);
        }
        Ok(rows)
    }

    fn read_likelihoods(
        &mut self,
        call: u32,
        prompts: &[Prompt],
        labels: &[&str],
    ) -> Result<Vec<Labelled>, LlmError> {
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
        Ok(labelled)
    }

    /// Lets the model write the replies that it hardly begins with a label, and reads the labels
    /// from them. A reply that names none leaves its likelihoods as they are; returns how many do.
    fn read_replies(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
        unclear: &[usize],
        rows: &mut [Labelled],
    ) -> Result<u32, LlmError> {
        if unclear.is_empty() {
            return Ok(0);
        }
        let asked: Vec<Prompt> = unclear.iter().map(|at| prompts[*at].clone()).collect();
        let decoding = Decoding::one_line(label_reading::REPLY_TOKENS, self.tools.config.seed);
        let purpose = format!("{}: reply", kind.purpose);
        let replies = self.complete(&purpose, &asked, &decoding)?;

        let mut unread = 0;
        for (at, reply) in unclear.iter().zip(replies) {
            let Some(named) = label_reading::find(&reply.text, kind.labels) else {
                unread += 1;
                continue;
            };
            let row = &mut rows[*at];
            row.greedy = Some(named);
            row.shares.fill(0.0);
            row.shares[named] = 1.0;
        }
        Ok(unread)
    }

    /// Warns, once per purpose and run, that the model does not answer with the labels.
    fn warn_of_other_words(&mut self, purpose: &str, labels: &[&str], masses: &[f32]) {
        if !self.warned.insert(purpose.to_owned()) {
            return;
        }
        let mean = masses.iter().sum::<f32>() / masses.len().max(1) as f32;
        let first: Vec<&str> = labels.iter().take(3).copied().collect();

        self.emit(RunEvent::warning(Problem::without_advice(format!(
                "{purpose}: this model does not answer in these words ({} begin {:.0} % of its replies); its replies are parsed instead",
                first.join(", "),
                mean * 100.0
            ))));
    }
}
