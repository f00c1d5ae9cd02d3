//! The filters: which of the chunks that were found earn a place.

use crate::config::PrefilterKind;
use crate::config::prompts::PromptName;
use crate::engine::error::RunError;
use crate::engine::run::context::count;
use crate::engine::run::{Found, HitStage, Run};
use crate::event::{DropReason, DroppedChunk, Event, GradedChunk, Hit, JudgedChunk, Stage};
use crate::methods::{MethodError, ModelCalls as _, chunkrag, cosine};

/// Room for a label and the end of the turn.
const LABEL_TOKENS: u32 = 16;

/// ChunkRAG's filter: redundancy, three grades, dynamic threshold.
pub struct Graded;

impl HitStage for Graded {
    fn apply(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        let found = match run.tools.config.filter.prefilter {
            PrefilterKind::Off => found,
            PrefilterKind::TfIdf => drop_alike(run, found),
        };
        let found = drop_redundant(run, found)?;
        let found = drop_too_long(run, PromptName::GradeCritic, question, found)?;
        grade(run, question, found)
    }
}

/// SAKI-RAG's filter (algorithm 1, lines 6 to 11): relevant or not.
pub struct Binary;

impl HitStage for Binary {
    fn apply(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        let found = drop_too_long(run, PromptName::JudgeRelevant, question, found)?;
        let texts = texts(&found.kept);
        let prompts = texts
            .iter()
            .map(|text| run.prompt(PromptName::JudgeRelevant, &[("c", text), ("q", question)]))
            .collect::<Result<Vec<_>, MethodError>>()?;
        let rows = run.classify("relevant", &prompts, &["1", "0"])?;
        let least_probability = run.tools.config.filter.least_probability;
        let probabilities: Vec<f32> = rows.iter().map(|row| row[0]).collect();
        let fell_back = !probabilities
            .iter()
            .any(|probability| *probability >= least_probability);
        let judged = found.kept.iter().zip(&probabilities);
        run.emit(Event::ChunksJudged {
            step: run.step,
            judged: judged
                .map(|(hit, probability)| JudgedChunk {
                    chunk: hit.chunk.id,
                    probability: *probability,
                })
                .collect(),
            least_probability,
            fell_back: fell_back && !found.kept.is_empty(),
        });
        let verdicts = probabilities.into_iter().map(|probability| {
            let keep = fell_back || probability >= least_probability;
            (!keep).then_some(DropReason::Irrelevant {
                probability,
                least_probability,
            })
        });
        Ok(narrow(run, Stage::Judged, found, verdicts.collect()))
    }
}

/// Drop the texts whose prompt the generator cannot read: they would not fit the prompt of the answer either.
fn drop_too_long(
    run: &mut Run<'_>,
    judge: PromptName,
    question: &str,
    mut found: Found,
) -> Result<Found, RunError> {
    let available_tokens = run
        .tools
        .generator
        .card()
        .context_tokens
        .saturating_sub(LABEL_TOKENS);
    let mut kept = Vec::with_capacity(found.kept.len());
    for hit in found.kept {
        let values = [
            ("q", question),
            ("c", hit.chunk.text.as_str()),
            ("b", "10"),
            ("f", "10"),
        ];
        let values = if judge == PromptName::GradeCritic {
            &values[..]
        } else {
            &values[..2]
        };
        let needed_tokens = count(run.tools.generator, &run.prompt(judge, values)?)?;
        if needed_tokens > available_tokens {
            let reason = DropReason::ContextFull {
                needed_tokens,
                available_tokens,
            };
            found.dropped.push(DroppedChunk {
                chunk: hit.chunk.id,
                reason,
            });
        } else {
            kept.push(hit);
        }
    }
    Ok(Found { kept, ..found })
}

fn texts(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| hit.chunk.text.clone()).collect()
}

/// Texts whose words are nearly those of a better one.
fn drop_alike(run: &mut Run<'_>, found: Found) -> Found {
    let texts = texts(&found.kept);
    let vectors = chunkrag::tf_idf(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let most = run.tools.config.filter.most_cosine;
    let twins = chunkrag::redundant(vectors.len(), most, |a, b| {
        chunkrag::tf_idf_cosine(&vectors[a], &vectors[b])
    });
    let verdicts = twins_told(&found.kept, &twins);
    narrow(run, Stage::Alike, found, verdicts)
}

/// Texts whose vectors are nearly those of a better one.
fn drop_redundant(run: &mut Run<'_>, found: Found) -> Result<Found, RunError> {
    let vectors = run.vectors(&found.kept.iter().collect::<Vec<_>>())?;
    let most = run.tools.config.filter.most_cosine;
    let twins = chunkrag::redundant(vectors.len(), most, |a, b| cosine(&vectors[a], &vectors[b]));
    let verdicts = twins_told(&found.kept, &twins);
    Ok(narrow(run, Stage::Redundant, found, verdicts))
}

fn twins_told(hits: &[Hit], twins: &[Option<chunkrag::Twin>]) -> Vec<Option<DropReason>> {
    let told = |twin: chunkrag::Twin| DropReason::Redundant {
        twin: hits[twin.of].chunk.id,
        cosine: twin.cosine,
    };
    twins.iter().map(|twin| twin.map(told)).collect()
}

fn grade(run: &mut Run<'_>, question: &str, found: Found) -> Result<Found, RunError> {
    let texts = texts(&found.kept);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let grades = chunkrag::grade(run, question, &texts)?;
    let filter = &run.tools.config.filter;
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
    let threshold = chunkrag::threshold(&exact, f64::from(filter.least_variance));
    let kept = chunkrag::keep(&exact, &threshold, filter.fallback as usize);
    let graded = found.kept.iter().zip(&grades).zip(&scores);
    let told = graded.map(|((hit, grades), score)| GradedChunk {
        chunk: hit.chunk.id,
        grades: *grades,
        score: *score,
    });
    let event = Event::ChunksGraded {
        step: run.step,
        graded: told.collect(),
        threshold: threshold.value as f32,
        is_tight: threshold.is_tight,
        fell_back: kept.fell_back,
    };
    run.emit(event);
    let reason = |score: f32| DropReason::BelowThreshold {
        score,
        threshold: threshold.value as f32,
    };
    let verdicts = kept
        .kept
        .iter()
        .zip(&scores)
        .map(|(keep, score)| (!keep).then(|| reason(*score)))
        .collect();
    Ok(narrow(run, Stage::Graded, found, verdicts))
}

/// Drop what has a reason to be dropped, and tell what the stage left.
fn narrow(
    run: &mut Run<'_>,
    stage: Stage,
    found: Found,
    verdicts: Vec<Option<DropReason>>,
) -> Found {
    let Found {
        kept,
        mut dropped,
        spare,
    } = found;
    let mut left = Vec::with_capacity(kept.len());
    let mut gone = Vec::new();
    for (hit, verdict) in kept.into_iter().zip(verdicts) {
        match verdict {
            Some(reason) => gone.push(DroppedChunk {
                chunk: hit.chunk.id,
                reason,
            }),
            None => left.push(hit),
        }
    }
    run.emit(Event::StageFinished {
        step: run.step,
        stage,
        kept: left.iter().map(|hit| hit.chunk.id).collect(),
        dropped: gone.clone(),
    });
    dropped.append(&mut gone);
    Found {
        kept: left,
        dropped,
        spare,
    }
}
