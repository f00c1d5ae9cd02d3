//! Lays out the text of a page in blocks, as a browser breaks them.

use std::borrow::Cow;
use std::ops::Range;

use super::super::builder::one_line;
use super::table::{OpenTables, Span};
use crate::corpus::offsets::Traced;
use crate::corpus::outline::Heading;
use crate::corpus::sentence::fold_white_space;
use crate::corpus::terminal::is_invisible;
use crate::event::saturating_u32;

use super::super::script::{Script, ScriptKind};
use super::formula::{OpenFormula, needs_space};
use super::numbered::{Numerals, OpenLists};
use super::open_elements::{OpenElements, line_ends_around};

/// The level of a heading whose attributes name none, as the ARIA standard has it.
const DEFAULT_LEVEL: u8 = 2;

/// The signs of links to the place where they are, which generators of documentation add to
/// headings, and of links back from a note.
const PERMALINKS: &str = "¶#§🔗⚓∞↩";
/// The mark around text that is struck out, as in Markdown.
const STRUCK: &str = "~~";
/// Elements that hold no text of the page, whatever their attributes are. The last ones are the
/// reading of a word, inside of it.
#[rustfmt::skip]
const WITHOUT_TEXT: &[&str] = &[
    "script", "style", "template", "del", "svg", "noscript", "noembed", "iframe", "object", "canvas",
    "annotation", "annotation-xml", "rt", "rtc", "rp",
];

/// The text of a page and its headings.
#[derive(Debug, Default)]
pub(in crate::corpus) struct Page {
    pub(in crate::corpus) traced: Traced,
    pub(in crate::corpus) headings: Vec<Heading>,
    /// The contents of the `<meta>` elements, each behind its name.
    pub(super) said: Vec<(String, String)>,
    /// Line ends due before the next word.
    line_ends: usize,
    /// White space of the source that is due before the next word.
    space: Option<Range<usize>>,
    /// The start of the next line: the mark of a list item or a table row.
    mark: Cow<'static, str>,
    lists: OpenLists,
    /// The link to a place on a page that is open.
    link: Option<OpenLink>,
    struck: Option<OpenStruck>,
    /// Number of open `<pre>`.
    preformatted: usize,
    open: OpenElements,
    /// The superscript or subscript that is being read.
    script: Option<Script>,
    /// The number of elements that are open with the one that begins it.
    script_depth: usize,
    formula: OpenFormula,
    /// The number of parts with words that the page hides.
    pub(in crate::corpus) hidden: u32,
    /// Whether the part that is open is hidden by its attributes, and had no words yet.
    hides_words: bool,
    heading: Option<OpenHeading>,
    /// The levels of the summaries of the `<details>` that are open.
    details: Vec<u8>,
    /// The number of `<b>` and `<strong>` that are open.
    bold: usize,
    pub(super) tables: OpenTables,
}

/// The look of an element, by its attributes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub is_hidden: bool,
    pub script: Option<ScriptKind>,
    /// Whether it is a heading by its role, and the level of such.
    pub is_heading: bool,
    pub level: Option<u8>,
    /// Whether it is a link to a place on a page.
    pub is_place_link: bool,
    /// Whether it is what is chosen of several.
    pub is_chosen: bool,
    /// The number of an item of a list, or of the first one of a list.
    pub number: Option<i32>,
    pub numerals: Numerals,
}

/// A link of which no words were read yet.
#[derive(Debug)]
struct OpenLink {
    /// The number of elements that are open with it.
    depth: usize,
    /// The first text, with the bytes that stand for it, when that is the sign of a permalink.
    sign: Option<(String, Range<usize>)>,
}

/// Text that is struck out, and whether its mark is due before its first word.
#[derive(Debug)]
struct OpenStruck {
    depth: usize,
    is_due: bool,
}

/// A heading whose end tag is yet to come.
#[derive(Debug)]
struct OpenHeading {
    level: u8,
    /// The position of its first word in the text; `None` before that word.
    start: Option<usize>,
}

