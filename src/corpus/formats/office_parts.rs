//! An Office file as undoc reads it within bounds: without what holds no text, with its parts under
//! the names that undoc looks for, and a large Word document in pieces.

use std::collections::HashMap;
use std::io::{BufRead, Cursor, Read, Write};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, Writer};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::builder::Builder;
use super::office_runs::{HiddenParts, PlainRuns, TextStyles, shown_runs, usual_form};
use super::package::{MAX_MEMBER_BYTES, Package, Relationship, is_xml};
use super::xml::reason;

/// The path of the document for undoc, and of its relationships. Programs may choose others.
const DOCUMENT: &str = "word/document.xml";
const RELATIONSHIPS: &str = "word/_rels/document.xml.rels";
/// The parts of a document with text of their own, by their relationships.
const WITH_TEXT: [&str; 5] = ["header", "footer", "footnotes", "endnotes", "chart"];
/// XML without content, which stands for a part that undoc does not get.
const EMPTY: &[u8] = b"<x/>";
/// Maximum XML of a document that undoc reads at once: it holds up to 13 bytes for each, and 21 in
/// tables. A larger one is read in pieces of this size.
const PIECE_BYTES: usize = 2 << 20;
/// Bytes in which a large document declares its prefixes.
const HEAD_BYTES: u64 = 16 << 10;
/// Open elements around the blocks of a document: itself and its body.
const BLOCKS: usize = 2;
/// Maximum XML of a document.
const MAX_XML_BYTES: u64 = 1 << 30;
/// The parts beside the body of a document that its last piece has, for all of them.
const OF_LAST_PIECE: [&str; 3] = ["word/footnotes.xml", "word/endnotes.xml", RELATIONSHIPS];

/// The parts of a package that undoc gets in another form, by the paths that it looks for.
#[derive(Default)]
pub(super) struct Changes {
    /// The path of the document, where it is not the usual one.
    main: Option<String>,
    parts: HashMap<String, Vec<u8>>,
}

impl Changes {
    /// Returns the changes that leave out the damaged members of a package, which are noted.
    fn for_damaged(package: &Package<'_>, main: Option<String>, builder: &mut Builder) -> Self {
        let mut changes = Self {
            main,
            parts: HashMap::new(),
        };
        for name in &package.damaged {
            let damaged = Err("it is damaged".to_owned());
            changes.take_or_empty::<()>(name, damaged, builder);
        }
        changes
    }

    /// Returns what was read of a part. One that cannot be read is noted, and undoc gets it empty:
    /// it refuses the whole file for one that is damaged, and for some that are missing.
    fn take_or_empty<T: Default>(
        &mut self,
        part: &str,
        read: Result<T, String>,
        builder: &mut Builder,
    ) -> T {
        if read.is_err() {
            let path = self.path(part).to_owned();
            self.parts.insert(path, EMPTY.to_vec());
        }
        builder.take_or_note(part, read)
    }

    /// Returns the path under which undoc looks for a part.
    fn path<'n>(&self, name: &'n str) -> &'n str {
        let Some(main) = &self.main else { return name };
        let (folder, file) = main.rsplit_once('/').unwrap_or_default();
        if name == main {
            DOCUMENT
        } else if name.strip_prefix(folder) == Some(&format!("/_rels/{file}.rels")) {
            RELATIONSHIPS
        } else {
            name
        }
    }
}

/// Adds the text of a Word file, or of a piece of one: whether its first block is the rest of the
/// table that ends the piece before. Returns whether more is read.
type Visit<'v> = dyn FnMut(&[u8], bool, &mut Builder) -> Result<bool, String> + 'v;

/// Calls `visit` with a Word file, or with the pieces of a large one in their order, until it
/// returns `false`. They have no pictures, their formulas are runs of text, and they have no hidden
/// text, whose places are counted. Returns the other parts of the document.
///
/// # Errors
/// The reason why the file cannot be read, or that `visit` gave.
pub(super) fn visit_pieces(
    bytes: &[u8],
    package: &mut Package<'_>,
    builder: &mut Builder,
    visit: &mut Visit<'_>,
) -> Result<Vec<Relationship>, String> {
    package.check(is_xml)?;
    let main = package.main_part()?.filter(|path| package.has(path));
    let main = main.unwrap_or_else(|| DOCUMENT.to_owned());
    let moved = Some(main.clone()).filter(|main| main != DOCUMENT);
    let mut changes = Changes::for_damaged(package, moved, builder);

    let parts = package.relationships(&main)?;
    let mut plain = PlainRuns::default();
    if let Some(styles) = parts.iter().find(|part| part.is("styles")) {
        let xml = package.xml(&styles.path);
        let read = xml.and_then(|xml| TextStyles::read(&xml));
        plain.styles = changes.take_or_empty(&styles.path, read, builder);
    }
    let has_text = |part: &&Relationship| WITH_TEXT.iter().any(|kind| part.is(kind));
    for part in parts.iter().filter(has_text) {
        let rewritten = package.xml(&part.path).and_then(|xml| {
            let rewritten = plain.rewrite(&xml)?;
            // undoc takes the letters of notes alone
            if !part.is("footnotes") && !part.is("endnotes") {
                return Ok(rewritten);
            }
            let plain = rewritten.as_deref().map(String::from_utf8_lossy);
            let plain = plain.as_deref().unwrap_or(&xml);
            let raised = shown_runs(plain, &part.path, &mut HiddenParts::default())?;
            Ok(raised.or(rewritten))
        });
        let rewritten = changes.take_or_empty(&part.path, rewritten, builder);
        let changed = rewritten.map(|xml| (part.path.clone(), xml));
        changes.parts.extend(changed);
    }

    if package.announced_bytes(&main) > PIECE_BYTES as u64 {
        let pieces = Pieces {
            bytes,
            changes,
            plain,
            builder,
            visit,
            head: Vec::new(),
            tail: String::new(),
            piece: Writer::new(Vec::new()),
            depth: 0,
            is_in_body: false,
            table: None,
            continues_table: false,
        };
        let mut head = Vec::new();
        let sample = package.stream(&main, MAX_XML_BYTES)?;
        // what is damaged is reported where it is read
        let _ = sample.take(HEAD_BYTES).read_to_end(&mut head);
        if usual_form(&String::from_utf8_lossy(&head)).is_some() {
            let xml = package.xml(&main)?;
            pieces.visit_all(usual_form(&xml).unwrap_or(xml).as_bytes())?;
        } else {
            pieces.visit_all(package.stream(&main, MAX_XML_BYTES)?)?;
        }
        return Ok(parts);
    }

    let rewritten = plain.rewrite(&package.xml(&main)?)?;
    let file = copy_xml(bytes, rewritten.as_deref(), &changes, &[])?;
    builder.hide(plain.hidden);
    visit(&file, false, builder)?;
    Ok(parts)
}

