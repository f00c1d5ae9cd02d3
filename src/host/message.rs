//! The frames between a front end and the process of its engine, JSON each.

use serde::{Deserialize, Serialize};

use crate::config::{Layers, Paths};
use crate::event::{Command, FORMAT, FormatVersion, Record};

/// What the engine starts with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Setup {
    /// That of the program which starts the engine: its file may have been replaced since.
    pub version: Version,
    pub layers: Layers,
    pub paths: Paths,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    program: String,
    format: FormatVersion,
}

impl Version {
    /// Returns the version of this program.
    pub fn own() -> Self {
        Self {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
        }
    }
}

/// A frame to the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Obey(Command),
    /// Stop everything that was requested so far.
    Stop,
}

/// A frame from the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Record(Box<Record>),
    /// The engine panicked, with this message, and ends.
    Panicked(String),
}
