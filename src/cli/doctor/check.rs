//! The result of one check.

use serde::Serialize;

use crate::event::Problem;

/// The result of one check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub what: String,
    pub state: CheckState,
    pub found: String,
    /// The way to fix it; `None` when there is no problem.
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CheckState {
    Good,
    /// Works, but less well than it could.
    Poor,
    /// A failure.
    Wrong,
}

impl Check {
    pub fn good(what: &str, found: impl Into<String>) -> Self {
        Self::new(what, CheckState::Good, Problem::without_advice(found))
    }

    pub fn poor(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self::new(what, CheckState::Poor, Problem::new(found, advice))
    }

    pub fn wrong(what: &str, problem: impl Into<Problem>) -> Self {
        Self::new(what, CheckState::Wrong, problem.into())
    }

    pub fn new(what: &str, state: CheckState, problem: Problem) -> Self {
        Self {
            what: what.to_owned(),
            state,
            found: problem.error,
            advice: problem.advice,
        }
    }
}
