//! The small pieces of a text: its sentences; where there are none, lines, words or runs of
//! characters; each with the break before it.

use std::ops::Range;

use crate::corpus::document::Document;
use crate::corpus::sentence::sentences;
use crate::corpus::tokens::TokenCounter;

/// Minimum of the maximum size of a chunk: fewer tokens than this hold no sentence.
const MIN_CHUNK_TOKENS: u32 = 16;
/// Limit for text that has few tokens for its length: runs of white space, characters that the
/// vocabulary does not know.
const MAX_BYTES_PER_TOKEN: usize = 32;
/// Longest line that names what is below it without being a heading, bytes.
const MAX_NAME_BYTES: usize = 60;

/// The break between a piece and the one before it, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    Character,
    Word,
    Sentence,
    Line,
    Paragraph,
    Section,
    /// Between two messages, sheets or members of one file.
    Part,
}

/// The smallest part of a text that a chunker moves: a sentence, or the row of a table. Pieces
/// follow one another with only white space between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub range: Range<usize>,
    pub tokens: u32,
    pub before: Break,
    /// Whether it is a heading or a part of one, as in `2.` of `2. Pumps`.
    pub is_heading: bool,
}

/// Splits a document into pieces that each fit into a chunk.
pub(super) struct Splitter<'a> {
    pub document: &'a Document,
    pub counter: &'a TokenCounter,
    /// Maximum number of tokens of a chunk, and of a piece that is no row.
    pub max_tokens: u32,
}

impl<'a> Splitter<'a> {
    /// Creates a splitter for chunks of at most `tokens` tokens, and of no more than the embedder
    /// reads.
    pub fn new(document: &'a Document, tokens: u32, counter: &'a TokenCounter) -> Self {
        Self {
            document,
            counter,
            max_tokens: tokens.min(counter.max_text_tokens()).max(MIN_CHUNK_TOKENS),
        }
    }

    /// Returns all pieces of the document, in order. A row is one piece as long as the embedder
    /// reads it whole, however short the chunks are: its values say nothing without its name.
    pub fn all(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut at = 0;
        for row in &self.document.rows {
            self.add_sentences(at..row.start, &mut pieces);
            match self.piece_within(self.counter.max_text_tokens(), row.clone(), &pieces) {
                Some(piece) => pieces.push(piece),
                None => self.add_sentences(row.clone(), &mut pieces),
            }
            at = row.end;
        }
        self.add_sentences(at..self.document.text.len(), &mut pieces);
        pieces
    }

    /// Adds the sentences of a part of the text.
    fn add_sentences(&self, part: Range<usize>, pieces: &mut Vec<Piece>) {
        for sentence in sentences(&self.document.text[part.clone()], self.document.language) {
            let range = part.start + sentence.start..part.start + sentence.end;
            match self.piece(range.clone(), pieces) {
                Some(piece) => pieces.push(piece),
                None => self.split_long(range, pieces),
            }
        }
    }

    /// Returns a part behind these pieces as one; `None` when it is longer than a chunk.
    fn piece(&self, range: Range<usize>, pieces: &[Piece]) -> Option<Piece> {
        self.piece_within(self.max_tokens, range, pieces)
    }

    /// Returns a part behind these pieces as one; `None` when it has more tokens than `limit`.
    fn piece_within(&self, limit: u32, range: Range<usize>, pieces: &[Piece]) -> Option<Piece> {
        let tokens = self
            .is_short(range.clone())
            .then(|| self.tokens(range.clone()))
            .filter(|tokens| *tokens <= limit)?;
        Some(Piece {
            before: self.break_before(pieces, range.start),
            is_heading: self.document.outline.heading_at(range.start).is_some(),
            range,
            tokens,
        })
    }

