//! The errors of an index.

use std::borrow::Cow;
use std::path::Path;

use crate::corpus::CorpusError;
use crate::event::Advice;
use crate::llm::LlmError;
use crate::remote::RemoteError;

/// An error of an index. Every message names the file or the folder.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("cannot open the folder {folder} ({reason})")]
    Folder { folder: String, reason: String },
    /// Nothing of a damaged index is used.
    #[error("the index of {folder} is damaged ({what})")]
    Damaged { folder: String, what: String },
    #[error("the index of {folder} has format {found} and this program reads {expected}")]
    OtherFormat {
        folder: String,
        found: u32,
        expected: u32,
    },
    /// Another process holds the writer lock.
    #[error("another ragscope has the index of {folder} open")]
    InUse { folder: String },
    #[error("{count} folders are more than a corpus can have ({max})")]
    TooManyFolders { count: usize, max: usize },
    #[error("cannot write {file} ({reason})")]
    Write { file: String, reason: String },
    #[error("cannot read {file} ({reason})")]
    Read { file: String, reason: String },
    #[error("{document} is not in the index of {folder}")]
    UnknownDocument { document: String, folder: String },
    /// The index of other machines.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error(transparent)]
    Embedder(#[from] LlmError),
}

impl IndexError {
    /// Returns whether the last finished index answers all the same, where there is one.
    pub fn leaves_index(&self) -> bool {
        matches!(self, Self::InUse { .. } | Self::Write { .. })
    }
}

impl Advice for IndexError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Folder { .. } => "check the path and its permissions".into(),
            Self::Damaged { folder, .. } | Self::OtherFormat { folder, .. } => {
                format!("rebuild it with `ragscope index {folder} --rebuild`").into()
            }
            Self::InUse { .. } => {
                "questions work meanwhile; index again when it is closed".into()
            }
            Self::TooManyFolders { .. } => "open a folder that holds them".into(),
            Self::Write { .. } => {
                "free space on that disk or set RAGSCOPE_HOME to a folder elsewhere, then index again; until then the last finished index answers".into()
            }
            Self::Read { .. } => "check the file and its permissions, then try again".into(),
            Self::UnknownDocument { .. } => "index the folder again if the file is new".into(),
            Self::Remote(error) => return error.advice(),
            Self::Corpus(error) => return error.advice(),
            Self::Embedder(error) => return error.advice(),
        })
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
        let folder = folder.to_owned();
        match self {
            Self::Read { file, reason } => IndexError::Read { file, reason },
            Self::Write { file, reason } => IndexError::Write { file, reason },
            Self::Damaged(what) => IndexError::Damaged { folder, what },
            Self::OtherFormat { found, expected } => IndexError::OtherFormat {
                folder,
                found,
                expected,
            },
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
