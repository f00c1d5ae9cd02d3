//! Ctrl-c: the first one stops cleanly, the second one kills.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use crate::event::{Flow, StopFlag};

use super::failure::Exit;

/// Whether the user asked to stop, for a command without a screen.
#[derive(Clone)]
pub struct Interrupt {
    seen: Arc<AtomicBool>,
    stop: StopFlag,
}

impl Interrupt {
    /// Listen for ctrl-c from now on.
    ///
    /// # Errors
    /// When the system refuses the handler.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self {
            seen: Arc::default(),
            stop: StopFlag::default(),
        };
        let mut signals = Signals::new([SIGINT])?;
        let heard = interrupt.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _ in signals.forever() {
                    heard.stop.stop();
                    if heard.seen.swap(true, Ordering::Relaxed) {
                        signal_hook::low_level::exit(i32::from(Exit::Interrupted.code()));
                    }
                }
            })?;
        Ok(interrupt)
    }

    /// Has ctrl-c been pressed?
    #[must_use]
    pub fn seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// As an observer's answer.
    pub fn flow(&self) -> Flow {
        if self.seen() {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }

    /// The flag that reaches into a model call.
    #[must_use]
    pub fn stop_flag(&self) -> StopFlag {
        self.stop.clone()
    }
}
