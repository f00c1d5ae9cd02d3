//! Word and PowerPoint files, read by undoc. Macros are never run.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use undoc::model::{Block, Cell, Document, Paragraph, Section, Table};
use undoc::pptx::PptxParser;
use undoc::{ParseEvent, SectionStreamOptions};

use super::builder::{Builder, Rows, comment_label, day, named, one_line, run_lengths};
use super::drawings::chart_texts;
use super::format::{Extract, Format, Reader};
use super::html;
use super::office_parts;
use super::office_runs::OUTLINE_STYLE;
use super::package::{ENCRYPTED, Package, Relationship, hidden_slides_note, is_xml, property_kind};
use super::script::{RaisedText, ScriptKind};
use super::xml::{Node, walk_all, walk_tags};
use crate::corpus::decode::decode;
use crate::corpus::outline::Heading;
use crate::event::{Metadata, Place, PlaceUnit, saturating_u32};

pub(super) const WORD: Format = Format {
    name: "Word",
    extensions: &["docx", "docm", "dotx", "dotm", "doc", "dot"],
    library: "undoc",
    place: "heading",
    reader: Reader::Binary(read_word),
};

pub(super) const POWERPOINT: Format = Format {
    name: "PowerPoint",
    extensions: &["pptx", "pptm", "ppsx", "ppsm", "potx", "ppt", "pps"],
    library: "undoc",
    place: "slide",
    reader: Reader::Binary(read_powerpoint),
};

/// Tables in cells of tables beyond this depth are left out.
const MAX_TABLE_DEPTH: u8 = 8;
/// A longer table in a cell is below its row.
const MAX_NESTED_BYTES: usize = 400;
/// The level in an outline, from 0, of text that is no heading.
const BODY_LEVEL: u8 = 9;
/// The level of bold lines, until it is known that the document has no other headings.
const BOLD_LEVEL: u8 = u8::MAX;
/// More bold lines one below the other are no headings.
const MAX_BOLD_RUN: usize = 2;
/// A longer bold line is text.
const MAX_BOLD_BYTES: usize = 80;
/// Bold lines that are a larger share of the text are no headings.
const MAX_BOLD_SHARE: f64 = 0.2;
const ZIP: &[u8] = b"PK";

fn read_word(bytes: &[u8]) -> Result<Extract, String> {
    let mut builder = Builder::default();
    let mut margins = HashSet::new();
    let mut rows = Rows::default();
    let mut add = |bytes: &[u8], continues_table, builder: &mut Builder| -> Result<bool, String> {
        let document = parse(bytes)?;
        builder.metadata(metadata(&document.metadata));
        for section in &document.sections {
            add_margin("Header", section.header.as_deref(), &mut margins, builder);
            let continues_table = continues_table && section.index == 0;
            add_blocks(section, continues_table, &mut rows, builder);
            add_margin("Footer", section.footer.as_deref(), &mut margins, builder);
        }
        Ok(!builder.is_full())
    };

    if bytes.starts_with(ZIP) {
        let mut package = Package::open(bytes)?;
        let related = office_parts::visit_pieces(bytes, &mut package, &mut builder, &mut add)?;
        add_drawings(&mut package, &related, &mut builder);
        add_chunks(&mut package, &related, &mut builder);
        add_comments(&mut package, &related, &HashMap::new(), &mut builder);
    } else {
        add(bytes, false, &mut builder)?;
    }

    let mut extract = builder.finish();
    settle_bold_lines(&mut extract);
    Ok(extract.with_raised_title())
}

