//! The records of a question file.

use serde_json::{Map, Value};

/// A record of a question file.
pub type Record = Map<String, Value>;

/// A record with the name of its place in the file, or the fault at that place.
pub type Placed = (String, Result<Record, &'static str>);

const NOT_AN_OBJECT: &str = "it is not a JSON object";

const NOT_JSON: &str = "it is not a JSON object (use JSON lines with `question` and `answers`, or a published dataset)";

/// Splits a file into its records.
pub fn records(text: &str) -> Vec<Placed> {
    let number = |values: Vec<Value>| -> Vec<Placed> {
        let place = |(number, value): (usize, Value)| match value {
            Value::Object(record) => (format!("entry {number}"), Ok(record)),
            _ => (format!("entry {number}"), Err(NOT_AN_OBJECT)),
        };
        (1..).zip(values).map(place).collect()
    };

    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(entries)) => number(entries),
        Ok(Value::Object(mut file)) => match read_columns(&file) {
            Some(rows) => number(rows),
            None => match ["data", "Data"].iter().find_map(|name| file.remove(*name)) {
                Some(Value::Array(entries)) => number(entries),
                Some(_) => vec![("data".to_owned(), Err("it is not a list"))],
                None => vec![("line 1".to_owned(), Ok(file))],
            },
        },
        Ok(_) => vec![("line 1".to_owned(), Err(NOT_AN_OBJECT))],
        Err(_) => table(text).unwrap_or_else(|| lines(text)),
    }
}

fn lines(text: &str) -> Vec<Placed> {
    let line = |(number, line): (usize, &str)| {
        let record = match serde_json::from_str(line) {
            Ok(Value::Object(record)) => Ok(record),
            Ok(_) => Err(NOT_AN_OBJECT),
            Err(_) => Err(NOT_JSON),
        };
        (format!("line {number}"), record)
    };

    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(line)
        .collect()
}

/// Reads the rows of a table with tabs whose first line names the columns.
fn table(text: &str) -> Option<Vec<Placed>> {
    let head = text.lines().next()?;
    if !head.contains('\t') || head.trim_start().starts_with('{') {
        return None;
    }

    // the table of PopQA quotes cells as CSV does
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b'\t')
        .flexible(true)
        .from_reader(text.as_bytes());
    let names = reader.headers().ok()?.clone();

    let row = |(number, row): (usize, Result<csv::StringRecord, csv::Error>)| {
        let place = format!("row {number}");
        let Ok(row) = row else {
            return (place, Err("it is not a row of the table"));
        };

        let cells = names.iter().zip(row.iter());
        let record = cells
            .map(|(name, cell)| (name.trim().to_owned(), Value::from(cell)))
            .collect();
        (place, Ok(record))
    };

    Some((1..).zip(reader.records()).map(row).collect())
}

/// Returns the rows of a file by columns, `{"query": {"0": …}, "answers": {"0": …}}`, as MS MARCO
/// is published; `None` for another file.
fn read_columns(file: &Record) -> Option<Vec<Value>> {
    let queries = file.get("query")?.as_object()?;
    file.get("passages")?.as_object()?;
    let columns: Vec<(&String, &Record)> = file
        .iter()
        .filter_map(|(name, column)| Some((name, column.as_object()?)))
        .collect();

    let row = |key: &String| {
        let cells = columns
            .iter()
            .filter_map(|(name, column)| Some(((*name).clone(), column.get(key)?.clone())));
        Value::Object(cells.collect())
    };

    Some(queries.keys().map(row).collect())
}
