//! The filters: decide which of the retrieved chunks stay in the prompt.

use crate::config::FilterKind;
use crate::config::prompts::PromptName;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, context};
use crate::event::{DropReason, DroppedChunk, GradedChunk, JudgedChunk, Part, RunEvent, Stage};
use crate::llm::Prompt;
use crate::methods::chunkrag::{self, Kept, Twin};
use crate::methods::{JudgementKind, ModelCalls as _, cosine};

/// Room for a label and the end of the turn.
const LABEL_TOKENS: u32 = 16;
/// Minimum probability of "relevant" to keep a text. SAKI-RAG's judge replies with yes or no: this
/// is the likelier of the two.
const MIN_PROBABILITY: f32 = 0.5;
/// Cosine similarity above which a lower-ranked text is redundant (ChunkRAG, algorithm 1, line 7).
const MAX_SIMILARITY: f32 = 0.9;
/// Weights of the grades in the score of a text: relevance, reflection, critic. The critic has read
/// the other two and compares names, dates and numbers, so it counts the most.
const WEIGHTS: [f32; 3] = [0.3, 0.3, 0.4];
/// Minimum variance of the scores for their mean to be the threshold: the epsilon of algorithm 1.
/// Scores that lie closer together do not say which text is better, and all but the best go.
const MIN_VARIANCE: f64 = 0.01;

/// Drops what the filter of the settings finds irrelevant.
pub fn filter(run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
    if !run.should_run(Part::Filter, passages.hits.len()) {
        return Ok(passages);
    }
    match run.tools.config.filter.kind {
        FilterKind::Off => Ok(passages),
        FilterKind::Binary => judge(run, passages),
        // ChunkRAG's filter (section 3): redundancy, three grades, dynamic threshold
        FilterKind::Graded => {
            let passages = drop_redundant(run, passages)?;
            let passages = drop_too_long(run, PromptName::GradeCritic, passages)?;
            grade(run, passages)
        }
    }
}

/// Drops the texts that are not relevant: SAKI-RAG's filter (algorithm 1, lines 6 to 11).
fn judge(run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
    let passages = drop_too_long(run, PromptName::JudgeRelevant, passages)?;
    let texts = context::judged_texts(run.tools.config, &passages.hits);
    let prompts = texts.iter().map(|text| {
        let values = [
            ("passage", text.as_str()),
            ("question", passages.sought.as_str()),
        ];
        run.prompt(PromptName::JudgeRelevant, &values)
    });
    let prompts: Vec<Prompt> = prompts.collect();
    let rows = run.classify(JudgementKind::relevance("relevant"), &prompts)?;
    let probabilities: Vec<f32> = rows.iter().map(|row| row.shares[0]).collect();

    let fallback = run.tools.config.filter.fallback as usize;
    let exact: Vec<f64> = probabilities.iter().map(|one| f64::from(*one)).collect();
    let Kept { kept, fell_back } = chunkrag::keep(&exact, f64::from(MIN_PROBABILITY), fallback);

    let judged = passages.hits.iter().zip(&probabilities);
    let judged = judged.map(|(hit, probability)| JudgedChunk {
        chunk: hit.chunk.id,
        probability: *probability,
    });
    run.emit(RunEvent::ChunksJudged {
        step: run.step,
        judged: judged.collect(),
        min_probability: MIN_PROBABILITY,
        fell_back,
    });
    let verdicts = probabilities.into_iter().zip(kept);
    let verdicts = verdicts.map(|(probability, is_kept)| {
        (!is_kept).then_some(DropReason::Irrelevant {
            probability,
            min_probability: MIN_PROBABILITY,
        })
    });
    Ok(narrow(run, Stage::Judged, passages, verdicts))
}

