//! The reranker: orders the hits by how well they fit what was searched.

use super::in_turn::in_turn;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, Searched};
use crate::event::{Hit, Part, RerankedChunk, RunEvent};
use crate::index::AskedNames;
use crate::llm::LlmError;
use crate::methods::{ModelCalls as _, finite};

/// Orders the hits with the model of the settings.
pub fn rerank(run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
    if !run.should_run(Part::Reranker, passages.hits.len()) {
        return Ok(passages);
    }
    let hits = rerank_hits(run, &passages.searches, passages.hits)?;
    Ok(Passages { hits, ..passages })
}

/// Returns the hits ordered by how well the reranker thinks that they fit the searches, and emits
/// their scores. The best hits of the searches are taken in turn, as the retriever takes them: a
/// passage that only the second search of a chain wants fits the question badly.
pub fn rerank_hits(
    run: &mut Run<'_>,
    searches: &[Searched],
    hits: Vec<Hit>,
) -> Result<Vec<Hit>, RunError> {
    let mut rankings = Vec::with_capacity(searches.len());
    for search in searches {
        let ranking = rank(&search.text, &hits, |query, texts| run.rerank(query, texts))?;
        rankings.push(ranking);
    }

    let rankings = searches.iter().zip(&rankings);
    let rankings = rankings.map(|(search, ranking)| search.take_from(ranking));
    let rankings: Vec<&[(usize, f32)]> = rankings.collect();
    let ranked = in_turn(&rankings, |(position, _)| *position);
    let scored = ranked.iter().map(|(position, score)| RerankedChunk {
        chunk: hits[*position].chunk.id,
        score: *score,
    });
    run.emit(RunEvent::ChunksReranked {
        step: run.step,
        ranked: scored.collect(),
    });
    let ordered = ranked.iter().map(|(position, _)| hits[*position].clone());
    Ok(ordered.collect())
}

/// Returns the positions of hits with their scores, best first, by a reranker that is given a query
/// and the texts.
///
/// # Errors
/// Failures of the reranker.
pub fn rank(
    query: &str,
    hits: &[Hit],
    mut rerank: impl FnMut(&str, &[&str]) -> Result<Vec<f32>, LlmError>,
) -> Result<Vec<(usize, f32)>, LlmError> {
    let asked = AskedNames::new(query);
    let texts = hits.iter().map(|hit| asked.placed_text(&hit.chunk));
    let texts: Vec<String> = texts.collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(ranking(&rerank(query, &texts)?))
}

/// Returns the positions of the scores with them, best first; one that is not a number counts as 0.
fn ranking(scores: &[f32]) -> Vec<(usize, f32)> {
    let finite = scores.iter().map(|score| finite(*score));
    let mut ranking: Vec<(usize, f32)> = finite.enumerate().collect();
    ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_each_search_come_first() {
        let question = ranking(&[0.9, 0.8, 0.1]);
        let sentence = ranking(&[0.2, 0.1, 0.7]);
        let placed = in_turn(&[&question, &sentence], |(position, _)| *position);
        assert_eq!(placed, [&(0, 0.9), &(2, 0.7), &(1, 0.8)]);
        assert!(in_turn(&[], |(position, _): &(usize, f32)| *position).is_empty());
    }
}
