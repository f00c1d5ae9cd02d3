//! The refiner: drops what the answer does not need, adds what is similar to the chunks that it
//! does need, and measures again, round by round ("DENSE-RAG", section 5.2, algorithm 3).

use std::collections::HashSet;

use crate::config::{ChunkerKind, RefinerKind};
use crate::engine::error::RunError;
use crate::engine::run::{Known, Passages, Run, Understood, context, pins};
use crate::event::{
    AddedChunk, ChunkClass, ClassifiedChunk, ContextOrigin, DropReason, DroppedChunk, Hit, Part,
    RefinementEnd, RunEvent,
};
use crate::methods::dense::{self, Evaluation};
use crate::methods::{Meaning, cosine, is_refusal};

use super::rechunker::rechunk;
use super::understanding;

/// Repairs the passages: re-chunked documents, rounds, or one after the other.
pub fn refine(
    run: &mut Run<'_>,
    passages: Passages,
    understood: Known,
) -> Result<Passages, RunError> {
    if !run.should_run(Part::Refiner, passages.hits.len()) {
        return Ok(passages);
    }

    let config = run.tools.config;
    let is_adaptive = config.chunker.kind == ChunkerKind::Adaptive;
    let has_rounds = config.refiner.kind == RefinerKind::Dense;
    let (passages, understood) = if is_adaptive {
        rechunk(run, passages, understood)?
    } else {
        (passages, understood)
    };
    if has_rounds {
        refine_in_rounds(run, passages, understood)
    } else {
        Ok(passages)
    }
}

/// Refines a context that is not understood in rounds guided by DENSE.
fn refine_in_rounds(
    run: &mut Run<'_>,
    passages: Passages,
    understood: Known,
) -> Result<Passages, RunError> {
    let Ok(understood) = understanding::get_or_measure(run, &passages, understood)? else {
        return Ok(passages);
    };
    // documents are re-chunked for an uncertain question only, so their chunks are refined
    // whatever they measure
    if understood.measured.is_certain() && understood.origin == ContextOrigin::Retrieved {
        return Ok(passages);
    }

    let first_round = understood.round;
    let first = Candidate {
        passages,
        understood,
    };
    let (best, end) = repair_in_rounds(run, first)?;
    let best_round = best.understood.round;
    run.emit(RunEvent::RefinementFinished {
        step: run.step,
        best: best_round,
        end,
    });

    if best_round != first_round {
        context::publish(run, &best.passages)?;
    }
    Ok(best.passages)
}

/// A measured context that may become the one of the answer.
#[derive(Clone)]
struct Candidate {
    passages: Passages,
    understood: Understood,
}

/// Repairs the context until it suffices, no round is left or nothing changes. Returns the best
/// candidate and the reason for the end.
fn repair_in_rounds(
    run: &mut Run<'_>,
    first: Candidate,
) -> Result<(Candidate, RefinementEnd), RunError> {
    let config = run.tools.config;
    let settings = &config.refiner;
    // the pool is fixed: what a round takes out of it is not replaced by lower-ranked hits
    let retriever = &config.retriever;
    let in_pool = retriever.keep.saturating_sub(retriever.k) as usize;
    let mut pool = first.passages.spare.clone();
    pool.truncate(in_pool);
    let mut visited = Visited::default();
    let mut best = first.clone();
    let mut best_evaluation = evaluate(run, &first)?;
    let mut now = first;
    let mut rounds = 1;
    let end = loop {
        if best_evaluation.is_good_enough() {
            break RefinementEnd::Sufficient;
        }
        if rounds >= settings.max_rounds {
            break RefinementEnd::RoundLimit;
        }

        visited.add(&now.passages.hits);
        let unvisited: Vec<&Hit> = pool.iter().filter(|hit| !visited.holds(hit)).collect();
        now = match repair(run, &now, &unvisited)? {
            Ok(next) => next,
            Err(end) => break end,
        };
        rounds += 1;

        let evaluation = evaluate(run, &now)?;
        if evaluation.is_better_than(&best_evaluation) {
            best = now.clone();
            best_evaluation = evaluation;
        }
    };
    Ok((best, end))
}

/// Evaluates a measured context: its uncertainty, and where the settings ask for it whether the
/// model answers from it and whether it calls it sufficient itself.
fn evaluate(run: &mut Run<'_>, candidate: &Candidate) -> Result<Evaluation, RunError> {
    let settings = &run.tools.config.refiner;
    let measured = &candidate.understood.measured;
    let evaluation = Evaluation {
        dse: measured.dse,
        sufficient: true,
        answered: !settings.prefer_answers || !is_refusal(&measured.replies[0]),
    };
    if !settings.self_evaluate {
        return Ok(evaluation);
    }

    let question = run.question;
    let texts = context::judged_texts(run.tools.config, &candidate.passages.hits);
    let probability = dense::self_evaluate(run, question, &texts)?;
    let sufficient = probability.is_some_and(|yes| yes > 0.5);
    run.emit(RunEvent::ContextEvaluated {
        step: run.step,
        round: candidate.understood.round,
        sufficient,
        probability,
        answered: evaluation.answered,
    });
    Ok(Evaluation {
        sufficient,
        ..evaluation
    })
}

