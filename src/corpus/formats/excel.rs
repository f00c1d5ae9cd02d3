//! Excel workbooks. Those before 2007 are read at once by calamine, which gives the formats of
//! their dates and durations. Formulas give the values that were stored with them.

use std::collections::BTreeMap;
use std::io::Cursor;

use calamine::{CellType, Data, Range, Reader as _, SheetVisible, Xls, XlsError, Xlsx, XlsxError};

use super::builder::{Builder, Sheet, day, named};
use super::format::{Extract, Format, Reader};
use super::number_form::{DATE, DURATION, GENERAL, NumberForm};
use super::package::ENCRYPTED;
use super::sheet_rows::add_notes;
use super::xlsx;
use crate::event::{Metadata, saturating_u32};

pub(super) const FORMAT: Format = Format {
    name: "Excel",
    extensions: &["xlsx", "xlsm", "xltx", "xltm", "xls", "xlt"],
    library: "ragscope, calamine",
    place: "sheet and row",
    reader: Reader::Binary(extract),
};

fn extract(bytes: &[u8]) -> Result<Extract, String> {
    if bytes.starts_with(b"PK") {
        return xlsx::extract(bytes);
    }

    let mut workbook = open(bytes)?;
    let mut builder = Builder::default();
    builder.metadata(metadata(&mut workbook));
    let counts_from_1904 = workbook.has_1904_epoch();
    let mut uncomputed = 0;
    let sheets = workbook.sheets_metadata().to_vec();
    for listed in &sheets {
        let Ok(range) = workbook.worksheet_range(&listed.name) else {
            continue;
        };
        let formulas = workbook.worksheet_formula(&listed.name).unwrap_or_default();
        let mut rows: BTreeMap<u32, BTreeMap<usize, String>> = BTreeMap::new();
        for (row, column, value) in cells(&range) {
            let text = cell_text(value, counts_from_1904);
            if !text.is_empty() {
                rows.entry(row).or_default().insert(column, text);
            }
        }

        // libraries store an empty text for each formula, which is the value of some
        let has_value = |(row, column, _): (u32, usize, _)| {
            rows.get(&row)
                .is_some_and(|cells| cells.contains_key(&column))
        };
        if !cells(&formulas).any(has_value) {
            for (row, column, formula) in cells(&formulas) {
                let cells = rows.entry(row).or_default();
                cells.insert(column, format!("={formula}"));
                uncomputed += 1;
            }
        }

        let mut sheet = Sheet::begin(&listed.name, &mut builder);
        for (row, cells) in rows {
            if !builder.is_full() {
                sheet.row(row.saturating_add(1), cells, &mut builder);
            }
        }
    }
    let sheets = sheets.iter();
    let hidden = sheets.filter(|sheet| sheet.visible != SheetVisible::Visible);
    let hidden: Vec<&str> = hidden.map(|sheet| sheet.name.as_str()).collect();
    add_notes(&hidden, uncomputed, &mut builder);
    Ok(builder.finish())
}

/// Returns the cells of a sheet that are not empty, with their rows and columns, from 0.
fn cells<T: CellType>(range: &Range<T>) -> impl Iterator<Item = (u32, usize, &T)> {
    let (row, column) = range.start().unwrap_or_default();
    range.used_cells().map(move |(below, beside, cell)| {
        let row = row.saturating_add(saturating_u32(below));
        (row, column as usize + beside, cell)
    })
}

fn open(bytes: &[u8]) -> Result<Xls<Cursor<&[u8]>>, String> {
    Xls::new(Cursor::new(bytes)).map_err(|error| {
        // a password puts a workbook since 2007 into a file like those before
        let is_package = matches!(Xlsx::new(Cursor::new(bytes)), Err(XlsxError::Password));
        if is_package || matches!(error, XlsError::Password) {
            ENCRYPTED.to_owned()
        } else {
            format!("it is damaged ({error})")
        }
    })
}

fn metadata(workbook: &mut Xls<Cursor<&[u8]>>) -> Metadata {
    // damage to the properties costs no text
    let about = workbook.workbook_properties().unwrap_or_default();
    Metadata {
        title: about.title.as_deref().and_then(named),
        author: about.creator.as_deref().and_then(named),
        date: about.modified.or(about.created).as_deref().and_then(day),
        ..Metadata::default()
    }
}

/// Returns the text of a cell as a reader of the sheet sees it.
fn cell_text(value: &Data, counts_from_1904: bool) -> String {
    let number = |number: f64, form: &NumberForm| form.text(number, counts_from_1904);
    match value {
        Data::Empty => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Int(value) => value.to_string(),
        Data::Float(value) => number(*value, &GENERAL),
        Data::Bool(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
        Data::Error(error) => error.to_string(),
        Data::DateTime(time) if time.is_duration() => number(time.as_f64(), &DURATION),
        Data::DateTime(time) => number(time.as_f64(), &DATE),
    }
}
