//! Excel workbooks since 2007, read as streams: a sheet of a million rows costs the memory of its
//! text. Formulas give the values that were stored with them; one that no program has computed is
//! shown itself.

use std::collections::HashMap;

use super::builder::{Builder, MAX_ROW_BYTES, MAX_TEXT_BYTES, Sheet};
use super::cell_ranges::{column, read_merged};
use super::drawings;
use super::format::Extract;
use super::number_form::{GENERAL, NumberForm};
use super::package::{Package, Relationship};
use super::sheet_comments;
use super::sheet_rows::{add_notes, hidden_note};
use super::sheet_text::SheetText;
use super::xml::{Node, Tag, walk, walk_all, walk_tags};

/// Maximum XML of a sheet or of all shared strings that is read.
const MAX_XML_BYTES: u64 = 1 << 30;
/// Excel's last column, XFD.
const MAX_COLUMNS: usize = 16_384;
/// Excel's last row.
const MAX_ROWS: u32 = 1_048_576;

/// The parts of a workbook that the cells of all sheets refer to.
struct Workbook {
    strings: Strings,
    /// The forms of numbers, by cell style.
    forms: Vec<NumberForm>,
    settings: Settings,
}

/// The settings of a workbook that its values are read by.
#[derive(Default)]
struct Settings {
    counts_from_1904: bool,
    /// Whether programs are asked to compute it when they open it: the library that wrote it stored
    /// 0 for each formula.
    is_computed_on_load: bool,
}

/// The strings that cells share, one behind the other.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
    /// Whether they exceed the size of the text of one file.
    are_cut: bool,
}

