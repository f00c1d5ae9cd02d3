//! Tables as text: CSV, TSV and their relatives. A row is a paragraph with the names of its columns
//! (`Name: Ann; Age: 7`), so that a chunk of rows says what its values are.

use std::collections::HashSet;

use csv::{ByteRecord, Reader as CsvReader, ReaderBuilder};

use super::builder::MAX_ROWS_ABOVE_HEADER;
use super::columns::Columns;
use super::format::{Extract, Format, Reader};
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
/// Lines that show the separator, and rows that show whether the first one names the columns.
const SAMPLE_ROWS: usize = 50;
/// A longer row over several lines is a quote that was never closed.
const MAX_ROW_BYTES: usize = 64 << 10;

fn extract(source: &str) -> Extract {
    let dialect = Dialect::from_source(source);
    let mut columns = Columns::default();
    for (column, name) in dialect.names.iter().flatten().enumerate() {
        columns.set(column, name);
    }

    let none = Columns::default();
    let mut traced = Traced::with_capacity(source.len() * 2);
    let mut rows = Vec::new();
    for (index, row) in dialect.rows(source).enumerate() {
        let is_below = index > dialect.header_at;
        let columns = if is_below { &columns } else { &none };
        let line = columns.line(row.cells.iter().map(String::as_str).enumerate());
        if line.is_empty() || dialect.is_header(index) {
            continue;
        }
        if !traced.text.is_empty() {
            traced.stand_for("\n\n", row.start as u64, 0);
        }
        let start = traced.text.len();
        traced.stand_for(&line, row.start as u64, saturating_u32(row.end - row.start));
        rows.push(start..traced.text.len());
    }
    Extract {
        rows,
        origin: traced.origin,
        ..Extract::verbatim(traced.text)
    }
}

/// Returns the rows of a table with their lines, the header among them.
pub(super) fn rows(source: &str) -> Vec<TableRow> {
    let dialect = Dialect::from_source(source);
    let mut line_at = line_numbers(source);
    dialect
        .rows(source)
        .enumerate()
        .map(|(index, row)| TableRow {
            first_line: line_at(row.start),
            last_line: line_at(row.end),
            header: dialect.is_header(index),
            cells: row.cells,
        })
        .collect()
}

/// The signs of a table, and the names of its columns.
struct Dialect {
    separator: u8,
    has_quotes: bool,
    /// Whether the first line names the separator, as Excel reads it.
    names_separator: bool,
    /// The names of the columns, where one of the first rows has them.
    names: Option<Vec<String>>,
    /// The number of rows above that one.
    header_at: usize,
}

impl Dialect {
    fn from_source(source: &str) -> Self {
        let named = named_separator(source);
        let separator = named.unwrap_or_else(|| separator(source));
        let mut dialect = Self {
            separator,
            // a quotation mark that is text would swallow the rows behind it
            has_quotes: Rows::new(source, separator, true).all(|row| !row.is_unclosed(source)),
            names_separator: named.is_some(),
            names: None,
            header_at: 0,
        };

        let sample = dialect.rows(source).take(SAMPLE_ROWS);
        let sample: Vec<Vec<String>> = sample.map(|row| row.cells).collect();
        dialect.header_at = header_below_preamble(&sample).unwrap_or(0);
        let table = &sample[dialect.header_at.min(sample.len())..];
        dialect.names = header(table).filter(|_| table.len() > 1);
        dialect
    }

    /// Returns the rows, the header among them.
    fn rows<'a>(&self, source: &'a str) -> impl Iterator<Item = Row> + use<'a> {
        let rows = Rows::new(source, self.separator, self.has_quotes);
        // Excel reads `sep=;` as an instruction, not as a row
        rows.skip(usize::from(self.names_separator))
    }

    fn is_header(&self, index: usize) -> bool {
        self.names.is_some() && index == self.header_at
    }
}

/// Returns the separator that a first line `sep=;` names, with or without quotes.
fn named_separator(source: &str) -> Option<u8> {
    let line = source.trim_start_matches('"');
    let name = line.get(..4)?;
    let separator = *line.as_bytes().get(4)?;
    let is_named = name.eq_ignore_ascii_case("sep=");
    (is_named && SEPARATORS.contains(&separator)).then_some(separator)
}

