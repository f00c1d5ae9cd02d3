//! The layout of a screen of a given size: a pure function, so that drawing and the mouse agree.

use ratatui::layout::{Constraint, Layout as Split, Margin, Position, Rect};

use super::pane::{Pane, SlotRow};

/// Minimum size of the screen.
pub const SMALLEST: (u16, u16) = (40, 10);

/// Minimum size at which there is more than a pane, the question and the state.
const FRAMED: (u16, u16) = (60, 16);

/// Minimum size at which all panes are visible.
const WIDE: (u16, u16) = (120, 26);
/// Minimum height at which a narrow screen shows two panes.
const TALL: u16 = 24;
/// Minimum width at which three panes are beside each other.
const SPACIOUS: u16 = 160;
/// Minimum height at which two of them are above each other, so that the hits have the width for
/// their texts.
const HIGH: u16 = 48;
/// Minimum rows of a pane.
const MIN_PANE_ROWS: u16 = 5;
/// Rows of a pane change by this many, so that a growing text does not move the others at each row.
const ROW_STEP: u16 = 3;
/// Shares of the two rows of panes.
const ROW_SHARES: [u16; 2] = [11, 10];
/// Largest part of the rows that the upper panes take from lower ones that need more as well.
const MOST_ABOVE: (u16, u16) = (3, 5);
/// Factor of a pane's share by one step.
const STEP_FACTOR: f64 = 1.25;
/// Maximum rows of the input.
const MAX_INPUT_ROWS: u16 = 5;
/// Rows of the frame of a pane.
pub const FRAME_ROWS: u16 = 2;
/// Maximum rows of the guided tour.
const MAX_TOUR_ROWS: u16 = 6;

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
    /// The pane that is shown alone where one fits.
    pub alone: Pane,
    /// Rows of the stages of the run.
    pub stage_rows: u16,
    /// Rows of the guided tour; 0 outside of it.
    pub tour_rows: u16,
    pub panes: PaneNeeds,
}

/// The room that the panes need, by their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PaneNeeds {
    /// Rows with the frame; 0 while they are unknown.
    pub rows: [u16; Pane::ALL.len()],
    /// True for a pane that has nothing to show in this run: it is one line until it is focused.
    pub absent: [bool; Pane::ALL.len()],
    /// Steps by which the user made it larger; negative for smaller.
    pub steps: [i8; Pane::ALL.len()],
}

impl PaneNeeds {
    /// Maximum steps by which a pane is made larger or smaller.
    pub const MAX_STEPS: i8 = 4;

    /// Returns the share of a pane in the width of its row, in hundredths, for the steps to have an
    /// effect.
    fn width(&self, pane: Pane) -> u16 {
        let (_, width) = pane.slot();
        (f64::from(width) * 100.0 * factor(self.steps[pane as usize])) as u16
    }

    /// Returns what panes beside each other need.
    fn row(&self, panes: &[Pane]) -> RowNeed {
        let of_panes = |counts: &[u16; Pane::ALL.len()]| {
            let counts = panes.iter().map(|pane| counts[*pane as usize]);
            counts.max().unwrap_or(0)
        };
        RowNeed {
            rows: of_panes(&self.rows).next_multiple_of(ROW_STEP),
            steps: panes.iter().map(|pane| self.steps[*pane as usize]).sum(),
        }
    }
}

/// The room that panes beside each other need.
#[derive(Clone, Copy)]
struct RowNeed {
    rows: u16,
    steps: i8,
}

fn factor(steps: i8) -> f64 {
    STEP_FACTOR.powi(steps.into())
}

/// Areas of the parts; `tabs` is empty on a wide screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub header: Rect,
    pub progress: Rect,
    pub tabs: Rect,
    pub panes: Vec<(Pane, Rect)>,
    /// The panes that are one line, where all are shown.
    pub folded: Vec<(Pane, Rect)>,
    pub stages: Rect,
    pub tour: Rect,
    pub input: Rect,
    pub status: Rect,
}

