//! The understanding meter: measures with DENSE how far the answers to a context and to its
//! rephrasings agree, and emits the result.

use std::time::Instant;

use crate::corpus::fold_white_space;
use crate::engine::error::RunError;
use crate::engine::run::{Known, Passages, Run, Understood};
use crate::event::{
    ContextOrigin, Hit, Part, RunEvent, Understanding, Unmeasured, VariedChunk, elapsed_ms,
    saturating_u32,
};
use crate::methods::dense::{self, Measured, Passage, Rephrased, Unmeasurable};
use crate::methods::finite;

/// Measures the retrieved context; `None` where that is switched off.
pub fn measure_retrieved(run: &mut Run<'_>, passages: &Passages) -> Result<Known, RunError> {
    if !run.should_run(Part::Understanding, passages.hits.len()) {
        return Ok(None);
    }
    measure(run, &passages.hits, ContextOrigin::Retrieved).map(Some)
}

/// The texts of chunks as DENSE takes them: each in one line, as the prompt shows it.
pub struct Lines(Vec<(String, u32)>);

impl Lines {
    pub fn new(hits: &[Hit]) -> Self {
        Self(
            hits.iter()
                .map(|hit| (fold_white_space(&hit.chunk.text), hit.chunk.tokens))
                .collect(),
        )
    }

    pub fn passages(&self) -> Vec<Passage<'_>> {
        self.0
            .iter()
            .map(|(text, tokens)| Passage {
                text,
                tokens: *tokens,
            })
            .collect()
    }
}

/// Returns how the retrieved context was understood; measures it now if no stage has done so.
pub fn get_or_measure(
    run: &mut Run<'_>,
    passages: &Passages,
    known: Known,
) -> Result<Result<Understood, Unmeasured>, RunError> {
    match known {
        Some(known) => Ok(known),
        None => measure(run, &passages.hits, ContextOrigin::Retrieved),
    }
}

/// Measures a context and emits the result, or the reason why there is none.
pub fn measure(
    run: &mut Run<'_>,
    hits: &[Hit],
    origin: ContextOrigin,
) -> Result<Result<Understood, Unmeasured>, RunError> {
    let started = Instant::now();
    let step = run.step;
    let round = run.contexts.next_round(step);

    match measure_answers(run, hits)? {
        Ok(measured) => {
            let understood = Understood {
                round,
                origin,
                measured,
            };
            let understanding = to_event(hits, &understood, started);
            run.emit(RunEvent::UnderstandingMeasured {
                step,
                round,
                understanding,
            });
            Ok(Ok(understood))
        }
        Err(Unmeasurable { reason, rephrased }) => {
            let chunks = (1..)
                .zip(hits)
                .zip(&rephrased)
                .map(|((label, hit), rephrased)| varied_chunk(label, hit, rephrased))
                .collect();
            run.emit(RunEvent::UnderstandingSkipped {
                step,
                round,
                reason,
                chunks,
            });
            Ok(Err(reason))
        }
    }
}

fn measure_answers(
    run: &mut Run<'_>,
    hits: &[Hit],
) -> Result<Result<Measured, Unmeasurable>, RunError> {
    let config = run.tools.config;
    let question = run.question;
    // the method borrows the run for its calls, so the rephrasings leave it for that long
    let mut rephrasings = std::mem::take(&mut run.contexts.rephrasings);

    let dense = dense::Dense {
        calls: run,
        question,
        settings: &config.understanding,
        seed: config.seed,
    };

    let measured = dense.measure(&Lines::new(hits).passages(), &mut rephrasings);
    run.contexts.rephrasings = rephrasings;
    Ok(measured?)
}

fn to_event(hits: &[Hit], understood: &Understood, started: Instant) -> Understanding {
    let measured = &understood.measured;

    Understanding {
        origin: understood.origin,
        chunks: measured_chunks(hits, measured),
        replies: measured.replies.clone(),
        matrix: measured
            .agreement
            .rows()
            .iter()
            .map(|row| row.iter().map(|link| *link as f32).collect())
            .collect(),
        judgements: measured.judgements.clone(),
        dse: measured.dse as f32,
        threshold: dense::THRESHOLD,
        certain: measured.is_certain(),
        wall_ms: elapsed_ms(started),
    }
}

fn measured_chunks(hits: &[Hit], measured: &Measured) -> Vec<VariedChunk> {
    hits.iter()
        .zip(&measured.rephrased)
        .enumerate()
        .map(|(at, (hit, rephrased))| VariedChunk {
            reply: measured.reply_of[at].map(saturating_u32),
            certain: measured.is_certain_of(at),
            ..varied_chunk(saturating_u32(at + 1), hit, rephrased)
        })
        .collect()
}

fn varied_chunk(label: u32, hit: &Hit, rephrased: &Rephrased) -> VariedChunk {
    let entailed = rephrased.judged.as_ref();
    VariedChunk {
        label,
        chunk: hit.chunk.id,
        rephrasing: rephrased.text.clone().ok(),
        fault: rephrased.text.as_ref().err().copied(),
        attempts: rephrased.attempts,
        entailed: entailed.map(|both| both.each_ref().map(|judged| finite(judged.entailment))),
        reply: None,
        certain: None,
    }
}
