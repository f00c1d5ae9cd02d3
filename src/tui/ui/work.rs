//! The pending requests to the engine, and the run on the screen.

use std::time::Duration;

use crate::tui::diagnosing::Diagnosing;
use crate::tui::variants::Variants;

/// The pending work, as far as the screen knows.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// The run on the screen; `None` for the latest.
    pub turn: Option<usize>,
    /// The run that is being answered; never a recording.
    pub live: Option<String>,
    /// The ids of recorded runs that were requested.
    pub opened: Vec<String>,
    /// The run whose context is being measured.
    pub measuring: Option<String>,
    /// The last diagnosis of a run.
    pub diagnosing: Option<Box<Diagnosing>>,
    /// The variants of a run that were tried last.
    pub variants: Option<Box<Variants>>,
    /// Whether folders are being opened, of which nothing is known yet.
    pub is_opening: bool,
    /// A question that was sent and has not started.
    pub pending: Option<String>,
    /// Whether the next question begins a thread; otherwise it continues that of the run on the
    /// screen.
    pub begins_thread: bool,
    /// Whether the user was asked whether to quit while something is at work.
    pub is_quitting: bool,
    /// Whether a key was pressed since the question: the stages of the demo no longer wait.
    pub is_hurried: bool,
    /// Whether the user asked for the update of the index that is under way.
    pub is_indexing_asked: bool,
    /// The time at which the present work began, by the clock of the screen.
    pub since: Option<Duration>,
    /// The time at which the last stage of the run that is being answered appeared.
    pub stage_since: Option<Duration>,
    /// Whether the models to choose from were asked for, to offer one.
    pub is_model_sought: bool,
    /// A model that is downloaded because it was offered, as a download names it.
    pub awaited_model: Option<String>,
    /// The name of such a model that is here, until it is listed.
    pub arrived_model: Option<String>,
    /// The file of a model that is to be loaded although it is larger than the free memory.
    pub confirmed_model: Option<String>,
}

impl Work {
    /// Returns whether a question is being answered, waits to be, a context is being measured, or a
    /// change tried.
    pub fn is_running(&self) -> bool {
        self.pending.is_some()
            || self.live.is_some()
            || self.measuring.is_some()
            || self.trials().is_some()
    }

    /// Returns what the trials of changes are doing; `None` where none is in progress.
    pub fn trials(&self) -> Option<String> {
        let diagnosing = self.diagnosing.as_ref().filter(|known| known.end.is_none());
        let variants = self.variants.as_ref().filter(|known| known.end.is_none());
        diagnosing
            .map(|known| known.activity())
            .or_else(|| variants.map(|known| known.activity()))
    }

    /// Forgets all pending work.
    pub fn clear(&mut self) {
        self.pending = None;
        self.live = None;
        self.measuring = None;
    }
}