/// Returns the layout of a screen; `None` when it is too small.
pub fn layout(area: Rect, needs: Needs) -> Option<Layout> {
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return None;
    }

    let wide = area.width >= WIDE.0 && area.height >= WIDE.1;
    let framed = area.width >= FRAMED.0 && area.height >= FRAMED.1;
    let [header, progress, tabs, body, stages, tour, input, status] = Split::vertical([
        Constraint::Length(u16::from(framed)),
        Constraint::Length(u16::from(needs.progress)),
        Constraint::Length(u16::from(framed && !wide)),
        Constraint::Min(6),
        Constraint::Length(needs.stage_rows),
        Constraint::Length(needs.tour_rows.min(MAX_TOUR_ROWS)),
        Constraint::Length(needs.input_rows.clamp(1, MAX_INPUT_ROWS)),
        Constraint::Length(1),
    ])
    .areas(area);

    let mut folded = Vec::new();
    let panes = if needs.zoomed {
        vec![(needs.focused, body)]
    } else if wide {
        let open = open_panes(area, needs);
        let closed = Pane::ALL.into_iter().filter(|pane| !open.contains(pane));
        let closed: Vec<Pane> = closed.collect();
        let lines = Constraint::Length(closed.len() as u16);
        let [body, lines] = Split::vertical([Constraint::Min(6), lines]).areas(body);
        folded = closed.into_iter().zip(lines.rows()).collect();
        all(body, &needs.panes, &open, area.height >= HIGH)
    } else if area.height >= TALL && is_folded(needs.beside, needs) {
        let rows = [Constraint::Min(6), Constraint::Length(1)];
        let [body, line] = Split::vertical(rows).areas(body);
        folded = vec![(needs.beside, line)];
        vec![(Pane::Answer, body)]
    } else if area.height >= TALL {
        two(body, needs)
    } else {
        vec![(needs.alone, body)]
    };

    Some(Layout {
        header,
        progress,
        tabs,
        panes,
        folded,
        stages,
        tour,
        input,
        status,
    })
}

/// Returns whether a pane is one line: it has nothing to show, and is not focused.
fn is_folded(pane: Pane, needs: Needs) -> bool {
    needs.panes.absent[pane as usize] && pane != needs.focused
}

/// Returns the panes that are more than a line on a screen that shows all: those with something to
/// show, and the focused one. Where there is room for two in the lower row, one is beside the hits.
fn open_panes(area: Rect, needs: Needs) -> Vec<Pane> {
    let is_open = |pane: &Pane| !is_folded(*pane, needs);
    let mut open: Vec<Pane> = Pane::ALL.into_iter().filter(is_open).collect();
    let both = [Pane::Links, Pane::Refinement];
    let has_room = area.width >= SPACIOUS || area.height >= HIGH;
    if !has_room && both.iter().all(|pane| open.contains(pane)) {
        let wanted = [needs.focused, needs.beside];
        let is_kept = |pane: &Pane| wanted.contains(pane);
        let kept = both.into_iter().find(is_kept).unwrap_or(Pane::Refinement);
        open.retain(|pane| !both.contains(pane) || *pane == kept);
    }
    open
}

/// Returns the open panes in their slots: two rows, each divided by the widths of its panes; on a
/// high screen the last two of three are one above the other.
fn all(body: Rect, needs: &PaneNeeds, open: &[Pane], is_high: bool) -> Vec<(Pane, Rect)> {
    let in_row = |row: SlotRow| -> Vec<Pane> {
        let panes = open.iter().copied();
        panes.filter(|pane| pane.slot().0 == row).collect()
    };
    let [upper, lower] = [in_row(SlotRow::Upper), in_row(SlotRow::Lower)];
    if lower.is_empty() {
        return side_by_side(&upper, body, needs);
    }

    let (beside, column) = match lower[..] {
        [hits, upper, lower] if is_high => (vec![hits, upper], Some([upper, lower])),
        _ => (lower, None),
    };
    let column_needs = column.map(|panes| panes.map(|pane| needs.row(&[pane])));
    let mut below_needs = needs.row(&beside);
    if let Some([upper, lower]) = column_needs {
        below_needs.rows = below_needs.rows.max(upper.rows + lower.rows);
    }

    let [above, below] = divide(body, ROW_SHARES, [needs.row(&upper), below_needs]);
    let mut panes = side_by_side(&upper, above, needs);
    panes.extend(side_by_side(&beside, below, needs));
    if let (Some([_, last]), Some(rows)) = (column, column_needs)
        && let Some((_, area)) = panes.last_mut()
    {
        let [first, second] = divide(*area, [1, 1], rows);
        *area = first;
        panes.push((last, second));
    }
    panes
}

