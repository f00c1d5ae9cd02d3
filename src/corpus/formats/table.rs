//! Tables as text: CSV, TSV and their relatives. A row is a paragraph with the names of its columns
//! (`Name: Ann; Age: 7`), so that a chunk of rows says what its values are.

use std::borrow::Cow;

use csv::{ByteRecord, Reader as CsvReader, ReaderBuilder};

use super::format::{Extract, Format, Reader};
use super::header::NamedRows;
use super::lines::line_numbers;
use crate::corpus::offsets::Traced;
use crate::corpus::sentence::fold_white_space;
use crate::event::{TableRow, saturating_u32};

pub(super) const FORMAT: Format = Format {
    name: "table",
    extensions: &["csv", "tsv", "tab", "psv"],
    library: "csv",
    place: "line",
    reader: Reader::Text(|source| extract(&source)),
};

const SEPARATORS: &[u8] = b",;\t|";
/// Lines that show the separator.
const SAMPLE_LINES: usize = 50;
/// A longer row over several lines is a quote that was never closed.
const MAX_ROW_BYTES: usize = 64 << 10;
/// A cell of more parts is none whose quotation mark stands behind a blank.
const MAX_QUOTED_PARTS: usize = 100;

fn extract(source: &str) -> Extract {
    let mut traced = Traced::with_capacity(source.len() * 2);
    let mut rows = Vec::new();
    visit(source, &mut |row, is_header, line| {
        // the rows below repeat the names
        if is_header {
            return;
        }
        if !traced.text.is_empty() {
            traced.stand_for("\n\n", row.start as u64, 0);
        }
        let start = traced.text.len();
        traced.stand_for(&line, row.start as u64, saturating_u32(row.end - row.start));
        rows.push(start..traced.text.len());
    });
    Extract {
        rows,
        ..Extract::from_traced(traced)
    }
}

/// Returns the rows of a table with their lines, the header among them.
pub(super) fn rows(source: &str) -> Vec<TableRow> {
    let mut line_at = line_numbers(source);
    let mut rows = Vec::new();
    visit(source, &mut |row, header, _| {
        rows.push(TableRow {
            first_line: line_at(row.start),
            last_line: line_at(row.end),
            header,
            cells: row.cells,
        });
    });
    rows
}

/// Visits the rows of a table with their lines, and whether they name the columns.
fn visit(source: &str, give: &mut impl FnMut(Row, bool, String)) {
    let named = named_separator(source);
    let separator = named.unwrap_or_else(|| separator(source));
    // a quotation mark that is text would swallow the rows behind it
    let has_quotes = Rows::new(source, separator, true).all(|row| !row.is_unclosed(source));
    let rows = Rows::new(source, separator, has_quotes);

    let mut table = NamedRows::new(true);
    let mut is_below_gap = false;
    // Excel reads `sep=;` as an instruction, not as a row
    for row in rows.skip(usize::from(named.is_some())) {
        let cells = row.cells.iter().cloned().enumerate();
        let cells: Vec<(usize, String)> = cells.filter(|(_, cell)| !cell.is_empty()).collect();
        is_below_gap |= row.is_below_gap;
        if cells.is_empty() {
            is_below_gap = true;
        } else {
            table.add(row, cells, std::mem::take(&mut is_below_gap), give);
        }
    }
    table.finish(give);
}

/// Returns the separator that a first line `sep=;` names, with or without quotes.
fn named_separator(source: &str) -> Option<u8> {
    let line = source.trim_start_matches('"');
    let name = line.get(..4)?;
    let separator = *line.as_bytes().get(4)?;
    let is_named = name.eq_ignore_ascii_case("sep=");
    (is_named && SEPARATORS.contains(&separator)).then_some(separator)
}

/// A row of a table, with its part of the file.
struct Row {
    start: usize,
    end: usize,
    is_below_gap: bool,
    cells: Vec<String>,
}

impl Row {
    fn is_unclosed(&self, source: &str) -> bool {
        self.end - self.start > MAX_ROW_BYTES && source[self.start..self.end].contains('\n')
    }
}

/// The rows of a table, one after another.
struct Rows<'a> {
    source: &'a str,
    separator: char,
    has_quotes: bool,
    reader: CsvReader<&'a [u8]>,
    record: ByteRecord,
}