impl Strings {
    fn add(&mut self, string: &str) {
        self.text.push_str(string);
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

/// A sheet of the workbook.
struct Listed {
    name: String,
    id: String,
    is_hidden: bool,
}

pub(super) fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut package = Package::open(bytes)?;
    // the package says which part is the workbook: its name is any
    let main = package.main_part()?;
    let main = main.unwrap_or_else(|| "xl/workbook.xml".to_owned());
    if !package.has(&main) {
        return Err("its content is not that of an Excel workbook".to_owned());
    }

    let (sheets, settings) = read_list(&package.xml(&main)?)?;
    let parts = package.relationships(&main)?;
    let path_of = |kind: &str| {
        let part = parts.iter().find(|part| part.is(kind));
        part.map(|part| part.path.clone())
    };
    let workbook = Workbook {
        strings: read_strings(&mut package, path_of("sharedStrings"))?,
        forms: read_number_forms(&mut package, path_of("styles"))?,
        settings,
    };

    let mut builder = Builder::default();
    let metadata = package.metadata("docProps/core.xml");
    let metadata = builder.take_or_note("docProps/core.xml", metadata);
    builder.metadata(metadata);
    if workbook.strings.are_cut {
        let mib = MAX_TEXT_BYTES >> 20;
        builder.note(format!(
            "the text of its cells exceeds {mib} MiB, and the rest is left out: split it to read all"
        ));
    }

    let persons = path_of("person").map_or(Ok(HashMap::new()), |path| {
        package.people(&path, "displayName")
    });
    let persons = builder.take_or_note("the list of persons", persons);

    let mut uncomputed = 0;
    let mut with_hidden = Vec::new();
    for listed in &sheets {
        let part = parts.iter().find(|part| part.id == listed.id);
        let is_sheet = |part: &&Relationship| part.is("worksheet") || part.is("chartsheet");
        let Some(part) = part.filter(is_sheet) else {
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
        match cut {
            Ok(found) => {
                uncomputed += found.uncomputed;
                with_hidden.extend(found.has_hidden.then_some(listed.name.as_str()));
            }
            Err(reason) => builder.note(format!("sheet {}: {reason}", listed.name)),
        }
        let related = package.relationships(&part.path);
        let related = builder.take_or_note("a list of parts", related);
        sheet_comments::add(&mut package, &related, &persons, &mut sheet, &mut builder);
        drawings::add(&mut package, &related, &mut sheet, &mut builder);
    }
    if !with_hidden.is_empty() {
        builder.note(hidden_note(&with_hidden));
    }
    let hidden = sheets.iter().filter(|sheet| sheet.is_hidden);
    let hidden: Vec<&str> = hidden.map(|sheet| sheet.name.as_str()).collect();
    add_notes(&hidden, uncomputed, &mut builder);
    Ok(builder.finish())
}

/// Returns the sheets of a workbook, and how its values are to be read.
fn read_list(xml: &str) -> Result<(Vec<Listed>, Settings), String> {
    let mut sheets = Vec::new();
    let mut settings = Settings::default();

    walk_tags(xml, &mut |tag| match tag.name() {
        "sheet" => {
            let [name, id, state] = tag.attributes(["name", "id", "state"]);
            sheets.push(Listed {
                name: name.unwrap_or_default(),
                id: id.unwrap_or_default(),
                is_hidden: state.is_some_and(|state| state != "visible"),
            });
        }
        // an extension of Excel 2013 has an element of this name without the attribute
        "workbookPr" => settings.counts_from_1904 |= is_true(tag, "date1904"),
        "calcPr" => settings.is_computed_on_load = is_true(tag, "fullCalcOnLoad"),
        _ => {}
    })?;

    Ok((sheets, settings))
}

/// Returns the shared strings, up to the size of the text of one file.
fn read_strings(package: &mut Package<'_>, path: Option<String>) -> Result<Strings, String> {
    let mut strings = Strings::default();

    let Some(path) = path.filter(|path| package.has(path)) else {
        return Ok(strings);
    };

    let mut string = SheetText::default();
    let mut bytes = 0;

    walk(package.stream(&path, MAX_XML_BYTES)?, &mut |node| {
        match node {
            Node::Open(tag) => string.open(tag),
            Node::Text(part) => {
                string.add(part);
                bytes += part.len();
            }
            Node::Close("si") => strings.add(&string.take()),
            Node::Close(name) => string.close(name),
        }
        bytes <= MAX_TEXT_BYTES
    })?;
    strings.are_cut = bytes > MAX_TEXT_BYTES;

    Ok(strings)
}

/// Returns the forms of numbers, by cell style.
fn read_number_forms(
    package: &mut Package<'_>,
    path: Option<String>,
) -> Result<Vec<NumberForm>, String> {
    let xml = match path {
        Some(path) => package.xml(&path)?,
        None => String::new(),
    };

    let mut own: HashMap<String, NumberForm> = HashMap::new();
    let mut forms = Vec::new();
    let mut is_cell_style = false;

    walk_all(&xml, &mut |node| match node {
        Node::Open(tag) => match tag.name() {
            "numFmt" => {
                let [id, code] = tag.attributes(["numFmtId", "formatCode"]);
                let form = NumberForm::from_code(&code.unwrap_or_default());
                own.insert(id.unwrap_or_default(), form);
            }
            // cells count the formats of this list; named styles have another one
            "cellXfs" => is_cell_style = true,
            "xf" if is_cell_style => {
                let id = tag.attribute("numFmtId").unwrap_or_default();
                let built_in = || NumberForm::from_built_in(id.parse().unwrap_or(0));
                forms.push(own.get(&id).cloned().unwrap_or_else(built_in));
            }
            _ => {}
        },
        Node::Close("cellXfs") => is_cell_style = false,
        Node::Close(_) | Node::Text(_) => {}
    })?;

    Ok(forms)
}

/// The row that is being read.
#[derive(Default)]
struct OpenRow {
    number: u32,
    next_column: usize,
    cells: Vec<(usize, String)>,
    bytes: usize,
    /// The cells of all rows so far that did not fit.
    cut_cells: usize,
}

/// The cell that is being read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    text: String,
    has_value: bool,
    has_formula: bool,
    formula: String,
    /// The number of the formula that it shares with other cells.
    shared: Option<String>,
}

/// Remarks on a sheet that was read.
#[derive(Default)]
struct SheetRemarks {
    /// The number of formulas without a stored value.
    uncomputed: usize,
    /// Whether rows or columns are hidden.
    has_hidden: bool,
}

/// Reads the rows of a sheet.
fn read_sheet(
    package: &mut Package<'_>,
    path: &str,
    workbook: &Workbook,
    sheet: &mut Sheet,
    builder: &mut Builder,
) -> Result<SheetRemarks, String> {
    let merged = read_merged(package, path, MAX_XML_BYTES);
    let mut remarks = SheetRemarks::default();
    let mut row = OpenRow::default();
    let mut cell = Cell::default();
    let mut shared = SharedFormulas::default();
    let mut text = SheetText::default();
    let mut is_formula = false;
    walk(package.stream(path, MAX_XML_BYTES)?, &mut |node| {
        match node {
            Node::Open(tag) => match tag.name() {
                "row" => {
                    remarks.has_hidden |= is_true(tag, "hidden");
                    row.begin(tag);
                }
                "col" => remarks.has_hidden |= is_true(tag, "hidden"),
                "c" => {
                    cell = Cell::from_tag(tag, row.next_column);
                    row.next_column = cell.column + 1;
                }
                "f" => {
                    is_formula = true;
                    cell.has_formula = true;
                    cell.shared = tag.attribute("si");
                }
                _ => {
                    cell.has_value |= matches!(tag.name(), "v" | "t");
                    text.open(tag);
                }
            },
            Node::Text(part) if is_formula => cell.formula.push_str(part),
            Node::Text(part) => text.add(part),
            Node::Close("f") => is_formula = false,
            Node::Close("c") => {
                cell.text = text.take();
                let is_uncomputed = cell.is_uncomputed(&workbook.settings);
                remarks.uncomputed += usize::from(is_uncomputed);
                let shown = if is_uncomputed {
                    shared.text(&cell, row.number)
                } else {
                    workbook.text(&cell)
                };
                row.add(&cell, shown);
            }
            Node::Close("row") if !row.cells.is_empty() => {
                for (column, text) in &row.cells {
                    if let Some(last) = merged.get(&(row.number, *column)) {
                        sheet.merge([row.number, *last], *column, text);
                    }
                }
                sheet.row(row.number, std::mem::take(&mut row.cells), builder);
            }
            Node::Close(name) => text.close(name),
        }
        !builder.is_full()
    })?;

    if row.cut_cells > 0 {
        let mib = MAX_ROW_BYTES >> 20;
        let cut_cells = row.cut_cells;
        return Err(format!(
            "{cut_cells} cells are left out, in rows of more than {mib} MiB"
        ));
    }
    Ok(remarks)
}

fn is_true(tag: &Tag<'_>, attribute: &str) -> bool {
    matches!(tag.attribute(attribute).as_deref(), Some("1" | "true"))
}

impl OpenRow {
    fn begin(&mut self, tag: &Tag<'_>) {
        let number = tag.attribute("r").and_then(|number| number.parse().ok());
        // the numbers of rows and cells may be left out: then they follow each other
        self.number = number.unwrap_or(self.number + 1).min(MAX_ROWS);
        self.next_column = 0;
        self.bytes = 0;
    }

