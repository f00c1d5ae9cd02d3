//! The tables of a page: the cells of their rows with their columns.

use std::ops::Range;

use super::super::columns::{Columns, Tables};
use crate::corpus::sentence::fold_white_space;

/// Columns whose names are used: a span of many would cost memory.
const MAX_COLUMNS: usize = 1_000;

/// The columns and rows that a cell takes, 1 where it names none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub columns: usize,
    pub rows: usize,
}

/// The tables that are open, the outermost first, and the rows of all so far.
#[derive(Debug, Default)]
pub(in crate::corpus) struct OpenTables {
    open: Vec<OpenTable>,
    read: Tables,
}

#[derive(Debug, Default)]
struct OpenTable {
    columns: Columns,
    /// Whether it is in the part that names the columns.
    is_head: bool,
    /// Whether a row of values was read.
    has_values: bool,
    /// The cells of the rows so far, by the columns in which they reach into the next rows.
    reaching: Vec<Reaching>,
    row: Option<OpenRow>,
}

#[derive(Debug, Clone, Default)]
struct Reaching {
    rows: usize,
    /// The text, in the first column of a cell.
    text: String,
}

#[derive(Debug, Default)]
struct OpenRow {
    start: Option<usize>,
    /// Whether its words are on several lines.
    has_lines: bool,
    /// Whether a table is inside: it lays out a page, and is no row of values.
    holds_table: bool,
    next_column: usize,
    cells: Vec<Cell>,
}

#[derive(Debug)]
struct Cell {
    columns: Range<usize>,
    /// The words in the text; `None` before the first one.
    words: Option<Range<usize>>,
    rows: usize,
    is_open: bool,
    /// Whether it names its column by its tag, or since all of its words are bold.
    is_heading: bool,
    is_bold: bool,
}

impl OpenTables {
    /// Opens an element of a table behind the text of the page so far.
    pub(super) fn open(&mut self, element: &str, span: Span, text: &str) {
        if element == "table" {
            if let Some(row) = self.row() {
                row.holds_table = true;
            }
            return self.open.push(OpenTable::default());
        }

        let Some(table) = self.open.last_mut() else {
            return;
        };

        match element {
            "thead" | "tbody" | "tfoot" => {
                table.end_row(text, &mut self.read);
                table.reaching.clear();
                table.is_head = element == "thead";
            }
            "tr" => {
                table.end_row(text, &mut self.read);
                table.row = Some(OpenRow::default());
            }
            "td" | "th" => table.open_cell(element == "th", span, text.len()),
            _ => {}
        }
    }

    /// Closes an element of a table behind the text of the page so far.
    pub(super) fn close(&mut self, element: &str, text: &str) {
        let Some(table) = self.open.last_mut() else {
            return;
        };

        match element {
            "td" | "th" => table.end_cell(text.len()),
            "tr" => table.end_row(text, &mut self.read),
            "thead" | "tbody" | "tfoot" => {
                table.end_row(text, &mut self.read);
                table.is_head = false;
            }
            "table" => {
                table.end_row(text, &mut self.read);
                self.open.pop();
            }
            _ => {}
        }
    }

    /// Returns whether the row that is read has words, all of them on one line.
    pub(super) fn is_in_line(&self) -> bool {
        let row = self.open.last().and_then(|table| table.row.as_ref());
        row.is_some_and(|row| row.start.is_some() && !row.has_lines)
    }

    /// Returns whether a cell is open that has no words yet.
    pub(super) fn begins_cell(&self) -> bool {
        let row = self.open.last().and_then(|table| table.row.as_ref());
        let cell = row.and_then(|row| row.cells.last());
        cell.is_some_and(|cell| cell.is_open && cell.words.is_none())
    }

    /// Notes that a word begins in the text, with its mark from `at` on.
    pub(super) fn begin_word(&mut self, at: usize, word: usize, begins_line: bool, is_bold: bool) {
        let Some(row) = self.row() else {
            return;
        };
        row.has_lines |= begins_line && row.start.is_some();
        row.start.get_or_insert(at);
        if let Some(cell) = row.cells.last_mut().filter(|cell| cell.is_open) {
            cell.words.get_or_insert(word..word);
            cell.is_bold &= is_bold;
        }
    }

    /// Returns the rows of all tables, also of those that were never closed.
    pub(super) fn finish(mut self, text: &str) -> Tables {
        while !self.open.is_empty() {
            self.close("table", text);
        }
        self.read
    }

