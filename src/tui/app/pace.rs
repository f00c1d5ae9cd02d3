//! The pace of a run of the demo: an audience sees each stage, and any key ends the waiting.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::Record;

/// The time for which a stage is in sight before the next one begins.
const STAGE_FOR: Duration = Duration::from_millis(500);

/// The records of a run that wait for their time.
#[derive(Default)]
pub(super) struct Pace {
    waiting: VecDeque<Record>,
    /// The time of the screen from which on the next record is due.
    until: Duration,
}

impl Pace {
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn push(&mut self, record: &Record) {
        self.waiting.push_back(record.clone());
    }

    /// Returns the next record that is due.
    pub(super) fn next(&mut self, now: Duration) -> Option<Record> {
        let is_due = now >= self.until;
        is_due.then(|| self.waiting.pop_front()).flatten()
    }

    /// Keeps the stage that has begun in sight.
    pub(super) fn show_stage(&mut self, now: Duration) {
        self.until = now + STAGE_FOR;
    }

    /// Returns all records that wait: from now on they are due at once.
    pub(super) fn take_all(&mut self) -> VecDeque<Record> {
        self.until = Duration::ZERO;
        std::mem::take(&mut self.waiting)
    }

    /// Returns the time until the next record is due; `None` where none waits.
    pub(super) fn next_due(&self, now: Duration) -> Option<Duration> {
        self.is_waiting().then(|| self.until.saturating_sub(now))
    }
}
