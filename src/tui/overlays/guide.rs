//! A page of the guide.

use ratatui::text::Line;

use crate::guide::{self, unwrap_paragraphs};
use crate::tui::document::{self, Lines};
use crate::tui::view::{Copied, Page, Scene, Scroll, Size, View};

/// A page of the guide, rendered as the source viewer renders Markdown.
pub struct Guide {
    page: &'static guide::Page,
}

impl Guide {
    pub fn new(page: &'static guide::Page) -> Self {
        Self { page }
    }
}

impl View for Guide {
    fn title(&self, _scene: &Scene<'_>) -> String {
        format!("Guide: {}", self.page.topic)
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        const MARGIN: usize = 2;
        let text = unwrap_paragraphs(&self.page.markdown());
        let lines = Lines::from_text(&text);
        let drawn = document::render_markdown(&lines, &[], page.cells.saturating_sub(2 * MARGIN));

        for row in drawn.into_iter().flat_map(|line| line.rows) {
            let mut spans = vec![" ".repeat(MARGIN).into()];
            for piece in row {
                piece.spans(page.scene, &[], &mut spans);
            }
            page.line(Line::from(spans));
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(100, 90)
    }

    fn copy(&self, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let name = format!("page {} of the guide", self.page.topic);
        Some(Copied::new(name, self.page.markdown()))
    }

    /// A page does not change: its rows are built once per width.
    fn is_live(&self) -> bool {
        false
    }
}
