//! Playing a recorded run.

use std::time::Duration;

use crate::event::Record;
use crate::tui::player::Player;
use crate::tui::state::State;

use super::App;

impl App {
    /// Advances the clock of the screen and the time of a replay.
    pub fn advance(&mut self, elapsed: Duration) {
        self.advance_clock(elapsed);
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

    /// Returns the time until the screen changes by itself: by the next record of a replay, by the time that
    /// the present work takes, by a message that goes.
    pub fn next_due(&self) -> Option<Duration> {
        let record = self.ui.player.as_ref().and_then(Player::next_due);
        record.into_iter().chain(self.next_tick()).min()
    }

    pub(super) fn play(&mut self) {
        let Some(player) = &mut self.ui.player else {
            return;
        };
        if player.position().0 == player.position().1 {
            self.restart();
        } else {
            player.toggle();
        }
    }

    pub(super) fn step(&mut self) {
        let record = self.ui.player.as_mut().and_then(Player::step);
        if let Some(record) = record {
            self.apply(&record);
        }
    }

    pub(super) fn step_back(&mut self) {
        if let Some(player) = &mut self.ui.player {
            self.state = folded(player.step_back());
        }
    }

    pub(super) fn change_speed(&mut self, factor: f64) {
        if let Some(player) = &mut self.ui.player {
            player.change_speed(factor);
        }
    }

    pub(super) fn restart(&mut self) {
        if let Some(player) = &mut self.ui.player {
            player.restart();
            self.state = State::default();
            self.ui.panes.reset_scrolls();
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
