//! The objects of a PDF, which unpdf reads: dictionaries, lists, names and texts.

use std::collections::HashSet;

use encoding_rs::UTF_16BE;
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

/// The characters of PDFDocEncoding from 0x80 on that are not those of Latin-1.
const DOC_ENCODING: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž";

/// Pages and fields are inside of others; deeper ones are not read.
const MAX_DEPTH: usize = 16;
/// Nodes of a tree, and entries of one, beyond this number are not read.
const MAX_NODES: usize = 10_000;

/// Maximum size of a text, and of the stream that holds it: each of many notes may have one.
const MAX_TEXT_BYTES: usize = 64 << 10;
const MAX_PACKED_BYTES: usize = 4 << 10;

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

    /// Returns a field or a page, and those around it.
    pub fn around(self, inner: &'a PdfDict) -> impl Iterator<Item = &'a PdfDict> + use<'a> {
        let outer = move |inner: &&'a PdfDict| self.dictionary(inner, b"Parent");
        std::iter::successors(Some(inner), outer).take(MAX_DEPTH)
    }

    /// Returns a value of a field or a page, or of one around it.
    pub fn inherit(self, inner: &'a PdfDict, key: &[u8]) -> Option<&'a PdfObject> {
        self.around(inner).find_map(|one| self.get(one, key))
    }

    /// Returns the keys and values of a tree of names or of numbers (ISO 32000-1, 7.9.6 and 7.9.7)
    /// in their order. A damaged tree may lead back to itself.
    pub fn tree(self, root: &'a PdfDict, key: &[u8]) -> Vec<[&'a PdfObject; 2]> {
        let mut entries = Vec::new();
        let mut open = vec![root];
        let mut seen = HashSet::from([std::ptr::from_ref(root)]);

        for _ in 0..MAX_NODES {
            let Some(node) = open.pop().filter(|_| entries.len() < MAX_NODES) else {
                break;
            };
            // keys and values take turns
            let own: Vec<&PdfObject> = self.list(node, key).take(MAX_NODES).collect();
            entries.extend(own.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
            let kids: Vec<&PdfDict> = self
                .list(node, b"Kids")
                .take(MAX_NODES)
                .filter_map(PdfObject::as_dict)
                .filter(|kid| seen.insert(std::ptr::from_ref(*kid)))
                .collect();
            open.extend(kids.into_iter().rev());
        }

        entries
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

/// Returns a text, which may be the content of a stream.
pub(super) fn string(value: &PdfObject) -> Option<String> {
    let text = value.as_str_bytes().map(decode_text);
    text.or_else(|| {
        let stream = value.as_stream();
        let stream = stream.filter(|stream| stream.raw_data.len() <= MAX_PACKED_BYTES)?;
        let text = decompress(stream).ok()?;
        (text.len() <= MAX_TEXT_BYTES).then(|| decode_text(&text))
    })
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
    let at = usize::from(byte.saturating_sub(0x80));
    let own = DOC_ENCODING.chars().nth(at);
    match byte {
        0x80..=0x9e => own.unwrap_or('\u{fffd}'),
        0xa0 => '€',
        _ => char::from(byte),
    }
}
