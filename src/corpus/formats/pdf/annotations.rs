//! The annotations of a PDF: the values of its form, and the comments of people. unpdf reads the
//! objects of a file, and leaves these out of the text of its pages.

use std::collections::HashMap;

use unpdf::parser::raw::{PdfDict, PdfObject};

use super::objects::{Objects, decode_text, string};
use super::pages::{Block, Page, Pages};
use crate::corpus::formats::builder::{comment_label, one_line};

/// Annotations of a page beyond this are not read.
const MAX_ANNOTATIONS: usize = 10_000;
/// Annotations in which people write. A link, a picture or the window of another one is none.
const COMMENTS: &[&[u8]] = &[
    b"Text",
    b"FreeText",
    b"Highlight",
    b"Underline",
    b"Squiggly",
    b"StrikeOut",
    b"Caret",
    b"Line",
    b"Square",
    b"Circle",
    b"Polygon",
    b"PolyLine",
    b"Ink",
    b"Stamp",
    b"FileAttachment",
];
/// Flags of an annotation that is not shown: hidden, or only printed.
const HIDDEN: i64 = 1 << 1 | 1 << 5;
/// Flags of a field (ISO 32000-1, 12.7.4): a password, one of several, a button.
const PASSWORD: i64 = 1 << 13;
const RADIO: i64 = 1 << 15;
const PUSH_BUTTON: i64 = 1 << 16;

/// Adds the annotations to the pages that they are on, with or without the values of the form.
pub(super) fn add(objects: Objects<'_>, pages: &mut Pages, with_fields: bool) {
    let mut by_number: HashMap<u32, &mut Page> = pages
        .pages
        .iter_mut()
        .map(|page| (page.number, page))
        .collect();

    for (number, dictionary) in objects.pages() {
        if let Some(page) = by_number.get_mut(&number) {
            page.annotations = Annotations(objects).blocks(dictionary, with_fields);
        }
    }
}

/// Reads annotations from the objects of a file.
struct Annotations<'a>(Objects<'a>);

impl<'a> Annotations<'a> {
    /// Returns the filled fields of a page as one block, and each comment as one.
    fn blocks(&self, page: &'a PdfDict, with_fields: bool) -> Vec<Block> {
        let mut shown: Vec<&PdfDict> = self
            .0
            .list(page, b"Annots")
            .take(MAX_ANNOTATIONS)
            .filter_map(PdfObject::as_dict)
            .filter(|annotation| self.0.number(annotation, b"F") & HIDDEN == 0)
            .collect();
        shown.sort_by_key(|annotation| self.position(annotation));

        let fields = shown.iter().filter(|_| with_fields);
        let fields: Vec<String> = fields.filter_map(|one| self.field(one)).collect();
        let comments = shown.iter().filter_map(|one| self.comment(one));
        let fields = (!fields.is_empty()).then(|| Block {
            text: fields.join("\n"),
            is_table: true,
            ..Block::default()
        });
        let comments = comments.map(|text| Block {
            text,
            ..Block::default()
        });
        fields.into_iter().chain(comments).collect()
    }

    /// Returns the name and the value of a field that is filled in.
    fn field(&self, widget: &'a PdfDict) -> Option<String> {
        if self.0.name(widget, b"Subtype")? != b"Widget" {
            return None;
        }
        let flags = self.0.inherit(widget, b"Ff").and_then(PdfObject::as_i64);
        let flags = flags.unwrap_or(0);
        let value = self.0.inherit(widget, b"V");
        let value = match self.0.inherit(widget, b"FT")?.as_name()? {
            b"Tx" if flags & PASSWORD == 0 => string(value?)?,
            b"Ch" => self.choices(widget, value?),
            b"Btn" if flags & PUSH_BUTTON == 0 => {
                let own = self.0.name(widget, b"AS");
                let state = own.or_else(|| value.and_then(PdfObject::as_name))?;
                match state {
                    b"Off" => return None,
                    _ if flags & RADIO == 0 => "yes".to_owned(),
                    _ => decode_text(state),
                }
            }
            _ => return None,
        };

        let value = one_line(&value);
        let label = [b"TU".as_slice(), b"T"].into_iter();
        let label = label.filter_map(|key| string(self.0.inherit(widget, key)?));
        let label = label
            .map(|label| one_line(&label))
            .find(|label| !label.is_empty());
        (!value.is_empty()).then(|| match label {
            Some(label) => format!("{}: {value}", label.trim_end_matches(':')),
            None => value,
        })
    }

    /// Returns what is chosen of a list, as the list shows it: an option may be a pair of the value
    /// that is sent and the text.
    fn choices(&self, widget: &'a PdfDict, value: &'a PdfObject) -> String {
        let options = self.0.inherit(widget, b"Opt").and_then(PdfObject::as_array);
        let options = options.unwrap_or_default();

        let shown = |chosen: String| {
            let pairs = options.iter().filter_map(|option| {
                let pair = self.0.resolve(option).as_array()?;
                let [sent, text] = pair else { return None };
                Some((string(self.0.resolve(sent))?, string(self.0.resolve(text))?))
            });
            let text = pairs.into_iter().find(|(sent, _)| *sent == chosen);
            text.map_or(chosen, |(_, text)| text)
        };

        let chosen = match value.as_array() {
            Some(several) => several
                .iter()
                .filter_map(|one| string(self.0.resolve(one)))
                .collect(),
            None => Vec::from_iter(string(value)),
        };

        chosen.into_iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// Returns a comment with its author.
    fn comment(&self, annotation: &'a PdfDict) -> Option<String> {
        if !COMMENTS.contains(&self.0.name(annotation, b"Subtype")?) {
            return None;
        }
        let text = string(self.0.get(annotation, b"Contents")?)?;
        let text = one_line(&text);
        let author = self.0.get(annotation, b"T").and_then(string);
        let label = comment_label(&author.unwrap_or_default());
        (!text.is_empty()).then(|| label + &text)
    }

    /// Returns the place of an annotation in reading order: from the top, then from the left.
    fn position(&self, annotation: &'a PdfDict) -> (i64, i64) {
        let corners = self
            .0
            .get(annotation, b"Rect")
            .and_then(PdfObject::as_array);
        let corner = |at: usize| {
            let number = corners.and_then(|corners| self.0.resolve(corners.get(at)?).as_f64());
            number.unwrap_or(0.0) as i64
        };
        (-corner(3).max(corner(1)), corner(0).min(corner(2)))
    }
}
