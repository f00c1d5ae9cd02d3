//! PDF: the pages as a library in the program reads them; tools that are installed recognise the
//! text of scans. Attached files are read by the readers of their formats.

mod titles;
mod pages;
mod objects;
mod labels;
mod field_labels;
mod annotations;
mod attachments;
mod builtin;
mod heading_levels;
mod tools;
mod images;

use unpdf::parser::raw::RawDocument;

use super::builder::Builder;
use super::format::{Extract, Format, Input, Reader};
use super::member::{read_member, unread_members};
use attachments::{Attachment, attachments};
use field_labels::FileTexts;
use objects::Objects;
use pages::{Block, Pages};

pub(super) const FORMAT: Format = Format {
    name: "PDF",
    extensions: &["pdf"],
    library: "unpdf 0.52.1",
    place: "page",
    reader: Reader::Configured(extract),
};

fn extract(input: &Input<'_>) -> Result<Extract, String> {
    let mut pages = builtin::read(input.bytes)?;
    let texts = FileTexts::new(input.bytes);
    heading_levels::set(&texts, &mut pages);
    if input.options.ocr && pages.scan_count() > 0 {
        let recognised = tools::recognise_text(input.bytes, &mut pages);
        pages.remarks.extend(recognised.err());
    }

    // a file without objects that can be read has no annotations
    let Ok(document) = RawDocument::load(input.bytes) else {
        return pages.extract(input.options);
    };
    let objects = Objects::new(&document);
    annotations::add(objects, &mut pages, &texts);
    labels::add(objects, &mut pages);
    let pictures = images::add(objects, &mut pages, input.options.ocr);
    if is_foreign_form(objects) {
        let remark = "its form is XFA, which only Acrobat shows: print it to a PDF there";
        pages.remarks.push(remark.to_owned());
    }

    let attached = attachments(objects);
    let extract = if attached.is_empty() {
        pages.extract(input.options)?
    } else {
        extract_with(&attached, pages, input)?
    };
    Ok(Extract {
        pictures: extract.pictures + pictures,
        ..extract
    })
}

/// Returns the text of the pages, the names of the attachments on the last one, and the text of the
/// attachments.
fn extract_with(
    attached: &[Attachment<'_>],
    mut pages: Pages,
    input: &Input<'_>,
) -> Result<Extract, String> {
    let names = attached.iter().map(|attachment| &*attachment.name);
    let names: Vec<&str> = names.collect();
    if let Some(last) = pages.pages.last_mut() {
        let names = format!("Attachments: {}", names.join(", "));
        last.annotations.push(Block::new(names));
    }

    let mut extract = pages.extract(input.options)?;
    let mut builder = Builder::default();
    builder.metadata(std::mem::take(&mut extract.metadata));
    builder.append(extract);
    let mut unread = Vec::new();
    for attachment in attached {
        let name = &attachment.name;
        let bytes = attachment.bytes();
        match bytes.and_then(|bytes| read_member(&input.member(name, &bytes))) {
            Ok(member) => builder.append_part(member.into_member(name)),
            Err(reason) => unread.push(format!("{name} ({reason})")),
        }
    }

    builder.notes(unread_members(&unread));
    Ok(builder.finish())
}

/// Returns whether the fields of a file are in another language (XFA) alone, and not on its pages.
fn is_foreign_form(objects: Objects<'_>) -> bool {
    let catalog = objects.catalog();
    let form = catalog.and_then(|catalog| objects.dictionary(catalog, b"AcroForm"));
    form.is_some_and(|form| {
        form.contains_key(b"XFA".as_slice()) && objects.list(form, b"Fields").next().is_none()
    })
}
