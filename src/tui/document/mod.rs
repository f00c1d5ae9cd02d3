//! The lines of a document as the source viewer draws them, rendered or as they are. A line stays a
//! line, so that line numbers mean the same in both; a line that a renderer does not know is drawn
//! as it is.

mod styled;
mod ansi;
mod lines;
mod quotes;
mod columns;
mod table;
mod markdown;

use crate::event::{Source, SourceForm};
use crate::tui::theme::Depth;

pub use lines::{Drawn, Lines};
pub use markdown::{render as render_markdown, without_html};
pub use quotes::{Cited, marks};
pub use styled::{Look, Piece, Row};

/// Returns every line as it is.
pub fn draw_raw(lines: &Lines, cells: usize) -> Vec<Drawn> {
    (0..lines.count())
        .map(|at| Drawn::new(lines.plain(at, Look::TEXT).wrap(cells)))
        .collect()
}

/// Returns every line rendered as what the document is.
pub fn render(source: &Source, lines: &Lines, cells: usize) -> Vec<Drawn> {
    match &source.form {
        SourceForm::Lines => draw_raw(lines, cells),
        SourceForm::Markdown => render_markdown(lines, &[], cells),
        SourceForm::Table { rows } => table::render(lines, rows, source.from_line, cells),
    }
}

/// Returns a text in Markdown rendered for a terminal that scrolls, in rows of its width.
pub fn render_for_terminal(text: &str) -> String {
    let lines = Lines::from_text(text);
    let drawn = render_markdown(&lines, &[], ansi::width_of_terminal());
    let rows = drawn.into_iter().flat_map(|line| line.rows);
    ansi::write_rows(rows, Depth::from_environment())
}

/// Returns whether the rendered form of a document is not its lines.
pub fn is_rendered(form: &SourceForm) -> bool {
    match form {
        SourceForm::Lines => false,
        SourceForm::Markdown => true,
        SourceForm::Table { rows } => rows.iter().any(|row| row.cells.len() > 1),
    }
}
