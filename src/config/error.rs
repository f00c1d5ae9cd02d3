//! The error of a setting.

use std::fmt::Display;

use crate::event::{Advice, Problem};

/// A fault in the settings. Every message names the source.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A name that is not known.
    #[error("{0}")]
    Unknown(Problem),
    /// A source that cannot be read, or that holds what its settings do not take.
    #[error("{0}")]
    Unusable(Problem),
}

impl ConfigError {
    /// Returns the error of a source that cannot be read.
    pub(super) fn unreadable(origin: &str, reason: impl Display) -> Self {
        Self::Unusable(Problem::new(
            format!("{origin}: {reason}"),
            "correct the file; `ragscope config` lists every setting",
        ))
    }
}

impl Advice for ConfigError {
    fn advice(&self) -> Option<&str> {
        let (Self::Unknown(problem) | Self::Unusable(problem)) = self;
        problem.advice.as_deref()
    }
}
