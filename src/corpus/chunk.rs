//! Chunks of a fixed size: as long as the limit allows, cut where the text itself has its deepest break.
//!
//! The text is taken as a row of small pieces (sentences; of what has none, lines, words or runs of characters), each with the
//! break before it. A chunk takes pieces while they fit and ends at the deepest break in its second half. The next one begins
//! with the last sentences of the one before.

use std::ops::Range;

use super::document::Document;
use super::sentence::sentences;
use super::tokens::TokenCounter;
use crate::config::ChunkerSettings;

/// Fewer tokens than this hold no sentence.
const LEAST_TOKENS: u32 = 16;
/// Text of few tokens for its length (runs of white space, characters that the vocabulary does not know) ends here.
const MOST_BYTES_PER_TOKEN: usize = 32;

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

/// Cut a document into chunks of at most `settings.tokens` tokens, and of no more than the embedder reads.
#[must_use]
pub fn cut(document: &Document, settings: &ChunkerSettings, counter: &TokenCounter) -> Vec<Chunk> {
    let cutter = Cutter::new(document, settings, counter);
    cutter.chunks().into_iter().map(|part| chunk(document, part, counter)).collect()
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
    let words_from = |at: usize| part.end - document.text[at.clamp(part.start, part.end)..part.end].trim_start().len();
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

/// What divides a piece from the one before it, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    Character,
    Word,
    Sentence,
    Line,
    Paragraph,
    Section,
}

/// The smallest part of a text that the cutter moves. Pieces follow one another with only white space between them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    place: Range<usize>,
    tokens: u32,
    before: Break,
}

struct Cutter<'a> {
    document: &'a Document,
    counter: &'a TokenCounter,
    most_tokens: u32,
    overlap_tokens: u32,
}

impl<'a> Cutter<'a> {
    fn new(document: &'a Document, settings: &ChunkerSettings, counter: &'a TokenCounter) -> Self {
        let most_tokens = settings.tokens.min(counter.room()).max(LEAST_TOKENS);
        Self { document, counter, most_tokens, overlap_tokens: settings.overlap_tokens.min(most_tokens / 2) }
    }

    /// The places of the chunks in the text.
    fn chunks(&self) -> Vec<Range<usize>> {
        let pieces = self.pieces();
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
        let overlap = self.tokens(start..pieces[first].place.start);
        let mut tokens = overlap + pieces[first].tokens;
        let mut best = (first + 1, Break::Character);
        for (next, piece) in pieces.iter().enumerate().skip(first + 1) {
            // a heading stays with what is below it
            let under_heading = pieces[next - 1].before == Break::Section;
            let depth = if under_heading { Break::Character } else { piece.before };
            if depth >= best.1 || tokens < self.most_tokens / 2 {
                best = (next, depth);
            }
            tokens += piece.tokens;
            if tokens > self.most_tokens || !self.is_short(start..piece.place.end) {
                return self.checked(pieces, first, start, best.0);
            }
        }
        self.checked(pieces, first, start, pieces.len())
    }

    /// The end, moved back while the tokens of the whole are more than those of its pieces (words were cut).
    fn checked(&self, pieces: &[Piece], first: usize, start: usize, end: usize) -> usize {
        (first + 2..=end).rev().find(|end| self.fits(start..pieces[end - 1].place.end)).unwrap_or(first + 1)
    }

    /// Where a chunk begins whose first new piece is `first`: back in the previous chunk by whole sentences, at least by whole
    /// words, but neither beyond a heading nor to where the previous one began.
    fn overlap_start(&self, pieces: &[Piece], first: usize, previous: &Range<usize>) -> usize {
        let new = &pieces[first];
        let most = self.overlap_tokens.min(self.most_tokens.saturating_sub(new.tokens));
        let mut start = new.place.start;
        if new.before == Break::Section {
            return start;
        }
        for piece in pieces[..first].iter().rev() {
            let crosses = piece.place.start <= previous.start;
            if crosses
                || self.tokens(piece.place.start..new.place.start) > most
                || !self.fits(piece.place.start..new.place.end)
            {
                break;
            }
            start = piece.place.start;
            if piece.before == Break::Section {
                break;
            }
        }
        let repeated = previous.start..new.place.start;
        if start == repeated.end { self.overlap_words(&pieces[first - 1], repeated, new, most) } else { start }
    }

    /// Where the last words begin of a piece that is too long to be repeated whole, inside what may be repeated.
    fn overlap_words(&self, last: &Piece, repeated: Range<usize>, new: &Piece, most: u32) -> usize {
        let fits = |start: usize| self.tokens(start..repeated.end) <= most && self.fits(start..new.place.end);
        // every word has a token or none, so that no more words than tokens come into question
        let words = words(&self.document.text, last.place.clone()).rev().map(|word| word.start);
        let starts: Vec<usize> = words.take_while(|start| *start > repeated.start).take(most as usize).collect();
        let fitting = starts.partition_point(|start| fits(*start));
        fitting.checked_sub(1).map(|index| starts[index]).filter(|start| fits(*start)).unwrap_or(repeated.end)
    }

    fn pieces(&self) -> Vec<Piece> {
        let text = &self.document.text;
        let mut pieces: Vec<Piece> = Vec::new();
        for place in sentences(text, self.document.language) {
            let before = self.break_before(pieces.last().map_or(0, |piece| piece.place.end), place.start);
            let tokens = if self.is_short(place.clone()) { self.tokens(place.clone()) } else { u32::MAX };
            if tokens <= self.most_tokens {
                pieces.push(Piece { place, tokens, before });
            } else {
                self.split_long(place, before, &mut pieces);
            }
        }
        pieces
    }

    fn break_before(&self, from: usize, to: usize) -> Break {
        if self.document.heading_at(to).is_some_and(|heading| heading.place.start >= from) {
            return Break::Section;
        }
        match self.document.text[from..to].bytes().filter(|byte| *byte == b'\n').count() {
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
            let newline = run.as_ref().is_some_and(|run| self.document.text[run.place.end..word.start].contains('\n'));
            for (index, part) in self.short_parts(word).into_iter().enumerate() {
                let tokens = self.tokens(part.clone());
                let depth = match index {
                    0 if newline => Break::Line,
                    0 => Break::Word,
                    _ => Break::Character,
                };
                match &mut run {
                    Some(open)
                        if index == 0 && open.tokens + tokens <= most && self.is_short(open.place.start..part.end) =>
                    {
                        open.place.end = part.end;
                        open.tokens += tokens;
                    }
                    _ => pieces.extend(run.replace(Piece { place: part, tokens, before: depth })),
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

    fn fits(&self, part: Range<usize>) -> bool {
        self.is_short(part.clone()) && self.tokens(part) <= self.most_tokens
    }

    fn is_short(&self, part: Range<usize>) -> bool {
        part.len() <= self.most_tokens as usize * MOST_BYTES_PER_TOKEN
    }

    fn tokens(&self, part: Range<usize>) -> u32 {
        self.counter.count(&self.document.text[part])
    }
}

/// The words of a part of `text`, without the white space between them.
fn words(text: &str, part: Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let base = text.as_ptr().addr();
    text[part].split_whitespace().map(move |word| {
        let start = word.as_ptr().addr() - base;
        start..start + word.len()
    })
}
