//! The windows above the panes: one file per overlay, each a [`View`], and [`Open`], the open one.

mod comparison;
mod trials;
mod diagnosis;
mod guide;
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
mod variants;

pub use comparison::Comparison;
pub use diagnosis::Diagnosis;
pub use guide::Guide;
pub use help::Help;
pub use log::Log;
pub use models::Models;
pub use palette::{GUIDE, Palette};
pub use prompts::Prompts;
pub use report::Report;
pub use sessions::Sessions;
pub use settings::{Settings, changed_settings};
pub use source::{Origin, Source};
pub use utility::{Utility, long_measurements, why_not as why_not_measured};
pub use variants::Variants;

use ratatui::layout::Rect;

use crate::event::Event;

use super::layout;
use super::state::State;
use super::ui::TypedText;
use super::view::{Action, Content, Page, Reaction, Request, Scene, Scroll, View};

/// Minimum width of the screen beside an overlay, both sides together; the overlay takes a narrower
/// strip.
const MIN_MARGIN: u16 = 24;
/// Rows of the typed line above the content, with the rule below it.
const INPUT_ROWS: u16 = 2;

/// The overlay that is open, with its rows and its window onto them.
pub struct Open {
    pub view: Box<dyn View>,
    pub scroll: Scroll,
    /// The line that filters its rows, while it is there.
    pub line: Option<TypedText>,
    /// The rows, as they were prepared.
    pub content: Content,
    /// The width that the rows were made for; `None` when they must be rebuilt.
    cells: Option<usize>,
    /// The overlay that help was opened over.
    pub below: Option<Box<Self>>,
}

impl Open {
    pub fn new(view: impl View + 'static) -> Self {
        let filter = view.filter();
        Self {
            view: Box::new(view),
            scroll: Scroll::default(),
            line: filter.and_then(|filter| filter.is_permanent.then(TypedText::default)),
            content: Content::default(),
            cells: None,
            below: None,
        }
    }

    /// Builds its rows for a screen, unless they are up to date.
    pub fn prepare(&mut self, scene: &Scene<'_>, screen: Rect) {
        let cells = usize::from(self.columns(screen).saturating_sub(2));
        if self.view.is_live() || self.cells != Some(cells) {
            let scene = Scene {
                typed: self.typed_text(),
                ..*scene
            };
            let mut page = Page::new(&scene, cells);
            self.view.write(&mut page, &self.scroll);
            self.content = page.content;
            self.cells = Some(cells);
        }

        let height = usize::from(self.rows_area(screen).height);
        self.view.settle(&self.content, height, &mut self.scroll);
    }

    /// Rebuilds its rows before they are drawn again.
    pub fn rebuild(&mut self) {
        self.cells = None;
    }

    /// Returns the text of that line; empty where there is none.
    pub fn typed_text(&self) -> &str {
        self.line.as_ref().map_or("", TypedText::as_str)
    }

    /// Begins the line that filters its rows. Returns whether it has one that a search begins.
    pub fn begin_line(&mut self) -> bool {
        let begins = self.is_begun_by_search();
        if begins {
            self.line.get_or_insert_default();
        }
        begins
    }

    /// Ends the line that a search began. Returns whether there was one.
    pub fn end_line(&mut self) -> bool {
        self.is_begun_by_search() && self.line.take().is_some()
    }

    fn is_begun_by_search(&self) -> bool {
        let filter = self.view.filter();
        filter.is_some_and(|filter| !filter.is_permanent)
    }

    /// Returns whether it stays open after an entry was accepted in that line.
    pub fn stays_open(&self) -> bool {
        self.view.filter().is_some_and(|filter| filter.stays_open)
    }

    /// Returns its keys for the status line, the most important first.
    pub fn hints(&self) -> &'static [(Action, &'static str)] {
        let filter = self.view.filter().filter(|_| self.line.is_some());
        filter.map_or_else(|| self.view.hints(), |filter| filter.hints)
    }

    /// Returns whether going back stops what it does, and leaves it open.
    pub fn is_stopped_by_back(&self, scene: &Scene<'_>) -> bool {
        matches!(
            self.view.act(Action::Back, scene, &self.scroll),
            Some(Request::StopPull | Request::StopMeasuring | Request::StopTrials)
        )
    }

    /// Handles an event, and returns the reaction of the overlay. The one below waits for events,
    /// too.
    pub fn receive(&mut self, event: &Event, state: &State) -> Reaction {
        let below = self.below.as_mut();
        if below.is_some_and(|below| below.receive(event, state) == Reaction::Close) {
            self.below = None;
        }
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
        match self.line {
            None => inside,
            Some(_) => layout::split_top(inside, INPUT_ROWS)[1],
        }
    }

    fn columns(&self, screen: Rect) -> u16 {
        let columns = self.view.size().columns;
        let is_narrow = columns + MIN_MARGIN > screen.width;
        if is_narrow { screen.width } else { columns }
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