impl Page {
    /// Opens an element, whose content may be hidden or raised by its attributes.
    pub(super) fn open(&mut self, element: &str, span: Span, look: Look) {
        let was_hidden = self.open.is_hidden();
        self.open
            .open(element, look.is_hidden || WITHOUT_TEXT.contains(&element));
        if was_hidden && self.open.is_hidden() {
            return;
        }
        self.break_lines(element);
        self.end_heading_at(element);
        self.end_inline();
        if self.open.is_hidden() {
            self.hides_words = look.is_hidden;
            return;
        }

        match element {
            "pre" => self.preformatted += 1,
            "ol" => {
                let first = look.number.unwrap_or(1);
                self.lists.open(Some((look.numerals, first)));
            }
            "ul" | "menu" => self.lists.open(None),
            "li" => self.mark = self.lists.mark(look.number).into(),
            "option" if look.is_chosen => self.mark = "☒ ".into(),
            "tr" => self.mark = "| ".into(),
            "td" | "th" => self.open_cell(),
            "s" | "strike" if self.struck.is_none() => {
                let depth = self.open.depth();
                self.struck = Some(OpenStruck {
                    depth,
                    is_due: true,
                });
            }
            "b" | "strong" => self.bold += 1,
            "sup" => self.open_script(ScriptKind::Above),
            "sub" => self.open_script(ScriptKind::Below),
            "a" => self.open_link(look.is_place_link),
            "details" => self.details.push(self.level_below()),
            _ => {}
        }
        if let Some(kind) = look.script.filter(|_| line_ends_around(element) == 0) {
            self.open_script(kind);
        }
        self.formula.open(element, self.open.depth());
        self.tables.open(element, span, &self.traced.text);

        let level = look.level.unwrap_or(DEFAULT_LEVEL);
        let level = Some(level).filter(|_| look.is_heading);
        // a heading inside of a summary is as deep as that
        let own = heading_level(element);
        let is_of_summary =
            |_: &u8| element == "summary" || (own.is_some() && self.open.has("summary"));
        let summary = self.details.last().copied().filter(is_of_summary);
        if let Some(level) = summary.or(own).or(level) {
            self.end_heading();
            self.heading = Some(OpenHeading { level, start: None });
        }
    }

    /// Closes an element, also one that was never opened.
    pub(super) fn close(&mut self, element: &str) {
        let hidden = self.open.hidden_name().map(str::to_owned);
        self.open.close(element);
        self.end_formula(self.open.depth());
        if self.open.depth() < self.script_depth {
            self.end_script();
        }
        self.end_inline();
        let is_still_hidden = self.open.is_hidden();
        if is_still_hidden || hidden.is_some_and(|hidden| hidden == element) {
            if !is_still_hidden {
                self.break_lines(element);
            }
            return;
        }

        self.break_lines(element);
        self.end_heading_at(element);
        match element {
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "li" | "tr" | "option" => self.mark = "".into(),
            "ol" | "ul" | "menu" => self.lists.close(),
            "b" | "strong" => self.bold = self.bold.saturating_sub(1),
            "details" => {
                let level = self.details.pop();
                let end = self.traced.text.len();
                self.headings
                    .extend(level.map(|level| Heading::new(end..end, level, "")));
            }
            _ => {}
        }
        self.tables.close(element, &self.traced.text);

        if heading_level(element).is_some() || element == "summary" {
            self.end_heading();
        }
    }

    /// Returns the level of a heading that is below the one before it, or that ends with it.
    fn level_below(&self) -> u8 {
        self.headings.last().map_or(1, |last| {
            let is_end = last.title.is_empty();
            last.level.saturating_add(u8::from(!is_end))
        })
    }

    /// Returns whether the attributes of an open element hide its content.
    pub(super) fn hides(&self) -> bool {
        self.open.is_hidden() && self.hides_words
    }

    /// Returns whether an element of this name is open.
    pub(super) fn is_in(&self, element: &str) -> bool {
        self.open.has(element)
    }

    /// Adds an element without content.
    pub(super) fn empty_element(&mut self, element: &str) {
        if !self.open.is_hidden() {
            self.break_lines(element);
            self.formula.add_empty();
        }
    }

