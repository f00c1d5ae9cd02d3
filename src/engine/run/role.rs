//! The roles of a run. Each is a small trait; `Off` does nothing, so an ablation is one word of configuration.

use crate::engine::error::RunError;
use crate::event::{GateCard, Uncertainty};
use crate::llm::{HiddenAt, Token};

use super::state::Run;
use super::values::{Draft, Found, Known, Need, Passages};

/// Rewrites the question before the lookup.
pub trait Rewriter {
    fn rewrite(&mut self, run: &mut Run<'_>, question: &str) -> Result<String, RunError>;
}

/// Writes the query of a lookup.
pub trait QueryWriter {
    fn write(&mut self, run: &mut Run<'_>, need: &Need<'_>) -> Result<String, RunError>;
}

/// Looks chunks up.
pub trait Retriever {
    fn retrieve(&mut self, run: &mut Run<'_>, query: &str) -> Result<Found, RunError>;
}

/// A stage between the retriever and the context: linker, filter or reranker.
pub trait HitStage {
    fn apply(&mut self, run: &mut Run<'_>, question: &str, found: Found)
    -> Result<Found, RunError>;
}

/// Measures whether the model understands its passages.
pub trait UnderstandingMeter {
    fn measure(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: &Passages,
    ) -> Result<Known, RunError>;
}

/// Cuts the documents behind the hits again for one question.
pub trait QuestionChunker {
    fn recut(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<(Passages, Known), RunError>;
}

/// Repairs the passages.
pub trait Refiner {
    fn refine(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<Passages, RunError>;
}

/// Measures something about the passages, and changes nothing.
pub trait Meter {
    fn measure(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: &Passages,
    ) -> Result<(), RunError>;
}

/// Says how unsure the model was of a sentence, and whether to look something up.
pub trait Gate {
    /// What it measures and where it draws the line; None when nothing follows from it.
    fn card(&self, _run: &Run<'_>) -> Option<GateCard> {
        None
    }

    /// The hidden states that it reads.
    fn taps(&self, _run: &Run<'_>) -> Vec<HiddenAt> {
        Vec::new()
    }

    /// What it says of a sentence from the tokens alone, while the stream goes on; None when it has to be asked.
    fn at_once(&self, _tokens: &[Token]) -> Option<Uncertainty> {
        None
    }

    /// What it says of a sentence.
    fn judge(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError>;
}

/// A role that is switched off.
pub struct Off;

/// Every role of a run.
pub struct Roles {
    pub rewriter: Box<dyn Rewriter>,
    pub query_writer: Box<dyn QueryWriter>,
    pub retriever: Box<dyn Retriever>,
    pub linker: Box<dyn HitStage>,
    pub filter: Box<dyn HitStage>,
    pub reranker: Box<dyn HitStage>,
    pub understanding: Box<dyn UnderstandingMeter>,
    pub chunker: Box<dyn QuestionChunker>,
    pub refiner: Box<dyn Refiner>,
    pub gate: Box<dyn Gate>,
    pub utility: Box<dyn Meter>,
}

impl Rewriter for Off {
    fn rewrite(&mut self, _run: &mut Run<'_>, question: &str) -> Result<String, RunError> {
        Ok(question.to_owned())
    }
}

impl Retriever for Off {
    fn retrieve(&mut self, _run: &mut Run<'_>, _query: &str) -> Result<Found, RunError> {
        Ok(Found::default())
    }
}

impl HitStage for Off {
    fn apply(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        Ok(found)
    }
}

impl Meter for Off {
    fn measure(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        _passages: &Passages,
    ) -> Result<(), RunError> {
        Ok(())
    }
}

impl UnderstandingMeter for Off {
    fn measure(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        _passages: &Passages,
    ) -> Result<Known, RunError> {
        Ok(None)
    }
}

impl QuestionChunker for Off {
    fn recut(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<(Passages, Known), RunError> {
        Ok((passages, understood))
    }
}

impl Refiner for Off {
    fn refine(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        passages: Passages,
        _understood: Known,
    ) -> Result<Passages, RunError> {
        Ok(passages)
    }
}

/// Without a retriever nobody looks anything up, so there is no query to tell of.
impl QueryWriter for Off {
    fn write(&mut self, _run: &mut Run<'_>, need: &Need<'_>) -> Result<String, RunError> {
        Ok(need.question.to_owned())
    }
}
