//! Reports the progress of an update: not more often than a screen needs, and with the time left.

use std::time::{Duration, Instant};

use crate::event::{Flow, IndexPhase, IndexProgress, SessionEvent};

/// Minimum time between two reports.
const INTERVAL: Duration = Duration::from_millis(125);
/// Minimum time that a rate is measured over.
const MIN_MEASURED: Duration = Duration::from_millis(500);

/// Publishes progress at most eight times a second and remembers whether the observer stopped.
pub struct Progress<'a> {
    publish: &'a mut dyn FnMut(SessionEvent) -> Flow,
    last: Option<Instant>,
    /// Whether the observer stopped.
    pub is_stopped: bool,
}

/// The progress of a phase. `done` and `total` as in [`IndexProgress`].
pub struct Position<'a> {
    pub phase: IndexPhase,
    pub done: u64,
    pub total: Option<u64>,
    pub file: Option<&'a str>,
    /// Units that took time, and the time that they took: what the rate is computed from.
    pub units: u64,
    pub time: Duration,
}

impl<'a> Progress<'a> {
    /// Creates the progress of an update that begins.
    pub fn new(publish: &'a mut dyn FnMut(SessionEvent) -> Flow) -> Self {
        Self {
            publish,
            last: None,
            is_stopped: false,
        }
    }

    /// Publishes the position if the last one was published long enough ago. Returns whether to
    /// continue.
    pub fn step(&mut self, position: &Position<'_>) -> Flow {
        if !self.is_stopped && self.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            self.last = Some(Instant::now());
            self.is_stopped = (self.publish)(SessionEvent::IndexProgressed {
                progress: position.progress(),
            }) == Flow::Stop;
        }
        if self.is_stopped {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

impl Position<'_> {
    /// Returns the beginning of a phase.
    pub fn new(phase: IndexPhase) -> Self {
        Self {
            phase,
            done: 0,
            total: None,
            file: None,
            units: 0,
            time: Duration::ZERO,
        }
    }

    fn progress(&self) -> IndexProgress {
        let is_measured = self.units > 0 && self.time >= MIN_MEASURED;
        let rate = is_measured.then(|| self.units as f32 / self.time.as_secs_f32());
        let left = self.total.map(|total| total.saturating_sub(self.done));

        IndexProgress {
            phase: self.phase,
            done: self.done,
            total: self.total,
            file: self.file.map(str::to_owned),
            rate_per_s: rate,
            left_ms: rate
                .zip(left)
                .map(|(rate, left)| (left as f32 / rate * 1000.0) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_published_at_most_eight_times_a_second_and_a_stop_is_remembered() {
        let mut published = Vec::new();
        let mut publish = |event: SessionEvent| {
            published.push(event);
            Flow::Stop
        };
        let mut progress = Progress::new(&mut publish);
        let position = Position {
            phase: IndexPhase::Embedding,
            done: 60,
            total: Some(160),
            file: Some("a.md"),
            units: 50,
            time: Duration::from_secs(2),
        };
        for _ in 0..100 {
            assert_eq!(progress.step(&position), Flow::Stop);
        }
        let [SessionEvent::IndexProgressed { progress }] = published.as_slice() else {
            panic!("{published:?}")
        };
        assert_eq!(
            (progress.rate_per_s, progress.left_ms),
            (Some(25.0), Some(4000))
        );
    }
}
