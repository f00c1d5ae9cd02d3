//! An Office file as undoc reads it within bounds: without what holds no text, and a large Word
//! document in pieces. Formulas (Office Math), which it does not read, become plain runs of text:
//! `x_1`, `a/b`, `n^2`. Hidden text is left out, and moved text where it was.

use std::io::{Cursor, Write};

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::package::{MAX_MEMBER_BYTES, Package, is_xml};
use crate::corpus::error;

const DOCUMENT: &str = "word/document.xml";
/// Tags of what undoc does not read as Word shows it. The prefixes are those of every program that
/// was tried.
const REWRITTEN: [&str; 3] = ["<m:oMath", "<w:moveFrom ", "<w:vanish"];

/// Maximum XML of a document that undoc reads at once: it holds up to 13 bytes for each, and 21 in
/// tables. A larger one is read in pieces of this size.
const PIECE_BYTES: usize = 2 << 20;
/// Open elements around the blocks of a document: itself and its body.
const BLOCKS: usize = 2;
/// Maximum XML of a document.
const MAX_XML_BYTES: u64 = 1 << 30;
/// The parts beside the body of a document that its last piece has, for all of them.
const OF_LAST_PIECE: [&str; 3] = [
    "word/footnotes.xml",
    "word/endnotes.xml",
    "word/_rels/document.xml.rels",
];

/// A Word file, or a piece of a large one.
pub(super) struct Piece {
    pub file: Vec<u8>,
    /// Whether its first block is the rest of the table that ends the piece before.
    pub continues_table: bool,
}

/// Calls `visit` with a Word file, or with the pieces of a large one in their order, until it
/// returns `false`. They have no pictures, their formulas are runs of text, and they have no hidden
/// text, the number of whose places is returned.
///
/// # Errors
/// The reason why the file cannot be read, or that `visit` gave.
pub(super) fn visit_pieces(
    bytes: &[u8],
    visit: &mut dyn FnMut(Piece) -> Result<bool, String>,
) -> Result<usize, String> {
    let mut package = Package::open(bytes)?;
    package.check_xml()?;
    if package.announced_bytes(DOCUMENT) > PIECE_BYTES as u64 {
        return Pieces::new(bytes, visit).visit_all(&mut package);
    }

    let document = package.xml(DOCUMENT)?;
    let is_rewritten = |document: &String| REWRITTEN.iter().any(|tag| document.contains(tag));
    let plain = document.filter(is_rewritten);
    let plain = plain.map(|document| plain_runs(&document)).transpose()?;
    let (plain, hidden) = plain.unzip();
    visit(Piece {
        file: copy_xml(bytes, plain.as_deref(), &[])?,
        continues_table: false,
    })?;
    Ok(hidden.unwrap_or(0))
}

/// Copies the XML of a package, with another text of the document where there is one. Pictures and
/// other objects hold no text, and may be of any size.
///
/// # Errors
/// The reason why the file cannot be read.
pub(super) fn copy_xml(
    bytes: &[u8],
    document: Option<&[u8]>,
    without: &[&str],
) -> Result<Vec<u8>, String> {
    let damaged = |error: ZipError| format!("it is damaged ({error})");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    let mut copy = ZipWriter::new(Cursor::new(Vec::new()));

    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(damaged)?;
        let name = member.name().map_err(damaged)?.into_owned();
        let is_replaced = document.is_some() && name == DOCUMENT;
        if is_xml(&name) && !is_replaced && !without.contains(&name.as_str()) {
            copy.raw_copy_file(member).map_err(damaged)?;
        }
    }

    if let Some(document) = document {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        copy.start_file(DOCUMENT, stored).map_err(damaged)?;
        copy.write_all(document)
            .map_err(|error| damaged(error.into()))?;
    }

    let copy = copy.finish().map_err(damaged)?;
    Ok(copy.into_inner())
}

/// Cuts a document between the blocks of its body, and between the rows of its tables.
struct Pieces<'a> {
    bytes: &'a [u8],
    visit: &'a mut dyn FnMut(Piece) -> Result<bool, String>,
    plain: PlainRuns,
    /// The XML before the first block, and the ends after the last.
    head: Vec<u8>,
    tail: String,
    piece: Writer<Vec<u8>>,
    /// Open elements.
    depth: usize,
    is_in_body: bool,
    table: Option<OpenTable>,
    /// Whether the piece begins inside of a table.
    continues_table: bool,
}

/// A table of the body that is open.
struct OpenTable {
    /// The start in the piece.
    start: usize,
    /// The XML before its first row, once that has begun.
    head: Vec<u8>,
    end: String,
}

impl<'a> Pieces<'a> {
    fn new(bytes: &'a [u8], visit: &'a mut dyn FnMut(Piece) -> Result<bool, String>) -> Self {
        Self {
            bytes,
            visit,
            plain: PlainRuns::default(),
            head: Vec::new(),
            tail: String::new(),
            piece: Writer::new(Vec::new()),
            depth: 0,
            is_in_body: false,
            table: None,
            continues_table: false,
        }
    }

