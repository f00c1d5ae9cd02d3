//! What each sentence of the answer attended to: the share of its attention that went to each chunk of the context.
//!
//! SAKI-RAG reads attention between sentences of a document (section 3.1); this is the same reading between the answer and its
//! context. The first token of the prompt and all that is not a chunk are left out, and the shares of the chunks add up to 1.

use crate::engine::run::Passages;
use crate::event::{AttendedChunk, Event};
use crate::llm::Token;

/// The chunks that attention is shared out among, in the order of their labels.
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

    /// What a sentence of these tokens attended to; None when nothing was asked for.
    pub fn event(&self, step: u32, tokens: &[Token]) -> Option<Event> {
        let rows: Vec<&Vec<f32>> = tokens.iter().map(|token| &token.attention).collect();
        let shares = shares(&rows, self.chunks.len())?;
        let attended = |((label, chunk), share): ((u32, &u64), f32)| AttendedChunk {
            label,
            chunk: *chunk,
            share,
        };
        Some(Event::StepAttributed {
            step,
            chunks: (1..).zip(&self.chunks).zip(shares).map(attended).collect(),
        })
    }
}

/// The columns summed over the rows, as shares; None when there is nothing to share.
fn shares(rows: &[&Vec<f32>], columns: usize) -> Option<Vec<f32>> {
    let sums: Vec<f32> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).sum::<f32>())
        .collect();
    let all: f32 = sums.iter().sum();
    (all > 0.0 && all.is_finite()).then(|| sums.into_iter().map(|sum| sum / all).collect())
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_add_up_to_one() {
        let rows = [vec![0.1, 0.3], vec![0.2, 0.2]];
        let rows: Vec<&Vec<f32>> = rows.iter().collect();
        let shared = shares(&rows, 2).expect("there is attention");
        assert!(
            (shared[0] - 0.375).abs() < 1e-6 && (shared[1] - 0.625).abs() < 1e-6,
            "{shared:?}"
        );
        assert_eq!(shares(&[], 2), None);
        assert_eq!(shares(&rows, 0), None);
    }
}
