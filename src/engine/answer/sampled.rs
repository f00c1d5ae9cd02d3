//! Answers sampled from the prompt of the answer: the uncertainty of a model about what it said.
//!
//! The samples of SePer have a prompt of their own, which asks alike with and without documents.
//! How far those agree says nothing about an answer that another prompt asked for.

use crate::config::AnswerPrompt;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, context};
use crate::event::{AnswerSamples, Part, RunEvent};
use crate::llm::Decoding;
use crate::methods::{Agreement, ModelCalls, sampled_uncertainty};

use super::short;

/// Samples the answer from these passages again, and emits how far the samples agree. A quotation
/// is not sampled: nothing wrote it.
pub fn sample(run: &mut Run<'_>, passages: &Passages) -> Result<(), RunError> {
    let (config, question) = (run.tools.config, run.question);
    let kind = config.answer.prompt;
    if kind == AnswerPrompt::Quotes || !run.has_time_for(Part::Utility, 0) {
        return Ok(());
    }

    let prompt = context::prompt(config, run.tools.prompts, question, &passages.hits);
    let prompts = vec![prompt; config.utility.samples.max(1) as usize];
    let decoding = Decoding {
        temperature: config.utility.temperature,
        ..Decoding::greedy(config.answer.max_tokens, config.seed)
    };
    let completions = ModelCalls::complete(run, "answer samples", &prompts, &decoding)?;

    let answers = completions.iter().map(|one| short_answer(kind, &one.text));
    let texts: Vec<String> = answers.collect();
    let answers: Vec<&str> = texts.iter().map(String::as_str).collect();
    let agreement = Agreement::judge(run, question, &answers)?;
    let uncertainty = sampled_uncertainty(&agreement, &completions);
    run.emit(RunEvent::AnswerSampled {
        samples: AnswerSamples { texts, uncertainty },
    });
    Ok(())
}

/// Returns the short answer of a sampled reply, or the reply where it states none.
fn short_answer(kind: AnswerPrompt, reply: &str) -> String {
    let stated = match kind {
        AnswerPrompt::QaShort | AnswerPrompt::QaGrounded => short::find_stated(reply),
        AnswerPrompt::Auto
        | AnswerPrompt::Sources
        | AnswerPrompt::Quotes
        | AnswerPrompt::StepByStep => short::short_answer(reply),
    };
    stated.unwrap_or_else(|| reply.trim().to_owned())
}