    fn visit_all(mut self, package: &mut Package<'_>) -> Result<usize, String> {
        let mut reader = Reader::from_reader(package.stream(DOCUMENT, MAX_XML_BYTES)?);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = reader
                .read_event_into(&mut buffer)
                .map_err(|error| reason(&error))?;
            if matches!(event, Event::Eof) {
                self.end_piece(&[])?;
                return Ok(self.plain.hidden);
            }
            self.add(event)?;

            let is_full = self.piece.get_ref().len() >= PIECE_BYTES;
            if is_full && self.is_between() && !self.end_piece(&OF_LAST_PIECE)? {
                return Ok(self.plain.hidden);
            }
            if self.piece.get_ref().len() as u64 > MAX_MEMBER_BYTES {
                let mib = MAX_MEMBER_BYTES >> 20;
                return Err(format!(
                    "a table or another block of it exceeds {mib} MiB: split it, or save it as text"
                ));
            }
        }
    }

    fn add(&mut self, event: Event<'_>) -> Result<(), String> {
        match &event {
            Event::Start(tag) => {
                let begins_body = self.depth == 1 && tag.local_name().as_ref() == "body";
                if self.depth == 0 || begins_body {
                    let end = format!("</{}>", tag.name().as_ref());
                    self.tail.insert_str(0, &end);
                }
                self.note_table(tag);
                self.depth += 1;
                self.write(event)?;
                if begins_body {
                    self.is_in_body = true;
                    self.head = std::mem::take(self.piece.get_mut());
                }
                Ok(())
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                let ends_body = self.depth == 1 && self.is_in_body;
                self.is_in_body &= !ends_body;
                self.table.take_if(|_| self.depth == BLOCKS);
                // the tail is added to every piece
                if self.depth == 0 || ends_body {
                    Ok(())
                } else {
                    self.write(event)
                }
            }
            _ => self.write(event),
        }
    }

    /// Returns whether the piece can end here: between two blocks, or between two rows.
    fn is_between(&self) -> bool {
        let has_rows = self
            .table
            .as_ref()
            .is_some_and(|table| !table.head.is_empty());
        self.is_in_body && (self.depth == BLOCKS || (has_rows && self.depth == BLOCKS + 1))
    }

    /// Notes that an element is a table of the body, or its first row.
    fn note_table(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name();
        let written = self.piece.get_ref();
        if self.is_in_body && self.depth == BLOCKS && name.as_ref() == "tbl" {
            self.table = Some(OpenTable {
                start: written.len(),
                head: Vec::new(),
                end: format!("</{}>", tag.name().as_ref()),
            });
        } else if let Some(table) = &mut self.table
            && self.depth == BLOCKS + 1
            && table.head.is_empty()
            && name.as_ref() == "tr"
        {
            table.head = written[table.start..].to_vec();
        }
    }

    fn write(&mut self, event: Event<'_>) -> Result<(), String> {
        let written = self.plain.write(event, &mut self.piece);
        written.map_err(|error| reason(&error))
    }

    /// Ends a piece. Returns whether another one is read.
    fn end_piece(&mut self, without: &[&str]) -> Result<bool, String> {
        let piece = std::mem::take(self.piece.get_mut());
        let end = self.table.as_ref().map_or("", |table| &table.end);
        let document = [&self.head, &*piece, end.as_bytes(), self.tail.as_bytes()].concat();
        drop(piece);
        let file = copy_xml(self.bytes, Some(&document), without)?;
        drop(document);

        let continues_table = std::mem::replace(&mut self.continues_table, self.table.is_some());
        if let Some(table) = &mut self.table {
            table.start = 0;
            self.piece.get_mut().extend(&table.head);
        }
        (self.visit)(Piece {
            file,
            continues_table,
        })
    }
}

fn reason(error: &quick_xml::Error) -> String {
    match error {
        quick_xml::Error::Io(error) => error::describe_damage(error),
        error => format!("its XML is damaged ({error})"),
    }
}

/// Returns the XML with plain runs of text, and the number of hidden ones.
fn plain_runs(xml: &str) -> Result<(Vec<u8>, usize), String> {
    let mut reader = Reader::from_str(xml);
    let mut writer = Writer::new(Vec::with_capacity(xml.len()));
    let mut plain = PlainRuns::default();
    loop {
        let event = reader.read_event().map_err(|error| reason(&error))?;
        if matches!(event, Event::Eof) {
            return Ok((writer.into_inner(), plain.hidden));
        }
        let written = plain.write(event, &mut writer);
        written.map_err(|error| reason(&error))?;
    }
}

