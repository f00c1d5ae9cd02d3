//! Adaptive chunking: where the context is not understood, the documents behind the hits are cut again by meaning, and the best of the
//! new chunks take the place of the old ones ("DENSE-RAG", section 5.1).

use std::time::Instant;

use crate::corpus::SemanticCut;
use crate::engine::error::RunError;
use crate::engine::run::{Found, Known, Passages, QuestionChunker, Run, context, pins};
use crate::event::{ChunkText, ContextOrigin, Event, Hit, Ranked, RecutDocument, Retrieval};
use crate::index::Recut;
use crate::methods::{ModelCalls as _, cosine};

use super::understanding;

/// Cuts again for questions whose context is not understood.
pub struct Adaptive;

impl QuestionChunker for Adaptive {
    fn recut(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<(Passages, Known), RunError> {
        let understood = understanding::known(run, question, &passages, understood)?;
        let settings = &run.tools.config.understanding;
        if understood
            .as_ref()
            .map_or(true, |understood| understood.measured.is_certain(settings))
        {
            return Ok((passages, Some(understood)));
        }
        let started = Instant::now();
        let chunks = cut_again(run, &passages)?;
        if chunks.is_empty() {
            return Ok((passages, Some(understood)));
        }
        let hits = nearest(run, question, chunks)?;
        let retrieval = Retrieval {
            query: question.to_owned(),
            fusion: run.tools.config.retriever.fusion,
            bm25_found: 0,
            vector_found: u32::try_from(hits.len()).unwrap_or(u32::MAX),
            hits,
            wall_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        run.emit(Event::RetrievalFinished {
            step: run.step,
            retrieval: retrieval.clone(),
        });
        let passages = context::choose(
            run,
            question,
            Found {
                kept: retrieval.hits,
                ..Found::default()
            },
        )?;
        let understood =
            understanding::measure(run, question, &passages.hits, ContextOrigin::Recut)?;
        Ok((passages, Some(understood)))
    }
}

/// The new chunks of the documents behind all hits, with their vectors.
fn cut_again(
    run: &mut Run<'_>,
    passages: &Passages,
) -> Result<Vec<(ChunkText, Vec<f32>)>, RunError> {
    let mut documents: Vec<&str> = Vec::new();
    for hit in passages.hits.iter().chain(&passages.spare) {
        if !documents.contains(&hit.chunk.document.as_str()) {
            documents.push(&hit.chunk.document);
        }
    }
    let cut = SemanticCut::of(&run.tools.config.chunker);
    let Some(corpus) = run.tools.corpus.as_mut() else {
        return Ok(Vec::new());
    };
    let recuts = corpus
        .index
        .recut(&documents, cut, corpus.embedder, corpus.counter)?;
    let documents = recuts.iter().map(told).collect();
    let (similarity, most_tokens) = (cut.similarity, cut.tokens);
    run.emit(Event::DocumentsRecut {
        step: run.step,
        documents,
        similarity,
        most_tokens,
    });
    Ok(recuts
        .into_iter()
        .filter_map(|recut| recut.chunks.ok())
        .flat_map(|chunks| chunks.to_vec())
        .collect())
}

fn told(recut: &Recut) -> RecutDocument {
    RecutDocument {
        document: recut.document.clone(),
        sentences: recut.sentences,
        chunks: recut
            .chunks
            .as_ref()
            .map_or(0, |chunks| u32::try_from(chunks.len()).unwrap_or(u32::MAX)),
        known: recut.known,
        fault: recut.chunks.as_ref().err().cloned(),
    }
}

/// The chunks nearest to the question, best first, as many as a retrieval keeps.
fn nearest(
    run: &mut Run<'_>,
    question: &str,
    chunks: Vec<(ChunkText, Vec<f32>)>,
) -> Result<Vec<Hit>, RunError> {
    let query = run.embed(&[question])?.pop().unwrap_or_default();
    let mut near: Vec<(f32, ChunkText, Vec<f32>)> = chunks
        .into_iter()
        .map(|(chunk, vector)| (cosine(&query, &vector), chunk, vector))
        .collect();
    // of equal ones the first: documents come in the order of the hits
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let settings = &run.tools.config.retriever;
    // none that is pinned is cut off
    near.sort_by_key(|(_, chunk, _)| !pins::pinned(settings, chunk));
    near.truncate(settings.keep.max(settings.k) as usize);
    Ok((1..)
        .zip(near)
        .map(|(rank, (score, chunk, vector))| {
            run.contexts.vectors.insert(chunk.id, vector);
            let ranked = Ranked { score, rank };
            Hit {
                chunk,
                bm25: None,
                vector: Some(ranked),
                fused: ranked,
            }
        })
        .collect())
}