/// Makes the bold lines of a document headings where it has no others.
fn settle_bold_lines(extract: &mut Extract) {
    let headings = extract.headings.iter();
    let bold = headings.filter(|heading| heading.level == BOLD_LEVEL);
    let bytes: usize = bold.map(|heading| heading.range.len()).sum();
    let is_title = |heading: &Heading| heading.level == 0 || heading.level == BOLD_LEVEL;
    let are_headings = extract.headings.iter().all(is_title)
        && bytes as f64 <= extract.text.len() as f64 * MAX_BOLD_SHARE;
    // bold lines one below the other are facts, as on an invoice
    let is_next = |one: &Heading, next: &Heading| {
        let between = extract.text.get(one.range.end..next.range.start);
        between.is_some_and(|between| between.trim().is_empty())
    };
    let mut runs = run_lengths(&extract.headings, is_next).into_iter();
    extract.headings.retain(|heading| {
        let run = runs.next().unwrap_or_default();
        heading.level != BOLD_LEVEL || are_headings && run <= MAX_BOLD_RUN
    });
    for heading in &mut extract.headings {
        heading.level = match heading.level {
            BOLD_LEVEL => 1,
            level => level.min(BODY_LEVEL),
        };
    }
}

/// Adds the header or footer of a section, unless another section has the same.
fn add_margin(
    name: &str,
    paragraphs: Option<&[Paragraph]>,
    added: &mut HashSet<String>,
    builder: &mut Builder,
) {
    let lines: Vec<String> = paragraphs.unwrap_or_default().iter().map(text).collect();
    let lines = one_line(&lines.join(" "));
    if !lines.is_empty() && added.insert(lines.clone()) {
        builder.paragraph(&format!("{name}: {lines}"));
    }
}

/// Adds of the drawings of a part what undoc leaves out: the nodes of diagrams (SmartArt), and the
/// titles of charts, where it has that of an axis in the place of the chart's.
fn add_drawings(package: &mut Package<'_>, related: &[Relationship], builder: &mut Builder) {
    for drawing in related {
        let path = &drawing.path;
        if drawing.is("diagramData") {
            let nodes = package.diagram_nodes(path);
            for node in builder.take_or_note(path, nodes) {
                builder.line(&format!("- {node}"));
            }
        } else if drawing.is("chart") {
            let titles = chart_texts(package, path, false);
            let titles = builder.take_or_note(path, titles);
            if !titles.is_empty() {
                builder.paragraph(&format!("Chart: {}", titles.join("; ")));
            }
        }
    }
}

/// Adds the pages that a document holds as they are (`altChunk`), and notes other such parts.
fn add_chunks(package: &mut Package<'_>, related: &[Relationship], builder: &mut Builder) {
    for chunk in related.iter().filter(|part| part.is("aFChunk")) {
        let path = &chunk.path;
        if path.ends_with("html") || path.ends_with("htm") {
            let bytes = package.bytes(path);
            let page = bytes.and_then(|bytes| decode(bytes.unwrap_or_default()));
            let page = builder.take_or_note(path, page);
            builder.append(html::extract(&page.traced.text));
        } else {
            builder.note(format!(
                "{path} is not read: open and save the file in Word"
            ));
        }
    }
}

/// Adds the comments on a document or a slide, which undoc leaves out.
/// `authors` are the names of those who are numbers in it.
fn add_comments(
    package: &mut Package<'_>,
    related: &[Relationship],
    authors: &HashMap<String, String>,
    builder: &mut Builder,
) {
    for comments in related.iter().filter(|part| part.is("comments")) {
        let path = &comments.path;
        let read = package.visit_comments(path, &mut |author, text| {
            if !text.trim().is_empty() {
                let author = authors.get(author).map_or(author, String::as_str);
                builder.paragraph(&(comment_label(author) + text.trim()));
            }
            !builder.is_full()
        });
        builder.take_or_note(path, read);
    }
}

fn read_powerpoint(bytes: &[u8]) -> Result<Extract, String> {
    let mut builder = Builder::default();
    if !bytes.starts_with(ZIP) {
        let document = parse(bytes)?;
        builder.metadata(metadata(&document.metadata));
        for (index, section) in document.sections.iter().enumerate() {
            add_slide(index, section, &mut builder);
            add_notes(&stored_notes(section), &mut builder);
        }
        return Ok(builder.finish());
    }

    read_slides(bytes, &mut builder)?;
    let extract = builder.finish();
    Ok(extract.with_raised_title())
}