/// Writes the runs of text of a document as Word shows them: moved text once, where it is now, and
/// no hidden text.
#[derive(Default)]
struct PlainRuns {
    formulas: Formulas,
    /// Open elements.
    depth: usize,
    /// The levels of the runs that are open; a text box holds runs inside of one.
    runs: Vec<usize>,
    /// Whether the properties of the innermost run hide it.
    is_hidden_run: bool,
    /// The level of the element whose content is left out.
    left_out: Option<usize>,
    /// The number of hidden runs so far.
    hidden: usize,
}

impl PlainRuns {
    fn write(
        &mut self,
        event: Event<'_>,
        writer: &mut Writer<Vec<u8>>,
    ) -> Result<(), quick_xml::Error> {
        if matches!(event, Event::End(_)) {
            self.depth = self.depth.saturating_sub(1);
        }

        let level = self.depth;
        let is_inside = self.left_out.is_some_and(|outer| level > outer);
        match &event {
            Event::Start(tag) => {
                if !is_inside {
                    self.open(tag.name().as_ref(), level);
                }
                self.depth += 1;
            }
            Event::Empty(tag) if !is_inside => self.note_look(tag),
            Event::End(tag) if !is_inside => self.close(tag.name().as_ref(), level),
            _ => {}
        }

        if is_inside {
            return Ok(());
        }
        self.formulas.write(event, writer)
    }

    fn open(&mut self, name: &str, level: usize) {
        match name {
            "w:r" => {
                self.runs.push(level);
                self.is_hidden_run = false;
            }
            "w:moveFrom" => self.left_out = Some(level),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, level: usize) {
        self.left_out = self.left_out.filter(|outer| *outer != level);
        match name {
            "w:r" => {
                self.runs.pop();
            }
            // the properties are the first element of a run
            "w:rPr" if std::mem::take(&mut self.is_hidden_run) => {
                self.hidden += 1;
                self.left_out = level.checked_sub(1);
            }
            _ => {}
        }
    }

    /// Notes that the properties of a run hide it.
    fn note_look(&mut self, tag: &BytesStart<'_>) {
        let is_own = self.runs.last().is_some_and(|run| self.depth == run + 2);
        let mut values = tag.attributes().flatten();
        let is_off = values.any(|value| matches!(value.value.as_ref(), "0" | "false" | "off"));
        self.is_hidden_run |= tag.name().as_ref() == "w:vanish" && is_own && !is_off;
    }
}

/// Writes each run of a formula as a run of text. Elements of the namespace of formulas have the
/// prefix `m` in every program that was tried.
#[derive(Default)]
struct Formulas {
    /// Open elements inside the properties of a part of a formula.
    properties: u32,
}

impl Formulas {
    fn write(
        &mut self,
        event: Event<'_>,
        writer: &mut Writer<Vec<u8>>,
    ) -> Result<(), quick_xml::Error> {
        match &event {
            Event::Start(tag) if self.properties > 0 || is_properties(tag) => self.properties += 1,
            Event::End(_) if self.properties > 0 => self.properties -= 1,
            _ if self.properties > 0 => {}
            Event::Empty(tag) if is_properties(tag) => {}
            Event::Start(tag) | Event::Empty(tag) => match math_name(tag.name().as_ref()) {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::Start(BytesStart::new("w:r")))?,
                Some("t") => {
                    let text = BytesStart::new("w:t").with_attributes([("xml:space", "preserve")]);
                    writer.write_event(Event::Start(text))?;
                }
                Some(part) => write_run(writer, operator(part))?,
            },
            Event::End(tag) => match math_name(tag.name().as_ref()) {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::End(BytesEnd::new("w:r")))?,
                Some("t") => writer.write_event(Event::End(BytesEnd::new("w:t")))?,
                Some(_) => {}
            },
            _ => writer.write_event(event)?,
        }

        Ok(())
    }
}

/// Returns the name of an element of a formula without its prefix.
fn math_name(name: &str) -> Option<&str> {
    name.strip_prefix("m:")
}

/// Returns whether an element holds how a part of a formula looks.
fn is_properties(tag: &BytesStart<'_>) -> bool {
    let name = tag.name();
    math_name(name.as_ref()).is_some_and(|name| name.ends_with("Pr"))
}

/// Returns what stands before a part of a formula when it is written in one line.
fn operator(part: &str) -> &'static str {
    match part {
        "den" => "/",
        "sup" => "^",
        "sub" => "_",
        _ => "",
    }
}

fn write_run(writer: &mut Writer<Vec<u8>>, text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    for name in ["w:r", "w:t"] {
        writer.write_event(Event::Start(BytesStart::new(name)))?;
    }
    writer.write_event(Event::Text(BytesText::new(text)))?;
    for name in ["w:t", "w:r"] {
        writer.write_event(Event::End(BytesEnd::new(name)))?;
    }
    Ok(())
}
