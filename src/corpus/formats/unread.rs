//! Kinds of files that are not read, and the way out.

use std::io::Read;
use std::path::Path;

use serde::Serialize;

use super::format::extension;
use crate::corpus::decode::decode;
use crate::files::{self, Links};

/// Bytes that show whether a file is text.
pub(super) const HEAD_BYTES: usize = 4096;

/// A kind of files without text, or whose text is not read.
#[derive(Debug, Serialize)]
pub struct Unread {
    /// Name of the kind with its article, e.g. `an image`.
    pub kind: &'static str,
    /// Extensions of the file names, in lower case.
    pub extensions: &'static [&'static str],
    /// The way to make its text readable; `None` where it holds no text.
    pub way_out: Option<&'static str>,
}

/// A shorter beginning of a file may be text by chance.
const MIN_TEXT_BYTES: usize = 16;
/// The kind whose files are text, of lines and curves.
const DRAWING: &str = "a drawing";

/// The beginning of the databases of Mozilla, which are text that nobody writes.
const MORK: &[u8] = b"// <!-- <mdb:mork";

/// The kinds that are not read.
#[rustfmt::skip]
pub static UNREAD: &[Unread] = &[
    Unread { kind: "an iWork document", way_out: Some("export it as PDF or as an Office file"),
        extensions: &["pages", "numbers", "key"] },
    Unread { kind: "a binary workbook", way_out: Some("save it as XLSX"),
        extensions: &["xlsb"] },
    Unread { kind: "a Works, WordPerfect or Publisher document",
        way_out: Some("convert it to ODT (LibreOffice)"),
        extensions: &["wps", "wpd", "pub"] },
    Unread { kind: "an e-book", way_out: Some("convert it to EPUB (Calibre)"),
        extensions: &["mobi", "azw", "azw3", "kfx", "lit", "prc"] },
    Unread { kind: "a scanned document", way_out: Some("convert it to text (djvutxt)"),
        extensions: &["djvu", "djv"] },
    Unread { kind: "an Outlook mailbox", way_out: Some("convert it to MBOX (readpst)"),
        extensions: &["pst", "ost"] },
    Unread { kind: "the index of a mailbox", way_out: None,
        extensions: &["msf"] },
    Unread { kind: "an Outlook message", way_out: Some("save it as EML"),
        extensions: &["msg"] },
    Unread { kind: "an image", way_out: Some("read its text into a file (tesseract)"),
        extensions: &["ico", "heic", "avif", "psd", "xcf"] },
    Unread { kind: DRAWING, way_out: Some("export it as PDF"),
        extensions: &["svg"] },
    Unread { kind: "a page saved by Safari", way_out: Some("save it as HTML"),
        extensions: &["webarchive"] },
    Unread { kind: "a sound file", way_out: Some("transcribe it into a file (whisper.cpp)"),
        extensions: &["mp3", "wav", "flac", "ogg", "opus", "m4a", "aac", "mid"] },
    Unread { kind: "a video", way_out: Some("transcribe it into a file (whisper.cpp)"),
        extensions: &["mp4", "mkv", "avi", "mov", "webm", "wmv", "m4v", "mpg", "mpeg"] },
    Unread { kind: "an archive", way_out: Some("unpack it into the folder"),
        extensions: &[
            "bz2", "xz", "zst", "7z", "rar", "lz4", "br", "jar", "whl", "deb", "rpm", "iso", "dmg",
        ] },
    Unread { kind: "a program or library", way_out: None,
        extensions: &[
            "exe", "dll", "so", "dylib", "a", "o", "obj", "lib", "class", "pyc", "wasm", "bin",
            "rlib", "rmeta",
        ] },
    Unread { kind: "a font", way_out: None,
        extensions: &["ttf", "otf", "woff", "woff2", "eot"] },
    Unread { kind: "a model", way_out: None,
        extensions: &["gguf", "safetensors", "onnx", "pt", "pth", "ckpt", "h5"] },
    Unread { kind: "a database", way_out: Some("export its tables as CSV"),
        extensions: &[
            "sqlite", "sqlite3", "db", "mdb", "accdb", "parquet", "arrow", "feather", "npy", "npz",
            "pkl", "pickle",
        ] },
];

impl Unread {
    /// Returns the kind of a file whose name says that it is not read, unless its first bytes are
    /// those of a text: the key of a program has the name of a presentation.
    pub(in crate::corpus) fn for_file(
        path: &str,
        head: impl FnOnce() -> Vec<u8>,
    ) -> Option<&'static Self> {
        let extension = extension(path);
        let mut unread = UNREAD.iter();
        let unread = unread.find(|unread| unread.extensions.contains(&&*extension))?;
        let is_text = |head: Vec<u8>| {
            let decoded = decode(head.clone());
            !head.starts_with(MORK)
                && decoded.is_ok_and(|decoded| decoded.traced.text.trim().len() >= MIN_TEXT_BYTES)
        };
        (unread.kind == DRAWING || !is_text(head())).then_some(unread)
    }

    /// Returns the reason for users why such a file is skipped.
    pub(in crate::corpus) fn reason(&self) -> String {
        match self.way_out {
            Some(way_out) => format!("{} is not read: {way_out}", self.kind),
            None => format!("{} holds no text to read", self.kind),
        }
    }
}

/// Returns the first bytes of a file; none of one that cannot be read.
pub(in crate::corpus) fn read_head(file: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = files::open(file, Links::Followed) {
        // what is read before a fault shows enough
        let _ = file.take(HEAD_BYTES as u64).read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_the_names_of_other_kinds_are_read() {
        let cases = [
            ("a.key", b"a key of some words".as_slice(), None),
            ("a.key", b"PK\x03\x04\0\0\0\0", Some("an iWork document")),
            (
                "Inbox.msf",
                b"// <!-- <mdb:mork:z v=\"1.4\"/> -->",
                Some("the index of a mailbox"),
            ),
            ("a.msf", b"MSF: 2 sequences of words", None),
        ];
        for (path, head, expected) in cases {
            let found = Unread::for_file(path, || head.to_vec());
            assert_eq!(found.map(|unread| unread.kind), expected, "{path}");
        }
    }
}
