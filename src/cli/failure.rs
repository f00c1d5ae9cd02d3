//! How a command ends when it does not end well.

use std::io;

use crate::config::ConfigError;
use crate::engine::WorkerError;
use crate::eval::EvalError;
use crate::event::{error_and_advice, harmless};
use crate::llm::LlmError;
use crate::pull::PullError;
use crate::trace::{JournalError, TraceError};

/// Exit status of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    /// By ctrl-c.
    Interrupted,
    /// By the signal with this number.
    Signal(u8),
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
            Self::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

/// Why a command stopped before its end.
#[derive(Debug)]
pub enum Stopped {
    /// Something went wrong: what, and what to do next.
    Failure(Failure),
    /// The user pressed ctrl-c.
    Interrupted,
    /// Nobody reads the output any more.
    OutputClosed,
}

/// What went wrong and what to do next, both safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub error: String,
    pub advice: String,
    pub exit: Exit,
}

impl Failure {
    /// A failure of the work.
    #[must_use]
    pub fn new(error: impl AsRef<str>, advice: impl AsRef<str>) -> Self {
        let safe = |text: &str| harmless(text.trim()).into_owned();
        Self {
            error: safe(error.as_ref()),
            advice: safe(advice.as_ref()),
            exit: Exit::Failed,
        }
    }

    /// A failure of what the user typed.
    #[must_use]
    pub fn usage(error: impl AsRef<str>, advice: impl AsRef<str>) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::new(error, advice)
        }
    }

    /// From a message that reads "what happened: what to do next", as those of this program do.
    #[must_use]
    pub fn from_message(message: &str) -> Self {
        let (error, advice) = error_and_advice(message);
        Self::new(error, advice)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<anyhow::Error> for Stopped {
    fn from(error: anyhow::Error) -> Self {
        Failure::from_message(&format!("{error:#}")).into()
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Failure::new(
                format!("cannot write the output ({error})"),
                "check where it goes",
            )
            .into(),
        }
    }
}

/// Errors whose messages say what to do next.
macro_rules! from_messages {
    ($($error:ty),+) => {
        $(impl From<$error> for Stopped {
            fn from(error: $error) -> Self {
                Failure::from_message(&error.to_string()).into()
            }
        })+
    };
}

from_messages!(LlmError, TraceError, JournalError, EvalError);

impl From<PullError> for Stopped {
    fn from(error: PullError) -> Self {
        match error {
            PullError::Stopped => Self::Interrupted,
            PullError::NoReference { .. } => Failure {
                exit: Exit::Usage,
                ..Failure::from_message(&error.to_string())
            }
            .into(),
            error => Failure::from_message(&error.to_string()).into(),
        }
    }
}

impl From<WorkerError> for Stopped {
    fn from(error: WorkerError) -> Self {
        let (error, advice) = error.told();
        Failure::new(error, advice).into()
    }
}

impl From<ConfigError> for Stopped {
    fn from(error: ConfigError) -> Self {
        of_settings(&error).into()
    }
}

/// Settings have their own list to look into.
pub fn of_settings(error: &ConfigError) -> Failure {
    Failure::new(error.to_string(), "`ragscope config` lists every setting")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_into_error_and_advice() {
        let cases = [
            (
                "no file at a: b: check the path",
                "no file at a: b",
                "check the path",
            ),
            ("stopped", "stopped", ""),
            ("bad \u{1b}[31mname: look", "bad ␛[31mname", "look"),
        ];
        for (message, error, advice) in cases {
            let failure = Failure::from_message(message);
            assert_eq!(
                (failure.error.as_str(), failure.advice.as_str()),
                (error, advice)
            );
        }
    }
}
