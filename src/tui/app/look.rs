//! Looking around: focus, moving, searching, copying, freezing.

use ratatui::layout::Rect;

use crate::tui::layout::inside;
use crate::tui::panes::Pane;
use crate::tui::viewport::{Content, Scroll};
use crate::tui::{overlays, text};

use super::{App, Effect, Field, Focus, Overlay, Purpose};

/// Rows that the wheel moves.
const WHEEL_ROWS: isize = 3;

impl App {
    pub(in crate::tui) fn focus(&mut self, pane: Pane) {
        self.ui.focus = Focus::Panes;
        self.ui.pane = pane;
        if pane != Pane::Answer {
            self.ui.beside = pane;
        }
    }

    pub(in crate::tui) fn next_pane(&mut self) {
        self.focus_by(1);
    }

    pub(in crate::tui) fn previous_pane(&mut self) {
        self.focus_by(-1);
    }

    /// The round: input, then the panes by number.
    fn focus_by(&mut self, by: isize) {
        if self.ui.overlay.is_some() || self.ui.field.is_some() {
            return;
        }
        let places = Pane::ALL.len() + usize::from(self.ui.player.is_none());
        let at = if self.ui.focus == Focus::Input {
            Pane::ALL.len()
        } else {
            self.ui.pane as usize
        };
        match Pane::ALL.get((at + places).saturating_add_signed(by) % places) {
            Some(pane) => self.focus(*pane),
            None => {
                self.ui.focus = Focus::Input;
                self.ui.zoomed = false;
            }
        }
    }

    pub(in crate::tui) fn zoom(&mut self) {
        self.ui.zoomed = !self.ui.zoomed;
    }

    pub(in crate::tui) fn down(&mut self) {
        self.select_by(1);
    }

    pub(in crate::tui) fn up(&mut self) {
        self.select_by(-1);
    }

    pub(in crate::tui) fn half_page_down(&mut self) {
        self.scroll_by(|height| height / 2);
    }

    pub(in crate::tui) fn half_page_up(&mut self) {
        self.scroll_by(|height| -(height / 2));
    }

    pub(in crate::tui) fn page_down(&mut self) {
        self.scroll_by(|height| height - 1);
    }

    pub(in crate::tui) fn page_up(&mut self) {
        self.scroll_by(|height| 1 - height);
    }

    pub(in crate::tui) fn top(&mut self) {
        self.change_place(|scroll, content, _| {
            scroll.selected = content.items().next();
            (scroll.top, scroll.follow) = (0, false);
        });
    }

    pub(in crate::tui) fn bottom(&mut self) {
        self.change_place(|scroll, content, height| {
            scroll.selected = content.items().last();
            (scroll.top, scroll.follow) = (content.rows.len().saturating_sub(height), false);
        });
        // at its end the answer is followed again
        if self.ui.overlay.is_none() && self.ui.pane == Pane::Answer {
            let scroll = self.scroll_mut(Pane::Answer);
            (scroll.follow, scroll.selected) = (true, None);
        }
    }

    /// One item on where there are items, else one row.
    fn select_by(&mut self, steps: isize) {
        self.change_place(|scroll, content, height| {
            if content.items().next().is_some() {
                scroll.select_by(steps, content, height);
            } else {
                scroll.by(steps, content, height);
            }
        });
        // what an item opens below itself is in sight too
        self.change_place(|scroll, content, height| {
            if let Some(rows) = scroll.selected.and_then(|item| content.rows_of(item)) {
                scroll.show(rows, content, height);
            }
        });
    }

    fn scroll_by(&mut self, rows: impl Fn(isize) -> isize) {
        self.change_place(|scroll, content, height| {
            scroll.by(rows(height as isize), content, height)
        });
    }

    /// The wheel over a pane, or over the overlay.
    pub(super) fn wheel(&mut self, pane: Option<Pane>, down: bool) {
        let rows = if down { WHEEL_ROWS } else { -WHEEL_ROWS };
        match pane {
            Some(pane) if self.ui.overlay.is_none() => {
                let Some((content, height)) = self.pane_content(pane) else {
                    return;
                };
                self.scroll_mut(pane).by(rows, &content, height);
                self.follow_again(pane, &content, height);
            }
            _ => self.scroll_by(|_| rows),
        }
    }

    /// The answer is followed again when it has been scrolled to its end by hand.
    fn follow_again(&mut self, pane: Pane, content: &Content, height: usize) {
        let at_end = self.ui.scroll(pane).top + height >= content.rows.len();
        if pane == Pane::Answer && at_end && self.ui.scroll(pane).selected.is_none() {
            self.scroll_mut(pane).follow = true;
        }
    }

    /// Changes the place in what has the keys.
    pub(super) fn change_place(&mut self, change: impl FnOnce(&mut Scroll, &Content, usize)) {
        match self.ui.overlay.take() {
            Some((overlay, mut scroll)) => {
                let area = overlays::rows_area((&overlay, &scroll), &self.scene(), self.size);
                let content =
                    overlays::content((&overlay, &scroll), &self.scene(), usize::from(area.width));
                change(&mut scroll, &content, usize::from(area.height));
                self.ui.overlay = Some((overlay, scroll));
            }
            None => {
                let pane = self.ui.pane;
                let Some((content, height)) = self.pane_content(pane) else {
                    return;
                };
                change(self.scroll_mut(pane), &content, height);
                self.align_selections(pane);
            }
        }
    }

    /// Rows of a pane in sight, and its height.
    pub(super) fn pane_content(&self, pane: Pane) -> Option<(Content, usize)> {
        let area = inside(self.layout()?.pane(pane)?);
        Some((
            pane.content(&self.scene(), usize::from(area.width)),
            usize::from(area.height),
        ))
    }

