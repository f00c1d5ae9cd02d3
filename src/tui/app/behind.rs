//! Recorded runs of the list of threads, and the session behind one that is played.

use crate::event::Record;
use crate::tui::state::State;

/// A recorded run whose records arrive.
pub(super) struct Opening {
    pub(super) run: String,
    pub(super) records: Vec<Record>,
}

/// The session behind a run that is played from the list of threads.
pub(super) struct Behind {
    pub(super) state: State,
    pub(super) seen_entries: usize,
    /// The records of the engine since then.
    pub(super) waiting: Vec<Record>,
}
