//! Documents get their chunks: those of a fixed size were cut where they were read; those cut by meaning need the vectors of their
//! sentences, which the embedder gives here, once a text.

use std::collections::VecDeque;

use super::cuts::{CutKey, Cuts, Neighbours};
use super::embedding::{Embedding, Text};
use super::manifest::DocumentEntry;
use super::reading::{Body, ReadDocument};
use super::update::Halt;
use crate::corpus::{Chunk, Document, SemanticCut, Sentences, TokenCounter, chunks_at};

/// A document that was taken apart.
pub(super) struct CutDocument {
    pub path: String,
    pub entry: DocumentEntry,
    pub chunks: Vec<Chunk>,
}

/// Cuts documents.
pub(super) struct Cutter<'a, 'e> {
    pub embedding: &'a mut Embedding<'e>,
    pub cuts: &'a mut Cuts,
    pub counter: &'a TokenCounter,
}

impl Cutter<'_, '_> {
    /// The documents with their chunks.
    pub fn cut(&mut self, documents: Vec<ReadDocument>) -> Result<Vec<CutDocument>, Halt> {
        let embedder = self.embedding.fingerprint().to_owned();
        self.find_cuts(&documents, &embedder)?;
        let mut cut = Vec::with_capacity(documents.len());
        for ReadDocument { path, entry, body } in documents {
            let chunks = match body {
                Body::Chunks(chunks) => chunks,
                Body::Sentences(document, _, how) => {
                    let places = self
                        .cuts
                        .find(&CutKey::of(&document, how, &embedder), &document)?;
                    chunks_at(&document, &places.unwrap_or_default(), self.counter)
                }
            };
            cut.push(CutDocument {
                path,
                entry,
                chunks,
            });
        }
        Ok(cut)
    }

    /// Find where the documents that are not known yet are to be cut. Their sentences go through the embedder in order, as many in one
    /// call as it takes, whichever document they are of.
    fn find_cuts(&mut self, documents: &[ReadDocument], embedder: &str) -> Result<(), Halt> {
        let mut new: Vec<(&Document, &Sentences, SemanticCut, CutKey)> = Vec::new();
        for document in documents {
            if let Body::Sentences(document, sentences, cut) = &document.body {
                let key = CutKey::of(document, *cut, embedder);
                if self.cuts.find(&key, document)?.is_none() {
                    new.push((document, sentences, *cut, key));
                }
            }
        }
        let texts: Vec<Text<'_>> = new
            .iter()
            .flat_map(|(document, sentences, ..)| sentences.texts(document))
            .map(|(text, tokens)| Text { text, tokens })
            .collect();
        let (mut rest, mut ready) = (texts.as_slice(), VecDeque::new());
        for (document, sentences, cut, key) in new {
            let mut neighbours = Neighbours::default();
            for _ in 0..sentences.count() {
                if ready.is_empty() {
                    let (vectors, after) = self.embedding.call(rest, &document.path)?;
                    ready.extend(vectors);
                    rest = after;
                }
                neighbours.extend(ready.pop_front());
            }
            let places = sentences.join(document, &neighbours.similarities, cut, self.counter);
            self.cuts.keep(key, &places, true)?;
        }
        Ok(())
    }
}
