//! Excel workbooks since 2007, read as streams: a sheet of a million rows costs the memory of its text.
//! Formulas give the values that were stored with them.

use jiff::civil::{Time, date};

use super::Extract;
use super::builder::{Builder, MAX_ROW_BYTES, MAX_TEXT_BYTES, Sheet};
use super::package::Package;
use super::xml::{Node, Tag, walk};

/// Maximum XML of a sheet or of all shared strings that is read.
const MAX_XML_BYTES: u64 = 1 << 30;
/// Excel's last column, XFD.
const MAX_COLUMNS: usize = 16_384;
/// Excel's last row.
const MAX_ROWS: u32 = 1_048_576;

/// Excel's maximum number of decimals.
const MAX_DECIMALS: usize = 30;

/// What the cells of all sheets refer to.
struct Workbook {
    strings: Strings,
    /// How the numbers of each cell style are shown.
    styles: Vec<Number>,
    counts_from_1904: bool,
}

/// The strings that cells share, one behind the other.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => self.ends[before],
            None => 0,
        };
        self.text.get(start..end)
    }
}

/// The meaning of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    /// With all of its digits.
    General,
    /// With this number of decimals.
    Fixed(usize),
    Percent(usize),
    Date,
}

/// A sheet of the workbook.
struct Listed {
    name: String,
    id: String,
}

pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut package = Package::open(bytes)?;
    let main = package.relationships("")?;
    let main = main.iter().find(|part| part.is("officeDocument"));
    let main = main.map_or("xl/workbook.xml".to_owned(), |part| part.path.clone());
    let Some(xml) = package.xml(&main)? else {
        return Err("its content is not that of an Excel workbook".to_owned());
    };
    let (sheets, counts_from_1904) = listed(&xml)?;
    let parts = package.relationships(&main)?;
    let path_of = |kind: &str| {
        let part = parts.iter().find(|part| part.is(kind));
        part.map(|part| part.path.clone())
    };
    let workbook = Workbook {
        strings: strings(&mut package, path_of("sharedStrings"))?,
        styles: styles(&mut package, path_of("styles"))?,
        counts_from_1904,
    };

    let mut builder = Builder::default();
    builder.metadata(package.metadata("docProps/core.xml")?);
    if workbook.strings.text.len() > MAX_TEXT_BYTES {
        let mib = MAX_TEXT_BYTES >> 20;
        builder.note(format!(
            "the text of its cells exceeds {mib} MiB, and the rest is left out: split it to read all"
        ));
    }
    for listed in &sheets {
        let part = parts.iter().find(|part| part.id == listed.id);
        let Some(part) = part.filter(|part| part.is("worksheet")) else {
            continue;
        };
        let mut sheet = Sheet::begin(&listed.name, &mut builder);
        let cut = read_sheet(
            &mut package,
            &part.path,
            &workbook,
            &mut sheet,
            &mut builder,
        );
        if let Err(reason) = cut {
            builder.note(format!("sheet {}: {reason}", listed.name));
        }
        comments(&mut package, &part.path, &mut sheet, &mut builder)?;
    }
    Ok(builder.finish())
}

/// Returns the sheets of a workbook, and whether it counts days from 1904.
fn listed(xml: &str) -> Result<(Vec<Listed>, bool), String> {
    let mut sheets = Vec::new();
    let mut counts_from_1904 = false;
    walk(xml.as_bytes(), &mut |node| {
        if let Node::Open(tag) = node {
            match tag.name() {
                "sheet" => sheets.push(Listed {
                    name: tag.attribute("name").unwrap_or_default(),
                    id: tag.attribute("id").unwrap_or_default(),
                }),
                "workbookPr" => {
                    let value = tag.attribute("date1904");
                    counts_from_1904 = matches!(value.as_deref(), Some("1" | "true"));
                }
                _ => {}
            }
        }
        true
    })?;
    Ok((sheets, counts_from_1904))
}

/// Returns the shared strings, up to the size of the text of one file.
fn strings(package: &mut Package<'_>, path: Option<String>) -> Result<Strings, String> {
    let mut strings = Strings::default();
    let Some(path) = path.filter(|path| package.has(path)) else {
        return Ok(strings);
    };
    let mut is_text = false;
    let mut is_phonetic = false;
    walk(package.stream(&path, MAX_XML_BYTES)?, &mut |node| {
        match node {
            Node::Open(tag) => match tag.name() {
                "rPh" => is_phonetic = true,
                "t" => is_text = !is_phonetic,
                _ => {}
            },
            Node::Text(part) if is_text => strings.text.push_str(part),
            Node::Close("t") => is_text = false,
            Node::Close("rPh") => is_phonetic = false,
            Node::Close("si") => strings.end(),
            Node::Text(_) | Node::Close(_) => {}
        }
        strings.text.len() <= MAX_TEXT_BYTES
    })?;
    Ok(strings)
}