/// Returns the row of the names of the columns where there are lines above the table: it has more
/// cells than each of them, and is above numbers or below titles of one cell.
fn header_below_preamble(sample: &[Vec<String>]) -> Option<usize> {
    let filled = |row: &Vec<String>| row.iter().filter(|cell| !cell.is_empty()).count();
    let is_below_less = |at: usize| {
        sample[..at]
            .iter()
            .all(|row| filled(row) < filled(&sample[at]))
    };
    let names_numbers = |at: usize| {
        let below = |column: usize| {
            let cells = sample[at + 1..].iter().filter_map(|row| row.get(column));
            let cells: Vec<&String> = cells.filter(|cell| !cell.is_empty()).collect();
            let numbers = cells.iter().filter(|cell| is_number(cell)).count();
            numbers * 2 > cells.len()
        };
        (0..sample[at].len()).any(|column| !sample[at][column].is_empty() && below(column))
    };

    let is_below_titles = |at: usize| sample[..at].iter().all(|row| filled(row) < 2);
    let is_header = |at: usize| filled(&sample[at]) > 1 && header(&sample[at..]).is_some();

    let last = sample.len().min(MAX_ROWS_ABOVE_HEADER + 1);
    let below_less = || (1..last).filter(|&at| is_header(at) && is_below_less(at));
    let above_numbers = below_less().find(|&at| names_numbers(at));
    let found = above_numbers.or_else(|| below_less().find(|&at| is_below_titles(at)))?;
    // a header may leave the column of its row numbers without a name
    let first = &sample[0];
    let is_first = filled(first) > 1 && header(sample).is_some();
    (!is_first || first.len() < sample[found].len()).then_some(found)
}

/// A row of a table, with its part of the file.
struct Row {
    start: usize,
    end: usize,
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
        let cells = self
            .record
            .iter()
            .map(|cell| fold_white_space(&String::from_utf8_lossy(cell)));
        Some(Row {
            start: (start + skipped).min(end),
            end,
            cells: cells.collect(),
        })
    }
}

/// Returns the separator that most of the first lines have equally often.
fn separator(source: &str) -> u8 {
    let lines: Vec<&str> = source
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(SAMPLE_ROWS)
        .collect();

    let score = |separator: u8| {
        let mut counts: Vec<usize> = lines
            .iter()
            .map(|line| outside_quotes(line, separator))
            .collect();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let alike = counts.iter().filter(|count| **count == median).count();
        if median == 0 { (0, 0) } else { (alike, median) }
    };

    let best = SEPARATORS
        .iter()
        .rev()
        .max_by_key(|separator| score(**separator));
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

/// Returns the names of the columns, when the first row is not data: its cells are words,
/// each different, and none is a value of its column.
fn header(sample: &[Vec<String>]) -> Option<Vec<String>> {
    let (first, rest) = sample.split_first()?;
    let named = first.iter().filter(|cell| !cell.is_empty()).count();
    let distinct: HashSet<&String> = first.iter().filter(|cell| !cell.is_empty()).collect();

    let has_years = |column: usize| {
        let mut cells = rest.iter().filter_map(|row| row.get(column));
        cells.any(|cell| is_year(cell))
    };
    let are_words = first.iter().enumerate().all(|(column, cell)| {
        // a column may have the name of a year, where it does not hold years
        let is_name = !is_number(cell) || (is_year(cell) && !has_years(column));
        is_name && cell.len() <= 200
    });
    let has_words = first.iter().any(|cell| cell.contains(char::is_alphabetic));
    let is_repeated = rest.iter().any(|row| {
        row.iter()
            .zip(first)
            .any(|(cell, name)| cell == name && !cell.is_empty())
    });

    let are_named = named * 2 > first.len() && distinct.len() == named;
    let is_header = are_named && are_words && has_words && !is_repeated;
    is_header.then(|| first.clone())
}

fn is_year(cell: &str) -> bool {
    cell.len() == 4
        && cell
            .parse()
            .is_ok_and(|year: u32| (1900..2100).contains(&year))
}

fn is_number(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    digits * 2 >= cell.len().max(1) && digits > 0
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