/// Reads the slides of a file since 2007, one after another.
fn read_slides(bytes: &[u8], builder: &mut Builder) -> Result<(), String> {
    let mut package = Package::open(bytes)?;
    package.check(is_xml)?;

    let (changes, hidden) = office_parts::slide_changes(&mut package, builder);
    let mut parts = SlideParts::new(package, builder)?;
    builder.hide(hidden.shapes);
    builder.notes(hidden_slides_note(&parts.numbers(&hidden.slides)));
    let copy = office_parts::copy_xml(bytes, None, &changes, &[])?;
    drop(changes);
    let mut parser = PptxParser::from_bytes(copy).map_err(|error| reason(&error))?;

    let options = SectionStreamOptions {
        lenient: true,
        extract_resources: false,
    };

    let read = parser.for_each_section(options, |event| {
        match event {
            ParseEvent::DocumentStart { metadata: of, .. } => builder.metadata(metadata(of)),
            ParseEvent::SectionParsed(section) => {
                add_slide(section.index, section, builder);
                parts.add(section.index, builder);
            }
            ParseEvent::SectionFailed { index, .. } => {
                builder.note(format!("slide {} cannot be read", index + 1));
            }
            ParseEvent::DocumentEnd | ParseEvent::ResourceExtracted { .. } => {}
        }
        if builder.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });

    read.map_err(|error| reason(&error))
}

fn add_slide(index: usize, section: &Section, builder: &mut Builder) {
    builder.part();
    builder.place(Place {
        name: title(section),
        ..Place::new(PlaceUnit::Slide, saturating_u32(index + 1))
    });
    add_blocks(section, false, &mut Rows::default(), builder);
}

fn add_notes(notes: &str, builder: &mut Builder) {
    if !notes.trim().is_empty() {
        builder.paragraph(&format!("Notes: {}", notes.trim()));
    }
}

fn parse(bytes: &[u8]) -> Result<Document, String> {
    undoc::parse_bytes(bytes).map_err(|error| reason(&error))
}

/// Returns the reason for users why undoc does not read a file.
fn reason(error: &undoc::Error) -> String {
    match error.kind() {
        undoc::ErrorKind::Encrypted => ENCRYPTED.to_owned(),
        undoc::ErrorKind::UnknownFormat => "its content is not that of an Office file".to_owned(),
        _ => format!("it is damaged ({error})"),
    }
}

fn metadata(of: &undoc::Metadata) -> Metadata {
    let date = of.modified.as_ref().or(of.created.as_ref());
    Metadata {
        title: of.title.as_deref().and_then(named),
        author: of.author.as_deref().and_then(named),
        date: date.and_then(|date| day(date)),
        ..Metadata::default()
    }
}

/// Adds the blocks of a section. `rows` are those of the last table so far, which the first block
/// may continue.
fn add_blocks(section: &Section, continues_table: bool, rows: &mut Rows, builder: &mut Builder) {
    for (at, block) in section.content.iter().enumerate() {
        match block {
            Block::Paragraph(paragraph) => add_paragraph(paragraph, builder),
            Block::Table(table) => {
                if at > 0 || !continues_table {
                    *rows = Rows::default();
                }
                add_table(table, 0, rows, builder);
            }
            Block::Note { content, .. } => {
                let texts = content.iter().map(text);
                texts.for_each(|text| builder.paragraph(&text));
            }
            Block::Image { alt_text, .. } => {
                builder.paragraph(alt_text.as_deref().unwrap_or_default());
            }
            Block::PageBreak | Block::SectionBreak => {}
        }
    }
}

fn add_paragraph(paragraph: &Paragraph, builder: &mut Builder) {
    let text = text(paragraph);
    if let Some(level) = heading_level(paragraph) {
        builder.heading(level, &text);
    } else if let Some(list) = &paragraph.list_info {
        let mark = list.number.map_or("-".to_owned(), |n| format!("{n}."));
        if !text.trim().is_empty() {
            builder.line(&format!("{mark} {}", text.trim()));
        }
    } else if is_bold_line(paragraph, &text) {
        builder.heading(BOLD_LEVEL, &text);
    } else {
        builder.paragraph(&text);
    }

    for image in &paragraph.images {
        builder.paragraph(image.alt_text.as_deref().unwrap_or_default());
    }
}

