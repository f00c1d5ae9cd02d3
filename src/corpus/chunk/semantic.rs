//! Chunks by meaning: a sentence joins the one before while their vectors are similar and the chunk
//! stays within its limits.
//!
//! "DENSE-RAG", section 5.1, equation 7 and algorithm 2; with other numbers the chunks of ChunkRAG,
//! section 3.1. The papers know plain text only. In documents with headings, a heading begins a
//! chunk and stays with what is below it. A sentence that begins with a pronoun stays with the one
//! before, with `chunker.keep_pronouns`, which the papers do not have: "It is led by Ann Oakes" is
//! unlike the sentence that names the school, and without it is not found by that name.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::pieces::{Break, Piece, Splitter};
use crate::config::{ChunkerSettings, MinSimilarity};
use crate::corpus::document::Document;
use crate::corpus::tokens::TokenCounter;

/// English words that, at the beginning of a sentence, mean something that was named before it.
const PRONOUNS: &[&str] = &[
    "it", "its", "he", "his", "she", "her", "they", "their", "this", "these", "those",
];

/// Conditions under which a sentence joins the one before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SemanticSplit {
    /// Maximum number of tokens of a chunk.
    pub tokens: u32,
    /// Minimum cosine similarity of two neighbouring sentences of a chunk.
    pub similarity: MinSimilarity,
    /// Maximum number of characters of a chunk; 0 sets no limit. A single sentence may be longer.
    pub characters: u32,
    /// Whether a sentence that begins with a pronoun joins the one before, however unlike it is.
    /// Indexes of before have no such chunks.
    #[serde(default)]
    pub keeps_pronouns: bool,
}

impl SemanticSplit {
    /// Returns the limits that the settings name.
    pub fn new(settings: &ChunkerSettings) -> Self {
        Self {
            tokens: settings.max_tokens,
            similarity: settings.min_similarity,
            characters: settings.max_characters,
            keeps_pronouns: settings.keep_pronouns,
        }
    }
}

/// The sentences of a document, in order, before they are joined to chunks. A sentence that is too
/// long for a chunk counts as several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentences(Vec<Piece>);

impl Sentences {
    /// Splits a document into sentences.
    pub fn new(document: &Document, split: SemanticSplit, counter: &TokenCounter) -> Self {
        Self(Splitter::new(document, split.tokens, counter).all())
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the text of each sentence with its number of tokens. `document` is the one that was
    /// split.
    pub fn texts<'d>(&self, document: &'d Document) -> impl Iterator<Item = (&'d str, u32)> {
        self.0
            .iter()
            .map(|piece| (&document.text[piece.range.clone()], piece.tokens))
    }

    /// Returns the ranges of the chunks in the text. `similarities[i]` is the cosine similarity of
    /// sentences `i` and `i + 1`; where it is missing or NaN, they do not join.
    pub fn join(
        &self,
        document: &Document,
        similarities: &[f32],
        split: SemanticSplit,
        counter: &TokenCounter,
    ) -> Vec<Range<usize>> {
        let joiner = Joiner {
            splitter: Splitter::new(document, split.tokens, counter),
            pieces: &self.0,
            similarities,
            min_similarity: split.similarity.within(similarities),
            split,
        };

        let mut chunks = Vec::new();
        let mut first = 0;
        while first < self.0.len() {
            let end = joiner.end(first);
            chunks.push(joiner.range(first, end));
            first = end;
        }

        chunks
    }
}

struct Joiner<'a> {
    splitter: Splitter<'a>,
    pieces: &'a [Piece],
    similarities: &'a [f32],
    min_similarity: f32,
    split: SemanticSplit,
}

impl Joiner<'_> {
    /// Returns one past the last piece of the chunk that begins with the piece `first`.
    fn end(&self, first: usize) -> usize {
        let mut end = first + 1;
        let mut tokens = self.pieces[first].tokens;
        let mut characters = self.characters(first, end);
        while end < self.pieces.len() && self.joins(end) {
            tokens = tokens.saturating_add(self.pieces[end].tokens);
            characters += self.characters(end - 1, end + 1) - self.characters(end - 1, end);
            let is_too_long =
                self.split.characters > 0 && characters > self.split.characters as usize;
            if tokens > self.splitter.max_tokens || is_too_long {
                break;
            }
            end += 1;
        }

        // the whole may have more tokens than its pieces: line ends count, and long words were
        // split
        (first + 2..=end)
            .rev()
            .find(|end| self.splitter.fits(self.range(first, *end)))
            .unwrap_or(first + 1)
    }

    /// Returns whether a piece joins the chunk of the one before.
    fn joins(&self, at: usize) -> bool {
        if self.pieces[at].before == Break::Part {
            return false;
        }
        let is_under_heading = self.pieces[at - 1].is_heading;
        let similarity = self.similarities.get(at - 1);
        let is_similar = similarity.is_some_and(|similarity| *similarity >= self.min_similarity);
        let is_kept = is_similar || self.begins_with_pronoun(at);
        is_under_heading || (is_kept && self.pieces[at].before != Break::Section)
    }

    /// Returns whether a piece begins with a pronoun that keeps it with the one before.
    fn begins_with_pronoun(&self, at: usize) -> bool {
        let document = self.splitter.document;
        if !self.split.keeps_pronouns || document.language != "en" {
            return false;
        }

        let text = &document.text[self.pieces[at].range.clone()];
        let word = text
            .split(|letter: char| !letter.is_alphabetic())
            .find(|word| !word.is_empty());
        word.is_some_and(|word| {
            PRONOUNS
                .iter()
                .any(|pronoun| word.eq_ignore_ascii_case(pronoun))
        })
    }

    fn range(&self, first: usize, end: usize) -> Range<usize> {
        self.pieces[first].range.start..self.pieces[end - 1].range.end
    }

    fn characters(&self, first: usize, end: usize) -> usize {
        self.splitter.document.text[self.range(first, end)]
            .chars()
            .count()
    }
}