fn styles(package: &mut Package<'_>, path: Option<String>) -> Result<Vec<Number>, String> {
    let xml = match path {
        Some(path) => package.xml(&path)?.unwrap_or_default(),
        None => String::new(),
    };
    let mut own: Vec<(String, Number)> = Vec::new();
    let mut styles = Vec::new();
    let mut is_cell_style = false;
    walk(xml.as_bytes(), &mut |node| {
        match node {
            Node::Open(tag) => match tag.name() {
                "numFmt" => {
                    let code = tag.attribute("formatCode").unwrap_or_default();
                    own.push((tag.attribute("numFmtId").unwrap_or_default(), number(&code)));
                }
                "cellXfs" => is_cell_style = true,
                "xf" if is_cell_style => {
                    let id = tag.attribute("numFmtId").unwrap_or_default();
                    let known = own.iter().find(|(own, _)| *own == id);
                    styles.push(known.map_or_else(|| built_in(&id), |(_, number)| *number));
                }
                _ => {}
            },
            Node::Close("cellXfs") => is_cell_style = false,
            Node::Close(_) | Node::Text(_) => {}
        }
        true
    })?;
    Ok(styles)
}

/// Returns what a number is by its built-in format (ECMA-376 part 1, 18.8.30).
fn built_in(id: &str) -> Number {
    match id.parse().unwrap_or(0_u32) {
        1 | 3 | 37 | 38 => Number::Fixed(0),
        2 | 4 | 39 | 40 => Number::Fixed(2),
        9 => Number::Percent(0),
        10 => Number::Percent(2),
        14..=22 | 27..=36 | 45..=47 | 50..=58 => Number::Date,
        _ => Number::General,
    }
}

/// Returns what a number is by a format of the workbook.
fn number(code: &str) -> Number {
    let mut letters = String::new();
    let mut is_quoted = false;
    let mut is_bracketed = false;
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '\\' | '_' | '*' => {
                chars.next();
            }
            '[' => is_bracketed = true,
            ']' => is_bracketed = false,
            _ if is_bracketed => {}
            _ => letters.push(c.to_ascii_lowercase()),
        }
    }
    let positive = letters.split(';').next().unwrap_or_default();
    let digits = |part: &str| {
        part.chars()
            .filter(|c| matches!(c, '0' | '#' | '?'))
            .count()
    };
    let decimals = positive.split_once('.').map_or(0, |(_, part)| digits(part));
    if positive.contains("general") || positive.contains(['@', 'e']) {
        Number::General
    } else if positive.contains('%') {
        Number::Percent(decimals)
    } else if positive.contains(['y', 'd', 'h', 's']) {
        Number::Date
    } else if digits(positive) > 0 {
        Number::Fixed(decimals)
    } else {
        Number::General
    }
}

/// The cell that is being read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    text: String,
}

fn read_sheet(
    package: &mut Package<'_>,
    path: &str,
    workbook: &Workbook,
    sheet: &mut Sheet,
    builder: &mut Builder,
) -> Result<(), String> {
    let mut row = 0;
    let mut next_column = 0;
    let mut cells: Vec<(usize, String)> = Vec::new();
    let mut row_bytes = 0;
    let mut cut_cells = 0;
    let mut cell = Cell::default();
    let mut is_value = false;
    walk(package.stream(path, MAX_XML_BYTES)?, &mut |node| {
        match node {
            Node::Open(tag) => match tag.name() {
                "row" => {
                    let number = tag.attribute("r").and_then(|number| number.parse().ok());
                    row = number.unwrap_or(row + 1).min(MAX_ROWS);
                    next_column = 0;
                    row_bytes = 0;
                }
                "c" => {
                    cell = Cell::begin(tag, next_column);
                    next_column = cell.column + 1;
                }
                "v" | "t" => is_value = true,
                "rPh" => is_value = false,
                _ => {}
            },
            Node::Text(part) if is_value => cell.text.push_str(part),
            Node::Close("v" | "t") => is_value = false,
            Node::Close("c") if cell.column < MAX_COLUMNS => {
                let text = workbook.text(&cell);
                row_bytes += text.len();
                // a string that cells share may stand in every one of them
                let fits = row_bytes <= MAX_ROW_BYTES || cell.kind != "s";
                cut_cells += usize::from(!fits);
                if !text.is_empty() && fits {
                    cells.push((cell.column, text));
                }
            }
            Node::Close("row") if !cells.is_empty() => {
                sheet.row(row, std::mem::take(&mut cells), builder);
            }
            Node::Text(_) | Node::Close(_) => {}
        }
        !builder.is_full()
    })?;
    if cut_cells > 0 {
        let mib = MAX_ROW_BYTES >> 20;
        return Err(format!(
            "{cut_cells} cells are left out, in rows of more than {mib} MiB"
        ));
    }
    Ok(())
}

impl Cell {
    fn begin(tag: &Tag<'_>, next_column: usize) -> Self {
        let [reference, style, kind] = tag.attributes(["r", "s", "t"]);
        let column = reference.and_then(|reference| column(&reference));
        let style = style.and_then(|style| style.parse().ok());
        Self {
            column: column.unwrap_or(next_column),
            kind: kind.unwrap_or_default(),
            style: style.unwrap_or(usize::MAX),
            text: String::new(),
        }
    }
}

