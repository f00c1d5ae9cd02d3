//! The lines of a document, and their rows on the screen.

use std::ops::Range;

use ratatui::style::Modifier;

use crate::event::Source;
use crate::tui::theme::Tone;

use super::styled::{Look, Piece, Row, Styled};

/// Longer lines are truncated here, so that a file of one line of many megabytes stays readable.
const LONGEST_LINE: usize = 20_000;

/// A line of the document on the screen: rows that fit the width, none for a line that is drawn
/// with the one above.
#[derive(Debug, Default)]
pub struct Drawn {
    pub rows: Vec<Row>,
    /// True when it names the columns of the lines below.
    pub is_header: bool,
}

impl Drawn {
    pub(super) fn new(rows: Vec<Row>) -> Self {
        Self {
            rows,
            is_header: false,
        }
    }
}

/// The lines of a document as one text, without what is too long to be shown.
#[derive(Debug)]
pub struct Lines {
    pub text: String,
    starts: Vec<usize>,
    /// The bytes of each line that are left out.
    left_out: Vec<usize>,
}

impl Lines {
    pub fn from_source(source: &Source) -> Self {
        Self::from_lines(source.lines.iter().map(String::as_str))
    }

    pub fn from_text(text: &str) -> Self {
        Self::from_lines(text.lines())
    }

    fn from_lines<'a>(text: impl Iterator<Item = &'a str>) -> Self {
        let mut lines = Self {
            text: String::new(),
            starts: Vec::new(),
            left_out: Vec::new(),
        };

        for line in text {
            let shown = line.floor_char_boundary(LONGEST_LINE);
            lines.starts.push(lines.text.len());
            lines.left_out.push(line.len() - shown);
            lines.text.push_str(&line[..shown]);
            lines.text.push('\n');
        }

        lines
    }

    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the bytes of a line, from 0, without its line end.
    pub fn line(&self, at: usize) -> Range<usize> {
        let end = self.starts.get(at + 1).copied();
        self.starts[at]..end.unwrap_or(self.text.len()) - 1
    }

    /// Returns the bytes of lines, from 0; those beyond the end are left out.
    pub fn lines(&self, lines: Range<usize>) -> Range<usize> {
        let end = |at: usize| self.starts.get(at).copied().unwrap_or(self.text.len());
        end(lines.start)..end(lines.end.max(lines.start))
    }

    /// Returns the line, from 0, that holds a position.
    pub(super) fn line_of(&self, position: usize) -> usize {
        let begun = self.starts.partition_point(|start| *start <= position);
        begun.saturating_sub(1)
    }

    /// Returns the number of bytes of a line that are not shown.
    pub fn omitted_bytes(&self, at: usize) -> usize {
        self.left_out[at]
    }

    /// Returns a line as it is.
    pub(super) fn plain(&self, at: usize, look: Look) -> Styled {
        let range = self.line(at);
        let mut words = Styled::default();
        words.push(&self.text[range.clone()], range, look);
        words
    }
}

/// Returns the look of a title. Level 1 is outermost.
pub(super) fn heading(level: u8) -> Look {
    let strong = Look::new(Tone::Strong);
    match level {
        0 | 1 => strong.with(Modifier::UNDERLINED),
        2 => strong,
        3.. => strong.with(Modifier::ITALIC),
    }
}

/// Returns a horizontal rule.
pub(super) fn rule(cells: usize) -> Row {
    const MAX_CELLS: usize = 60;
    vec![Piece::sign("─".repeat(cells.min(MAX_CELLS)))]
}
