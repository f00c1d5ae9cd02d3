//! The labels of fields whose names say nothing: the text of the page that stands beside them.

use std::cell::OnceCell;

use unpdf::parser::backend::RawBackend;
use unpdf::parser::{LayoutAnalyzer, TextSpan};

use crate::corpus::formats::builder::{named, one_line};

/// Names that programs give to fields, without their numbers.
#[rustfmt::skip]
const GIVEN: &[&str] = &[
    "text", "textfield", "field", "undefined", "fill", "untitled", "checkbox", "check", "f", "c",
    "combobox", "dropdown", "listbox", "radiobutton", "textfeld", "feld",
    "kontrollkästchen", "champ", "texte", "zonedetexte", "casilla", "cuadrodetexto", "campo",
    "campoditesto",
];
/// Furthest label beside a field, and space between the words of one, in heights of its letters.
const MAX_DISTANCE: f32 = 20.0;
const MAX_GAP: f32 = 1.0;
/// Distance that a line reaches beyond the edges of its field, points.
const SLACK: f32 = 3.0;

/// The texts of the pages with their places, read where they are needed.
pub(super) struct FileTexts<'a> {
    bytes: &'a [u8],
    document: OnceCell<Option<RawBackend>>,
}

/// The text of the page beside a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    pub text: String,
    /// Whether a colon ends it, so that it is the name of what stands there.
    pub has_colon: bool,
}

/// The texts of one page.
pub(super) struct PageTexts<'a> {
    file: &'a FileTexts<'a>,
    page: u32,
    spans: OnceCell<Vec<TextSpan>>,
}

impl<'a> FileTexts<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            document: OnceCell::new(),
        }
    }

    pub fn page(&'a self, number: u32) -> PageTexts<'a> {
        PageTexts {
            file: self,
            page: number,
            spans: OnceCell::new(),
        }
    }
}

/// Returns whether a name is one that a program gives, as in `Text1` and `fill_3`.
pub(super) fn is_given(name: &str) -> bool {
    let own = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let letters: String = own.chars().filter(|c| c.is_alphabetic()).collect();
    GIVEN.contains(&letters.as_str())
}

impl PageTexts<'_> {
    /// Returns the text beside a field with these corners, lower left and upper right: in front of
    /// it, or else above it; behind a button, or in front of it with a colon.
    pub fn label(&self, [left, bottom, right, top]: [f32; 4], is_button: bool) -> Option<Label> {
        let is_beside = |span: &&TextSpan| (bottom - SLACK..=top).contains(&span.y);
        let mut beside: Vec<&TextSpan> = self.spans().iter().filter(is_beside).collect();
        beside.sort_by(|a, b| a.x.total_cmp(&b.x));
        let behind = beside.iter().copied();
        let behind = behind.filter(|span| span.x >= right - SLACK);
        let before = beside.iter().rev().copied();
        let before = before.filter(|span| end_of(span) <= left + SLACK);
        let mut before = take_connected(before, |span| -end_of(span), |span| -span.x, -left);
        before.reverse();
        let before = join(&before);
        let found = if is_button {
            let behind = join(&take_connected(behind, |span| span.x, end_of, right));
            behind.or_else(|| before.filter(|label| label.has_colon))
        } else {
            before
        };
        if found.is_some() {
            return found;
        }

        let above = self.spans().iter().filter(|span| {
            let is_near = (top..top + 2.0 * span.font_size).contains(&span.y);
            is_near && span.x < right && end_of(span) > left
        });
        let lowest = above.clone().map(|span| span.y).reduce(f32::min)?;
        let line: Vec<&TextSpan> = above.filter(|span| span.y - lowest < SLACK).collect();
        join(&line)
    }

    pub fn spans(&self) -> &[TextSpan] {
        self.spans.get_or_init(|| {
            let load = || RawBackend::load_bytes(self.file.bytes).ok();
            let document = self.file.document.get_or_init(load).as_ref();
            let spans = document.map(|document| {
                let layout = LayoutAnalyzer::new(document);
                layout.extract_page_spans(self.page).unwrap_or_default()
            });
            spans.unwrap_or_default()
        })
    }
}

fn end_of(span: &TextSpan) -> f32 {
    span.x + span.width
}

/// Returns the texts that follow `from` one after the other, by where each begins and ends.
fn take_connected<'s>(
    spans: impl Iterator<Item = &'s TextSpan>,
    begin: impl Fn(&TextSpan) -> f32,
    end: impl Fn(&TextSpan) -> f32,
    from: f32,
) -> Vec<&'s TextSpan> {
    let mut found: Vec<&TextSpan> = Vec::new();
    let mut at = from;
    for span in spans.filter(|span| !span.text.trim().is_empty()) {
        let is_first = found.is_empty();
        let most = if is_first { MAX_DISTANCE } else { MAX_GAP };
        if begin(span) - at > most * span.font_size {
            break;
        }
        at = end(span);
        found.push(span);
    }
    found
}

fn join(spans: &[&TextSpan]) -> Option<Label> {
    let texts: Vec<&str> = spans.iter().map(|span| span.text.trim()).collect();
    let text = one_line(&texts.join(" "));
    let text = text.trim_end_matches(['.', '_', ' ']);
    Some(Label {
        text: named(text.trim_end_matches([':', '.', '_', ' ']))?,
        has_colon: text.ends_with(':'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_labelled_by_the_text_beside_it() {
        let span = |text: &str, x: f32, y: f32| TextSpan {
            width: 5.0 * text.len() as f32,
            ..TextSpan::new(text.to_owned(), x, y, 10.0, "Helvetica".to_owned())
        };
        let file = FileTexts::new(b"");
        let page = file.page(1);
        let texts = vec![
            span("Form 7", 50.0, 700.0),
            span("Skipper", 50.0, 600.0),
            span("name:", 88.0, 600.0),
            span("Remarks", 50.0, 560.0),
            span("insured", 70.0, 500.0),
        ];
        page.spans.set(texts).expect("not read");
        for (corners, is_button, expected) in [
            ([120.0, 597.0, 300.0, 612.0], false, Some("Skipper name")),
            ([50.0, 530.0, 300.0, 555.0], false, Some("Remarks")),
            ([55.0, 498.0, 65.0, 508.0], true, Some("insured")),
            ([120.0, 597.0, 130.0, 607.0], true, Some("Skipper name")),
            ([400.0, 400.0, 500.0, 410.0], false, None),
        ] {
            let found = page.label(corners, is_button).map(|label| label.text);
            assert_eq!(found.as_deref(), expected, "{corners:?}");
        }
        for (name, expected) in [
            ("Text1", true),
            ("fill_3", true),
            ("Form.Page.Textfeld 4", true),
            ("f1_01", true),
            ("Name of the vessel", false),
            ("Date of arrival", false),
        ] {
            assert_eq!(is_given(name), expected, "{name}");
        }
    }
}
