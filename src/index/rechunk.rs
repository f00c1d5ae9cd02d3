//! Re-chunks documents by meaning for one question, whatever the chunker of the index ("DENSE-RAG",
//! section 5.1: adaptive chunking).

use std::ops::Range;
use std::sync::Arc;

use super::caches::rechunk_cache::Rechunked;
use super::caches::similarity_cache::{CacheKey, Neighbours};
use super::folder::Index;
use super::vectors::rows::first;
use crate::corpus::{Document, SemanticSplit, Sentences, TokenCounter, chunks_at};
use crate::event::{ChunkText, saturating_u32};
use crate::llm::{Embedder, LlmError};

/// Sentences per call of the embedder: between calls it can be stopped.
const CALL_SENTENCES: usize = 64;
/// The ids of these chunks begin here, so that they are never those of the index, and stay below
/// 2^53, so that every reader of JSON can represent them.
const FIRST_ID: u64 = 1 << 52;

impl Index {
    /// Re-chunks a document of the index: text as its file is now, others as they were indexed. The
    /// ranges are cached by text and settings, the chunks with their vectors in memory. A document
    /// that cannot be read gives the reason.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; the failures of the embedder.
    pub fn rechunk(
        &self,
        path: &str,
        split: SemanticSplit,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Rechunked, LlmError> {
        match self.read_document(path) {
            Ok(document) => self.rechunk_one(&document, split, embedder, counter),
            Err(reason) => Ok(Rechunked::failed(path, reason)),
        }
    }

    fn rechunk_one(
        &self,
        document: &Document,
        split: SemanticSplit,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Rechunked, LlmError> {
        let sentences = Sentences::new(document, split, counter);
        let key = CacheKey::new(document, split, &embedder.card().fingerprint);
        let count = saturating_u32(sentences.count());
        let rechunked = |chunks, is_cached| Rechunked {
            document: document.path.clone(),
            chunks: Ok(chunks),
            sentences: count,
            is_cached,
        };

        let cache_key = (document.path.clone(), key.clone());
        if let Some(chunks) = self.rechunked.borrow().chunks.get(&cache_key) {
            return Ok(rechunked(Arc::clone(chunks), true));
        }

        // a cache that cannot be read or written only costs time
        let found = self
            .similarity_cache
            .borrow_mut()
            .find(&key, document)
            .ok()
            .flatten();
        let is_cached = found.is_some();
        let ranges = match found {
            Some(ranges) => ranges,
            None => {
                let ranges = join(document, &sentences, split, embedder, counter)?;
                let _ =
                    self.similarity_cache
                        .borrow_mut()
                        .insert(key, &ranges, self.lock.is_some());
                ranges
            }
        };

        let chunks = Arc::new(embed(document, &ranges, embedder, counter)?);
        self.rechunked.borrow_mut().put(cache_key, &chunks);
        Ok(rechunked(chunks, is_cached))
    }
}

/// Joins the sentences of a document by the similarity of their vectors.
fn join(
    document: &Document,
    sentences: &Sentences,
    split: SemanticSplit,
    embedder: &mut dyn Embedder,
    counter: &TokenCounter,
) -> Result<Vec<Range<usize>>, LlmError> {
    let texts: Vec<&str> = sentences.texts(document).map(|(text, _)| text).collect();
    let mut neighbours = Neighbours::default();
    for call in texts.chunks(CALL_SENTENCES) {
        neighbours.extend(embedder.embed(call)?);
    }
    Ok(sentences.join(document, &neighbours.similarities, split, counter))
}

/// Returns the chunks at these ranges with their vectors.
fn embed(
    document: &Document,
    ranges: &[Range<usize>],
    embedder: &mut dyn Embedder,
    counter: &TokenCounter,
) -> Result<Vec<(ChunkText, Vec<f32>)>, LlmError> {
    let mut chunks = chunks_at(document, ranges, counter);
    for chunk in &mut chunks {
        chunk.id = id(&document.path, chunk.bytes);
    }

    let mut vectors = Vec::with_capacity(chunks.len());
    for call in chunks.chunks(CALL_SENTENCES) {
        let texts: Vec<String> = call.iter().map(ChunkText::embedded_text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        vectors.extend(embedder.embed(&texts)?);
    }

    Ok(chunks.into_iter().zip(vectors).collect())
}

/// Returns the id of a chunk: the same for the same bytes of the same document.
fn id(path: &str, [start, end]: [u64; 2]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(path.as_bytes())
        .update(&[0])
        .update(&start.to_le_bytes())
        .update(&end.to_le_bytes());
    let number = u64::from_be_bytes(first(hasher.finalize()));
    FIRST_ID | number & (FIRST_ID - 1)
}
