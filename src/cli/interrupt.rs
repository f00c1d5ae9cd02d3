//! Ctrl-c: the first one stops cleanly, the second one kills.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::event::{Flow, StopFlag};

use super::failure::Exit;

/// Maximum time until ctrl-c reaches a model call.
const LATENCY: Duration = Duration::from_millis(20);

/// The ctrl-c handler of a command without a screen.
#[derive(Clone)]
pub struct Interrupt {
    seen: Arc<AtomicBool>,
    /// Whether the first press kills, too: nothing runs that could stop.
    leaves: Arc<AtomicBool>,
    stop: StopFlag,
}

impl Interrupt {
    /// Starts to listen for ctrl-c.
    ///
    /// # Errors
    /// When the system rejects the handler.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self {
            seen: Arc::default(),
            leaves: Arc::default(),
            stop: StopFlag::default(),
        };
        // the second press kills: whether there was a first one is checked before this one is noted
        let code = i32::from(Exit::Interrupted.code());
        flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&interrupt.seen))?;
        flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&interrupt.leaves))?;
        flag::register(SIGINT, Arc::clone(&interrupt.seen))?;

        let heard = interrupt.clone();
        std::thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                loop {
                    std::thread::sleep(LATENCY);
                    if heard.is_seen() {
                        heard.stop.stop();
                    }
                }
            })?;
        Ok(interrupt)
    }

    /// Sets whether ctrl-c leaves the program at once, as at a prompt.
    pub fn leave_at_once(&self, leaves: bool) {
        self.leaves.store(leaves, Ordering::Relaxed);
    }

    /// Begins another piece of work: what stopped the one before does not stop this one.
    pub fn begin(&self) {
        self.seen.store(false, Ordering::Relaxed);
        self.stop.mark_sent();
        self.stop.mark_taken();
    }

    /// Returns whether ctrl-c was pressed.
    pub fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// Returns the state as an observer's answer.
    pub fn flow(&self) -> Flow {
        Flow::stop_if(self.is_seen())
    }

    /// Returns the flag that stops a model call.
    pub fn stop_flag(&self) -> StopFlag {
        self.stop.clone()
    }
}
