//! Documents cut again by meaning for one question, whatever the index was cut by ("DENSE-RAG", section 5.1: adaptive chunking).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::Index;
use super::similarity_cache::{CacheKey, Neighbours};
use crate::corpus::{self, Document, SemanticCut, Sentences, TokenCounter, chunks_at};
use crate::event::ChunkText;
use crate::llm::{Embedder, LlmError};

/// Sentences in one call of the embedder: between calls a stop is heard.
const CALL_SENTENCES: usize = 64;
/// Chunks that are kept in memory for the next question.
const KEPT_CHUNKS: usize = if cfg!(test) { 8 } else { 16_384 };
/// Ids of these chunks begin here and stay below 2^53, so that they are never those of the index and every reader of JSON knows them.
const FIRST_ID: u64 = 1 << 52;

/// Chunks with their unit vectors.
pub type EmbeddedChunks = Arc<Vec<(ChunkText, Vec<f32>)>>;

/// A document that was cut again.
#[derive(Debug, Clone, PartialEq)]
pub struct Rechunked {
    /// Path inside the corpus.
    pub document: String,
    /// Its chunks, or the reason why there are none.
    pub chunks: Result<EmbeddedChunks, String>,
    pub sentences: u32,
    /// Was the cut known, so that no sentence had to be embedded?
    pub known: bool,
}

/// Chunks by the path and the cut of their document.
#[derive(Debug, Default)]
pub(super) struct Kept {
    chunks: HashMap<(String, CacheKey), EmbeddedChunks>,
}

impl Kept {
    fn put(&mut self, key: (String, CacheKey), chunks: &EmbeddedChunks) {
        if self
            .chunks
            .values()
            .map(|chunks| chunks.len())
            .sum::<usize>()
            + chunks.len()
            > KEPT_CHUNKS
        {
            self.chunks.clear();
        }
        self.chunks.insert(key, Arc::clone(chunks));
    }
}

impl Index {
    /// Cut documents of the index again, as their files are now. Cuts are remembered by text and settings, chunks with their vectors
    /// in memory. A document that cannot be read says why.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; the failures of the embedder.
    pub fn rechunk(
        &self,
        documents: &[&str],
        cut: SemanticCut,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Vec<Rechunked>, LlmError> {
        let mut recuts = Vec::new();
        for path in documents {
            let read = std::fs::read(corpus::locate(&self.canonical, path))
                .map_err(|error| error.to_string());
            recuts.push(match read.and_then(|bytes| Document::new(path, bytes)) {
                Ok(document) => self.rechunk_one(&document, cut, embedder, counter)?,
                Err(reason) => Rechunked {
                    document: (*path).to_owned(),
                    chunks: Err(reason),
                    sentences: 0,
                    known: false,
                },
            });
        }
        Ok(recuts)
    }

    fn rechunk_one(
        &self,
        document: &Document,
        cut: SemanticCut,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Rechunked, LlmError> {
        let sentences = Sentences::of(document, cut, counter);
        let key = CacheKey::of(document, cut, &embedder.card().fingerprint);
        let count = u32::try_from(sentences.count()).unwrap_or(u32::MAX);
        let whole = |chunks, known| Rechunked {
            document: document.path.clone(),
            chunks: Ok(chunks),
            sentences: count,
            known,
        };
        let place = (document.path.clone(), key.clone());
        if let Some(chunks) = self.rechunked.borrow().chunks.get(&place) {
            return Ok(whole(Arc::clone(chunks), true));
        }
        // a cache that cannot be read or written costs time and nothing else
        let found = self
            .similarity_cache
            .borrow_mut()
            .find(&key, document)
            .ok()
            .flatten();
        let known = found.is_some();
        let places = match found {
            Some(places) => places,
            None => {
                let places = join(document, &sentences, cut, embedder, counter)?;
                let _ =
                    self.similarity_cache
                        .borrow_mut()
                        .insert(key, &places, self.lock.is_some());
                places
            }
        };
        let chunks = Arc::new(embedded(document, &places, embedder, counter)?);
        self.rechunked.borrow_mut().put(place, &chunks);
        Ok(whole(chunks, known))
    }
}

fn join(
    document: &Document,
    sentences: &Sentences,
    cut: SemanticCut,
    embedder: &mut dyn Embedder,
    counter: &TokenCounter,
) -> Result<Vec<Range<usize>>, LlmError> {
    let texts: Vec<&str> = sentences.texts(document).map(|(text, _)| text).collect();
    let mut neighbours = Neighbours::default();
    for call in texts.chunks(CALL_SENTENCES) {
        neighbours.extend(embedder.embed(call)?);
    }
    Ok(sentences.join(document, &neighbours.similarities, cut, counter))
}

fn embedded(
    document: &Document,
    places: &[Range<usize>],
    embedder: &mut dyn Embedder,
    counter: &TokenCounter,
) -> Result<Vec<(ChunkText, Vec<f32>)>, LlmError> {
    let chunks = chunks_at(document, places, counter);
    let mut vectors = Vec::with_capacity(chunks.len());
    for call in chunks.chunks(CALL_SENTENCES) {
        let texts: Vec<&str> = call.iter().map(|chunk| chunk.text.as_str()).collect();
        vectors.extend(embedder.embed(&texts)?);
    }
    let named = |chunk: corpus::Chunk| {
        let corpus::Chunk {
            bytes,
            lines,
            headings,
            tokens,
            text,
        } = chunk;
        ChunkText {
            id: id(&document.path, bytes),
            document: document.path.clone(),
            headings,
            bytes,
            lines,
            tokens,
            text,
            parts: Vec::new(),
        }
    };
    Ok(chunks.into_iter().map(named).zip(vectors).collect())
}

/// The same for the same place of the same document.
fn id(path: &str, [start, end]: [u64; 2]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(path.as_bytes())
        .update(&[0])
        .update(&start.to_le_bytes())
        .update(&end.to_le_bytes());
    let bytes: [u8; 32] = hasher.finalize().into();
    let number = bytes
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    FIRST_ID | number & (FIRST_ID - 1)
}