/// Copies the XML of a package, with changed parts and another text of the document where there is
/// one. Pictures and other objects hold no text, and may be of any size.
///
/// # Errors
/// The reason why the file cannot be read.
pub(super) fn copy_xml(
    bytes: &[u8],
    document: Option<&[u8]>,
    changes: &Changes,
    without: &[&str],
) -> Result<Vec<u8>, String> {
    let damaged = |error: ZipError| format!("it is damaged ({error})");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    let mut copy = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let changed = document.map(|document| (DOCUMENT, document));
    let parts = changes.parts.iter();
    let parts = parts.map(|(path, xml)| (path.as_str(), xml.as_slice()));
    let changed: Vec<(&str, &[u8])> = changed.into_iter().chain(parts).collect();

    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(damaged)?;
        let name = member.name().map_err(damaged)?.into_owned();
        let path = changes.path(&name);
        let is_changed = changed.iter().any(|(changed, _)| *changed == path);
        if is_xml(&name) && !is_changed && !without.contains(&path) {
            copy.raw_copy_file_rename(member, path).map_err(damaged)?;
        }
    }

    for (path, xml) in changed.iter().filter(|(path, _)| !without.contains(path)) {
        copy.start_file(*path, stored).map_err(damaged)?;
        copy.write_all(xml).map_err(|error| damaged(error.into()))?;
    }

    let copy = copy.finish().map_err(damaged)?;
    Ok(copy.into_inner())
}

/// Returns the changes of the slides of a presentation: with the prefixes that undoc looks for,
/// with raised and lowered text as such, and without hidden shapes and notes, which it takes for
/// those of other slides. Returns what is hidden, too.
pub(super) fn slide_changes(
    package: &mut Package<'_>,
    builder: &mut Builder,
) -> (Changes, HiddenParts) {
    let mut changes = Changes::for_damaged(package, None, builder);
    let mut hidden = HiddenParts::default();
    let names = package.names().into_iter();
    for name in names.filter(|name| name.starts_with("ppt/") && is_xml(name)) {
        if name.starts_with("ppt/notesSlides/") {
            changes.parts.insert(name, EMPTY.to_vec());
            continue;
        }
        let xml = package.xml(&name);
        let xml = changes.take_or_empty(&name, xml, builder);
        let usual = usual_form(&xml);
        let xml = usual.as_deref().unwrap_or(&xml);
        // undoc says which slide is damaged
        let shown = shown_runs(xml, &name, &mut hidden).unwrap_or_default();
        let changed = shown.or_else(|| usual.map(String::into_bytes));
        changes.parts.extend(changed.map(|xml| (name, xml)));
    }
    (changes, hidden)
}

/// Cuts a document between the blocks of its body, and between the rows of its tables.
struct Pieces<'a> {
    bytes: &'a [u8],
    changes: Changes,
    builder: &'a mut Builder,
    visit: &'a mut Visit<'a>,
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

impl Pieces<'_> {
    fn visit_all(mut self, document: impl BufRead) -> Result<(), String> {
        self.plain.begin();
        let mut reader = Reader::from_reader(document);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = reader.read_event_into(&mut buffer);
            let event = event.map_err(|error| reason(&error))?;
            if matches!(event, Event::Eof) {
                self.end_piece(&[])?;
                break;
            }
            self.add(event)?;

            let is_full = self.piece.get_ref().len() >= PIECE_BYTES;
            if is_full && self.is_between() && !self.end_piece(&OF_LAST_PIECE)? {
                break;
            }
            if self.piece.get_ref().len() as u64 > MAX_MEMBER_BYTES {
                let mib = MAX_MEMBER_BYTES >> 20;
                return Err(format!(
                    "a table or another block of it exceeds {mib} MiB: split it, or save it as text"
                ));
            }
        }
        self.builder.hide(self.plain.hidden);
        Ok(())
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
        let table = self.table.as_ref();
        let has_rows = table.is_some_and(|table| !table.head.is_empty());
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
        let file = copy_xml(self.bytes, Some(&document), &self.changes, without)?;
        drop(document);

        let continues_table = std::mem::replace(&mut self.continues_table, self.table.is_some());
        if let Some(table) = &mut self.table {
            table.start = 0;
            self.piece.get_mut().extend(&table.head);
        }
        (self.visit)(&file, continues_table, self.builder)
    }
}
