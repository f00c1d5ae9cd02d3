//! Chunks of a fixed size: as long as the limit allows, split where the text itself has its deepest
//! break.
//!
//! A chunk takes pieces while they fit and ends at the deepest break in its second half. The next
//! one begins with the last sentences of the one before. With `chunker.keep_paragraphs`, a chunk
//! that would cut a paragraph takes the rest of it, if it gets at most half longer by that: a
//! paragraph holds one thought, and its first sentence says whom the others are about.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::pieces::{Break, Piece, Splitter, words};
use super::ranges::chunks_at;
use crate::config::ChunkerSettings;
use crate::corpus::document::Document;
use crate::corpus::tokens::TokenCounter;
use crate::event::ChunkText;

/// More names above a text than these are a list.
const MAX_LEADS: usize = 4;

/// The size of chunks of a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedSplit {
    /// Maximum number of tokens of a chunk.
    pub tokens: u32,
    /// Maximum number of tokens that a chunk shares with the one before it.
    pub overlap_tokens: u32,
    /// Maximum number of sentences of a chunk; 0 sets no limit.
    #[serde(default)]
    pub sentences: u32,
    /// Whether a chunk may be half longer for the end of a paragraph. Indexes of before have no
    /// such chunks.
    #[serde(default)]
    pub keeps_paragraphs: bool,
}

impl FixedSplit {
    pub(super) fn new(settings: &ChunkerSettings) -> Self {
        Self {
            tokens: settings.max_tokens,
            overlap_tokens: settings.overlap_tokens,
            sentences: settings.max_sentences,
            keeps_paragraphs: settings.keep_paragraphs,
        }
    }
}

/// Splits a document into chunks of at most `split.tokens` tokens, half more for the end of a
/// paragraph that is kept, and of no more than the embedder reads.
pub fn fixed_chunks(
    document: &Document,
    split: FixedSplit,
    counter: &TokenCounter,
) -> Vec<ChunkText> {
    let ranges = FixedChunker::new(document, split, counter).chunks();
    chunks_at(document, &ranges, counter)
}

struct FixedChunker<'a> {
    splitter: Splitter<'a>,
    overlap_tokens: u32,
    max_sentences: u32,
    /// Maximum number of tokens of a chunk that ends with its paragraph.
    max_paragraph_tokens: u32,
}

impl<'a> FixedChunker<'a> {
    fn new(document: &'a Document, split: FixedSplit, counter: &'a TokenCounter) -> Self {
        let splitter = Splitter::new(document, split.tokens, counter);
        let max_sentences = if split.sentences == 0 {
            u32::MAX
        } else {
            split.sentences
        };
        let max_tokens = splitter.max_tokens;
        let max_paragraph_tokens = if split.keeps_paragraphs && split.sentences == 0 {
            max_tokens
                .saturating_add(max_tokens / 2)
                .min(counter.max_text_tokens())
        } else {
            max_tokens
        };
        Self {
            overlap_tokens: split.overlap_tokens.min(max_tokens / 2),
            max_sentences,
            max_paragraph_tokens,
            splitter,
        }
    }

    /// Returns the ranges of the chunks in the text.
    fn chunks(&self) -> Vec<Range<usize>> {
        let pieces = self.splitter.all();
        let mut chunks: Vec<Range<usize>> = Vec::new();
        let mut first = 0;

        while first < pieces.len() {
            let start = match chunks.last() {
                Some(previous) => self.overlap_start(&pieces, first, previous),
                None => pieces[first].range.start,
            };
            let end = self.end(&pieces, first, start);
            chunks.push(start..pieces[end - 1].range.end);
            first = end;
        }

        chunks
    }

    /// Returns one past the last piece of the chunk that begins at `start`, whose first piece that
    /// is not overlap is `first`.
    fn end(&self, pieces: &[Piece], first: usize, start: usize) -> usize {
        let overlap = self.splitter.tokens(start..pieces[first].range.start);
        let mut tokens = overlap + pieces[first].tokens;
        let mut best = (first + 1, Break::Character);
        let mut sentences = 0;

        for (next, piece) in pieces.iter().enumerate().skip(first + 1) {
            if piece.before == Break::Part {
                return self.fit_end(pieces, first, start, next);
            }

            // a heading stays with what is below it
            let is_under_heading = pieces[next - 1].is_heading;
            let ends_sentence = !is_under_heading && piece.before >= Break::Sentence;
            sentences += u32::from(ends_sentence);
            let begins_section = self.max_sentences < u32::MAX
                && piece.before == Break::Section
                && !is_under_heading;
            if sentences >= self.max_sentences || begins_section {
                return self.fit_end(pieces, first, start, next);
            }

            let depth = if self.splitter.is_lead(pieces, next - 1) {
                Break::Character
            } else {
                piece.before
            };
            if depth >= best.1 || tokens < self.splitter.max_tokens / 2 {
                best = (next, depth);
            }

            tokens += piece.tokens;
            if tokens > self.splitter.max_tokens || !self.splitter.is_short(start..piece.range.end)
            {
                let kept = (best.1 < Break::Paragraph)
                    .then(|| self.paragraph_end(pieces, start, next, tokens))
                    .flatten();
                return kept.unwrap_or_else(|| self.fit_end(pieces, first, start, best.0));
            }
        }
        self.fit_end(pieces, first, start, pieces.len())
    }

