//! The guided tour: from stop to stop, and out of it.

use crate::tui::keys::Action;
use crate::tui::tour::{Place, Tour};

use super::base::App;

impl App {
    /// Begins the tour, or continues it: at a stop with a question that is not asked yet, it asks
    /// it.
    pub(super) fn tour(&mut self) {
        let is_asked = self.ui.question.text.as_str().trim().is_empty();
        if self.is_tour_at_question() && !is_asked {
            self.ask();
        } else {
            self.next_stop();
        }
    }

    /// Goes to the next stop, the first where the tour is not on; behind the last one it is over.
    fn next_stop(&mut self) {
        if !self.has_engine() {
            return;
        }
        if self.ui.question.suggestions.is_empty() {
            return self
                .refuse("the tour asks about documents: open a folder that has some, or the demo");
        }

        self.overlay = None;
        self.ui.panes.zoomed = false;
        self.ui.tour = Tour::new(&self.scene()).next();
        match self.place_of_tour() {
            Some(Place::Question(number)) => {
                self.take_suggestion(number);
                // the stop says what it is about
                self.ui.notice = None;
                self.ui.panes.focus_input();
            }
            Some(Place::Pane(pane)) => self.focus(pane),
            None => {
                let again = self.keymap.sign(Action::Tour);
                self.notify(format!("the tour is over: {again} begins it again"));
            }
        }
    }

    /// Leaves the tour. Returns whether there was one.
    pub(super) fn leave_tour(&mut self) -> bool {
        let was_on = self.ui.tour.take().is_some();
        if was_on {
            let again = self.keymap.sign(Action::Tour);
            self.notify(format!("tour left: {again} begins it again"));
        }
        was_on
    }

    /// Continues where the run turned out to have nothing that the stop is about.
    pub(super) fn leave_empty_stop(&mut self) {
        if self.ui.tour.is_some() && Tour::new(&self.scene()).is_at_nothing() {
            self.next_stop();
        }
    }

    /// Continues when the question of the stop is asked.
    pub(super) fn tour_question_asked(&mut self) {
        if self.is_tour_at_question() {
            self.next_stop();
        }
    }

    fn is_tour_at_question(&self) -> bool {
        matches!(self.place_of_tour(), Some(Place::Question(_)))
    }

    fn place_of_tour(&self) -> Option<Place> {
        Tour::new(&self.scene()).stop().map(|stop| stop.place)
    }
}
