//! The public run format: what happened, as one stream of typed records.
//!
//! A run is a sequence of [`Record`]s. The screen, `--json`, the recorder and the replayer read the
//! same stream, so an event is past tense, self-contained (nobody needs the index to draw it) and
//! holds finite numbers only. This module holds data: it does no I/O, and words and draws nothing.
//!
//! To add an event, declare it in [`RunEvent`] or [`SessionEvent`], emit it, and fold it in
//! `story::Run` or in the screen's session.

mod flow;
mod number;
mod text;
pub mod os_path;
mod metadata;
mod place;
mod problem;
mod operation;
mod version;
mod thread;
mod models;
mod documents;
mod chunks;
mod stages;
mod understanding;
mod utility;
mod answer;
mod probe;
mod run;
mod session;
mod record;
mod command;
mod numbering;

pub use answer::*;
pub use chunks::*;
pub use command::{Command, Destination};
pub use documents::*;
pub use flow::{Flow, StopError, StopFlag, is_stop, lock};
pub use metadata::Metadata;
pub use models::*;
pub use number::{elapsed_ms, elapsed_us, is_zero, logistic, logit_of, saturating_u32};
pub use numbering::{NO_SOURCE, Numbering};
pub use operation::Operation;
pub use place::*;
pub use probe::*;
pub use problem::{Advice, Problem, WorkError};
pub use record::{Event, Record, SESSION};
pub use run::RunEvent;
pub use session::SessionEvent;
pub use stages::*;
pub use text::{
    FENCE, ends_in_code, escape_json, group_words, harmless, json_value, percent_encode,
    with_short_rules,
};
pub use thread::{AsAsked, Ask, Thread, Turn};
pub use understanding::*;
pub use utility::*;
pub use version::{FORMAT, FormatVersion};