fn side_by_side(panes: &[Pane], area: Rect, needs: &PaneNeeds) -> Vec<(Pane, Rect)> {
    let widths = panes.iter().map(|pane| needs.width(*pane));
    let areas = Split::horizontal(widths.map(Constraint::Fill)).split(area);
    panes.iter().copied().zip(areas.iter().copied()).collect()
}

fn two(body: Rect, needs: Needs) -> Vec<(Pane, Rect)> {
    let other = needs.beside;
    let rows = [Pane::Answer, other].map(|pane| needs.panes.row(&[pane]));
    let [above, below] = divide(body, [1, 1], rows);
    vec![(Pane::Answer, above), (other, below)]
}

/// Divides an area into two, one above the other: by their shares, unless one of them needs less
/// and the other more; then by the steps of the user.
fn divide(area: Rect, shares: [u16; 2], needs: [RowNeed; 2]) -> [Rect; 2] {
    let total = area.height;
    let part = f64::from(shares[0]) / f64::from(shares[0] + shares[1]);
    let by_share = (f64::from(total) * part).round() as u16;
    let [above, below] = needs.map(|need| need.rows);
    let left = total.saturating_sub(below);

    let above_fits = above <= by_share;
    let below_fits = below <= total - by_share;
    let rows = if above_fits && !below_fits {
        above.max(left)
    } else if below_fits && !above_fits {
        above.min(left)
    } else if above_fits {
        by_share
    } else {
        // the answer is above
        above.min(total * MOST_ABOVE.0 / MOST_ABOVE.1).max(by_share)
    };

    let weights = [
        f64::from(rows) * factor(needs[0].steps),
        f64::from(total - rows) * factor(needs[1].steps),
    ];
    let rows = f64::from(total) * weights[0] / (weights[0] + weights[1]).max(1.0);
    let most = total.saturating_sub(MIN_PANE_ROWS);
    let rows = (rows.round() as u16).clamp(MIN_PANE_ROWS.min(most), most);
    split_top(area, rows)
}

impl Layout {
    /// Returns the pane whose line is at a position.
    pub fn pane_of_line(&self, position: Position) -> Option<Pane> {
        let mut folded = self.folded.iter();
        let (pane, _) = folded.find(|(_, line)| line.contains(position))?;
        Some(*pane)
    }

    /// Returns the pane at a position.
    pub fn pane_at(&self, position: Position) -> Option<(Pane, Rect)> {
        let mut panes = self.panes.iter().copied();
        panes.find(|(_, area)| area.contains(position))
    }

    /// Returns the area of a pane, when it is visible.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        let (_, area) = self.panes.iter().find(|(shown, _)| *shown == pane)?;
        Some(*area)
    }
}

/// Returns the area inside a frame.
pub fn inside(frame: Rect) -> Rect {
    frame.inner(Margin::new(1, 1))
}

/// Returns the first rows of an area, and the others.
pub fn split_top(area: Rect, rows: u16) -> [Rect; 2] {
    Split::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(area)
}

/// Returns the first cells of an area, and the others.
pub fn split_left(area: Rect, cells: u16) -> [Rect; 2] {
    Split::horizontal([Constraint::Length(cells), Constraint::Min(0)]).areas(area)
}

