//! The reasons why a folder cannot be walked and a file cannot be read.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};

use crate::event::{Advice, StopError};

/// The reason why a folder cannot be walked.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    #[error("there is no folder {folder}")]
    Missing { folder: String },
    #[error("{folder} is a file")]
    NotAFolder { folder: String },
    #[error("the folder {folder} cannot be read ({reason})")]
    Unreadable { folder: String, reason: String },
    #[error("the folder {folder} is not read: {reason}")]
    IgnoreFiles { folder: String, reason: String },
    #[error("corpus.include: `{glob}` is not a glob ({reason})")]
    BadGlob { glob: String, reason: String },
    #[error("stopped")]
    Stopped(#[from] StopError),
}

impl Advice for CorpusError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Missing { .. } => Some("check the path".into()),
            Self::NotAFolder { .. } => {
                Some("give the folder that holds it (corpus.include can name single files)".into())
            }
            Self::IgnoreFiles { .. } => Some(
                "shorten them, or read the folder without them: corpus.gitignore = false".into(),
            ),
            Self::Unreadable { .. } => Some("check its permissions".into()),
            Self::BadGlob { .. } => Some("write it as in a .gitignore file, e.g. `*.md`".into()),
            Self::Stopped(_) => None,
        }
    }
}

/// Returns the reason that an I/O error gives the user.
pub(super) fn unreadable(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it is gone: deleted meanwhile, or a link to nothing".to_owned(),
        ErrorKind::PermissionDenied => "it cannot be read: no permission".to_owned(),
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => error.to_string(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// Returns the reason for users why reading a member of a document failed.
pub(super) fn describe_damage(error: &Error) -> String {
    if error.kind() == ErrorKind::FileTooLarge {
        error.to_string()
    } else {
        format!("it is damaged ({error})")
    }
}