/// Returns the column, from 0, of a reference as in `BC23`.
fn column(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.take(4).fold(0, |number, letter| {
        number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    number.checked_sub(1)
}

impl Workbook {
    /// Returns the text of a cell as a reader of the sheet sees it, apart from the width of numbers.
    fn text(&self, cell: &Cell) -> String {
        let value = cell.text.as_str();
        match cell.kind.as_str() {
            "s" => {
                let index: Option<usize> = value.trim().parse().ok();
                let string = index.and_then(|index| self.strings.get(index));
                string.unwrap_or_default().to_owned()
            }
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "" | "n" => self.number(value, cell.style),
            _ => value.to_owned(),
        }
    }

    fn number(&self, value: &str, style: usize) -> String {
        let Ok(number) = value.trim().parse::<f64>() else {
            return value.to_owned();
        };
        let style = self.styles.get(style).copied();
        match style.unwrap_or(Number::General) {
            Number::General => decimal(number),
            Number::Fixed(decimals) => fixed(number, decimals),
            Number::Percent(decimals) => format!("{}%", fixed(number * 100.0, decimals)),
            Number::Date => {
                date_time(number, self.counts_from_1904).unwrap_or_else(|| decimal(number))
            }
        }
    }
}

/// Returns a number with the 15 digits that Excel keeps.
fn decimal(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

fn fixed(number: f64, decimals: usize) -> String {
    let decimals = decimals.min(MAX_DECIMALS);
    format!("{number:.decimals$}")
}

/// Returns the date, the time or both that a count of days stands for.
fn date_time(days: f64, counts_from_1904: bool) -> Option<String> {
    let seconds = (days.fract() * 86_400.0).round();
    let time = Time::midnight().saturating_add(jiff::SignedDuration::from_secs(seconds as i64));
    if (0.0..1.0).contains(&days) {
        return Some(time.to_string());
    }

    // Excel counts a 29 February 1900, which never was.
    let zero = if counts_from_1904 {
        date(1904, 1, 1)
    } else if (0.0..60.0).contains(&days) {
        date(1899, 12, 31)
    } else {
        date(1899, 12, 30)
    };
    let whole = jiff::Span::new().try_days(days.trunc() as i64).ok()?;
    let day = zero.checked_add(whole).ok()?;
    let has_time = seconds >= 1.0;
    Some(if has_time {
        format!("{day} {time}")
    } else {
        day.to_string()
    })
}

/// Adds the comments on the cells of a sheet.
fn comments(
    package: &mut Package<'_>,
    sheet_path: &str,
    sheet: &mut Sheet,
    builder: &mut Builder,
) -> Result<(), String> {
    let parts = package.relationships(sheet_path)?;
    let Some(part) = parts.iter().find(|part| part.is("comments")) else {
        return Ok(());
    };
    package.comments(&part.path, "ref", &mut |at, text| {
        let row = at.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let row = row.parse().unwrap_or(1);
        sheet.remark(row, &format!("Comment on {at}: {text}"), builder);
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_their_format() {
        let workbook = Workbook {
            strings: Strings::default(),
            styles: [
                "General",
                "0.0%",
                "yyyy\\-mm\\-dd",
                "h:mm",
                "#,##0.00 \"days\";[Red]-0",
                "[$-409]#,##0",
                "d/m/yyyy",
                "0.00E+00",
            ]
            .map(number)
            .to_vec(),
            counts_from_1904: false,
        };
        let cases = [
            ("0.30000000000000004", 0, "0.3"),
            ("1E3", 0, "1000"),
            ("12345678901", 0, "12345678901"),
            ("0.125", 1, "12.5%"),
            ("45322", 2, "2024-01-31"),
            ("45322.5", 2, "2024-01-31 12:00:00"),
            ("59", 2, "1900-02-28"),
            ("61", 2, "1900-03-01"),
            ("0.75", 3, "18:00:00"),
            ("3.14159", 4, "3.14"),
            ("3", 5, "3"),
            ("43831", 6, "2020-01-01"),
            ("12", 7, "12"),
            ("1e300", 2, &decimal(1e300)),
            ("-4", 2, "1899-12-26"),
            ("n/a", 2, "n/a"),
            ("7", 99, "7"),
        ];
        for (value, style, text) in cases {
            assert_eq!(workbook.number(value, style), text, "{value} as {style}");
        }
    }

    #[test]
    fn columns_of_references() {
        let cases = [
            ("A1", Some(0)),
            ("Z9", Some(25)),
            ("AA1", Some(26)),
            ("XFD1048576", Some(MAX_COLUMNS - 1)),
            ("17", None),
            ("", None),
        ];
        for (reference, found) in cases {
            assert_eq!(column(reference), found, "{reference}");
        }
        assert!(column(&"Z".repeat(99)).is_some_and(|column| column > MAX_COLUMNS));
    }
}
