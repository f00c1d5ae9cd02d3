//! The error of a recorded run.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use crate::event::Advice;

/// An error with a recorded run. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot read {} ({source})", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("cannot write {} ({source})", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    #[error("cannot read {}, line {line} ({reason})", file.display())]
    Damaged {
        file: PathBuf,
        line: usize,
        reason: String,
    },
    #[error(
        "{} has run format {found} and this program reads {known}",
        file.display()
    )]
    OtherFormat {
        file: PathBuf,
        found: String,
        known: String,
    },
}

impl Advice for TraceError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Unreadable { .. } => "`ragscope paths` says where recorded runs are",
            Self::Unwritable { .. } => "free some space, or set record.enabled=false",
            Self::Damaged { .. } => {
                "choose another file: this one is damaged, or not a recorded run"
            }
            Self::OtherFormat { .. } => "replay it with the ragscope that wrote it",
        };
        Some(advice.into())
    }
}

impl TraceError {
    pub(super) fn unreadable(file: &Path, source: io::Error) -> Self {
        Self::Unreadable {
            file: file.to_owned(),
            source,
        }
    }

    pub(super) fn unwritable(file: &Path, source: io::Error) -> Self {
        Self::Unwritable {
            file: file.to_owned(),
            source,
        }
    }

    pub(super) fn for_damage(file: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Damaged {
            file: file.to_owned(),
            line,
            reason: reason.into(),
        }
    }
}
