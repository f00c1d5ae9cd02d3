//! The passages of a prompt, cut by whole chunks to what the context holds.

use crate::config::prompts::{PromptName, Prompts};
use crate::config::{AnswerPrompt, Config, ConfigError, PassageOrder, RetrieverKind};
use crate::corpus::fold_white_space;
use crate::engine::error::RunError;
use crate::event::{Context, ContextChunk, DropReason, DroppedChunk, Event, Hit, Stage};
use crate::llm::{Generator, LlmError, Prompt};
use crate::methods::{context_lines, joined};

use super::pins;
use super::state::Run;
use super::values::{Found, Passages};

/// Does the preset look things up at all?
pub fn needs_corpus(config: &Config) -> bool {
    match config.retriever.kind {
        RetrieverKind::Off => false,
        RetrieverKind::Hybrid => true,
    }
}

/// Is the question looked up before anything is written?
pub fn looks_up_at_start(config: &Config) -> bool {
    needs_corpus(config) && config.retriever.at_start
}

/// Keep the pinned chunks and the best others, `retriever.k` in all if fewer are pinned, as many of them as fit beside the question and
/// the answer, and publish the context.
pub fn choose(run: &mut Run<'_>, question: &str, found: Found) -> Result<Passages, RunError> {
    let k = run.tools.config.retriever.k;
    let (
        mut hits,
        Found {
            kept,
            mut dropped,
            spare: set_aside,
        },
    ) = pins::apart(&run.tools.config.retriever, found);
    let places = hits.len().max(k as usize);
    hits.extend(kept);
    let mut spare = hits.split_off(hits.len().min(places));
    spare.extend(set_aside);
    let mut hits = merge(run, hits, &mut dropped);
    let below_k: Vec<DroppedChunk> = spare
        .iter()
        .map(|hit| DroppedChunk {
            chunk: hit.chunk.id,
            reason: DropReason::BelowK { k },
        })
        .collect();
    let mut cut = Vec::new();
    // one that is too long makes no room for it but its own
    hits = fitting(run, question, hits, &mut cut)?;
    cut.extend(dropped);
    cut.extend(below_k);
    let passages = Passages {
        hits: ordered(hits, run.tools.config.answer.order),
        spare,
        dropped: cut,
    };
    publish(run, question, &passages)?;
    Ok(passages)
}

/// The hits, best first, less those that do not fit beside the better ones; these go to `cut`.
fn fitting(
    run: &Run<'_>,
    question: &str,
    hits: Vec<Hit>,
    cut: &mut Vec<DroppedChunk>,
) -> Result<Vec<Hit>, RunError> {
    let (needed_tokens, available_tokens) = room(run, question, &hits)?;
    if needed_tokens <= available_tokens {
        return Ok(hits);
    }
    let mut kept = Vec::with_capacity(hits.len());
    for hit in hits {
        let chunk = hit.chunk.id;
        kept.push(hit);
        let (needed_tokens, available_tokens) = room(run, question, &kept)?;
        if needed_tokens > available_tokens {
            kept.pop();
            cut.push(DroppedChunk {
                chunk,
                reason: DropReason::ContextFull {
                    needed_tokens,
                    available_tokens,
                },
            });
        }
    }
    Ok(kept)
}

/// Tell the context, where documents are looked up at all.
pub fn publish(run: &mut Run<'_>, question: &str, passages: &Passages) -> Result<(), RunError> {
    if needs_corpus(run.tools.config) {
        let (prompt_tokens, available_tokens) = room(run, question, &passages.hits)?;
        let chunks = label(run.tools.generator, &passages.hits)?;
        let dropped = passages.dropped.clone();
        let context = Context {
            chunks,
            dropped,
            prompt_tokens,
            available_tokens,
        };
        run.emit(Event::ContextBuilt {
            step: run.step,
            context,
        });
    }
    Ok(())
}

/// Does the prompt of the answer hold these chunks?
pub fn fits(run: &Run<'_>, question: &str, hits: &[Hit]) -> Result<bool, RunError> {
    let (needed_tokens, available_tokens) = room(run, question, hits)?;
    Ok(needed_tokens <= available_tokens)
}

/// Tokens of the prompt of the answer over these chunks, and room for it.
fn room(run: &Run<'_>, question: &str, hits: &[Hit]) -> Result<(u32, u32), RunError> {
    let tools = &run.tools;
    let texts: Vec<&str> = hits.iter().map(|hit| hit.chunk.text.as_str()).collect();
    let needed = count(
        tools.generator,
        &prompt(tools.config, tools.prompts, question, &texts)?,
    )?;
    Ok((
        needed,
        available(tools.config, tools.generator.card().context_tokens),
    ))
}

