//! Reads the tokens of a page, and hands its text and its tags to a [`Page`].

use html5gum::{Emitter, Error, State, naive_next_state};

use super::super::script::ScriptKind;
use super::numbered::Numerals;
use super::page::{Look, Page};
use super::table::Span;

/// Maximum number of rows that a cell takes, as the HTML standard has it.
const MAX_SPAN: usize = 65_534;

/// Left of this no page shows text, whatever its unit is.
const FAR_LEFT: f32 = -900.0;

/// The properties of the size of an element, and of its place.
const SIZES: [&str; 4] = ["width", "height", "max-height", "max-width"];
const SHIFTS: [&str; 4] = ["left", "top", "text-indent", "margin-left"];

/// A longer value of an attribute is data.
const MAX_VALUE_BYTES: usize = 4096;

/// The types of the fields of a form whose value is a text of the page.
const TEXT_FIELDS: [&str; 10] = [
    "", "text", "search", "number", "date", "time", "month", "email", "tel", "url",
];

/// Receives the tokens of html5gum and keeps count of where they are in the source.
///
/// Of attributes only those count that hide an element, raise its text, number it, stand for a
/// picture or the value of a field, or say something of the page, and the columns and rows of a
/// cell; comments and document types are no text.
pub(super) struct Scanner<'a> {
    source: &'a str,
    page: &'a mut Page,
    /// Bytes that the tokenizer has read.
    position: usize,
    /// Text that is in the page as it is in the source, and is not yet handed over.
    text_start: usize,
    text_end: usize,
    tag: Tag,
    /// The element whose end tag ends raw text.
    last_start_tag: Vec<u8>,
}

/// The tag that is being read.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    is_end: bool,
    is_self_closing: bool,
    /// The attribute that is read, with its value.
    attribute: Vec<u8>,
    value: Vec<u8>,
    look: Look,
    is_open_dialog: bool,
    is_note: bool,
    is_disabled: bool,
    /// The text that stands for a picture.
    alternative: String,
    /// The value and the type of a field.
    field_value: String,
    kind: String,
    /// The content of a `<meta>`, and its name.
    content: String,
    content_name: String,
    /// The columns and rows of a cell; 0 where it names none.
    columns: usize,
    rows: usize,
}

impl Tag {
    /// Takes the attribute that was read.
    fn end_attribute(&mut self) {
        let name = std::mem::take(&mut self.attribute);
        let written = String::from_utf8_lossy(&self.value);
        let value = written.to_ascii_lowercase();
        let is_meta = self.name == b"meta";
        let look = &mut self.look;

        match name.as_slice() {
            // what is hidden until it is searched for is text of the page; MDX computes a value
            b"hidden" => look.is_hidden |= value != "until-found" && !value.starts_with('{'),
            b"aria-hidden" => look.is_hidden |= value == "true",
            b"style" => {
                let style = Style::new(&value);
                look.is_hidden |= style.hides();
                look.script = look.script.or(style.script());
            }
            // the mark of a footnote is raised by the style sheet of its page
            b"role" | b"epub:type" | b"class" if value.split(' ').any(is_note_mark) => {
                look.script = Some(ScriptKind::Above);
            }
            b"role" if value == "heading" => look.is_heading = true,
            b"aria-level" => look.level = value.trim().parse().ok().filter(|level| *level > 0),
            b"role" | b"epub:type" => self.is_note |= value.split(' ').any(is_note),
            b"alt" => self.alternative = written.into_owned(),
            b"content" if is_meta => self.content = written.into_owned(),
            b"name" if is_meta => self.content_name = written.into_owned(),
            b"property" if is_meta && self.content_name.is_empty() => {
                self.content_name = written.into_owned();
            }
            b"open" => self.is_open_dialog = true,
            b"href" => look.is_place_link = value.contains('#'),
            b"checked" | b"selected" => look.is_chosen = true,
            b"disabled" => self.is_disabled = true,
            b"start" => look.number = value.trim().parse().ok(),
            b"value" => {
                look.number = value.trim().parse().ok();
                self.field_value = written.into_owned();
            }
            b"type" => {
                look.numerals = Numerals::from_type(&written);
                self.kind = value;
            }
            b"colspan" => self.columns = parse_span(&value),
            b"rowspan" => self.rows = parse_span(&value),
            _ => {}
        }

        self.value.clear();
    }

    /// Returns the text that is shown in the place of the element, when that has none itself.
    fn replacement(&self, is_in_label: bool) -> &str {
        match self.name.as_slice() {
            b"img" => &self.alternative,
            // a box without a label is a switch of the page, unless nobody can tick it: a task
            b"input" if matches!(self.kind.as_str(), "checkbox" | "radio") => {
                if self.look.is_chosen && (is_in_label || self.is_disabled) {
                    "☒"
                } else if self.is_disabled {
                    "☐"
                } else {
                    ""
                }
            }
            b"input" if TEXT_FIELDS.contains(&self.kind.as_str()) => &self.field_value,
            _ => "",
        }
    }

    fn span(&self) -> Span {
        Span {
            columns: self.columns.max(1),
            rows: self.rows.max(1),
        }
    }

    fn look(&self) -> Look {
        let is_closed = self.name == b"dialog" && !self.is_open_dialog;
        Look {
            // a note of a book is shown where its mark is touched
            is_hidden: (self.look.is_hidden && !self.is_note) || is_closed,
            ..self.look
        }
    }
}

/// Returns whether a role is that of a note below or behind a text.
fn is_note(word: &str) -> bool {
    let role = word.strip_prefix("doc-").unwrap_or(word);
    matches!(role, "footnote" | "endnote" | "rearnote")
}

