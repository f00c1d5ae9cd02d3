//! File formats: how the files of each become text. A format is one file of this folder and one
//! line of [`FORMATS`].

mod archive;
mod builder;
mod epub;
mod excel;
mod fiction_book;
mod html;
mod mail;
mod markdown;
mod member;
mod number_form;
mod office;
mod office_parts;
mod open_document;
mod package;
mod pdf;
mod recognise;
mod rtf;
mod text;
mod code;
mod unread;
mod xlsx;
mod xml;
mod elements;
mod json;
mod lines;
mod markup_lines;
mod metadata;
mod notebook;
mod settings;
mod sheet_rows;
mod subtitles;
mod table;

pub(super) use recognise::recognise;

use serde::{Deserialize, Serialize};

pub use unread::{UNREAD, Unread};

use super::document::Heading;
use super::offsets::Offsets;
use super::options::ReadOptions;
use crate::event::{Metadata, Place, PlaceFrom, SourceForm};

/// The formats that are read.
pub static FORMATS: &[&Format] = &[
    &text::FORMAT,
    &markdown::FORMAT,
    &html::FORMAT,
    &code::FORMAT,
    &office::WORD,
    &office::POWERPOINT,
    &excel::FORMAT,
    &open_document::TEXT,
    &open_document::SHEETS,
    &open_document::SLIDES,
    &rtf::FORMAT,
    &epub::FORMAT,
    &fiction_book::FORMAT,
    &mail::MESSAGE,
    &mail::MAILBOX,
    &table::FORMAT,
    &json::FORMAT,
    &settings::YAML,
    &settings::TOML,
    &settings::INI,
    &elements::FORMAT,
    &markup_lines::ASCIIDOC,
    &markup_lines::RESTRUCTURED_TEXT,
    &markup_lines::ORG,
    &markup_lines::LATEX,
    &notebook::FORMAT,
    &subtitles::FORMAT,
    &pdf::FORMAT,
    &archive::ZIP,
    &archive::GZIP,
    &archive::TAR,
];

/// A file format.
#[derive(Debug)]
pub struct Format {
    /// The name for users, as in `PDF`.
    pub name: &'static str,
    /// Extensions of its file names, in lower case.
    pub extensions: &'static [&'static str],
    /// What reads it, for users: `ragscope`, or a library with its version.
    pub library: &'static str,
    /// What a place in such a file is, for users, as in `page`.
    pub place: &'static str,
    pub(super) reader: Reader,
}

/// The function that extracts the text of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reader {
    /// Of a file that is text itself, once it is decoded. Runs in this process, so any input gives
    /// some text within linear time.
    Text(fn(String) -> Extract),
    /// Of any other file. Runs in a worker process. The error is the reason for users why the file
    /// is skipped.
    Binary(fn(&[u8]) -> Result<Extract, String>),
    /// As `Binary`, for formats whose text depends on settings or on the name of the file.
    Configured(fn(&Input<'_>) -> Result<Extract, String>),
}

/// A binary file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    pub path: &'a str,
    pub bytes: &'a [u8],
    pub options: &'a ReadOptions,
}

/// What a reader extracts from a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Extract {
    /// The text that is split into chunks.
    pub text: String,
    /// In the order of the text.
    pub headings: Vec<Heading>,
    /// The end of the front matter in the text; 0 when there is none.
    pub front_matter_end: usize,
    /// Where in the text each place begins; empty where the lines of the file are the places.
    pub places: Vec<(usize, Place)>,
    /// Where in the text a new message, sheet or member begins: no chunk reaches across.
    pub parts: Vec<usize>,
    pub metadata: Metadata,
    /// A remark for the index report: what could not be read.
    pub note: Option<String>,
    /// From the text to the decoded file; the reader of a binary file leaves it out.
    #[serde(skip)]
    pub origin: Offsets,
}

impl Format {
    /// Returns the format of a file by its name; plain text when no format has its extension.
    pub fn of(path: &str) -> &'static Self {
        let extension = extension(path);
        FORMATS
            .iter()
            .find(|format| format.extensions.contains(&extension.as_str()))
            .copied()
            .unwrap_or(&text::FORMAT)
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name).copied()
    }

    /// Extracts the text of a file of a binary format, in this process.
    pub(super) fn extract_binary(&self, input: &Input<'_>) -> Result<Extract, String> {
        match self.reader {
            Reader::Text(_) => Err(format!("{} is text", self.name)),
            Reader::Binary(extract) => extract(input.bytes),
            Reader::Configured(extract) => extract(input),
        }
    }

    /// Returns the library and the settings that the text of a binary file depends on; empty for
    /// text, which is read from the file whenever it is needed.
    pub fn reading(&self, options: &ReadOptions) -> String {
        match self.reader {
            Reader::Text(_) => String::new(),
            Reader::Binary(_) => self.library.to_owned(),
            Reader::Configured(_) => format!("{} {}", self.library, options.key()),
        }
    }

    /// Returns what the lines of a document of this format are; `text` are these lines.
    pub(super) fn form(&self, text: &str, places: &[PlaceFrom]) -> SourceForm {
        let sheets = [&excel::FORMAT, &open_document::SHEETS];
        if let Some((_, language, extract)) = markup_lines::LANGUAGES
            .iter()
            .find(|(format, ..)| *format == self)
        {
            let headings = extract(text.to_owned()).headings;
            let headings = markup_lines::heading_lines(text, headings);
            SourceForm::Markup {
                language: *language,
                headings,
            }
        } else if *self == markdown::FORMAT {
            SourceForm::Markdown
        } else if *self == table::FORMAT {
            let rows = table::rows(text);
            SourceForm::Table { rows }
        } else if sheets.contains(&self) {
            let rows = sheet_rows::rows(text, places);
            SourceForm::Table { rows }
        } else {
            SourceForm::Lines
        }
    }

    /// Returns whether its files are source code.
    pub fn is_source_code(&self) -> bool {
        *self == code::FORMAT
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl Extract {
    /// Returns text that is its source, byte for byte.
    pub fn verbatim(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_of_file_names() {
        let cases = [
            ("a/README.MD", "Markdown", None),
            ("page.html", "HTML", None),
            ("notes", "text", None),
            ("dir.md/notes", "text", None),
            ("x/photo.JPEG", "text", Some("an image")),
        ];
        for (path, format, unread) in cases {
            let found = (
                Format::of(path).name,
                Unread::of(path).map(|unread| unread.kind),
            );
            assert_eq!(found, (format, unread), "{path}");
        }
    }

    #[test]
    fn an_extension_belongs_to_one_format() {
        let mut extensions: Vec<&str> = FORMATS
            .iter()
            .flat_map(|format| format.extensions)
            .copied()
            .chain(UNREAD.iter().flat_map(|unread| unread.extensions).copied())
            .collect();
        let all = extensions.len();
        extensions.sort_unstable();
        extensions.dedup();
        assert_eq!(extensions.len(), all);
    }
}
