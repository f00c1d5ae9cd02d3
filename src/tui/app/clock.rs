//! The clock of the screen: how long the present work takes, and when a message goes.

use std::time::Duration;

use crate::tui::state::Model;

use super::base::App;

/// The time for which a message stays when no key is pressed.
const NOTICE_FOR: Duration = Duration::from_secs(6);
const SECOND: Duration = Duration::from_secs(1);

impl App {
    pub(super) fn advance_clock(&mut self, elapsed: Duration) {
        let before = self.elapsed();
        self.ui.clock += elapsed;
        self.ui.work.is_quitting &= self.ui.work.is_running();
        let now = self.ui.clock;
        self.ui.work.since = match self.ui.work.since {
            _ if !self.is_awaited() => None,
            None => Some(now),
            since => since,
        };
        // a stage whose end waits to be shown takes no longer
        if self.pace.is_waiting() {
            self.ui.work.stage_since = Some(now);
        }
        let seconds = |elapsed: Option<Duration>| elapsed.map(|elapsed| elapsed.as_secs());
        self.changed |= seconds(before) != seconds(self.elapsed());

        let is_old = |since: Duration| now.saturating_sub(since) >= NOTICE_FOR;
        if self
            .ui
            .notice
            .take_if(|notice| is_old(notice.since))
            .is_some()
        {
            self.changed = true;
        }
    }

    /// Returns the time until the clock changes something on the screen.
    pub(super) fn next_tick(&self) -> Option<Duration> {
        let second = match self.elapsed() {
            Some(elapsed) => Some(SECOND - Duration::from_nanos(elapsed.subsec_nanos().into())),
            // the work has begun since the clock was set
            None => self.is_awaited().then_some(Duration::ZERO),
        };
        let notice = self.ui.notice.as_ref();
        let age = notice.map(|notice| self.ui.clock.saturating_sub(notice.since));
        let goes = age.map(|age| NOTICE_FOR.saturating_sub(age));
        second.into_iter().chain(goes).min()
    }

    /// Returns whether the engine works on what the user asked for. Models and index, which it
    /// prepares by itself, show how far they are instead of their time.
    fn is_awaited(&self) -> bool {
        let overlay = self.overlay.as_ref();
        let is_waiting = overlay.is_some_and(|open| open.view.is_waiting(&self.state));
        self.ui.work.is_running() || is_waiting
    }

    /// Returns whether models are being loaded, or a folder is indexed or linked.
    pub(super) fn is_preparing(&self) -> bool {
        let is_loading = |model: &Model| model.card().is_none();
        let is_live = self.ui.player.is_none();
        is_live && (self.state.indexing.is_some() || self.state.models.values().any(is_loading))
    }

    fn elapsed(&self) -> Option<Duration> {
        let since = self.ui.work.since?;
        Some(self.ui.clock.saturating_sub(since))
    }

    /// Marks all warnings and errors as seen.
    pub(super) fn open_log(&mut self) {
        self.ui.seen_entries = self.state.log.len();
        self.open(crate::tui::overlays::Log);
    }
}