    /// Returns one past the last piece of the paragraph that holds the piece `at`; `None` where the
    /// chunk that begins at `start` and has `tokens` tokens with that piece gets too long by it.
    fn paragraph_end(
        &self,
        pieces: &[Piece],
        start: usize,
        at: usize,
        mut tokens: u32,
    ) -> Option<usize> {
        let mut end = at + 1;
        while tokens <= self.max_paragraph_tokens {
            let Some(next) = pieces
                .get(end)
                .filter(|next| next.before < Break::Paragraph)
            else {
                let whole = start..pieces[end - 1].range.end;
                let fits = self.splitter.is_short(whole.clone())
                    && self.splitter.tokens(whole) <= self.max_paragraph_tokens;
                return fits.then_some(end);
            };
            tokens += next.tokens;
            end += 1;
        }
        None
    }

    /// Returns the end, moved back while the whole has too many tokens: a word that was split into
    /// pieces can have more tokens than they. What names the text behind the end stays with that.
    fn fit_end(&self, pieces: &[Piece], first: usize, start: usize, end: usize) -> usize {
        let fitting = || {
            let ends = (first + 2..=end).rev();
            ends.filter(|end| self.splitter.fits(start..pieces[end - 1].range.end))
        };
        let ends_in_lead = |end: usize| {
            let next = pieces.get(end);
            next.is_some_and(|next| next.before != Break::Part)
                && self.splitter.is_lead(pieces, end - 1)
        };
        let mut with_text = fitting().take(MAX_LEADS + 1);
        with_text
            .find(|end| !ends_in_lead(*end))
            .or_else(|| fitting().next())
            .unwrap_or(first + 1)
    }

    /// Returns the start of the chunk whose first piece that is not overlap is `first`: back in the
    /// previous chunk by whole sentences, at least by whole words, but neither beyond a heading nor
    /// to where the previous chunk began.
    fn overlap_start(&self, pieces: &[Piece], first: usize, previous: &Range<usize>) -> usize {
        let new = &pieces[first];
        if new.before >= Break::Section {
            return new.range.start;
        }

        let room = self.splitter.max_tokens.saturating_sub(new.tokens);
        let max_tokens = self.overlap_tokens.min(room);
        let mut start = new.range.start;
        for piece in pieces[..first].iter().rev() {
            let reaches_start = piece.range.start <= previous.start;
            let overlap = self.splitter.tokens(piece.range.start..new.range.start);
            let fits = self.splitter.fits(piece.range.start..new.range.end);
            if reaches_start || overlap > max_tokens || !fits {
                break;
            }
            start = piece.range.start;
            if piece.before >= Break::Section {
                break;
            }
        }

        let overlap = previous.start..new.range.start;
        let last = &pieces[first - 1];
        if start == overlap.end && !self.splitter.is_row(last) {
            self.overlap_words(last, overlap, new, max_tokens)
        } else {
            start
        }
    }

    /// Returns the start of the last words of a piece that is too long to be repeated whole, inside
    /// the range that may overlap.
    fn overlap_words(
        &self,
        last: &Piece,
        overlap: Range<usize>,
        new: &Piece,
        max_tokens: u32,
    ) -> usize {
        let fits = |start: usize| {
            self.splitter.tokens(start..overlap.end) <= max_tokens
                && self.splitter.fits(start..new.range.end)
        };

        // no word has less than one token, so there are at most as many words as tokens
        let words = words(&self.splitter.document.text, last.range.clone())
            .rev()
            .map(|word| word.start);
        let starts: Vec<usize> = words
            .take_while(|start| *start > overlap.start)
            .take(max_tokens as usize)
            .collect();

        let fitting = starts.partition_point(|start| fits(*start));
        fitting
            .checked_sub(1)
            .map(|index| starts[index])
            .filter(|start| fits(*start))
            .unwrap_or(overlap.end)
    }
}
