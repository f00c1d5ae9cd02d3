//! Navigation: focus, moving, searching, copying, freezing.

use crate::event::Hit;
use crate::tui::keys::Action;
use crate::tui::layout::{PaneNeeds, inside};
use crate::tui::overlays::Open;
use crate::tui::pane::Pane;
use crate::tui::ui::{Field, Focus, Purpose};
use crate::tui::viewport::{Content, Item, Scroll};
use crate::tui::{panes, text, waterfall};

use super::base::App;
use super::effect::Effect;

/// The match to go to.
#[derive(Clone, Copy)]
pub(super) enum Match {
    /// The first one at or below the first row in sight.
    Here,
    Next,
    Previous,
}

impl App {
    pub(super) fn focus(&mut self, pane: Pane) {
        self.ui.panes.focus(pane);
    }

    /// Moves the focus through the panes by number and the question.
    pub(super) fn focus_by(&mut self, by: isize) {
        if self.overlay.is_some() || self.ui.field.is_some() {
            return self.complete();
        }

        let has_question = self.ui.player.is_none();
        let places = Pane::ALL.len() + usize::from(has_question);
        let at = match self.ui.panes.focus {
            Focus::Input => Pane::ALL.len(),
            Focus::Panes => self.ui.panes.focused as usize,
        };
        match Pane::ALL.get((at + places).saturating_add_signed(by) % places) {
            Some(pane) => self.focus(*pane),
            None => self.ui.panes.focus_input(),
        }
    }

    /// Makes the focused pane larger by steps, or smaller.
    pub(super) fn resize_pane(&mut self, by: i8) {
        let is_alone = self.layout().is_none_or(|layout| layout.panes.len() < 2);
        if is_alone {
            return self.refuse("the pane has the whole screen");
        }

        let pane = self.ui.panes.focused;
        let steps = &mut self.ui.panes.needs.steps[pane as usize];
        let most = PaneNeeds::MAX_STEPS;
        let wanted = *steps + by;
        if (-most..=most).contains(&wanted) {
            *steps = wanted;
        } else {
            let extreme = if by > 0 { "large" } else { "small" };
            self.refuse(format!("{} is as {extreme} as it can be", pane.title()));
        }
    }

    pub(super) fn top(&mut self) {
        self.change_scroll(|scroll, content, _| {
            scroll.selected = content.items().next();
            scroll.top = 0;
            scroll.follow = false;
        });
    }

    pub(super) fn bottom(&mut self) {
        let is_pane = self.overlay.is_none();
        let is_followed = is_pane && self.ui.panes.focused.is_following();
        self.change_scroll(|scroll, content, height| {
            // at its end an answer that is being written is followed again
            scroll.follow = is_followed && content.start.is_none();
            scroll.selected = content.items().last().filter(|_| !is_followed);
            scroll.top = content.rows.len().saturating_sub(height);
        });
    }

    /// Selects the first item of the focused view.
    pub(super) fn select_first(&mut self) {
        self.change_scroll(|scroll, content, _| scroll.selected = content.items().next());
        self.show_selected();
    }

    /// Scrolls to the selected item where it is out of sight; returns whether it was.
    pub(super) fn reveal_selected(&mut self) -> bool {
        let mut is_hidden = false;
        self.change_scroll(|scroll, content, height| {
            let rows = scroll.selected.and_then(|item| content.rows_of(item));
            let mut in_sight = content.in_sight(scroll, height);
            is_hidden = rows.is_some_and(|rows| !in_sight.any(|row| rows.contains(&row)));
        });
        if is_hidden {
            self.show_selected();
        }
        is_hidden
    }

    /// Moves by items if there are any, else by rows.
    pub(super) fn select_by(&mut self, steps: isize) {
        if self.overlay.is_none() {
            self.ui.panes.stage = None;
        }
        let mut is_other = false;
        self.change_scroll(|scroll, content, height| {
            let before = scroll.selected;
            scroll.select_by(steps, content, height);
            is_other = scroll.selected != before;
        });

        // the details that open below a selected item are in sight too
        if is_other {
            self.show_selected();
        }
    }

    /// Scrolls to the selected item of the focused view.
    pub(super) fn show_selected(&mut self) {
        self.change_scroll(Scroll::show_selected);
    }

    pub(super) fn scroll_by(&mut self, rows: impl Fn(isize) -> isize) {
        self.change_scroll(|scroll, content, height| {
            scroll.by(rows(height as isize), content, height);
        });
    }

    /// Scrolls a pane by rows. An answer that is being written is followed again when the user has
    /// scrolled to its end.
    pub(super) fn wheel_pane(&mut self, pane: Pane, rows: isize) {
        let Some((content, height)) = self.pane_content(pane) else {
            return;
        };
        let scroll = self.ui.panes.scroll_mut(pane);
        scroll.by(rows, &content, height);

        let is_at_end = scroll.top + height >= content.rows.len();
        let is_growing = content.start.is_none() && pane.is_following();
        if is_growing && is_at_end && scroll.selected.is_none() {
            scroll.follow = true;
        }
    }

