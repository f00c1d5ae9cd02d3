//! Playing a recorded run.

use std::time::Duration;

use crate::event::{Event, Record, SessionEvent};
use crate::tui::keys::Action;
use crate::tui::player::Player;
use crate::tui::state::State;
use crate::tui::ui::Focus;

use super::base::App;
use super::behind::Behind;

impl App {
    /// Plays records from the beginning.
    pub(super) fn start_player(&mut self, records: Vec<Record>) {
        self.ui.player = Some(Player::new(records));
        self.ui.panes.focus = Focus::Panes;
        self.ui.panes.reset_scrolls();
        self.ui.panes.release();
        self.advance(Duration::ZERO);
    }

    /// Collects the records of the run that is to be played, and plays it when all are here.
    pub(super) fn collect(&mut self, record: &Record) {
        let Some(opening) = &mut self.opening else {
            return;
        };

        if record.run == opening.run {
            opening.records.push(record.clone());
        }

        let is_complete = matches!(
            &record.event,
            Event::Session(SessionEvent::RunOpened { run }) if *run == opening.run
        );
        if is_complete && let Some(opening) = self.opening.take() {
            self.play_over_session(opening.records);
        }
    }

    /// Plays a run of the list; the session waits behind it.
    fn play_over_session(&mut self, records: Vec<Record>) {
        self.frozen = None;
        self.overlay = None;
        self.ui.work.turn = None;
        self.behind = Some(Behind {
            state: std::mem::take(&mut self.state),
            seen_entries: std::mem::take(&mut self.ui.seen_entries),
            waiting: Vec::new(),
        });
        self.start_player(records);
    }

    /// Leaves a run that is played from the list: the session comes back, with the finished run
    /// shown. Returns whether there was one.
    pub(super) fn leave_replay(&mut self) -> bool {
        let Some(behind) = self.behind.take() else {
            return false;
        };

        self.frozen = None;
        self.ui.player = None;
        self.ui.notice = None;
        self.ui.work.turn = None;
        self.state = behind.state;
        self.ui.seen_entries = behind.seen_entries;

        self.ui.panes.reset_scrolls();
        for record in &behind.waiting {
            self.apply(record);
        }

        true
    }

    /// Advances the clock of the screen and the time of a replay.
    pub fn advance(&mut self, elapsed: Duration) {
        self.advance_clock(elapsed);
        self.take_due();

        let player = self.ui.player.as_mut();
        let due = player.map_or(Vec::new(), |player| player.advance(elapsed));
        self.changed |= !due.is_empty();

        for record in &due {
            self.fold(record);
        }

        if self.ui.player.as_ref().is_some_and(Player::is_rested) {
            self.restart();
            self.changed = true;
        }
    }

    /// Plays the recorded run again and again.
    pub fn repeat(&mut self) {
        if let Some(player) = &mut self.ui.player {
            player.repeat();
        }
    }

    /// Returns the time until the screen changes by itself: by the next record of a replay, by the
    /// time that the present work takes, by a message that goes.
    pub fn next_due(&self) -> Option<Duration> {
        let record = self.ui.player.as_ref().and_then(Player::next_due);
        let paced = self.pace.next_due(self.ui.clock);
        let timers = [record, paced, self.next_tick()];
        timers.into_iter().flatten().min()
    }

    pub(super) fn play(&mut self) {
        let Some(player) = &mut self.ui.player else {
            return;
        };
        if player.is_at_end() && !player.is_playing() {
            self.restart();
        } else {
            player.toggle();
        }
    }

    pub(super) fn step(&mut self) {
        match self.ui.player.as_mut().and_then(Player::step) {
            Some(record) => self.fold(&record),
            None => {
                let play = self.keymap.sign(Action::Play);
                self.notify(format!(
                    "this is the end of the recording: {play} plays it again"
                ));
            }
        }
    }

    pub(super) fn step_back(&mut self) {
        let Some(player) = &mut self.ui.player else {
            return;
        };
        if player.position().0 == 0 {
            self.notify("this is the beginning of the recording");
        } else {
            self.state = State::default();
            for record in player.step_back() {
                self.state.apply(record);
            }
        }
    }

    pub(super) fn change_speed(&mut self, factor: f64) {
        let Some(player) = &mut self.ui.player else {
            return;
        };
        let before = player.speed();
        player.change_speed(factor);
        let speed = player.speed();
        if speed == before {
            self.notify(format!("{speed}x is the limit"));
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
