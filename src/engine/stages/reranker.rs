//! The reranker: orders the hits by how well they fit the question.

use crate::engine::error::RunError;
use crate::engine::run::{HitStage, Passages, Run};
use crate::event::{Hit, RerankedChunk, RunEvent};
use crate::methods::ModelCalls as _;

/// Reranks with the model of the settings.
pub struct ByModel;

impl HitStage for ByModel {
    fn apply(&mut self, run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
        let hits = reranked(run, &passages.sought, passages.hits)?;
        Ok(Passages { hits, ..passages })
    }
}

/// Returns the hits ordered by how well the reranker thinks that they fit `text`, best first, and
/// emits their scores.
pub fn reranked(run: &mut Run<'_>, text: &str, hits: Vec<Hit>) -> Result<Vec<Hit>, RunError> {
    let texts: Vec<&str> = hits.iter().map(|hit| hit.chunk.text.as_str()).collect();
    let scores = run.rerank(text, &texts)?;

    let mut ranked: Vec<(f32, Hit)> = scores.into_iter().zip(hits).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));

    let scored = ranked
        .iter()
        .map(|(score, hit)| RerankedChunk {
            chunk: hit.chunk.id,
            score: *score,
        })
        .collect();
    run.emit(RunEvent::ChunksReranked {
        step: run.step,
        ranked: scored,
    });
    Ok(ranked.into_iter().map(|(_, hit)| hit).collect())
}
