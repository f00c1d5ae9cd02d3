//! Reasons why a request is not answered.

use std::time::Duration;

use crate::event::{Advice, Problem};

/// A request that was not answered, in a kind that a protocol has a code for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub problem: Problem,
}

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request says what cannot be done.
    Invalid,
    /// The request names something that does not exist.
    Missing,
    /// The server cannot answer now.
    Unavailable { retry_after: Duration },
    /// The engine did not begin, because of what was asked.
    Refused,
    /// The client no longer waits.
    Cancelled,
    /// Something failed on the way.
    Failed,
}

impl Refusal {
    pub fn new(kind: RefusalKind, problem: Problem) -> Self {
        Self { kind, problem }
    }

    pub fn invalid(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, Problem::new(error, advice))
    }

    pub fn missing(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(RefusalKind::Missing, Problem::new(error, advice))
    }

    /// The client no longer waits for the answer.
    pub fn for_cancellation() -> Self {
        let problem = Problem::without_advice("the request was cancelled");
        Self::new(RefusalKind::Cancelled, problem)
    }

    /// The engine thread is gone.
    pub fn for_end() -> Self {
        let problem = Problem::new("the engine has ended", "restart the server");
        Self::new(RefusalKind::Failed, problem)
    }
}

/// Settings and arguments that do not fit, as the checks before a request find them.
pub fn invalid(problem: impl Into<Problem>) -> Refusal {
    Refusal::new(RefusalKind::Invalid, problem.into())
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::new(RefusalKind::Failed, problem)
    }
}

impl<E: Advice> From<E> for Refusal {
    fn from(error: E) -> Self {
        error.to_problem().into()
    }
}
