//! What each sentence of the answer attended to: the share of its attention that went to each chunk of the context.
//!
//! SAKI-RAG reads attention between sentences of a document (section 3.1); this is the same reading between the answer and its
//! context. The first token of the prompt and all that is not a chunk are left out, and the shares of the chunks add up to 1.

use crate::event::{AttendedChunk, Event};

use super::passages::Passages;
use super::run::Run;

/// Publish the attention of every step of a completion. `lengths` holds each step with the number of its tokens, `attention` one row a
/// token and in it one number a passage; without rows nothing was asked for.
pub fn publish(run: &mut Run<'_>, passages: &Passages, lengths: &[(u32, usize)], attention: &[Vec<f32>]) {
    let mut rows = attention.iter();
    for &(step, length) in lengths {
        let rows: Vec<&Vec<f32>> = rows.by_ref().take(length).collect();
        if let Some(shares) = shares(&rows, passages.hits.len()) {
            let chunks = (1..)
                .zip(&passages.hits)
                .zip(shares)
                .map(|((label, hit), share)| AttendedChunk { label, chunk: hit.chunk.id, share })
                .collect();
            run.emit(Event::StepAttributed { step, chunks });
        }
    }
}

/// The columns summed over the rows, as shares; None when there is nothing to share.
fn shares(rows: &[&Vec<f32>], columns: usize) -> Option<Vec<f32>> {
    let sums: Vec<f32> =
        (0..columns).map(|column| rows.iter().filter_map(|row| row.get(column)).sum::<f32>()).collect();
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
        assert!((shared[0] - 0.375).abs() < 1e-6 && (shared[1] - 0.625).abs() < 1e-6, "{shared:?}");
        assert_eq!(shares(&[], 2), None);
        assert_eq!(shares(&rows, 0), None);
    }
}
