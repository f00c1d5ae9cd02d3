//! The annotations of a PDF: the values of its form, and the comments of people. unpdf reads the
//! objects of a file, and leaves these out of the text of its pages.

use std::collections::HashMap;

use unpdf::parser::raw::{PdfDict, PdfObject};

use super::field_labels::{FileTexts, PageTexts, is_given};
use super::objects::{Objects, decode_text, string};
use super::pages::{Block, Page, Pages};
use crate::corpus::formats::builder::{comment_label, named, one_line};
use crate::corpus::formats::html;

/// Annotations of a page beyond this are not read.
const MAX_ANNOTATIONS: usize = 10_000;
/// Buttons of a field beyond this have no texts of their own.
const MAX_OPTIONS: usize = 1_000;
/// Annotations in which people write. A link, a picture or the window of another one is none.
#[rustfmt::skip]
const COMMENTS: &[&[u8]] = &[
    b"Text", b"FreeText", b"Highlight", b"Underline", b"Squiggly", b"StrikeOut", b"Caret", b"Line",
    b"Square", b"Circle", b"Polygon", b"PolyLine", b"Ink", b"Stamp", b"FileAttachment",
];
/// Flags of an annotation that is not shown: hidden, or only printed.
const HIDDEN: i64 = 1 << 1 | 1 << 5;
/// Flags of a field (ISO 32000-1, 12.7.4): a password, one of several, a button.
const PASSWORD: i64 = 1 << 13;
const RADIO: i64 = 1 << 15;
const PUSH_BUTTON: i64 = 1 << 16;

/// Adds the annotations to the pages that they are on.
pub(super) fn add(objects: Objects<'_>, pages: &mut Pages, texts: &FileTexts<'_>) {
    let by_number = pages.pages.iter_mut().map(|page| (page.number, page));
    let mut by_number: HashMap<u32, &mut Page> = by_number.collect();

    for (number, dictionary) in objects.pages() {
        if let Some(page) = by_number.get_mut(&number) {
            let texts = texts.page(number);
            let (blocks, labels) = Annotations(objects).blocks(dictionary, &texts);
            page.annotations = blocks;
            leave_out(&mut page.blocks, labels);
        }
    }
}

/// A field that is filled in.
struct Field {
    line: String,
    /// The label of the page that the line has, too.
    label: Option<String>,
}

/// Leaves out the labels that stand before their values elsewhere: without these they say nothing,
/// and are found for what is asked about a value. A colon ends a text that is of labels alone.
fn leave_out(blocks: &mut Vec<Block>, mut labels: Vec<String>) {
    labels.sort_by_key(|label| std::cmp::Reverse(label.len()));
    blocks.retain_mut(|block| {
        if block.is_table || !block.text.trim_end().ends_with(':') {
            return true;
        }
        for label in &labels {
            let label = format!("{label}:");
            // "Name:" is no part of "Last name:"
            let begins = |at: &usize| {
                let before = block.text[..*at].trim_end();
                before.is_empty() || before.ends_with(':')
            };
            let mut found = block.text.match_indices(&label).map(|(at, _)| at);
            if let Some(at) = found.find(begins) {
                block.text.replace_range(at..at + label.len(), "");
            }
        }
        block.text = block.text.trim().to_owned();
        !block.text.is_empty()
    });
}

/// Reads annotations from the objects of a file.
struct Annotations<'a>(Objects<'a>);

impl<'a> Annotations<'a> {
    /// Returns the filled fields of a page as one block, and each comment as one; and the labels of
    /// the page that the fields have.
    fn blocks(&self, page: &'a PdfDict, texts: &PageTexts<'_>) -> (Vec<Block>, Vec<String>) {
        let mut shown: Vec<&PdfDict> = self
            .0
            .list(page, b"Annots")
            .take(MAX_ANNOTATIONS)
            .filter_map(PdfObject::as_dict)
            .filter(|annotation| self.0.number(annotation, b"F") & HIDDEN == 0)
            .collect();
        shown.sort_by_key(|annotation| self.position(annotation));

        let fields = shown.iter().filter_map(|one| self.field(one, texts));
        let (fields, labels): (Vec<String>, Vec<_>) =
            fields.map(|field| (field.line, field.label)).unzip();
        let comments = shown.iter().filter_map(|one| self.comment(one));
        let fields = (!fields.is_empty()).then(|| Block {
            is_table: true,
            ..Block::new(fields.join("\n"))
        });
        let blocks = fields.into_iter().chain(comments.map(Block::new)).collect();
        (blocks, labels.into_iter().flatten().collect())
    }

    /// Returns the name and the value of a field that is filled in.
    fn field(&self, widget: &'a PdfDict, texts: &PageTexts<'_>) -> Option<Field> {
        if self.0.name(widget, b"Subtype")? != b"Widget" {
            return None;
        }
        let flags = self.0.inherit(widget, b"Ff").and_then(PdfObject::as_i64);
        let flags = flags.unwrap_or(0);
        let value = self.0.inherit(widget, b"V");
        let kind = self.0.inherit(widget, b"FT")?.as_name()?;
        let value = match kind {
            b"Tx" if flags & PASSWORD == 0 => string(value?)?,
            b"Ch" => self.choices(widget, value),
            b"Btn" if flags & PUSH_BUTTON == 0 => {
                let own = self.0.name(widget, b"AS");
                let state = own.or_else(|| value.and_then(PdfObject::as_name))?;
                match state {
                    b"Off" => return None,
                    _ => self.button(widget, state, flags & RADIO != 0),
                }
            }
            _ => return None,
        };

        let value = one_line(&value);
        let label = self.0.inherit(widget, b"TU").and_then(string);
        let label = label.as_deref().and_then(named);
        if value.is_empty() {
            return None;
        }
        let beside = match label {
            Some(_) => None,
            None => texts.label(self.corners(widget), kind == b"Btn"),
        };
        // a label that people read as the name of the value
        let (on_page, beside) = match beside {
            Some(label) if label.has_colon => (Some(label.text), None),
            other => (None, other.map(|label| label.text)),
        };
        let name = self.full_name(widget);
        // given by the author of the form, and not by a program
        let own = name.clone().filter(|name| !is_given(name));
        let label = label.or(on_page.clone()).or(own).or(beside).or(name);
        let line = match label {
            Some(label) => format!("{}: {value}", label.trim_end_matches(':')),
            None => value,
        };
        Some(Field {
            line,
            label: on_page,
        })
    }

