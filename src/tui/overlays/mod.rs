//! What lies over the panes. As panes do, each turns what it is shown into rows.

mod comparison;
mod help;
mod log;
mod palette;
mod prompts;
mod report;
mod sessions;
mod settings;
mod source;
mod utility;
mod whereabouts;

use ratatui::layout::Rect;

use super::app::Overlay;
use super::layout;
use super::panes::Scene;
use super::viewport::{Content, Scroll};

pub use palette::Entry as PaletteEntry;

pub(super) use palette::entries as palette_entries;
pub(super) use settings::{changed_settings, current_value, read_later};
pub(super) use source::rows as source_rows;
pub(super) use utility::{REFERENCE, why_not as why_not_measured};

impl Overlay {
    /// The title in its frame.
    #[must_use]
    pub fn title(&self, scene: &Scene<'_>) -> String {
        match self {
            Self::Source(view) => source::title(view),
            Self::Prompts => "Prompts of this run".to_owned(),
            Self::Settings => "Settings".to_owned(),
            Self::Sessions => sessions::title(scene),
            Self::Help(_) => "Keys that work here".to_owned(),
            Self::Palette => "Commands".to_owned(),
            Self::Report => "Index".to_owned(),
            Self::Log => "Warnings and failures".to_owned(),
            Self::Utility => "What the context was worth".to_owned(),
            Self::Whereabouts => "Where a passage went".to_owned(),
            Self::Comparison => "Runs of this question side by side".to_owned(),
        }
    }

    /// Columns and rows that it wants.
    fn wants(&self) -> (u16, u16) {
        match self {
            Self::Source(_) | Self::Prompts | Self::Utility => (130, 90),
            Self::Comparison => (170, 90),
            Self::Settings => (110, 90),
            Self::Sessions => (130, 60),
            Self::Help(_) => (76, 60),
            Self::Palette => (76, 24),
            Self::Report | Self::Log | Self::Whereabouts => (110, 60),
        }
    }
}

/// A strip of screen beside an overlay narrower than this on both sides together says nothing: the overlay takes it.
const NARROWEST_MARGIN: u16 = 24;
/// The fewest rows of an overlay, its frame included.
const FEWEST_ROWS: u16 = 10;

/// The frame of an overlay on a screen. What has little to say is as high as that.
pub(super) fn frame(
    (overlay, scroll): (&Overlay, &Scroll),
    scene: &Scene<'_>,
    screen: Rect,
) -> Rect {
    let (columns, rows) = overlay.wants();
    // header, input and status stay in sight
    let body = Rect {
        y: screen.y + 1.min(screen.height),
        height: screen.height.saturating_sub(3),
        ..screen
    };
    let columns = if columns + NARROWEST_MARGIN > body.width {
        body.width
    } else {
        columns
    };
    let cells = usize::from(columns.saturating_sub(2));
    let needed = match overlay {
        Overlay::Palette | Overlay::Settings => usize::from(rows),
        Overlay::Source(view) => view
            .rows
            .as_ref()
            .map_or(0, |(_, content)| content.rows.len()),
        Overlay::Prompts
        | Overlay::Sessions
        | Overlay::Help(_)
        | Overlay::Report
        | Overlay::Log
        | Overlay::Utility
        | Overlay::Whereabouts
        | Overlay::Comparison => content((overlay, scroll), scene, cells).rows.len(),
    };
    let rows = u16::try_from(needed + 2)
        .unwrap_or(u16::MAX)
        .clamp(FEWEST_ROWS, rows);
    layout::overlay(body, columns, rows)
}

/// Where its rows go: inside the frame; the palette has its input on top.
pub(super) fn rows_area(
    (overlay, scroll): (&Overlay, &Scroll),
    scene: &Scene<'_>,
    screen: Rect,
) -> Rect {
    let inside = layout::inside(frame((overlay, scroll), scene, screen));
    match overlay {
        Overlay::Palette => {
            let taken = 2.min(inside.height);
            Rect {
                y: inside.y + taken,
                height: inside.height - taken,
                ..inside
            }
        }
        _ => inside,
    }
}

/// Its rows at a width of `cells`.
pub(super) fn content(
    (overlay, scroll): (&Overlay, &Scroll),
    scene: &Scene<'_>,
    cells: usize,
) -> Content {
    match overlay {
        Overlay::Source(view) => match &view.rows {
            Some((_, rows)) => rows.clone(),
            None => source::rows(view, scene, cells),
        },
        Overlay::Prompts => prompts::content(scene, cells),
        Overlay::Settings => settings::content(scene, scroll, cells),
        Overlay::Sessions => sessions::content(scene, scroll, cells),
        Overlay::Help(contexts) => help::content(scene, contexts, cells),
        Overlay::Palette => palette::content(scene, cells),
        Overlay::Report => report::content(scene, cells),
        Overlay::Log => log::content(scene, cells),
        Overlay::Utility => utility::content(scene, scroll, cells),
        Overlay::Whereabouts => whereabouts::content(scene, cells),
        Overlay::Comparison => comparison::content(scene, cells),
    }
}

/// What copying in it copies: what it is called, and its text.
pub(super) fn copied(
    (overlay, scroll): (&Overlay, &Scroll),
    scene: &Scene<'_>,
) -> Option<(String, String)> {
    match overlay {
        Overlay::Source(view) => source::copied(view),
        Overlay::Prompts => prompts::copied(scene, scroll),
        Overlay::Settings => settings::copied(scene, scroll),
        Overlay::Sessions => sessions::copied(scene, scroll),
        Overlay::Report => report::copied(scene),
        Overlay::Log => log::copied(scene),
        Overlay::Utility => utility::copied(scene),
        Overlay::Comparison => comparison::copied(scene),
        Overlay::Help(_) | Overlay::Palette | Overlay::Whereabouts => None,
    }
}
