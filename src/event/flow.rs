use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answer of whoever observes a long operation: go on, or stop cleanly within one decode step or batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop as soon as possible and return what there is.
    Stop,
}

/// A stop request that crosses threads: set by the screen or a signal, read by the engine and by llama.cpp's abort callback.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Ask whatever runs now to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Forget an earlier request, before new work begins.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Has a stop been asked for?
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag as an observer's answer.
    pub fn flow(&self) -> Flow {
        if self.is_set() { Flow::Stop } else { Flow::Continue }
    }
}
