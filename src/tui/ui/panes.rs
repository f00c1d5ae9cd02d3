//! The focused pane, and the scroll positions of all.

use crate::tui::layout::PaneNeeds;
use crate::tui::pane::Pane;
use crate::tui::viewport::Scroll;

/// The receiver of keys when no overlay is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Input,
    Panes,
}

/// The panes as the user arranged them.
#[derive(Debug, Clone)]
pub struct Panes {
    pub focus: Focus,
    pub focused: Pane,
    /// The pane below the answer when two fit.
    pub beside: Pane,
    /// The pane in view where one fits, while it is not chosen.
    pub alone: Pane,
    /// True when the user chose a pane: otherwise the one of the present work comes into view.
    pub is_chosen: bool,
    /// The stage of the run that is selected.
    pub stage: Option<usize>,
    /// The first stage in sight, where the wheel chose it.
    pub stages_top: Option<usize>,
    pub zoomed: bool,
    /// The room that they need, as of the last frame.
    pub needs: PaneNeeds,
    scrolls: [Scroll; Pane::ALL.len()],
}

impl Default for Panes {
    fn default() -> Self {
        Self {
            focus: Focus::Input,
            focused: Pane::Answer,
            beside: Pane::Retrieval,
            alone: Pane::Answer,
            is_chosen: false,
            stage: None,
            stages_top: None,
            zoomed: false,
            needs: PaneNeeds::default(),
            scrolls: Pane::ALL.map(start_of),
        }
    }
}

impl Panes {
    /// Returns the scroll position of a pane.
    pub fn scroll(&self, pane: Pane) -> &Scroll {
        &self.scrolls[pane as usize]
    }

    pub fn scroll_mut(&mut self, pane: Pane) -> &mut Scroll {
        &mut self.scrolls[pane as usize]
    }

    /// Focuses a pane.
    pub fn focus(&mut self, pane: Pane) {
        self.focus = Focus::Panes;
        self.focused = pane;
        self.stage = None;
        self.stages_top = None;
        self.alone = pane;
        self.is_chosen = true;
        if pane != Pane::Answer {
            self.beside = pane;
        }
    }

    /// Focuses the question, which a zoomed pane would hide.
    pub fn focus_input(&mut self) {
        self.focus = Focus::Input;
        self.zoomed = false;
    }

    /// Leaves the choice of the pane in view to the work of the next run.
    pub fn release(&mut self) {
        self.is_chosen = false;
        self.focused = Pane::Answer;
    }

    /// Scrolls every pane to its start, for a new run.
    pub fn reset_scrolls(&mut self) {
        self.stage = None;
        self.stages_top = None;
        self.scrolls = Pane::ALL.map(start_of);
    }

    /// Scrolls every pane to its start, for a run of the same question: the hit that is selected in
    /// Retrieval stays selected.
    pub fn reset_scrolls_but_hit(&mut self) {
        let retrieval = self.scroll(Pane::Retrieval).clone();
        self.reset_scrolls();
        if retrieval.selected.is_some() {
            *self.scroll_mut(Pane::Retrieval) = retrieval;
        }
    }
}

fn start_of(pane: Pane) -> Scroll {
    Scroll {
        follow: pane.is_following(),
        ..Scroll::default()
    }
}