/// Returns the next context, measured, or the reason why there is none.
fn repair(
    run: &mut Run<'_>,
    now: &Candidate,
    pool: &[&Hit],
) -> Result<Result<Candidate, RefinementEnd>, RunError> {
    let classes = classify(run, now)?;
    let (passages, added) = change(run, now, &classes, pool)?;

    let kept: HashSet<u64> = passages.hits.iter().map(|hit| hit.chunk.id).collect();
    let before = now.passages.hits.iter().map(|hit| hit.chunk.id);
    let dropped: Vec<u64> = before.filter(|chunk| !kept.contains(chunk)).collect();
    if dropped.is_empty() && added.is_empty() {
        return Ok(Err(RefinementEnd::Unchanged));
    }
    run.emit(RunEvent::ContextRefined {
        step: run.step,
        round: now.understood.round,
        dropped,
        added,
    });

    let understood = understanding::measure(run, &passages.hits, ContextOrigin::Refined)?;
    Ok(understood
        .map(|understood| Candidate {
            passages,
            understood,
        })
        .map_err(|_| RefinementEnd::Unmeasured))
}

/// Classifies every chunk of the context and emits the classes.
fn classify(run: &mut Run<'_>, now: &Candidate) -> Result<Vec<ChunkClass>, RunError> {
    let config = run.tools.config;
    let question = run.question;
    let hits = &now.passages.hits;
    let measured = &now.understood.measured;
    let dense = dense::Dense {
        calls: run,
        question,
        settings: &config.understanding,
        seed: config.seed,
    };
    let classified = dense.classify(&understanding::lines(config, hits), measured)?;
    let classes = classified.iter().map(|chunk| chunk.class).collect();
    let chunks = hits.iter().zip(classified);
    let chunks = chunks.map(|(hit, classified)| ClassifiedChunk {
        chunk: hit.chunk.id,
        class: classified.class,
        without: classified.without,
        agreement: classified.agreement.map(|agreement| agreement as f32),
    });
    run.emit(RunEvent::ChunksClassified {
        step: run.step,
        round: now.understood.round,
        chunks: chunks.collect(),
    });
    Ok(classes)
}

/// Returns the passages after pruning and refilling. A chunk of the pool that does not fit the
/// prompt stays out.
fn change(
    run: &mut Run<'_>,
    now: &Candidate,
    classes: &[ChunkClass],
    pool: &[&Hit],
) -> Result<(Passages, Vec<AddedChunk>), RunError> {
    let config = run.tools.config;
    let hits = &now.passages.hits;
    let of_hits = run.vectors(&hits.iter().collect::<Vec<_>>())?;
    let of_pool = run.vectors(pool)?;
    let change = dense::change(classes, config.refiner.refill, |beside, taken| {
        (0..pool.len())
            .filter(|candidate| !taken.contains(candidate))
            .map(|candidate| (candidate, cosine(&of_hits[beside], &of_pool[candidate])))
            // of equally near ones the first: the pool is ordered best first
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
    });

    let mut next = prune(run, now, &change.dropped);
    let mut added = Vec::new();
    for addition in change.added {
        let hit = pool[addition.candidate].clone();
        let chunk = hit.chunk.id;
        next.hits.push(hit);
        if !context::fits(run, &next.hits)? {
            next.hits.pop();
            continue;
        }
        next.spare.retain(|hit| hit.chunk.id != chunk);
        next.dropped.retain(|dropped| dropped.chunk != chunk);
        added.push(AddedChunk {
            chunk,
            similar_to: hits[addition.beside].chunk.id,
            similarity: addition.cosine,
        });
    }
    next.hits = context::order(next.hits, config.answer.order);
    Ok((next, added))
}

/// Returns the passages without these, best first. A pinned chunk stays whatever its class.
fn prune(run: &Run<'_>, now: &Candidate, dropped: &[usize]) -> Passages {
    let config = run.tools.config;
    let pruned = dropped.iter().map(|at| &now.passages.hits[*at].chunk);
    let pruned = pruned.filter(|chunk| !pins::is_pinned(&config.retriever, chunk));
    let pruned: Vec<u64> = pruned.map(|chunk| chunk.id).collect();
    let mut next = now.passages.clone();
    next.hits = context::best_first(next.hits, config.answer.order);
    next.hits.retain(|hit| !pruned.contains(&hit.chunk.id));
    let round = now.understood.round;
    let reason = DropReason::Unnecessary { round };
    next.dropped
        .extend(pruned.into_iter().map(|chunk| DroppedChunk {
            chunk,
            reason: reason.clone(),
        }));
    next
}

/// The chunks that have been in a context. None of them comes in again, nor does another chunk with
/// the same text.
#[derive(Default)]
struct Visited {
    chunks: HashSet<u64>,
    texts: HashSet<Meaning>,
}

impl Visited {
    fn add(&mut self, hits: &[Hit]) {
        for hit in hits {
            self.chunks.insert(hit.chunk.id);
            self.texts.insert(Meaning::new(&hit.chunk.text));
        }
    }

    fn holds(&self, hit: &Hit) -> bool {
        self.chunks.contains(&hit.chunk.id) || self.texts.contains(&Meaning::new(&hit.chunk.text))
    }
}
