//! The small pieces of a text: its sentences; of what has none, lines, words or runs of characters, each with the break before it.

use std::ops::Range;

use crate::corpus::document::Document;
use crate::corpus::sentence::sentences;
use crate::corpus::tokens::TokenCounter;

/// Fewer tokens than this hold no sentence.
const LEAST_TOKENS: u32 = 16;
/// Text of few tokens for its length (runs of white space, characters that the vocabulary does not know) ends here.
const MOST_BYTES_PER_TOKEN: usize = 32;

/// What divides a piece from the one before it, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    Character,
    Word,
    Sentence,
    Line,
    Paragraph,
    Section,
}

/// The smallest part of a text that the cutter moves. Pieces follow one another with only white space between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub place: Range<usize>,
    pub tokens: u32,
    pub before: Break,
}

/// Takes a document apart into pieces that each fit into a chunk.
pub(super) struct Splitter<'a> {
    pub document: &'a Document,
    pub counter: &'a TokenCounter,
    /// Tokens of a chunk at the most, and of a piece.
    pub most_tokens: u32,
}

impl<'a> Splitter<'a> {
    /// Chunks of at most `tokens` tokens, and of no more than the embedder reads.
    pub fn new(document: &'a Document, tokens: u32, counter: &'a TokenCounter) -> Self {
        Self {
            document,
            counter,
            most_tokens: tokens.min(counter.room()).max(LEAST_TOKENS),
        }
    }

    pub fn all(&self) -> Vec<Piece> {
        let text = &self.document.text;
        let mut pieces: Vec<Piece> = Vec::new();
        for place in sentences(text, self.document.language) {
            let before = self.break_before(
                pieces.last().map_or(0, |piece| piece.place.end),
                place.start,
            );
            let tokens = if self.is_short(place.clone()) {
                self.tokens(place.clone())
            } else {
                u32::MAX
            };
            if tokens <= self.most_tokens {
                pieces.push(Piece {
                    place,
                    tokens,
                    before,
                });
            } else {
                self.split_long(place, before, &mut pieces);
            }
        }
        pieces
    }

    fn break_before(&self, from: usize, to: usize) -> Break {
        if self
            .document
            .heading_at(to)
            .is_some_and(|heading| heading.place.start >= from)
        {
            return Break::Section;
        }
        match self.document.text[from..to]
            .bytes()
            .filter(|byte| *byte == b'\n')
            .count()
        {
            0 => Break::Sentence,
            1 => Break::Line,
            _ => Break::Paragraph,
        }
    }

    /// Pieces of a sentence that is longer than a chunk: runs of words, and of characters where a word is too long itself.
    fn split_long(&self, place: Range<usize>, before: Break, pieces: &mut Vec<Piece>) {
        let most = self.most_tokens / 4;
        let begin = pieces.len();
        let mut run: Option<Piece> = None;
        for word in words(&self.document.text, place) {
            let newline = run
                .as_ref()
                .is_some_and(|run| self.document.text[run.place.end..word.start].contains('\n'));
            for (index, part) in self.short_parts(word).into_iter().enumerate() {
                let tokens = self.tokens(part.clone());
                let depth = match index {
                    0 if newline => Break::Line,
                    0 => Break::Word,
                    _ => Break::Character,
                };
                match &mut run {
                    Some(open)
                        if index == 0
                            && open.tokens + tokens <= most
                            && self.is_short(open.place.start..part.end) =>
                    {
                        open.place.end = part.end;
                        open.tokens += tokens;
                    }
                    _ => pieces.extend(run.replace(Piece {
                        place: part,
                        tokens,
                        before: depth,
                    })),
                }
            }
        }
        pieces.extend(run);
        if let Some(first) = pieces.get_mut(begin) {
            first.before = before;
        }
    }

    /// A word in parts that surely fit: a token has at least one byte.
    fn short_parts(&self, word: Range<usize>) -> Vec<Range<usize>> {
        let most_bytes = (self.most_tokens as usize / 4).max(4);
        if word.len() <= most_bytes
            || (self.is_short(word.clone()) && self.tokens(word.clone()) <= self.most_tokens / 4)
        {
            return vec![word];
        }
        let text = &self.document.text;
        let mut parts = Vec::new();
        let mut at = word.start;
        while word.end - at > most_bytes {
            let cut = text.floor_char_boundary(at + most_bytes);
            parts.push(at..cut);
            at = cut;
        }
        parts.push(at..word.end);
        parts
    }

    pub fn fits(&self, part: Range<usize>) -> bool {
        self.is_short(part.clone()) && self.tokens(part) <= self.most_tokens
    }

    pub fn is_short(&self, part: Range<usize>) -> bool {
        part.len() <= self.most_tokens as usize * MOST_BYTES_PER_TOKEN
    }

    pub fn tokens(&self, part: Range<usize>) -> u32 {
        self.counter.count(&self.document.text[part])
    }
}

/// The words of a part of `text`, without the white space between them.
pub(super) fn words(
    text: &str,
    part: Range<usize>,
) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let base = text.as_ptr().addr();
    text[part].split_whitespace().map(move |word| {
        let start = word.as_ptr().addr() - base;
        start..start + word.len()
    })
}