/// Drops the texts whose judging prompt the generator cannot read: they would not fit the prompt of
/// the answer either.
fn drop_too_long(
    run: &mut Run<'_>,
    judge: PromptName,
    mut passages: Passages,
) -> Result<Passages, RunError> {
    let context_tokens = run.tools.generator.card().context_tokens;
    let available_tokens = context_tokens.saturating_sub(LABEL_TOKENS);

    let mut hits = Vec::with_capacity(passages.hits.len());
    let texts = context::judged_texts(run.tools.config, &passages.hits);
    for (hit, text) in passages.hits.into_iter().zip(&texts) {
        let mut values = vec![
            ("question", passages.sought.as_str()),
            ("passage", text.as_str()),
        ];
        if judge == PromptName::GradeCritic {
            // the longest grades of the two prompts before it
            values.extend([("rating", "10"), ("second_rating", "10")]);
        }
        let needed_tokens = context::count(run.tools.generator, &run.prompt(judge, &values))?;

        if needed_tokens > available_tokens {
            passages.dropped.push(DroppedChunk {
                chunk: hit.chunk.id,
                reason: DropReason::ContextFull {
                    needed_tokens,
                    available_tokens,
                },
            });
        } else {
            hits.push(hit);
        }
    }
    Ok(Passages { hits, ..passages })
}

/// Drops the texts whose vectors are nearly those of a better one.
fn drop_redundant(run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
    let vectors = run.vectors(&passages.hits.iter().collect::<Vec<_>>())?;
    let twins = chunkrag::find_redundant(vectors.len(), MAX_SIMILARITY, |a, b| {
        cosine(&vectors[a], &vectors[b])
    });

    let reason = |twin: Twin| DropReason::Redundant {
        duplicate_of: passages.hits[twin.of].chunk.id,
        similarity: twin.cosine,
    };
    let verdicts: Vec<_> = twins.into_iter().map(|twin| twin.map(reason)).collect();
    Ok(narrow(run, Stage::Redundant, passages, verdicts))
}

/// Grades every text three times and drops those below the dynamic threshold (ChunkRAG, section 3).
fn grade(run: &mut Run<'_>, mut passages: Passages) -> Result<Passages, RunError> {
    let texts = context::judged_texts(run.tools.config, &passages.hits);
    let grades = chunkrag::grade(run, &passages.sought, &texts)?;
    let scores = grades.iter().map(|one| chunkrag::combine(*one, WEIGHTS));
    let scores: Vec<f32> = scores.collect();
    let exact: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();

    let filter = &run.tools.config.filter;
    let threshold = chunkrag::threshold(&exact, MIN_VARIANCE);
    let mut kept = chunkrag::keep(&exact, threshold.value, filter.fallback as usize);
    if filter.share > 0.0 {
        let tokens: Vec<u32> = passages.hits.iter().map(|hit| hit.chunk.tokens).collect();
        let wanted = chunkrag::tokens_of(&tokens, filter.share);
        if !chunkrag::has_clear(&exact, filter.clear_score) {
            chunkrag::fill(&mut kept.kept, &tokens, wanted);
        }
        passages.wanted_tokens = Some(wanted);
    }

    let graded = passages.hits.iter().zip(grades).zip(&scores);
    let graded = graded.map(|((hit, grades), score)| GradedChunk {
        chunk: hit.chunk.id,
        grades,
        score: *score,
    });
    run.emit(RunEvent::ChunksGraded {
        step: run.step,
        graded: graded.collect(),
        threshold: threshold.value as f32,
        is_tight: threshold.is_tight,
        fell_back: kept.fell_back,
    });
    let verdicts = kept.kept.into_iter().zip(scores);
    let verdicts = verdicts.map(|(is_kept, score)| {
        (!is_kept).then_some(DropReason::BelowThreshold {
            score,
            threshold: threshold.value as f32,
        })
    });
    Ok(narrow(run, Stage::Graded, passages, verdicts))
}

/// Drops every hit that has a reason to be dropped, and emits what the stage left.
fn narrow(
    run: &mut Run<'_>,
    stage: Stage,
    mut passages: Passages,
    verdicts: impl IntoIterator<Item = Option<DropReason>>,
) -> Passages {
    let mut hits = Vec::with_capacity(passages.hits.len());
    let mut dropped = Vec::new();
    for (hit, verdict) in passages.hits.into_iter().zip(verdicts) {
        match verdict {
            Some(reason) => dropped.push(DroppedChunk {
                chunk: hit.chunk.id,
                reason,
            }),
            None => hits.push(hit),
        }
    }

    run.emit_stage(stage, &hits, &dropped);
    passages.dropped.append(&mut dropped);
    Passages { hits, ..passages }
}
