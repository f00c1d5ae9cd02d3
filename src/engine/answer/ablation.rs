//! Ablation: how much less likely each sentence of an answer becomes when its prompt lacks one of
//! the passages.
//!
//! Leave-one-out, to which ContextCite is compared (Cohen-Wang et al. 2024): one evaluation of the
//! context per passage, and no surrogate model. Marks like `[2]` are no part of what is scored: a
//! passage that is gone cannot be named.

use std::iter;

use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, context};
use crate::event::{AblatedChunk, RunEvent, saturating_u32};
use crate::llm::Prompt;

use super::marks::without_marks;

/// The purpose of the calls.
const PURPOSE: &str = "ablation";

/// A sentence as the continuation of the answer before it.
struct Continuation {
    step: u32,
    before: String,
    text: String,
}

/// Leaves each passage out of the prompt of each sentence that was generated, and emits what that
/// changes.
pub fn ablate(run: &mut Run<'_>, answer: &Answer, passages: &Passages) -> Result<(), RunError> {
    let sentences = continuations(answer);
    let of_steps = answer.lookups.iter();
    let of_steps = of_steps.map(|lookup| (Some(lookup.step), &lookup.passages));

    for (step, passages) in iter::once((None, passages)).chain(of_steps) {
        let is_of_step = |sentence: &&Continuation| match step {
            Some(step) => sentence.step == step,
            None => answer.lookups.iter().all(|one| one.step != sentence.step),
        };
        let sentences: Vec<&Continuation> = sentences.iter().filter(is_of_step).collect();
        if !sentences.is_empty() {
            ablate_passages(run, &sentences, passages)?;
        }
    }
    Ok(())
}

fn ablate_passages(
    run: &mut Run<'_>,
    sentences: &[&Continuation],
    passages: &Passages,
) -> Result<(), RunError> {
    let hits = &passages.hits;
    if hits.is_empty() {
        return Ok(());
    }

    let (config, prompts, question) = (run.tools.config, run.tools.prompts, run.question);
    let whole = context::prompt(config, prompts, question, hits);
    let whole = score(run, &whole, sentences)?;
    let mut chunks = vec![Vec::with_capacity(hits.len()); sentences.len()];
    // from the last one: what stands before a gap is in the cache
    for (at, hit) in hits.iter().enumerate().rev() {
        run.emit(RunEvent::CallsProgressed {
            purpose: PURPOSE.to_owned(),
            begun: saturating_u32(hits.len() - at),
            total: saturating_u32(hits.len()),
        });
        let without = context::prompt_without(config, prompts, question, hits, at);
        let without = score(run, &without, sentences)?;
        for (chunks, (whole, without)) in chunks.iter_mut().zip(whole.iter().zip(without)) {
            chunks.push(AblatedChunk {
                label: saturating_u32(at + 1),
                chunk: hit.chunk.id,
                logprob_drop: whole - without,
            });
        }
    }

    for (sentence, mut chunks) in sentences.iter().zip(chunks) {
        chunks.reverse();
        run.emit(RunEvent::StepAblated {
            step: sentence.step,
            chunks,
        });
    }
    Ok(())
}

/// Returns the log-probability of each sentence behind a prompt and the answer before it, nats.
fn score(
    run: &mut Run<'_>,
    prompt: &Prompt,
    sentences: &[&Continuation],
) -> Result<Vec<f32>, RunError> {
    let prompts = sentences.iter().map(|sentence| Prompt {
        reply: format!("{}{}", prompt.reply, sentence.before),
        ..prompt.clone()
    });
    let prompts: Vec<Prompt> = prompts.collect();
    let texts: Vec<&str> = sentences.iter().map(|one| one.text.as_str()).collect();
    Ok(run.score(PURPOSE, &prompts, &texts)?)
}

/// Returns the sentences of an answer that were generated, in order.
fn continuations(answer: &Answer) -> Vec<Continuation> {
    let first = answer.sentences.first().map_or("", |one| one.raw.as_str());
    let space = &first[..first.len() - first.trim_start().len()];
    let reply = format!("{space}{}", answer.text);

    let mut found = Vec::new();
    let mut end = 0;
    for sentence in &answer.sentences {
        let Some(at) = reply[end..].find(sentence.text()) else {
            continue;
        };
        // a word has its own space; line breaks are in front of it
        let start = reply[..end + at].trim_end_matches(' ').len();
        end += at + sentence.text().len();
        let text = without_marks(&reply[start..end]);
        if !sentence.tokens.is_empty() && !text.trim().is_empty() {
            found.push(Continuation {
                step: sentence.step,
                before: reply[..start].to_owned(),
                text,
            });
        }
    }
    found
}
