//! Playing a recorded run.

use std::time::Duration;

use crate::event::Record;
use crate::tui::state::State;

use super::App;

impl App {
    /// Lets time pass for a replay.
    pub fn advance(&mut self, elapsed: Duration) {
        let due = self
            .ui
            .player
            .as_mut()
            .map_or(Vec::new(), |player| player.advance(elapsed));
        self.changed |= !due.is_empty();
        for record in &due {
            self.apply(record);
        }
    }

    /// How long until a replay has something new; None when nothing comes by itself.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.ui.player.as_ref()?.next_due()
    }

    pub(in crate::tui) fn play(&mut self) {
        if let Some(player) = &mut self.ui.player {
            if player.position().0 == player.position().1 {
                self.restart();
            } else {
                player.toggle();
            }
        }
    }

    pub(in crate::tui) fn step_on(&mut self) {
        if let Some(record) = self.ui.player.as_mut().and_then(|player| player.step()) {
            self.apply(&record);
        }
    }

    pub(in crate::tui) fn step_back(&mut self) {
        if let Some(player) = &mut self.ui.player {
            self.state = folded(player.step_back());
        }
    }

    pub(in crate::tui) fn faster(&mut self) {
        self.change_speed(2.0);
    }

    pub(in crate::tui) fn slower(&mut self) {
        self.change_speed(0.5);
    }

    fn change_speed(&mut self, factor: f64) {
        if let Some(player) = &mut self.ui.player {
            player.change_speed(factor);
        }
    }

    pub(in crate::tui) fn restart(&mut self) {
        if let Some(player) = &mut self.ui.player {
            player.restart();
            self.state = State::default();
            self.ui.forget_places();
        }
    }
}

fn folded(records: &[Record]) -> State {
    let mut state = State::default();
    for record in records {
        state.apply(record);
    }
    state
}
