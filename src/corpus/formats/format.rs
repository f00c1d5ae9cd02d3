//! A file format: what its reader gets, and what it gives.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::corpus::offsets::{Offsets, Traced};
use crate::corpus::options::ReadOptions;
use crate::corpus::outline::{Heading, shorten};
use crate::event::{Metadata, Place};

/// Increases when a reader extracts other text from a file: what is kept of it is read again.
const REVISION: u32 = 11;

/// Titles that programs give to documents which have none, in lower case, and what they put in
/// front of the name of a file.
#[rustfmt::skip]
const PROGRAM_TITLES: [&str; 7] = [
    "powerpoint presentation", "untitled", "untitled document", "(anonymous)", "(unspecified)",
    "document", "slide 1",
];
const PROGRAM_PREFIXES: [&str; 3] = [
    "microsoft word - ",
    "microsoft powerpoint - ",
    "microsoft excel - ",
];

/// A file format.
#[derive(Debug, Serialize)]
pub struct Format {
    /// The name for users, as in `PDF`.
    pub name: &'static str,
    /// Extensions of its file names, in lower case.
    pub extensions: &'static [&'static str],
    /// A place in such a file, for users, as in `page`.
    pub place: &'static str,
    /// The program that reads it, for users: `ragscope`, or a library with its version.
    pub library: &'static str,
    #[serde(skip)]
    pub(in crate::corpus) reader: Reader,
}

/// The function that extracts the text of a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::corpus) enum Reader {
    /// A reader of text, once it is decoded. Runs in this process, so any input gives
    /// some text within linear time.
    Text(fn(String) -> Extract),
    /// A reader of any other file. Runs in a worker process. The error is the reason for users why
    /// the file is skipped.
    Binary(fn(&[u8]) -> Result<Extract, String>),
    /// Like `Binary`, for formats whose text depends on settings or on the name of the file.
    Configured(fn(&Input<'_>) -> Result<Extract, String>),
}

/// A binary file, or a member of one.
#[derive(Debug, Clone, Copy)]
pub(in crate::corpus) struct Input<'a> {
    pub path: &'a str,
    pub bytes: &'a [u8],
    pub options: &'a ReadOptions,
    /// Recognises the format of a member: archives and mails hold documents of any format, and the
    /// readers of those are declared above the list of formats.
    pub recognise: fn(&str, &[u8]) -> Result<Recognised, String>,
}

/// The format of a file, with a remark where its name says another.
#[derive(Debug)]
pub(in crate::corpus) struct Recognised {
    pub format: &'static Format,
    pub note: Option<String>,
}

/// The text of a file, as a reader extracts it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::corpus) struct Extract {
    /// The text that is split into chunks.
    pub text: String,
    /// The headings, in the order of the text.
    pub headings: Vec<Heading>,
    /// The end of the front matter in the text; 0 when there is none.
    pub front_matter_end: usize,
    /// The positions in the text where a place begins; empty where the lines of the file are the
    /// places.
    pub places: Vec<(usize, Place)>,
    /// The positions where a new message, sheet or member begins: no chunk reaches across.
    pub parts: Vec<usize>,
    /// The rows of tables, in the order of the text: no chunk begins or ends inside one that fits.
    pub rows: Vec<Range<usize>>,
    pub metadata: Metadata,
    /// A remark for the index report: what could not be read.
    pub note: Option<String>,
    /// The number of pictures in it whose text is not read.
    #[serde(default)]
    pub pictures: u32,
    /// The number of its parts with text that a reader of it does not see.
    #[serde(default)]
    pub hidden: u32,
    /// The way from the text to the decoded file; the reader of a binary file leaves it out.
    #[serde(skip)]
    pub origin: Offsets,
}

