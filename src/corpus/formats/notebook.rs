//! Jupyter notebooks: the cells in their order, prose with its headings, code as it is, and below
//! it what the code printed, as text. Pictures are left out.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::format::{Extract, Format, Reader};
use super::{html, markdown};
use crate::corpus::decode::without_mark;
use crate::corpus::offsets::Traced;
use crate::corpus::sentence::split_words;
use crate::corpus::terminal::without_controls;
use crate::event::{Metadata, Place, PlaceUnit};

pub(super) const FORMAT: Format = Format {
    name: "notebook",
    extensions: &["ipynb"],
    library: "serde_json",
    place: "cell",
    reader: Reader::Binary(extract),
};

/// The size of the beginning, and of the end, that is read of what one cell printed: the log of a
/// training is long, and its result is at its end.
const MAX_END_BYTES: usize = 4 << 10;

/// The forms of a value that are text, the best ones first, with those of Visual Studio Code.
#[rustfmt::skip]
const FORMS_OF_TEXT: [&str; 7] = [
    "text/markdown", "text/plain", "text", "text/latex", "application/vnd.code.notebook.stdout",
    "application/vnd.code.notebook.stderr", "application/vnd.code.notebook.error",
];

fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let notebook: Value = serde_json::from_slice(without_mark(bytes))
        .map_err(|error| format!("a damaged notebook: {error}; open and save it in Jupyter"))?;

    let mut extract = Extract {
        metadata: metadata(&notebook),
        ..Extract::default()
    };

    let mut left_out = LeftOut::default();
    for (number, cell) in (1..).zip(cells(&notebook)) {
        add_cell(&mut extract, number, cell, &mut left_out);
    }
    extract.note = left_out.note();

    if extract.text.is_empty() {
        return Err("it holds no cells with text".to_owned());
    }
    Ok(extract)
}

/// Returns the cells: of the notebook, or of its sheets before version 4 of the format.
fn cells(notebook: &Value) -> Vec<&Value> {
    let holders = list(notebook, "worksheets").unwrap_or(std::slice::from_ref(notebook));
    let cells = holders.iter().filter_map(|holder| list(holder, "cells"));
    cells.flatten().collect()
}

fn list<'a>(holder: &'a Value, name: &str) -> Option<&'a [Value]> {
    holder.get(name)?.as_array().map(Vec::as_slice)
}

fn metadata(notebook: &Value) -> Metadata {
    let mut metadata = Metadata::default();
    let fields = notebook.get("metadata");
    let field = |name: &str| fields.and_then(|fields| fields.get(name));

    for name in ["title", "date"] {
        let value = field(name).and_then(Value::as_str);
        metadata.set(name, value.unwrap_or_default());
    }

    let authors = fields.and_then(|fields| list(fields, "authors"));
    let names = authors.into_iter().flatten();
    let names = names.filter_map(|author| author.get("name")?.as_str());
    metadata.set("author", &names.collect::<Vec<_>>().join("; "));
    metadata
}

/// Counts of what is left out of the outputs.
#[derive(Debug, Default)]
struct LeftOut {
    pictures: usize,
    shortened: usize,
}