/// Returns the level of a heading, by its style or by its own properties. The title of a document
/// is above its first-level headings, of which undoc makes it one.
fn heading_level(paragraph: &Paragraph) -> Option<u8> {
    let style = paragraph.style_name.as_deref();
    if style.is_some_and(|style| style.eq_ignore_ascii_case("title")) {
        return Some(0);
    }
    let own = paragraph.style_id.as_deref();
    let own = own.and_then(|style| style.strip_prefix(OUTLINE_STYLE)?.parse::<u8>().ok());
    let own = own.filter(|level| *level < BODY_LEVEL);
    let named = || paragraph.is_heading().then(|| paragraph.heading.level());
    own.map(|level| level + 1).or_else(named)
}

/// Returns whether a paragraph is a short bold line that ends no sentence.
fn is_bold_line(paragraph: &Paragraph, text: &str) -> bool {
    let text = text.trim();
    let mut runs = paragraph.runs.iter();
    text.len() <= MAX_BOLD_BYTES
        && !text.contains('\n')
        && text.contains(char::is_alphabetic)
        && !text.ends_with(['.', ',', ';', '!', '?'])
        // a value with its name
        && !text.contains(": ")
        && runs.all(|run| run.style.bold || run.text.trim().is_empty())
}

/// Returns the text of a paragraph, without the numbers of its notes.
fn text(paragraph: &Paragraph) -> String {
    let mut text = RaisedText::default();
    for run in &paragraph.runs {
        let kind = ScriptKind::from_flags(run.style.superscript, run.style.subscript);
        text.push(&run.text, kind);
        if run.line_break || run.page_break {
            text.push("\n", None);
        }
    }
    text.finish()
}

fn add_table(table: &Table, depth: u8, rows: &mut Rows, builder: &mut Builder) {
    if depth > MAX_TABLE_DEPTH {
        return;
    }

    builder.paragraph(table.caption.as_deref().unwrap_or_default());
    let is_layout = table.rows.iter().all(|row| row.cells.len() < 2);

    for (mut cells, row) in grid(table).into_iter().zip(&table.rows) {
        let mut below = Vec::new();
        for (cell, (_, text)) in row.cells.iter().zip(&mut cells) {
            for nested in &cell.nested_tables {
                let mut inner = Builder::default();
                add_table(nested, depth + 1, &mut Rows::default(), &mut inner);
                let inner = inner.finish();
                match nested_rows(&inner).filter(|_| !is_layout) {
                    Some(rows) => *text += &format!("\n{rows}"),
                    None => below.push(inner),
                }
            }
        }

        if is_layout {
            let paragraphs = row.cells.iter().flat_map(|cell| &cell.content);
            paragraphs.for_each(|paragraph| add_paragraph(paragraph, builder));
        } else {
            for ((column, text), cell) in cells.iter().zip(&row.cells) {
                rows.merge(*column, text, cell.row_span);
            }
            rows.add(cells, builder);
        }

        below.into_iter().for_each(|inner| builder.append(inner));
    }
}

/// Returns the rows of a small table in a cell as a part of that; `None` for another one.
fn nested_rows(table: &Extract) -> Option<String> {
    let rows = table.rows.iter().map(|row| &table.text[row.clone()]);
    let mut rows: Vec<&str> = rows.collect();
    let bytes: usize = rows.iter().map(|row| row.len() + 1).sum();
    if bytes > MAX_NESTED_BYTES || bytes != table.text.len() + 1 {
        return None;
    }
    // the names of the columns are in the rows below them
    if let [names, first, ..] = rows.as_slice() {
        let name = names.split("; ").next().unwrap_or_default();
        let is_header = first.starts_with(&format!("{name}: "));
        rows.drain(..usize::from(is_header));
    }
    Some(rows.join("\n").replace("; ", ", "))
}

