//! Calls of the models outside of a run, with their progress on the terminal.

use std::cell::RefCell;

use crate::cli::failure::Stopped;
use crate::cli::interrupt::Interrupt;
use crate::cli::output::Output;
use crate::config::{Layers, Paths};
use crate::engine::{ModelCalls, Worker};
use crate::event::{Flow, Record};
use crate::llm::LlmError;

/// Shows a line of progress, and returns whether the user wants the work to continue.
pub(super) type ShowProgress<'a> = &'a dyn Fn(&dyn Fn() -> String) -> Flow;

/// Loads the generator and the entailment judge, and passes them to `work`.
pub(super) fn with_calls<T>(
    layers: &Layers,
    paths: &Paths,
    interrupt: &Interrupt,
    out: &mut Output,
    work: impl FnOnce(&mut dyn ModelCalls, ShowProgress<'_>) -> Result<T, LlmError>,
) -> Result<T, Stopped> {
    let mut worker = Worker::new(layers.clone(), paths.clone(), interrupt.stop_flag());
    let out = RefCell::new(out);
    let mut load_progress = |record: Record| {
        out.borrow_mut().progress(&record.event);
        interrupt.flow()
    };
    let show = |line: &dyn Fn() -> String| {
        out.borrow_mut().progress_line(line);
        interrupt.flow()
    };

    let done = worker.calls(&mut load_progress, |calls| work(calls, &show));
    out.borrow_mut().clear_progress();
    match done {
        Err(_) if interrupt.is_seen() => Err(Stopped::Interrupted),
        done => Ok(done?),
    }
}
