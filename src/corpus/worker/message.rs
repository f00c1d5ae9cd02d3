//! Requests to a worker process and its answers.

use serde::{Deserialize, Serialize};

use crate::corpus::formats::Extract;
use crate::corpus::options::{Limits, ReadOptions};

/// A file to read; its bytes follow in a frame of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// Name of the format.
    pub format: String,
    pub path: String,
    pub options: ReadOptions,
    pub limits: Limits,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Text(Box<Extract>),
    /// The reason for users.
    Refused(String),
    /// The reader panicked.
    Failed,
}
