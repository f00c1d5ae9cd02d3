//! The loop of the screen: wait for anything, take in all there is, draw once.
//!
//! What records change is drawn at most `screen.frames_per_second` times a second. A key is answered at once: it does not wait for
//! the frame timer. Nothing is drawn when nothing changed.

use std::time::{Duration, Instant};

use anyhow::Context;
use crossterm::event::Event as Input;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep_until;

use crate::event::Record;

use super::app::{App, Effect};

/// Keys held down repeat faster than a person reads: answers to keys keep this distance.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Records taken in before the keys are looked at again.
const RECORDS_AT_ONCE: usize = 4_096;

/// What comes in.
pub struct Inputs {
    /// Keys, mouse, paste, resize.
    pub terminal: UnboundedReceiver<Input>,
    pub records: UnboundedReceiver<Record>,
}

/// Runs the screen until it is left. `perform` does what must happen outside the screen and answers false to leave.
///
/// # Errors
/// When the terminal can no longer be drawn on.
pub async fn drive<B>(
    terminal: &mut Terminal<B>,
    app: &mut App,
    mut inputs: Inputs,
    perform: &mut dyn FnMut(Effect, &mut App) -> bool,
) -> anyhow::Result<()>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
{
    let frame = Duration::from_secs(1) / app.frames_per_second();
    let mut pace = Pace::new(frame);
    let (mut engine_gone, mut played_until) = (false, Instant::now());
    loop {
        if app.take_changed() {
            pace.dirty = true;
        }
        if pace.due() {
            draw(terminal, app)?;
            pace.drawn();
        }
        let wake = pace
            .wake()
            .into_iter()
            .chain(app.next_due().map(|due| played_until + due))
            .min();
        let (mut input, mut record) = (None, None);
        tokio::select! {
            biased;
            came = inputs.terminal.recv() => match came {
                None => return Ok(()),
                came => input = came,
            },
            came = inputs.records.recv(), if !engine_gone => match came {
                None => {
                    engine_gone = true;
                    app.refuse("the engine has ended: leave and start again");
                }
                came => record = came,
            },
            () = at(wake) => {}
        }
        // before the keys: time that passed while a replay was paused is not played
        let now = Instant::now();
        app.advance(now - std::mem::replace(&mut played_until, now));
        for input in input
            .into_iter()
            .chain(std::iter::from_fn(|| inputs.terminal.try_recv().ok()))
        {
            app.handle(&input);
            pace.urgent = true;
        }
        let waiting = std::iter::from_fn(|| inputs.records.try_recv().ok());
        for record in record.into_iter().chain(waiting).take(RECORDS_AT_ONCE) {
            app.apply(&record);
        }
        for effect in app.take_effects() {
            if !perform(effect, app) {
                return Ok(());
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

fn draw<B>(terminal: &mut Terminal<B>, app: &mut App) -> anyhow::Result<()>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
{
    terminal
        .autoresize()
        .context("cannot ask the terminal for its size")?;
    let size = terminal.get_frame().area();
    app.resize(size.width, size.height);
    app.take_changed();
    app.prepare();
    terminal
        .draw(|frame| app.draw(frame.buffer_mut()))
        .context("cannot draw on the terminal")?;
    Ok(())
}

/// When to draw next.
struct Pace {
    frame: Duration,
    last: Option<Instant>,
    dirty: bool,
    /// A person waits for this frame.
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

    /// When the frame that is wanted may be drawn; None when none is wanted.
    fn wake(&self) -> Option<Instant> {
        let distance = if self.urgent {
            KEY_FRAME.min(self.frame)
        } else {
            self.frame
        };
        self.dirty
            .then(|| self.last.map_or_else(Instant::now, |last| last + distance))
    }

    fn due(&self) -> bool {
        self.wake().is_some_and(|wake| wake <= Instant::now())
    }

    fn drawn(&mut self) {
        *self = Self {
            frame: self.frame,
            last: Some(Instant::now()),
            dirty: false,
            urgent: false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_wait_for_the_frame_and_keys_do_not() {
        let mut pace = Pace::new(Duration::from_secs(60));
        assert!(pace.due(), "the first frame comes at once");
        pace.drawn();
        assert!(
            pace.wake().is_none(),
            "nothing is drawn when nothing changed"
        );
        pace.dirty = true;
        assert!(!pace.due());
        pace.urgent = true;
        let wait = pace
            .wake()
            .map(|wake| wake.saturating_duration_since(Instant::now()));
        assert!(wait.is_some_and(|wait| wait <= KEY_FRAME));
    }
}
