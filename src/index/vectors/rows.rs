//! Rows of vectors: their keys, their scores, and the order of scores.

/// The first half of the blake3 hash of the embedder's fingerprint and a text.
pub(in crate::index) type Key = [u8; 16];

/// A row with its cosine similarity to the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::index) struct ScoredRow {
    pub row: u32,
    pub score: f32,
}

/// Returns the mark of an embedder in a file.
pub(in crate::index) fn embedder_hash(embedder: &str) -> [u8; 16] {
    first(blake3::hash(embedder.as_bytes()))
}

pub(in crate::index) fn first<const N: usize>(hash: blake3::Hash) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&hash.as_bytes()[..N]);
    bytes
}

/// Sorts rows, best first; equal scores by row, so that a result never depends on threads.
pub(super) fn sort(mut near: Vec<ScoredRow>) -> Vec<ScoredRow> {
    near.sort_unstable_by(better);
    near
}

/// Keeps the best `count` rows, in no order.
pub(in crate::index) fn keep_best(mut near: Vec<ScoredRow>, count: usize) -> Vec<ScoredRow> {
    if near.len() > count {
        // linear, where a sort of all would not be
        near.select_nth_unstable_by(count, better);
        near.truncate(count);
    }
    near
}

pub(super) fn better(a: &ScoredRow, b: &ScoredRow) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
}