impl Format {
    /// A format of text that is read here, and whose places are lines.
    pub(super) const fn for_lines(
        name: &'static str,
        extensions: &'static [&'static str],
        extract: fn(String) -> Extract,
    ) -> Self {
        Self {
            name,
            extensions,
            library: "ragscope",
            place: "line",
            reader: Reader::Text(extract),
        }
    }

    /// A format of binary files that are read here.
    pub(super) const fn for_binary(
        name: &'static str,
        extensions: &'static [&'static str],
        place: &'static str,
        extract: fn(&[u8]) -> Result<Extract, String>,
    ) -> Self {
        Self {
            name,
            extensions,
            library: "ragscope",
            place,
            reader: Reader::Binary(extract),
        }
    }

    /// Returns the library and the settings that the text of a binary file depends on; empty for
    /// text, which is read from the file whenever it is needed.
    pub fn reading(&self, options: &ReadOptions) -> String {
        match self.reader {
            Reader::Text(_) => String::new(),
            Reader::Binary(_) => {
                let ocr = if options.ocr { " ocr" } else { "" };
                format!("{} {REVISION}{ocr}", self.library)
            }
            Reader::Configured(_) => format!("{} {REVISION} {}", self.library, options.key()),
        }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl<'a> Input<'a> {
    /// Returns a member of this file, to read it with the same options.
    pub fn member<'m>(&self, path: &'m str, bytes: &'m [u8]) -> Input<'m>
    where
        'a: 'm,
    {
        Input {
            path,
            bytes,
            options: self.options,
            recognise: self.recognise,
        }
    }
}

impl Extract {
    /// Returns text that is its source, byte for byte.
    pub fn verbatim(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Returns text with its origin.
    pub fn from_traced(traced: Traced) -> Self {
        Self {
            origin: traced.origin,
            ..Self::verbatim(traced.text)
        }
    }

    /// Takes the headings, places, parts and rows of a member whose text begins at `start`.
    pub fn take_marks(&mut self, member: Self, start: usize) {
        let headings = member.headings.into_iter();
        self.headings
            .extend(headings.map(|heading| heading.shift_by(start)));
        let places = member.places.into_iter();
        self.places
            .extend(places.map(|(at, place)| (at + start, place)));
        let parts = member.parts.into_iter();
        self.parts.extend(parts.map(|at| at + start));
        let rows = member.rows.into_iter();
        self.rows
            .extend(rows.map(|row| row.start + start..row.end + start));
    }

    /// Puts the first heading above all others where another one of its level follows at once: the
    /// title of a document in which the sections have the same level. A part of a document has
    /// none.
    pub fn with_raised_title(mut self) -> Self {
        if let [first, second, ..] = self.headings.as_mut_slice() {
            let is_blank = |range: Range<usize>| {
                let between = self.text.get(range);
                between.is_some_and(|between| between.trim().is_empty())
            };
            let follows = is_blank(self.front_matter_end..first.range.start)
                && is_blank(first.range.end..second.range.start);
            if follows && first.level == second.level && !second.range.is_empty() {
                first.level = 0;
            }
        }
        self
    }

    /// Puts the title that a document gives itself above all of its headings, unless one of them is
    /// the same: a chunk further down names nothing that the document is about.
    pub fn add_title(&mut self) {
        let Metadata { title, author, .. } = &mut self.metadata;
        title.take_if(|title| is_of_program(title));
        author.take_if(|author| is_of_program(author));
        let Some(title) = title.as_deref().map(str::trim) else {
            return;
        };
        let lower = title.to_lowercase();
        let is_said =
            |heading: &Heading| heading.level == 0 || heading.title.to_lowercase() == lower;
        if !lower.is_empty() && !self.headings.iter().any(is_said) {
            self.headings.insert(0, Heading::new(0..0, 0, title));
        }
    }

    /// Cuts the titles and names that are longer than a line.
    pub fn shorten(&mut self) {
        let titles = self.headings.iter_mut().map(|heading| &mut heading.title);
        titles.for_each(shorten);
        let places = self.places.iter_mut();
        let names = places.flat_map(|(_, place)| [&mut place.name, &mut place.member]);
        names.flatten().for_each(shorten);

        let about = &mut self.metadata;
        let fields = [&mut about.title, &mut about.author, &mut about.date];
        fields.into_iter().flatten().for_each(shorten);
    }
}

/// Returns whether a program put a title or an author where there is none.
fn is_of_program(title: &str) -> bool {
    let lower = title.trim().to_lowercase();
    PROGRAM_TITLES.contains(&lower.as_str())
        || PROGRAM_PREFIXES.iter().any(|own| lower.starts_with(own))
}

/// Returns the extension of the name of a file, in lower case; empty when it has none.
pub(super) fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}
