//! Ctrl-c: the first one stops cleanly, the second one kills.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        let heard = interrupt.clone();

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let mut pressed = runtime.block_on(async { ctrl_c() })?;

        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                while runtime.block_on(pressed.recv()).is_some() {
                    heard.stop.stop();
                    if heard.seen.swap(true, Ordering::Relaxed) {
                        // A model may be computing: without the destructors of its libraries.
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

#[cfg(unix)]
fn ctrl_c() -> io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn ctrl_c() -> io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}
