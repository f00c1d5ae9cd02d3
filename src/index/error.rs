//! The errors of an index.

use std::fmt::Display;
use std::path::Path;

use crate::event::{Advice, Problem, WorkError};
use crate::llm::LlmError;

/// An error of an index. Every message names the file or the folder.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process holds the writer lock.
    #[error("another ragscope has the index of {folder} open")]
    InUse { folder: String },
    /// A file of the index cannot be written.
    #[error(transparent)]
    Unwritable(Problem),
    #[error(transparent)]
    Work(#[from] WorkError),
    #[error(transparent)]
    Embedder(#[from] LlmError),
}

impl IndexError {
    /// Creates the error of a failure that the user can do something about.
    pub(super) fn new(error: impl Into<String>, advice: impl Into<String>) -> Self {
        WorkError::new(error, advice).into()
    }

    /// Returns the error of a document that is not in the index of a folder.
    pub(super) fn unknown_document(document: &str, folder: &str) -> Self {
        Self::new(
            format!("{document} is not in the index of {folder}"),
            "index the folder again if the file is new",
        )
    }

    /// Returns the error of a file that cannot be read for now.
    pub(super) fn unreadable(file: impl Display, reason: impl Display) -> Self {
        Self::new(
            format!("cannot read {file} ({reason})"),
            "check the file and its permissions, then try again",
        )
    }

    /// Returns whether the last finished index answers all the same, where there is one.
    pub fn leaves_index(&self) -> bool {
        matches!(self, Self::InUse { .. } | Self::Unwritable(_))
    }
}

impl From<Problem> for IndexError {
    fn from(problem: Problem) -> Self {
        Self::Work(problem.into())
    }
}

impl Advice for IndexError {
    fn advice(&self) -> Option<&str> {
        match self {
            Self::InUse { .. } => Some("questions work meanwhile; index again when it is closed"),
            Self::Unwritable(problem) => problem.advice.as_deref(),
            Self::Work(error) => error.advice(),
            Self::Embedder(error) => error.advice(),
        }
    }
}

/// An error in the index's own files, before the corpus folder is known.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("{file}: {reason}")]
    Read { file: String, reason: String },
    #[error("{file}: {reason}")]
    Write { file: String, reason: String },
    #[error("{0}")]
    Damaged(String),
    #[error("format {found}")]
    OtherFormat { found: u32, expected: u32 },
}

impl FileError {
    pub fn read(file: &Path, reason: impl ToString) -> Self {
        Self::Read {
            file: file.display().to_string(),
            reason: reason.to_string(),
        }
    }

    pub fn write(file: &Path, reason: impl ToString) -> Self {
        Self::Write {
            file: file.display().to_string(),
            reason: reason.to_string(),
        }
    }

    pub fn for_damage(file: &Path, what: impl std::fmt::Display) -> Self {
        Self::Damaged(format!("{}: {what}", file.display()))
    }

    /// Returns the error of reading a file of the index: when it is missing, the index is damaged;
    /// else a later attempt may succeed.
    pub fn missing_or_unreadable(file: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::for_damage(file, "it is missing"),
            std::io::ErrorKind::InvalidInput | std::io::ErrorKind::FileTooLarge => {
                Self::for_damage(file, error)
            }
            _ => Self::read(file, error),
        }
    }

    /// Returns the public error about the index of `folder`.
    pub fn for_folder(self, folder: &str) -> IndexError {
        let rebuild = format!("rebuild it with `ragscope index {folder} --rebuild`");
        match self {
            Self::Read { file, reason } => IndexError::unreadable(file, reason),
            Self::Write { file, reason } => IndexError::Unwritable(Problem::new(
                format!("cannot write {file} ({reason})"),
                "free space on that disk or set RAGSCOPE_HOME to a folder elsewhere, then index again; until then the last finished index answers",
            )),
            Self::Damaged(what) => IndexError::new(
                format!("the index of {folder} is damaged ({what})"),
                rebuild,
            ),
            Self::OtherFormat { found, expected } => IndexError::new(
                format!(
                    "the index of {folder} has format {found} and this program reads {expected}"
                ),
                rebuild,
            ),
        }
    }
}

/// The reason why an update ended early.
pub(super) enum Halt {
    /// The observer stopped it.
    Stopped,
    Files(FileError),
    Embedder(LlmError),
}

impl From<FileError> for Halt {
    fn from(error: FileError) -> Self {
        Self::Files(error)
    }
}

impl From<LlmError> for Halt {
    fn from(error: LlmError) -> Self {
        if matches!(error, LlmError::Stopped(_)) {
            Self::Stopped
        } else {
            Self::Embedder(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_index_is_reported_as_such() {
        let damaged = FileError::Damaged("vectors: cut short".to_owned());
        assert_eq!(
            damaged.for_folder("notes: old").to_problem(),
            Problem::new(
                "the index of notes: old is damaged (vectors: cut short)",
                "rebuild it with `ragscope index notes: old --rebuild`"
            )
        );
    }
}