    /// The answer and the uncertainty pane select the same sentence.
    pub(super) fn align_selections(&mut self, pane: Pane) {
        let other = match pane {
            Pane::Answer => Pane::Uncertainty,
            Pane::Uncertainty => Pane::Answer,
            Pane::Retrieval | Pane::Links | Pane::Refinement => return,
        };
        let selected = self.ui.scroll(pane).selected;
        let sentence = selected.map(|mut item| {
            item.part = 0;
            item
        });
        if self.ui.scroll(other).selected.map(|item| item.row) != sentence.map(|item| item.row) {
            self.scroll_mut(other).selected = sentence;
            let Some((content, height)) = self.pane_content(other) else {
                return;
            };
            if let Some(rows) = sentence.and_then(|item| content.rows_of(item)) {
                self.scroll_mut(other).show(rows, &content, height);
            }
        }
    }

    pub(in crate::tui) fn open_search(&mut self) {
        self.ui.needle.clear();
        self.ui.field = Some(Field {
            purpose: Purpose::Search,
            text: super::ask::typed(""),
        });
    }

    pub(super) fn search_typed(&mut self) {
        self.ui.needle = self
            .ui
            .field
            .as_ref()
            .map_or(String::new(), |field| field.typed().to_owned());
        self.go_to_match(0);
    }

    pub(in crate::tui) fn next_match(&mut self) {
        self.go_to_match(1);
    }

    pub(in crate::tui) fn previous_match(&mut self) {
        self.go_to_match(-1);
    }

    /// To the match at or after the first row in sight (0), the next one (1) or the one before (-1), around the ends.
    pub(super) fn go_to_match(&mut self, by: isize) {
        let needle = self.ui.needle.clone();
        if needle.is_empty() {
            return;
        }
        let (mut found, mut at_row) = (None, self.ui.match_row);
        self.change_place(|scroll, content, height| {
            let matching = content.matching(&needle);
            let here = at_row
                .filter(|_| by != 0)
                .unwrap_or(content.top(scroll, height));
            let next = match by {
                0 => matching
                    .iter()
                    .find(|row| **row >= here)
                    .or(matching.first()),
                1.. => matching
                    .iter()
                    .find(|row| **row > here)
                    .or(matching.first()),
                _ => matching
                    .iter()
                    .rev()
                    .find(|row| **row < here)
                    .or(matching.last()),
            };
            if let Some(row) = next.copied() {
                found = matching
                    .iter()
                    .position(|other| *other == row)
                    .map(|at| (at + 1, matching.len()));
                at_row = Some(row);
                scroll.selected = content.rows[row].item.or(scroll.selected);
                scroll.show(row..row + 1, content, height);
            }
        });
        self.ui.match_row = at_row;
        match found {
            Some((at, of)) => self.tell(format!("match {at} of {of} for \"{needle}\""), false),
            None => self.tell(format!("\"{needle}\" is not in this pane"), true),
        }
    }

    pub(in crate::tui) fn copy(&mut self) {
        let scene = self.scene();
        let copied = match &self.ui.overlay {
            Some((overlay, scroll)) => overlays::copied((overlay, scroll), &scene),
            None => self.ui.pane.copied(&scene),
        };
        match copied {
            Some((what, content)) => {
                self.tell(
                    format!(
                        "copied {what} ({})",
                        text::counted(content.chars().count() as u64, "character")
                    ),
                    false,
                );
                self.effects.push(Effect::Copy(content));
            }
            None => self.tell("nothing to copy here", true),
        }
    }

    pub(in crate::tui) fn freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(Box::new(self.state.clone())),
        };
    }

    pub(in crate::tui) fn quit(&mut self) {
        if self.ui.overlay.is_some() {
            self.ui.overlay = None;
        } else {
            self.quit_now();
        }
    }

    pub(in crate::tui) fn quit_now(&mut self) {
        self.effects.push(Effect::Quit);
    }

    /// Closes what was opened last; then stops the run; then leaves zoom, search, input and selection in this order.
    pub(in crate::tui) fn back(&mut self) {
        if let Some(field) = self.ui.field.take() {
            self.close_field(&field.purpose);
        } else if self.ui.overlay.is_some() {
            self.ui.overlay = None;
        } else if self.running() {
            self.effects.push(Effect::Stop);
            self.ui.pending = None;
            self.tell("stopping …", false);
        } else if self.ui.focus == Focus::Panes && self.shown().indexing.is_some() {
            // what is done stays, and the next update goes on from there
            self.effects.push(Effect::Stop);
            self.tell("stopping …", false);
        } else if self.ui.focus == Focus::Input {
            self.ui.focus = Focus::Panes;
        } else if self.frozen.is_some() {
            self.frozen = None;
        } else if self.ui.zoomed {
            self.ui.zoomed = false;
        } else if !self.ui.needle.is_empty() {
            self.ui.needle.clear();
        } else {
            self.scroll_mut(self.ui.pane).selected = None;
            self.align_selections(self.ui.pane);
        }
    }

    fn close_field(&mut self, purpose: &Purpose) {
        match purpose {
            Purpose::Search => self.ui.needle.clear(),
            Purpose::Palette => self.ui.overlay = None,
            Purpose::Setting(_) | Purpose::Reference | Purpose::Passage | Purpose::Folder => {}
        }
    }

    /// The frame of what has the keys, for the mouse.
    pub(super) fn overlay_area(&self) -> Option<Rect> {
        let (overlay, scroll) = self.ui.overlay.as_ref()?;
        Some(overlays::rows_area(
            (overlay, scroll),
            &self.scene(),
            self.size,
        ))
    }

    pub(super) fn is_palette(&self) -> bool {
        matches!(self.ui.overlay, Some((Overlay::Palette, _)))
    }
}
