//! Whether the model understands its context, measured by DENSE and told as it is.

use std::time::Instant;

use crate::corpus::fold_white_space;
use crate::engine::error::RunError;
use crate::engine::run::{Known, Passages, Run, UnderstandingMeter, Understood};
use crate::event::{
    ContextOrigin, Event, Hit, JudgedReplies, Understanding, Unmeasured, VariedChunk,
};
use crate::llm::Entailment;
use crate::methods::JudgedPair;
use crate::methods::dense::{self, Measured, Passage, Rephrased};

/// DENSE: the answers of the context and of its variants, and how far they agree.
pub struct Dense;

impl UnderstandingMeter for Dense {
    fn measure(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: &Passages,
    ) -> Result<Known, RunError> {
        measure(run, question, &passages.hits, ContextOrigin::Retrieved).map(Some)
    }
}

/// The texts of chunks as the method takes them: in one line, as the prompt shows them.
pub fn lines(hits: &[Hit]) -> Vec<(String, u32)> {
    hits.iter()
        .map(|hit| (fold_white_space(&hit.chunk.text), hit.chunk.tokens))
        .collect()
}

/// The same, borrowed.
pub fn passages(lines: &[(String, u32)]) -> Vec<Passage<'_>> {
    lines
        .iter()
        .map(|(text, tokens)| Passage {
            text,
            tokens: *tokens,
        })
        .collect()
}

/// What is known of the retrieved context; measured now where nobody did.
pub fn known(
    run: &mut Run<'_>,
    question: &str,
    passages: &Passages,
    known: Known,
) -> Result<Result<Understood, Unmeasured>, RunError> {
    known.map_or_else(
        || measure(run, question, &passages.hits, ContextOrigin::Retrieved),
        Ok,
    )
}

/// Measure a context and tell what came of it.
pub fn measure(
    run: &mut Run<'_>,
    question: &str,
    hits: &[Hit],
    origin: ContextOrigin,
) -> Result<Result<Understood, Unmeasured>, RunError> {
    let (step, started, config) = (run.step, Instant::now(), run.tools.config);
    let round = if run.contexts.last.0 == step {
        run.contexts.last.1 + 1
    } else {
        1
    };
    run.contexts.last = (step, round);
    let lines = lines(hits);
    let mut rephrasings = std::mem::take(&mut run.contexts.rephrasings);
    let settings = (&config.understanding, config.seed);
    let measured = dense::measure(run, question, &passages(&lines), &mut rephrasings, settings);
    run.contexts.rephrasings = rephrasings;
    match measured? {
        Err((reason, rephrased)) => {
            let chunks = (1..)
                .zip(hits)
                .zip(&rephrased)
                .map(|((label, hit), rephrased)| varied(label, hit, rephrased));
            run.emit(Event::UnderstandingSkipped {
                step,
                round,
                reason,
                chunks: chunks.collect(),
            });
            Ok(Err(reason))
        }
        Ok(measured) => {
            let understanding = Understanding {
                origin,
                chunks: measured_chunks(hits, &measured),
                replies: measured.replies.clone(),
                matrix: measured
                    .agreement
                    .rows()
                    .iter()
                    .map(|row| row.iter().map(|link| *link as f32).collect())
                    .collect(),
                judgements: measured.judgements.iter().map(judged).collect(),
                dse: measured.dse as f32,
                threshold: config.understanding.threshold,
                certain: measured.is_certain(&config.understanding),
                wall_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            };
            run.emit(Event::UnderstandingMeasured {
                step,
                round,
                understanding,
            });
            Ok(Ok(Understood {
                round,
                origin,
                measured,
            }))
        }
    }
}

fn measured_chunks(hits: &[Hit], measured: &Measured) -> Vec<VariedChunk> {
    let chunk = |(at, hit): (usize, &Hit)| VariedChunk {
        reply: measured.reply_of[at].map(number),
        certain: measured.is_certain_of(at),
        ..varied(number(at + 1), hit, &measured.rephrased[at])
    };
    hits.iter().enumerate().map(chunk).collect()
}

fn varied(label: u32, hit: &Hit, rephrased: &Rephrased) -> VariedChunk {
    let certainty = |judged: &Entailment| finite(judged.entailment);
    VariedChunk {
        label,
        chunk: hit.chunk.id,
        rephrasing: rephrased.text.clone().ok(),
        fault: rephrased.text.as_ref().err().copied(),
        attempts: rephrased.attempts,
        entailed: rephrased
            .judged
            .as_ref()
            .map(|both| both.each_ref().map(certainty)),
        reply: None,
        certain: None,
    }
}

fn judged(pair: &JudgedPair) -> JudgedReplies {
    let Entailment {
        entailment,
        neutral,
        contradiction,
    } = pair.judged;
    JudgedReplies {
        a: number(pair.a),
        b: number(pair.b),
        entailment: finite(entailment),
        neutral: finite(neutral),
        contradiction: finite(contradiction),
    }
}

/// Events hold finite numbers only, whatever a judge says.
fn finite(number: f32) -> f32 {
    if number.is_finite() { number } else { 0.0 }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
