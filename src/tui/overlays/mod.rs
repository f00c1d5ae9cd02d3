//! The windows above the panes: one file per overlay, each a [`View`], and [`Open`], the open one.

mod comparison;
mod help;
mod log;
mod models;
mod palette;
mod passage_trace;
mod prompts;
mod report;
mod sessions;
mod settings;
mod source;
mod utility;

pub use comparison::Comparison;
pub use help::Help;
pub use log::Log;
pub use models::Models;
pub use palette::Palette;
pub use passage_trace::PassageTrace;
pub use prompts::Prompts;
pub use report::Report;
pub use sessions::Sessions;
pub use settings::{Settings, changed_settings};
pub use source::{Origin, Source};
pub use utility::{Utility, why_not as why_not_measured};

use ratatui::layout::Rect;

use crate::event::Event;

use super::layout;
use super::state::State;
use super::view::{Reaction, Scene, View};
use super::viewport::{Content, Scroll};

/// Minimum width of the screen beside an overlay, both sides together; the overlay takes a narrower
/// strip.
const MIN_MARGIN: u16 = 24;
/// Rows of the typed line above the content, with the rule below it.
const INPUT_ROWS: u16 = 2;

/// The overlay that is open, with its rows and its window onto them.
pub struct Open {
    pub view: Box<dyn View>,
    pub scroll: Scroll,
    content: Content,
    /// The width that the rows were made for; `None` when they must be rebuilt.
    cells: Option<usize>,
}

impl Open {
    pub fn new(view: impl View + 'static) -> Self {
        Self {
            view: Box::new(view),
            scroll: Scroll::default(),
            content: Content::default(),
            cells: None,
        }
    }

    /// Builds its rows for a screen, unless they are up to date.
    pub fn prepare(&mut self, scene: &Scene<'_>, screen: Rect) {
        let cells = usize::from(self.columns(screen).saturating_sub(2));
        if self.view.is_live() || self.cells != Some(cells) {
            self.content = self.view.content(scene, &self.scroll, cells);
            self.cells = Some(cells);
        }

        let height = usize::from(self.rows_area(screen).height);
        self.view.settle(&self.content, height, &mut self.scroll);
    }

    /// Rebuilds its rows before they are drawn again.
    pub fn rebuild(&mut self) {
        self.cells = None;
    }

    /// Returns its rows, as they were prepared.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Handles an event, and returns the reaction of the overlay.
    pub fn receive(&mut self, event: &Event, state: &State) -> Reaction {
        let reaction = self.view.receive(event, state);
        if reaction != Reaction::Nothing {
            self.rebuild();
        }
        reaction
    }

    /// Returns its frame on a screen, no higher than its content.
    pub fn frame(&self, screen: Rect) -> Rect {
        let size = self.view.size();
        let needed = u16::try_from(self.content.rows.len() + 2).unwrap_or(u16::MAX);
        let rows = needed.clamp(size.min_rows, size.max_rows);
        layout::overlay(body(screen), self.columns(screen), rows)
    }

    /// Returns the area of its rows: inside the frame, below the typed line.
    pub fn rows_area(&self, screen: Rect) -> Rect {
        let inside = layout::inside(self.frame(screen));
        if self.view.input().is_none() {
            return inside;
        }
        let taken = INPUT_ROWS.min(inside.height);
        Rect {
            y: inside.y + taken,
            height: inside.height - taken,
            ..inside
        }
    }

    fn columns(&self, screen: Rect) -> u16 {
        let columns = self.view.size().columns;
        if columns + MIN_MARGIN > screen.width {
            screen.width
        } else {
            columns
        }
    }
}

/// Returns the screen without header, input and status, which stay visible.
fn body(screen: Rect) -> Rect {
    Rect {
        y: screen.y + 1.min(screen.height),
        height: screen.height.saturating_sub(3),
        ..screen
    }
}