    /// Adds text as it is in the source from `at` on. White space becomes one space, except in
    /// preformatted text.
    pub(super) fn text(&mut self, text: &str, mut at: usize) {
        if self.open.is_hidden() {
            let has_words = || text.contains(char::is_alphanumeric);
            let is_text = !WITHOUT_TEXT.contains(&self.open.innermost());
            if self.hides_words && is_text && has_words() {
                self.hides_words = false;
                self.hidden += 1;
            }
            return;
        }
        if self.hold(text, at..at + text.len()) {
            return;
        }
        for run in text.split_inclusive(|c: char| c.is_ascii_whitespace()) {
            let word = run.trim_end_matches(|c: char| c.is_ascii_whitespace());
            let mut word_at = at;
            for part in word.split_inclusive(is_invisible) {
                let shown = part.trim_end_matches(is_invisible);
                if !shown.is_empty() {
                    self.settle(word_at);
                    self.traced.copy(shown, word_at as u64);
                }
                word_at += part.len();
            }

            let space = &run[word.len()..];
            if !space.is_empty() {
                self.white_space(space, at + word.len());
            }
            at += run.len();
        }
    }

    /// Adds the characters that `width` bytes of the source from `at` on stand for.
    pub(super) fn reference(&mut self, characters: &str, at: usize, width: usize) {
        let is_unseen = self.open.is_hidden() || characters.chars().all(is_invisible);
        if is_unseen || self.hold(characters, at..at + width) {
            return;
        }
        self.settle(at);
        self.traced
            .stand_for(characters, at as u64, saturating_u32(width));
    }

    /// Holds back the text of a permalink, a formula, a superscript or a subscript until that ends.
    /// Returns whether the text is held.
    fn hold(&mut self, text: &str, source: Range<usize>) -> bool {
        if self.hold_sign(text, source.clone()) {
            return true;
        }
        if self.formula.is_open() {
            self.formula.add(text, source);
        } else if let Some(script) = &mut self.script {
            script.add(text, source);
        } else {
            return false;
        }
        true
    }

    /// Adds the text that stands for a picture or a field of a form whose tag ends at a position.
    pub(super) fn add_replacement(&mut self, text: &str, at: usize) {
        if self.open.is_hidden() || text.trim().is_empty() {
            return;
        }
        self.white_space(" ", at);
        self.reference(&one_line(text), at, 0);
        self.white_space(" ", at);
    }

    /// Holds back the sign of a permalink, until the link has other words or ends without them.
    /// Returns whether the text is one.
    fn hold_sign(&mut self, text: &str, source: Range<usize>) -> bool {
        let Some(link) = &mut self.link else {
            return false;
        };
        // a sign may be followed by how it is shown
        let sign = text.trim().trim_end_matches(['\u{fe0e}', '\u{fe0f}']);
        let is_sign = sign.chars().count() == 1 && PERMALINKS.contains(sign);
        if is_sign && link.sign.is_none() {
            link.sign = Some((sign.to_owned(), source));
            return true;
        }
        if text.trim_ascii().is_empty() {
            return false;
        }
        let sign = self.link.take().and_then(|link| link.sign);
        if let Some((sign, at)) = sign {
            self.reference(&sign, at.start, at.len());
        }
        false
    }

    /// Ends the link and the text that is struck out when their elements are no longer open.
    fn end_inline(&mut self) {
        let depth = self.open.depth();
        self.link.take_if(|link| depth < link.depth);
        if let Some(struck) = self.struck.take_if(|struck| depth < struck.depth)
            && !struck.is_due
        {
            self.end_script();
            let end = self.traced.text.len();
            let at = self.traced.origin.source(end);
            self.traced.stand_for(STRUCK, at, 0);
        }
    }

    fn open_script(&mut self, kind: ScriptKind) {
        self.end_script();
        self.script = Some(Script::new(kind, self.open.has("a")));
        self.script_depth = self.open.depth();
    }

    fn open_link(&mut self, is_place_link: bool) {
        if let Some(script) = &mut self.script {
            script.is_linked = true;
        }
        let depth = self.open.depth();
        self.link = is_place_link.then_some(OpenLink { depth, sign: None });
    }

