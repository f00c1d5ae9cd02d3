//! A file as text, with the way back: the bytes and lines of the file and the headings of each part
//! of the text.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decode::decode;
use super::error::unreadable;
use super::formats::{Extract, Format, Input, Reader, recognise};
use super::language::language;
use super::name_date::date_in_path;
use super::offsets::Offsets;
use super::options::ReadOptions;
use super::outline::{Heading, Outline};
use super::title_lines::add_title_lines;
use super::walk::FoundFile;
use super::worker;
use crate::event::{
    Metadata, Place, PlaceFrom, SectionFrom, SkippedFile, SourceForm, place_of_lines,
    saturating_u32,
};
use crate::files;

/// Maximum number of sections of a chunk whose headings are kept: each has all of those above it.
const MAX_SECTIONS: usize = 32;

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Path inside the corpus.
    pub path: String,
    pub format: &'static Format,
    /// ISO 639-1 code; `en` when the text is too short to detect it.
    pub language: &'static str,
    /// The text that is split into chunks.
    pub text: String,
    /// A remark for the index report.
    pub note: Option<String>,
    /// The number of pictures in it whose text is not read.
    pub pictures: u32,
    pub metadata: Metadata,
    pub(super) outline: Outline,
    pub(super) front_matter_end: usize,
    /// The places and the bytes of the text where each begins; empty where the lines of the file
    /// are the places.
    places: Vec<(usize, Place)>,
    /// The bytes of the text where a new message, sheet or member begins.
    parts: Vec<usize>,
    /// The rows of tables, in the order of the text.
    pub(super) rows: Vec<Range<usize>>,
    /// Offsets from the text to the decoded file, and from there to its bytes. The text of a binary
    /// file stands for itself.
    extracted: Offsets,
    decoded: Offsets,
    /// The starts of the lines of the decoded file.
    line_starts: Vec<u64>,
}

/// Reads a file that a walk found.
///
/// # Errors
/// The reason why it does not become a document: unreadable, missing, not text, empty.
pub fn read(found: &FoundFile, options: &ReadOptions) -> Result<Document, SkippedFile> {
    let skipped = |reason: String| SkippedFile::new(&found.path, reason);
    let bytes = options.bytes(&found.file).map_err(skipped)?;
    Document::read(&found.path, bytes, options).map_err(skipped)
}

/// A line of the text that was read of a file, with what its reader made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadLine<'a> {
    /// The line of the file, or of the text where the file is not text; from 1.
    pub line: u32,
    /// The place of a document that is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The headings that begin on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<ReadHeading<'a>>,
    /// Whether it is a row of a table, or a part of one.
    pub is_row: bool,
    pub text: &'a str,
}

/// A heading of a line that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReadHeading<'a> {
    /// 1 is outermost, 0 the title of a page.
    pub level: u8,
    pub title: &'a str,
    /// Whether the text of its line says it, too.
    pub is_in_text: bool,
}

/// The lines of a document, without line ends, as the line numbers of chunks and citations count
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLines {
    pub lines: Vec<String>,
    /// The places of a document that is not text, with the lines where they begin.
    pub places: Vec<PlaceFrom>,
    pub form: SourceForm,
}

/// Returns the lines of a file.
///
/// # Errors
/// The reason why the file cannot be shown.
pub fn source_lines(file: &Path) -> Result<SourceLines, String> {
    let bytes = files::read(file).map_err(|error| unreadable(&error))?;
    let path = file.to_string_lossy();
    let format = recognise(&path, &bytes)?.format;

    match format.reader {
        Reader::Text(_) => {
            let text = decode(bytes)?.traced.text;
            Ok(SourceLines {
                lines: lines_of(&text),
                places: Vec::new(),
                form: format.form(&text, &[]),
            })
        }
        Reader::Binary(_) | Reader::Configured(_) => {
            Ok(Document::read(&path, bytes, &ReadOptions::default())?.source_lines())
        }
    }
}

fn lines_of(text: &str) -> Vec<String> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
        .collect()
}

/// A binary document as it is kept with the index.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    format: String,
    extract: Extract,
}

impl Document {
    /// Creates the document of a file with these bytes, with the settings as by default.
    ///
    /// # Errors
    /// The reason why the file is not a document.
    pub fn new(path: &str, bytes: Vec<u8>) -> Result<Self, String> {
        Self::read(path, bytes, &ReadOptions::default())
    }

