//! The format of a file, by its name and by its first bytes: the name may be wrong.

use super::{Format, Reader, archive, html, pdf, text};
use crate::corpus::decode::decode;

/// The header of a PDF may follow other bytes, up to here.
const MAX_PDF_OFFSET: usize = 1024;
/// The names of the members of a zip file are in its last bytes.
const ZIP_DIRECTORY_BYTES: usize = 256 << 10;
/// Text before the first tag of a page.
const HTML_HEAD_BYTES: usize = 512;

/// The format of a file, with a remark where its name says another.
pub(in crate::corpus) struct Recognised {
    pub format: &'static Format,
    pub note: Option<String>,
}

/// Recognises the format of a file.
///
/// # Errors
/// The reason why the file is not what its name says, and is not text either.
pub(in crate::corpus) fn recognise(path: &str, bytes: &[u8]) -> Result<Recognised, String> {
    let named = Format::of(path);
    let found = of_content(bytes);
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
            return Err(format!(
                "its name says {}, its content does not",
                named.name
            ));
        }
    };
    Ok(Recognised {
        format,
        note: Some(format!("read as {}, in spite of its name", format.name)),
    })
}

/// Returns whether the bytes of a file of this format say what it is: text may contain anything but
/// the beginning of a binary file.
fn has_signature(format: &Format) -> bool {
    matches!(format.reader, Reader::Text(_)) || is_own_signature(format)
}

/// Returns whether every file of the format has a signature that [`of_content`] knows.
fn is_own_signature(format: &Format) -> bool {
    [&pdf::FORMAT, &archive::ZIP, &archive::GZIP].contains(&format)
}

/// Returns the binary format that the first bytes name.
fn of_content(bytes: &[u8]) -> Option<&'static Format> {
    match bytes {
        [b'P', b'K', 3, 4, ..] => Some(of_zip(bytes)),
        [0x1f, 0x8b, 8, ..] => Some(&archive::GZIP),
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

/// Returns the format of a zip file: documents of an office are zip files, too.
fn of_zip(bytes: &[u8]) -> &'static Format {
    let directory = &bytes[bytes.len().saturating_sub(ZIP_DIRECTORY_BYTES)..];
    let head = &bytes[..bytes.len().min(ZIP_DIRECTORY_BYTES)];
    let members = [
        (b"word/document.xml".as_slice(), "x.docx"),
        (b"xl/workbook.xml", "x.xlsx"),
        (b"ppt/presentation.xml", "x.pptx"),
        (b"mimetypeapplication/epub+zip", "x.epub"),
        (b"mimetypeapplication/vnd.oasis.opendocument.text", "x.odt"),
        (
            b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "x.ods",
        ),
        (
            b"mimetypeapplication/vnd.oasis.opendocument.presentation",
            "x.odp",
        ),
    ];
    let named = members
        .into_iter()
        .find(|(mark, _)| position(directory, mark).is_some() || position(head, mark).is_some())
        .map(|(_, name)| Format::of(name));
    named
        .filter(|format| *format != &text::FORMAT)
        .unwrap_or(&archive::ZIP)
}

fn text_format(bytes: &[u8]) -> &'static Format {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HTML_HEAD_BYTES)]).to_lowercase();
    let is_page = ["<!doctype html", "<html"]
        .iter()
        .any(|tag| head.contains(tag));
    if is_page {
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

    #[test]
    fn formats_by_name_and_content() {
        type Expected = Result<(&'static str, bool), ()>;
        let cases: [(&str, &[u8], Expected); 12] = [
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
        ];
        for (path, bytes, expected) in cases {
            let found = recognise(path, bytes)
                .map(|found| (found.format.name, found.note.is_some()))
                .map_err(|_| ());
            assert_eq!(found, expected, "{path} {}", bytes.escape_ascii());
        }
    }
}
