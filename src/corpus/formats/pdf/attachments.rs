//! The files attached to a PDF: those of the whole file, and those of annotations on a page.

use std::collections::HashSet;

use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject};

use super::objects::{Objects, string};
use crate::corpus::formats::builder::named;

/// Attachments beyond this are not read.
const MAX_ATTACHMENTS: usize = 100;

/// A file attached to a PDF.
pub(super) struct Attachment<'a> {
    pub name: String,
    stream: &'a PdfObject,
}

impl Attachment<'_> {
    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// The reason why they cannot be unpacked.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let stream = self.stream.as_stream().ok_or("it is missing")?;
        decompress(stream).map_err(|_| "it cannot be unpacked".to_owned())
    }
}

/// Returns the attachments of a file, each once.
pub(super) fn attachments(objects: Objects<'_>) -> Vec<Attachment<'_>> {
    let catalog = objects.catalog();
    let names = catalog.and_then(|catalog| {
        objects.dictionary(objects.dictionary(catalog, b"Names")?, b"EmbeddedFiles")
    });
    let of_file = names.map(|root| objects.tree(root, b"Names"));
    let associated = catalog.map(|catalog| objects.list(catalog, b"AF"));
    let of_pages = objects
        .pages()
        .flat_map(|(_, page)| objects.list(page, b"Annots"))
        .filter_map(PdfObject::as_dict)
        .filter_map(|annotation| objects.get(annotation, b"FS"));

    let all = of_file.into_iter().flatten().map(|[_, file]| file);
    let all = all.chain(associated.into_iter().flatten()).chain(of_pages);
    let mut seen = HashSet::new();
    all.filter_map(PdfObject::as_dict)
        .filter_map(|file| attachment(objects, file))
        // an object that two places name is the same in memory
        .filter(|attachment| seen.insert(std::ptr::from_ref(attachment.stream)))
        .take(MAX_ATTACHMENTS)
        .collect()
}

/// Returns the attachment of a file specification (ISO 32000-1, 7.11.3); `None` for a file that is
/// somewhere else.
fn attachment<'a>(objects: Objects<'a>, file: &'a PdfDict) -> Option<Attachment<'a>> {
    let embedded = objects.dictionary(file, b"EF")?;
    let keys: [&[u8]; 2] = [b"UF", b"F"];
    let stream = keys.iter().find_map(|key| objects.get(embedded, key))?;
    let name = keys.iter().find_map(|key| string(objects.get(file, key)?));
    let name = name.and_then(|name| named(&name));

    Some(Attachment {
        name: name.map_or_else(|| "attachment".to_owned(), |name| name.replace('\\', "/")),
        stream,
    })
}