    /// Adds the formula that is open, unless it is among `depth` open elements.
    pub(super) fn end_formula(&mut self, depth: usize) {
        let Some((text, source)) = self.formula.close(depth) else {
            return;
        };
        if needs_space(&self.traced.text, &text) {
            self.white_space(" ", source.start);
        }
        if !text.is_empty() {
            self.reference(&text, source.start, source.len());
        }
    }

    /// Adds what was read as a superscript or subscript.
    pub(super) fn end_script(&mut self) {
        self.script_depth = 0;
        let Some(script) = self.script.take() else {
            return;
        };

        let is_apart = self.line_ends > 0 || !self.mark.is_empty() || self.space.is_some();
        let before = if is_apart { "" } else { &self.traced.text };

        if let Some(text) = script.text_after(before) {
            let source = script.source();
            self.settle(source.start);
            let width = saturating_u32(source.len());
            self.traced.stand_for(&text, source.start as u64, width);
        }

        if script.ends_with_space() {
            self.white_space(" ", script.source().end);
        }
    }

    /// Ends a heading whose end tag is missing: another block begins or ends after its first word.
    fn end_heading_at(&mut self, element: &str) {
        let is_block = line_ends_around(element) > 0 && element != "br";
        let start = self.heading.as_ref().and_then(|open| open.start);
        if is_block && start.is_some() {
            self.end_heading();
        }
    }

    /// Ends the heading that is open. One without text is not a heading.
    pub(super) fn end_heading(&mut self) {
        let Some(OpenHeading {
            level,
            start: Some(start),
        }) = self.heading.take()
        else {
            return;
        };

        let end = self.traced.text.len();
        let title = fold_white_space(&self.traced.text[start..end]);
        self.headings.push(Heading::new(start..end, level, title));
    }

    fn white_space(&mut self, space: &str, at: usize) {
        let begins_line = self.line_ends > 0;
        let is_kept = self.preformatted > 0 && !(begins_line && space.contains('\n'));

        if is_kept {
            self.settle(at);
            self.traced.copy(space, at as u64);
        } else {
            let start = self.space.as_ref().map_or(at, |space| space.start);
            self.space = Some(start..at + space.len());
        }
    }

    /// Puts the cells of a row into one line, divided by bars, while they are lines themselves.
    fn open_cell(&mut self) {
        if self.tables.is_in_line() {
            self.line_ends = 0;
        }
        if self.line_ends == 0 && !self.traced.text.is_empty() {
            self.mark = " | ".into();
        }
    }

    fn break_lines(&mut self, element: &str) {
        let line_ends = line_ends_around(element);
        if line_ends > 0 || matches!(element, "td" | "th") {
            self.end_formula(0);
            self.end_script();
        }
        // a cell often is a paragraph
        if !(matches!(element, "p" | "div") && self.tables.begins_cell()) {
            self.line_ends = self.line_ends.max(line_ends);
        }
    }

    /// Writes what is due before a word at `at`: line ends, a mark, or a space.
    fn settle(&mut self, at: usize) {
        let line_ends = std::mem::take(&mut self.line_ends);
        let mark = std::mem::take(&mut self.mark);
        let space = self.space.take();
        let is_first = self.traced.text.is_empty();

        if line_ends > 0 && !is_first {
            let line_ends = if line_ends == 1 { "\n" } else { "\n\n" };
            self.traced.stand_for(line_ends, at as u64, 0);
        }
        let start = self.traced.text.len();
        if line_ends > 0 || !mark.is_empty() {
            self.traced.stand_for(&mark, at as u64, 0);
        } else if let Some(space) = space.filter(|_| !is_first) {
            self.traced
                .stand_for(" ", space.start as u64, saturating_u32(space.len()));
        }

        let word_start = self.traced.text.len();
        if let Some(struck) = self.struck.as_mut().filter(|struck| struck.is_due) {
            struck.is_due = false;
            self.traced.stand_for(STRUCK, at as u64, 0);
        }
        self.tables
            .begin_word(start, word_start, line_ends > 0, self.bold > 0);
        if let Some(heading) = &mut self.heading {
            heading.start.get_or_insert(word_start);
        }
    }
}

/// Returns the level of a heading: 1 to 6, and 0 for the title of the page.
fn heading_level(element: &str) -> Option<u8> {
    match element.as_bytes() {
        b"title" => Some(0),
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}
