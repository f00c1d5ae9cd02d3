//! Lays out the text of a page in blocks, as a browser breaks them.

use std::ops::Range;

use super::table::{OpenTables, Span};
use crate::corpus::offsets::Traced;
use crate::corpus::outline::Heading;
use crate::corpus::sentence::fold_white_space;
use crate::event::saturating_u32;

/// The text of a page and its headings.
#[derive(Debug, Default)]
pub(in crate::corpus) struct Page {
    pub(in crate::corpus) traced: Traced,
    pub(in crate::corpus) headings: Vec<Heading>,
    /// Line ends due before the next word.
    line_ends: usize,
    /// White space of the source that is due before the next word.
    space: Option<Range<usize>>,
    /// The start of the next line: the mark of a list item or a table row.
    mark: &'static str,
    /// How many `<pre>` are open.
    preformatted: usize,
    hidden: Option<Hidden>,
    heading: Option<OpenHeading>,
    /// The number of `<b>` and `<strong>` that are open.
    bold: usize,
    pub(super) tables: OpenTables,
}

/// An open element whose content is not shown.
#[derive(Debug)]
struct Hidden {
    element: String,
    /// How many elements of that name are open.
    depth: usize,
}

/// A heading whose end tag is yet to come.
#[derive(Debug)]
struct OpenHeading {
    level: u8,
    /// The position of its first word in the text; `None` before that word.
    start: Option<usize>,
}

impl Page {
    /// Opens an element.
    pub(super) fn open(&mut self, element: &str, span: Span) {
        if let Some(hidden) = &mut self.hidden {
            hidden.depth += usize::from(hidden.element == element);
            return;
        }
        if is_hidden(element) {
            self.hidden = Some(Hidden {
                element: element.to_owned(),
                depth: 1,
            });
            return;
        }

        self.break_lines(element);
        self.end_heading_at(element);
        match element {
            "pre" => self.preformatted += 1,
            "li" => self.mark = "- ",
            "tr" => self.mark = "| ",
            "td" | "th" => self.open_cell(),
            "b" | "strong" => self.bold += 1,
            _ => {}
        }
        self.tables.open(element, span, &self.traced.text);

        if let Some(level) = heading_level(element) {
            self.end_heading();
            self.heading = Some(OpenHeading { level, start: None });
        }
    }

    /// Closes an element, also one that was never opened.
    pub(super) fn close(&mut self, element: &str) {
        if let Some(hidden) = &mut self.hidden {
            hidden.depth -= usize::from(hidden.element == element);
            if hidden.depth == 0 {
                self.hidden = None;
            }
            return;
        }

        self.break_lines(element);
        self.end_heading_at(element);
        match element {
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "li" | "tr" => self.mark = "",
            "b" | "strong" => self.bold = self.bold.saturating_sub(1),
            _ => {}
        }
        self.tables.close(element, &self.traced.text);

        if heading_level(element).is_some() {
            self.end_heading();
        }
    }

    /// Adds an element without content.
    pub(super) fn empty_element(&mut self, element: &str) {
        if self.hidden.is_none() {
            self.break_lines(element);
        }
    }

    /// Adds text as it is in the source from `at` on. White space becomes one space, except in
    /// preformatted text.
    pub(super) fn text(&mut self, text: &str, mut at: usize) {
        if self.hidden.is_some() {
            return;
        }
        for run in text.split_inclusive(|c: char| c.is_ascii_whitespace()) {
            let word = run.trim_end_matches(|c: char| c.is_ascii_whitespace());
            if !word.is_empty() {
                self.settle(at);
                self.traced.copy(word, at as u64);
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
        if self.hidden.is_none() {
            self.settle(at);
            self.traced
                .stand_for(characters, at as u64, saturating_u32(width));
        }
    }

    /// Ends a heading whose end tag is missing: another block begins or ends after its first word.
    fn end_heading_at(&mut self, element: &str) {
        let is_block = line_ends_around(element) > 0 && element != "br";
        let has_words = self
            .heading
            .as_ref()
            .is_some_and(|open| open.start.is_some());
        if is_block && has_words {
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
        self.headings.push(Heading {
            range: start..end,
            level,
            title: fold_white_space(&self.traced.text[start..end]),
        });
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
            self.mark = " | ";
        }
    }

    fn break_lines(&mut self, element: &str) {
        // a cell often is a paragraph
        if !(matches!(element, "p" | "div") && self.tables.begins_cell()) {
            self.line_ends = self.line_ends.max(line_ends_around(element));
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
            self.traced.stand_for(mark, at as u64, 0);
        } else if let Some(space) = space.filter(|_| !is_first) {
            self.traced
                .stand_for(" ", space.start as u64, saturating_u32(space.len()));
        }

        let word_start = self.traced.text.len();
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

/// Returns whether the content of an element is no text of the page.
fn is_hidden(element: &str) -> bool {
    matches!(
        element,
        "script"
            | "style"
            | "template"
            | "svg"
            | "noscript"
            | "noembed"
            | "iframe"
            | "object"
            | "canvas"
    )
}

/// Returns the number of line ends between an element and its neighbours: 2 for a paragraph, 1 for
/// a line.
fn line_ends_around(element: &str) -> usize {
    match element {
        "address" | "article" | "aside" | "blockquote" | "body" | "details" | "dialog" | "div"
        | "dl" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "h1" | "h2" | "h3"
        | "h4" | "h5" | "h6" | "head" | "header" | "hr" | "html" | "main" | "menu" | "nav"
        | "ol" | "p" | "pre" | "section" | "summary" | "table" | "title" | "ul" => 2,
        "br" | "caption" | "dd" | "dt" | "li" | "option" | "tbody" | "tfoot" | "thead" | "tr" => 1,
        _ => 0,
    }
}