    /// Changes the scroll position of the focused view; the change receives its rows and its
    /// height.
    pub(super) fn change_scroll(&mut self, change: impl FnOnce(&mut Scroll, &Content, usize)) {
        // the rows depend on what is selected, so they are made again before each change
        self.prepare_overlay();
        if let Some(mut open) = self.overlay.take() {
            let height = usize::from(open.rows_area(self.size).height);
            change(&mut open.scroll, &open.content, height);
            self.overlay = Some(open);
            return;
        }

        let pane = self.ui.panes.focused;
        if let Some((content, height)) = self.pane_content(pane) {
            change(self.ui.panes.scroll_mut(pane), &content, height);
            self.align_selections(pane);
        }
    }

    /// The rows of a pane in sight, and its height.
    fn pane_content(&self, pane: Pane) -> Option<(Content, usize)> {
        let area = inside(self.layout()?.pane(pane)?);
        let content = panes::content(pane, &self.scene(), usize::from(area.width));
        Some((content, usize::from(area.height)))
    }

    /// Selects the same sentence in Answer, Uncertainty and Links, and its source in Retrieval.
    pub(super) fn align_selections(&mut self, pane: Pane) {
        let other = match pane {
            Pane::Answer => Pane::Uncertainty,
            Pane::Uncertainty => Pane::Answer,
            Pane::Retrieval | Pane::Links | Pane::Refinement => return,
        };
        let selected = self.ui.scroll(pane).selected;
        let sentence = selected.map(|item| Item::new(item.row, 0));

        let is_same =
            |known: Option<Item>| known.map(|item| item.row) == sentence.map(|item| item.row);
        if !is_same(self.ui.scroll(other).selected) {
            self.move_selection(other, sentence);
        }
        if !is_same(self.ui.scroll(Pane::Links).selected) {
            self.move_selection(Pane::Links, sentence);
        }

        let source = selected.and_then(|item| self.source_of(item));
        if source.is_some() {
            self.move_selection(Pane::Retrieval, source);
        }
    }

    /// Selects an item of a pane and scrolls to it.
    fn move_selection(&mut self, pane: Pane, item: Option<Item>) {
        self.ui.panes.scroll_mut(pane).selected = item;
        let Some((content, height)) = self.pane_content(pane) else {
            return;
        };
        if let Some(rows) = item.and_then(|item| content.rows_of(item)) {
            self.ui.panes.scroll_mut(pane).show(rows, &content, height);
        }
    }

    /// Returns the hit in Retrieval that a sentence or its citation stands on: the cited one, else
    /// the first of the context.
    fn source_of(&self, item: Item) -> Option<Item> {
        let run = self.scene().run?;
        let step = run.steps.get(item.row)?;
        let row = run.lookup_of(step.step)?;
        let lookup = &run.lookups[row];

        let cited = step.citations.get(item.part.saturating_sub(1));
        let is_source = |hit: &Hit| match cited {
            Some(citation) => hit.chunk.id == citation.chunk,
            None => lookup.label(hit.chunk.id).is_some(),
        };
        let at = lookup.hits().iter().position(is_source)?;
        Some(Item::new(row, at + 1))
    }

    /// Shows the stage of the run `by` stages further on; the last or the first where none is
    /// selected.
    pub(super) fn go_to_stage(&mut self, by: isize) {
        let stages = self.scene().run.map_or(0, |run| run.stages.len());
        let Some(last) = stages.checked_sub(1) else {
            return self.refuse("nothing has been asked yet");
        };
        let at = match self.ui.panes.stage {
            Some(at) => at.saturating_add_signed(by).min(last),
            None if by < 0 => last,
            None => 0,
        };
        self.show_stage(at);
    }

    /// Selects a stage of the run, and shows its place in the panes.
    pub(super) fn show_stage(&mut self, at: usize) {
        let Some(run) = self.scene().run else { return };
        let Some(stage) = run.stages.get(at) else {
            return;
        };
        let (pane, item) = waterfall::place_of(run, stage.kind);
        let decided = run.stage_decision(stage.kind);
        let words = format!("{}: {decided}", run.stage_name(stage.kind));

        self.focus(pane);
        self.ui.panes.stage = Some(at);
        self.move_selection(pane, item);
        self.align_selections(pane);
        if waterfall::rows(&self.scene(), self.size.height) == 0 {
            self.notify(words);
        }
    }

    pub(super) fn open_search(&mut self) {
        let overlay = self.overlay.as_mut();
        if overlay.is_some_and(Open::begin_line) {
            return self.select_first();
        }

        self.ui.search.needle.clear();
        self.ui.field = Some(Field::new(Purpose::Search, ""));
    }

    pub(super) fn search_edited(&mut self) {
        let field = self.ui.field.as_ref();
        let typed = field.map(|field| field.text.as_str().to_owned());
        self.ui.search.needle = typed.unwrap_or_default();
        self.go_to_match(Match::Here);
    }

