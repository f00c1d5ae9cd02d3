//! The format of a file, by its name and by its first bytes: the name may be wrong.

use super::format::{Format, Input, Reader, Recognised, extension};
use super::{
    archive, chat, epub, excel, html, json, mail, mailbox, office, open_document, pdf, rtf, text,
    whatsapp,
};
use crate::corpus::decode::{decode, without_mark};
use crate::corpus::options::ReadOptions;

/// The header of a PDF may follow other bytes, up to here.
const MAX_PDF_OFFSET: usize = 1024;
/// The names of the members of a zip file are in its last bytes.
const ZIP_DIRECTORY_BYTES: usize = 256 << 10;
/// The formats of Office, and the stream that their files before 2007 have.
const OFFICE: [(&Format, &str); 3] = [
    (&office::WORD, "WordDocument"),
    (&excel::FORMAT, "Workbook"),
    (&office::POWERPOINT, "PowerPoint Document"),
];
/// Marks in the zip files of documents. EPUB and OpenDocument ask for an uncompressed first member
/// `mimetype`, whose name and text follow each other.
#[rustfmt::skip]
const ZIP_MARKS: [(&str, &Format); 7] = [
    ("word/document.xml", &office::WORD),
    ("xl/workbook.xml", &excel::FORMAT),
    ("ppt/presentation.xml", &office::POWERPOINT),
    ("mimetypeapplication/epub+zip", &epub::FORMAT),
    ("mimetypeapplication/vnd.oasis.opendocument.text", &open_document::TEXT),
    ("mimetypeapplication/vnd.oasis.opendocument.spreadsheet", &open_document::SHEETS),
    ("mimetypeapplication/vnd.oasis.opendocument.presentation", &open_document::SLIDES),
];
/// Text before the first tag of a page.
const HTML_HEAD_BYTES: usize = 512;

impl<'a> Input<'a> {
    /// Returns a file of the corpus, whose members are read by the readers of all formats.
    pub fn new(path: &'a str, bytes: &'a [u8], options: &'a ReadOptions) -> Self {
        Self {
            path,
            bytes,
            options,
            recognise,
        }
    }
}

/// Recognises the format of a file.
///
/// # Errors
/// The reason why the file is not what its name says, and is not text either.
pub(in crate::corpus) fn recognise(path: &str, bytes: &[u8]) -> Result<Recognised, String> {
    let named = Format::for_path(path);
    if let Some(format) = kind_by_content(named, path, bytes) {
        return Ok(Recognised { format, note: None });
    }
    let found = format_by_content(named, bytes);
    let is_expected = match found {
        Some(found) => found == named || !has_signature(named),
        None => !is_own_signature(named),
    };
    if is_expected {
        return Ok(Recognised {
            format: named,
            note: None,
        });
    }

    let format = match found {
        Some(found) => found,
        None if decode(bytes.to_vec()).is_ok() => text_format(bytes),
        None => {
            let name = named.name;
            return Err(format!("its name says {name}, its content does not"));
        }
    };
    Ok(Recognised {
        format,
        note: Some(format!("read as {}, in spite of its name", format.name)),
    })
}

/// Returns the format of a text whose name says less than its content: mail and chats.
fn kind_by_content(named: &Format, path: &str, bytes: &[u8]) -> Option<&'static Format> {
    if *named == json::FORMAT {
        return chat::is_chat(bytes).then_some(&chat::FORMAT);
    }
    if *named != text::FORMAT {
        return None;
    }
    if whatsapp::is_chat(bytes) {
        return Some(&whatsapp::FORMAT);
    }
    mail_format(path, bytes)
}

/// Returns the format of mail whose name says nothing, as in a Maildir and in the folders of
/// Thunderbird.
fn mail_format(path: &str, bytes: &[u8]) -> Option<&'static Format> {
    if text::FORMAT.extensions.contains(&extension(path).as_str()) {
        return None;
    }
    let bytes = without_mark(bytes);
    if mailbox::is_mailbox(bytes) {
        return Some(&mail::MAILBOX);
    }

    // the folders of a Maildir hold nothing but messages
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let is_in_maildir = matches!(folder, "cur" | "new") && mailbox::begins_with_field(bytes);
    (is_in_maildir || mailbox::is_message(bytes)).then_some(&mail::MESSAGE)
}

/// Returns whether the bytes of a file of this format say what it is: text may contain anything but
/// the beginning of a binary file.
fn has_signature(format: &Format) -> bool {
    matches!(format.reader, Reader::Text(_)) || is_own_signature(format)
}

/// Returns whether every file of the format has a signature that [`format_by_content`] knows.
fn is_own_signature(format: &Format) -> bool {
    [
        &pdf::FORMAT,
        &archive::ZIP,
        &archive::GZIP,
        &rtf::FORMAT,
        &epub::FORMAT,
    ]
    .contains(&format)
        || is_office(format)
}

fn is_office(format: &Format) -> bool {
    OFFICE.iter().any(|(office, _)| *office == format)
}

