//! Tables as aligned columns.

use std::ops::Range;

use crate::event::TableRow;
use crate::tui::text::width;
use crate::tui::theme::Tone;

use super::columns::{Columns, Side};
use super::lines::{Drawn, Lines};
use super::styled::{Look, Row, Styled};

/// Returns the lines of a document with the rows of its tables in columns. A header begins a table.
pub fn render(lines: &Lines, rows: &[TableRow], from_line: u32, cells: usize) -> Vec<Drawn> {
    let mut drawn: Vec<Option<Drawn>> = Vec::new();
    drawn.resize_with(lines.count(), || None);

    for table in rows.chunk_by(|_, next| !next.header) {
        let columns = columns(table, cells);
        for row in table {
            let own = lines_of(row, from_line, lines.count());
            let source = lines.lines(own.clone());
            let mut rows = columns.rows(&cells_of(row, &source), &source);
            rows.extend(row.header.then(|| columns.rule()));
            put(&mut drawn[own], rows, row.header);
        }
    }

    let is_text = |(at, drawn): (usize, Option<Drawn>)| {
        drawn.unwrap_or_else(|| Drawn::new(lines.plain(at, Look::new(Tone::Strong)).wrap(cells)))
    };
    drawn.into_iter().enumerate().map(is_text).collect()
}

/// Puts the rows of a row of the table at its first line, and nothing at its others. Where two rows
/// share a line, it has both.
fn put(own: &mut [Option<Drawn>], rows: Vec<Row>, is_header: bool) {
    for line in own.iter_mut() {
        line.get_or_insert_default();
    }
    if let Some(Some(first)) = own.first_mut() {
        first.rows.extend(rows);
        first.is_header |= is_header;
    }
}

/// Returns the lines of a row, from 0 in the lines that are shown.
fn lines_of(row: &TableRow, from_line: u32, count: usize) -> Range<usize> {
    let first = row.first_line.saturating_sub(from_line) as usize;
    let last = row.last_line.saturating_sub(from_line) as usize;
    first.min(count)..(last + 1).clamp(first.min(count), count)
}

fn cells_of(row: &TableRow, source: &Range<usize>) -> Vec<Styled> {
    let look = Look::new(if row.header { Tone::Strong } else { Tone::Text });
    let styled = |cell: &String| {
        let mut words = Styled::default();
        words.push(cell, source.clone(), look);
        words
    };
    row.cells.iter().map(styled).collect()
}

fn columns(table: &[TableRow], cells: usize) -> Columns {
    let count = table.iter().map(|row| row.cells.len()).max().unwrap_or(0);

    let column = |at: usize| {
        let rows = table.iter();
        rows.filter_map(move |row| Some((row.header, row.cells.get(at)?)))
    };
    let widest = |at: usize| column(at).map(|(_, cell)| width(cell)).max();
    let natural: Vec<usize> = (0..count).map(|at| widest(at).unwrap_or(0)).collect();
    let side = |at: usize| {
        let mut values = column(at).filter(|(is_header, cell)| !is_header && !cell.is_empty());
        let is_right = values.all(|(_, cell)| is_number(cell));
        if is_right { Side::Right } else { Side::Left }
    };
    Columns::fit(&natural, (0..count).map(side).collect(), cells)
}

fn is_number(cell: &str) -> bool {
    let mut characters = cell.chars();
    cell.ends_with(|c: char| c.is_ascii_digit() || c == '%')
        && characters.all(|c| c.is_ascii_digit() || "+-−.,%' ".contains(c))
}
