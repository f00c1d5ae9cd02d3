//! What a person decided about the context: places that are pinned to it and places that are excluded from it.

use crate::config::{Place, RetrieverSettings};
use crate::engine::error::RunError;
use crate::event::{ChunkText, DropReason, DroppedChunk, Event, Hit, Ranked};

use super::state::Run;
use super::values::Found;

/// Is this chunk in the context, or out of it, whatever the stages say? Then it comes with no other chunk.
pub fn decided(settings: &RetrieverSettings, chunk: &ChunkText) -> bool {
    excluded(settings, chunk) || pinned(settings, chunk)
}

/// Is this chunk, or a chunk of this joined text, excluded?
fn excluded(settings: &RetrieverSettings, chunk: &ChunkText) -> bool {
    named(&settings.excluded, chunk)
}

/// Is this chunk, or a chunk of this joined text, pinned and not excluded?
pub fn pinned(settings: &RetrieverSettings, chunk: &ChunkText) -> bool {
    named(&settings.pinned, chunk) && !excluded(settings, chunk)
}

fn named(places: &[Place], chunk: &ChunkText) -> bool {
    places.iter().any(|place| place.names(chunk))
}

/// The hits of a retrieval that the run keeps: the best, and every pinned chunk of the corpus, found or not.
pub fn keep(run: &mut Run<'_>, mut hits: Vec<Hit>) -> Result<Vec<Hit>, RunError> {
    let settings = &run.tools.config.retriever;
    let below = hits.split_off(hits.len().min(settings.keep.max(settings.k) as usize));
    hits.extend(below.into_iter().filter(|hit| pinned(settings, &hit.chunk)));
    let Some(corpus) = run.tools.corpus.as_ref() else {
        return Ok(hits);
    };
    let mut unknown = Vec::new();
    for place in &settings.pinned {
        let mut chunks = corpus
            .index
            .document(&place.document)
            .map_err(RunError::Search)?;
        chunks.retain(|chunk| place.names(chunk));
        if chunks.is_empty() {
            unknown.push(place);
        }
        for chunk in chunks {
            if !excluded(settings, &chunk) && hits.iter().all(|hit| hit.chunk.id != chunk.id) {
                let rank = hits.last().map_or(0, |hit| hit.fused.rank) + 1;
                hits.push(Hit {
                    chunk,
                    bm25: None,
                    vector: None,
                    fused: Ranked { score: 0.0, rank },
                });
            }
        }
    }
    for place in unknown {
        run.emit(Event::Warned {
            text: format!("retriever.pinned: no chunk of the index lies at {place}"),
        });
    }
    Ok(hits)
}

/// The pinned hits, which no stage judges, and the rest without what is excluded.
pub fn apart(settings: &RetrieverSettings, mut found: Found) -> (Vec<Hit>, Found) {
    let dropped = |hit: &Hit| DroppedChunk {
        chunk: hit.chunk.id,
        reason: DropReason::Excluded,
    };
    found.dropped.extend(
        found
            .kept
            .iter()
            .filter(|hit| excluded(settings, &hit.chunk))
            .map(dropped),
    );
    found.kept.retain(|hit| !excluded(settings, &hit.chunk));
    let (pinned, kept) = found
        .kept
        .into_iter()
        .partition(|hit| pinned(settings, &hit.chunk));
    (pinned, Found { kept, ..found })
}
