//! An event with its place in the stream.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::run::RunEvent;
use super::session::SessionEvent;

/// The `run` of records that belong to no question: loading, indexing, sources opened on the
/// screen.
pub const SESSION: &str = "session";

/// One event with its position in the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Position in the stream of its run, from 0, without gaps.
    pub seq: u64,
    /// Microseconds since the run (or the session) started.
    pub t_us: u64,
    /// The run it belongs to, or [`SESSION`].
    pub run: String,
    /// The event itself.
    pub event: Event,
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
    pub fn run(&self) -> Option<&RunEvent> {
        match self {
            Self::Run(event) => Some(event),
            Self::Session(_) => None,
        }
    }

    /// The event of the session.
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
