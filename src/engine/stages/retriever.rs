//! The retriever: BM25 and vectors, fused.

use crate::engine::error::RunError;
use crate::engine::run::{Found, Retriever, Run, pins};
use crate::event::Event;

/// BM25 and vectors, fused. The stages after it choose among all that it keeps.
pub struct Hybrid;

impl Retriever for Hybrid {
    fn retrieve(&mut self, run: &mut Run<'_>, query: &str) -> Result<Found, RunError> {
        let Some(mut retrieval) = run.search(query)? else {
            return Ok(Found::default());
        };
        retrieval.hits = pins::keep(run, retrieval.hits)?;
        run.emit(Event::RetrievalFinished {
            step: run.step,
            retrieval: retrieval.clone(),
        });
        Ok(Found {
            kept: retrieval.hits,
            ..Found::default()
        })
    }
}