/// Returns whether a role or a class is that of the mark of a footnote in the text.
fn is_note_mark(word: &str) -> bool {
    matches!(
        word,
        "doc-noteref" | "noteref" | "footnote-ref" | "footnote-reference" | "footnoteref"
    )
}

/// Returns the number of columns or rows that an attribute names.
fn parse_span(value: &str) -> usize {
    let digits = value.bytes().filter(u8::is_ascii_digit);
    digits.fold(0, |number, digit| {
        (number * 10 + usize::from(digit - b'0')).min(MAX_SPAN)
    })
}

/// The declarations of a style attribute in lower case, of which the last one of a name holds.
struct Style<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Style<'a> {
    fn new(style: &'a str) -> Self {
        let all = style.split(';').filter_map(|one| one.split_once(':'));
        Self(
            all.map(|(name, value)| (name.trim(), value.trim()))
                .collect(),
        )
    }

    fn value(&self, name: &str) -> &'a str {
        let found = self.0.iter().rev().find(|(found, _)| *found == name);
        found.map_or("", |(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<f32> {
        let value = self.value(name);
        let number = value.trim_end_matches(|c: char| !c.is_ascii_digit());
        number.parse().ok()
    }

    /// Returns whether it hides an element: not shown, of no size, or beside the page.
    fn hides(&self) -> bool {
        let begins = |name: &str, begin: &str| self.value(name).starts_with(begin);
        let is_zero = |name: &&str| self.number(name) == Some(0.0);
        let is_far = |name: &str| self.number(name).is_some_and(|number| number <= FAR_LEFT);
        begins("display", "none")
            || begins("visibility", "hidden")
            || begins("visibility", "collapse")
            || begins("mso-hide", "all")
            || ["font-size", "opacity"].iter().any(is_zero)
            || (begins("overflow", "hidden") && SIZES.iter().any(is_zero))
            || SHIFTS.into_iter().any(is_far)
    }

    fn script(&self) -> Option<ScriptKind> {
        match self.value("vertical-align") {
            "super" => Some(ScriptKind::Above),
            "sub" => Some(ScriptKind::Below),
            _ => None,
        }
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn new(source: &'a str, page: &'a mut Page) -> Self {
        Self {
            source,
            page,
            position: 0,
            text_start: 0,
            text_end: 0,
            tag: Tag::default(),
            last_start_tag: Vec::new(),
        }
    }

    /// Hands over the text that was read; the next text begins at the position of the tokenizer.
    fn flush_text(&mut self) {
        let text = self.source.get(self.text_start..self.text_end);
        self.page.text(text.unwrap_or_default(), self.text_start);

        self.text_start = self.position;
        self.text_end = self.position;
    }

    fn start_tag(&mut self) -> Option<State> {
        self.tag.end_attribute();
        let name = String::from_utf8_lossy(&self.tag.name);
        let has_replacement = matches!(self.tag.name.as_slice(), b"img" | b"input");
        if has_replacement && !self.tag.look.is_hidden {
            let text = self.tag.replacement(self.page.is_in("label"));
            self.page.add_replacement(text, self.position);
        }

        if !self.tag.content_name.is_empty() {
            let name = std::mem::take(&mut self.tag.content_name);
            let content = std::mem::take(&mut self.tag.content);
            self.page.said.push((name, content));
        }

        // In XHTML `<script/>` is a whole element; a browser would take the page for a script.
        if self.tag.is_self_closing {
            self.page.empty_element(&name);
            return None;
        }

        self.page.open(&name, self.tag.span(), self.tag.look());
        self.last_start_tag.clone_from(&self.tag.name);
        naive_next_state(&self.tag.name)
    }
}

impl Emitter for Scanner<'_> {
    type Token = std::convert::Infallible;

    fn move_position(&mut self, offset: isize) {
        self.position = self.position.saturating_add_signed(offset);
    }

    fn init_string(&mut self) {
        if self.position != self.text_end {
            self.flush_text();
        }
    }

    /// Takes text that ends at the position: a piece of the source, perhaps with other line ends,
    /// or the characters that a reference (`&eacute;`) stands for.
    fn emit_string(&mut self, text: &[u8]) {
        let start = self.text_end;
        let piece = self.source.as_bytes().get(start..self.position);
        let piece = piece.unwrap_or_default();
        let is_reference = piece.starts_with(b"&") && piece != text;

        if !is_reference {
            self.text_end = self.position;
            return;
        }

        let width = piece.len();
        self.flush_text();
        self.page
            .reference(&String::from_utf8_lossy(text), start, width);
    }

    fn init_start_tag(&mut self) {
        self.tag = Tag::default();
    }

    fn init_end_tag(&mut self) {
        self.tag = Tag {
            is_end: true,
            ..Tag::default()
        };
    }

    fn push_tag_name(&mut self, name: &[u8]) {
        self.tag.name.extend_from_slice(name);
    }

    fn init_attribute(&mut self) {
        self.tag.end_attribute();
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        self.tag.attribute.extend_from_slice(name);
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        if self.tag.value.len() < MAX_VALUE_BYTES {
            self.tag.value.extend_from_slice(value);
        }
    }

    fn set_self_closing(&mut self) {
        self.tag.is_self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.flush_text();
        if self.tag.is_end {
            self.page.close(&String::from_utf8_lossy(&self.tag.name));
            return None;
        }
        self.start_tag()
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && self.tag.name == self.last_start_tag
    }

    fn emit_current_comment(&mut self) {
        self.flush_text();
    }

    fn emit_current_doctype(&mut self) {
        self.flush_text();
    }

    fn emit_eof(&mut self) {
        self.flush_text();
    }

    /// Answers at `<![CDATA[`, which begins text in XHTML and a comment that nobody writes in HTML.
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.flush_text();
        true
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Self::Token> {
        None
    }

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_force_quirks(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
