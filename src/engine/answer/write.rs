//! Writing the answer, sentence by sentence.
//!
//! A completion streams on while the gate keeps its sentences at once, and ends with the first sentence that the gate has to be asked
//! about; `settle` settles that one, and the next completion goes on from what is confirmed. Without a gate one completion writes it all.

use crate::config::AnswerPrompt;
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Call, Passages, Roles, Run, context};
use crate::event::{Decision, Flow};
use crate::llm::{End, LlmError, Prompt};

use super::writing::{Writing, after_phrase, decoding, is_last, trim_answer};

/// What is put into the model's mouth when it ended without the phrase.
const ANSWER_LEAD: &str = " So the answer is";

/// A short answer is a name, a number or a few words.
const SHORT_ANSWER_TOKENS: u32 = 24;

/// Write the answer and publish it token by token and sentence by sentence. It begins with the `confirmed` sentences.
pub fn write(
    run: &mut Run<'_>,
    roles: &mut Roles,
    question: &str,
    passages: &Passages,
    confirmed: &[String],
) -> Result<Answer, RunError> {
    let mut writing = Writing::new(question, passages, confirmed);
    let end = writing.go_on(run, roles);
    let text = writing.text.trim().to_owned();
    let Writing {
        citations,
        limit_reached,
        lookups,
        ..
    } = writing;
    let answer = Answer {
        short: text.clone(),
        text,
        citations,
        limit_reached,
        lookups,
    };
    // whatever failed or fails from here on, what was written stays
    run.keep(answer.clone());
    let short = match end? {
        End::ContextFull => after_phrase(&answer.text).unwrap_or_else(|| answer.text.clone()),
        End::Turn | End::StopRule | End::MaxTokens | End::Stopped => {
            short_answer(run, question, passages, &answer.text)?
        }
    };
    Ok(Answer { short, ..answer })
}

impl Writing<'_> {
    /// Write until the answer is complete, a limit is reached or the user stops. How the last completion ended.
    fn go_on(&mut self, run: &mut Run<'_>, roles: &mut Roles) -> Result<End, RunError> {
        let most = run.tools.config.answer.max_sentences as usize;
        loop {
            let known = self.confirmed.len();
            if known >= most {
                self.limit_reached = true;
                return Ok(End::Stopped);
            }
            let passages = self.passages;
            let keep = |tokens: &[_]| {
                roles
                    .gate
                    .at_once(tokens)
                    .filter(|said| said.decision != Decision::LookUp)
            };
            let written = match self.stream(run, roles, passages, &keep) {
                // the answer fills the context: what it says is all there is
                Err(RunError::Model(LlmError::PromptTooLong { .. })) if !self.text.is_empty() => {
                    self.limit_reached = true;
                    return Ok(End::ContextFull);
                }
                Err(error) => {
                    // what was written before it failed stays written
                    self.torn
                        .take()
                        .into_iter()
                        .for_each(|sentence| self.confirm(sentence));
                    return Err(error);
                }
                Ok(written) => written,
            };
            let end = match written.draft {
                Some(draft) => self.settle(run, roles, draft, written.end)?,
                None => written.end,
            };
            self.limit_reached |= matches!(end, End::MaxTokens | End::ContextFull);
            // a completion that was stopped behind a sentence is gone on from; one that came to its own end is over
            if end != End::Stopped || run.stopped() || self.limit_reached || self.is_complete(known)
            {
                return Ok(end);
            }
        }
    }

    /// Nothing new came, a sentence came again, or the answer phrase came.
    fn is_complete(&self, known: usize) -> bool {
        let ends = |at: usize| is_last(&self.confirmed[at], &self.confirmed[..at]);
        self.confirmed.len() == known || (known..self.confirmed.len()).any(ends)
    }
}

/// The short answer in the text; a step-by-step reply that never came to it is led there with one more completion.
fn short_answer(
    run: &mut Run<'_>,
    question: &str,
    passages: &Passages,
    text: &str,
) -> Result<String, RunError> {
    match (run.tools.config.answer.prompt, after_phrase(text)) {
        (_, Some(short)) => Ok(short),
        (AnswerPrompt::QaShort | AnswerPrompt::QaGrounded, None) => Ok(text.to_owned()),
        (AnswerPrompt::StepByStep, None) if run.stopped() || text.is_empty() => Ok(text.to_owned()),
        (AnswerPrompt::StepByStep, None) => {
            let bare = context::prompt(
                run.tools.config,
                run.tools.prompts,
                question,
                &passages.texts(),
            )?;
            let prompt = Prompt {
                reply: format!(" {text}{ANSWER_LEAD}"),
                ..bare
            };
            let decoding = decoding(run, SHORT_ANSWER_TOKENS);
            let call = Call {
                purpose: "short answer",
                prompt: &prompt,
                decoding,
                attend_to: &[],
                hidden: &[],
            };
            match run.complete(&call, &mut |_, _| Flow::Continue) {
                Ok(tapped) => Ok(trim_answer(&tapped.completion.text)),
                // the answer fills the context: what it says is all there is
                Err(RunError::Model(LlmError::PromptTooLong { .. })) => Ok(text.to_owned()),
                Err(error) => Err(error),
            }
        }
    }
}
