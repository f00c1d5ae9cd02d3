//! The layout of a screen of a given size: a pure function, so that drawing and the mouse agree.

use ratatui::layout::{Constraint, Layout as Split, Position, Rect};

use super::pane::{Pane, SlotRow};

/// Minimum size of the screen.
pub const SMALLEST: (u16, u16) = (60, 16);

/// From this size on all panes are visible.
const WIDE: (u16, u16) = (120, 26);
/// From this height on a narrow screen shows two panes.
const TALL: u16 = 26;
/// Maximum rows of the input.
const MAX_INPUT_ROWS: u16 = 5;

/// The input of the layout.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    pub focused: Pane,
    /// The pane beside the answer when two fit.
    pub beside: Pane,
    pub zoomed: bool,
    /// True when progress is shown.
    pub progress: bool,
    /// Rows that the question takes.
    pub input_rows: u16,
}

/// Areas of the parts; `tabs` is empty on a wide screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub header: Rect,
    pub progress: Rect,
    pub tabs: Rect,
    pub panes: Vec<(Pane, Rect)>,
    pub input: Rect,
    pub status: Rect,
}

/// Returns the layout of a screen; `None` when it is too small.
pub fn layout(area: Rect, needs: Needs) -> Option<Layout> {
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return None;
    }
    let wide = area.width >= WIDE.0 && area.height >= WIDE.1;
    let [header, progress, tabs, body, input, status] = Split::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(needs.progress)),
        Constraint::Length(u16::from(!wide)),
        Constraint::Min(6),
        Constraint::Length(needs.input_rows.clamp(1, MAX_INPUT_ROWS)),
        Constraint::Length(1),
    ])
    .areas(area);
    let panes = if needs.zoomed {
        vec![(needs.focused, body)]
    } else if wide {
        all(body)
    } else if area.height >= TALL {
        two(body, needs)
    } else {
        vec![(needs.focused, body)]
    };
    Some(Layout {
        header,
        progress,
        tabs,
        panes,
        input,
        status,
    })
}

/// Returns every pane in its slot: two rows, each divided by the widths of its panes.
fn all(body: Rect) -> Vec<(Pane, Rect)> {
    let [upper, lower] = Split::vertical([Constraint::Fill(11), Constraint::Fill(10)]).areas(body);
    [(SlotRow::Upper, upper), (SlotRow::Lower, lower)]
        .into_iter()
        .flat_map(|(row, area)| row_of_panes(row, area))
        .collect()
}

fn row_of_panes(row: SlotRow, area: Rect) -> Vec<(Pane, Rect)> {
    let panes: Vec<Pane> = Pane::ALL
        .into_iter()
        .filter(|pane| pane.slot().row == row)
        .collect();
    let widths = panes.iter().map(|pane| Constraint::Fill(pane.slot().width));
    let areas = Split::horizontal(widths).split(area);
    panes.iter().copied().zip(areas.iter().copied()).collect()
}

fn two(body: Rect, needs: Needs) -> Vec<(Pane, Rect)> {
    let [above, below] = Split::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(body);
    let other = if needs.focused == Pane::Answer {
        needs.beside
    } else {
        needs.focused
    };
    vec![(Pane::Answer, above), (other, below)]
}

impl Layout {
    /// Returns the pane at a position.
    pub fn pane_at(&self, position: Position) -> Option<(Pane, Rect)> {
        self.panes
            .iter()
            .copied()
            .find(|(_, area)| area.contains(position))
    }

    /// Returns the area of a pane, when it is visible.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(shown, _)| *shown == pane)
            .map(|(_, area)| *area)
    }
}

/// Returns the area inside a frame.
pub fn inside(frame: Rect) -> Rect {
    Rect {
        x: frame.x + 1.min(frame.width),
        y: frame.y + 1.min(frame.height),
        width: frame.width.saturating_sub(2),
        height: frame.height.saturating_sub(2),
    }
}

/// Returns the frame of an overlay in the middle of the screen.
pub fn overlay(area: Rect, columns: u16, rows: u16) -> Rect {
    let width = columns.min(area.width);
    let height = rows.min(area.height);
    // above the middle, where the eyes rest
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 3,
        width,
        height,
    }
}