    /// Returns the name of a field behind those of the fields around it. Names of forms that XFA
    /// lays out have numbers, and all of the page around them: of these the own name is enough.
    fn full_name(&self, widget: &'a PdfDict) -> Option<String> {
        let names = self.0.around(widget).filter_map(|field| {
            let name = self.0.get(field, b"T").and_then(string)?;
            named(&name)
        });
        let names: Vec<String> = names.collect();
        match names.first()?.split_once('[') {
            Some((name, _)) => Some(name.to_owned()),
            None => Some(names.into_iter().rev().collect::<Vec<_>>().join(".")),
        }
    }

    /// Returns the meaning of a button that is on: the text that its field lists for it, or its
    /// value where the field has others.
    fn button(&self, widget: &'a PdfDict, state: &[u8], is_radio: bool) -> String {
        // a button with a name is a field itself, in a group of others
        let outer = self.0.dictionary(widget, b"Parent");
        let outer = outer.filter(|_| self.0.get(widget, b"T").is_none());
        let field = outer.unwrap_or(widget);
        let is_own = |kid: &PdfObject| kid.as_dict().is_some_and(|kid| std::ptr::eq(kid, widget));
        let mut kids = self.0.list(field, b"Kids").take(MAX_OPTIONS);
        let text = kids.position(is_own).and_then(|at| {
            let text = self.0.list(field, b"Opt").nth(at)?;
            string(text)
        });
        let is_alone = !is_radio && self.0.list(field, b"Kids").nth(1).is_none();
        text.unwrap_or_else(|| {
            if is_alone {
                "yes".to_owned()
            } else {
                decode_text(state)
            }
        })
    }

    /// Returns what is chosen of a list, as the list shows it: an option may be a pair of the value
    /// that is sent and the text. Without a value the numbers of the options say it.
    fn choices(&self, widget: &'a PdfDict, value: Option<&'a PdfObject>) -> String {
        let options = self.0.inherit(widget, b"Opt").and_then(PdfObject::as_array);
        let options = options.unwrap_or_default();
        let text = |option: &'a PdfObject| match self.0.resolve(option).as_array() {
            Some([_, text]) => string(self.0.resolve(text)),
            _ => string(self.0.resolve(option)),
        };
        let several = |value: &'a PdfObject| match value.as_array() {
            Some(several) => several.iter().map(|one| self.0.resolve(one)).collect(),
            None => vec![value],
        };

        let shown = |chosen: String| {
            let is_sent = |option: &&PdfObject| {
                let pair = self.0.resolve(option).as_array();
                let sent = pair.and_then(|pair| string(self.0.resolve(pair.first()?)));
                sent.as_ref() == Some(&chosen)
            };
            let option = options.iter().find(is_sent);
            option.and_then(text).unwrap_or(chosen)
        };

        let chosen: Vec<String> = match value {
            Some(value) => {
                let chosen = several(value).into_iter().filter_map(string);
                chosen.map(shown).collect()
            }
            None => {
                let numbers = self.0.inherit(widget, b"I").map(several);
                let options = numbers.into_iter().flatten().filter_map(|number| {
                    let at = usize::try_from(number.as_i64()?).ok()?;
                    text(options.get(at)?)
                });
                options.collect()
            }
        };
        chosen.join(", ")
    }

    /// Returns a comment with its author. Some programs write its text with its look alone.
    fn comment(&self, annotation: &'a PdfDict) -> Option<String> {
        if !COMMENTS.contains(&self.0.name(annotation, b"Subtype")?) {
            return None;
        }
        let text = |key: &[u8]| self.0.get(annotation, key).and_then(string);
        let plain = text(b"Contents").as_deref().and_then(named);
        let text_of_look = || named(&html::extract(&text(b"RC")?).text);
        let shown = plain.or_else(text_of_look)?;
        Some(comment_label(&text(b"T").unwrap_or_default()) + &shown)
    }

    /// Returns the place of an annotation in reading order: from the top, then from the left.
    fn position(&self, annotation: &'a PdfDict) -> (i64, i64) {
        let [left, _, _, top] = self.corners(annotation);
        (-(top as i64), left as i64)
    }

    /// Returns the lower left and the upper right corner of an annotation, points.
    fn corners(&self, annotation: &'a PdfDict) -> [f32; 4] {
        let corners = self.0.get(annotation, b"Rect");
        let corners = corners.and_then(PdfObject::as_array);
        let [x, y, other_x, other_y] = [0, 1, 2, 3].map(|at: usize| {
            let number = corners.and_then(|corners| self.0.resolve(corners.get(at)?).as_f64());
            number.unwrap_or(0.0) as f32
        });
        [
            x.min(other_x),
            y.min(other_y),
            x.max(other_x),
            y.max(other_y),
        ]
    }
}
