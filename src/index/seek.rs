//! Where a phrase stands that should have been found: which chunks hold it, and their rank in each list of a query.

use std::collections::HashMap;

use super::fusion::{Listed, fuse};
use super::{Index, IndexError, analyser, listed};
use crate::config::RetrieverSettings;
use crate::corpus::fold_white_space;
use crate::event::{ChunkText, Ranked, TracedChunk};

/// More chunks that hold the phrase than this are not looked at: it is too common to be missed.
const MOST_CHUNKS: usize = 20;

impl Index {
    /// The chunks that hold a phrase, with their ranks for a query in the whole BM25 list, the whole vector list, and the fused list of
    /// the best `settings.pool` of each. Case and white space do not matter; a phrase that two neighbouring chunks share is found in both.
    ///
    /// # Errors
    /// Files of the index that cannot be read.
    pub fn seek(
        &self,
        phrase: &str,
        query: &str,
        (vector, embedder): (&[f32], &str),
        settings: &RetrieverSettings,
    ) -> Result<Vec<TracedChunk>, IndexError> {
        let Some(generation) = &self.generation else {
            return Ok(Vec::new());
        };
        let holding = self.holding(phrase)?;
        let words = analyser::query_words(query, generation.languages.iter().map(String::as_str));
        let every = (generation.manifest.chunks as usize).max(1);
        let bm25 = listed(
            generation
                .lexical
                .search(&words, every)
                .map_err(|error| self.damaged(error))?,
        );
        let near = match &self.vectors {
            Some(vectors)
                if generation.manifest.embedder() == embedder
                    && vectors.width() == vector.len() =>
            {
                listed(generation.all_nearest(vectors, vector))
            }
            Some(_) | None => Vec::new(),
        };
        let pool = settings.pool as usize;
        let fused = fuse(
            &bm25[..bm25.len().min(pool)],
            &near[..near.len().min(pool)],
            settings,
        );
        let fused: HashMap<u64, Ranked> = fused
            .into_iter()
            .map(|hit| (hit.chunk, hit.fused))
            .collect();
        let (bm25, near) = (ranks(&bm25), ranks(&near));
        let sought = |(chunk, whole): (ChunkText, bool)| TracedChunk {
            bm25: bm25.get(&chunk.id).copied(),
            vector: near.get(&chunk.id).copied(),
            fused: fused.get(&chunk.id).copied(),
            chunk,
            whole,
        };
        Ok(holding.into_iter().map(sought).collect())
    }

    /// The chunks that hold a phrase, and whether they hold all of it.
    fn holding(&self, phrase: &str) -> Result<Vec<(ChunkText, bool)>, IndexError> {
        let Some(generation) = &self.generation else {
            return Ok(Vec::new());
        };
        let comparable = |text: &str| fold_white_space(text).to_lowercase();
        let phrase = comparable(phrase);
        let mut found: Vec<(ChunkText, bool)> = Vec::new();
        let mut before: Option<(ChunkText, String)> = None;
        for address in generation.addresses() {
            if phrase.is_empty() || found.len() >= MOST_CHUNKS {
                break;
            }
            let chunk = generation
                .lexical
                .chunk(address)
                .map_err(|error| self.damaged(error))?;
            let text = comparable(&chunk.text);
            let known = |id: u64, found: &[(ChunkText, bool)]| {
                found.iter().any(|(chunk, _)| chunk.id == id)
            };
            if text.contains(&phrase) {
                found.push((chunk.clone(), true));
            } else if let Some((last, end)) = before
                .take()
                .filter(|(last, _)| last.document == chunk.document)
                && !known(last.id, &found)
                && format!("{end} {text}").contains(&phrase)
            {
                found.push((last, false));
                found.push((chunk.clone(), false));
            }
            before = Some((chunk, text));
        }
        // chunks that share a phrase matter only where none holds it alone
        if found.iter().any(|(_, whole)| *whole) {
            found.retain(|(_, whole)| *whole);
        }
        Ok(found)
    }
}

fn ranks(list: &[Listed]) -> HashMap<u64, Ranked> {
    (1..)
        .zip(list)
        .map(|(rank, listed)| {
            (
                listed.chunk,
                Ranked {
                    score: listed.score,
                    rank,
                },
            )
        })
        .collect()
}