/// Returns the format that the first bytes say.
fn format_by_content(named: &'static Format, bytes: &[u8]) -> Option<&'static Format> {
    match bytes {
        // the local header of the first member
        [b'P', b'K', 3, 4, ..] => Some(zip_format(named, bytes)),
        // RFC 1952: the mark, and deflate as the only method
        [0x1f, 0x8b, 8, ..] => Some(&archive::GZIP),
        [b'{', b'\\', b'r', b't', b'f', ..] => Some(&rtf::FORMAT),
        // a compound file: Word, Excel and PowerPoint before 2007, and the encrypted ones since
        [0xd0, 0xcf, 0x11, 0xe0, ..] if is_office(named) => Some(named),
        [0xd0, 0xcf, 0x11, 0xe0, ..] => compound_file_format(bytes),
        _ => {
            let head = &bytes[..bytes.len().min(MAX_PDF_OFFSET)];
            let at = position(head, b"%PDF-")?;
            // text about PDFs may contain the mark, too, but not among binary bytes or at its start
            let is_pdf = head[..at].iter().all(u8::is_ascii_whitespace)
                || bytes.contains(&0)
                || position(bytes, b"startxref").is_some();
            is_pdf.then_some(&pdf::FORMAT)
        }
    }
}

/// Returns the format of an Office file before 2007, by the name of its stream.
fn compound_file_format(bytes: &[u8]) -> Option<&'static Format> {
    let format = OFFICE.iter().find(|(_, stream)| {
        // a compound file names its streams in UTF-16
        let name: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
        position(bytes, &name).is_some()
    });
    format.map(|(format, _)| *format)
}

/// Returns the format of a zip file: documents of an office are zip files, too. One may hold
/// others, and its parts may have other names, so what its name says comes first.
fn zip_format(named: &'static Format, bytes: &[u8]) -> &'static Format {
    let directory = &bytes[bytes.len().saturating_sub(ZIP_DIRECTORY_BYTES)..];
    let head = &bytes[..bytes.len().min(ZIP_DIRECTORY_BYTES)];

    let is_marked = |mark: &str| {
        let mut parts = [directory, head].into_iter();
        parts.any(|part| position(part, mark.as_bytes()).is_some())
    };
    let marked = ZIP_MARKS.iter().filter(|(mark, _)| is_marked(mark));
    let mut marked = marked.map(|(_, format)| *format);
    let first = marked.next();
    match first {
        Some(first) if first == named || !marked.any(|format| format == named) => first,
        Some(_) => named,
        None if is_office(named) || *named == epub::FORMAT => named,
        None => &archive::ZIP,
    }
}

fn text_format(bytes: &[u8]) -> &'static Format {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HTML_HEAD_BYTES)]).to_lowercase();
    let is_page = head.contains("<!doctype html") || head.contains("<html");
    if mailbox::is_message(bytes) {
        // wikis export pages as those of Word, which are saved pages in the form of a message
        &mail::MESSAGE
    } else if is_page {
        &html::FORMAT
    } else {
        &text::FORMAT
    }
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"From: a@b\nTo: c@d\nSubject: x\n\nbody";
    const MAILBOX: &[u8] = b"From a@b Tue Mar  3 06:10:00 2026\nSubject: x\n\nbody";

    #[test]
    fn formats_by_name_and_content() {
        type Expected = Result<(&'static str, bool), ()>;
        let cases: [(&str, &[u8], Expected); 28] = [
            ("a.pdf", b"%PDF-1.4\n", Ok(("PDF", false))),
            ("a.txt", b"%PDF-1.4\n", Ok(("PDF", true))),
            ("a.pdf", b"\x01\x02junk\n%PDF-1.4 \0", Ok(("PDF", false))),
            (
                "a.md",
                b"A PDF begins with %PDF-1.4.",
                Ok(("Markdown", false)),
            ),
            ("a.pdf", b"<!DOCTYPE html><p>Gone", Ok(("HTML", true))),
            ("a.pdf", b"plain words", Ok(("text", true))),
            ("a.pdf", b"\0\x01\x02\0", Err(())),
            ("a.zip", b"PK\x03\x04....", Ok(("zip", false))),
            ("a.md", b"PK\x03\x04....", Ok(("zip", true))),
            ("a.gz", b"\x1f\x8b\x08..", Ok(("gzip", false))),
            ("a.gz", b"plain words", Ok(("text", true))),
            ("a.txt", b"plain words", Ok(("text", false))),
            ("a.doc", b"plain words", Ok(("text", true))),
            ("a.doc", b"{\\rtf1 words}", Ok(("RTF", true))),
            ("a.doc", b"\xd0\xcf\x11\xe0..", Ok(("Word", false))),
            ("a.xls", b"<html><table><tr><td>1", Ok(("HTML", true))),
            ("a.epub", b"plain words", Ok(("text", true))),
            (
                "a.txt",
                b"\xd0\xcf\x11\xe0..W\0o\0r\0k\0b\0o\0o\0k\0",
                Ok(("Excel", true)),
            ),
            ("a.docx", b"\0\x01\x02\0", Err(())),
            ("cur/1.M2.host,S=8:2,S", MESSAGE, Ok(("mail", false))),
            (
                "x/cur/1.M2.host",
                b"Subject: x\n\nbody",
                Ok(("mail", false)),
            ),
            ("x/1.M2.host", b"Subject: x\n\nbody", Ok(("text", false))),
            ("a.doc", MESSAGE, Ok(("mail", true))),
            ("mail.txt", MESSAGE, Ok(("text", false))),
            ("Inbox", MAILBOX, Ok(("mailbox", false))),
            (
                "Sent",
                b"\xef\xbb\xbfFrom a@b Tue Mar  3 06:10:00 2026\nSubject: x\n\nbody",
                Ok(("mailbox", false)),
            ),
            ("a.docx", b"PK\x03\x04....", Ok(("Word", false))),
            (
                "a.pptx",
                b"PK\x03\x04word/document.xml ppt/presentation.xml",
                Ok(("PowerPoint", false)),
            ),
        ];
        for (path, bytes, expected) in cases {
            let found = recognise(path, bytes)
                .map(|found| (found.format.name, found.note.is_some()))
                .map_err(|_| ());
            assert_eq!(found, expected, "{path} {}", bytes.escape_ascii());
        }
    }
}
