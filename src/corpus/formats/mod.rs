//! File formats: how the files of each become text. A format is one file of this folder and one line
//! of [`FORMATS`].

mod builder;
mod epub;
mod fiction_book;
mod html;
mod mail;
mod markdown;
mod member;
mod office;
mod open_document;
mod package;
mod rtf;
mod text;
mod code;
mod unread;
mod xlsx;
mod xml;
mod elements;
mod json;
mod latex;
mod lines;
mod markup_lines;
mod metadata;
mod notebook;
mod settings;
mod subtitles;
mod table;

use serde::{Deserialize, Serialize};

pub use unread::{UNREAD, Unread};

use super::document::Heading;
use super::offsets::Offsets;
use crate::event::{Metadata, Place};

/// The formats that are read.
pub static FORMATS: &[&Format] = &[
    &text::FORMAT,
    &markdown::FORMAT,
    &html::FORMAT,
    &code::RUST,
    &code::PYTHON,
    &code::JAVASCRIPT,
    &code::TYPESCRIPT,
    &code::GO,
    &code::JAVA,
    &code::KOTLIN,
    &code::C,
    &code::CPP,
    &code::C_SHARP,
    &code::RUBY,
    &code::PHP,
    &code::SHELL,
    &office::WORD,
    &office::POWERPOINT,
    &office::EXCEL,
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
    &latex::FORMAT,
    &notebook::FORMAT,
    &subtitles::FORMAT,
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
    /// Of any other file. The error is the reason for users why the file is skipped.
    Binary(fn(&[u8]) -> Result<Extract, String>),
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
