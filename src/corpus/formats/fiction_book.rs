//! FictionBook 2: one XML file, with sections in sections.

use super::builder::{Builder, Rows, day, named};
use super::format::{Extract, Format};
use super::script::{Script, ScriptKind};
use super::xml::{self, Node, Tag, walk};
use crate::event::{Metadata, Place, PlaceUnit};

pub(super) const FORMAT: Format = Format::for_binary("FictionBook", &["fb2"], "chapter", extract);

fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let xml = xml::decode(bytes);
    if !xml.contains("<FictionBook") {
        return Err("its content is not that of a FictionBook".to_owned());
    }

    let mut book = Book::default();
    let result = walk(xml.as_bytes(), &mut |node| {
        match node {
            Node::Open(tag) => book.open(tag),
            Node::Close(name) => book.close(name),
            Node::Text(text) => book.add_text(text),
        }
        !book.builder.is_full()
    });

    book.builder.notes(result.err());
    Ok(book.finish())
}

/// A book while it is read.
#[derive(Default)]
struct Book {
    builder: Builder,
    metadata: Metadata,
    /// The parts of the names of the authors.
    author: String,
    is_description: bool,
    is_title: bool,
    /// Sections around the text.
    depth: u8,
    chapters: u32,
    text: String,
    /// The superscript or subscript that is being read.
    script: Option<Script>,
    title: String,
    rows: Rows,
    cells: Vec<String>,
}

impl Book {
    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "description" => self.is_description = true,
            "date" if self.is_description => {
                let date = tag.attribute("value").and_then(|date| day(&date));
                self.metadata.date = self.metadata.date.take().or(date);
                self.text.clear();
            }
            "body" => self.depth = 0,
            "section" => {
                self.depth = self.depth.saturating_add(1);
                if self.depth == 1 {
                    self.begin_chapter();
                }
            }
            "title" => {
                self.is_title = true;
                self.title.clear();
            }
            "table" => self.rows = Rows::default(),
            "sup" => self.open_script(ScriptKind::Above, false),
            "sub" => self.open_script(ScriptKind::Below, false),
            "a" if tag.attribute("type").as_deref() == Some("note") => {
                self.open_script(ScriptKind::Above, true);
            }
            "p" | "v" | "subtitle" | "text-author" | "td" | "th" | "binary" | "book-title"
            | "first-name" | "middle-name" | "last-name" => self.text.clear(),
            _ => {}
        }
    }

    /// Begins a superscript, unless it is inside the mark of a note.
    fn open_script(&mut self, kind: ScriptKind, is_linked: bool) {
        self.script
            .get_or_insert_with(|| Script::new(kind, is_linked));
    }

    fn add_text(&mut self, text: &str) {
        match &mut self.script {
            Some(script) => script.add(text, 0..0),
            None => self.text.push_str(text),
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(script) = self.script.take() {
            script.push_to(&mut self.text);
        }
        if self.is_description {
            self.close_in_description(name);
            return;
        }

        let text = match name {
            "p" | "v" | "subtitle" | "text-author" | "td" | "th" | "binary" => {
                std::mem::take(&mut self.text)
            }
            _ => String::new(),
        };

        match name {
            "p" if self.is_title => {
                self.title.push_str(&text);
                self.title.push(' ');
            }
            "p" | "text-author" => self.builder.paragraph(&text),
            "v" => self.builder.line(&text),
            "subtitle" => self
                .builder
                .heading(self.depth.saturating_add(1).min(9), &text),
            "td" | "th" => self.cells.push(text),
            "tr" => {
                let cells = std::mem::take(&mut self.cells);
                self.rows
                    .add(cells.into_iter().enumerate(), &mut self.builder);
            }
            "title" => self.end_title(),
            "section" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn close_in_description(&mut self, name: &str) {
        let text = std::mem::take(&mut self.text);
        match name {
            "description" => self.is_description = false,
            "book-title" if self.metadata.title.is_none() => self.metadata.title = named(&text),
            "first-name" | "middle-name" | "last-name" => {
                self.author.push_str(&text);
                self.author.push(' ');
            }
            "author" if self.metadata.author.is_none() => {
                self.metadata.author = named(&self.author);
            }
            "date" if self.metadata.date.is_none() => self.metadata.date = day(&text),
            _ => {}
        }
    }

    fn begin_chapter(&mut self) {
        self.chapters += 1;
        self.builder.part();
        self.builder
            .place(Place::new(PlaceUnit::Chapter, self.chapters));
    }

    fn end_title(&mut self) {
        self.is_title = false;
        let title = std::mem::take(&mut self.title);
        if self.depth == 1 {
            let place = Place::new(PlaceUnit::Chapter, self.chapters);
            self.builder.place(place.with_name(title.trim()));
        }
        self.builder.heading(self.depth.clamp(1, 9), &title);
    }

    fn finish(mut self) -> Extract {
        self.builder.metadata(self.metadata);
        self.builder.finish()
    }
}
