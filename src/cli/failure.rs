//! Failures of commands, with advice and exit status.

use std::io;

use crate::event::{Advice, Problem, harmless};

/// Exit status of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    /// Interrupted by ctrl-c.
    Interrupted,
    /// Ended by the signal with this number.
    Signal(u8),
}

impl Exit {
    /// Returns the number that the shell sees.
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

/// The reason that a command stopped early.
#[derive(Debug)]
pub enum Stopped {
    /// The work failed.
    Failure(Failure),
    /// The user pressed ctrl-c.
    Interrupted,
    /// The reader of the output closed it.
    OutputClosed,
}

impl Stopped {
    /// Stops with a failure of the work.
    pub fn failure(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Failure::new(error, advice).into()
    }

    /// Stops with a failure of the command line.
    pub fn usage(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Failure::usage(error, advice).into()
    }
}

/// A problem, safe to show, and how the process ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub problem: Problem,
    pub exit: Exit,
}

impl Failure {
    /// Creates a failure of the work.
    pub fn new(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Problem::new(error, advice).into()
    }

    /// Creates a failure of the command line.
    pub fn usage(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(error, advice).into_usage()
    }

    /// Returns the same failure as one of what the user typed.
    pub fn into_usage(self) -> Self {
        Self {
            exit: Exit::Usage,
            ..self
        }
    }
}

impl<P: Into<Problem>> From<P> for Failure {
    fn from(problem: P) -> Self {
        Self {
            problem: problem
                .into()
                .map(|text| harmless(text.trim()).into_owned()),
            exit: Exit::Failed,
        }
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Failure::new(
                format!("cannot write the output ({error})"),
                "check the pipe or the disk that it goes to",
            )
            .into(),
        }
    }
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Self {
        Self::Failure(problem.into())
    }
}

impl<E: Advice> From<E> for Stopped {
    fn from(error: E) -> Self {
        error.to_problem().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_made_harmless() {
        let failure = Failure::new("bad \u{1b}[31mname\n", "look at \u{7f}");
        assert_eq!(failure.problem, Problem::new("bad ␛[31mname", "look at ␡"));
    }
}
