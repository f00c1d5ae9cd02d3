//! Recorded runs, written as JSON lines while they happen and read back, and journals of long
//! operations, which survive a kill.
//!
//! One run, one file: `<run id>.jsonl` in the sessions folder, each line a
//! [`Record`](crate::event::Record). A line is complete before the next one begins, so a kill costs
//! at most the last line. A run says which thread it continues; the name of a thread is a file of one line
//! beside its first run, `<run id>.name`. This module does not know who listens.

mod journal;
mod list;
mod read;
mod recorder;
mod summaries;
mod threads;

pub use journal::{Journal, JournalError};
pub use list::{list_runs, newest_runs};
pub use read::read_run;
pub use recorder::Recorder;
pub use threads::{name_thread, thread_name, thread_names};

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use crate::event::Advice;

/// File extension of recorded runs.
const ENDING: &str = "jsonl";

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
    fn unreadable(file: &Path, source: io::Error) -> Self {
        Self::Unreadable {
            file: file.to_owned(),
            source,
        }
    }

    fn unwritable(file: &Path, source: io::Error) -> Self {
        Self::Unwritable {
            file: file.to_owned(),
            source,
        }
    }

    fn damaged(file: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Damaged {
            file: file.to_owned(),
            line,
            reason: reason.into(),
        }
    }
}
