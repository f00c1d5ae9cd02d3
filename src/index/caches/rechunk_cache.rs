//! Keeps the chunks of documents that were re-chunked for questions, in memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::similarity_cache::CacheKey;
use crate::event::ChunkText;

/// Maximum number of chunks that are kept in memory for the next question.
const MAX_CACHED_CHUNKS: usize = if cfg!(test) { 8 } else { 16_384 };

/// Chunks with their unit vectors.
pub type EmbeddedChunks = Arc<Vec<(ChunkText, Vec<f32>)>>;

/// A document that was re-chunked.
#[derive(Debug, Clone, PartialEq)]
pub struct Rechunked {
    /// Path inside the corpus.
    pub document: String,
    /// Chunks of the document, or the reason why there are none.
    pub chunks: Result<EmbeddedChunks, String>,
    pub sentences: u32,
    /// Whether the ranges of its chunks were known, so that no sentence had to be embedded.
    pub is_cached: bool,
}

impl Rechunked {
    /// A document that is not re-chunked, for a reason.
    pub(in crate::index) fn failed(document: &str, reason: String) -> Self {
        Self {
            document: document.to_owned(),
            chunks: Err(reason),
            sentences: 0,
            is_cached: false,
        }
    }
}

/// Chunks by the path of their document and the key of the similarity cache.
#[derive(Debug, Default)]
pub(in crate::index) struct RechunkCache {
    pub chunks: HashMap<(String, CacheKey), EmbeddedChunks>,
}

impl RechunkCache {
    pub fn put(&mut self, key: (String, CacheKey), chunks: &EmbeddedChunks) {
        let cached: usize = self.chunks.values().map(|chunks| chunks.len()).sum();
        if cached + chunks.len() > MAX_CACHED_CHUNKS {
            self.chunks.clear();
        }
        self.chunks.insert(key, Arc::clone(chunks));
    }
}
