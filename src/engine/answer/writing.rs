//! Writing the answer, sentence by sentence.
//!
//! A completion streams on while the gate keeps its sentences at once, and ends with the first sentence that the gate has to be asked
//! about; `doubt` settles that one, and the next completion goes on from what is confirmed. Without a gate one completion writes it all.

use crate::engine::error::RunError;
use crate::engine::run::{Call, Draft, Passages, Roles, Run, Sentence, context};
use crate::event::{Citation, Flow};
use crate::llm::{Decoding, End, Prompt, Sampling, StopRule};
use crate::methods::context_lines;

use super::attribution::Attribution;
use super::citations::Supports;
use super::steps::{KeepAtOnce, Steps};

/// What introduces the short answer at the end of a step-by-step reply.
const ANSWER_PHRASE: &str = "the answer is";

/// An answer under way.
pub struct Writing<'w> {
    pub question: &'w str,
    /// The passages that each sentence is first written from; none where only doubted sentences are looked up.
    pub passages: &'w Passages,
    /// What is confirmed: sentence by sentence, and as it was written.
    pub confirmed: Vec<String>,
    pub text: String,
    pub citations: Vec<Citation>,
    pub lookups: Vec<(u32, Passages)>,
    /// Tokens of the confirmed sentences.
    tokens: usize,
    pub limit_reached: bool,
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
    pub fn new(question: &'w str, passages: &'w Passages, confirmed: &[String]) -> Self {
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

pub fn decoding(run: &Run<'_>, max_tokens: u32) -> Decoding {
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

/// Does the answer end with this sentence: the phrase came, or it stands there already?
pub fn is_last(text: &str, before: &[String]) -> bool {
    after_phrase(text).is_some() || before.iter().any(|known| known == text)
}

pub fn after_phrase(text: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().rfind(ANSWER_PHRASE)?;
    let short = trim_answer(&text[at + ANSWER_PHRASE.len()..]);
    (!short.is_empty()).then_some(short)
}

pub fn trim_answer(text: &str) -> String {
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
