//! Traces a passage that should have been found: the chunks that hold a phrase, and their ranks in each
//! list of a query.

use std::collections::HashMap;

use super::fusion::{ScoredChunk, fuse};
use super::retrieval::{self, Part, Query};
use super::{Index, IndexError};
use crate::config::RetrieverSettings;
use crate::corpus::fold_white_space;
use crate::event::{ChunkText, Ranked, TracedChunk};

/// Maximum number of chunks in a trace: a phrase in more of them is too common to be missed.
const MAX_CHUNKS: usize = 20;

/// A chunk that holds a phrase.
struct Match {
    chunk: ChunkText,
    /// Whether it holds all of the phrase; else the next or the previous chunk holds the rest.
    is_whole: bool,
}

/// Returns the chunks that hold a phrase, with their ranks for a query in the whole BM25 list, the whole
/// vector list, and the fused list of the best `settings.pool` of each. Case and white space do not
/// matter; a phrase that two neighbouring chunks share is found in both.
pub(super) fn trace_passage(
    parts: &[Part<'_>],
    phrase: &str,
    query: Query<'_>,
    settings: &RetrieverSettings,
) -> Result<Vec<TracedChunk>, IndexError> {
    let mut matches: Vec<Match> = Vec::new();
    for part in parts {
        let found = part.index.chunks_with(phrase)?;
        matches.extend(found.into_iter().map(|found| Match {
            chunk: part.names.chunk(found.chunk),
            ..found
        }));
    }
    // chunks that share a phrase matter only where none holds it alone
    if matches.iter().any(|known| known.is_whole) {
        matches.retain(|known| known.is_whole);
    }

    let [bm25, vector] = retrieval::whole_lists(parts, query, settings)?;
    let pool = settings.pool as usize;
    let best_bm25 = &bm25[..bm25.len().min(pool)];
    let best_vector = &vector[..vector.len().min(pool)];
    let fused: HashMap<u64, Ranked> = fuse(best_bm25, best_vector, settings)
        .into_iter()
        .map(|hit| (hit.chunk, hit.fused))
        .collect();

    let bm25 = ranks(&bm25);
    let vector = ranks(&vector);
    let trace = |found: Match| TracedChunk {
        bm25: bm25.get(&found.chunk.id).copied(),
        vector: vector.get(&found.chunk.id).copied(),
        fused: fused.get(&found.chunk.id).copied(),
        chunk: found.chunk,
        whole: found.is_whole,
    };
    Ok(matches.into_iter().map(trace).collect())
}

impl Index {
    /// Returns the chunks that hold a phrase.
    fn chunks_with(&self, phrase: &str) -> Result<Vec<Match>, IndexError> {
        let normalised = |text: &str| fold_white_space(text).to_lowercase();
        let phrase = normalised(phrase);
        let Some(generation) = self.generation.as_ref().filter(|_| !phrase.is_empty()) else {
            return Ok(Vec::new());
        };

        let mut found: Vec<Match> = Vec::new();
        let mut previous: Option<(ChunkText, String)> = None;
        for stored in generation.chunks() {
            if found.len() >= MAX_CHUNKS {
                break;
            }
            let chunk = generation.lexical.chunk(stored.address);
            let chunk = chunk.map_err(|error| self.damaged(error))?;
            let text = normalised(&chunk.text);

            let neighbour = previous
                .take()
                .filter(|(previous, _)| previous.document == chunk.document);
            if text.contains(&phrase) {
                found.push(Match {
                    chunk: chunk.clone(),
                    is_whole: true,
                });
            } else if let Some((neighbour, end)) = neighbour
                && !found.iter().any(|known| known.chunk.id == neighbour.id)
                && format!("{end} {text}").contains(&phrase)
            {
                let parts = [neighbour, chunk.clone()];
                found.extend(parts.map(|chunk| Match {
                    chunk,
                    is_whole: false,
                }));
            }
            previous = Some((chunk, text));
        }

        Ok(found)
    }
}

fn ranks(list: &[ScoredChunk]) -> HashMap<u64, Ranked> {
    let ranked = list.iter().zip(1..).map(|(listed, rank)| {
        let score = listed.score;
        (listed.chunk, Ranked { score, rank })
    });
    ranked.collect()
}