    fn add(&mut self, cell: &Cell, text: String) {
        if text.is_empty() || cell.column >= MAX_COLUMNS {
            return;
        }
        self.bytes += text.len();
        // a string that cells share may stand in every one of them
        if cell.kind == "s" && self.bytes > MAX_ROW_BYTES {
            self.cut_cells += 1;
        } else {
            self.cells.push((cell.column, text));
        }
    }
}

impl Cell {
    fn from_tag(tag: &Tag<'_>, next_column: usize) -> Self {
        let [reference, style, kind] = tag.attributes(["r", "s", "t"]);
        let column = reference.and_then(|reference| column(&reference));
        let style = style.and_then(|style| style.parse().ok());
        Self {
            column: column.unwrap_or(next_column),
            kind: kind.unwrap_or_default(),
            style: style.unwrap_or(usize::MAX),
            ..Self::default()
        }
    }

    /// Returns whether it holds a formula and not its value. An empty string is a value.
    fn is_uncomputed(&self, settings: &Settings) -> bool {
        let value = self.text.trim();
        let is_stand_in = settings.is_computed_on_load && value == "0";
        let is_text = self.kind == "str" && self.has_value;
        self.has_formula && !is_text && (value.is_empty() || is_stand_in)
    }
}

/// The formulas that cells share: the first one of these cells has it, with its row.
#[derive(Default)]
struct SharedFormulas(HashMap<String, (String, u32)>);

impl SharedFormulas {
    /// Returns the formula of a cell. References of a shared one are those of its first cell.
    fn text(&mut self, cell: &Cell, row: u32) -> String {
        // the names of new functions stand behind a mark for old programs
        let formula = cell.formula.replace("_xlfn.", "").replace("_xlws.", "");
        let Some(id) = &cell.shared else {
            return format!("={formula}");
        };
        if !formula.is_empty() {
            self.0.insert(id.clone(), (formula.clone(), row));
        }
        match self.0.get(id) {
            Some((shared, first)) if *first < row => format!("={shared}, as in row {first}"),
            _ => format!("={formula}"),
        }
    }
}

impl Workbook {
    /// Returns the text of a cell as a reader of the sheet sees it.
    fn text(&self, cell: &Cell) -> String {
        let value = cell.text.as_str();
        let form = self.forms.get(cell.style).unwrap_or(&GENERAL);

        match cell.kind.as_str() {
            "s" => {
                let index: Option<usize> = value.trim().parse().ok();
                let string = index.and_then(|index| self.strings.get(index));
                form.words(string.unwrap_or_default().to_owned())
            }
            "str" | "inlineStr" => form.words(value.to_owned()),
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "d" => value.replace('T', " "),
            // a date is a number with a format
            "" | "n" => match value.trim().parse() {
                Ok(number) => form.text(number, self.settings.counts_from_1904),
                Err(_) => value.to_owned(),
            },
            _ => value.to_owned(),
        }
    }
}