/// Joined texts that share a chunk become one.
fn merge(run: &mut Run<'_>, hits: Vec<Hit>, dropped: &mut Vec<DroppedChunk>) -> Vec<Hit> {
    let (hits, absorbed) = joined::merge(hits);
    if !absorbed.is_empty() {
        let gone = absorbed.iter().map(|gone| DroppedChunk {
            chunk: gone.text,
            reason: DropReason::Absorbed { by: gone.by },
        });
        let gone: Vec<DroppedChunk> = gone.collect();
        let merged = hits
            .iter()
            .filter(|hit| absorbed.iter().any(|gone| gone.by == hit.chunk.id));
        run.emit(Event::ChunksMerged {
            step: run.step,
            merged: merged.cloned().collect(),
        });
        let kept = hits.iter().map(|hit| hit.chunk.id).collect();
        run.emit(Event::StageFinished {
            step: run.step,
            stage: Stage::Merged,
            kept,
            dropped: gone.clone(),
        });
        dropped.extend(gone);
    }
    hits
}

/// The passages as the prompt has them, of passages with the best first.
pub fn ordered(hits: Vec<Hit>, order: PassageOrder) -> Vec<Hit> {
    match order {
        PassageOrder::BestFirst => hits,
        PassageOrder::Edges => {
            let (front, mut back): (Vec<_>, Vec<_>) = hits
                .into_iter()
                .enumerate()
                .partition(|(rank, _)| rank % 2 == 0);
            back.reverse();
            front.into_iter().chain(back).map(|(_, hit)| hit).collect()
        }
    }
}

/// The other way round: passages in the order of the prompt, with the best first.
pub fn best_first(mut hits: Vec<Hit>, order: PassageOrder) -> Vec<Hit> {
    match order {
        PassageOrder::BestFirst => hits,
        PassageOrder::Edges => {
            let mut back = hits.split_off(hits.len().div_ceil(2)).into_iter().rev();
            hits.into_iter()
                .flat_map(|hit| std::iter::once(hit).chain(back.next()))
                .collect()
        }
    }
}

fn label(generator: &mut dyn Generator, hits: &[Hit]) -> Result<Vec<ContextChunk>, RunError> {
    let bare = count(generator, &Prompt::user(""))?;
    (1..)
        .zip(hits)
        .map(|(label, hit)| {
            let tokens = count(generator, &Prompt::user(fold_white_space(&hit.chunk.text)))?
                .saturating_sub(bare);
            Ok(ContextChunk {
                label,
                chunk: hit.chunk.id,
                tokens,
            })
        })
        .collect()
}

/// The prompt of the answer, with passages or from memory.
pub fn prompt(
    config: &Config,
    prompts: &Prompts,
    question: &str,
    passages: &[&str],
) -> Result<Prompt, ConfigError> {
    prompt_of(config.answer.prompt, prompts, question, passages)
}

/// The prompt of this kind.
pub fn prompt_of(
    kind: AnswerPrompt,
    prompts: &Prompts,
    question: &str,
    passages: &[&str],
) -> Result<Prompt, ConfigError> {
    let lines = context_lines(passages).join("\n");
    let text = match (kind, passages.is_empty()) {
        (AnswerPrompt::StepByStep, true) => {
            prompts.fill(PromptName::StepByStep, &[("c", ""), ("q", question)])?
        }
        (AnswerPrompt::StepByStep, false) => prompts.fill(
            PromptName::StepByStep,
            &[("c", &format!("Context:\n{lines}\n")), ("q", question)],
        )?,
        (AnswerPrompt::QaShort | AnswerPrompt::QaGrounded, true) => {
            prompts.fill(PromptName::QaClosed, &[("q", question)])?
        }
        (AnswerPrompt::QaShort, false) => {
            prompts.fill(PromptName::QaShort, &[("c", &lines), ("q", question)])?
        }
        (AnswerPrompt::QaGrounded, false) => {
            prompts.fill(PromptName::QaGrounded, &[("c", &lines), ("q", question)])?
        }
    };
    Ok(Prompt::user(text))
}

/// Tokens of a prompt, chat template included.
pub fn count(generator: &dyn Generator, prompt: &Prompt) -> Result<u32, LlmError> {
    Ok(u32::try_from(generator.render(prompt)?.tokens.len()).unwrap_or(u32::MAX))
}

/// Room for a prompt: the context less the answer, which never takes more than half of it.
pub fn available(config: &Config, context_tokens: u32) -> u32 {
    context_tokens - config.answer.max_tokens.min(context_tokens / 2)
}
