//! OpenDocument: texts, sheets and slides, from the XML of their package.

use std::collections::HashSet;
use std::io::BufRead;

use super::builder::{Builder, Sheet, comment_label, named};
use super::format::{Extract, Format};
use super::open_style::Styles;
use super::open_table::{SheetTable, count};
use super::package::{ENCRYPTED, Package, hidden_slides_note};
use super::script::{RaisedText, ScriptKind};
use super::sheet_rows::add_notes;
use super::xml::{Node, Tag, walk, walk_all};
use crate::event::{Place, PlaceUnit};

pub(super) const TEXT: Format = Format::for_binary(
    "OpenDocument text",
    &["odt", "ott", "fodt"],
    "heading",
    extract,
);

pub(super) const SHEETS: Format = Format::for_binary(
    "OpenDocument sheets",
    &["ods", "ots", "fods"],
    "sheet and row",
    extract,
);

pub(super) const SLIDES: Format = Format::for_binary(
    "OpenDocument slides",
    &["odp", "otp", "fodp"],
    "slide",
    extract,
);

const CONTENT: &str = "content.xml";
/// Elements whose text is not text of the document: former text, the mark of a note, data of a
/// picture, the reading of a word.
#[rustfmt::skip]
const SKIPPED: &[&str] = &[
    "tracked-changes", "note-citation", "page-number", "scripts", "font-face-decls",
    "automatic-styles", "styles", "master-styles", "settings", "forms", "binary-data",
    "sequence-decls", "meta", "index-title-template", "table-of-content-source", "date-time-decl",
    "ruby-text",
];
/// Maximum XML of a document that is read.
const MAX_XML_BYTES: u64 = 1 << 30;
/// Maximum number of spaces that one element stands for.
const MAX_SPACES: usize = 100;
/// Maximum number of bytes of the text of a formula, a chart or another object.
const MAX_OBJECT: usize = 10_000;

fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut document = Content::default();
    if bytes.starts_with(b"PK") {
        let mut package = Package::open(bytes)?;
        let manifest = package.xml("META-INF/manifest.xml")?;
        // an encrypted package keeps its names, and has the parameters of its cipher in the
        // manifest
        if manifest.contains("encryption-data") {
            return Err(ENCRYPTED.to_owned());
        }
        if !package.has(CONTENT) {
            return Err("its content is not that of an OpenDocument file".to_owned());
        }
        document.builder.metadata(package.metadata("meta.xml")?);
        document.package = Some(package);
        let mut package = Package::open(bytes)?;
        let styles = package.xml("styles.xml")?;
        document.styles.read(&styles)?;
        document.read(package.stream(CONTENT, MAX_XML_BYTES)?);
        document.add_margins(&styles)?;
    } else {
        let xml = super::xml::decode(bytes);
        document.read(xml.as_bytes());
        document.add_margins(&xml)?;
    }

    add_notes(&[], document.uncomputed, &mut document.builder);
    let hidden = hidden_slides_note(&document.hidden_slides);
    document.builder.notes(hidden);
    Ok(document.builder.finish())
}

/// The content of a document while it is read.
#[derive(Default)]
struct Content<'a> {
    builder: Builder,
    /// Holds the objects; `None` for a file of one XML.
    package: Option<Package<'a>>,
    /// The objects that were read: each is read once.
    objects: HashSet<String>,
    /// The paragraphs that are open, the innermost last: notes and text boxes are inside others.
    paragraphs: Vec<Paragraph>,
    styles: Styles,
    /// Whether the name of the author of a comment is open.
    is_author: bool,
    /// The tables that are open, the innermost last.
    tables: Vec<SheetTable>,
    /// Notes of the paragraph that is open.
    notes: Vec<String>,
    slides: u32,
    /// The numbers of those that are not shown.
    hidden_slides: Vec<u32>,
    /// Whether the frame that is open holds the title of a slide.
    is_title: bool,
    list_depth: u32,
    is_first_of_item: bool,
    notes_page: u32,
    is_spreadsheet: bool,
    /// The number of formulas without a stored value.
    uncomputed: usize,
    /// Depth inside an element whose text is left out.
    skipped: u32,
}