    /// Creates the document of a file with its reader in this process: fuzz targets follow it.
    ///
    /// # Errors
    /// The reason why the file is not a document.
    #[doc(hidden)]
    pub fn new_here(path: &str, bytes: Vec<u8>) -> Result<Self, String> {
        let format = recognise(path, &bytes)?.format;
        let options = ReadOptions::default();
        if matches!(format.reader, Reader::Text(_)) {
            return Self::from_format(format, path, bytes, &options);
        }
        let extract = format.extract_with_pictures(&Input::new(path, &bytes, &options))?;
        let line_starts = line_starts(&extract.text);
        Self::from_extract(path, format, extract, line_starts)
    }

    /// Creates the document of a file with these bytes.
    ///
    /// # Errors
    /// The reason why the file is not a document.
    pub fn read(path: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Self, String> {
        let recognised = recognise(path, &bytes)?;
        let document = Self::from_format(recognised.format, path, bytes, options)?;
        Ok(Self {
            note: join_notes(recognised.note, document.note),
            ..document
        })
    }

    fn from_format(
        format: &'static Format,
        path: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        match format.reader {
            Reader::Text(extract) => {
                let decoded = decode(bytes)?;
                // lines are counted in the file, before anything is extracted
                let line_starts = line_starts(&decoded.traced.text);
                let extract = extract(decoded.traced.text);
                let document = Self::from_extract(path, format, extract, line_starts)?;
                Ok(Self {
                    note: join_notes(decoded.note, document.note),
                    decoded: decoded.traced.origin,
                    ..document
                })
            }
            Reader::Binary(_) | Reader::Configured(_) => {
                let input = Input::new(path, &bytes, options);
                let extract = worker::extract(format, &input)?;
                let line_starts = line_starts(&extract.text);
                Self::from_extract(path, format, extract, line_starts)
            }
        }
    }

    fn from_extract(
        path: &str,
        format: &'static Format,
        mut extract: Extract,
        line_starts: Vec<u64>,
    ) -> Result<Self, String> {
        let hidden = match extract.hidden {
            0 => None,
            1 => Some("hidden text is left out, in 1 place".to_owned()),
            places => Some(format!("hidden text is left out, in {places} places")),
        };
        let note = join_notes(extract.note.take(), hidden);
        if extract.text.trim().is_empty() {
            return Err(note.unwrap_or("it holds no text".to_owned()));
        }

        extract.add_title();
        if format.has_title_lines() {
            add_title_lines(&mut extract);
        }
        extract.shorten();
        let named = extract.metadata.date.take();
        extract.metadata.date = named.or_else(|| date_in_path(path));

        Ok(Self {
            path: path.to_owned(),
            format,
            language: language(&extract.text),
            note,
            pictures: extract.pictures,
            metadata: extract.metadata,
            outline: Outline::new(extract.headings),
            front_matter_end: extract.front_matter_end,
            places: extract.places,
            parts: extract.parts,
            rows: extract.rows,
            extracted: extract.origin,
            decoded: Offsets::default(),
            line_starts,
            text: extract.text,
        })
    }

    /// Returns the lines of a document that is not text.
    pub fn source_lines(&self) -> SourceLines {
        let places = self.places(0..self.text.len());
        SourceLines {
            lines: lines_of(&self.text),
            form: self.format.form(&self.text, &places),
            places,
        }
    }

    /// Returns the title of the document: its first heading, which a title of its metadata has
    /// become.
    pub fn title(&self) -> Option<&str> {
        let first = self.outline.headings.first()?;
        Some(first.title.as_str()).filter(|title| !title.is_empty())
    }

    /// Returns the lines of the text, each with its place, its headings and whether it is a row.
    pub fn read_lines(&self) -> Vec<ReadLine<'_>> {
        let places = self.places(0..self.text.len());
        let mut headings = self.outline.headings.iter().peekable();
        let mut rows = self.rows.iter().peekable();

        let mut lines = Vec::new();
        let mut start = 0;
        for text in self.text.split('\n') {
            let end = start + text.len();
            let line = self.lines(start..end)[0];
            let begun = |heading: &&Heading| heading.range.start <= end;
            let mut begun_here = Vec::new();
            while let Some(heading) = headings.next_if(begun) {
                if !heading.title.is_empty() {
                    begun_here.push(ReadHeading {
                        level: heading.level,
                        title: &heading.title,
                        is_in_text: !heading.range.is_empty(),
                    });
                }
            }
            while rows.next_if(|row| row.end <= start).is_some() {}

            lines.push(ReadLine {
                line,
                place: place_of_lines(&places, [line, line]),
                headings: begun_here,
                is_row: rows.peek().is_some_and(|row| row.start < end),
                text,
            });
            start = end + 1;
        }
        lines
    }