impl<'a> Rows<'a> {
    fn new(source: &'a str, separator: u8, has_quotes: bool) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .quoting(has_quotes)
            .from_reader(source.as_bytes());
        Self {
            source,
            separator: char::from(separator),
            has_quotes,
            reader,
            record: ByteRecord::new(),
        }
    }

    fn source_position(&self) -> usize {
        let at = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX);
        self.source.floor_char_boundary(at.min(self.source.len()))
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let start = self.source_position();
        let is_read = self.reader.read_byte_record(&mut self.record);
        if !is_read.is_ok_and(|is_read| is_read) {
            return None;
        }

        // the reader skips empty lines before a row
        let part = &self.source[start..self.source_position().max(start)];
        let skipped = part.len() - part.trim_start_matches(['\n', '\r']).len();
        let end = start + part.trim_end_matches(['\n', '\r']).len();
        // the second half of a line end belongs to the row before
        let is_half = part.starts_with('\n') && self.source[..start].ends_with('\r');
        let cells = self.record.iter().map(String::from_utf8_lossy);
        let mut cells: Vec<String> = cells.map(Cow::into_owned).collect();
        if self.has_quotes {
            cells = join_quoted(cells, self.separator);
        }
        Some(Row {
            start: (start + skipped).min(end),
            end,
            is_below_gap: skipped > usize::from(is_half),
            cells: cells.iter().map(|cell| fold_white_space(cell)).collect(),
        })
    }
}

/// Joins the parts of cells whose quotation mark stands behind a blank: the reader takes it for
/// text.
fn join_quoted(parts: Vec<String>, separator: char) -> Vec<String> {
    let mut cells = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        let quoted = part.strip_prefix(' ').map(str::trim_start);
        let quoted = quoted.and_then(|quoted| quoted.strip_prefix('"'));
        let quoted = quoted.filter(|quoted| !closes_early(quoted));
        let more = parts.as_slice().iter().take(MAX_QUOTED_PARTS);
        let closed = quoted.and_then(|quoted| {
            let mut rest = std::iter::once(quoted).chain(more.map(String::as_str));
            rest.position(|part| {
                let part = part.trim_end();
                (part.len() - part.trim_end_matches('"').len()) % 2 == 1
            })
        });
        let (Some(quoted), Some(closed)) = (quoted, closed) else {
            cells.push(part);
            continue;
        };

        let mut cell = quoted.to_owned();
        for part in parts.by_ref().take(closed) {
            cell.push(separator);
            cell.push_str(&part);
        }
        let inner = cell.trim_end();
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        cells.push(inner.replace("\"\"", "\""));
    }
    cells
}

/// Returns whether a quotation ends inside of a text, which is then no quoted cell.
fn closes_early(quoted: &str) -> bool {
    let single = quoted.replace("\"\"", "");
    let single = single.trim_end();
    single.find('"').is_some_and(|at| at + 1 < single.len())
}

/// Returns the separator that most of the first lines have equally often.
fn separator(source: &str) -> u8 {
    let lines = source.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.take(SAMPLE_LINES).collect();

    let score = |separator: u8| {
        let counts = lines.iter().map(|line| outside_quotes(line, separator));
        let mut counts: Vec<usize> = counts.collect();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let alike = counts.iter().filter(|count| **count == median).count();
        if median == 0 { (0, 0) } else { (alike, median) }
    };

    let separators = SEPARATORS.iter().rev();
    let best = separators.max_by_key(|separator| score(**separator));
    best.copied().unwrap_or(b',')
}

