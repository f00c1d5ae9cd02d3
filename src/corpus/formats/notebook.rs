//! Jupyter notebooks: the cells in their order, prose with its headings, code as it is. What the
//! code printed is left out: it repeats the code, or is a picture.

use serde_json::Value;

use super::format::{Extract, Format, Reader};
use super::markdown;
use crate::event::{Metadata, Place, PlaceUnit};

pub(super) const FORMAT: Format = Format {
    name: "notebook",
    extensions: &["ipynb"],
    library: "serde_json",
    place: "cell",
    reader: Reader::Binary(extract),
};

fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let notebook: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("a damaged notebook: {error}; open and save it in Jupyter"))?;
    let mut extract = Extract {
        metadata: metadata(&notebook),
        ..Extract::default()
    };
    for (number, cell) in (1..).zip(cells(&notebook)) {
        add_cell(&mut extract, number, cell);
    }
    if extract.text.is_empty() {
        return Err("it holds no cells with text".to_owned());
    }
    Ok(extract)
}

/// Returns the cells: of the notebook, or of its sheets before version 4 of the format.
fn cells(notebook: &Value) -> Vec<&Value> {
    let holders = list(notebook, "worksheets").unwrap_or(std::slice::from_ref(notebook));
    holders
        .iter()
        .filter_map(|holder| list(holder, "cells"))
        .flatten()
        .collect()
}

fn list<'a>(holder: &'a Value, name: &str) -> Option<&'a [Value]> {
    holder.get(name)?.as_array().map(Vec::as_slice)
}

fn metadata(notebook: &Value) -> Metadata {
    let mut metadata = Metadata::default();
    let fields = notebook.get("metadata");
    let field = |name: &str| fields.and_then(|fields| fields.get(name));
    for name in ["title", "date"] {
        metadata.set(
            name,
            field(name).and_then(Value::as_str).unwrap_or_default(),
        );
    }
    let authors = fields
        .and_then(|fields| list(fields, "authors"))
        .unwrap_or_default();
    let names: Vec<&str> = authors
        .iter()
        .filter_map(|author| author.get("name")?.as_str())
        .collect();
    metadata.set("author", &names.join("; "));
    metadata
}

/// Adds a cell, with its place.
fn add_cell(extract: &mut Extract, number: u32, cell: &Value) {
    let source = cell
        .get("source")
        .or_else(|| cell.get("input"))
        .map(join_lines)
        .unwrap_or_default();
    let source = source.trim_end();
    if source.trim().is_empty() {
        return;
    }
    if !extract.text.is_empty() {
        extract.text.push_str("\n\n");
    }

    let start = extract.text.len();
    extract
        .places
        .push((start, Place::new(PlaceUnit::Cell, number)));
    let cell_text = match cell.get("cell_type").and_then(Value::as_str) {
        Some("markdown") => markdown::extract(source.to_owned()),
        Some("heading") => {
            let level = cell
                .get("level")
                .and_then(Value::as_u64)
                .unwrap_or(1)
                .clamp(1, 6);
            markdown::extract(format!("{} {source}", "#".repeat(level as usize)))
        }
        _ => Extract::verbatim(source.to_owned()),
    };
    extract.text.push_str(&cell_text.text);
    extract.take_marks(cell_text, start);
}

/// Returns text that is a string, or a list of lines.
fn join_lines(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_both_formats() {
        let current = br##"{"nbformat": 4, "metadata": {"title": "T", "authors": [{"name": "Ann"}]}, "cells": [
            {"cell_type": "markdown", "source": ["# Data\n", "It is *here*."]},
            {"cell_type": "code", "source": "x = 1\nprint(x)", "outputs": [{"text": "never"}]},
            {"cell_type": "code", "source": []},
            {"cell_type": "raw", "source": "# raw"}]}"##;
        let older = br##"{"nbformat": 3, "worksheets": [{"cells": [
            {"cell_type": "heading", "level": 1, "source": ["Data"]},
            {"cell_type": "code", "input": ["x = 1\n", "print(x)"]}]}]}"##;
        let cases: [(&[u8], &str, &[u32]); 2] = [
            (
                current,
                "# Data\nIt is *here*.\n\nx = 1\nprint(x)\n\n# raw",
                &[1, 2, 4],
            ),
            (older, "# Data\n\nx = 1\nprint(x)", &[1, 2]),
        ];
        for (bytes, text, numbers) in cases {
            let found = extract(bytes).expect("a notebook");
            assert_eq!(found.text, text);
            let titles: Vec<_> = found
                .headings
                .iter()
                .map(|heading| heading.title.as_str())
                .collect();
            assert_eq!(titles, ["Data"]);
            let cells: Vec<u32> = found.places.iter().map(|(_, place)| place.first).collect();
            assert_eq!(cells, numbers);
        }
        let metadata = extract(current).expect("a notebook").metadata;
        assert_eq!(
            (metadata.title.as_deref(), metadata.author.as_deref()),
            (Some("T"), Some("Ann"))
        );
    }

    #[test]
    fn other_files_are_refused() {
        let cases: [&[u8]; 4] = [b"{\"cells\": [", b"[]", b"{}", b"\xff\xfe"];
        for bytes in cases {
            assert!(extract(bytes).is_err());
        }
    }
}
