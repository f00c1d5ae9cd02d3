//! The errors of a download.

use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::event::{Advice, Problem, StopError};
use crate::net::host;

/// The reason why a model was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// A connection that broke: another attempt may succeed.
    #[error("{0}")]
    Connection(Problem),
    #[error("{0}")]
    Failed(Problem),
    #[error("stopped")]
    Stopped(#[from] StopError),
}

impl From<Problem> for PullError {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl Advice for PullError {
    fn advice(&self) -> Option<&str> {
        match self {
            Self::Connection(problem) | Self::Failed(problem) => problem.advice.as_deref(),
            Self::Stopped(_) => None,
        }
    }
}

impl PullError {
    /// Returns the error of a connection to the host of an address.
    pub(super) fn for_connection(url: &str, reason: impl Display) -> Self {
        Self::Connection(Problem::new(
            format!("the connection to {} failed ({reason})", host(url)),
            "check the network and pull again, it continues from here",
        ))
    }
}

/// Returns the error of writing a file.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> Problem {
    if matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    ) {
        let folder = path.parent().unwrap_or(path).display();
        return Problem::new(
            format!("the disk of {folder} became full"),
            "free some space and pull again, it continues from here",
        );
    }
    Problem::new(
        format!("cannot write {} ({error})", path.display()),
        "give yourself the permission, or choose another folder",
    )
}
