//! Refinement in rounds: drop what the answer does not need, add what is like that which it does, and measure again ("DENSE-RAG",
//! section 5.2, algorithm 3). Every round is told as it goes.

use std::collections::HashSet;

use crate::engine::error::RunError;
use crate::engine::run::{Known, Passages, Refiner, Run, Understood, context, pins};
use crate::event::{
    AddedChunk, ChunkClass, ClassifiedChunk, ContextOrigin, DropReason, DroppedChunk, Event, Hit,
    RefinementEnd,
};
use crate::methods::dense::{self, Standing};
use crate::methods::{Meaning, cosine};

use super::understanding;

/// Rounds guided by DENSE.
pub struct Rounds;

/// A context in the race.
#[derive(Clone)]
struct Contender {
    passages: Passages,
    understood: Understood,
}

impl Refiner for Rounds {
    fn refine(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<Passages, RunError> {
        let understood = understanding::known(run, question, &passages, understood)?;
        let Ok(understood) = understood else {
            return Ok(passages);
        };
        let certain = understood
            .measured
            .is_certain(&run.tools.config.understanding);
        // documents are cut again for an uncertain question only: what was cut again is refined whatever it measures
        if certain && understood.origin == ContextOrigin::Retrieved {
            return Ok(passages);
        }
        let first = understood.round;
        let (best, end) = refine(
            run,
            question,
            Contender {
                passages,
                understood,
            },
        )?;
        let round = best.understood.round;
        run.emit(Event::RefinementFinished {
            step: run.step,
            best: round,
            end,
        });
        if round != first {
            context::publish(run, question, &best.passages)?;
        }
        Ok(best.passages)
    }
}

fn refine(
    run: &mut Run<'_>,
    question: &str,
    first: Contender,
) -> Result<(Contender, RefinementEnd), RunError> {
    let config = run.tools.config;
    let (settings, threshold) = (&config.refiner, f64::from(config.understanding.threshold));
    // the candidates are the next ones of the retrieval, whatever is taken out of them meanwhile
    let pool: Vec<Hit> = first
        .passages
        .spare
        .iter()
        .take(settings.pool as usize)
        .cloned()
        .collect();
    let mut visited = Visited::default();
    let mut best = (stand(run, question, &first)?, first.clone());
    let (mut now, mut rounds) = (first, 1);
    let end = loop {
        if best.0.suffices(threshold, settings.stop) {
            break RefinementEnd::Sufficient;
        }
        if rounds >= settings.max_rounds {
            break RefinementEnd::Rounds;
        }
        visited.add(&now.passages.hits);
        now = match repair(run, question, &now, (&pool, &visited))? {
            Ok(next) => next,
            Err(end) => break end,
        };
        rounds += 1;
        let standing = stand(run, question, &now)?;
        if standing.beats(&best.0) {
            best = (standing, now.clone());
        }
    };
    Ok((best.1, end))
}

/// How a measured context stands, the model's own word on it included.
fn stand(run: &mut Run<'_>, question: &str, contender: &Contender) -> Result<Standing, RunError> {
    let dse = contender.understood.measured.dse;
    if !run.tools.config.refiner.self_evaluate {
        return Ok(Standing {
            dse,
            sufficient: true,
        });
    }
    let texts: Vec<&str> = contender
        .passages
        .hits
        .iter()
        .map(|hit| hit.chunk.text.as_str())
        .collect();
    let probability = dense::self_evaluate(run, question, &texts)?;
    let sufficient = probability.is_some_and(|yes| yes > 0.5);
    let (step, round) = (run.step, contender.understood.round);
    run.emit(Event::ContextEvaluated {
        step,
        round,
        sufficient,
        probability,
    });
    Ok(Standing { dse, sufficient })
}

/// The next context, measured; or why there is none.
fn repair(
    run: &mut Run<'_>,
    question: &str,
    now: &Contender,
    (pool, visited): (&[Hit], &Visited),
) -> Result<Result<Contender, RefinementEnd>, RunError> {
    let classes = classify(run, question, now)?;
    let candidates: Vec<&Hit> = pool.iter().filter(|hit| !visited.holds(hit)).collect();
    let round = now.understood.round;
    let (passages, added) = change(run, question, &now.passages, &classes, (&candidates, round))?;
    let kept: HashSet<u64> = passages.hits.iter().map(|hit| hit.chunk.id).collect();
    let dropped: Vec<u64> = now
        .passages
        .hits
        .iter()
        .map(|hit| hit.chunk.id)
        .filter(|chunk| !kept.contains(chunk))
        .collect();
    if dropped.is_empty() && added.is_empty() {
        return Ok(Err(RefinementEnd::Unchanged));
    }
    run.emit(Event::ContextRefined {
        step: run.step,
        round,
        dropped,
        added,
    });
    let understood = understanding::measure(run, question, &passages.hits, ContextOrigin::Refined)?;
    Ok(understood
        .map(|understood| Contender {
            passages,
            understood,
        })
        .map_err(|_| RefinementEnd::Unmeasured))
}

fn classify(
    run: &mut Run<'_>,
    question: &str,
    now: &Contender,
) -> Result<Vec<ChunkClass>, RunError> {
    let config = run.tools.config;
    let lines = understanding::lines(&now.passages.hits);
    let measured = &now.understood.measured;
    let settings = (&config.understanding, config.seed);
    let classified = dense::classify(
        run,
        question,
        &understanding::passages(&lines),
        measured,
        settings,
    )?;
    let classes = classified.iter().map(|chunk| chunk.class).collect();
    let chunks = now
        .passages
        .hits
        .iter()
        .zip(classified)
        .map(|(hit, found)| ClassifiedChunk {
            chunk: hit.chunk.id,
            class: found.class,
            without: found.without,
            agreement: found.agreement.map(|agreement| agreement as f32),
        })
        .collect();
    run.emit(Event::ChunksClassified {
        step: run.step,
        round: now.understood.round,
        chunks,
    });
    Ok(classes)
}

/// The passages after pruning and refilling. A candidate that does not fit the prompt stays out.
fn change(
    run: &mut Run<'_>,
    question: &str,
    now: &Passages,
    classes: &[ChunkClass],
    (pool, round): (&[&Hit], u32),
) -> Result<(Passages, Vec<AddedChunk>), RunError> {
    let (settings, order) = (&run.tools.config.refiner, run.tools.config.answer.order);
    let hits: Vec<&Hit> = now.hits.iter().collect();
    let (of_hits, of_pool) = (run.vectors(&hits)?, run.vectors(pool)?);
    let change = dense::change(classes, settings, |beside, taken| {
        (0..pool.len())
            .filter(|candidate| !taken.contains(candidate))
            .map(|candidate| (candidate, cosine(&of_hits[beside], &of_pool[candidate])))
            // of equally near ones the first: candidates come best first
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
    });
    let mut next = now.clone();
    let dropped = change.dropped.iter().map(|at| &now.hits[*at].chunk);
    let retriever = &run.tools.config.retriever;
    let pruned: HashSet<u64> = dropped
        .filter(|chunk| !pins::pinned(retriever, chunk))
        .map(|chunk| chunk.id)
        .collect();
    next.hits = context::best_first(next.hits, order);
    next.hits.retain(|hit| !pruned.contains(&hit.chunk.id));
    let reason = DropReason::Unnecessary { round };
    next.dropped.extend(pruned.iter().map(|chunk| DroppedChunk {
        chunk: *chunk,
        reason: reason.clone(),
    }));
    let mut told = Vec::new();
    for added in change.added {
        let hit = pool[added.candidate].clone();
        let chunk = hit.chunk.id;
        next.hits.push(hit);
        if context::fits(run, question, &next.hits)? {
            next.spare.retain(|hit| hit.chunk.id != chunk);
            next.dropped.retain(|dropped| dropped.chunk != chunk);
            told.push(AddedChunk {
                chunk,
                beside: now.hits[added.beside].chunk.id,
                cosine: added.cosine,
            });
        } else {
            next.hits.pop();
        }
    }
    next.hits = context::ordered(next.hits, order);
    Ok((next, told))
}

/// What was in a context once never comes in again, and neither does another chunk with the same text.
#[derive(Default)]
struct Visited {
    chunks: HashSet<u64>,
    texts: HashSet<Meaning>,
}

impl Visited {
    fn add(&mut self, hits: &[Hit]) {
        self.chunks.extend(hits.iter().map(|hit| hit.chunk.id));
        self.texts
            .extend(hits.iter().map(|hit| Meaning::of(&hit.chunk.text)));
    }

    fn holds(&self, hit: &Hit) -> bool {
        self.chunks.contains(&hit.chunk.id) || self.texts.contains(&Meaning::of(&hit.chunk.text))
    }
}
