//! A chunk: a range of the text of a document, with what it needs to be found and cited.

use std::ops::Range;

use crate::corpus::document::Document;
use crate::corpus::tokens::TokenCounter;
use crate::event::ChunkText;

/// Returns the chunks of a document at these ranges of its text, none of them with an id yet.
pub fn chunks_at(
    document: &Document,
    ranges: &[Range<usize>],
    counter: &TokenCounter,
) -> Vec<ChunkText> {
    ranges
        .iter()
        .map(|range| chunk(document, range.clone(), counter))
        .collect()
}

fn chunk(document: &Document, part: Range<usize>, counter: &TokenCounter) -> ChunkText {
    let text = &document.text[part.clone()];
    let body = body(document, &part);
    ChunkText {
        document: document.path.clone(),
        bytes: document.bytes(part.clone()),
        lines: document.lines(part.clone()),
        places: document.places(part.clone()),
        headings: document.headings_at(body),
        sections: document.sections(body..part.end, part.start),
        tokens: counter.count_embedded(text),
        text: text.to_owned(),
        ..ChunkText::default()
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
    while let Some(heading) = document.outline.heading_at(at) {
        let after = words_from(heading.range.end);
        if after >= part.end || after <= at {
            return at;
        }
        at = after;
    }

    at
}
