//! The error of a question, a run and a command.

use crate::config::ConfigError;
use crate::event::{Advice, Problem, WorkError};
use crate::index::IndexError;
use crate::llm::LlmError;

/// The error of a question, which could not be asked or whose run ended early, or of another
/// operation of the worker.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Work(#[from] WorkError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Model(#[from] LlmError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl RunError {
    /// Creates the error of a failure that the user can do something about.
    pub fn new(error: impl Into<String>, advice: impl Into<String>) -> Self {
        WorkError::new(error, advice).into()
    }

    /// Returns the error of an operation on a corpus while none is open.
    pub fn no_corpus() -> Self {
        Self::new("no corpus is open", "name a folder")
    }
}

impl From<Problem> for RunError {
    fn from(problem: Problem) -> Self {
        Self::Work(problem.into())
    }
}

impl Advice for RunError {
    fn advice(&self) -> Option<&str> {
        match self {
            Self::Work(error) => error.advice(),
            Self::Config(error) => error.advice(),
            Self::Model(error) => error.advice(),
            Self::Index(error) => error.advice(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{StopError, is_stop};

    #[test]
    fn a_stop_is_found_in_the_error_that_it_caused() {
        let stops: [RunError; 4] = [
            LlmError::from(StopError).into(),
            WorkError::from(StopError).into(),
            IndexError::from(LlmError::from(StopError)).into(),
            IndexError::from(WorkError::from(StopError)).into(),
        ];
        for error in &stops {
            assert!(is_stop(error), "{error:?}");
            assert_eq!(error.to_problem(), Problem::without_advice("stopped"));
        }

        let others: [RunError; 2] = [
            RunError::no_corpus(),
            IndexError::from(WorkError::new("there is no folder", "check the path")).into(),
        ];
        for error in &others {
            assert!(!is_stop(error), "{error:?}");
        }
    }
}