fn outside_quotes(line: &str, separator: u8) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for byte in line.bytes() {
        is_quoted ^= byte == b'"';
        count += usize::from(byte == separator && !is_quoted);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_names_of_their_columns() {
        let cases = [
            ("name,age\nAnn,7\nBob,\n", "name: Ann; age: 7\n\nname: Bob"),
            ("a;b\r\n\"x; y\";2\r\n", "a: x; y; b: 2"),
            (
                "id\ttext\n1\t\"two\nlines \"\"q\"\"\"\n",
                "id: 1; text: two lines \"q\"",
            ),
            ("a|b\n1|2\n", "a: 1; b: 2"),
            (
                "who,said,by\nann, \"Go\" she said, \"no, no\"\n",
                "who: ann; said: \"Go\" she said; by: no, no",
            ),
            ("1,2\n3,4\n", "1; 2\n\n3; 4"),
            (
                "Ann,Berlin\nBob,Paris\nAnn,Rome\n",
                "Ann; Berlin\n\nBob; Paris\n\nAnn; Rome",
            ),
            ("only,names\n", "only; names"),
            ("a,b\n1,2,3\n\n4\n", "a: 1; b: 2; 3\n\na: 4"),
            ("word\nred\ngreen\n", "word: red\n\nword: green"),
            (
                "sep=;\nAccount;;\nPeriod;May;\n\nDay;Text;Debit;\n3.5.;Tea;1,5\n4.5.;\"a; b\";\n\nTotal;;1,5\n",
                "Account\n\nPeriod; May\n\nDay: 3.5.; Text: Tea; Debit: 1,5\n\nDay: 4.5.; Text: a; b\n\nDay: Total; Debit: 1,5",
            ),
            (
                "Account statement\nPeriod,May\nDay,Text,Debit\n3.5.,Tea,1.5\n",
                "Account statement\n\nPeriod; May\n\nDay: 3.5.; Text: Tea; Debit: 1.5",
            ),
            (
                "\"SEP=;\"\nMembers of the club;;\n\nName;Boat;Berth\nAnn;Gig;north\nBob;Yawl;south\n",
                "Members of the club\n\nName: Ann; Boat: Gig; Berth: north\n\nName: Bob; Boat: Yawl; Berth: south",
            ),
            ("Item,2024,2025\nRope,3,4\n", "Item: Rope; 2024: 3; 2025: 4"),
            ("Ann,1985\nBob,1990\n", "Ann; 1985\n\nBob; 1990"),
            (
                "name, note\nAnn, \"x, \"\"y\"\"\"\nBob, \"z\n",
                "name: Ann; note: x, \"y\"\n\nname: Bob; note: \"z",
            ),
            (
                "name,age\r\nAnn,7\r\n\r\nboat,berth,fee\r\nGig,north,2\r\n",
                "name: Ann; age: 7\n\nboat: Gig; berth: north; fee: 2",
            ),
            (
                ",name,age\n0,Ann,7\n1,Bob,8\n",
                "0; name: Ann; age: 7\n\n1; name: Bob; age: 8",
            ),
        ];
        for (source, text) in cases {
            assert_eq!(extract(source).text, text, "{source:?}");
        }
    }

    #[test]
    fn a_row_opens_at_its_lines() {
        let source = "name,note\n\nAnn,\"one\ntwo\"\r\nBob,three\n";
        let found = extract(source);
        for (words, part) in [("Ann", "Ann,\"one\ntwo\""), ("three", "Bob,three")] {
            let at = found.text.find(words).expect(words);
            let origin = found.origin.source_range(at..at + words.len());
            assert_eq!(&source[origin.start as usize..origin.end as usize], part);
        }
    }

    #[test]
    fn rows_have_their_lines() {
        let cells = |row: &TableRow| row.cells.join("|");
        let found: Vec<_> = rows("name,note\n\nAnn,\"one\ntwo\"\r\nBob,\n")
            .iter()
            .map(|row| (row.first_line, row.last_line, row.header, cells(row)))
            .collect();
        assert_eq!(
            found,
            [
                (1, 1, true, "name|note".to_owned()),
                (3, 4, false, "Ann|one two".to_owned()),
                (5, 5, false, "Bob|".to_owned()),
            ]
        );
        assert!(!rows("1,2\n3,4\n")[0].header);
        let below: Vec<bool> = rows("sep=,\nBank\na,b\nx,2\n")
            .iter()
            .map(|row| row.header)
            .collect();
        assert_eq!(below, [false, true, false]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_a_character() {
        let source = format!(
            "name,size\nAnn,5\" pipe\n\"Bob,7\n{}",
            "Cara,8\n".repeat(20_000)
        );
        let text = extract(&source).text;
        assert!(
            text.starts_with("name: Ann; size: 5\" pipe\n\nname: \"Bob; size: 7\n\nname: Cara")
        );
    }

    #[test]
    fn names_of_a_wide_table_are_bounded() {
        let row =
            |cell: &dyn Fn(usize) -> String| (0..4000).map(cell).collect::<Vec<_>>().join(",");
        let source = format!(
            "{}\n{}\n",
            row(&|n| format!("column{n}")),
            row(&|n| n.to_string())
        );
        let text = extract(&source).text;
        assert!(text.contains("column10: 10; ") && text.ends_with("; 3998; 3999"));
        assert!(text.len() < source.len() * 2);
    }
}
