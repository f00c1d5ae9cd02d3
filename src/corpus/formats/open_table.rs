//! The tables of OpenDocument: their cells with the columns that they are in, as often as they
//! repeat.

use super::builder::{Builder, MAX_ROW_BYTES, Rows, Sheet};
use super::sheet_rows::hidden_note;
use super::xml::Tag;
use crate::event::saturating_u32;

/// Repeated cells beyond this are not text that somebody wrote.
const MAX_REPEATED_CELLS: usize = 1_000;
const MAX_REPEATED_ROWS: u32 = 1_000;
const MAX_COLUMNS: usize = 16_384;

/// A table, or a sheet, while it is read.
#[derive(Default)]
pub(super) struct SheetTable {
    rows: Rows,
    pub sheet: Option<Sheet>,
    cells: Vec<(usize, String)>,
    pub is_in_row: bool,
    /// The text of the cell that is open, and how often it repeats.
    cell: Option<(String, usize)>,
    /// The rows that it takes.
    cell_rows: u32,
    /// The formula of that cell, where its value is not stored.
    formula: Option<String>,
    /// The value, which some programs store without the text that shows it.
    value: Option<String>,
    /// The number of such cells.
    pub uncomputed: usize,
    /// Whether rows or columns of a sheet are hidden, and whether that is noted.
    has_hidden: bool,
    is_row_hidden: bool,
    is_noted: bool,
    column: usize,
    /// The text of the cells of the row so far.
    row_bytes: usize,
    /// The number of the row that is open, and how often it repeats.
    row: u32,
    repeated: u32,
}

impl SheetTable {
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        let visibility = tag.attribute("table:visibility");
        let is_hidden = matches!(visibility.as_deref(), Some("collapse" | "filter"));
        match tag.name() {
            "table-row" => {
                self.is_row_hidden = is_hidden;
                self.begin_row(count(tag, "number-rows-repeated"));
            }
            // the columns behind those with cells are one that repeats
            "table-column" => {
                self.has_hidden |=
                    is_hidden && count(tag, "number-columns-repeated") < MAX_REPEATED_CELLS;
            }
            "table-cell" | "covered-table-cell" => {
                let repeated = count(tag, "number-columns-repeated").max(1);
                self.cell = Some((String::new(), repeated));
                self.cell_rows = saturating_u32(count(tag, "number-rows-spanned"));
                let [formula, kind] = tag.attributes(["formula", "value-type"]);
                self.value = kind.as_deref().and_then(|kind| value(tag, kind));
                self.formula = formula.filter(|_| kind.is_none());
            }
            _ => {}
        }
    }

    pub(super) fn close(&mut self, name: &str, builder: &mut Builder) {
        match name {
            "table-row" => self.end_row(builder),
            "table-cell" | "covered-table-cell" => self.end_cell(),
            _ => {}
        }
    }

    /// Returns the text of the cell that is open.
    pub(super) fn open_cell(&mut self) -> Option<&mut String> {
        self.cell.as_mut().map(|(text, _)| text)
    }

    /// Adds a remark on the last row.
    pub(super) fn remark(&mut self, text: &str, builder: &mut Builder) {
        match &mut self.sheet {
            Some(sheet) => sheet.remark(self.row, text, builder),
            None => builder.paragraph(text),
        }
    }

    fn begin_row(&mut self, repeated: usize) {
        self.is_in_row = true;
        self.row += 1;
        self.repeated = u32::try_from(repeated.max(1)).unwrap_or(u32::MAX);
        self.column = 0;
        self.row_bytes = 0;
        self.cells.clear();
    }

    fn end_cell(&mut self) {
        let Some((mut text, repeated)) = self.cell.take() else {
            return;
        };

        let formula = self.formula.take();
        if let Some(formula) = formula.filter(|_| text.trim().is_empty()) {
            // `of:=[.B2]*[.C2]`: with the name of its language, and marks around references
            let formula = formula.split_once('=').map_or("", |(_, formula)| formula);
            let formula = formula.replace("[.", "").replace(":.", ":");
            text = format!("={}", formula.replace(']', ""));
            self.uncomputed += 1;
        }

        if let Some(value) = self.value.take().filter(|_| text.trim().is_empty()) {
            text = value;
        }

        match &mut self.sheet {
            Some(sheet) => {
                let last = self.row.saturating_add(self.cell_rows.saturating_sub(1));
                sheet.merge([self.row, last], self.column, &text);
            }
            None => self.rows.merge(self.column, &text, self.cell_rows),
        }

        // the first is in the file, so only its copies can multiply it
        let fit = MAX_ROW_BYTES.saturating_sub(self.row_bytes) / text.len().max(1);
        let copies = repeated.min(MAX_REPEATED_CELLS).min(fit + 1);
        self.row_bytes += copies * text.len();

        if !text.trim().is_empty() {
            let columns = (self.column..self.column.saturating_add(copies))
                .take_while(|at| *at < MAX_COLUMNS);
            self.cells.extend(columns.map(|at| (at, text.clone())));
        }

        self.column = self.column.saturating_add(repeated);
    }

    /// Adds the row as often as it repeats. Empty rows of sheets only count.
    fn end_row(&mut self, builder: &mut Builder) {
        self.is_in_row = false;
        let cells = std::mem::take(&mut self.cells);

        // a sheet ends with rows and cells that are repeated up to its last, all of them empty
        let copies = if cells.is_empty() && self.sheet.is_some() {
            0
        } else {
            self.repeated.min(MAX_REPEATED_ROWS)
        };

        self.has_hidden |= self.is_row_hidden && !cells.is_empty();
        let is_due = self.has_hidden && !self.is_noted;
        if let Some(sheet) = self.sheet.as_ref().filter(|_| is_due) {
            self.is_noted = true;
            builder.note(hidden_note(&[sheet.name()]));
        }
        for copy in 0..copies {
            match &mut self.sheet {
                Some(sheet) => sheet.row(self.row.saturating_add(copy), cells.clone(), builder),
                None => self.rows.add(cells.clone(), builder),
            }
        }

        self.row = self.row.saturating_add(self.repeated - 1);
    }
}

/// Returns the value of a cell of a kind as text (ODF 1.3, 19.385); `None` where it has none.
fn value(tag: &Tag<'_>, kind: &str) -> Option<String> {
    let [number, currency] = tag.attributes(["value", "currency"]);
    match kind {
        "float" => number,
        "currency" => number.map(|number| format!("{number} {}", currency.unwrap_or_default())),
        "percentage" => {
            let share: f64 = number?.parse().ok()?;
            // 0.07 times 100 has fifteen digits that count
            let percent: f64 = format!("{:.12}", share * 100.0).parse().ok()?;
            Some(format!("{percent}%"))
        }
        "date" => Some(tag.attribute("date-value")?.replace('T', " ")),
        "boolean" => Some(tag.attribute("boolean-value")?.to_uppercase()),
        "string" => tag.attribute("string-value"),
        "time" => {
            let time: jiff::Span = tag.attribute("time-value")?.parse().ok()?;
            let [minutes, seconds] = [time.get_minutes(), time.get_seconds()];
            Some(format!("{}:{minutes:02}:{seconds:02}", time.get_hours()))
        }
        _ => None,
    }
}

/// Returns a number that an attribute names; 0 without one.
pub(super) fn count(tag: &Tag<'_>, attribute: &str) -> usize {
    let count = tag.attribute(attribute);
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}
