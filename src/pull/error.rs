//! The errors of a download.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use crate::event::{Advice, StopError};
use crate::net::{UnusableCertificates, host};
use crate::story::words;

/// The reason why a model was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    #[error("`{text}` names no model to download")]
    NoReference { text: String },
    #[error("HF_HUB_OFFLINE is set")]
    Offline,
    #[error("{host} does not permit {what} (status {status})")]
    Denied {
        host: String,
        what: String,
        status: u16,
        advice: String,
    },
    #[error("{host} has no {what}")]
    NotFound {
        host: String,
        what: String,
        page: String,
    },
    #[error("{host} answered the request for {what} with status {status}")]
    Refused {
        host: String,
        what: String,
        status: u16,
    },
    #[error("{host} answered the request for {what} with something else ({reason})")]
    Unreadable {
        host: String,
        what: String,
        reason: String,
    },
    #[error("{repository} has no GGUF file")]
    NoGguf { repository: String },
    #[error("{repository} has no {wanted}")]
    NoSuchQuantisation {
        repository: String,
        wanted: String,
        known: String,
    },
    #[error("{repository} has several files of {wanted}")]
    Ambiguous {
        repository: String,
        wanted: String,
        known: String,
    },
    #[error("{repository} lacks a piece of {file}")]
    MissingPiece { repository: String, file: String },
    #[error(
        "{} are needed in {} and {} are free",
        words::bytes(*needed_bytes), folder.display(), words::bytes(*free_bytes)
    )]
    NoSpace {
        folder: PathBuf,
        variable: &'static str,
        needed_bytes: u64,
        free_bytes: u64,
    },
    #[error(
        "the disk of {} became full",
        folder.display()
    )]
    DiskFull { folder: PathBuf },
    #[error("{file} changed on the server during the download")]
    Changed { file: String },
    #[error("{file} arrived damaged (its sha256 is {found}, not {expected}) and was deleted")]
    Damaged {
        file: String,
        expected: String,
        found: String,
    },
    #[error("the connection to {host} failed ({reason})")]
    Connection { host: String, reason: String },
    #[error("cannot write {} ({error})", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Certificates(#[from] UnusableCertificates),
    #[error("the list of models in this build cannot be read ({reason})")]
    Table { reason: String },
    #[error("stopped")]
    Stopped(#[from] StopError),
}

impl Advice for PullError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::NoReference { .. } => "write ORG/NAME, ORG/NAME:QUANT, or ollama:NAME:TAG".into(),
            Self::Offline => "unset it to download models".into(),
            Self::Denied { advice, .. } => advice.into(),
            Self::NotFound { page, .. } => format!("check the spelling on its page {page}").into(),
            Self::Refused { .. } => "try again later".into(),
            Self::Unreadable { .. } => {
                "check the address, and whether a proxy or a login page is between".into()
            }
            Self::NoGguf { .. } => "look for a repository whose name ends in -GGUF".into(),
            Self::NoSuchQuantisation { known, .. } => format!("choose one of {known}").into(),
            Self::Ambiguous { known, .. } => format!("name one of {known} after the colon").into(),
            Self::MissingPiece { .. } => "choose another quantisation or repository".into(),
            Self::NoSpace { variable, .. } => {
                format!("free some space, or set {variable} to a folder on another disk").into()
            }
            Self::DiskFull { .. } => {
                "free some space and pull again, it continues from here".into()
            }
            Self::Changed { .. } | Self::Damaged { .. } => "pull again".into(),
            Self::Connection { .. } => {
                "check the network and pull again, it continues from here".into()
            }
            Self::Write { .. } => "give yourself the permission, or choose another folder".into(),
            Self::Certificates(error) => return error.advice(),
            Self::Table { .. } => "the build is damaged: install the program again".into(),
            Self::Stopped(_) => return None,
        })
    }
}

impl PullError {
    /// Returns the error of a connection to the host of an address.
    pub(super) fn for_connection(url: &str, reason: impl Into<String>) -> Self {
        Self::Connection {
            host: host(url).to_owned(),
            reason: reason.into(),
        }
    }

    /// Returns the error of writing a file.
    pub(super) fn for_write(path: &Path, error: io::Error) -> Self {
        if matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            return Self::DiskFull {
                folder: path.parent().unwrap_or(path).to_owned(),
            };
        }
        Self::Write {
            path: path.to_owned(),
            error,
        }
    }
}
