//! Attribution: the share of each sentence's attention that went to each chunk of the context.
//!
//! SAKI-RAG reads attention between the sentences of a document (section 3.1); this reads it
//! between the answer and its context. The attention sink and everything that is not a chunk are
//! left out, and the shares of the chunks add up to 1.

use crate::engine::run::Passages;
use crate::event::{AttendedChunk, RunEvent};
use crate::llm::Token;

/// The chunks that attention is attributed to, in the order of their labels.
pub struct Attribution {
    chunks: Vec<u64>,
}

impl Attribution {
    /// Attribution to these passages.
    pub fn to(passages: &Passages) -> Self {
        Self {
            chunks: passages.hits.iter().map(|hit| hit.chunk.id).collect(),
        }
    }

    /// Returns the event with the shares of a sentence; `None` when its attention was not read.
    pub fn to_event(&self, step: u32, tokens: &[Token]) -> Option<RunEvent> {
        let rows: Vec<&[f32]> = tokens.iter().map(|token| &*token.attention).collect();
        let chunks = (1..).zip(&self.chunks);
        let chunks = chunks.zip(shares(&rows, self.chunks.len())?);
        let chunks = chunks.map(|((label, chunk), share)| AttendedChunk {
            label,
            chunk: *chunk,
            share,
        });
        let chunks = chunks.collect();
        Some(RunEvent::StepAttributed { step, chunks })
    }
}

/// Returns the columns summed over the rows, as shares of the total; `None` when that is zero.
fn shares(rows: &[&[f32]], columns: usize) -> Option<Vec<f32>> {
    let sums: Vec<f32> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).sum::<f32>())
        .collect();
    let total: f32 = sums.iter().sum();

    (total > 0.0 && total.is_finite()).then(|| sums.into_iter().map(|sum| sum / total).collect())
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_add_up_to_one() {
        let rows: [&[f32]; 2] = [&[0.1, 0.3], &[0.2, 0.2]];
        let shared = shares(&rows, 2).expect("there is attention");
        assert!(
            (shared[0] - 0.375).abs() < 1e-6 && (shared[1] - 0.625).abs() < 1e-6,
            "{shared:?}"
        );
        assert_eq!(shares(&[], 2), None);
        assert_eq!(shares(&rows, 0), None);
    }
}
