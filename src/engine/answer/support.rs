//! Whether the sources answer the question, before an answer is written from them.

use crate::config::AnswerPrompt;
use crate::corpus::language;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, context};
use crate::event::{RunEvent, Support, logistic};
use crate::index::short_text_language;
use crate::llm::LlmError;
use crate::methods::{JudgementKind, ModelCalls as _};

use super::quotes::RankedSentences;

/// Smaller models are not asked whether the sources state the answer: one of half a billion
/// parameters gave answerable questions of SQuAD 0.29 and unanswerable ones 0.28 in the mean, where
/// one of 1.5 billion gave 0.58 and 0.45.
const MIN_PARAMETERS: u64 = 1_000_000_000;

/// The score of sentences that cannot be compared with the question word by word, nor by an
/// embedder of one language: it decides nothing, and the generator alone is heard.
const NEUTRAL_SCORE: f32 = 0.66;

/// Measures how far the sources answer the question, and emits it. Returns it with their
/// sentences, best first.
///
/// # Errors
///
/// Failures of the models.
pub fn measure(
    run: &mut Run<'_>,
    passages: &Passages,
) -> Result<(Support, RankedSentences), RunError> {
    let settings = &run.tools.config.answer;
    let (prompt, min_support) = (settings.prompt, settings.min_support);
    let ranked = RankedSentences::new(run, passages)?;
    // a server may not say how many parameters its model has
    let parameters = run.tools.generator.card().parameters;
    let can_judge = parameters == 0 || parameters >= MIN_PARAMETERS;
    let is_asked = prompt != AnswerPrompt::Quotes && !passages.hits.is_empty() && can_judge;
    let stated = if is_asked {
        states(run, passages)?
    } else {
        None
    };

    let score = if is_translated(run.question, passages) && stated.is_some() {
        NEUTRAL_SCORE
    } else {
        ranked.score()
    };
    let probability = if passages.hits.is_empty() {
        0.0
    } else {
        probability(stated, score)
    };
    let support = Support {
        stated,
        score,
        probability,
        supported: probability >= min_support,
    };
    let nearest = ranked.nearest(passages);
    run.emit(RunEvent::SupportMeasured { support, nearest });
    Ok((support, ranked))
}

/// Returns whether the question is in another language than each passage.
fn is_translated(question: &str, passages: &Passages) -> bool {
    short_text_language(question).is_some_and(|own| {
        let mut texts = passages.hits.iter().map(|hit| &hit.chunk.text);
        texts.all(|text| language(text) != own)
    })
}

/// Returns the generator's probability that the sources state the answer; `None` when the prompt is
/// too long.
fn states(run: &mut Run<'_>, passages: &Passages) -> Result<Option<f32>, RunError> {
    let prompt = context::support_prompt(run.tools.prompts, run.question, &passages.hits);

    match run.classify(JudgementKind::SOURCES_STATE, &[prompt]) {
        Err(LlmError::PromptTooLong { .. }) => Ok(None),
        rows => Ok(rows?.first().and_then(|row| row.shares.first().copied())),
    }
}

/// Returns the probability that the sources answer the question: a logistic regression over
/// answerable and unanswerable questions of SQuAD and Natural Questions and foreign ones; without
/// the generator's word over answerable questions of SQuAD and foreign ones
/// (`benches/experiments/2026-11-26-figures.md`).
fn probability(stated: Option<f32>, score: f32) -> f32 {
    let logit = match stated {
        Some(stated) => 1.3 * logit_of(stated) + 2.0 * score - 1.8,
        None => 13.0 * (score - 0.66),
    };
    logistic(logit)
}

/// Returns the logit of a probability, which is kept from the ends: a model may be certain.
pub fn logit_of(probability: f32) -> f32 {
    let probability = probability.clamp(1e-3, 0.999);
    (probability / (1.0 - probability)).ln()
}
