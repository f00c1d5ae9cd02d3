//! How well a list of chunks holds the evidence of a question.
//!
//! A piece of evidence is found when a chunk says it word for word. Recall@k is the share of the evidence in the first k chunks,
//! precision@k the share of those chunks that hold some; IE@k is the product of their means over the questions (RAGEval, as SAKI-RAG
//! uses it), where precision counts the questions that got any chunk at all.

use serde::{Deserialize, Serialize};

/// The lengths at which lists are scored.
pub const DEPTHS: [usize; 4] = [1, 3, 5, 10];

/// How well one list of chunks holds the evidence of one question; each number in 0..=1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankScores {
    /// Recall at each of [`DEPTHS`].
    pub recall: Vec<f64>,
    /// Precision at each of [`DEPTHS`]; None for a list without chunks.
    pub precision: Option<Vec<f64>>,
    /// The share of the evidence in the whole list.
    pub share: f64,
    /// 1 / rank of the first chunk with evidence; 0 without one.
    pub reciprocal_rank: f64,
    /// Discounted gain at 10 against the best order; a chunk gains when it holds evidence that none before it held.
    pub ndcg: f64,
}

impl RankScores {
    /// Score a list: `holds[rank]` are the pieces of evidence in the chunk at that rank, out of `evidence` pieces.
    #[must_use]
    pub fn of(holds: &[Vec<usize>], evidence: usize) -> Self {
        let found = |depth: usize| {
            let mut found: Vec<usize> = holds.iter().take(depth).flatten().copied().collect();
            found.sort_unstable();
            found.dedup();
            found.len()
        };
        let share = |depth: usize| found(depth) as f64 / evidence.max(1) as f64;
        let precise = |depth: &usize| {
            let listed = holds.len().min(*depth);
            holds[..listed]
                .iter()
                .filter(|held| !held.is_empty())
                .count() as f64
                / listed as f64
        };
        let first = holds.iter().position(|held| !held.is_empty());
        Self {
            recall: DEPTHS.iter().map(|depth| share(*depth)).collect(),
            precision: (!holds.is_empty()).then(|| DEPTHS.iter().map(precise).collect()),
            share: share(holds.len()),
            reciprocal_rank: first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
            ndcg: ndcg(holds, evidence),
        }
    }
}

/// The depth of [`RankScores::ndcg`].
const NDCG_DEPTH: usize = 10;

fn ndcg(holds: &[Vec<usize>], evidence: usize) -> f64 {
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let mut known = vec![false; evidence];
    let mut gained = Vec::new();
    for (rank, held) in holds.iter().enumerate() {
        let new = held.iter().filter(|piece| !known[**piece]).count() > 0;
        held.iter().for_each(|piece| known[*piece] = true);
        gained.extend(new.then_some(rank));
    }
    // as many gains as there were, and one for each piece that was not found, all at the top
    let most = gained.len() + known.iter().filter(|known| !**known).count();
    let ideal: f64 = (0..most.min(NDCG_DEPTH)).map(discount).sum();
    let gain: f64 = gained
        .into_iter()
        .filter(|rank| *rank < NDCG_DEPTH)
        .map(discount)
        .sum();
    // a sum of nothing is -0
    if ideal > 0.0 {
        (0.0 + gain) / ideal
    } else {
        0.0
    }
}
