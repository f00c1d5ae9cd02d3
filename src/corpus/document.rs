//! A file as text, with the way back: the bytes and lines of the file and the headings of each part
//! of the text.

use std::ops::Range;
use std::path::Path;

use super::decode::decode;
use super::format::Format;
use super::language::language;
use super::offsets::Offsets;
use super::walk::{FoundFile, unreadable};
use super::{html, markdown};
use crate::event::{SkippedFile, saturating_u32};

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Path inside the corpus.
    pub path: String,
    pub format: Format,
    /// ISO 639-1 code; `en` when the text is too short to detect it.
    pub language: &'static str,
    /// The text that is split into chunks: all of Markdown and plain text, and the text between the
    /// tags of HTML.
    pub text: String,
    /// A remark for the index report.
    pub note: Option<String>,
    pub(super) outline: Outline,
    /// The lowest level of a heading.
    outermost: u8,
    /// From the text to the decoded file, and from there to its bytes.
    extracted: Offsets,
    decoded: Offsets,
    /// The starts of the lines of the decoded file.
    line_starts: Vec<u64>,
}

/// The structure of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    /// The end of the front matter; 0 when there is none.
    pub(super) front_matter_end: usize,
}

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    /// Its range in the text, with its marks.
    pub(super) range: Range<usize>,
    /// 1 is outermost, 0 the title of a page.
    pub(super) level: u8,
    pub(super) title: String,
}

/// Reads a file that a walk found.
///
/// # Errors
/// The reason why it does not become a document: unreadable, missing, not text, empty.
pub fn read(found: &FoundFile) -> Result<Document, SkippedFile> {
    let skipped = |reason| SkippedFile {
        path: found.path.clone(),
        reason,
    };
    let bytes = std::fs::read(&found.file).map_err(|error| skipped(unreadable(&error)))?;
    Document::new(&found.path, bytes).map_err(skipped)
}

/// Returns the lines of a file, without line ends, as the line numbers of chunks and citations count
/// them.
///
/// # Errors
/// The reason why the file cannot be shown.
pub fn source_lines(file: &Path) -> Result<Vec<String>, String> {
    let bytes = std::fs::read(file).map_err(|error| unreadable(&error))?;
    let text = decode(bytes)?.traced.text;
    Ok(text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
        .collect())
}

impl Document {
    /// Creates the document of a file with these bytes.
    ///
    /// # Errors
    /// The reason why the file is not a document.
    pub fn new(path: &str, bytes: Vec<u8>) -> Result<Self, String> {
        let decoded = decode(bytes)?;
        let line_starts = line_starts(&decoded.traced.text);
        let format = Format::of(path);
        let text = decoded.traced.text;

        let mut outline = Outline::default();
        let (text, extracted) = match format {
            Format::Text => (text, Offsets::default()),
            Format::Markdown => {
                outline = markdown::outline(&text);
                (text, Offsets::default())
            }
            Format::Html => {
                let page = html::extract(&text);
                outline.headings = page.headings;
                (page.traced.text, page.traced.origin)
            }
        };
        if text.trim().is_empty() {
            return Err("it holds no text".to_owned());
        }

        let levels = outline.headings.iter().map(|heading| heading.level);
        Ok(Self {
            path: path.to_owned(),
            format,
            language: language(&text),
            text,
            note: decoded.note,
            outermost: levels.min().unwrap_or(0),
            outline,
            extracted,
            decoded: decoded.traced.origin,
            line_starts,
        })
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

    /// Returns the titles of the headings above a position of the text, outermost first. On a heading
    /// its own title is among them.
    pub fn headings_at(&self, at: usize) -> Vec<String> {
        let above = self
            .outline
            .headings
            .partition_point(|heading| heading.range.start <= at);
        let mut path: Vec<&Heading> = Vec::new();
        for heading in self.outline.headings[..above].iter().rev() {
            if path.last().is_none_or(|inner| heading.level < inner.level) {
                path.push(heading);
            }
            if heading.level == self.outermost {
                break;
            }
        }
        path.iter()
            .rev()
            .map(|heading| heading.title.clone())
            .collect()
    }

    /// Returns the heading that contains a position of the text.
    pub(super) fn heading_at(&self, at: usize) -> Option<&Heading> {
        let after = self
            .outline
            .headings
            .partition_point(|heading| heading.range.start <= at);
        self.outline.headings[..after]
            .last()
            .filter(|heading| at < heading.range.end)
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

fn line_starts(text: &str) -> Vec<u64> {
    let after_ends = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| *byte == b'\n')
        .map(|(at, _)| at as u64 + 1);
    std::iter::once(0).chain(after_ends).collect()
}
