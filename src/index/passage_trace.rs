//! Traces a passage that should have been found: the chunks that hold a phrase, and their ranks in
//! each list of a query.

use std::collections::HashMap;

use super::error::IndexError;
use super::folder::OpenFolder;
use super::fusion::{fuse, ranks};
use super::retrieval::{self, Query};
use crate::config::RetrieverSettings;
use crate::event::{ChunkText, Ranked, TracedChunk};
use crate::letters;
use crate::remote::ScoredId;

/// Maximum number of chunks in a trace: the best of those that hold the phrase.
const MAX_CHUNKS: usize = 20;

/// A chunk that holds a phrase.
struct Match {
    chunk: ChunkText,
    /// Whether it holds all of the phrase; else the next or the previous chunk holds the rest.
    is_whole: bool,
}

/// The chunks that hold a phrase, as they are seen one after another.
pub(super) struct Matches {
    phrase: String,
    found: Vec<Match>,
    /// The chunk before, with its text as it is compared.
    previous: Option<(ChunkText, String)>,
}

impl Matches {
    pub fn new(phrase: &str) -> Self {
        Self {
            phrase: letters::separate_words(phrase),
            found: Vec::new(),
            previous: None,
        }
    }

    /// Looks at the next chunk. Returns whether more are wanted.
    pub fn see(&mut self, chunk: ChunkText) -> bool {
        if self.phrase.is_empty() {
            return false;
        }

        let text = letters::separate_words(&chunk.text);
        let previous = self.previous.take();
        let neighbour = previous.filter(|(previous, _)| previous.document == chunk.document);
        if letters::holds(&text, &self.phrase) {
            self.found.push(Match {
                chunk: chunk.clone(),
                is_whole: true,
            });
        } else if let Some((neighbour, end)) = neighbour
            && !self
                .found
                .iter()
                .any(|known| known.chunk.id == neighbour.id)
            && letters::holds(&format!("{end} {text}"), &self.phrase)
        {
            let parts = [neighbour, chunk.clone()];
            self.found.extend(parts.map(|chunk| Match {
                chunk,
                is_whole: false,
            }));
        }
        self.previous = Some((chunk, text));
        true
    }
}

/// Returns the chunks that hold a phrase, with their ranks for a query in the whole BM25 list, the
/// whole vector list, and the fused list of the best `settings.pool` of each. Case, white
/// space, punctuation and articles do not matter; a phrase that two neighbouring chunks share is
/// found in both. Each has the words behind its BM25 score.
pub(super) fn trace_passage(
    folders: &[OpenFolder],
    phrase: &str,
    query: Query<'_>,
    settings: &RetrieverSettings,
) -> Result<Vec<TracedChunk>, IndexError> {
    let mut matches = Vec::new();
    for folder in folders {
        matches.push(folder.matches(phrase)?);
    }
    let search = retrieval::whole_search(folders, query, settings)?;
    let [bm25, vector] = search.whole_lists()?;
    let mut traced = trace(matches, [&bm25, &vector], settings);
    search.score_traced(&mut traced)?;
    Ok(traced)
}

/// Returns the found chunks with their ranks in the BM25 list, the vector list and the fused list.
pub(super) fn trace(
    matches: Vec<Matches>,
    lists: [&[ScoredId]; 2],
    settings: &RetrieverSettings,
) -> Vec<TracedChunk> {
    let mut found: Vec<Match> = matches.into_iter().flat_map(|part| part.found).collect();
    // chunks that share a phrase matter only where none holds it alone
    if found.iter().any(|known| known.is_whole) {
        found.retain(|known| known.is_whole);
    }

    let pool = settings.pool as usize;
    let [best_bm25, best_vector] = lists.map(|list| &list[..list.len().min(pool)]);
    let fused: HashMap<u64, Ranked> = fuse(best_bm25, best_vector, settings)
        .into_iter()
        .map(|hit| (hit.chunk, hit.fused))
        .collect();

    let [bm25, vector] = lists.map(|list| {
        let chunks = list.iter().map(|listed| listed.chunk);
        chunks.zip(ranks(list)).collect::<HashMap<u64, Ranked>>()
    });
    let trace = |found: Match| TracedChunk {
        bm25: bm25.get(&found.chunk.id).copied(),
        vector: vector.get(&found.chunk.id).copied(),
        fused: fused.get(&found.chunk.id).copied(),
        chunk: found.chunk,
        whole: found.is_whole,
        words: Vec::new(),
    };
    let mut traced: Vec<TracedChunk> = found.into_iter().map(trace).collect();
    if traced.len() > MAX_CHUNKS {
        let rank = |ranked: Option<Ranked>| ranked.map_or(u32::MAX, |ranked| ranked.rank);
        traced.sort_by_key(|chunk| [chunk.fused, chunk.bm25, chunk.vector].map(rank));
        traced.truncate(MAX_CHUNKS);
    }
    traced
}

impl OpenFolder {
    /// Returns the chunks that hold a phrase.
    fn matches(&self, phrase: &str) -> Result<Matches, IndexError> {
        let mut matches = Matches::new(phrase);
        let Some(generation) = &self.index.generation else {
            return Ok(matches);
        };
        for stored in &generation.chunks {
            let chunk = self.index.check(generation.lexical.chunk(stored.address))?;
            if !matches.see(self.names.chunk(chunk)) {
                break;
            }
        }
        Ok(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_code_is_found_by_its_name() {
        let chunk = ChunkText {
            text: "frame = port.request(address)\ntime.sleep(3)".to_owned(),
            ..ChunkText::default()
        };
        for (phrase, expected) in [("time.sleep", 1), ("port.request", 1), ("time.sl", 0)] {
            let mut matches = Matches::new(phrase);
            assert!(matches.see(chunk.clone()));
            assert_eq!(matches.found.len(), expected, "{phrase}");
        }
    }
}
