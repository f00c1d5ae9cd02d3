//! The understanding meter: measures with DENSE how far the answers to a context and to its
//! rephrasings agree, and emits the result.

use std::time::Instant;

use crate::config::{Config, RefinerKind};
use crate::corpus::fold_white_space;
use crate::engine::error::RunError;
use crate::engine::run::{Known, Passages, Run, Understood, context};
use crate::event::{
    ContextOrigin, Hit, Part, RunEvent, Understanding, Unmeasured, VariedChunk, elapsed_ms,
    saturating_u32,
};
use crate::methods::dense::{self, Measured, Passage, Rephrased, Unmeasurable};
use crate::methods::finite;

/// Chunks that are rephrased and compared at once where the user may stop in between.
const PART: usize = 2;

/// Measures the retrieved context; `None` where that is switched off.
pub fn measure_retrieved(run: &mut Run<'_>, passages: &Passages) -> Result<Known, RunError> {
    if !run.should_run(Part::Understanding, passages.hits.len()) {
        return Ok(None);
    }
    measure(run, &passages.hits, ContextOrigin::Retrieved).map(Some)
}

/// Returns chunks as DENSE takes them: each in one line, as the prompt shows it.
pub fn lines(config: &Config, hits: &[Hit]) -> Vec<Passage> {
    let line = |hit: &Hit| Passage {
        place: context::judged_place(config, hit),
        text: fold_white_space(&hit.chunk.text),
        tokens: hit.chunk.tokens,
    };
    hits.iter().map(line).collect()
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

    // what only the user waits for is measured in parts, since the user may stop
    let at_once = match run.tools.config.refiner.kind {
        RefinerKind::Off => PART,
        RefinerKind::Dense => hits.len(),
    };
    let mut known = None;
    let mut begun = 0;
    let measured = loop {
        let count = (begun + at_once).min(hits.len());
        if at_once < hits.len() {
            run.emit(RunEvent::CallsProgressed {
                purpose: "measure".to_owned(),
                begun: saturating_u32(begun + 1),
                total: saturating_u32(hits.len()),
            });
        }
        let measured = measure_answers(run, hits, count, known.as_ref())?;
        if count == hits.len() {
            break measured;
        }
        if let Ok(measured) = measured {
            // one reworded chunk shows nothing of the others
            if measured.replies.len() > PART {
                run.emit(RunEvent::UnderstandingProgressed {
                    step,
                    round,
                    understanding: to_event(hits, &measured, origin, started),
                });
            }
            known = Some(measured);
        }
        begun = count;
    };

    match measured {
        Ok(measured) => {
            let understanding = to_event(hits, &measured, origin, started);
            let understood = Understood {
                round,
                origin,
                measured,
            };
            run.emit(RunEvent::UnderstandingMeasured {
                step,
                round,
                understanding,
            });
            Ok(Ok(understood))
        }
        Err(Unmeasurable { reason, rephrased }) => {
            let chunks = (1..).zip(hits).zip(&rephrased);
            let chunks = chunks.map(|((label, hit), one)| varied_chunk(label, hit, one));
            run.emit(RunEvent::UnderstandingSkipped {
                step,
                round,
                reason,
                chunks: chunks.collect(),
            });
            Ok(Err(reason))
        }
    }
}

fn measure_answers(
    run: &mut Run<'_>,
    hits: &[Hit],
    count: usize,
    known: Option<&Measured>,
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

    let measured = dense.measure(&lines(config, hits), count, &mut rephrasings, known);
    run.contexts.rephrasings = rephrasings;
    Ok(measured?)
}

fn to_event(
    hits: &[Hit],
    measured: &Measured,
    origin: ContextOrigin,
    started: Instant,
) -> Understanding {
    let chunks = hits.iter().zip(&measured.rephrased).enumerate();
    let chunks = chunks.map(|(at, (hit, rephrased))| VariedChunk {
        reply: measured.reply_of[at].map(saturating_u32),
        certain: measured.is_certain_of(at),
        ..varied_chunk(saturating_u32(at + 1), hit, rephrased)
    });
    let rows = measured.agreement.rows().iter();
    let rows = rows.map(|row| row.iter().map(|link| *link as f32).collect());
    Understanding {
        origin,
        chunks: chunks.collect(),
        replies: measured.replies.clone(),
        matrix: rows.collect(),
        judgements: measured.judgements.clone(),
        dse: measured.dse as f32,
        threshold: dense::THRESHOLD,
        certain: measured.is_certain(),
        wall_ms: elapsed_ms(started),
    }
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