/// Returns the last cells of an area behind the others.
pub fn split_right(area: Rect, cells: u16) -> [Rect; 2] {
    Split::horizontal([Constraint::Min(0), Constraint::Length(cells)]).areas(area)
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

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: Needs = Needs {
        focused: Pane::Answer,
        beside: Pane::Retrieval,
        zoomed: false,
        progress: false,
        input_rows: 1,
        alone: Pane::Answer,
        stage_rows: 0,
        tour_rows: 0,
        panes: PaneNeeds {
            rows: [0; 5],
            absent: [false; 5],
            steps: [0; 5],
        },
    };

    fn areas(width: u16, height: u16, panes: PaneNeeds) -> Vec<(Pane, Rect)> {
        let needs = Needs { panes, ..NEEDS };
        layout(Rect::new(0, 0, width, height), needs)
            .expect("a layout")
            .panes
    }

    fn area(areas: &[(Pane, Rect)], pane: Pane) -> Rect {
        let found = areas.iter().find(|(shown, _)| *shown == pane);
        found.expect("the pane").1
    }

    #[test]
    fn a_screen_of_24_rows_shows_two_panes() {
        let shown = areas(80, 24, PaneNeeds::default());
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0].1.height + shown[1].1.height, 20);
    }

    #[test]
    fn rows_go_where_they_are_needed() {
        let heights = |rows| {
            let panes = PaneNeeds {
                rows,
                ..PaneNeeds::default()
            };
            let shown = areas(200, 60, panes);
            [Pane::Answer, Pane::Retrieval].map(|pane| area(&shown, pane).height)
        };
        let [above, below] = heights([0; 5]);
        assert_eq!(above + below, 57);
        assert_eq!([above, below], [30, 27]);
        // both fit, and both do not
        assert_eq!(heights([20, 4, 20, 4, 4]), [30, 27]);
        assert_eq!(heights([90, 4, 90, 4, 4]), [34, 23]);
        assert_eq!(heights([32, 4, 90, 4, 4]), [33, 24]);
        // one of them leaves what it does not need, and no more
        assert_eq!(heights([9, 12, 90, 4, 4]), [12, 45]);
        assert_eq!(heights([9, 12, 30, 4, 4]), [27, 30]);
        assert_eq!(heights([90, 4, 9, 4, 12]), [39, 18]);
        assert_eq!(heights([39, 4, 9, 4, 4]), [39, 18]);
    }

    #[test]
    fn a_pane_without_content_is_a_line_until_it_is_focused() {
        let shown = |width, height, focused, absent| {
            let panes = PaneNeeds {
                absent,
                ..PaneNeeds::default()
            };
            let needs = Needs {
                focused,
                panes,
                ..NEEDS
            };
            let layout = layout(Rect::new(0, 0, width, height), needs).expect("a layout");
            layout
                .panes
                .iter()
                .map(|(pane, _)| *pane)
                .collect::<Vec<_>>()
        };
        use Pane::{Answer, Links, Refinement, Retrieval, Uncertainty};
        let off = [false, false, false, true, true];
        assert_eq!(
            shown(200, 36, Answer, off),
            [Answer, Uncertainty, Retrieval]
        );
        assert_eq!(
            shown(200, 36, Links, off),
            [Answer, Uncertainty, Retrieval, Links]
        );
        let quoted = [false, true, true, true, true];
        assert_eq!(shown(120, 36, Answer, quoted), [Answer]);
        // three beside each other want the width
        assert_eq!(shown(160, 36, Answer, [false; 5]), Pane::ALL);
        assert_eq!(
            shown(159, 36, Answer, [false; 5]),
            [Answer, Uncertainty, Retrieval, Refinement]
        );
        assert_eq!(
            shown(159, 36, Links, [false; 5]),
            [Answer, Uncertainty, Retrieval, Links]
        );
        // or the height
        assert_eq!(shown(120, 48, Answer, [false; 5]), Pane::ALL);
    }

    #[test]
    fn two_panes_beside_the_hits_are_above_each_other_on_a_high_screen() {
        for (height, hits) in [(47, 105), (48, 138)] {
            let shown = areas(200, height, PaneNeeds::default());
            let at = |pane| area(&shown, pane);
            assert_eq!(at(Pane::Retrieval).width, hits, "{height}");
            let is_above = at(Pane::Links).x == at(Pane::Refinement).x;
            assert_eq!(is_above, height == 48, "{height}");
            assert_eq!(at(Pane::Refinement).bottom(), at(Pane::Retrieval).bottom());
        }
    }

    #[test]
    fn steps_make_a_pane_larger_or_smaller() {
        for (width, height) in [(200, 60), (120, 30), (100, 30), (80, 24)] {
            let of = |steps: i8| {
                let mut panes = PaneNeeds::default();
                panes.steps[Pane::Retrieval as usize] = steps;
                let area = area(&areas(width, height, panes), Pane::Retrieval);
                (area.width, area.height)
            };
            let most = PaneNeeds::MAX_STEPS;
            assert!(of(1) > of(0) && of(0) > of(-1), "{width}x{height}");
            assert!(of(most).1 > of(0).1 && of(-most).1 >= MIN_PANE_ROWS);
        }
    }
}