impl LeftOut {
    fn note(&self) -> Option<String> {
        let pictures = "pictures in its outputs are not read";
        let shortened = "only beginning and end of long outputs are read";
        let counts = [(pictures, self.pictures), (shortened, self.shortened)].into_iter();
        let counts = counts.filter(|(_, count)| *count > 0);
        let notes: Vec<String> = counts
            .map(|(what, count)| format!("{what}: {count}"))
            .collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// Adds a cell with its outputs, and its place.
fn add_cell(extract: &mut Extract, number: u32, cell: &Value, left_out: &mut LeftOut) {
    let source = cell.get("source").or_else(|| cell.get("input"));
    let source = source.map(join_lines).unwrap_or_default();
    let source = source.trim_end();
    let outputs = outputs(cell, left_out);
    let is_empty = source.trim().is_empty();
    if is_empty && outputs.is_empty() {
        return;
    }
    if !extract.text.is_empty() {
        extract.text.push_str("\n\n");
    }

    let start = extract.text.len();
    let place = Place::new(PlaceUnit::Cell, number);
    extract.places.push((start, place));
    if !is_empty {
        add_source(extract, cell, source);
    }
    if !outputs.is_empty() {
        let gap = if is_empty { "" } else { "\n\n" };
        extract.text.push_str(&format!("{gap}Output:\n{outputs}"));
    }
}

/// Returns what a cell printed, as text.
fn outputs(cell: &Value, left_out: &mut LeftOut) -> String {
    let mut text = String::new();
    for output in list(cell, "outputs").unwrap_or_default() {
        let printed = output_text(output, left_out);
        let printed = printed.trim_matches('\n').trim_end();
        if !printed.is_empty() {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(printed);
        }
    }

    let end = text.len().saturating_sub(MAX_END_BYTES);
    if end <= MAX_END_BYTES {
        return text;
    }
    left_out.shortened += 1;
    let head = &text[..text.floor_char_boundary(MAX_END_BYTES)];
    format!("{head}\n…\n{}", &text[text.ceil_char_boundary(end)..])
}

/// Returns the text of an output: what was printed, the text form of a value, an error.
fn output_text(output: &Value, left_out: &mut LeftOut) -> String {
    let field = |name: &str| output.get(name).map(join_lines).unwrap_or_default();
    // before version 4 of the format, the forms of a value are fields of the output
    let forms = output.get("data").unwrap_or(output);
    let form = |name: &str| forms.get(name).map(join_lines).unwrap_or_default();
    match output.get("output_type").and_then(Value::as_str) {
        Some("error" | "pyerr") => format!("{}: {}", field("ename"), field("evalue")),
        Some("stream") => show_as_printed(field("text")),
        Some(_) | None => {
            let is_picture = |name: &String| {
                name.starts_with("image/") || ["png", "jpeg", "svg"].contains(&name.as_str())
            };
            let mut names = forms.as_object().into_iter().flat_map(Map::keys);
            left_out.pictures += usize::from(names.any(is_picture));

            // the text form of a table has its columns apart from their names
            let page = form("text/html");
            let shown = || html::extract(&page).text;
            let table = page.contains("<table").then(shown);
            if let Some(table) = table.filter(|table| has_most_of(table, &form("text/plain"))) {
                return table;
            }

            // `<Figure size 640x480 with 1 Axes>` names an object
            let is_name =
                |text: &str| text.starts_with('<') && text.ends_with('>') && !text.contains('\n');
            let plain = FORMS_OF_TEXT.map(form);
            let mut plain = plain.into_iter().map(show_as_printed);
            let text = plain.find(|text| !text.trim().is_empty() && !is_name(text.trim()));
            let data = || forms.get("application/json").map(Value::to_string);
            text.or_else(data).unwrap_or_else(shown)
        }
    }
}

/// Returns printed text as a terminal shows it in the end: a line that is printed over another
/// replaces it.
fn show_as_printed(text: String) -> String {
    let traced = Traced {
        text,
        ..Traced::default()
    };
    let text = without_controls(traced).text;
    let lines = text.lines().map(|line| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds what is typed into a cell: prose with its headings, or code.
fn add_source(extract: &mut Extract, cell: &Value, source: &str) {
    let start = extract.text.len();

    let cell_text = match cell.get("cell_type").and_then(Value::as_str) {
        Some("markdown") => markdown::extract(source.to_owned()),
        // notebooks before version 4 have cells that are headings
        Some("heading") => {
            let level = cell.get("level").and_then(Value::as_u64).unwrap_or(1);
            let marks = "#".repeat(level.clamp(1, 6) as usize);
            markdown::extract(format!("{marks} {source}"))
        }
        _ => Extract::verbatim(source.to_owned()),
    };

    extract.text.push_str(&cell_text.text);
    extract.hidden += cell_text.hidden;
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

/// Returns whether a table has most words of its text form: a page may show a part of it.
fn has_most_of(table: &str, plain: &str) -> bool {
    let shown: HashSet<&str> = split_words(table).collect();
    let words: Vec<&str> = split_words(plain).collect();
    let common = words.iter().filter(|word| shown.contains(*word));
    common.count() * 2 >= words.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_both_formats() {
        let current = br##"{"nbformat": 4, "metadata": {"title": "T", "authors": [{"name": "Ann"}]}, "cells": [
            {"cell_type": "markdown", "source": ["# Data\n", "It is *h&shy;ere*.<!-- no -->"]},
            {"cell_type": "code", "source": "x = 1\nprint(x)", "outputs": []},
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
        let marked = [b"\xef\xbb\xbf".as_slice(), older].concat();
        assert!(extract(&marked).is_ok(), "with a mark");
        let metadata = extract(current).expect("a notebook").metadata;
        assert_eq!(
            (metadata.title.as_deref(), metadata.author.as_deref()),
            (Some("T"), Some("Ann"))
        );
    }

    #[test]
    fn outputs_follow_their_cell() {
        let long = "x".repeat(20_000);
        let notebook = serde_json::json!({"cells": [
            {"cell_type": "code", "source": "fit()", "outputs": [
                {"output_type": "stream", "text": ["1 of 2\r2 of 2\n", "\u{1b}[1maccuracy\u{1b}[0m 0.9\n"]},
                {"output_type": "execute_result", "data": {"text/html": "<p>", "text/plain": ["a  b\n", "1  2"]}},
                {"output_type": "display_data", "data": {"text/latex": "$x$", "text/plain": "<IPython.Math object>"}},
                {"output_type": "display_data", "data": {"text/html": ["<b>", "done</b>"]}},
                {"output_type": "display_data", "data": {"application/vnd.code.notebook.stdout": "said"}},
                {"output_type": "display_data", "data": {"application/json": {"knots": [7]}, "text/plain": "<IPython.JSON object>"}},
                {"output_type": "execute_result", "data": {"text/html": "<table><tr><th>A<th>B<tr><td>1<td>2</table>", "text/plain": ["   A  B\n", "0  1  2"]}}]},
            {"cell_type": "code", "source": [], "outputs": [
                {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure size 6x4>"}},
                {"output_type": "error", "ename": "OSError", "evalue": "read-only", "traceback": ["long"]}]},
            {"cell_type": "code", "source": "log()", "outputs": [
                {"output_type": "pyout", "text": [format!("first {long} last")]}]}]});
        let bytes = notebook.to_string();
        let found = extract(bytes.as_bytes()).expect("a notebook");
        let start = "fit()\n\nOutput:\n2 of 2\naccuracy 0.9\na  b\n1  2\n$x$\ndone\nsaid\n{\"knots\":[7]}\n| A | B\n| A: 1 | B: 2\n\nOutput:\nOSError: read-only\n\nlog()";
        assert!(found.text.starts_with(start), "{}", &found.text[..200]);
        assert!(found.text.contains("first x") && found.text.ends_with("x last"));
        assert!(found.text.len() < 9000);
        let cells: Vec<u32> = found.places.iter().map(|(_, place)| place.first).collect();
        assert_eq!(cells, [1, 2, 3]);
        let note = found.note.expect("a note");
        assert!(
            note.contains("not read: 1") && note.contains("outputs are read: 1"),
            "{note}"
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
