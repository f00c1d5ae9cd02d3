//! The retriever: BM25 search, vector search, or both, fused.

use crate::engine::error::RunError;
use crate::engine::run::{Passages, Retriever, Run, pins};
use crate::event::RunEvent;

/// Searches the index of the open corpus; the stages after it choose among the hits that it keeps.
pub struct ByIndex;

impl Retriever for ByIndex {
    fn retrieve(&mut self, run: &mut Run<'_>, query: &str) -> Result<Passages, RunError> {
        let Some(mut retrieval) = run.search(query)? else {
            return Ok(Passages::default());
        };

        if let Some(filtered) = retrieval
            .filter
            .as_ref()
            .filter(|limit| limit.documents == 0)
        {
            run.emit(RunEvent::Warned {
                text: format!("no document is let through by `{}`", filtered.filter),
                advice: Some(
                    "change retriever.filter (--only, --type, --after, --before)".to_owned(),
                ),
            });
        }
        retrieval.hits = pins::keep(run, retrieval.hits)?;
        run.emit(RunEvent::RetrievalFinished {
            step: run.step,
            retrieval: retrieval.clone(),
        });
        Ok(Passages::of(retrieval.hits))
    }
}
