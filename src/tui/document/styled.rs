//! Text whose parts have looks and stand for parts of the document.

use std::ops::Range;

use ratatui::style::Modifier;
use ratatui::text::Span;

use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::Scene;

/// The look of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub tone: Tone,
    pub modifier: Modifier,
}

impl Look {
    pub const TEXT: Self = Self::new(Tone::Text);
    pub const QUIET: Self = Self::new(Tone::Quiet);

    pub const fn new(tone: Tone) -> Self {
        Self {
            tone,
            modifier: Modifier::empty(),
        }
    }

    pub const fn with(self, modifier: Modifier) -> Self {
        Self {
            modifier: self.modifier.union(modifier),
            ..self
        }
    }

    /// Returns the look of text in this tone inside text of this look.
    pub fn with_tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// A piece of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    /// The bytes of the document that it stands for; empty for a sign of the renderer.
    pub source: Range<usize>,
    pub look: Look,
}

pub type Row = Vec<Piece>;

impl Piece {
    /// Returns a sign that the document does not contain, in front of text.
    pub fn sign(text: impl Into<String>) -> Self {
        Self::sign_for(text, 0..0)
    }

    /// Returns a sign that is highlighted with a part of the document.
    pub fn sign_for(text: impl Into<String>, source: Range<usize>) -> Self {
        Self {
            text: text.into(),
            source,
            look: Look::new(Tone::Border),
        }
    }

    /// Returns a part of it.
    fn part(&self, part: Range<usize>) -> Self {
        Self {
            source: self.source_of(&part),
            text: self.text[part].to_owned(),
            look: self.look,
        }
    }

    /// Returns the bytes of the document that a part stands for: all of them where its text is not
    /// the document's.
    fn source_of(&self, part: &Range<usize>) -> Range<usize> {
        if self.text.len() == self.source.len() {
            self.source.start + part.start..self.source.start + part.end
        } else {
            self.source.clone()
        }
    }

    /// Writes it, with what stands for one of the marks highlighted. `marks` are in the order of
    /// the document.
    pub fn spans(&self, scene: &Scene<'_>, marks: &[Range<usize>], spans: &mut Vec<Span<'static>>) {
        let style = scene.style(self.look.tone).add_modifier(self.look.modifier);
        let marked = style.patch(scene.style(Tone::Cited));
        let mut written = 0;
        let mut write = |part: Range<usize>, style| {
            if !part.is_empty() {
                spans.push(Span::styled(self.text[part].to_owned(), style));
            }
        };

        let first = marks.partition_point(|mark| mark.end <= self.source.start);
        let marks = marks[first..].iter();
        for mark in marks.take_while(|mark| mark.start < self.source.end) {
            let part = self.part_for(mark);
            write(written..part.start, style);
            write(part.clone(), marked);
            written = part.end;
        }
        write(written..self.text.len(), style);
    }

    /// Returns the part that stands for a mark.
    fn part_for(&self, mark: &Range<usize>) -> Range<usize> {
        if self.text.len() != self.source.len() {
            return 0..self.text.len();
        }
        let inside = |at: usize| at.clamp(self.source.start, self.source.end) - self.source.start;
        inside(mark.start)..inside(mark.end)
    }
}

/// A line of pieces, not yet wrapped.
#[derive(Debug, Clone, Default)]
pub struct Styled {
    pieces: Vec<Piece>,
}

impl Styled {
    /// Adds text on one line, without anything that steers the terminal: an entity or escape of a
    /// markup may stand for any character.
    pub fn push(&mut self, words: &str, source: Range<usize>, look: Look) {
        self.pieces.push(Piece {
            text: text::one_line(words),
            source,
            look,
        });
    }

    pub fn width(&self) -> usize {
        self.pieces
            .iter()
            .map(|piece| text::width(&piece.text))
            .sum()
    }

    /// Returns it in rows of at most this width. At least one row.
    pub fn wrap(&self, cells: usize) -> Vec<Row> {
        let texts = self.pieces.iter().map(|piece| piece.text.as_str());
        let rows = text::wrap(&texts.collect::<String>(), cells).into_iter();
        rows.map(|range| self.part(&range)).collect()
    }

    /// Splits it at these places of the document.
    pub fn split(&self, places: &[usize]) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut open = Self::default();
        for piece in &self.pieces {
            let mut start = 0;
            for place in places.iter().filter(|place| piece.source.contains(place)) {
                let end = piece.part_for(&(*place..*place)).start;
                if !piece.text.is_char_boundary(end) {
                    continue;
                }
                open.pieces.push(piece.part(start..end));
                start = end;
                if open.width() > 0 {
                    parts.push(std::mem::take(&mut open));
                }
            }
            open.pieces.push(piece.part(start..piece.text.len()));
        }
        parts.push(open);
        parts
    }

    /// Returns a part of it, by bytes of its text.
    fn part(&self, part: &Range<usize>) -> Row {
        let mut start = 0;
        let mut row = Row::new();
        for piece in &self.pieces {
            let end = start + piece.text.len();
            let from = part.start.clamp(start, end) - start;
            let to = part.end.clamp(start, end) - start;
            if from < to {
                row.push(piece.part(from..to));
            }
            start = end;
        }
        row
    }
}
