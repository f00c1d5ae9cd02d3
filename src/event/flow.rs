use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

/// The reply of an observer to a long operation: continue, or stop cleanly within one decode step
/// or batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// Continue.
    Continue,
    /// Stop as soon as possible and return what there is.
    Stop,
}

impl Flow {
    /// Returns a stop on a condition.
    pub fn stop_if(is_stopped: bool) -> Self {
        if is_stopped {
            Self::Stop
        } else {
            Self::Continue
        }
    }

    /// Returns an error for a stop, to end work that returns nothing then.
    pub fn check(self) -> Result<(), StopError> {
        match self {
            Self::Continue => Ok(()),
            Self::Stop => Err(StopError),
        }
    }
}

/// The error of work that was stopped. The errors of the modules hold it, and [`is_stop`] finds it
/// in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("stopped")]
pub struct StopError;

/// Returns whether an error is that of a stop, or was caused by one.
pub fn is_stop(error: &(dyn Error + 'static)) -> bool {
    error.is::<StopError>() || error.source().is_some_and(is_stop)
}

/// Locks a value that threads share. One that a thread held when it panicked is used as it was
/// left.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stop request that crosses threads: set by the screen or a signal, read by the engine and by
/// llama.cpp's abort callback.
///
/// It stops everything that was requested before it and nothing that is requested after it:
/// commands are counted when they are sent and when they are started, so "stop this and answer
/// that" works however fast it is typed.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    taken: AtomicU64,
    /// One more than the number of the last command to stop; 0 for none.
    stopped_through: AtomicU64,
    relay: OnceLock<Relay>,
}

/// Passes a stop on to another process.
struct Relay(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Relay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Relay")
    }
}

impl StopFlag {
    /// Requests that what runs now, and what waits, stops.
    pub fn stop(&self) {
        let through = self.0.sent.load(Ordering::SeqCst) + 1;
        self.0.stopped_through.fetch_max(through, Ordering::SeqCst);
        if let Some(Relay(relay)) = self.0.relay.get() {
            relay();
        }
    }

    /// Calls `relay` at every stop from now on: what is to stop runs in another process, with a
    /// flag of its own. A flag has one relay; a second one is ignored.
    pub fn relay(&self, relay: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.relay.set(Relay(Box::new(relay)));
    }

    /// Counts a command that was sent.
    pub fn mark_sent(&self) {
        self.0.sent.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a command that starts: stop requests from before it was sent are over.
    pub fn mark_taken(&self) {
        self.0.taken.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a stop together with what it stopped: background work may continue.
    pub fn mark_settled(&self) {
        let taken = self.0.taken.load(Ordering::SeqCst);
        let _ = self.0.stopped_through.compare_exchange(
            taken + 1,
            taken,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
    }

    /// Returns whether what runs now should stop.
    pub fn is_set(&self) -> bool {
        self.0.stopped_through.load(Ordering::SeqCst) > self.0.taken.load(Ordering::SeqCst)
    }

    /// Returns the flag as an observer's reply.
    pub fn flow(&self) -> Flow {
        Flow::stop_if(self.is_set())
    }
}

#[cfg(test)]
mod tests {
    use super::StopFlag;

    #[test]
    fn a_stop_reaches_what_was_requested_before_it_and_nothing_after() {
        let stop = StopFlag::default();
        assert!(!stop.is_set());
        stop.mark_sent();
        stop.stop();
        stop.mark_taken();
        assert!(stop.is_set(), "stopped while it waited");
        stop.mark_sent();
        assert!(stop.is_set(), "what runs now still stops");
        stop.mark_taken();
        assert!(
            !stop.is_set(),
            "the next command was requested after the stop"
        );
    }

    #[test]
    fn a_stop_is_over_with_what_it_stopped() {
        let stop = StopFlag::default();
        stop.mark_sent();
        stop.mark_taken();
        stop.mark_sent();
        stop.stop();
        stop.mark_settled();
        stop.mark_taken();
        assert!(stop.is_set(), "the one that waited is stopped too");
        stop.mark_settled();
        assert!(!stop.is_set(), "background work continues");
    }

    #[test]
    fn without_commands_a_stop_stops() {
        let stop = StopFlag::default();
        stop.stop();
        assert!(stop.is_set());
    }
}
