//! The gate, which decides whether a sentence is uncertain.

use crate::engine::error::RunError;
use crate::event::{GateCard, Uncertainty};
use crate::llm::{HiddenAt, Token};

use super::state::Run;
use super::values::Draft;

/// Measures how uncertain the model was about a sentence, and decides whether to retrieve more.
pub trait Gate {
    /// Returns the measure and the threshold; `None` when no decision follows from the measure.
    fn card(&self, _run: &Run<'_>) -> Option<GateCard> {
        None
    }

    /// Returns the positions whose hidden states the gate reads.
    fn taps(&self, _run: &Run<'_>) -> Vec<HiddenAt> {
        Vec::new()
    }

    /// Decides from the tokens alone while the stream continues; `None` when [`Gate::judge`] must
    /// be called.
    fn decide_early(&self, _tokens: &[Token]) -> Option<Uncertainty> {
        None
    }

    /// Judges a sentence.
    fn judge(&mut self, run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError>;
}
