//! The lines of a document as the source viewer draws them, rendered or as they are. A line stays a
//! line, so that line numbers mean the same in both; what a renderer does not know is drawn as it is.

mod columns;
mod markdown;
mod markup;
mod quotes;
mod styled;
mod ansi;
mod table;

use std::ops::Range;

use ratatui::style::Modifier;

use crate::event::{Source, SourceForm};
use crate::tui::text;
use crate::tui::theme::{Depth, Tone};

pub use quotes::{Cited, marks};
pub use styled::{Look, Piece, Row};

use styled::Styled;

/// Longer lines are truncated here, so that a file of one line of many megabytes stays readable.
const LONGEST_LINE: usize = 20_000;

/// A line of the document on the screen: rows that fit the width. None for a line that is drawn with
/// the one above it.
#[derive(Debug, Default)]
pub struct Drawn {
    pub rows: Vec<Row>,
    /// Whether it names the columns of the lines below it.
    pub is_header: bool,
}

impl Drawn {
    fn of(rows: Vec<Row>) -> Self {
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
    /// By line, the bytes that are left out.
    left_out: Vec<usize>,
}

impl Lines {
    pub fn of(source: &Source) -> Self {
        Self::from_lines(source.lines.iter().map(String::as_str))
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
    fn at(&self, position: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= position)
            .saturating_sub(1)
    }

    /// Returns the number of bytes of a line that are not shown.
    pub fn left_out(&self, at: usize) -> usize {
        self.left_out[at]
    }

    /// Returns a line as it is.
    fn plain(&self, at: usize, look: Look, cells: usize) -> Vec<Row> {
        let range = self.line(at);
        let mut words = Styled::default();
        words.push(&self.text[range.clone()], range, look);
        words.wrapped(cells)
    }
}

/// Returns every line as it is.
pub fn raw(lines: &Lines, cells: usize) -> Vec<Drawn> {
    (0..lines.count())
        .map(|at| Drawn::of(lines.plain(at, Look::TEXT, cells)))
        .collect()
}

/// Returns every line rendered as what the document is.
pub fn rendered(source: &Source, lines: &Lines, cells: usize) -> Vec<Drawn> {
    match &source.form {
        SourceForm::Lines => raw(lines, cells),
        SourceForm::Markdown => markdown::rendered(lines, cells),
        SourceForm::Markup { language, headings } => {
            markup::rendered(lines, *language, headings, source.from_line, cells)
        }
        SourceForm::Table { rows } => table::rendered(lines, rows, source.from_line, cells),
    }
}

/// Returns every line of a text in Markdown, rendered.
pub fn render_markdown(text: &str, cells: usize) -> Vec<Drawn> {
    markdown::rendered(&Lines::from_lines(text.lines()), cells)
}

/// Returns a text in Markdown rendered for a terminal that scrolls, in rows of its width.
pub fn render_for_terminal(text: &str) -> String {
    let lines = render_markdown(text, ansi::width_of_terminal());
    let rows = lines.into_iter().flat_map(|line| line.rows);
    ansi::write_rows(rows, Depth::of_environment())
}

/// Returns whether the rendered form of a document is not its lines.
pub fn is_rendered(form: &SourceForm) -> bool {
    match form {
        SourceForm::Lines => false,
        SourceForm::Markdown | SourceForm::Markup { .. } => true,
        SourceForm::Table { rows } => rows.iter().any(|row| row.cells.len() > 1),
    }
}

/// Returns the look of a title. Level 1 is outermost.
fn heading(level: u8) -> Look {
    let strong = Look::of(Tone::Strong);
    match level {
        0 | 1 => strong.with(Modifier::UNDERLINED),
        2 => strong,
        3.. => strong.with(Modifier::ITALIC),
    }
}

/// Returns a horizontal rule.
fn rule(cells: usize) -> Row {
    const MAX_CELLS: usize = 60;
    vec![Piece::sign("─".repeat(cells.min(MAX_CELLS)))]
}

fn width(text: &str) -> usize {
    text::width(text)
}
