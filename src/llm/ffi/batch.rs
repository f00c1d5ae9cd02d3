//! The tokens that one decode evaluates.

use crate::llm::error::{LlmError, Result};

/// Tokens (or vectors in their place) that are evaluated together, each with a position and a
/// sequence.
#[derive(Debug, Default)]
pub(in crate::llm) struct Batch {
    pub(super) tokens: Vec<i32>,
    pub(super) vectors: Vec<f32>,
    pub(super) positions: Vec<i32>,
    pub(super) sequences: Vec<i32>,
    pub(super) is_output: Vec<i8>,
    /// The number of entries that are output.
    pub outputs: usize,
}

impl Batch {
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.vectors.clear();
        self.positions.clear();
        self.sequences.clear();
        self.is_output.clear();
        self.outputs = 0;
    }

    /// Adds a token and returns its index in the batch.
    pub fn push(&mut self, token: i32, position: usize, sequence: usize, is_output: bool) -> usize {
        self.tokens.push(token);
        self.push_entry(position, sequence, is_output)
    }

    /// Adds a vector of the model's width in place of a token. A batch has tokens or vectors, not
    /// both.
    pub fn push_vector(
        &mut self,
        vector: &[f32],
        position: usize,
        sequence: usize,
        is_output: bool,
    ) -> usize {
        self.vectors.extend_from_slice(vector);
        self.push_entry(position, sequence, is_output)
    }

    fn push_entry(&mut self, position: usize, sequence: usize, is_output: bool) -> usize {
        self.positions
            .push(i32::try_from(position).unwrap_or(i32::MAX));
        self.sequences
            .push(i32::try_from(sequence).unwrap_or(i32::MAX));
        self.is_output.push(i8::from(is_output));
        self.outputs += usize::from(is_output);
        self.positions.len() - 1
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Checks that each entry is a token, or each a vector of this width: llama.cpp reads as much
    /// as there should be.
    pub(super) fn check(&self, width: usize) -> Result<()> {
        let entries = self.positions.len();
        let is_whole = if self.vectors.is_empty() {
            self.tokens.len() == entries
        } else {
            self.tokens.is_empty() && self.vectors.len() == entries * width
        };
        if is_whole {
            Ok(())
        } else {
            let fault = "a batch mixes tokens and vectors, or has vectors of another width";
            Err(LlmError::Backend(fault.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_all_tokens_or_all_vectors_of_the_right_width() {
        let batch = |tokens: usize, vectors: &[usize]| {
            let mut batch = Batch::default();
            for position in 0..tokens {
                batch.push(7, position, 0, true);
            }
            for (position, width) in vectors.iter().enumerate() {
                batch.push_vector(&vec![0.5; *width], position, 0, true);
            }
            batch
        };
        for (tokens, vectors, is_whole) in [
            (3, &[][..], true),
            (0, &[4, 4], true),
            (0, &[4, 3], false),
            (0, &[8], false),
            (1, &[4], false),
        ] {
            let checked = batch(tokens, vectors).check(4);
            assert_eq!(checked.is_ok(), is_whole, "{tokens} {vectors:?}");
        }
    }
}
