//! Measures of the evidence in lists of chunks.
//!
//! A piece of evidence is found when a chunk contains it word for word. Recall@k is the share of
//! the evidence in the first k chunks, precision@k the share of those chunks that hold some; IE@k
//! is the product of their means over the questions (RAGEval, as SAKI-RAG uses it), where precision
//! counts the questions that got any chunk at all.

use serde::{Deserialize, Serialize};

use super::declare::Format::{Number, Share};
use super::declare::metrics;
use super::statistics::mean;

/// Depths at which lists are scored unless others are asked for.
pub const DEPTHS: &[usize] = &[1, 3, 5, 10];

/// Depths whose IE SAKI-RAG's tables sum.
const SUMMED_DEPTHS: [usize; 3] = [1, 3, 5];

/// Depth of nDCG.
const NDCG_DEPTH: usize = 10;

metrics! {
    /// A value of lists of chunks, each cut at a depth.
    DepthMetric: fn(&[&EvidenceList], usize) -> f64 {
        /// Share of the evidence in the first chunks.
        Recall "R": Higher, Share, in Recall => recall;
        /// Share of the first chunks that hold evidence, over the questions that got any chunk.
        Precision "P": Higher, Share, in Precision => precision;
        /// Share of the first chunks that hold evidence, over all questions (0 without a chunk).
        PrecisionOfAll "P over all": Higher, Share => precision_of_all;
        /// Integrated effectiveness: recall times precision.
        Ie "IE": Higher, Share, in Precision =>
            |lists, depth| recall(lists, depth) * precision(lists, depth);
        /// Integrated effectiveness with the precision over all questions.
        IeOfAll "IE over all": Higher, Share =>
            |lists, depth| recall(lists, depth) * precision_of_all(lists, depth);
    }
}

metrics! {
    /// A value of whole lists of chunks.
    ListMetric: fn(&[&EvidenceList]) -> f64 {
        /// Length of the list.
        Chunks "chunks": Neither, Number(1), in Recall =>
            |lists| mean(lists.iter().map(|list| list.held.len() as f64));
        /// Share of the evidence in the whole list.
        Share "whole list": Higher, Share, in Recall =>
            |lists| mean(lists.iter().map(|list| list.share()));
        /// Share of the evidence in the first 200 tokens.
        Within200 "R, 200 tokens": Higher, Share, in Recall => |lists| recall_within(lists, 200);
        /// Share of the evidence in the first 400 tokens.
        Within400 "R, 400 tokens": Higher, Share, in Recall => |lists| recall_within(lists, 400);
        /// Mean reciprocal rank of the first chunk with evidence.
        Mrr "MRR": Higher, Number(3), in Recall Comparison =>
            |lists| mean(lists.iter().map(|list| list.reciprocal_rank()));
        /// Discounted cumulative gain at 10 relative to the best order; a chunk gains when it holds
        /// evidence that none before it held.
        Ndcg "nDCG": Higher, Number(3), in Recall Comparison =>
            |lists| mean(lists.iter().map(|list| list.ndcg()));
        /// Sum of the recall at 1, 3 and 5, as SAKI-RAG's tables print it.
        RecallSum "R, sum": Higher, Share => |lists| sum_over_depths(|depth| recall(lists, depth));
        /// Sum of the precision at 1, 3 and 5, as SAKI-RAG's tables print it.
        PrecisionSum "P, sum": Higher, Share =>
            |lists| sum_over_depths(|depth| precision(lists, depth));
        /// Sum of IE at 1, 3 and 5, as SAKI-RAG's tables print it.
        IeSum "IE, sum": Higher, Share, in Precision =>
            |lists| sum_over_depths(|depth| recall(lists, depth) * precision(lists, depth));
        /// Sum of IE at 1, 3 and 5, with the precision over all questions.
        IeSumOfAll "sum over all": Higher, Share, in Precision =>
            |lists| sum_over_depths(|depth| recall(lists, depth) * precision_of_all(lists, depth));
    }
}

/// The pieces of evidence in each chunk of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvidenceList {
    /// The pieces in the chunk at each rank, by number.
    pub held: Vec<Vec<usize>>,
    /// Number of pieces of the question.
    pub pieces: usize,
    /// Tokens of the chunk at each rank; empty in rows of earlier versions.
    #[serde(default)]
    pub tokens: Vec<u32>,
}

impl EvidenceList {
    /// Returns the share of the evidence in the first chunks, in 0..=1.
    pub fn recall(&self, depth: usize) -> f64 {
        let mut found: Vec<usize> = self.held.iter().take(depth).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found.len() as f64 / self.pieces.max(1) as f64
    }

    /// Returns the share of the evidence in as many of the first chunks as have this number of
    /// tokens, whole, in 0..=1.
    pub fn recall_within(&self, tokens: u32) -> f64 {
        let mut sum = 0;
        let fitting = self.tokens.iter().take_while(|length| {
            sum += **length;
            sum <= tokens
        });
        self.recall(fitting.count())
    }

    /// Returns the share of the first chunks that hold evidence, in 0..=1; `None` without chunks.
    pub fn precision(&self, depth: usize) -> Option<f64> {
        let first = &self.held[..self.held.len().min(depth)];
        let with_evidence = first.iter().filter(|held| !held.is_empty()).count();
        (!first.is_empty()).then(|| with_evidence as f64 / first.len() as f64)
    }

    /// Returns the share of the evidence in the whole list, in 0..=1.
    pub fn share(&self) -> f64 {
        self.recall(self.held.len())
    }

    /// Returns 1 / rank of the first chunk with evidence; 0 without one.
    pub fn reciprocal_rank(&self) -> f64 {
        let first = self.held.iter().position(|held| !held.is_empty());
        first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64)
    }

    /// Returns the discounted cumulative gain at 10 relative to that of the best order.
    pub fn ndcg(&self) -> f64 {
        // Järvelin and Kekäläinen 2002, with ranks from 0: the first chunk counts in full
        let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();

        let mut is_known = vec![false; self.pieces];
        let mut gain_ranks = Vec::new();
        for (rank, held) in self.held.iter().enumerate() {
            if held.iter().any(|piece| !is_known[*piece]) {
                gain_ranks.push(rank);
            }
            for piece in held {
                is_known[*piece] = true;
            }
        }

        // the best order: as many gains as there were, and one for each piece that was not found
        let missing = is_known.iter().filter(|known| !**known).count();
        let best_gains = (gain_ranks.len() + missing).min(NDCG_DEPTH);
        let best: f64 = (0..best_gains).map(discount).sum();
        let gain: f64 = gain_ranks
            .into_iter()
            .filter(|rank| *rank < NDCG_DEPTH)
            .map(discount)
            .sum();
        // a sum of nothing is -0
        if best > 0.0 { (0.0 + gain) / best } else { 0.0 }
    }
}

fn recall(lists: &[&EvidenceList], depth: usize) -> f64 {
    mean(lists.iter().map(|list| list.recall(depth)))
}

fn recall_within(lists: &[&EvidenceList], tokens: u32) -> f64 {
    mean(lists.iter().map(|list| list.recall_within(tokens)))
}

fn precision(lists: &[&EvidenceList], depth: usize) -> f64 {
    mean(lists.iter().filter_map(|list| list.precision(depth)))
}

fn precision_of_all(lists: &[&EvidenceList], depth: usize) -> f64 {
    mean(
        lists
            .iter()
            .map(|list| list.precision(depth).unwrap_or(0.0)),
    )
}

fn sum_over_depths(value: impl Fn(usize) -> f64) -> f64 {
    SUMMED_DEPTHS.into_iter().map(value).sum()
}
