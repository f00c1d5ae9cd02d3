//! Rows under construction: what a view writes into while it makes its content.

use ratatui::text::{Line, Span};

use super::text;
use super::theme::Tone;
use super::view::Scene;
use super::viewport::{Content, Item};

/// The indent of a remark.
const REMARK_INDENT: &str = "   ";

/// The rows of a view so far, with what they are made from.
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

    /// Text in the look of a role.
    pub fn span(&self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        self.scene.span(tone, text)
    }

    /// A row that cannot be selected.
    pub fn line(&mut self, line: impl Into<Line<'static>>) {
        self.content.line(line);
    }

    /// A row of an item.
    pub fn item(&mut self, item: Item, line: impl Into<Line<'static>>) {
        self.content.item(item, line);
    }

    /// An empty row.
    pub fn gap(&mut self) {
        self.content.gap();
    }

    /// Wrapped text, with `indent` before each row.
    pub fn text(&mut self, tone: Tone, indent: &str, words: &str) {
        let style = self.scene.style(tone);
        self.content.paragraph(words, style, indent, self.cells);
    }

    /// Wrapped text that belongs to an item.
    pub fn item_text(&mut self, item: Item, tone: Tone, indent: &str, words: &str) {
        let room = self.cells.saturating_sub(text::width(indent));
        for range in text::wrap(words, room) {
            let words = self.span(tone, words[range].to_owned());
            self.item(item, Line::from(vec![Span::raw(indent.to_owned()), words]));
        }
    }

    /// An explanation, set off from what is above it.
    pub fn remark(&mut self, words: &str) {
        self.gap();
        self.text(Tone::Quiet, REMARK_INDENT, words);
    }

    /// A row of one look, clipped to the width.
    pub fn clipped(&mut self, tone: Tone, words: &str) {
        let words = text::clip(words, self.cells).into_owned();
        self.line(self.scene.span(tone, words));
    }

    /// Returns whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.content.rows.is_empty()
    }
}
