//! The cells of the sheets of a workbook, out of their text, where a row is a line with the names
//! of its columns: `Name: Ann; Age: 7`.

use super::builder::Builder;
use super::header::MAX_ROWS_ABOVE_HEADER;
use crate::event::{PlaceFrom, TableRow, saturating_u32};

const SEPARATOR: &str = "; ";
/// Rows below a header that show that it is one.
const SAMPLE_ROWS: usize = 20;

/// Returns the remark on sheets with hidden rows or columns.
pub(super) fn hidden_note(sheets: &[&str]) -> String {
    let sheets = sheets.join(", ");
    format!("hidden rows and columns are read, too, in {sheets}")
}

/// Adds the remarks on hidden sheets, and on formulas that no program has computed.
pub(super) fn add_notes(hidden: &[&str], uncomputed: usize, builder: &mut Builder) {
    if !hidden.is_empty() {
        let hidden = hidden.join(", ");
        builder.note(format!("hidden sheets are read, too: {hidden}"));
    }
    if uncomputed > 0 {
        builder.note(format!(
            "formulas without a stored value are read as formulas ({uncomputed}): open it in a spreadsheet program and save it to read their values"
        ));
    }
}

/// Returns the rows of the sheets whose columns have names, each from its header on. A line that
/// does not begin with a name is no row.
pub(super) fn rows(text: &str, places: &[PlaceFrom]) -> Vec<TableRow> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut rows = Vec::new();
    for [first, last] in sheets(places, lines.len()) {
        add_sheet(&lines[first..last], first, &mut rows);
    }
    rows
}

/// Returns the lines of each sheet, from 0: the first one, and one past the last.
fn sheets(places: &[PlaceFrom], lines: usize) -> Vec<[usize; 2]> {
    let mut begins: Vec<usize> = Vec::new();
    let mut before = None;

    for from in places {
        let sheet = Some((&from.place.name, &from.place.member));
        if sheet != before {
            begins.push((from.line as usize).saturating_sub(1).min(lines));
            before = sheet;
        }
    }

    let ends = begins.iter().skip(1).copied().chain([lines]);
    let sheets = begins.iter().zip(ends);
    sheets
        .map(|(begin, end)| [*begin, end.max(*begin)])
        .collect()
}

/// Adds the rows of a sheet whose first line is line `above`, from 0, of the text.
fn add_sheet(lines: &[&str], above: usize, rows: &mut Vec<TableRow>) {
    let Some((header, names)) = header(lines) else {
        return;
    };

    for (index, line) in lines.iter().enumerate().skip(header) {
        let is_header = index == header;
        let cells = if is_header {
            Some(names.iter().map(|name| (*name).to_owned()).collect())
        } else {
            cells(line, &names)
        };
        let number = saturating_u32(above + index + 1);
        rows.extend(cells.map(|cells| TableRow {
            first_line: number,
            last_line: number,
            header: is_header,
            cells,
        }));
    }
}

/// Returns the line of the header with its names: the first one whose names are in a row below it.
fn header<'a>(lines: &[&'a str]) -> Option<(usize, Vec<&'a str>)> {
    // the name of the sheet and the blank line below it come first
    let candidates = lines.iter().enumerate().take(MAX_ROWS_ABOVE_HEADER + 2);
    for (index, line) in candidates {
        let names = line.split(SEPARATOR);
        let names: Vec<&str> = names.map(|name| name.trim_end_matches(':')).collect();
        let below = lines[index + 1..].iter().take(SAMPLE_ROWS);
        let mut parts = below.flat_map(|row| row.split(SEPARATOR));
        let is_named = |part: &str| {
            let mut names = names.iter();
            names.any(|name| value(part, name).is_some_and(|value| value != *name))
        };

        if names.len() > 1 && parts.any(is_named) {
            return Some((index, names));
        }
    }

    None
}

/// Returns the cells of a row; `None` when it does not begin with a name. A part without a name
/// belongs to the value before it.
fn cells(line: &str, names: &[&str]) -> Option<Vec<String>> {
    let mut cells = vec![String::new(); names.len()];
    let mut last = None;

    for part in line.split(SEPARATOR) {
        let next = last.map_or(0, |last| last + 1);
        let named = (next..names.len())
            .find_map(|column| value(part, names[column]).map(|value| (column, value)));

        if let Some((column, value)) = named {
            value.clone_into(&mut cells[column]);
            last = Some(column);
        } else {
            cells[last?].push_str(SEPARATOR);
            cells[last?].push_str(part);
        }
    }

    Some(cells)
}

/// Returns the value of a part that has this name; a value that is the name stands alone.
fn value<'a>(part: &'a str, name: &str) -> Option<&'a str> {
    if name.is_empty() {
        return None;
    }
    let rest = part.strip_prefix(name)?;
    if rest.is_empty() {
        return Some(part);
    }
    rest.strip_prefix(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::formats::builder::Sheet;
    use crate::event::saturating_u32;

    /// Returns the rows of sheets as the builder writes them, their cells joined.
    fn rows_in(sheets: &[(&str, &[&str])]) -> Vec<(u32, bool, String)> {
        let mut builder = Builder::default();
        for (name, lines) in sheets {
            let mut sheet = Sheet::begin(name, &mut builder);
            for (row, line) in (1..).zip(*lines) {
                let cells = line.split('|').map(str::to_owned).enumerate();
                sheet.row(row, cells, &mut builder);
            }
        }
        let extract = builder.finish();
        let places: Vec<PlaceFrom> = extract
            .places
            .into_iter()
            .map(|(at, place)| PlaceFrom {
                line: saturating_u32(extract.text[..at].matches('\n').count() + 1),
                place,
            })
            .collect();
        rows(&extract.text, &places)
            .into_iter()
            .map(|row| (row.first_line, row.header, row.cells.join("|")))
            .collect()
    }

    #[test]
    fn cells_come_back_from_the_text_of_a_sheet() {
        let row = |line, cells: &str| (line, false, cells.to_owned());
        let header = |line, cells: &str| (line, true, cells.to_owned());
        assert_eq!(
            rows_in(&[
                (
                    "Hours",
                    &[
                        "Name|Age|City",
                        "Ann|7|Lorby",
                        "Bob||Aldmouth; north",
                        "|9|",
                        "Name||x"
                    ]
                ),
                ("Rates", &["Prices of 2024", "Kind|Rate", "day|12"]),
                ("Numbers", &["1|2", "3|4"]),
            ]),
            [
                header(3, "Name|Age|City"),
                row(4, "Ann|7|Lorby"),
                row(5, "Bob||Aldmouth; north"),
                row(6, "|9|"),
                row(7, "Name||x"),
                header(12, "Kind|Rate"),
                row(13, "day|12"),
            ]
        );
    }
}