    /// Goes to a match, around the ends.
    pub(super) fn go_to_match(&mut self, which: Match) {
        let needle = self.ui.search.needle.clone();
        if needle.is_empty() {
            if self.ui.field.is_none() {
                let search = self.keymap.sign(Action::Search);
                self.refuse(format!("nothing is searched for: {search} begins a search"));
            }
            return;
        }

        let last = self.ui.search.match_row;
        let mut found = None;
        self.change_scroll(|scroll, content, height| {
            let matching = content.matching(&needle);
            let top = content.top(scroll, height);
            let Some(at) = nearest_match(&matching, which, last, top) else {
                return;
            };
            let row = matching[at];
            found = Some((at, row, matching.len()));
            scroll.selected = content.rows[row].item.or(scroll.selected);
            scroll.show(row..row + 1, content, height);
        });

        match found {
            Some((at, row, matches)) => {
                self.ui.search.match_row = Some(row);
                self.notify(format!("match {} of {matches} for \"{needle}\"", at + 1));
            }
            None => self.refuse(format!("\"{needle}\" is not in this pane")),
        }
    }

    pub(super) fn copy(&mut self) {
        let scene = self.scene();
        let copied = match &self.overlay {
            Some(open) => open.view.copy(&scene, &open.scroll),
            None => {
                let pane = self.ui.panes.focused;
                panes::view(pane).copy(&scene, self.ui.scroll(pane))
            }
        };
        let Some(copied) = copied else {
            return self.refuse("nothing to copy here");
        };

        let characters = text::quantity(copied.text.chars().count() as u64, "character");
        self.notify(format!("copied {} ({characters})", copied.name));
        self.effects.push(Effect::Copy(copied.text));
    }

    pub(super) fn freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(Box::new(self.state.clone())),
        };
    }

    pub(super) fn quit(&mut self) {
        if self.overlay.is_some() {
            self.close_overlay();
        } else if self.leave_replay() {
            // the screen of before is there again
        } else if self.ui.work.is_running() && !self.ui.work.is_quitting {
            self.ui.work.is_quitting = true;
            let quit = self.keymap.sign(Action::Quit);
            let stop = self.keymap.sign(Action::Back);
            self.refuse(format!("not finished: {quit} again quits, {stop} stops it"));
        } else {
            self.effects.push(Effect::Quit);
        }
    }

    /// Empties the question that is typed, as a shell does; otherwise quits at once.
    pub(super) fn interrupt(&mut self) {
        if self.is_at_question() && !self.ui.question.text.is_empty() {
            self.ui.question.set("");
            let quit = self.keymap.sign(Action::QuitNow);
            self.notify(format!("{quit} again quits"));
        } else {
            self.effects.push(Effect::Quit);
        }
    }

    /// Closes the topmost window; then stops the run; then leaves search, zoom, input, selection
    /// and a run that is played from the list.
    pub(super) fn back(&mut self) {
        if let Some(field) = self.ui.field.take() {
            if field.purpose == Purpose::Search {
                self.ui.search.needle.clear();
            }
        } else if let Some(open) = &mut self.overlay {
            if open.end_line() {
                open.rebuild();
                self.show_selected();
                return;
            }
            match self.request(Action::Back) {
                Some(request) => self.perform(request),
                None => self.close_overlay(),
            }
        } else if self.ui.work.is_running() {
            self.ui.work.pending = None;
            self.stop();
        } else if self.leave_tour() {
        } else if self.ui.panes.focus == Focus::Panes && self.is_preparing() {
            // what is done stays, and the next update continues from there
            self.stop();
        } else if self.ui.panes.focus == Focus::Input {
            self.ui.panes.focus = Focus::Panes;
        } else if self.frozen.is_some() {
            self.frozen = None;
        } else if self.ui.panes.zoomed {
            self.ui.panes.zoomed = false;
        } else if !self.ui.search.needle.is_empty() {
            self.ui.search.needle.clear();
        } else if self.ui.scroll(self.ui.panes.focused).selected.is_none() {
            self.leave_replay();
        } else {
            let pane = self.ui.panes.focused;
            self.ui.panes.scroll_mut(pane).selected = None;
            self.ui.panes.stage = None;
            self.align_selections(pane);
        }
    }
}

/// The place in `matching` (rows, ascending) of the match to go to; `last` is the row of the last
/// one, `top` the first row in sight.
fn nearest_match(
    matching: &[usize],
    which: Match,
    last: Option<usize>,
    top: usize,
) -> Option<usize> {
    let end = matching.len().checked_sub(1)?;

    let here = last.unwrap_or(top);
    let at = match which {
        Match::Here => matching.iter().position(|row| *row >= top).unwrap_or(0),
        Match::Next => matching.iter().position(|row| *row > here).unwrap_or(0),
        Match::Previous => matching.iter().rposition(|row| *row < here).unwrap_or(end),
    };
    Some(at)
}
