//! Recorded runs as clients see them: those over the served folders.

use std::path::Path;

use crate::event::{Event, Record, RunEvent};
use crate::trace::{list_runs, read_run};

use super::engine::SharedEngine;
use super::refusal::Refusal;

/// Returns the records of a run. The id is compared with those of the recorded runs and never
/// becomes a path.
///
/// # Errors
/// An id of no run that clients may read; a damaged file.
pub fn read(engine: &SharedEngine, id: &str) -> Result<Vec<Record>, Refusal> {
    let runs = list_runs(&engine.sessions)?;
    let mut readable = runs.iter().filter(|run| engine.can_read(run));
    let run = readable.find(|run| run.run == id).ok_or_else(|| {
        Refusal::missing(
            format!("no run {id:?} over these folders is recorded"),
            "pass the `run` of an answer; with record.enabled=false there are none",
        )
    })?;
    Ok(read_run(Path::new(&run.file))?)
}

/// Returns whether a record says what happened in a run, rather than each token, prompt and model
/// call of it.
pub fn is_step(record: &Record) -> bool {
    !matches!(
        &record.event,
        Event::Run(
            RunEvent::TokenGenerated { .. }
                | RunEvent::ThoughtGenerated { .. }
                | RunEvent::ModelCalled { .. }
                | RunEvent::ModelCallFinished { .. }
                | RunEvent::PromptProgressed { .. }
                | RunEvent::CallsProgressed { .. }
                | RunEvent::JudgementsRead { .. }
        )
    )
}