    fn row(&mut self) -> Option<&mut OpenRow> {
        self.open.last_mut()?.row.as_mut()
    }
}

impl OpenTable {
    fn open_cell(&mut self, is_heading: bool, span: Span, at: usize) {
        self.end_cell(at);
        let row = self.row.get_or_insert_default();
        let above = self.reaching.iter().skip(row.next_column);
        row.next_column += above.take_while(|cell| cell.rows > 0).count();

        let first = row.next_column.min(MAX_COLUMNS);
        let end = (first + span.columns).min(MAX_COLUMNS);
        row.next_column = end;
        if span.rows > 1 {
            let length = self.reaching.len().max(end);
            self.reaching.resize_with(length, Reaching::default);
            // the row of the cell is counted when it ends
            self.reaching[first..end].fill(Reaching {
                rows: span.rows,
                ..Reaching::default()
            });
        }
        row.cells.push(Cell {
            columns: first..end,
            words: None,
            rows: span.rows,
            is_open: true,
            is_heading: is_heading || self.is_head,
            is_bold: true,
        });
    }

    fn end_cell(&mut self, at: usize) {
        let last = self.row.as_mut().and_then(|row| row.cells.last_mut());
        if let Some(cell) = last.filter(|cell| cell.is_open) {
            cell.is_open = false;
            cell.words = cell.words.take().map(|words| words.start..at);
        }
    }

    fn end_row(&mut self, text: &str, tables: &mut Tables) {
        self.end_cell(text.len());
        let Some(row) = self.row.take() else {
            return;
        };
        let merged = self.end_reaching();
        let Some(start) = row.start.filter(|_| !row.holds_table) else {
            return;
        };

        let range = start..text.len();
        if !self.has_values && row.is_header() {
            self.name_columns(&row, text);
            return tables.add_row(text, range, &[], &self.columns);
        }
        // a title may stand above the names
        self.has_values |= !self.columns.is_empty() || !row.is_title();
        for cell in row.cells.iter().filter(|cell| cell.rows > 1) {
            let reaching = self.reaching.get_mut(cell.columns.start);
            if let (Some(reaching), Some(words)) = (reaching, cell.words.clone()) {
                reaching.text = fold_white_space(&text[words]);
            }
        }
        let cells: Vec<(usize, Range<usize>)> = row
            .cells
            .into_iter()
            .filter_map(|cell| Some((cell.columns.start, cell.words?)))
            .collect();
        let first = cells.iter().map(|(_, words)| words.start).min();
        if let Some(first) = first.filter(|_| !merged.is_empty()) {
            tables.insert(first, merged);
        }
        tables.add_row(text, range, &cells, &self.columns);
    }

    /// Counts a row of the cells that reach into it, and returns them, each with its column and a
    /// bar behind it.
    fn end_reaching(&mut self) -> String {
        let cells = self.reaching.iter().enumerate();
        let cells = cells.map(|(column, cell)| (column, cell.text.as_str()));
        let cells = cells.filter(|(_, text)| !text.is_empty());
        let labels = self.columns.labels(cells.clone());
        let merged = labels
            .zip(cells)
            .map(|(label, (_, text))| format!("{label}{text} | "))
            .collect();

        for cell in &mut self.reaching {
            cell.rows = cell.rows.saturating_sub(1);
            if cell.rows == 0 {
                cell.text.clear();
            }
        }
        merged
    }

    fn name_columns(&mut self, row: &OpenRow, text: &str) {
        for cell in &row.cells {
            let Some(words) = cell.words.clone() else {
                continue;
            };
            let name = fold_white_space(&text[words]);
            for column in cell.columns.clone() {
                self.columns.set_below(column, &name);
            }
        }
    }
}

impl OpenRow {
    /// Returns whether the row names columns: several cells, of which those with words are names.
    fn is_header(&self) -> bool {
        self.cells.len() > 1 && self.cells.iter().all(Cell::is_name)
    }

    /// Returns whether the row is a title above several columns.
    fn is_title(&self) -> bool {
        match self.cells.as_slice() {
            [cell] => cell.is_name() && cell.columns.len() > 1,
            _ => false,
        }
    }
}

impl Cell {
    fn is_name(&self) -> bool {
        self.is_heading || self.is_bold
    }
}
