//! The frames between a front end and the process of its engine, JSON each.

use serde::{Deserialize, Serialize};

use crate::config::{Layers, Paths};
use crate::event::{Command, FORMAT, FormatVersion, Record};

/// The values with which the engine starts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EngineSetup {
    /// Version of the program that starts the engine: its file may have been replaced since.
    pub version: ProgramVersion,
    pub layers: Layers,
    pub paths: Paths,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProgramVersion {
    program: String,
    format: FormatVersion,
}

impl ProgramVersion {
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
pub(super) enum EngineRequest {
    Obey(Command),
    /// Stop everything that was requested so far.
    Stop,
}

/// A frame from the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum EngineReply {
    Record(Box<Record>),
    /// The engine panicked, with this message, and ends.
    Panicked(String),
}