    /// Returns whether a piece belongs to the one behind it: a heading, or a short line that stands
    /// alone above a paragraph and is no sentence.
    pub fn is_lead(&self, pieces: &[Piece], at: usize) -> bool {
        let piece = &pieces[at];
        if piece.is_heading {
            return true;
        }
        let is_alone = piece.before == Break::Paragraph
            && pieces
                .get(at + 1)
                .is_some_and(|next| next.before == Break::Paragraph);
        let text = self.document.text[piece.range.clone()].trim_matches(['*', '_']);
        // lines of names and values are facts
        is_alone
            && text.len() <= MAX_NAME_BYTES
            && !text.contains('\n')
            && !text.contains(": ")
            && text.starts_with(char::is_alphabetic)
            && text.ends_with(|c: char| c.is_alphanumeric() || c == ':')
    }

    /// Returns the break between the last of these pieces and a position behind them.
    fn break_before(&self, pieces: &[Piece], to: usize) -> Break {
        let from = pieces.last().map_or(0, |piece| piece.range.end);
        if self.document.begins_part(from..to) {
            return Break::Part;
        }
        let heading = self.document.outline.heading_at(to);
        if heading.is_some_and(|heading| heading.range.start >= from) {
            return Break::Section;
        }

        let between = self.document.text[from..to].bytes();
        match between.filter(|byte| *byte == b'\n').count() {
            0 => Break::Sentence,
            1 => Break::Line,
            _ => Break::Paragraph,
        }
    }

    /// Adds the pieces of a sentence that is longer than a chunk: runs of words, and of characters
    /// where a word itself is too long.
    fn split_long(&self, range: Range<usize>, pieces: &mut Vec<Piece>) {
        let before = self.break_before(pieces, range.start);
        let max_tokens = self.max_tokens / 4;
        let begin = pieces.len();
        let mut run: Option<Piece> = None;

        for word in words(&self.document.text, range) {
            let newline = run
                .as_ref()
                .is_some_and(|run| self.document.text[run.range.end..word.start].contains('\n'));
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
                            && open.tokens + tokens <= max_tokens
                            && self.is_short(open.range.start..part.end) =>
                    {
                        open.range.end = part.end;
                        open.tokens += tokens;
                    }
                    _ => pieces.extend(run.replace(Piece {
                        is_heading: false,
                        range: part,
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

    /// Returns a word in parts that surely fit: a token has at least one byte.
    fn short_parts(&self, word: Range<usize>) -> Vec<Range<usize>> {
        let max_tokens = self.max_tokens / 4;
        let max_bytes = (max_tokens as usize).max(4);
        let fits = word.len() <= max_bytes
            || (self.is_short(word.clone()) && self.tokens(word.clone()) <= max_tokens);
        if fits {
            return vec![word];
        }

        let text = &self.document.text;
        let mut parts = Vec::new();
        let mut at = word.start;
        while word.end - at > max_bytes {
            let cut = text.floor_char_boundary(at + max_bytes);
            parts.push(at..cut);
            at = cut;
        }
        parts.push(at..word.end);
        parts
    }

    /// Returns whether a piece is the row of a table.
    pub fn is_row(&self, piece: &Piece) -> bool {
        let rows = &self.document.rows;
        let row = rows.partition_point(|row| row.start < piece.range.start);
        rows.get(row) == Some(&piece.range)
    }

    /// Returns whether a part fits into a chunk.
    pub fn fits(&self, part: Range<usize>) -> bool {
        self.is_short(part.clone()) && self.tokens(part) <= self.max_tokens
    }

    /// Returns whether a part is short enough to count its tokens.
    pub fn is_short(&self, part: Range<usize>) -> bool {
        part.len() <= self.max_tokens as usize * MAX_BYTES_PER_TOKEN
    }

    /// Returns the number of tokens of a part.
    pub fn tokens(&self, part: Range<usize>) -> u32 {
        self.counter.count_embedded(&self.document.text[part])
    }
}

/// Returns the words of a part of `text`, without the white space between them.
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
