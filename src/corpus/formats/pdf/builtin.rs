//! The pages of a PDF, read by unpdf.

use std::collections::HashSet;
use std::ops::ControlFlow;

use unpdf::{
    Block as Part, ErrorKind, ExtractionQuality, InlineContent, Outline, PageStreamOptions,
    Paragraph, ParseEvent, ParseOptions, PdfParser, Table, TableRow, TextStyle,
};

use super::super::builder::MAX_TEXT_BYTES;
use super::super::columns::Columns;
use super::super::script::{RaisedText, ScriptKind};
use super::pages::{Block, Page, Pages, pattern};
use super::titles::Title;
use crate::corpus::sentence::fold_white_space;
use crate::event::Metadata;

/// A file may announce any number of pages; more than these are never read.
const MAX_PAGES: usize = 100_000;

/// A longer cell does not name its column.
const MAX_NAME_CHARS: usize = 32;

/// Longer small text is none that is raised or lowered.
const MAX_SCRIPT_CHARS: usize = 8;

/// Reads all pages.
///
/// # Errors
/// The reason why the file has no text.
pub(super) fn read(bytes: &[u8]) -> Result<Pages, String> {
    let mut options = ParseOptions::new().sequential();
    options.extract_resources = false;
    let parser = PdfParser::from_bytes_with_options(bytes, options).map_err(refuse)?;

    let mut pages = Pages::default();
    let mut failed = Vec::new();
    let mut text_bytes = 0;
    let mut open = None;
    let stream = PageStreamOptions {
        parallel: false,
        ..PageStreamOptions::default()
    };
    let quality = parser.for_each_page(stream, |event| {
        match event {
            ParseEvent::DocumentStart {
                metadata, outline, ..
            } => {
                pages.metadata = read_metadata(&metadata);
                pages.outline = outline.as_ref().map(titles).unwrap_or_default();
            }
            ParseEvent::PageParsed(page) => {
                let page = read_page(&page, &mut open);
                text_bytes += page.text_bytes();
                pages.pages.push(page);
            }
            ParseEvent::PageFailed { page, .. } => failed.push(page),
            ParseEvent::Progress { .. } | ParseEvent::DocumentEnd { .. } => {}
        }
        if pages.pages.len() + failed.len() < MAX_PAGES && text_bytes < MAX_TEXT_BYTES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    let quality = quality.map_err(refuse)?;

    if text_bytes >= MAX_TEXT_BYTES {
        let mib = MAX_TEXT_BYTES >> 20;
        let last = pages.pages.pop().map_or(0, |page| page.number);
        pages.remarks.push(format!(
            "its text exceeds {mib} MiB, and what follows page {} is left out: split it to read all",
            last.saturating_sub(1)
        ));
    }

    if let Some(first) = failed.first() {
        let count = failed.len();
        pages.remarks.push(match count {
            1 => format!("page {first} cannot be read"),
            _ => format!("{count} pages cannot be read, the first is {first}"),
        });
    }
    pages.remarks.extend(remarks(&quality));
    Ok(pages)
}

fn refuse(error: unpdf::Error) -> String {
    match error.kind() {
        ErrorKind::Encrypted | ErrorKind::InvalidPassword => {
            "it needs a password: save a copy without one to read it".to_owned()
        }
        _ => format!("it cannot be read as PDF: {error}"),
    }
}

/// Returns what the reader left out.
fn remarks(quality: &ExtractionQuality) -> Vec<String> {
    let mut remarks = Vec::new();
    if quality.pages_incomplete {
        remarks.push("pages are missing: the file is damaged".to_owned());
    }
    match quality.suppressed_text_runs {
        0 => {}
        runs => remarks.push(format!(
            "{runs} pieces of text are left out: their fonts do not say which letters they are"
        )),
    }
    match quality.undecodable_content_streams {
        0 => {}
        streams => remarks.push(format!("{streams} parts of pages cannot be unpacked")),
    }
    remarks
}

fn read_metadata(metadata: &unpdf::Metadata) -> Metadata {
    let text = |text: &Option<String>| {
        let text = text.as_deref()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let date = metadata.created.or(metadata.modified);
    Metadata {
        title: text(&metadata.title).filter(|title| !is_file_name(title)),
        author: text(&metadata.author),
        date: date.map(|date| date.date_naive().to_string()),
        ..Metadata::default()
    }
}

/// Returns whether a title is none: word processors put the name of the file there.
fn is_file_name(title: &str) -> bool {
    let lower = title.to_lowercase();
    let endings = [".doc", ".docx", ".tex", ".dvi", ".indd", ".odt"];
    endings.iter().any(|ending| lower.ends_with(ending))
}

/// Returns the titles of an outline in the order of the document.
fn titles(outline: &Outline) -> Vec<Title> {
    let mut titles = Vec::new();
    let mut rest: Vec<_> = outline.items.iter().rev().collect();
    while let Some(item) = rest.pop() {
        rest.extend(item.children.iter().rev());
        titles.push(Title {
            text: item.title.clone(),
            page: item.page,
            level: item.level.saturating_add(1),
        });
    }
    titles
}

fn read_page(page: &unpdf::Page, open: &mut Option<OpenTable>) -> Page {
    let blocks = blocks(&page.elements, open);
    let has_picture = page.image_op_count > 0 || page.ocr_text_suppressed;
    Page {
        number: page.number,
        label: None,
        is_scanned: blocks.is_empty() && has_picture,
        blocks,
        annotations: Vec::new(),
    }
}

/// The last table of a page, which the next page may continue.
struct OpenTable {
    /// The names of its columns, and its last row.
    names: Vec<String>,
    last: Vec<String>,
    /// The patterns of the paragraphs below it, and of all on its page: what is on both pages is a
    /// header or a footer.
    below: Vec<Option<String>>,
    on_page: HashSet<String>,
}

impl OpenTable {
    /// Returns whether a row on the next page may be one of this table, and not its header or that
    /// of another: figures are below figures.
    fn is_continued_by(&self, row: &[String]) -> bool {
        let mut pairs = self.last.iter().zip(row);
        !self.names.is_empty()
            && self.names.len() == row.len()
            && self.names != row
            && pairs.all(|(above, cell)| !has_figure(above) || has_figure(cell) || cell.is_empty())
    }

    /// Returns whether its last row has a figure, by which a row below is known.
    fn has_figure(&self) -> bool {
        self.last.iter().any(|cell| has_figure(cell))
    }

    /// Returns how many parts are rows of it that the reader found no lines around. A single one of
    /// two words may be anything.
    fn count_rows(&self, parts: &[Part]) -> usize {
        let is_row = |part: &&Part| match part {
            Part::Paragraph(paragraph) => {
                paragraph.heading_level().is_none() && self.is_row(&words(&text_of(paragraph)))
            }
            _ => false,
        };
        let count = parts.iter().take_while(is_row).count();
        let is_sure = count > 1 || self.names.len() > 2;
        if is_sure { count } else { 0 }
    }

    fn is_row(&self, words: &[String]) -> bool {
        let figures = |row: &[String]| row.iter().map(|cell| has_figure(cell)).collect::<Vec<_>>();
        self.is_continued_by(words) && self.has_figure() && figures(&self.last) == figures(words)
    }
}

fn has_figure(cell: &str) -> bool {
    cell.contains(|c: char| c.is_ascii_digit())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns the blocks of a page, and notes its last table.
fn blocks(parts: &[Part], open: &mut Option<OpenTable>) -> Vec<Block> {
    let pattern_of = |part: &Part| match part {
        Part::Paragraph(paragraph) => pattern(&paragraph.plain_text()),
        _ => None,
    };
    let on_page: HashSet<String> = parts.iter().filter_map(pattern_of).collect();
    let is_on = |page: &HashSet<String>, pattern: &Option<String>| {
        let pattern = pattern.as_ref();
        pattern.is_some_and(|pattern| page.contains(pattern))
    };
    let mut above = open.take();
    above = above.filter(|table| table.below.iter().all(|part| is_on(&on_page, part)));

    let mut blocks = Vec::new();
    // the end of the parts that are rows of the table above
    let mut rows_end = 0;
    for (index, part) in parts.iter().enumerate() {
        let pattern = pattern_of(part);
        let table = above.take();
        let block = match part {
            Part::Table(found) => {
                let (text, names) = rows(found, table);
                *open = found.rows.last().map(|last| OpenTable {
                    names,
                    last: cells(last),
                    below: Vec::new(),
                    on_page: on_page.clone(),
                });
                Block {
                    is_table: true,
                    ..Block::new(text)
                }
            }
            Part::Paragraph(paragraph) => {
                let text = text_of(paragraph);
                if let Some(table) = table.as_ref().filter(|_| index >= rows_end) {
                    rows_end = index + table.count_rows(&parts[index..]);
                }
                let row = table.as_ref().filter(|_| index < rows_end);
                let row =
                    row.map(|table| columns(&table.names).line(numbered_cells(&words(&text))));
                above = table.filter(|table| row.is_some() || is_on(&table.on_page, &pattern));
                Block {
                    level: paragraph.heading_level(),
                    is_table: row.is_some(),
                    text: row.unwrap_or(text),
                }
            }
            Part::Code { content } => Block::new(content.clone()),
            _ => {
                above = table;
                continue;
            }
        };
        if !matches!(part, Part::Table(_)) {
            let below = open.iter_mut().map(|table| &mut table.below);
            below.for_each(|below| below.push(pattern.clone()));
        }
        let text = block.text.trim_end().to_owned();
        if !text.trim().is_empty() {
            blocks.push(Block { text, ..block });
        }
    }
    blocks
}

/// Returns the text of a paragraph, with raised and lowered signs as such.
fn text_of(paragraph: &Paragraph) -> String {
    let plain = paragraph.plain_text();
    let mut text = RaisedText::default();
    let mut bytes = 0;
    for part in &paragraph.content {
        let (piece, kind) = match part {
            InlineContent::Text(run) => (run.text.as_str(), script(&run.text, &run.style)),
            InlineContent::Link { text, style, .. } => (text.as_str(), script(text, style)),
            InlineContent::LineBreak => ("\n", None),
            InlineContent::Image { alt_text, .. } => {
                (alt_text.as_deref().unwrap_or_default(), None)
            }
        };
        bytes += piece.len();
        text.push(piece, kind);
    }
    // the mark of a list item is no part of its content
    let mark = plain.len().saturating_sub(bytes);
    format!("{}{}", &plain[..mark], text.finish())
}

fn script(text: &str, style: &TextStyle) -> Option<ScriptKind> {
    let kind = ScriptKind::from_flags(style.superscript, style.subscript)?;
    let text = text.trim();
    let is_short = text.chars().count() <= MAX_SCRIPT_CHARS && !text.contains(char::is_whitespace);
    is_short.then_some(kind)
}

/// Returns a table with one row per line, each cell with the name of its column, and the names.
/// They are those of the table above that it continues, or its first row, unless that is too long
/// for a header.
fn rows(table: &Table, above: Option<OpenTable>) -> (String, Vec<String>) {
    let rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
    let first = rows.first().map_or([].as_slice(), Vec::as_slice);
    let announced = usize::from(table.header_rows).min(rows.len());
    let above = above
        .filter(|above| above.is_continued_by(first) && (announced == 0 || above.has_figure()));
    let last = announced.checked_sub(1).map(|last| &rows[last]);
    let (header_rows, names) = match (above, last) {
        (Some(above), _) => (0, above.names),
        (None, Some(last)) if is_header(last) => (announced, last.clone()),
        (None, _) => (0, Vec::new()),
    };
    let (header, body) = rows.split_at(header_rows);
    let columns = columns(if body.is_empty() { &[] } else { &names });
    // what stands above the last row of a header spans columns
    let above = header_rows.saturating_sub(usize::from(!body.is_empty()));
    let plain = Columns::default();
    let above = header[..above].iter().map(|row| (row, &plain));
    let all = above.chain(body.iter().map(|row| (row, &columns)));
    let lines = all.map(|(row, columns)| columns.line(numbered_cells(row)));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    (lines.join("\n"), names)
}

fn columns(names: &[String]) -> Columns {
    let mut columns = Columns::default();
    for (column, name) in names.iter().enumerate() {
        columns.set(column, name);
    }
    columns
}

/// Returns whether a row names its columns: several, in a few words each.
fn is_header(row: &[String]) -> bool {
    let is_name = |cell: &String| cell.chars().count() <= MAX_NAME_CHARS && !cell.ends_with('.');
    row.len() > 1 && row.iter().all(is_name)
}

fn numbered_cells(row: &[String]) -> impl Iterator<Item = (usize, &str)> + Clone {
    row.iter().map(String::as_str).enumerate()
}

fn cells(row: &TableRow) -> Vec<String> {
    let cells = row.cells.iter().map(|cell| {
        let texts: Vec<String> = cell.content.iter().map(text_of).collect();
        fold_white_space(&texts.join(" "))
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpdf::TextRun;

    fn paragraph(text: &str) -> Part {
        Part::Paragraph(Paragraph::with_text(text))
    }

    /// Returns a table by its rows, of which the first one is announced as its header.
    fn table(rows: &[&str]) -> Part {
        let mut table = Table::with_header(1);
        table.rows = rows
            .iter()
            .map(|row| TableRow::from_strings(row.split('|')))
            .collect();
        Part::Table(table)
    }

    #[test]
    fn a_table_continues_on_the_next_page() {
        let first = || table(&["Code|Boat", "K1|gig", "K2|yawl"]);
        let words = || table(&["Boat|Port", "gig|Bray"]);
        let without_header = |rows: &[&str]| {
            let Part::Table(mut table) = table(rows) else {
                unreachable!("a table");
            };
            table.header_rows = 0;
            Part::Table(table)
        };
        let heading = Part::Paragraph(Paragraph::heading("Chapter 4", 1));
        let cases = [
            // the next page, and its text
            (
                vec![first()],
                vec![table(&["K3|cog", "K4|cog"])],
                "Code: K3; Boat: cog\nCode: K4; Boat: cog",
            ),
            (
                vec![first()],
                vec![first()],
                "Code: K1; Boat: gig\nCode: K2; Boat: yawl",
            ),
            (
                vec![first()],
                vec![table(&["Name|Port", "Ida|Bray"])],
                "Name: Ida; Port: Bray",
            ),
            (vec![first()], vec![table(&["K3|cog|7"])], "K3; cog; 7"),
            (
                vec![words()],
                vec![without_header(&["cog|Bray", "hulk|Lorby"])],
                "Boat: cog; Port: Bray\nBoat: hulk; Port: Lorby",
            ),
            (
                vec![words()],
                vec![table(&["Captain|Harbour", "Ida|Bergen"])],
                "Captain: Ida; Harbour: Bergen",
            ),
            // a row without lines, and no row
            (
                vec![first()],
                vec![
                    paragraph("K3 cog"),
                    paragraph("K4 hulk"),
                    paragraph("After."),
                ],
                "Code: K3; Boat: cog\nCode: K4; Boat: hulk\nAfter.",
            ),
            (
                vec![table(&["Code|Boat|Port", "K1|gig|Bray"])],
                vec![paragraph("K3 cog Lorby")],
                "Code: K3; Boat: cog; Port: Lorby",
            ),
            (
                vec![table(&["Item|Price", "Total|35"])],
                vec![paragraph("Chapter 4"), paragraph("After.")],
                "Chapter 4\nAfter.",
            ),
            (
                vec![table(&["Item|Price", "Total|35"])],
                vec![heading, paragraph("Part 7"), paragraph("After.")],
                "Chapter 4\nPart 7\nAfter.",
            ),
            (vec![first()], vec![paragraph("After that.")], "After that."),
            // a header and a footer, and other text
            (
                vec![paragraph("Log 1"), first(), paragraph("p. 1")],
                vec![paragraph("Log 2"), table(&["K3|cog"]), paragraph("p. 2")],
                "Log 2\nCode: K3; Boat: cog\np. 2",
            ),
            (
                vec![first()],
                vec![paragraph("Ports"), table(&["K3|cog", "K4|hulk"])],
                "Ports\nK3: K4; cog: hulk",
            ),
            (
                vec![first(), paragraph("Ports")],
                vec![table(&["K3|cog", "K4|hulk"])],
                "K3: K4; cog: hulk",
            ),
        ];
        for (before, next, expected) in cases {
            let mut open = None;
            blocks(&before, &mut open);
            let found: Vec<String> = blocks(&next, &mut open)
                .into_iter()
                .map(|block| block.text)
                .collect();
            assert_eq!(found.join("\n"), expected);
        }
    }

    #[test]
    fn raised_signs_stay_apart() {
        let mut raised = Paragraph::new();
        for (text, superscript) in [
            ("10", false),
            ("6", true),
            (" l since 1931", false),
            ("3", true),
            (" in", false),
            (" a small line", true),
        ] {
            let style = TextStyle {
                superscript,
                ..TextStyle::default()
            };
            raised.add_run(TextRun {
                text: text.to_owned(),
                style,
            });
        }
        assert_eq!(text_of(&raised), "10⁶ l since 1931 ³ in a small line");
    }
}
