//! The user's decisions about the context: spans of documents that are pinned to it and spans that
//! are excluded from it.

use crate::config::{Location, RetrieverSettings};
use crate::engine::error::RunError;
use crate::event::{ChunkText, DropReason, DroppedChunk, Hit, Problem, RunEvent};

use super::state::Run;
use super::values::Passages;

/// Returns whether the user pinned or excluded this chunk. Such a chunk is joined with no other.
pub fn is_decided(settings: &RetrieverSettings, chunk: &ChunkText) -> bool {
    is_excluded(settings, chunk) || is_pinned(settings, chunk)
}

/// Returns whether this chunk, or a part of this joined text, is pinned and not excluded.
pub fn is_pinned(settings: &RetrieverSettings, chunk: &ChunkText) -> bool {
    is_named(&settings.pinned, chunk) && !is_excluded(settings, chunk)
}

pub fn is_excluded(settings: &RetrieverSettings, chunk: &ChunkText) -> bool {
    is_named(&settings.excluded, chunk)
}

fn is_named(locations: &[Location], chunk: &ChunkText) -> bool {
    locations.iter().any(|location| location.covers(chunk))
}

/// Returns the hits of a retrieval that the run keeps: the best, and every pinned chunk of the
/// corpus, whether it was retrieved or not.
pub fn keep(run: &mut Run<'_>, mut hits: Vec<Hit>) -> Result<Vec<Hit>, RunError> {
    let settings = &run.tools.config.retriever;
    let best = settings.max_hits();
    let below = hits.split_off(hits.len().min(best)).into_iter();
    hits.extend(below.filter(|hit| is_pinned(settings, &hit.chunk)));
    let Some(corpus) = run.tools.corpus.as_ref() else {
        return Ok(hits);
    };
    let mut unknown = Vec::new();
    for place in &settings.pinned {
        let mut pinned = corpus.index.document(&place.document)?;
        pinned.retain(|chunk| place.covers(chunk));
        if pinned.is_empty() {
            unknown.push(place);
        }
        for chunk in pinned {
            let is_known = hits.iter().any(|hit| hit.chunk.id == chunk.id);
            if is_known || is_excluded(settings, &chunk) {
                continue;
            }
            let rank = hits.last().map_or(0, |hit| hit.fused.rank) + 1;
            hits.push(Hit::with_rank(chunk, rank));
        }
    }

    for place in unknown {
        run.emit(RunEvent::warning(Problem::without_advice(format!(
            "retriever.pinned: no chunk of the index lies at {place}"
        ))));
    }
    Ok(hits)
}

/// Splits off the pinned hits, which no stage judges, in the order of the pins, and drops the
/// excluded ones.
pub fn split_pinned(settings: &RetrieverSettings, mut passages: Passages) -> (Vec<Hit>, Passages) {
    let mut pinned = Vec::new();
    let mut others = Vec::new();

    for hit in passages.hits {
        if is_excluded(settings, &hit.chunk) {
            passages.dropped.push(DroppedChunk {
                chunk: hit.chunk.id,
                reason: DropReason::Excluded,
            });
        } else if is_pinned(settings, &hit.chunk) {
            pinned.push(hit);
        } else {
            others.push(hit);
        }
    }

    let place = |hit: &Hit| {
        let mut locations = settings.pinned.iter();
        locations.position(|location| location.covers(&hit.chunk))
    };
    pinned.sort_by_key(place);
    passages.hits = others;
    (pinned, passages)
}
