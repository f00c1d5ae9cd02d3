//! The public run format: what happened, as one stream of typed records.
//!
//! A run is a sequence of [`Record`]s. The screen, `--json`, the recorder and the replayer read the
//! same stream, so an event is past tense, self-contained (nobody needs the index to draw it) and
//! holds finite numbers only. This module holds data: it does no I/O, and words and draws nothing.
//!
//! To add an event, declare it in [`RunEvent`] or [`SessionEvent`], emit it, and fold it in
//! `story::Run` or in the screen's session.

mod run;
mod session;
mod command;
mod flow;
mod metadata;
mod number;
mod numbering;
mod operation;
pub mod os_path;
mod payload;
mod place;
mod problem;
mod stages;
mod probe;
mod text;
mod thread;
mod understanding;
mod utility;

pub use command::Command;
pub use flow::{Flow, StopFlag};
pub use metadata::Metadata;
pub use number::{elapsed_ms, elapsed_us, saturating_u32};
pub use numbering::Numbering;
pub use operation::Operation;
pub use payload::*;
pub use place::*;
pub use probe::*;
pub use problem::{Advice, Problem};
pub use run::RunEvent;
pub use session::SessionEvent;
pub use stages::*;
pub use text::{escape_json, harmless};
pub use thread::{AsAsked, Ask, Thread, Turn};
pub use understanding::*;
pub use utility::*;

use serde::{Deserialize, Deserializer, Serialize, de};

/// Version of the run format. A reader accepts any minor version of its own major one.
pub const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 9 };

/// The `run` of records that belong to no question: loading, indexing, sources opened on the
/// screen.
pub const SESSION: &str = "session";

/// Version of the run format, carried by [`RunEvent::RunStarted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Changes when old readers can no longer read new records.
    pub major: u32,
    /// Changes when variants or fields were added.
    pub minor: u32,
}

impl FormatVersion {
    /// Returns whether the texts of a run name each chunk by one number; before 2.2 they had the labels of
    /// the prompt.
    #[must_use]
    pub fn has_numbers(self) -> bool {
        (self.major, self.minor) >= (2, 2)
    }
}

/// One event with its position in the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Position in the stream of its run, from 0, without gaps.
    pub seq: u64,
    /// Microseconds since the run (or the session) started.
    pub t_us: u64,
    /// The run it belongs to, or [`SESSION`].
    pub run: String,
    /// What happened.
    pub event: Event,
}

/// An event of a run or of the session. New variants may be added to either: readers skip what they
/// do not know ([`RunEvent::Unknown`], [`SessionEvent::Unknown`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    Run(RunEvent),
    Session(SessionEvent),
}

impl Event {
    /// The event of a run.
    #[must_use]
    pub fn run(&self) -> Option<&RunEvent> {
        match self {
            Self::Run(event) => Some(event),
            Self::Session(_) => None,
        }
    }

    /// The event of the session.
    #[must_use]
    pub fn session(&self) -> Option<&SessionEvent> {
        match self {
            Self::Session(event) => Some(event),
            Self::Run(_) => None,
        }
    }
}

impl From<RunEvent> for Event {
    fn from(event: RunEvent) -> Self {
        Self::Run(event)
    }
}

impl From<SessionEvent> for Event {
    fn from(event: SessionEvent) -> Self {
        Self::Session(event)
    }
}

/// A record says by its `run` which kind of event it holds, so its event is read after that.
impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Line {
            seq: u64,
            t_us: u64,
            run: String,
            event: serde_json::Value,
        }

        let Line {
            seq,
            t_us,
            run,
            event,
        } = Line::deserialize(deserializer)?;
        let event = if run == SESSION {
            SessionEvent::deserialize(event).map(Event::Session)
        } else {
            RunEvent::deserialize(event).map(Event::Run)
        };
        Ok(Self {
            seq,
            t_us,
            run,
            event: event.map_err(de::Error::custom)?,
        })
    }
}
