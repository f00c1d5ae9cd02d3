//! The loop of the screen: wait for an event, handle all pending ones, draw once.
//!
//! Records are drawn at most 30 times per second. A key is handled at once: it does not wait for
//! the frame timer. Nothing is drawn when nothing changed.

use std::time::{Duration, Instant};

use crossterm::event::Event as Input;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep_until;

use crate::event::{Problem, Record};

use super::app::{App, Effect};

/// Minimum time between frames of records: 30 per second.
const FRAME: Duration = Duration::from_millis(33);
/// Minimum time between frames after keys: a key held down repeats faster than anyone reads.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Maximum number of records handled before keys are handled again.
const MAX_RECORDS: usize = 4_096;

/// Everything that the screen receives.
pub struct Inputs {
    /// Keys, mouse, paste, resize.
    pub terminal: UnboundedReceiver<Input>,
    pub records: UnboundedReceiver<Record>,
}

/// The next step after an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Continue,
    /// Something else wrote on the terminal: all of it is drawn.
    Redraw,
    Quit,
}

/// Runs the screen until the user quits or the terminal's events end. `perform` carries out an
/// effect.
///
/// # Errors
/// When the terminal can no longer be drawn on.
pub async fn drive<B>(
    terminal: &mut Terminal<B>,
    app: &mut App,
    mut inputs: Inputs,
    perform: &mut dyn FnMut(Effect, &mut App) -> After,
) -> Result<(), Problem>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
{
    let mut pace = Pace::new(FRAME);
    let mut engine_ended = false;
    let mut played_until = Instant::now();

    loop {
        if app.take_changed() {
            pace.dirty = true;
        }
        if pace.is_due() {
            draw(terminal, app)?;
            pace.start_frame();
        }

        let due = app.next_due().map(|due| played_until + due);
        let wake = pace.wake().into_iter().chain(due).min();
        let mut input = None;
        let mut record = None;
        tokio::select! {
            biased;
            came = inputs.terminal.recv() => match came {
                None => return Ok(()),
                came => input = came,
            },
            came = inputs.records.recv(), if !engine_ended => match came {
                None => {
                    engine_ended = true;
                    app.refuse("the engine has ended: quit and start again");
                }
                came => record = came,
            },
            () = at(wake) => {}
        }

        // before the keys: time that passed while a replay was paused is not played
        let now = Instant::now();
        app.advance(now - std::mem::replace(&mut played_until, now));
        let waiting = std::iter::from_fn(|| inputs.terminal.try_recv().ok());
        for input in input.into_iter().chain(waiting) {
            app.handle(&input);
            pace.urgent = true;
        }
        let waiting = std::iter::from_fn(|| inputs.records.try_recv().ok());
        for record in record.into_iter().chain(waiting).take(MAX_RECORDS) {
            app.apply(&record);
        }

        for effect in app.take_effects() {
            match perform(effect, app) {
                After::Continue => {}
                After::Redraw => {
                    // `Terminal::clear` would ask for the position of the cursor, and the answer is
                    // read as keys
                    let cleared = terminal.backend_mut().clear();
                    cleared.map_err(|error| cannot_draw(&error))?;
                    // nothing is left of the last frame
                    terminal.swap_buffers();
                    pace.dirty = true;
                }
                After::Quit => return Ok(()),
            }
        }
    }
}

async fn at(wake: Option<Instant>) {
    match wake {
        Some(wake) => sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

/// The problem of a screen that lacks something.
pub fn unusable(what: &str, error: &dyn std::error::Error) -> Problem {
    Problem::new(
        format!("{what} ({error})"),
        "use `ragscope ask`, which needs no terminal",
    )
}

fn draw<B>(terminal: &mut Terminal<B>, app: &mut App) -> Result<(), Problem>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
{
    terminal
        .autoresize()
        .map_err(|error| unusable("cannot ask the terminal for its size", &error))?;
    let size = terminal.get_frame().area();

    app.resize(size.width, size.height);
    app.take_changed();
    app.prepare();

    terminal
        .draw(|frame| app.draw(frame.buffer_mut()))
        .map_err(|error| cannot_draw(&error))?;

    Ok(())
}

fn cannot_draw(error: &dyn std::error::Error) -> Problem {
    unusable("cannot draw on the terminal", error)
}

/// The time of the next frame.
struct Pace {
    frame: Duration,
    last: Option<Instant>,
    dirty: bool,
    /// True when the user waits for this frame.
    urgent: bool,
}

impl Pace {
    fn new(frame: Duration) -> Self {
        Self {
            frame,
            last: None,
            dirty: true,
            urgent: false,
        }
    }

    /// The time from which the next frame may be drawn; `None` when nothing changed.
    fn wake(&self) -> Option<Instant> {
        let distance = if self.urgent {
            KEY_FRAME.min(self.frame)
        } else {
            self.frame
        };
        let next = || self.last.map_or_else(Instant::now, |last| last + distance);
        self.dirty.then(next)
    }

    fn is_due(&self) -> bool {
        self.wake().is_some_and(|wake| wake <= Instant::now())
    }

    fn start_frame(&mut self) {
        self.last = Some(Instant::now());
        self.dirty = false;
        self.urgent = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_wait_for_the_frame_and_keys_do_not() {
        let mut pace = Pace::new(Duration::from_secs(60));
        assert!(pace.is_due(), "the first frame comes at once");
        pace.start_frame();
        assert!(
            pace.wake().is_none(),
            "nothing is drawn when nothing changed"
        );
        pace.dirty = true;
        assert!(!pace.is_due());
        pace.urgent = true;

        let wait = pace
            .wake()
            .map(|wake| wake.saturating_duration_since(Instant::now()));
        assert!(wait.is_some_and(|wait| wait <= KEY_FRAME));
    }
}
