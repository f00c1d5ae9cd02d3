//! Calls of models.

use crate::event::{CallUsage, ModelRole};

/// A prompt handed to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub call: u32,
    pub purpose: String,
    pub role: ModelRole,
    /// The exact text, for copying. It is made harmless where it is drawn.
    pub prompt: String,
    pub prompt_tokens: u32,
    /// Number of continuations that are sampled.
    pub branches: u32,
    /// Bytes at the end of the prompt that are the given beginning of the reply.
    pub reply_bytes: u32,
    /// Time until the prompt is read; `None` where the rate of the model is unknown.
    pub expected_ms: Option<u64>,
    /// Once the call is over; the first call of a batch carries the cost of the whole batch.
    pub usage: Option<CallUsage>,
    /// Once the call is over: the first call of its batch, and the number of calls in it.
    pub batch: Option<(u32, u32)>,
    /// The probability that the reply begins with a label, where a judgement was read from it.
    pub label_mass: Option<f32>,
}

/// Measures decoding speed by the gaps between tokens that follow each other without a model call
/// in between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DecodingClock {
    last_token_us: Option<u64>,
    gaps: u32,
    gaps_us: u64,
}

impl DecodingClock {
    /// Takes in a token.
    pub(super) fn token(&mut self, t_us: u64) {
        if let Some(last) = self.last_token_us.replace(t_us) {
            self.gaps += 1;
            let gap_us = t_us.saturating_sub(last);
            self.gaps_us = self.gaps_us.saturating_add(gap_us);
        }
    }

    /// Takes in a model call, which the next token waits for.
    pub(super) fn interrupt(&mut self) {
        self.last_token_us = None;
    }

    /// Returns the tokens per second; `None` before there are enough of them.
    pub(super) fn tokens_per_second(self) -> Option<f64> {
        let Self { gaps, gaps_us, .. } = self;
        (gaps >= 4 && gaps_us > 0).then(|| f64::from(gaps) * 1e6 / gaps_us as f64)
    }
}
