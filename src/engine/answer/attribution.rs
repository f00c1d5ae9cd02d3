//! Attribution: the share of each sentence's attention that went to each chunk of the context.
//!
//! SAKI-RAG reads attention between the sentences of a document (section 3.1); this reads it
//! between the answer and its context. The attention sink and everything that is not a chunk are
//! left out, and the shares of the chunks add up to 1.

use crate::event::AttendedChunk;
use crate::llm::Token;

/// Returns the shares of some chunks, in the order of their labels, in the attention of a sentence;
/// `None` when it was not read.
pub fn attribute(tokens: &[Token], chunks: &[u64]) -> Option<Vec<AttendedChunk>> {
    let rows: Vec<&[f32]> = tokens.iter().map(|token| &*token.attention).collect();
    let shares = shares(&rows, chunks.len())?;
    let attended = (1..).zip(chunks).zip(shares);
    let attended = attended.map(|((label, chunk), share)| AttendedChunk {
        label,
        chunk: *chunk,
        share,
    });
    Some(attended.collect())
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
