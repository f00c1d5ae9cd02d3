//! What lies over the panes: one file per overlay, each a [`View`], and [`Open`], which holds the one that is open.

mod comparison;
mod help;
mod log;
mod models;
mod palette;
mod prompts;
mod report;
mod sessions;
mod settings;
mod source;
mod utility;
mod whereabouts;

pub use comparison::Comparison;
pub use help::Help;
pub use log::Log;
pub use models::Models;
pub use palette::Palette;
pub use prompts::Prompts;
pub use report::Report;
pub use sessions::Sessions;
pub use settings::{Settings, changed_settings};
pub use source::{Origin, Source};
pub use utility::{Utility, why_not as why_not_measured};
pub use whereabouts::Whereabouts;

use ratatui::layout::Rect;

use crate::event::Event;

use super::layout;
use super::state::State;
use super::view::{Reaction, Scene, View};
use super::viewport::{Content, Scroll};

/// A strip of screen beside an overlay that is narrower than this on both sides together is of no use: the overlay takes it.
const MIN_MARGIN: u16 = 24;
/// Rows that the line above the rows takes, with the rule below it.
const INPUT_ROWS: u16 = 2;

/// The overlay that is open, with its rows and its window onto them.
pub struct Open {
    pub view: Box<dyn View>,
    pub scroll: Scroll,
    content: Content,
    /// The width that the rows were made for; `None` when they must be made again.
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

    /// Makes its rows for a screen, unless those that are there are still right.
    pub fn prepare(&mut self, scene: &Scene<'_>, screen: Rect) {
        let cells = usize::from(self.columns(screen).saturating_sub(2));
        if self.view.is_live() || self.cells != Some(cells) {
            self.content = self.view.content(scene, &self.scroll, cells);
            self.cells = Some(cells);
        }

        let height = usize::from(self.rows_area(screen).height);
        self.view.settle(&self.content, height, &mut self.scroll);
    }

    /// Its rows, as they were prepared.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Takes in an event, and says what the overlay does about it.
    pub fn receive(&mut self, event: &Event, state: &State) -> Reaction {
        let reaction = self.view.receive(event, state);
        if reaction != Reaction::Nothing {
            self.cells = None;
        }
        reaction
    }

    /// Its frame on a screen. An overlay with little to say is as high as that.
    pub fn frame(&self, screen: Rect) -> Rect {
        let size = self.view.size();
        let needed = u16::try_from(self.content.rows.len() + 2).unwrap_or(u16::MAX);
        let rows = needed.clamp(size.min_rows, size.max_rows);
        layout::overlay(body(screen), self.columns(screen), rows)
    }

    /// Its rows on a screen: inside the frame, below the line that is typed.
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

/// The screen without header, input and status, which stay in sight.
fn body(screen: Rect) -> Rect {
    Rect {
        y: screen.y + 1.min(screen.height),
        height: screen.height.saturating_sub(3),
        ..screen
    }
}
