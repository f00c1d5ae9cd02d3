//! A chunk: a range of the text of a document, with what it needs to be found and cited.

use std::ops::Range;

use crate::corpus::document::Document;
use crate::corpus::tokens::TokenCounter;
use crate::event::{ChunkText, PlaceFrom, SectionFrom};

/// The unit that is retrieved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes of the file: start, and one past the end.
    pub bytes: [u64; 2],
    /// The lines of the document's text, from 1, both inclusive: those of the file where the file
    /// is text.
    pub lines: [u32; 2],
    /// The pages, slides or rows that it is on, where the file is not text.
    pub places: Vec<PlaceFrom>,
    /// The titles of the headings above it, outermost first, with those that it begins with.
    pub headings: Vec<String>,
    /// The sections that begin inside of its text.
    pub sections: Vec<SectionFrom>,
    /// The number of tokens of `text`.
    pub tokens: u32,
    /// A part of the document's text, without white space at its ends.
    pub text: String,
}

impl Chunk {
    /// Returns the chunk as one of a corpus, under an id.
    pub fn with_id(self, id: u64, document: &str) -> ChunkText {
        ChunkText {
            id,
            document: document.to_owned(),
            headings: self.headings,
            sections: self.sections,
            bytes: self.bytes,
            lines: self.lines,
            places: self.places,
            tokens: self.tokens,
            text: self.text,
            parts: Vec::new(),
        }
    }
}

/// Returns the chunks of a document at these ranges of its text.
pub fn chunks_at(
    document: &Document,
    ranges: &[Range<usize>],
    counter: &TokenCounter,
) -> Vec<Chunk> {
    ranges
        .iter()
        .map(|range| chunk(document, range.clone(), counter))
        .collect()
}

fn chunk(document: &Document, part: Range<usize>, counter: &TokenCounter) -> Chunk {
    let text = &document.text[part.clone()];
    let body = body(document, &part);
    Chunk {
        bytes: document.bytes(part.clone()),
        lines: document.lines(part.clone()),
        places: document.places(part.clone()),
        headings: document.headings_at(body),
        sections: document.sections(body..part.end, part.start),
        tokens: counter.count_embedded(text),
        text: text.to_owned(),
    }
}

/// Returns where a part has its first words that are neither heading nor front matter; a heading or
/// the end when there are none.
fn body(document: &Document, part: &Range<usize>) -> usize {
    let words_from = |at: usize| {
        part.end
            - document.text[at.clamp(part.start, part.end)..part.end]
                .trim_start()
                .len()
    };

    let mut at = words_from(document.front_matter_end);
    while let Some(heading) = document.heading_at(at) {
        let after = words_from(heading.range.end);
        if after >= part.end || after <= at {
            return at;
        }
        at = after;
    }

    at
}
