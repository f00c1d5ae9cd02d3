//! Chunks by meaning: a sentence joins the one before while their vectors are near each other and the chunk stays within its limits.
//!
//! "DENSE-RAG", section 5.1, equation 7 and algorithm 2; with other numbers the chunks of ChunkRAG, section 3.1. The papers know
//! plain text only. Of documents with headings, a heading begins a chunk and stays with what is below it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::pieces::{Break, Piece, Splitter};
use crate::config::ChunkerSettings;
use crate::corpus::document::Document;
use crate::corpus::tokens::TokenCounter;

/// When a sentence joins the one before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SemanticCut {
    /// Tokens of a chunk at the most.
    pub tokens: u32,
    /// The least cosine of two neighbouring sentences of a chunk.
    pub similarity: f32,
    /// Characters of a chunk at the most; 0 for no such limit. A single sentence may be longer.
    pub characters: u32,
}

impl SemanticCut {
    /// The chunks that the settings ask for where chunks are cut by meaning.
    #[must_use]
    pub fn of(settings: &ChunkerSettings) -> Self {
        Self {
            tokens: settings.max_tokens,
            similarity: settings.min_similarity,
            characters: settings.max_characters,
        }
    }
}

/// The sentences of a document, in order, about to be joined. A sentence that is too long for a chunk counts as several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentences(Vec<Piece>);

impl Sentences {
    /// Take a document apart.
    #[must_use]
    pub fn of(document: &Document, cut: SemanticCut, counter: &TokenCounter) -> Self {
        Self(Splitter::new(document, cut.tokens, counter).all())
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The text of each with its tokens. `document` is the one that was taken apart.
    pub fn texts<'d>(&self, document: &'d Document) -> impl Iterator<Item = (&'d str, u32)> {
        self.0
            .iter()
            .map(|piece| (&document.text[piece.place.clone()], piece.tokens))
    }

    /// The places of the chunks in the text. `similarities[i]` is the cosine of sentences `i` and `i + 1`; where it is missing or no
    /// number, they do not join.
    #[must_use]
    pub fn join(
        &self,
        document: &Document,
        similarities: &[f32],
        cut: SemanticCut,
        counter: &TokenCounter,
    ) -> Vec<Range<usize>> {
        let joiner = Joiner {
            splitter: Splitter::new(document, cut.tokens, counter),
            pieces: &self.0,
            similarities,
            cut,
        };
        let mut chunks = Vec::new();
        let mut first = 0;
        while first < self.0.len() {
            let end = joiner.end(first);
            chunks.push(joiner.place(first, end));
            first = end;
        }
        chunks
    }
}

struct Joiner<'a> {
    splitter: Splitter<'a>,
    pieces: &'a [Piece],
    similarities: &'a [f32],
    cut: SemanticCut,
}

impl Joiner<'_> {
    /// One past the last piece of the chunk that begins with the piece `first`.
    fn end(&self, first: usize) -> usize {
        let mut end = first + 1;
        let (mut tokens, mut characters) = (self.pieces[first].tokens, self.characters(first, end));
        while end < self.pieces.len() && self.joins(end) {
            tokens = tokens.saturating_add(self.pieces[end].tokens);
            characters += self.characters(end - 1, end + 1) - self.characters(end - 1, end);
            let too_long = self.cut.characters > 0 && characters > self.cut.characters as usize;
            if tokens > self.splitter.most_tokens || too_long {
                break;
            }
            end += 1;
        }
        // the whole may have more tokens than its pieces: line ends count, and words were cut
        (first + 2..=end)
            .rev()
            .find(|end| self.splitter.fits(self.place(first, *end)))
            .unwrap_or(first + 1)
    }

    /// Does a piece go on with the chunk of the one before?
    fn joins(&self, at: usize) -> bool {
        let under_heading = self.pieces[at - 1].before == Break::Section;
        let near = self
            .similarities
            .get(at - 1)
            .is_some_and(|near| *near >= self.cut.similarity);
        under_heading || (near && self.pieces[at].before != Break::Section)
    }

    fn place(&self, first: usize, end: usize) -> Range<usize> {
        self.pieces[first].place.start..self.pieces[end - 1].place.end
    }

    fn characters(&self, first: usize, end: usize) -> usize {
        self.splitter.document.text[self.place(first, end)]
            .chars()
            .count()
    }
}
