//! Runs that try a change of settings: they are neither recorded nor in the thread.

use crate::config::{SETTINGS, Setting};
use crate::event::{Ask, Command, Operation, Outcome, SessionEvent};
use crate::story::{Run, Settings};

/// The end of a series of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Finished,
    Stopped,
    Failed,
}

impl End {
    /// Returns the end that an event means for what waits for one of these operations.
    pub fn from_event(event: &SessionEvent, operations: &[Operation]) -> Option<Self> {
        let is_own = |operation: &Operation| {
            *operation == Operation::Engine || operations.contains(operation)
        };
        match event {
            SessionEvent::OperationStopped { operation } if is_own(operation) => {
                Some(Self::Stopped)
            }
            SessionEvent::OperationFailed { operation, .. } if is_own(operation) => {
                Some(Self::Failed)
            }
            _ => None,
        }
    }
}

/// A run that tries a change, while it is written.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    pub run: Run,
}

impl Trial {
    /// Returns the command that asks the question of a run with these settings on top of its own.
    pub fn command(run: &Run, settings: &Settings) -> Command {
        let of_run = |setting: &&Setting| setting.key != "preset" && setting.read_later().is_none();
        let own = SETTINGS.iter().filter(of_run);
        let own = own.map(|setting| (setting.key.to_owned(), setting.text(&run.settings)));

        // a preset sets others, so it comes first
        let mut overrides = vec![("preset".to_owned(), run.preset.clone())];
        overrides.extend(own);
        overrides.extend(settings.iter().cloned());
        Command::Try(Ask {
            overrides,
            ..Ask::new(run.standalone())
        })
    }

    /// Takes in an event, and returns the run once it is over.
    pub fn receive(&mut self, event: &SessionEvent) -> Option<Run> {
        let SessionEvent::TrialProgressed { event } = event else {
            return None;
        };
        self.run.apply(event, 0);
        self.run
            .outcome
            .is_some()
            .then(|| std::mem::take(&mut self.run))
    }
}

/// Returns whether the user stopped a run.
pub fn is_stopped(run: &Run) -> bool {
    run.outcome == Some(Outcome::Stopped)
}
