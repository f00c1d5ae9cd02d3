//! Fuses two ranked lists into one.

use std::collections::HashMap;

use crate::config::RetrieverSettings;
use crate::event::{ChunkText, Hit, Ranked};
use crate::remote::ScoredId;

/// A chunk with its scores and ranks in both lists and in the fused one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Fused {
    pub chunk: u64,
    pub bm25: Option<Ranked>,
    pub vector: Option<Ranked>,
    pub fused: Ranked,
}

/// Minimum range of the cosines of a list: in a small folder all chunks are in it, and those that
/// are equally near must not outvote the one that has the words.
const MIN_COSINE_RANGE: f32 = 0.25;

/// The place in a [`Fused`] of what one of the lists says.
type RankInList = fn(&mut Fused) -> &mut Option<Ranked>;

/// Fuses the union of both lists. A list adds nothing to the score of a chunk that is not in it.
/// Equal scores are ordered by chunk.
///
/// Each list's scores are scaled to 1 for its highest and 0 for its lowest (all equal: 1), cosines
/// over [`MIN_COSINE_RANGE`] at least, then summed with weights.
pub(super) fn fuse(
    bm25: &[ScoredId],
    vector: &[ScoredId],
    settings: &RetrieverSettings,
) -> Vec<Fused> {
    let mut union: HashMap<u64, Fused> = HashMap::with_capacity(bm25.len() + vector.len());
    let vector_weight = 1.0 - settings.bm25_weight;
    let lists: [(_, _, _, RankInList); 2] = [
        (bm25, settings.bm25_weight, 0.0, |fused| &mut fused.bm25),
        (vector, vector_weight, MIN_COSINE_RANGE, |fused| {
            &mut fused.vector
        }),
    ];
    for (list, weight, min_range, rank_in_list) in lists {
        let share = shares(list, min_range);
        for ((listed, ranked), share) in list.iter().zip(ranks(list)).zip(share) {
            let fused = union.entry(listed.chunk).or_default();
            fused.chunk = listed.chunk;
            *rank_in_list(fused) = Some(ranked);
            fused.fused.score += weight * share;
        }
    }

    let mut all: Vec<Fused> = union.into_values().collect();
    // ids break ties, so that the order never depends on that of a hash map
    all.sort_unstable_by(|a, b| {
        b.fused
            .score
            .total_cmp(&a.fused.score)
            .then(a.chunk.cmp(&b.chunk))
    });
    for (rank, hit) in (1..).zip(&mut all) {
        hit.fused.rank = rank;
    }
    all
}

impl Fused {
    /// Creates the place of a chunk that is in neither list.
    pub fn in_no_list(chunk: u64) -> Self {
        Self {
            chunk,
            ..Self::default()
        }
    }

    /// Returns the hit with these scores.
    pub fn to_hit(self, chunk: ChunkText) -> Hit {
        Hit {
            bm25: self.bm25,
            vector: self.vector,
            ..Hit::new(chunk, self.fused)
        }
    }
}

pub(super) fn ranks(list: &[ScoredId]) -> impl Iterator<Item = Ranked> {
    list.iter().zip(1..).map(|(listed, rank)| Ranked {
        score: listed.score,
        rank,
    })
}

/// Returns the score of each chunk of a list before its weight.
fn shares(list: &[ScoredId], min_range: f32) -> Vec<f32> {
    let scores = list.iter().map(|listed| listed.score);
    let lowest = scores.clone().fold(f32::INFINITY, f32::min);
    let highest = scores.fold(f32::NEG_INFINITY, f32::max);
    let range = (highest - lowest).max(min_range);

    list.iter()
        .map(|listed| {
            if range > 0.0 {
                1.0 - (highest - listed.score) / range
            } else {
                1.0
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DocumentFilter, OrAuto, RetrieverKind};

    fn settings() -> RetrieverSettings {
        RetrieverSettings {
            kind: RetrieverKind::Hybrid,
            at_start: OrAuto::Set(true),
            filter: DocumentFilter::default(),
            k: 3,
            pool: 10,
            keep: 20,
            bm25_weight: 0.25,
            pinned: Vec::new(),
            excluded: Vec::new(),
        }
    }

    fn list(items: &[(u64, f32)]) -> Vec<ScoredId> {
        items
            .iter()
            .map(|&(chunk, score)| ScoredId { chunk, score })
            .collect()
    }

    fn check(bm25: &[(u64, f32)], vector: &[(u64, f32)], expected: &[(u64, f32)]) {
        let fused = fuse(&list(bm25), &list(vector), &settings());
        let found: Vec<_> = fused
            .iter()
            .map(|hit| (hit.chunk, (hit.fused.score * 1e4).round() / 1e4))
            .collect();
        assert_eq!(found, expected);
        assert!(
            fused
                .iter()
                .zip(1..)
                .all(|(hit, rank)| hit.fused.rank == rank)
        );
    }

    #[test]
    fn lists_are_fused() {
        check(&[], &[], &[]);
        check(
            &[(1, 8.0), (2, 4.0)],
            &[(2, 0.9), (3, 0.5)],
            &[(2, 0.75), (1, 0.25), (3, 0.0)],
        );
        check(
            &[(1, 9.0), (2, 6.0), (3, 3.0)],
            &[],
            &[(1, 0.25), (2, 0.125), (3, 0.0)],
        );
        // equally near chunks are ordered by their words
        check(
            &[(1, 8.0), (2, 4.0)],
            &[(2, 0.6), (1, 0.55)],
            &[(1, 0.85), (2, 0.75)],
        );
        check(&[(5, 2.0), (4, 2.0)], &[], &[(4, 0.25), (5, 0.25)]); // equal scores: all full, ordered by chunk
    }

    #[test]
    fn both_scores_and_ranks_are_kept() {
        let fused = fuse(
            &list(&[(1, 8.0), (2, 4.0)]),
            &list(&[(2, 0.9)]),
            &settings(),
        );
        let second = fused.iter().find(|hit| hit.chunk == 2).expect("chunk 2");
        assert_eq!(
            second.bm25,
            Some(Ranked {
                score: 4.0,
                rank: 2
            })
        );
        assert_eq!(
            second.vector,
            Some(Ranked {
                score: 0.9,
                rank: 1
            })
        );
        assert_eq!(
            fused
                .iter()
                .find(|hit| hit.chunk == 1)
                .expect("chunk 1")
                .vector,
            None
        );
    }
}
