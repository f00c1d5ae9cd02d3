//! Failures as data: what happened, and what to do next.

use serde::{Deserialize, Serialize};

use super::flow::StopError;

/// A failure, with advice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{error}")]
pub struct Problem {
    /// A sentence about the failure.
    pub error: String,
    /// Advice; `None` where nothing helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Problem {
    /// A problem that the user can do something about.
    pub fn new(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            advice: Some(advice.into()),
        }
    }

    /// A problem about which nothing can be done.
    pub fn without_advice(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            advice: None,
        }
    }

    /// Returns the problem with both of its texts mapped, to make them safe to show.
    pub fn map(&self, text: impl Fn(&str) -> String) -> Self {
        Self {
            error: text(&self.error),
            advice: self.advice.as_deref().map(text),
        }
    }

    /// Returns both texts in one line, for places that have no second one.
    pub fn line(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}: {advice}", self.error),
            None => self.error.clone(),
        }
    }
}

/// An error that knows what to do about it. Its `Display` says what happened, and nothing else.
pub trait Advice: std::error::Error {
    /// Returns what to do next; `None` where nothing helps.
    fn advice(&self) -> Option<&str>;

    /// Returns the error as data.
    fn to_problem(&self) -> Problem {
        Problem {
            error: self.to_string(),
            advice: self.advice().map(str::to_owned),
        }
    }
}

impl<E: Advice> From<E> for Problem {
    fn from(error: E) -> Self {
        error.to_problem()
    }
}

/// The error of work that failed or was stopped.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("{0}")]
    Failed(Problem),
    #[error("stopped")]
    Stopped(#[from] StopError),
}

impl WorkError {
    /// Creates the error of work that failed for a reason that the user can do something about.
    pub fn new(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Problem::new(error, advice).into()
    }
}

impl From<Problem> for WorkError {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl Advice for WorkError {
    fn advice(&self) -> Option<&str> {
        match self {
            Self::Failed(problem) => problem.advice.as_deref(),
            Self::Stopped(_) => None,
        }
    }
}
