//! Writes the answer, sentence by sentence.
//!
//! A completion streams while the gate decides its sentences early, and ends with the first
//! sentence that the gate must judge; `settle` settles that one, and the next completion continues
//! from what is confirmed. Without a gate one completion writes the whole answer.

use crate::config::AnswerPrompt;
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Call, Gate, Passages, Run, context};
use crate::event::{Decision, Flow};
use crate::llm::{End, LlmError, Prompt};

use super::short;
use super::writing::{Writing, decoding, is_last};

/// The lead that is put into the model's reply when it ended without the answer phrase.
const ANSWER_LEAD: &str = " So the answer is";
/// Maximum length of a short answer: a name, a number or a few words.
const SHORT_ANSWER_TOKENS: u32 = 24;

/// Writes the answer and emits it token by token and sentence by sentence. It begins with the
/// `confirmed` sentences.
pub fn write(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    passages: &Passages,
    confirmed: &[String],
) -> Result<Answer, RunError> {
    let reply_start = run.tools.generator.reply_start();
    let mut writing = Writing::new(passages, confirmed, reply_start);
    writing.cite_confirmed(run);
    finish(run, gate, writing)
}

/// Writes the answer from a part of what is read. The sentences `before` are only counted: the
/// model does not see them.
pub fn write_part(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    passages: &Passages,
    before: &[String],
) -> Result<Answer, RunError> {
    let mut writing = Writing::new(passages, before, "");
    writing.text.clear();
    finish(run, gate, writing)
}

/// Writes an answer to its end.
fn finish(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    mut writing: Writing<'_>,
) -> Result<Answer, RunError> {
    let end = writing.write_all(run, gate);

    // whatever failed or fails from here on, what was written stays
    let text = writing.text.trim().to_owned();
    let answer = Answer {
        short: text.clone(),
        text,
        citations: writing.citations,
        limit_reached: writing.limit_reached,
        lookups: writing.lookups,
        sentences: writing.sentences,
        given: 0,
    };
    run.keep(answer.clone());

    let short = match end? {
        // no room for another completion
        End::ContextFull => short::short_answer(&answer.text),
        End::Turn | End::StopRule | End::MaxTokens | End::Stopped => {
            short_answer(run, writing.passages, &writing.text)?
        }
    };
    let short = short.unwrap_or_else(|| answer.text.clone());
    Ok(Answer { short, ..answer })
}

impl Writing<'_> {
    /// Writes until the answer is complete, a limit is reached or the user stops. Returns the end
    /// of the last completion.
    fn write_all(&mut self, run: &mut Run<'_>, gate: &mut dyn Gate) -> Result<End, RunError> {
        let max_sentences = run.tools.config.answer.max_sentences as usize;
        loop {
            let known = self.confirmed.len();
            if known >= max_sentences {
                self.limit_reached = true;
                return Ok(End::Stopped);
            }

            let retrieves_first = self.retrieves_first(run, gate);
            let decide_early = |tokens: &[_]| {
                if retrieves_first {
                    return None;
                }
                let early = gate.decide_early(tokens)?;
                (early.decision != Decision::Retrieve).then_some(early)
            };
            let (draft, end) = match self.complete(run, gate, self.passages, &decide_early) {
                Ok(written) => written,
                // the answer fills the context, so it ends here
                Err(RunError::Model(LlmError::PromptTooLong { .. })) if !self.text.is_empty() => {
                    self.limit_reached = true;
                    return Ok(End::ContextFull);
                }
                Err(error) => {
                    // a failure loses nothing that was written before it
                    if let Some(sentence) = self.interrupted.take() {
                        self.confirm(sentence);
                    }
                    return Err(error);
                }
            };

            let end = match draft {
                Some(draft) => self.settle(run, gate, draft, end)?,
                None => end,
            };
            self.limit_reached |= matches!(end, End::MaxTokens | End::ContextFull);

            // only a completion that was stopped behind a sentence is continued
            let can_continue = end == End::Stopped && !run.is_stopped() && !self.limit_reached;
            if !can_continue || self.is_complete(known) {
                return Ok(end);
            }
        }
    }

    /// Returns whether the sentences since number `known` complete the answer: there are none, or
    /// one of them is the last.
    fn is_complete(&self, known: usize) -> bool {
        self.confirmed.len() == known
            || (known..self.confirmed.len())
                .any(|at| is_last(&self.confirmed[at], &self.confirmed[..at]))
    }
}

/// Returns the short answer of a reply; `None` where the reply as a whole is the answer. A
/// step-by-step reply that ended without one is led to it with one more completion.
fn short_answer(
    run: &mut Run<'_>,
    passages: &Passages,
    reply: &str,
) -> Result<Option<String>, RunError> {
    let reply = reply.trim_end();
    match run.tools.config.answer.prompt {
        AnswerPrompt::QaShort | AnswerPrompt::QaGrounded => return Ok(short::find_stated(reply)),
        AnswerPrompt::StepByStep => {}
        AnswerPrompt::Auto | AnswerPrompt::Sources | AnswerPrompt::Quotes => {
            if !run.tools.config.answer.short {
                return Ok(None);
            }
        }
    }
    let found = short::short_answer(reply);
    if found.is_some() || reply.is_empty() || run.is_stopped() {
        return Ok(found);
    }

    let hits = &passages.hits;
    let bare = context::prompt(run.tools.config, run.tools.prompts, run.question, hits);
    let is_whole = reply.ends_with(['.', '!', '?', '…', '。', '！', '？', '"', '”', ')', '*']);
    let period = if is_whole { "" } else { "." };
    let prompt = Prompt {
        reply: format!("{}{reply}{period}{ANSWER_LEAD}", bare.reply),
        ..bare
    };
    let call = Call {
        purpose: "short answer",
        prompt: &prompt,
        decoding: decoding(run, SHORT_ANSWER_TOKENS),
        attend_to: &[],
        hidden: &[],
    };
    let led = match run.stream(&call, &mut |_, _| Flow::Continue) {
        Ok(tapped) => short::tidy(&tapped.completion.text),
        // the answer fills the context: its text is all there is
        Err(RunError::Model(LlmError::PromptTooLong { .. })) => return Ok(None),
        Err(error) => return Err(error),
    };
    if led.is_empty() {
        Ok(Some(short::last_sentence(reply)))
    } else {
        Ok(Some(led))
    }
}
