//! The rows of logits of evaluated tokens, and who reads them.

use super::numbers::Distribution;

/// The step after the last row of a job. Rows before it need no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Evaluate this token next.
    Extend(i32),
    /// The job is done.
    End,
    /// The whole call is to stop.
    Stop,
}

/// The logits after a token.
pub(super) struct LogitRow<'a> {
    pub logits: &'a [f32],
    pub distribution: Distribution,
}

impl LogitRow<'_> {
    /// Returns ln p of a token, nats.
    pub fn logprob(&self, token: usize) -> f32 {
        self.logits
            .get(token)
            .map_or(f32::NEG_INFINITY, |logit| logit - self.distribution.log_sum)
    }
}

/// Index in the batch of a token whose row is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutputIndex {
    /// Among all tokens of the batch.
    pub token: usize,
    /// Among the outputs of the batch.
    pub output: usize,
}

/// Reads rows of logits.
pub(super) trait RowReader {
    /// Announces that a batch is filled, again where the one before found no room.
    fn before_batch(&mut self) {}

    /// Returns the tokens that probably follow a path of a job, so that they are evaluated with its
    /// last token. Rows are read as far as they are met.
    fn draft<'p>(&self, _job: usize, _path: &'p [i32]) -> &'p [i32] {
        &[]
    }

    /// Announces how many tokens of the prompt of a single job are read, before each of the batches
    /// that it takes. Returns whether it wants to know.
    fn before_reading(&mut self, _read: usize) -> bool {
        false
    }

    /// Announces that the next batch holds the token of a job at a position whose row is wanted.
    fn before_decode(&mut self, _job: usize, _position: usize, _index: OutputIndex) {}

    /// Reads the row of a job at a position of its tokens.
    fn row(&mut self, job: usize, position: usize, row: &LogitRow) -> Next;
}
