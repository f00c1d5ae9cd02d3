//! A builder for the rows of a view.

use ratatui::text::{Line, Span};

use super::keys::Action;
use super::scene::Scene;
use super::text;
use super::theme::Tone;
use super::viewport::{Content, Item};

/// The indent of a remark.
const REMARK_INDENT: &str = "   ";
/// The sign before lines that are beside others.
pub const RULE: &str = "│ ";

/// The rows of a view so far, with the scene that they show.
pub struct Page<'a> {
    pub scene: &'a Scene<'a>,
    /// Width of the rows.
    pub cells: usize,
    pub content: Content,
}

impl<'a> Page<'a> {
    pub fn new(scene: &'a Scene<'a>, cells: usize) -> Self {
        Self {
            scene,
            cells,
            content: Content::default(),
        }
    }

    /// Returns text in the style of a role.
    pub fn span(&self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        self.scene.span(tone, text)
    }

    /// Writes a row that cannot be selected.
    pub fn line(&mut self, line: impl Into<Line<'static>>) {
        self.content.line(line);
    }

    /// Writes a row of an item.
    pub fn item(&mut self, item: Item, line: impl Into<Line<'static>>) {
        self.content.item(item, line);
    }

    /// Writes an empty row.
    pub fn gap(&mut self) {
        self.content.gap();
    }

    /// Writes wrapped text, with `indent` before each row.
    pub fn text(&mut self, tone: Tone, indent: &str, words: &str) {
        let room = self.cells.saturating_sub(text::width(indent));
        for row in text::rows(words, room) {
            let words = self.span(tone, row);
            self.line(vec![Span::raw(indent.to_owned()), words]);
        }
    }

    /// Writes wrapped text that belongs to an item.
    pub fn item_text(&mut self, item: Item, tone: Tone, indent: &str, words: &str) {
        self.item_hanging(item, tone, indent, "", words);
    }

    /// Writes wrapped text that belongs to an item, each row after the first by `hang` further in.
    pub fn item_hanging(&mut self, item: Item, tone: Tone, indent: &str, hang: &str, words: &str) {
        let indents = text::width(indent) + text::width(hang);
        let room = self.cells.saturating_sub(indents);
        for (at, row) in text::rows(words, room).enumerate() {
            let hang = if at > 0 { hang } else { "" };
            let words = self.span(tone, row);
            self.item(item, vec![Span::raw(format!("{indent}{hang}")), words]);
        }
    }

    /// Writes words behind a name, wrapped at `room` cells, each row after the first as far in.
    pub fn text_behind(&mut self, name: Vec<Span<'static>>, tone: Tone, words: &str, room: usize) {
        let mut line = Line::from(name);
        let indent = " ".repeat(line.width());
        for row in text::rows(words, room) {
            line.push_span(self.span(tone, row));
            self.line(std::mem::replace(&mut line, Line::from(indent.clone())));
        }
    }

    /// Writes words behind a sign, each row after the first as far in.
    pub fn text_with_sign(&mut self, tone: Tone, sign: &str, words: &str) {
        let room = self.cells.saturating_sub(text::width(sign));
        self.text_behind(vec![self.span(tone, sign)], tone, words, room);
    }

    /// Writes an explanation below an empty row.
    pub fn remark(&mut self, words: &str) {
        self.gap();
        self.text(Tone::Quiet, REMARK_INDENT, words);
    }

    /// Writes a key with what it does, wrapped, indented as a remark.
    pub fn hint(&mut self, action: Action, what: &str) {
        let key = self.scene.keymap.sign(action);
        let words = format!("{key} {what}");
        let room = self.cells.saturating_sub(text::width(REMARK_INDENT));
        for range in text::wrap(&words, room) {
            let split = key.len().clamp(range.start, range.end);
            self.line(vec![
                Span::raw(REMARK_INDENT),
                self.span(Tone::Key, &words[range.start..split]),
                self.span(Tone::Quiet, &words[split..range.end]),
            ]);
        }
    }

    /// Writes a row in one style, clipped to the width.
    pub fn clip(&mut self, tone: Tone, words: &str) {
        let words = self.span(tone, text::clip(words, self.cells));
        self.line(words);
    }

    /// Writes lines beside rows that are there, behind a rule at a column: from row `at` on, or
    /// further up, but not above row `first`, where they would reach below the last one.
    pub fn write_beside(
        &mut self,
        first: usize,
        at: usize,
        column: usize,
        lines: Vec<Line<'static>>,
    ) {
        let end = self.content.rows.len();
        let start = at.min(end.saturating_sub(lines.len())).max(first);
        for (at, line) in (start..).zip(lines) {
            if at == self.content.rows.len() {
                self.gap();
            }
            let rule = self.span(Tone::Track, RULE);
            let row = &mut self.content.rows[at].line;
            let gap = column.saturating_sub(row.width());
            row.push_span(Span::raw(" ".repeat(gap)));
            row.push_span(rule);
            row.spans.extend(line.spans);
        }
    }

    /// Returns whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.content.rows.is_empty()
    }
}
