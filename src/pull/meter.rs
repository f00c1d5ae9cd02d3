//! Progress of a pull: bytes, rate and remaining time.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::PullError;
use crate::event::{Flow, PullPhase, PullProgress, PulledModel};

/// Time between two calls of the observer.
const EVERY: Duration = Duration::from_millis(200);
/// Time over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(5);

/// Counts bytes and reports them to the observer of a pull.
pub(super) struct Meter<'a> {
    progress: PullProgress,
    /// Bytes that came over the network, whether they are kept or not.
    received_bytes: u64,
    samples: VecDeque<(Instant, u64)>,
    observe: &'a mut dyn FnMut(&PullProgress) -> Flow,
}

impl<'a> Meter<'a> {
    pub fn new(reference: String, observe: &'a mut dyn FnMut(&PullProgress) -> Flow) -> Self {
        Self {
            progress: PullProgress {
                reference,
                phase: PullPhase::Listing,
                file: String::new(),
                done_bytes: 0,
                total_bytes: 0,
                rate_bytes_per_s: None,
                left_ms: None,
            },
            received_bytes: 0,
            samples: VecDeque::new(),
            observe,
        }
    }

    /// Sets the size of the whole model.
    pub fn expect(&mut self, total_bytes: u64) {
        self.progress.total_bytes = total_bytes;
    }

    /// Begins a phase of a file.
    pub fn begin(&mut self, phase: PullPhase, file: &str) {
        self.progress.phase = phase;
        file.clone_into(&mut self.progress.file);
    }

    /// Counts bytes of the model that are on the disk.
    pub fn add(&mut self, bytes: u64) {
        self.progress.done_bytes += bytes;
    }

    /// Takes back bytes that are not kept.
    pub fn take_back(&mut self, bytes: u64) {
        self.progress.done_bytes = self.progress.done_bytes.saturating_sub(bytes);
    }

    /// Counts bytes that came over the network.
    pub fn receive(&mut self, bytes: u64) {
        self.received_bytes += bytes;
        self.add(bytes);
    }

    /// Calls the observer when it is time to.
    pub fn tick(&mut self) -> Result<(), PullError> {
        let now = Instant::now();
        let is_due = self
            .samples
            .back()
            .is_none_or(|(last, _)| now.duration_since(*last) >= EVERY);
        if is_due {
            self.sample(now);
            self.emit()?;
        }
        Ok(())
    }

    /// Calls the observer a last time, and returns the model whose first file this is.
    pub fn finish(
        mut self,
        name: String,
        file: &Path,
        bytes: u64,
    ) -> Result<PulledModel, PullError> {
        self.emit()?;
        Ok(PulledModel {
            reference: self.progress.reference,
            name,
            file: file.display().to_string(),
            bytes,
            received_bytes: self.received_bytes,
        })
    }

    /// Calls the observer.
    fn emit(&mut self) -> Result<(), PullError> {
        Ok((self.observe)(&self.progress).check()?)
    }

    fn sample(&mut self, now: Instant) {
        self.samples.push_back((now, self.received_bytes));
        while self.samples.len() > 2 && now.duration_since(self.samples[1].0) >= WINDOW {
            self.samples.pop_front();
        }

        let (since, received) = self.samples[0];
        let seconds = now.duration_since(since).as_secs_f64();
        let rate = (self.received_bytes - received) as f64 / seconds.max(EVERY.as_secs_f64());
        let is_measured = self.progress.phase == PullPhase::Downloading && rate > 0.0;
        let left_bytes = self
            .progress
            .total_bytes
            .saturating_sub(self.progress.done_bytes);
        self.progress.rate_bytes_per_s = is_measured.then_some(rate);
        self.progress.left_ms = is_measured.then_some((left_bytes as f64 / rate * 1e3) as u64);
    }
}
