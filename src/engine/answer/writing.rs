//! Writing the answer, sentence by sentence.
//!
//! A completion streams on while the gate keeps its sentences at once, and ends with the first sentence that the gate has to be asked
//! about; `doubt` settles that one, and the next completion goes on from what is confirmed. Without a gate one completion writes it all.

use super::attribution::Attribution;
use super::citations::Supports;
use super::steps::{KeepAtOnce, Sentence, Steps};
use crate::config::AnswerPrompt;
use crate::engine::run::context::{self, Passages};
use crate::engine::run::role::{Draft, Roles};
use crate::engine::run::state::{Call, Run, RunError};
use crate::event::{Citation, Decision, Flow};
use crate::llm::{Decoding, End, LlmError, Prompt, Sampling, StopRule};
use crate::methods::context_lines;

/// What introduces the short answer at the end of a step-by-step reply.
const ANSWER_PHRASE: &str = "the answer is";
/// What is put into the model's mouth when it ended without the phrase.
const ANSWER_LEAD: &str = " So the answer is";
/// A short answer is a name, a number or a few words.
const SHORT_ANSWER_TOKENS: u32 = 24;

/// A written answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// What follows "the answer is", otherwise the whole text.
    pub short: String,
    pub citations: Vec<Citation>,
    /// A limit of the settings cut it off.
    pub limit_reached: bool,
    /// The steps that were looked up, with the passages that each was written from in the end.
    pub lookups: Vec<(u32, Passages)>,
}

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

/// An answer under way.
pub struct Writing<'w> {
    pub question: &'w str,
    /// The passages that each sentence is first written from; none where only doubted sentences are looked up.
    passages: &'w Passages,
    /// What is confirmed: sentence by sentence, and as it was written.
    pub confirmed: Vec<String>,
    text: String,
    citations: Vec<Citation>,
    pub lookups: Vec<(u32, Passages)>,
    /// Tokens of the confirmed sentences.
    tokens: usize,
    limit_reached: bool,
    /// A sentence that a failure tore off.
    pub torn: Option<Sentence>,
}

/// What one completion wrote beyond what it confirmed.
pub struct Written {
    /// The sentence that the gate has to be asked about.
    pub draft: Option<Draft>,
    pub end: End,
}

impl<'w> Writing<'w> {
    fn new(question: &'w str, passages: &'w Passages, confirmed: &[String]) -> Self {
        Self {
            question,
            passages,
            confirmed: confirmed.to_vec(),
            text: confirmed
                .iter()
                .map(|sentence| format!(" {sentence}"))
                .collect(),
            citations: Vec::new(),
            lookups: Vec::new(),
            tokens: 0,
            limit_reached: false,
            torn: None,
        }
    }

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

    /// One completion from what is confirmed. Sentences that are kept at once are confirmed on the way.
    pub fn stream(
        &mut self,
        run: &mut Run<'_>,
        roles: &Roles,
        passages: &Passages,
        keep: KeepAtOnce<'_>,
    ) -> Result<Written, RunError> {
        let config = run.tools.config;
        let left = (config.answer.max_tokens as usize).saturating_sub(self.tokens);
        if left == 0 {
            return Ok(Written {
                draft: None,
                end: End::MaxTokens,
            });
        }
        let texts = passages.texts();
        let bare = context::prompt(config, run.tools.prompts, self.question, &texts)?;
        let prompt = Prompt {
            reply: self.reply(),
            ..bare
        };
        let attend_to = if config.answer.attribution {
            context_lines(&texts)
        } else {
            Vec::new()
        };
        let call = Call {
            purpose: "answer",
            prompt: &prompt,
            decoding: decoding(run, u32::try_from(left).unwrap_or(u32::MAX)),
            attend_to: &attend_to,
            hidden: &roles.gate.taps(run),
        };
        let supports = Supports::of(passages);
        let first = u32::try_from(self.confirmed.len() + 1).unwrap_or(u32::MAX);
        let attribution = Attribution::to(passages);
        let decides = roles.gate.card(run).is_some();
        let ends = |text: &str, before: &[Sentence]| {
            decides
                && (is_last(text, &self.confirmed)
                    || before.iter().any(|sentence| sentence.text() == text))
        };
        let mut steps = Steps::new(
            (keep, &ends),
            (&supports, &attribution),
            first,
            config.answer.max_sentences,
        );
        let tapped = run.complete(&call, &mut |publish, token| steps.push(publish, token));
        let _ = steps.finish(&mut |event| {
            run.emit(event);
            Flow::Continue
        });
        let mut sentences = steps.sentences;
        let draft = sentences.pop_if(|sentence| sentence.uncertainty.is_none());
        sentences
            .into_iter()
            .for_each(|sentence| self.confirm(sentence));
        match (tapped, draft) {
            (Ok(tapped), draft) => {
                let end = tapped.completion.end;
                let draft = draft.map(|sentence| Draft {
                    sentence,
                    prompt,
                    hidden: tapped.hidden,
                });
                Ok(Written { draft, end })
            }
            (Err(error), draft) => {
                self.torn = draft;
                Err(error)
            }
        }
    }

    /// The reply so far, as it is put before the model again.
    fn reply(&self) -> String {
        match self.text.trim() {
            "" => String::new(),
            text => format!(" {text}"),
        }
    }

    /// The sentence is part of the answer.
    pub fn confirm(&mut self, sentence: Sentence) {
        self.tokens += sentence.tokens.len();
        self.confirmed.push(sentence.text().to_owned());
        self.text.push_str(&sentence.raw);
        for citation in sentence.citations {
            if !self.citations.contains(&citation) {
                self.citations.push(citation);
            }
        }
    }
}

fn decoding(run: &Run<'_>, max_tokens: u32) -> Decoding {
    let settings = &run.tools.config.generator;
    Decoding {
        max_tokens,
        sampling: Sampling {
            temperature: settings.temperature,
            top_k: settings.top_k,
            top_p: settings.top_p,
            min_p: settings.min_p,
        },
        seed: run.tools.config.seed,
        stop: StopRule::default(),
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

/// Does the answer end with this sentence: the phrase came, or it stands there already?
fn is_last(text: &str, before: &[String]) -> bool {
    after_phrase(text).is_some() || before.iter().any(|known| known == text)
}

fn after_phrase(text: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().rfind(ANSWER_PHRASE)?;
    let short = trim_answer(&text[at + ANSWER_PHRASE.len()..]);
    (!short.is_empty()).then_some(short)
}

fn trim_answer(text: &str) -> String {
    let first_line = text.trim().lines().next().unwrap_or_default();
    first_line
        .trim_start_matches(':')
        .trim()
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_answer_follows_the_last_phrase() {
        let cases = [
            (
                "Tam was born in Lorby. So the answer is Lorby.",
                Some("Lorby"),
            ),
            ("The answer is: 42.\nMore.", Some("42")),
            ("The answer is", None),
            ("Lorby", None),
        ];
        for (text, expected) in cases {
            assert_eq!(after_phrase(text).as_deref(), expected, "{text}");
        }
    }
}
