//! The error of a question file.

use std::borrow::Cow;
use std::path::Path;

use crate::event::Advice;

/// An error before an evaluation begins.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error("{file} is not a question file ({reason})")]
    Questions { file: String, reason: String },
    #[error("the question file {file} cannot be read ({reason})")]
    Unreadable { file: String, reason: String },
}

impl EvalError {
    /// Returns the error of a file that does not hold questions.
    pub(super) fn for_questions(file: &Path, reason: impl Into<String>) -> Self {
        Self::Questions {
            file: file.display().to_string(),
            reason: reason.into(),
        }
    }
}

impl Advice for EvalError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Questions { .. } => {
                "give JSON lines with `question` and `answers`, or a dataset that `ragscope eval --help` lists"
            }
            Self::Unreadable { .. } => "check the path",
        };
        Some(advice.into())
    }
}