    /// Returns a binary document to keep with the index; `None` for text, whose file is the text.
    pub fn kept_bytes(&self) -> Option<Vec<u8>> {
        if matches!(self.format.reader, Reader::Text(_)) {
            return None;
        }

        let extract = Extract {
            text: self.text.clone(),
            headings: self.outline.headings.clone(),
            front_matter_end: self.front_matter_end,
            places: self.places.clone(),
            parts: self.parts.clone(),
            rows: self.rows.clone(),
            metadata: self.metadata.clone(),
            note: self.note.clone(),
            pictures: self.pictures,
            hidden: 0,
            origin: Offsets::default(),
        };

        let format = self.format.name.to_owned();
        serde_json::to_vec(&Kept { format, extract }).ok()
    }

    /// Returns the document that [`Self::kept`] gave; `None` when it is damaged.
    pub fn from_kept(path: &str, kept: &[u8]) -> Option<Self> {
        let Kept { format, extract } = serde_json::from_slice(kept).ok()?;
        let line_starts = line_starts(&extract.text);
        Self::from_extract(path, Format::from_name(&format)?, extract, line_starts).ok()
    }

    /// Returns the bytes of the file that a part of the text stands for: start, and one past the
    /// end.
    pub fn bytes(&self, part: Range<usize>) -> [u64; 2] {
        let decoded = self.in_decoded(part);
        let bytes = self.decoded.source_range(decoded);
        [bytes.start, bytes.end]
    }

    /// Returns the lines of the file that a part of the text stands for, from 1, both inclusive.
    pub fn lines(&self, part: Range<usize>) -> [u32; 2] {
        let decoded = self.in_decoded(part);
        let last = decoded.end.saturating_sub(1).max(decoded.start);
        [self.line(decoded.start as u64), self.line(last as u64)]
    }

    /// Returns the places that a part of the text is on, with the lines of the text where they
    /// begin; none where the lines of the file are the places.
    pub fn places(&self, part: Range<usize>) -> Vec<PlaceFrom> {
        let after_start = self.places.partition_point(|(at, _)| *at <= part.start);
        let from = after_start.saturating_sub(1);
        let until = self.places.partition_point(|(at, _)| *at < part.end);
        let places = self.places.get(from..until).unwrap_or_default();
        places
            .iter()
            .map(|(at, place)| PlaceFrom {
                line: self.line(*at as u64),
                place: place.clone(),
            })
            .collect()
    }

    /// Returns whether a new message, sheet or member begins after the start of a part of the text
    /// and up to its end.
    pub(super) fn begins_part(&self, between: Range<usize>) -> bool {
        let first = self.parts.partition_point(|at| *at < between.start);
        self.parts.get(first).is_some_and(|at| *at <= between.end)
    }

    /// Returns the titles of the headings above a position of the text, outermost first. On a
    /// heading its own title is among them.
    pub fn headings_at(&self, at: usize) -> Vec<String> {
        self.outline.titles_at(at)
    }

    /// Returns the sections that begin inside of a part of the text, with their bytes from `start`
    /// on.
    pub(super) fn sections(&self, part: Range<usize>, start: usize) -> Vec<SectionFrom> {
        let headings = &self.outline.headings;
        let first = headings.partition_point(|heading| heading.range.start < part.start);
        let begins = headings[first..].iter().map(|heading| heading.range.start);
        let begins = begins.take_while(|at| *at < part.end).take(MAX_SECTIONS);
        let section = |at: usize| SectionFrom {
            at: saturating_u32(at - start),
            headings: self.headings_at(at),
        };
        begins.map(section).collect()
    }

    fn in_decoded(&self, part: Range<usize>) -> Range<usize> {
        let decoded = self.extracted.source_range(part);
        // the decoded text was in memory, so its positions fit
        usize::try_from(decoded.start).unwrap_or(usize::MAX)
            ..usize::try_from(decoded.end).unwrap_or(usize::MAX)
    }

    fn line(&self, at: u64) -> u32 {
        saturating_u32(self.line_starts.partition_point(|start| *start <= at))
    }
}

/// Returns both remarks as one.
fn join_notes(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}

fn line_starts(text: &str) -> Vec<u64> {
    let after_ends = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| *byte == b'\n')
        .map(|(at, _)| at as u64 + 1);
    std::iter::once(0).chain(after_ends).collect()
}
