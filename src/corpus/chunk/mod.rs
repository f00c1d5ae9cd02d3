//! Documents are cut into chunks: at a fixed size (`fixed`), or where the meaning changes from one sentence to the next
//! (`semantic`). Both take a text as a row of small pieces (`pieces`).

mod fixed;
mod pieces;
mod semantic;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::document::Document;
use super::tokens::TokenCounter;
use crate::config::{ChunkerKind, ChunkerSettings};

pub use fixed::{FixedCut, cut};
pub use semantic::{SemanticCut, Sentences};

/// The unit that is retrieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes of the file: start, and one past the end.
    pub bytes: [u64; 2],
    /// Lines of the file, from 1, both inclusive.
    pub lines: [u32; 2],
    /// Titles of the headings above it, outermost first; those that it begins with are among them.
    pub headings: Vec<String>,
    /// Tokens of `text` by the counter that cut it.
    pub tokens: u32,
    /// A part of the document's text, as it stands there, white space at its ends cut off.
    pub text: String,
}

/// How the documents of an index are cut.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cutting {
    Fixed(FixedCut),
    Semantic(SemanticCut),
}

impl Cutting {
    /// What the settings ask of an index. The adaptive chunker cuts at a fixed size there, and again for a question that needs it.
    #[must_use]
    pub fn of_index(settings: &ChunkerSettings) -> Self {
        match settings.kind {
            ChunkerKind::Fixed | ChunkerKind::Adaptive => Self::Fixed(FixedCut::of(settings)),
            ChunkerKind::Semantic => Self::Semantic(SemanticCut::of(settings)),
        }
    }
}

/// The chunks of a document at these places of its text.
#[must_use]
pub fn chunks_at(
    document: &Document,
    places: &[Range<usize>],
    counter: &TokenCounter,
) -> Vec<Chunk> {
    places
        .iter()
        .map(|place| chunk(document, place.clone(), counter))
        .collect()
}

fn chunk(document: &Document, part: Range<usize>, counter: &TokenCounter) -> Chunk {
    let text = &document.text[part.clone()];
    Chunk {
        bytes: document.bytes(part.clone()),
        lines: document.lines(part.clone()),
        headings: document.headings_at(body(document, &part)),
        tokens: counter.count(text),
        text: text.to_owned(),
    }
}

/// Where the first words of a part stand that are no heading and no front matter; a heading or the end when there are none.
fn body(document: &Document, part: &Range<usize>) -> usize {
    let words_from = |at: usize| {
        part.end
            - document.text[at.clamp(part.start, part.end)..part.end]
                .trim_start()
                .len()
    };
    let mut at = words_from(document.outline.front_matter_end);
    while let Some(heading) = document.heading_at(at) {
        let after = words_from(heading.place.end);
        if after >= part.end || after <= at {
            return at;
        }
        at = after;
    }
    at
}
