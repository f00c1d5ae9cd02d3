//! Runs that try a change of settings: they are neither recorded nor in the thread.

use crate::config::{SETTINGS, Setting, SettingReader};
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

/// Returns the command that asks the question of a run with these settings on top of its own.
pub fn command(run: &Run, settings: &Settings) -> Command {
    // a preset sets others, so it comes first
    let mut overrides = vec![("preset".to_owned(), run.preset.clone())];
    overrides.extend(settings_of(run, |setting| {
        setting.key != "preset" && setting.read_later().is_none()
    }));
    overrides.extend(settings.iter().cloned());
    Command::Try(Ask {
        overrides,
        ..Ask::new(run.standalone())
    })
}

/// Returns the command that finds the chunks with a phrase, with their ranks for these queries by
/// the settings of a run.
pub fn trace_command(run: &Run, phrase: &str, queries: Vec<(u32, String)>) -> Command {
    Command::TracePassage {
        phrase: phrase.to_owned(),
        queries,
        overrides: settings_of(run, |setting| setting.is_read_by(SettingReader::Ranking)),
    }
}

fn settings_of(run: &Run, is_wanted: impl Fn(&Setting) -> bool) -> Settings {
    let wanted = SETTINGS.iter().filter(|setting| is_wanted(setting));
    wanted
        .map(|setting| (setting.key.to_owned(), setting.text(&run.settings)))
        .collect()
}

/// Takes an event into a run that tries a change, and returns the run once it is over.
pub fn receive(trial: &mut Run, event: &SessionEvent) -> Option<Run> {
    let SessionEvent::TrialProgressed { event } = event else {
        return None;
    };
    trial.apply(event, 0);
    trial.outcome.is_some().then(|| std::mem::take(trial))
}

/// Returns whether the user stopped a run.
pub fn is_stopped(run: &Run) -> bool {
    run.outcome == Some(Outcome::Stopped)
}
