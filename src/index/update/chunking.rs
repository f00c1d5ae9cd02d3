//! Splits documents into chunks: those of a fixed size were split where they were read; those by
//! similarity need the vectors of their sentences, which the embedder makes here, once per text.

use std::collections::VecDeque;

use super::batch_embedder::{BatchEmbedder, Text};
use super::reading::{Body, ChunkedDocument, ReadDocument};
use crate::corpus::{Document, SemanticSplit, Sentences, TokenCounter, chunks_at};
use crate::event::saturating_u32;
use crate::index::caches::similarity_cache::{CacheKey, Neighbours, SimilarityCache};
use crate::index::error::Halt;

/// Splits documents.
pub(in crate::index) struct Chunker<'a, 'e> {
    pub embedding: &'a mut BatchEmbedder<'e>,
    pub cache: &'a mut SimilarityCache,
    pub counter: &'a TokenCounter,
}

/// A document whose chunks are not in the cache.
struct NewDocument<'d> {
    document: &'d Document,
    sentences: &'d Sentences,
    split: SemanticSplit,
    key: CacheKey,
}

impl Chunker<'_, '_> {
    /// Returns the documents with their chunks.
    pub fn chunk(&mut self, documents: Vec<ReadDocument>) -> Result<Vec<ChunkedDocument>, Halt> {
        let embedder = self.embedding.fingerprint().to_owned();
        self.chunk_new(&documents, &embedder)?;

        let mut chunked = Vec::with_capacity(documents.len());
        for ReadDocument {
            path,
            mut entry,
            body,
        } in documents
        {
            let chunks = match body {
                Body::Chunks(chunks) => chunks,
                Body::Sentences(document, sentences, split) => {
                    entry.sentences = saturating_u32(sentences.count());
                    let key = CacheKey::new(&document, split, &embedder);
                    let spans = self.cache.find(&key, &document)?;
                    chunks_at(&document, &spans.unwrap_or_default(), self.counter)
                }
            };
            chunked.push(ChunkedDocument {
                path,
                entry,
                chunks,
            });
        }
        Ok(chunked)
    }

    /// Finds the chunks of the documents that are not in the cache, and keeps them there. Their
    /// sentences go through the embedder in order, as many per call as it takes, whichever document
    /// they are of.
    fn chunk_new(&mut self, documents: &[ReadDocument], embedder: &str) -> Result<(), Halt> {
        let mut new: Vec<NewDocument<'_>> = Vec::new();
        for document in documents {
            if let Body::Sentences(document, sentences, split) = &document.body {
                let key = CacheKey::new(document, *split, embedder);
                if self.cache.find(&key, document)?.is_none() {
                    new.push(NewDocument {
                        document,
                        sentences,
                        split: *split,
                        key,
                    });
                }
            }
        }

        let texts: Vec<Text<'_>> = new
            .iter()
            .flat_map(|new| new.sentences.texts(new.document))
            .map(|(text, tokens)| Text { text, tokens })
            .collect();
        let mut rest = texts.as_slice();
        let mut vectors = VecDeque::new();
        for new in new {
            let mut neighbours = Neighbours::default();
            for _ in 0..new.sentences.count() {
                if vectors.is_empty() {
                    let (embedded, after) = self.embedding.call(rest, &new.document.path)?;
                    vectors.extend(embedded);
                    rest = after;
                }
                neighbours.extend(vectors.pop_front());
            }

            let similarities = &neighbours.similarities;
            let spans = new
                .sentences
                .join(new.document, similarities, new.split, self.counter);
            self.cache.insert(new.key, &spans, true)?;
        }
        Ok(())
    }
}
