//! The roles of a run. Each is a small trait whose default methods do nothing, so that a role is
//! switched off by one word of configuration.

use crate::engine::error::RunError;
use crate::event::{GateCard, Turn, Uncertainty};
use crate::llm::{HiddenAt, Token};

use super::state::Run;
use super::values::{Draft, Known, Need, Passages, Query};

/// Every role of a run.
pub struct Roles {
    pub follow_up: Box<dyn FollowUp>,
    pub rewriter: Box<dyn Rewriter>,
    pub query_writer: Box<dyn QueryWriter>,
    pub retriever: Box<dyn Retriever>,
    pub linker: Box<dyn HitStage>,
    pub filter: Box<dyn HitStage>,
    pub reranker: Box<dyn HitStage>,
    pub understanding: Box<dyn UnderstandingMeter>,
    pub refiner: Box<dyn Refiner>,
    pub gate: Box<dyn Gate>,
    pub utility: Box<dyn Meter>,
}

/// A role that is switched off: every method is the default one.
pub struct Off;

impl FollowUp for Off {}
impl Rewriter for Off {}
impl QueryWriter for Off {}
impl Retriever for Off {}
impl HitStage for Off {}
impl UnderstandingMeter for Off {}
impl Refiner for Off {}
impl Meter for Off {}

/// Rewrites a follow-up question to stand alone, before everything else of the run.
pub trait FollowUp {
    fn rewrite(&mut self, run: &mut Run<'_>, _turns: &[Turn]) -> Result<String, RunError> {
        Ok(run.question.to_owned())
    }
}

/// Rewrites the question before the first lookup.
pub trait Rewriter {
    fn rewrite(&mut self, run: &mut Run<'_>) -> Result<String, RunError> {
        Ok(run.question.to_owned())
    }
}

/// Writes the query of a lookup from the rewritten question and the answer so far.
pub trait QueryWriter {
    fn write(
        &mut self,
        _run: &mut Run<'_>,
        rewritten: &str,
        _need: &Need<'_>,
    ) -> Result<Query, RunError> {
        Ok(Query::one(rewritten))
    }
}

/// Retrieves chunks.
pub trait Retriever {
    fn retrieve(&mut self, _run: &mut Run<'_>, _query: &Query) -> Result<Passages, RunError> {
        Ok(Passages::default())
    }
}

/// A stage between the retriever and the context: linker, filter or reranker.
pub trait HitStage {
    fn apply(&mut self, _run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
        Ok(passages)
    }
}

/// Measures whether the model understands its passages.
pub trait UnderstandingMeter {
    fn measure(&mut self, _run: &mut Run<'_>, _passages: &Passages) -> Result<Known, RunError> {
        Ok(None)
    }
}

/// Repairs the passages, or replaces them.
pub trait Refiner {
    fn refine(
        &mut self,
        _run: &mut Run<'_>,
        passages: Passages,
        _understood: Known,
    ) -> Result<Passages, RunError> {
        Ok(passages)
    }
}

/// Measures something about the passages, and changes nothing.
pub trait Meter {
    fn measure(&mut self, _run: &mut Run<'_>, _passages: &Passages) -> Result<(), RunError> {
        Ok(())
    }
}

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
