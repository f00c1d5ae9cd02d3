//! The pages of a PDF, read by unpdf.

use std::ops::ControlFlow;

use unpdf::{
    Block as Part, ErrorKind, ExtractionQuality, Outline, PageStreamOptions, ParseEvent,
    ParseOptions, PdfParser, Table, TableRow,
};

use super::super::builder::MAX_TEXT_BYTES;
use super::super::columns::Columns;
use super::pages::{Block, Page, Pages};
use super::titles::Title;
use crate::corpus::sentence::fold_white_space;
use crate::event::Metadata;

/// A file may announce any number of pages; more than these are never read.
const MAX_PAGES: usize = 100_000;

/// A longer cell does not name its column.
const MAX_NAME_CHARS: usize = 32;

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
                let page = read_page(&page);
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

    if quality.suppressed_text_runs > 0 {
        let runs = quality.suppressed_text_runs;
        remarks.push(format!(
            "{runs} pieces of text are left out: their fonts do not say which letters they are"
        ));
    }

    if quality.undecodable_content_streams > 0 {
        let streams = quality.undecodable_content_streams;
        remarks.push(format!("{streams} parts of pages cannot be unpacked"));
    }

    remarks
}

fn read_metadata(metadata: &unpdf::Metadata) -> Metadata {
    let text = |text: &Option<String>| {
        let text = text.as_deref()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Metadata {
        title: text(&metadata.title).filter(|title| !is_file_name(title)),
        author: text(&metadata.author),
        date: metadata
            .created
            .or(metadata.modified)
            .map(|date| date.date_naive().to_string()),
    }
}

/// Returns whether a title is none: word processors put the name of the file there.
fn is_file_name(title: &str) -> bool {
    let lower = title.to_lowercase();
    lower == "untitled"
        || lower.starts_with("microsoft word - ")
        || [".doc", ".docx", ".tex", ".dvi", ".indd", ".odt"]
            .iter()
            .any(|ending| lower.ends_with(ending))
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

fn read_page(page: &unpdf::Page) -> Page {
    let blocks: Vec<Block> = page.elements.iter().filter_map(block).collect();
    let has_picture = page.image_op_count > 0 || page.ocr_text_suppressed;
    Page {
        number: page.number,
        label: None,
        is_scanned: blocks.is_empty() && has_picture,
        blocks,
        annotations: Vec::new(),
    }
}

fn block(part: &Part) -> Option<Block> {
    let (text, level) = match part {
        Part::Paragraph(paragraph) => (paragraph.plain_text(), paragraph.heading_level()),
        Part::Table(table) => (rows(table), None),
        Part::Code { content } => (content.clone(), None),
        _ => return None,
    };
    let text = text.trim_end();
    (!text.trim().is_empty()).then(|| Block {
        text: text.to_owned(),
        level,
        is_table: matches!(part, Part::Table(_)),
    })
}

/// Returns a table with one row per line, each cell with the header of its column. A first row that
/// is too long for a header is a row like the others.
fn rows(table: &Table) -> String {
    let announced = usize::from(table.header_rows).min(table.rows.len());
    let last = announced.checked_sub(1).map(|last| &table.rows[last]);
    let header_rows = if last.is_some_and(is_header) {
        announced
    } else {
        0
    };
    let (header, body) = table.rows.split_at(header_rows);
    let mut columns = Columns::default();
    for (column, name) in header.last().map(cells).iter().flatten().enumerate() {
        columns.set(column, name);
    }
    if body.is_empty() {
        return header.iter().map(line_of).collect::<Vec<_>>().join("\n");
    }

    let named = |row: &TableRow| columns.line(cells(row).iter().map(String::as_str).enumerate());
    // what stands above the last row of a header spans columns
    let above = header[..header_rows.saturating_sub(1)].iter().map(line_of);
    let lines: Vec<String> = above
        .chain(body.iter().map(named))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("\n")
}

/// Returns whether a row names its columns: several, in a few words each.
fn is_header(row: &TableRow) -> bool {
    let cells = cells(row);
    let is_name = |cell: &String| cell.chars().count() <= MAX_NAME_CHARS && !cell.ends_with('.');
    cells.len() > 1 && cells.iter().all(is_name)
}

fn line_of(row: &TableRow) -> String {
    let cells = cells(row).into_iter();
    let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
    cells.join("; ")
}

fn cells(row: &TableRow) -> Vec<String> {
    row.cells
        .iter()
        .map(|cell| fold_white_space(&cell.plain_text()))
        .collect()
}
