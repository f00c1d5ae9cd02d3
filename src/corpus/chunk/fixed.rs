//! Chunks of a fixed size: as long as the limit allows, cut where the text itself has its deepest break.
//!
//! A chunk takes pieces while they fit and ends at the deepest break in its second half. The next one begins with the last
//! sentences of the one before.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::pieces::{Break, Piece, Splitter, words};
use super::{Chunk, chunks_at};
use crate::config::ChunkerSettings;
use crate::corpus::document::Document;
use crate::corpus::tokens::TokenCounter;

/// How long chunks of a fixed size are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedCut {
    /// Tokens of a chunk at the most.
    pub tokens: u32,
    /// Tokens that a chunk shares with the one before it, at the most.
    pub overlap_tokens: u32,
    /// Sentences of a chunk at the most; 0 sets no limit.
    #[serde(default)]
    pub sentences: u32,
}

impl FixedCut {
    pub(super) fn of(settings: &ChunkerSettings) -> Self {
        Self {
            tokens: settings.max_tokens,
            overlap_tokens: settings.overlap_tokens,
            sentences: settings.max_sentences,
        }
    }
}

/// Cut a document into chunks of at most `cut.tokens` tokens, and of no more than the embedder reads.
#[must_use]
pub fn cut(document: &Document, cut: FixedCut, counter: &TokenCounter) -> Vec<Chunk> {
    chunks_at(
        document,
        &Cutter::new(document, cut, counter).chunks(),
        counter,
    )
}

struct Cutter<'a> {
    splitter: Splitter<'a>,
    overlap_tokens: u32,
    most_sentences: u32,
}

impl<'a> Cutter<'a> {
    fn new(document: &'a Document, cut: FixedCut, counter: &'a TokenCounter) -> Self {
        let splitter = Splitter::new(document, cut.tokens, counter);
        let most_sentences = if cut.sentences == 0 {
            u32::MAX
        } else {
            cut.sentences
        };
        Self {
            overlap_tokens: cut.overlap_tokens.min(splitter.most_tokens / 2),
            most_sentences,
            splitter,
        }
    }

    /// The places of the chunks in the text.
    fn chunks(&self) -> Vec<Range<usize>> {
        let pieces = self.splitter.all();
        let mut chunks: Vec<Range<usize>> = Vec::new();
        let mut first = 0;
        while first < pieces.len() {
            let start = match chunks.last() {
                Some(previous) => self.overlap_start(&pieces, first, previous),
                None => pieces[first].place.start,
            };
            let end = self.end(&pieces, first, start);
            chunks.push(start..pieces[end - 1].place.end);
            first = end;
        }
        chunks
    }

    /// One past the last piece of the chunk that begins at `start`, of which the piece `first` is the first new one.
    fn end(&self, pieces: &[Piece], first: usize, start: usize) -> usize {
        let overlap = self.splitter.tokens(start..pieces[first].place.start);
        let mut tokens = overlap + pieces[first].tokens;
        let mut best = (first + 1, Break::Character);
        let mut sentences = 0;
        for (next, piece) in pieces.iter().enumerate().skip(first + 1) {
            // a heading stays with what is below it
            let under_heading = pieces[next - 1].before == Break::Section;
            // where a sentence ends, and it was no heading
            sentences += u32::from(!under_heading && piece.before >= Break::Sentence);
            let new_section = self.most_sentences < u32::MAX && piece.before == Break::Section;
            if sentences >= self.most_sentences || new_section {
                return self.checked(pieces, first, start, next);
            }
            let depth = if under_heading {
                Break::Character
            } else {
                piece.before
            };
            if depth >= best.1 || tokens < self.splitter.most_tokens / 2 {
                best = (next, depth);
            }
            tokens += piece.tokens;
            if tokens > self.splitter.most_tokens || !self.splitter.is_short(start..piece.place.end)
            {
                return self.checked(pieces, first, start, best.0);
            }
        }
        self.checked(pieces, first, start, pieces.len())
    }

    /// The end, moved back while the tokens of the whole are more than those of its pieces (words were cut).
    fn checked(&self, pieces: &[Piece], first: usize, start: usize, end: usize) -> usize {
        (first + 2..=end)
            .rev()
            .find(|end| self.splitter.fits(start..pieces[end - 1].place.end))
            .unwrap_or(first + 1)
    }

    /// Where a chunk begins whose first new piece is `first`: back in the previous chunk by whole sentences, at least by whole
    /// words, but neither beyond a heading nor to where the previous one began.
    fn overlap_start(&self, pieces: &[Piece], first: usize, previous: &Range<usize>) -> usize {
        let new = &pieces[first];
        let most = self
            .overlap_tokens
            .min(self.splitter.most_tokens.saturating_sub(new.tokens));
        let mut start = new.place.start;
        if new.before == Break::Section {
            return start;
        }
        for piece in pieces[..first].iter().rev() {
            let crosses = piece.place.start <= previous.start;
            if crosses
                || self.splitter.tokens(piece.place.start..new.place.start) > most
                || !self.splitter.fits(piece.place.start..new.place.end)
            {
                break;
            }
            start = piece.place.start;
            if piece.before == Break::Section {
                break;
            }
        }
        let repeated = previous.start..new.place.start;
        if start == repeated.end {
            self.overlap_words(&pieces[first - 1], repeated, new, most)
        } else {
            start
        }
    }

    /// Where the last words begin of a piece that is too long to be repeated whole, inside what may be repeated.
    fn overlap_words(&self, last: &Piece, repeated: Range<usize>, new: &Piece, most: u32) -> usize {
        let fits = |start: usize| {
            self.splitter.tokens(start..repeated.end) <= most
                && self.splitter.fits(start..new.place.end)
        };
        // every word has a token or none, so that no more words than tokens come into question
        let words = words(&self.splitter.document.text, last.place.clone())
            .rev()
            .map(|word| word.start);
        let starts: Vec<usize> = words
            .take_while(|start| *start > repeated.start)
            .take(most as usize)
            .collect();
        let fitting = starts.partition_point(|start| fits(*start));
        fitting
            .checked_sub(1)
            .map(|index| starts[index])
            .filter(|start| fits(*start))
            .unwrap_or(repeated.end)
    }
}