#[derive(Default)]
struct Paragraph {
    /// `None` for text that is not a heading.
    level: Option<u8>,
    text: RaisedText,
    /// The way that each span is set that is open in it, the innermost last.
    spans: Vec<Option<ScriptKind>>,
    is_note: bool,
    /// The author of a comment; `None` for another text.
    author: Option<String>,
    is_item: bool,
    /// Whether it is the text that stands for a picture on the page.
    is_alternative: bool,
    is_hidden: bool,
}

impl Content<'_> {
    fn read(&mut self, xml: impl BufRead) {
        let result = walk(xml, &mut |node| {
            match node {
                Node::Open(tag) => self.open(tag),
                Node::Close(name) => self.close(name),
                Node::Text(text) => self.add_text(text),
            }
            !self.builder.is_full()
        });

        self.builder.notes(result.err());
        while !self.paragraphs.is_empty() {
            self.end_paragraph();
        }
        self.tables.clear();
        self.end_notes();
    }

    fn open(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        self.styles.note(tag);
        if self.skipped > 0 || SKIPPED.contains(&name) || self.is_about_note(name) {
            self.skipped += 1;
            return;
        }
        let look = self.styles.look(tag);
        if look.is_hidden {
            self.builder.hide(1);
            self.skipped += 1;
            if let Some(open) = self.paragraphs.last_mut() {
                open.is_hidden |= name == "hidden-paragraph";
            }
            return;
        }

        match name {
            "spreadsheet" => self.is_spreadsheet = true,
            "frame" => {
                self.is_title = tag.attribute("presentation:class").as_deref() == Some("title");
            }
            "p" if self.is_title => self.begin_heading(1),
            "p" | "h" if look.is_title && self.tables.is_empty() => self.begin_heading(0),
            "h" => self.begin_heading(count(tag, "outline-level").clamp(1, 9) as u8),
            "p" => {
                let is_item = std::mem::take(&mut self.is_first_of_item);
                self.paragraphs.push(Paragraph {
                    is_item,
                    ..Paragraph::default()
                });
            }
            // XML folds white space, so that OpenDocument counts spaces in an element
            "s" => self.push(&" ".repeat(count(tag, "c").clamp(1, MAX_SPACES))),
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "object" => {
                let text = self.read_object(&tag.attribute("href").unwrap_or_default());
                self.push_object(&text);
            }
            // the alternative text of a picture
            "title" | "desc" if self.paragraphs.is_empty() => self.paragraphs.push(Paragraph {
                is_alternative: true,
                ..Paragraph::default()
            }),
            "title" | "desc" => self.push(" "),
            "note" | "annotation" => self.paragraphs.push(Paragraph {
                is_note: true,
                author: (name == "annotation").then(String::new),
                ..Paragraph::default()
            }),
            "creator" => self.is_author = true,
            "span" => {
                if let Some(open) = self.paragraphs.last_mut() {
                    let outer = open.spans.last().copied().flatten();
                    open.spans.push(look.script.or(outer));
                }
            }
            "list-item" => {
                self.list_depth += 1;
                self.is_first_of_item = true;
            }
            "page" => self.begin_slide(tag),
            "notes" => self.notes_page += 1,
            "table" => self.begin_table(tag),
            _ => {
                if let Some(table) = self.tables.last_mut() {
                    table.open(tag);
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }

        match name {
            "h" | "p" | "note" | "annotation" => self.end_paragraph(),
            "title" | "desc" => {
                let open = self.paragraphs.last();
                if open.is_some_and(|open| open.is_alternative) {
                    self.end_paragraph();
                }
            }
            "creator" => self.is_author = false,
            "span" => {
                self.paragraphs.last_mut().map(|open| open.spans.pop());
            }
            "list-item" => {
                self.list_depth = self.list_depth.saturating_sub(1);
                self.is_first_of_item = false;
            }
            "frame" => self.is_title = false,
            "notes" => self.notes_page = self.notes_page.saturating_sub(1),
            "table" => {
                let table = self.tables.pop();
                self.uncomputed += table.map_or(0, |table| table.uncomputed);
            }
            _ => {
                if let Some(table) = self.tables.last_mut() {
                    table.close(name, &mut self.builder);
                }
                self.end_notes();
            }
        }
    }

    /// Adds the headers and footers of the pages of a text, each once.
    fn add_margins(&mut self, styles: &str) -> Result<(), String> {
        if self.is_spreadsheet || self.slides > 0 {
            return Ok(());
        }

        let mut added = HashSet::new();
        let mut label = None;
        let mut text = String::new();

        walk_all(styles, &mut |node| match node {
            Node::Open(tag) => match margin(tag.name()) {
                Some(found) => {
                    label = Some(found);
                    text.clear();
                }
                None if tag.name() == "s" || tag.name() == "tab" => text.push(' '),
                None => {}
            },
            Node::Text(part) if label.is_some() => text.push_str(part),
            Node::Close("p") => text.push(' '),
            Node::Close(name) if margin(name).is_some() => {
                let text = named(&text).filter(|text| added.insert(text.clone()));
                if let (Some(label), Some(text)) = (label.take(), text) {
                    self.builder.paragraph(&format!("{label}: {text}"));
                }
            }
            Node::Close(_) | Node::Text(_) => {}
        })
    }

    fn begin_heading(&mut self, level: u8) {
        self.paragraphs.push(Paragraph {
            level: Some(level),
            ..Paragraph::default()
        });
    }

    /// Adds text with single spaces: others are elements of their own (ODF 1.3, 6.1.2).
    fn add_text(&mut self, text: &str) {
        if self.skipped > 0 {
            return;
        }
        let mut single = String::with_capacity(text.len());
        for c in text.chars() {
            if !c.is_ascii_whitespace() {
                single.push(c);
            } else if !single.ends_with(' ') {
                single.push(' ');
            }
        }
        self.push(&single);
    }

    fn push(&mut self, text: &str) {
        let Some(paragraph) = self.paragraphs.last_mut() else {
            return;
        };
        if let Some(author) = paragraph.author.as_mut().filter(|_| self.is_author) {
            author.push_str(text);
        } else {
            let kind = paragraph.spans.last().copied().flatten();
            paragraph.text.push(text, kind);
        }
    }

    /// Adds the text of an object to the paragraph around it, if there is one: on a slide there is
    /// none.
    fn push_object(&mut self, text: &str) {
        if !self.paragraphs.is_empty() {
            self.push(text);
        } else if !text.trim().is_empty() {
            self.builder.paragraph(text.trim());
        }
    }

    /// Returns the text of an object of the package, the first time that it is named.
    fn read_object(&mut self, href: &str) -> String {
        let path = href.trim_start_matches("./");
        let Some(package) = &mut self.package else {
            return String::new();
        };

        if path.is_empty() || !self.objects.insert(path.to_owned()) {
            return String::new();
        }

        // an object that cannot be read costs no other text
        let content = package.xml(&format!("{path}/content.xml"));
        let content = content.unwrap_or_default();
        if content.is_empty() {
            return content;
        }
        object_text(&content)
    }

    /// Returns whether an element has the date of a comment, or the letters of its author.
    fn is_about_note(&self, name: &str) -> bool {
        let is_note = self.paragraphs.last().is_some_and(|open| open.is_note);
        is_note && matches!(name, "date" | "sender-initials" | "creator-initials")
    }

    fn begin_slide(&mut self, tag: &Tag<'_>) {
        self.slides += 1;
        if self.styles.is_hidden_page(tag) {
            self.hidden_slides.push(self.slides);
        }
        self.builder.part();
        self.builder
            .place(Place::new(PlaceUnit::Slide, self.slides));
    }

    fn begin_table(&mut self, tag: &Tag<'_>) {
        let mut table = SheetTable::default();
        if self.is_spreadsheet && self.tables.is_empty() {
            let name = tag.attribute("name").unwrap_or_default();
            table.sheet = Some(Sheet::begin(&name, &mut self.builder));
        }
        self.tables.push(table);
    }

    /// Ends the innermost paragraph. One inside a note, a cell or a text box becomes part of it.
    fn end_paragraph(&mut self) {
        let Some(mut paragraph) = self.paragraphs.pop() else {
            return;
        };
        if paragraph.is_hidden {
            return;
        }
        let text = std::mem::take(&mut paragraph.text).finish();
        let text = text.trim();
        if paragraph.is_note {
            let label = paragraph.author.as_deref().map(comment_label);
            self.notes.push(label.unwrap_or_default() + text);
        } else if let Some(outer) = self.paragraphs.last_mut().filter(|outer| outer.is_note) {
            outer.text.push(text, None);
            outer.text.push("\n", None);
        } else if let Some(cell) = self.tables.last_mut().and_then(SheetTable::open_cell) {
            cell.push_str(text);
            cell.push('\n');
        } else {
            self.add_paragraph(&paragraph, text);
        }
        self.end_notes();
    }

    /// Adds the notes that were read, once the paragraph or the row that they belong to has ended.
    fn end_notes(&mut self) {
        let mut table = self.tables.last_mut();
        let is_in_row = table.as_ref().is_some_and(|table| table.is_in_row);
        if is_in_row || !self.paragraphs.is_empty() {
            return;
        }
        for note in self.notes.drain(..) {
            match &mut table {
                Some(table) => table.remark(&note, &mut self.builder),
                None => self.builder.paragraph(&note),
            }
        }
    }

    fn add_paragraph(&mut self, paragraph: &Paragraph, text: &str) {
        if text.is_empty() {
            return;
        }

        if let Some(level) = paragraph.level {
            if std::mem::take(&mut self.is_title) {
                let slide = Place::new(PlaceUnit::Slide, self.slides);
                self.builder.place(slide.with_name(text));
            }
            self.builder.heading(level, text);
        } else if self.notes_page > 0 {
            self.builder.paragraph(&format!("Notes: {text}"));
        } else if paragraph.is_item {
            self.builder.line(&format!("- {text}"));
        } else if self.list_depth > 0 {
            self.builder.line(text);
        } else {
            self.builder.paragraph(text);
        }
    }
}

/// Returns the text of an object: a formula as it was typed (its annotation), otherwise the tokens
/// of its MathML; the paragraphs of a chart, a sheet or a text.
fn object_text(xml: &str) -> String {
    let mut root = None;
    let mut typed = String::new();
    let mut text = String::new();
    let mut is_typed = false;
    let mut paragraphs = 0_u32;
    // what follows damage is left out
    let _ = walk(xml.as_bytes(), &mut |node| {
        let is_formula = root.as_deref() == Some("math");
        match node {
            Node::Open(tag) => {
                root.get_or_insert_with(|| tag.name().to_owned());
                is_typed |= tag.name() == "annotation";
                paragraphs += u32::from(tag.name() == "p");
            }
            Node::Close("annotation") => is_typed = false,
            Node::Close("p") => {
                paragraphs = paragraphs.saturating_sub(1);
                text.push(' ');
            }
            Node::Close(_) => {}
            Node::Text(part) if is_typed => typed.push_str(part),
            Node::Text(part) if is_formula => {
                text.push(' ');
                text.push_str(part);
            }
            Node::Text(part) if paragraphs > 0 => text.push_str(part),
            Node::Text(_) => {}
        }
        typed.len().max(text.len()) < MAX_OBJECT
    });

    let text = if typed.trim().is_empty() { text } else { typed };
    let words: Vec<&str> = text.split_whitespace().collect();
    format!(" {} ", words.join(" "))
}

/// Returns the name of a header or footer of pages, also of left and first ones.
fn margin(element: &str) -> Option<&'static str> {
    match element {
        "header" | "header-left" | "header-first" => Some("Header"),
        "footer" | "footer-left" | "footer-first" => Some("Footer"),
        _ => None,
    }
}
