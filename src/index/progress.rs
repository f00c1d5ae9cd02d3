//! What an update tells its observer: not more often than a screen needs, and with the time left.

use std::time::{Duration, Instant};

use crate::event::{Flow, IndexPhase, IndexProgress, SessionEvent};

const EVERY: Duration = Duration::from_millis(125);
/// A rate over less time than this says nothing.
const MEASURED_AFTER: Duration = Duration::from_millis(500);

/// Publishes progress at most eight times a second and remembers whether the observer wants to stop.
pub struct Progress<'a> {
    publish: &'a mut dyn FnMut(SessionEvent) -> Flow,
    last: Option<Instant>,
    stopped: bool,
}

/// Where a phase is. `done` and `total` as in [`IndexProgress`].
pub struct Position<'a> {
    pub phase: IndexPhase,
    pub done: u64,
    pub total: Option<u64>,
    pub file: Option<&'a str>,
    /// Units that took work, and the time they took.
    pub worked: (u64, Duration),
}

impl<'a> Progress<'a> {
    /// Nothing was told yet.
    pub fn new(publish: &'a mut dyn FnMut(SessionEvent) -> Flow) -> Self {
        Self {
            publish,
            last: None,
            stopped: false,
        }
    }

    /// Tell where the work is, when it is time to, and hear whether to go on.
    pub fn step(&mut self, position: &Position<'_>) -> Flow {
        if !self.stopped && self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            self.last = Some(Instant::now());
            self.stopped = (self.publish)(SessionEvent::IndexProgressed {
                progress: position.progress(),
            }) == Flow::Stop;
        }
        if self.stopped {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

impl Position<'_> {
    /// The beginning of a phase.
    pub fn of(phase: IndexPhase) -> Self {
        Self {
            phase,
            done: 0,
            total: None,
            file: None,
            worked: (0, Duration::ZERO),
        }
    }

    fn progress(&self) -> IndexProgress {
        let (units, time) = self.worked;
        let rate = (units > 0 && time >= MEASURED_AFTER).then(|| units as f32 / time.as_secs_f32());
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
    fn it_speaks_at_most_eight_times_a_second_and_keeps_a_stop_in_mind() {
        let mut heard = Vec::new();
        let mut publish = |event: SessionEvent| {
            heard.push(event);
            Flow::Stop
        };
        let mut progress = Progress::new(&mut publish);
        let worked = (50, Duration::from_secs(2));
        let position = Position {
            phase: IndexPhase::Embedding,
            done: 60,
            total: Some(160),
            file: Some("a.md"),
            worked,
        };
        for _ in 0..100 {
            assert_eq!(progress.step(&position), Flow::Stop);
        }
        let [SessionEvent::IndexProgressed { progress }] = heard.as_slice() else {
            panic!("{heard:?}")
        };
        assert_eq!(
            (progress.rate_per_s, progress.left_ms),
            (Some(25.0), Some(4000))
        );
    }
}