/// Returns the text of the cells of a table, each with its column.
fn grid(table: &Table) -> Vec<Vec<(usize, String)>> {
    let text_of = |cell: &Cell| {
        let lines: Vec<String> = cell.content.iter().map(text).collect();
        lines.join("\n")
    };
    let columns = table.cell_columns();
    let rows = columns.into_iter().zip(&table.rows);
    let rows = rows.map(|(columns, row)| {
        let cells = columns.into_iter().zip(&row.cells);
        cells
            .map(|(column, cell)| (column, text_of(cell)))
            .collect()
    });
    rows.collect()
}

/// Returns the title of a slide: its first heading.
fn title(slide: &Section) -> Option<String> {
    let mut blocks = slide.content.iter();
    blocks.find_map(|block| match block {
        Block::Paragraph(paragraph) if paragraph.is_heading() => named(&text(paragraph)),
        _ => None,
    })
}

fn stored_notes(section: &Section) -> String {
    let notes = section.notes.iter().flatten().map(text);
    notes.collect::<Vec<_>>().join("\n")
}

/// The parts of a presentation beside its slides. undoc assumes that notes have the number of their
/// slide; their relationships say which slide they belong to.
struct SlideParts<'a> {
    package: Package<'a>,
    /// The paths of the slides, in their order.
    slides: Vec<Option<String>>,
    /// The names of the people who comment on them, by their numbers.
    authors: HashMap<String, String>,
}

impl<'a> SlideParts<'a> {
    fn new(mut package: Package<'a>, builder: &mut Builder) -> Result<Self, String> {
        let presentation = package.xml("ppt/presentation.xml")?;
        let parts = package.relationships("ppt/presentation.xml")?;

        let mut authors = HashMap::new();
        let with_names = |part: &&Relationship| part.is("commentAuthors") || part.is("authors");
        for part in parts.iter().filter(with_names) {
            let names = package.people(&part.path, "name");
            authors.extend(builder.take_or_note(&part.path, names));
        }

        let mut slides = Vec::new();
        walk_tags(&presentation, &mut |tag| {
            if tag.name() == "sldId"
                && let Some(id) = tag.attribute("r:id")
            {
                let part = parts.iter().find(|part| part.id == id);
                slides.push(part.map(|part| part.path.clone()));
            }
        })?;

        Ok(Self {
            package,
            slides,
            authors,
        })
    }

    /// Returns the numbers of slides, from 1.
    fn numbers(&self, paths: &HashSet<String>) -> Vec<u32> {
        let is_one = |path: &Option<String>| path.as_ref().is_some_and(|path| paths.contains(path));
        let slides = (1..).zip(&self.slides);
        let slides = slides.filter(|(_, path)| is_one(path));
        slides.map(|(number, _)| number).collect()
    }

    /// Adds the parts of a slide, from 0.
    fn add(&mut self, index: usize, builder: &mut Builder) {
        let Some(Some(slide)) = self.slides.get(index) else {
            return;
        };
        let related = self.package.relationships(slide);
        let related = builder.take_or_note("a list of parts", related);

        add_drawings(&mut self.package, &related, builder);
        add_comments(&mut self.package, &related, &self.authors, builder);
        if let Some(page) = related.iter().find(|part| part.is("notesSlide")) {
            let notes = self.package.xml(&page.path);
            let notes = notes.and_then(|xml| notes_text(&xml));
            add_notes(&builder.take_or_note(&page.path, notes), builder);
        }
    }
}

/// Returns the text of the body of a notes page, without its header, footer, date and number.
fn notes_text(xml: &str) -> Result<String, String> {
    let mut text = RaisedText::default();
    let mut is_body = false;
    let mut is_text = false;
    let mut kind = None;

    walk_all(xml, &mut |node| match node {
        Node::Open(tag) => match tag.name() {
            "sp" => is_body = false,
            "ph" => is_body = tag.attribute("type").as_deref() == Some("body"),
            "r" => kind = None,
            "rPr" => kind = property_kind(tag),
            "t" => is_text = is_body,
            "br" if is_body => text.push("\n", None),
            _ => {}
        },
        Node::Close("t") => is_text = false,
        Node::Close("p") if is_body => text.push("\n", None),
        Node::Text(part) if is_text => text.push(part, kind),
        Node::Close(_) | Node::Text(_) => {}
    })?;

    Ok(text.finish())
}
