//! The filters: decide which of the retrieved chunks stay in the prompt.

use crate::config::prompts::PromptName;
use crate::config::{PrefilterKind, ThresholdKind};
use crate::engine::error::RunError;
use crate::engine::run::{HitStage, Passages, Run, context};
use crate::event::{DropReason, DroppedChunk, GradedChunk, Hit, JudgedChunk, RunEvent, Stage};
use crate::methods::chunkrag::{self, Kept, Twin};
use crate::methods::{JudgementKind, MethodError, ModelCalls as _, cosine};

/// Room for a label and the end of the turn.
const LABEL_TOKENS: u32 = 16;

/// ChunkRAG's filter (section 3): redundancy, three grades, dynamic threshold.
pub struct Graded;

impl HitStage for Graded {
    fn apply(&mut self, run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
        let passages = match run.tools.config.filter.prefilter {
            PrefilterKind::Off => passages,
            PrefilterKind::TfIdf => drop_alike(run, passages),
        };

        let passages = drop_redundant(run, passages)?;
        let passages = drop_too_long(run, PromptName::GradeCritic, passages)?;
        grade(run, passages)
    }
}

/// SAKI-RAG's filter (algorithm 1, lines 6 to 11): relevant or not.
pub struct Binary;

impl HitStage for Binary {
    fn apply(&mut self, run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
        let passages = drop_too_long(run, PromptName::JudgeRelevant, passages)?;
        let prompts = passages
            .hits
            .iter()
            .map(|hit| {
                let values = [
                    ("c", hit.chunk.text.as_str()),
                    ("q", passages.sought.as_str()),
                ];
                run.prompt(PromptName::JudgeRelevant, &values)
            })
            .collect::<Result<Vec<_>, MethodError>>()?;
        let rows = run.classify(JudgementKind::relevance("relevant"), &prompts)?;
        let probabilities: Vec<f32> = rows.iter().map(|row| row.shares[0]).collect();

        let filter = &run.tools.config.filter;
        let min_probability = filter.min_probability;
        let exact: Vec<f64> = probabilities.iter().map(|one| f64::from(*one)).collect();
        let Kept { kept, fell_back } =
            chunkrag::keep(&exact, f64::from(min_probability), filter.fallback as usize);

        let judged = passages
            .hits
            .iter()
            .zip(&probabilities)
            .map(|(hit, probability)| JudgedChunk {
                chunk: hit.chunk.id,
                probability: *probability,
            })
            .collect();
        run.emit(RunEvent::ChunksJudged {
            step: run.step,
            judged,
            min_probability,
            fell_back,
        });

        let verdicts = probabilities
            .into_iter()
            .zip(kept)
            .map(|(probability, is_kept)| {
                (!is_kept).then_some(DropReason::Irrelevant {
                    probability,
                    min_probability,
                })
            })
            .collect();
        Ok(narrow(run, Stage::Judged, passages, verdicts))
    }
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
    for hit in passages.hits {
        let mut values = vec![
            ("q", passages.sought.as_str()),
            ("c", hit.chunk.text.as_str()),
        ];
        if judge == PromptName::GradeCritic {
            // the longest grades of the two prompts before it
            values.extend([("b", "10"), ("f", "10")]);
        }
        let needed_tokens = context::count(run.tools.generator, &run.prompt(judge, &values)?)?;

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

/// Drops the texts whose words are nearly those of a better one.
fn drop_alike(run: &mut Run<'_>, passages: Passages) -> Passages {
    let vectors = chunkrag::tf_idf(&passages.texts());
    let max_similarity = run.tools.config.filter.max_similarity;
    let twins = chunkrag::redundant(vectors.len(), max_similarity, |a, b| {
        chunkrag::tf_idf_cosine(&vectors[a], &vectors[b])
    });

    let verdicts = redundant(&passages.hits, &twins);
    narrow(run, Stage::SimilarWording, passages, verdicts)
}

/// Drops the texts whose vectors are nearly those of a better one.
fn drop_redundant(run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
    let vectors = run.vectors(&passages.hits.iter().collect::<Vec<_>>())?;
    let max_similarity = run.tools.config.filter.max_similarity;
    let twins = chunkrag::redundant(vectors.len(), max_similarity, |a, b| {
        cosine(&vectors[a], &vectors[b])
    });

    let verdicts = redundant(&passages.hits, &twins);
    Ok(narrow(run, Stage::Redundant, passages, verdicts))
}

fn redundant(hits: &[Hit], twins: &[Option<Twin>]) -> Vec<Option<DropReason>> {
    twins
        .iter()
        .map(|twin| {
            twin.map(|twin| DropReason::Redundant {
                duplicate_of: hits[twin.of].chunk.id,
                similarity: twin.cosine,
            })
        })
        .collect()
}

/// Grades every text three times and drops those below the dynamic threshold (ChunkRAG, section 3).
fn grade(run: &mut Run<'_>, mut passages: Passages) -> Result<Passages, RunError> {
    let filter = &run.tools.config.filter;
    let grades = chunkrag::grade(run, &passages.sought, &passages.texts(), filter.grade_read)?;

    let weights = [
        filter.grade_weight,
        filter.reflect_weight,
        filter.critic_weight,
    ];
    let scores: Vec<f32> = grades
        .iter()
        .map(|grades| chunkrag::combined(*grades, weights))
        .collect();
    let exact: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
    let dynamic = chunkrag::threshold(&exact, f64::from(filter.min_variance));
    let named = match filter.threshold {
        ThresholdKind::Generator if !exact.is_empty() => {
            named_threshold(run, &passages.sought, &exact)?
        }
        ThresholdKind::Generator | ThresholdKind::Dynamic => None,
    };
    let threshold = named.unwrap_or(dynamic.value);
    // the generator is shown two digits: a score that reads as its threshold reaches it
    let compared: Vec<f64> = match named {
        Some(_) => exact
            .iter()
            .map(|score| (score * 100.0).round() / 100.0)
            .collect(),
        None => exact.clone(),
    };
    let mut kept = chunkrag::keep(&compared, threshold, filter.fallback as usize);
    if filter.share > 0.0 {
        let tokens: Vec<u32> = passages.hits.iter().map(|hit| hit.chunk.tokens).collect();
        let wanted = chunkrag::tokens_of(&tokens, filter.share);
        if !chunkrag::has_clear(&exact, filter.clear_score) {
            chunkrag::fill(&mut kept.kept, &tokens, wanted);
        }
        passages.wanted_tokens = Some(wanted);
    }

    let graded = passages
        .hits
        .iter()
        .zip(&grades)
        .zip(&scores)
        .map(|((hit, grades), score)| GradedChunk {
            chunk: hit.chunk.id,
            grades: *grades,
            score: *score,
        })
        .collect();
    run.emit(RunEvent::ChunksGraded {
        step: run.step,
        graded,
        threshold: threshold as f32,
        is_tight: dynamic.is_tight && named.is_none(),
        by_generator: named.is_some(),
        fell_back: kept.fell_back,
    });

    let verdicts = kept
        .kept
        .iter()
        .zip(&scores)
        .map(|(is_kept, score)| {
            (!is_kept).then_some(DropReason::BelowThreshold {
                score: *score,
                threshold: threshold as f32,
            })
        })
        .collect();
    Ok(narrow(run, Stage::Graded, passages, verdicts))
}

/// Asks the generator for the threshold; without a number in its reply, a warning says so.
fn named_threshold(
    run: &mut Run<'_>,
    question: &str,
    scores: &[f64],
) -> Result<Option<f64>, RunError> {
    let seed = run.tools.config.seed;
    let named = chunkrag::named_threshold(run, question, scores, seed)?;
    if named.is_none() {
        run.emit(RunEvent::Warned {
            text: "the generator named no threshold between 0 and 1: that of the scores' mean and deviation is used".to_owned(),
            advice: Some("set filter.threshold to dynamic".to_owned()),
        });
    }
    Ok(named)
}

/// Drops every hit that has a reason to be dropped, and emits what the stage left.
fn narrow(
    run: &mut Run<'_>,
    stage: Stage,
    mut passages: Passages,
    verdicts: Vec<Option<DropReason>>,
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

    run.emit(RunEvent::StageFinished {
        step: run.step,
        stage,
        kept: hits.iter().map(|hit| hit.chunk.id).collect(),
        dropped: dropped.clone(),
    });
    passages.dropped.append(&mut dropped);
    Passages { hits, ..passages }
}
