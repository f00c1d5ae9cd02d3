//! The reranker: the hits ordered by how well they fit the question.

use crate::engine::error::RunError;
use crate::engine::run::{Found, HitStage, Run};
use crate::event::{Event, Hit, RerankedChunk};
use crate::methods::ModelCalls as _;

/// What is left is ordered by how well it fits the question.
pub struct ByModel;

impl HitStage for ByModel {
    fn apply(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        let kept = reranked(run, question, found.kept)?;
        Ok(Found { kept, ..found })
    }
}

/// The hits in the order in which the reranker thinks that they fit `text`, best first; told as an event.
pub fn reranked(run: &mut Run<'_>, text: &str, hits: Vec<Hit>) -> Result<Vec<Hit>, RunError> {
    let texts: Vec<&str> = hits.iter().map(|hit| hit.chunk.text.as_str()).collect();
    let scores = run.rerank(text, &texts)?;
    let mut ranked: Vec<(f32, Hit)> = scores.into_iter().zip(hits).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told = ranked
        .iter()
        .map(|(score, hit)| RerankedChunk {
            chunk: hit.chunk.id,
            score: *score,
        })
        .collect();
    run.emit(Event::ChunksReranked {
        step: run.step,
        ranked: told,
    });
    Ok(ranked.into_iter().map(|(_, hit)| hit).collect())
}
