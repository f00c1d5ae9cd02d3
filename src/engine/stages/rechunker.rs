//! The rechunker: where the context is not understood, the documents behind the hits are split
//! again by meaning, and the best of the new chunks replace the old ones ("DENSE-RAG", section
//! 5.1).

use std::time::Instant;

use crate::config::MinSimilarity;
use crate::corpus::SemanticSplit;
use crate::engine::error::RunError;
use crate::engine::run::{Known, Passages, Run, context, documents, pins};
use crate::event::{
    ChunkText, ContextOrigin, Hit, Ranked, RechunkedDocument, Retrieval, RunEvent, elapsed_us,
    saturating_u32,
};
use crate::index::Rechunked;
use crate::methods::cosine;

use super::understanding;

/// Returns the context of the new chunks with how it is understood, or the old one where that is
/// understood.
pub fn rechunk(
    run: &mut Run<'_>,
    passages: Passages,
    understood: Known,
) -> Result<(Passages, Known), RunError> {
    let understood = understanding::get_or_measure(run, &passages, understood)?;
    let is_uncertain = understood
        .as_ref()
        .is_ok_and(|understood| !understood.measured.is_certain());
    if !is_uncertain {
        return Ok((passages, Some(understood)));
    }

    let started = Instant::now();
    let chunks = rechunk_documents(run, &passages)?;
    if chunks.is_empty() {
        return Ok((passages, Some(understood)));
    }

    let hits = nearest(run, chunks)?;
    run.emit(RunEvent::RetrievalFinished {
        step: run.step,
        retrieval: Retrieval {
            query: run.question.to_owned(),
            vector_found: saturating_u32(hits.len()),
            hits: hits.clone(),
            wall_us: elapsed_us(started),
            ..Retrieval::default()
        },
    });

    let passages = context::choose(run, Passages::from_hits(hits))?;
    let understood = understanding::measure(run, &passages.hits, ContextOrigin::Rechunked)?;
    Ok((passages, Some(understood)))
}

/// A chunk with its unit vector.
type NewChunk = (ChunkText, Vec<f32>);

/// Splits the documents behind all hits again and returns their new chunks.
fn rechunk_documents(run: &mut Run<'_>, passages: &Passages) -> Result<Vec<NewChunk>, RunError> {
    let Some(corpus) = run.tools.corpus.as_mut() else {
        return Ok(Vec::new());
    };

    let documents = documents(passages.hits.iter().chain(&passages.spare));
    let split = SemanticSplit::new(&run.tools.config.chunker);
    let rechunked = corpus
        .index
        .rechunk(&documents, split, corpus.embedder, corpus.counter)?;
    let (similarity, percentile) = match split.similarity {
        MinSimilarity::Cosine(cosine) => (cosine, None),
        MinSimilarity::Percentile(percentile) => (0.0, Some(percentile.number())),
    };
    run.emit(RunEvent::DocumentsRechunked {
        step: run.step,
        documents: rechunked.iter().map(to_event).collect(),
        similarity,
        percentile,
        max_tokens: split.tokens,
    });
    let chunks = rechunked.into_iter().filter_map(|one| one.chunks.ok());
    Ok(chunks.flat_map(|chunks| chunks.to_vec()).collect())
}

fn to_event(document: &Rechunked) -> RechunkedDocument {
    let chunks = document.chunks.as_ref().map_or(0, |chunks| chunks.len());
    RechunkedDocument {
        document: document.document.clone(),
        sentences: document.sentences,
        chunks: saturating_u32(chunks),
        cached: document.is_cached,
        error: document.chunks.as_ref().err().cloned(),
    }
}

/// Returns the chunks nearest to the question, best first, as many as a retrieval keeps.
fn nearest(run: &mut Run<'_>, chunks: Vec<NewChunk>) -> Result<Vec<Hit>, RunError> {
    let query = match run.tools.corpus.as_mut() {
        Some(corpus) => corpus.embedder.embed_queries(&[run.question])?.pop(),
        None => None,
    };
    let query = query.unwrap_or_default();
    let chunks = chunks.into_iter();
    let scored = chunks.map(|(chunk, vector)| (cosine(&query, &vector), chunk, vector));
    let mut scored: Vec<(f32, ChunkText, Vec<f32>)> = scored.collect();

    // both sorts are stable: of equally near chunks the one whose document ranked higher is first,
    // and a pinned one is never cut off
    let settings = &run.tools.config.retriever;
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.sort_by_key(|(_, chunk, _)| !pins::is_pinned(settings, chunk));
    scored.truncate(settings.max_hits());
    let mut hits = Vec::with_capacity(scored.len());
    for (rank, (score, chunk, vector)) in (1..).zip(scored) {
        let ranked = Ranked { score, rank };
        run.contexts.vectors.insert(chunk.id, vector);
        hits.push(Hit {
            vector: Some(ranked),
            ..Hit::new(chunk, ranked)
        });
    }
    Ok(hits)
}
