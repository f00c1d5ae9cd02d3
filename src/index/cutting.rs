//! Documents get their chunks: those of a fixed size were cut where they were read; those cut by meaning need the vectors of their
//! sentences, which the embedder gives here, once a text.

use std::ops::Range;

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
    /// The chunks of a document.
    pub fn cut(&mut self, document: ReadDocument) -> Result<CutDocument, Halt> {
        let ReadDocument { path, entry, body } = document;
        let chunks = match body {
            Body::Chunks(chunks) => chunks,
            Body::Sentences(document, sentences, cut) => {
                let places = self.places(&document, &sentences, cut)?;
                chunks_at(&document, &places, self.counter)
            }
        };
        Ok(CutDocument { path, entry, chunks })
    }

    fn places(
        &mut self,
        document: &Document,
        sentences: &Sentences,
        cut: SemanticCut,
    ) -> Result<Vec<Range<usize>>, Halt> {
        let key = CutKey::of(document, cut, self.embedding.fingerprint());
        if let Some(known) = self.cuts.find(&key, document)? {
            return Ok(known);
        }
        let texts: Vec<Text<'_>> = sentences.texts(document).map(|(text, tokens)| Text { text, tokens }).collect();
        let mut neighbours = Neighbours::default();
        let mut rest = texts.as_slice();
        while !rest.is_empty() {
            let (vectors, after) = self.embedding.call(rest, &document.path)?;
            neighbours.push(vectors);
            rest = after;
        }
        let places = sentences.join(document, &neighbours.similarities, cut, self.counter);
        self.cuts.keep(key, &places, true)?;
        Ok(places)
    }
}
