//! The objects of a PDF, which unpdf reads: dictionaries, lists, names and texts.

use encoding_rs::UTF_16BE;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

/// The characters of PDFDocEncoding from 0x80 on that are not those of Latin-1.
const DOC_ENCODING: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž";

/// The objects of a file.
#[derive(Clone, Copy)]
pub(super) struct Objects<'a>(&'a RawDocument);

impl<'a> Objects<'a> {
    pub fn new(document: &'a RawDocument) -> Self {
        Self(document)
    }

    /// Returns the dictionary in which everything begins.
    pub fn catalog(self) -> Option<&'a PdfDict> {
        self.0.catalog().ok()
    }

    /// Returns the pages by their numbers, from 1.
    pub fn pages(self) -> impl Iterator<Item = (u32, &'a PdfDict)> {
        let pages = self.0.pages().into_iter();
        pages.filter_map(move |(number, id)| Some((number, self.0.get_dict(id).ok()?)))
    }

    pub fn resolve(self, object: &'a PdfObject) -> &'a PdfObject {
        self.0.resolve(object)
    }

    pub fn get(self, dictionary: &'a PdfDict, key: &[u8]) -> Option<&'a PdfObject> {
        dictionary.get(key).map(|value| self.resolve(value))
    }

    pub fn dictionary(self, dictionary: &'a PdfDict, key: &[u8]) -> Option<&'a PdfDict> {
        self.get(dictionary, key)?.as_dict()
    }

    /// Returns the objects of a list; none where there is no list.
    pub fn list(
        self,
        dictionary: &'a PdfDict,
        key: &[u8],
    ) -> impl Iterator<Item = &'a PdfObject> + use<'a> {
        let list = self.get(dictionary, key).and_then(PdfObject::as_array);
        let list = list.unwrap_or_default().iter();
        list.map(move |object| self.resolve(object))
    }

    pub fn name(self, dictionary: &'a PdfDict, key: &[u8]) -> Option<&'a [u8]> {
        self.get(dictionary, key)?.as_name()
    }

    /// Returns a number; 0 where there is none.
    pub fn number(self, dictionary: &'a PdfDict, key: &[u8]) -> i64 {
        let number = self.get(dictionary, key).and_then(PdfObject::as_i64);
        number.unwrap_or(0)
    }
}

/// Returns a text.
pub(super) fn string(value: &PdfObject) -> Option<String> {
    value.as_str_bytes().map(decode_text)
}

/// Decodes a text of a PDF: UTF-16 and UTF-8 have their mark, others are PDFDocEncoding.
pub(super) fn decode_text(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, text @ ..] => UTF_16BE.decode_without_bom_handling(text).0.into_owned(),
        [0xef, 0xbb, 0xbf, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        _ => bytes.iter().map(|byte| doc_character(*byte)).collect(),
    }
}

fn doc_character(byte: u8) -> char {
    let own = DOC_ENCODING
        .chars()
        .nth(usize::from(byte.saturating_sub(0x80)));
    match byte {
        0x80..=0x9e => own.unwrap_or('\u{fffd}'),
        0xa0 => '€',
        _ => char::from(byte),
    }
}
