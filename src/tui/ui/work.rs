//! What was asked of the engine and is not done yet, and which run is on the screen.

/// Work under way, as far as the screen knows.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// The run on the screen; `None` for the latest.
    pub turn: Option<usize>,
    /// The run that is being answered now; a recording that was opened never is.
    pub live: Option<String>,
    /// Recorded runs that were asked for, by their names.
    pub opened: Vec<String>,
    /// The run whose context is being measured.
    pub measuring: Option<String>,
    /// A question that was handed over and has not begun.
    pub pending: Option<String>,
    /// The file of a model that is to be loaded although it is larger than the free memory.
    pub confirmed_model: Option<String>,
}

impl Work {
    /// Returns whether a question is being answered, waits to be, or a context is being measured.
    pub fn is_running(&self) -> bool {
        self.pending.is_some() || self.live.is_some() || self.measuring.is_some()
    }

    /// Nothing is under way any more.
    pub fn clear(&mut self) {
        self.pending = None;
        self.live = None;
        self.measuring = None;
    }
}
