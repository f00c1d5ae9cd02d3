//! The list of formats.

use super::format::{Format, Reader, extension};
use super::{
    archive, calendar, chat, code, elements, epub, evernote, excel, fiction_book, html, json,
    latex, mail, markdown, markup_lines, notebook, office, open_document, pdf, picture, rtf,
    settings, sheet_rows, subtitles, table, text, whatsapp,
};
use crate::event::{PlaceFrom, SourceForm};

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
    &evernote::FORMAT,
    &mail::MESSAGE,
    &mail::MAILBOX,
    &calendar::FORMAT,
    &chat::FORMAT,
    &whatsapp::FORMAT,
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
    &pdf::FORMAT,
    &picture::FORMAT,
    &archive::ZIP,
    &archive::GZIP,
    &archive::TAR,
];

impl Format {
    /// Returns the format of a file by its name; plain text when no format has its extension. An
    /// unknown one may stand behind that of a text, as in `codes.rst.inc` and `page.html.bak`.
    pub fn for_path(path: &str) -> &'static Self {
        let by_end = |path: &str| {
            let extension = extension(path);
            let named = |format: &&&Self| format.extensions.contains(&extension.as_str());
            FORMATS.iter().find(named).copied()
        };
        let before = || {
            let (name, end) = path.rsplit('/').next()?.rsplit_once('.')?;
            // what has other signs is no extension: the flags of a mail, for instance
            let is_extension = end.chars().all(char::is_alphanumeric);
            let found = by_end(name).filter(|_| is_extension);
            found.filter(|format| matches!(format.reader, Reader::Text(_)))
        };
        by_end(path).or_else(before).unwrap_or(&text::FORMAT)
    }

    /// Returns the format with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name).copied()
    }

    /// Returns what the lines of a document of this format are; `text` are these lines.
    pub(in crate::corpus) fn form(&self, text: &str, places: &[PlaceFrom]) -> SourceForm {
        let sheets = [&excel::FORMAT, &open_document::SHEETS];

        if *self == markdown::FORMAT {
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

    /// Returns whether lines of its files may be titles that nothing marks: it is read as prose, of
    /// which no size of letters is known.
    pub fn has_title_lines(&self) -> bool {
        let of_prose = [
            "text",
            "Markdown",
            "HTML",
            "Word",
            "OpenDocument text",
            "RTF",
            "EPUB",
            "Evernote",
        ];
        of_prose.contains(&self.name)
    }

    /// Returns whether its files are source code.
    pub fn is_source_code(&self) -> bool {
        *self == code::FORMAT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::formats::unread::{UNREAD, Unread};

    #[test]
    fn format_of_file_names() {
        let cases = [
            ("a/README.MD", "Markdown", None),
            ("page.html", "HTML", None),
            ("notes", "text", None),
            ("dir.md/notes", "text", None),
            ("x/photo.JPEG", "picture", None),
            ("x/photo.heic", "text", Some("an image")),
            ("codes.rst.inc", "reStructuredText", None),
            ("page.HTML.bak", "HTML", None),
            ("old.zip.1", "text", None),
            ("notes.v2.final", "text", None),
            ("site.html.d/README", "text", None),
            ("cur/17.M1P2.mail.example.org:2,S", "text", None),
        ];
        for (path, format, unread) in cases {
            let found = (
                Format::for_path(path).name,
                Unread::for_file(path, Vec::new).map(|unread| unread.kind),
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
