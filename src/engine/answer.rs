//! Writing the answer, sentence by sentence.

use crate::config::AnswerPrompt;
use crate::corpus::sentences;
use crate::event::{Citation, Event, Flow};
use crate::llm::{Decoding, End, LlmError, Prompt, Sampling, StopRule, Token};
use crate::methods::context_lines;

use super::attribution;
use super::citations::Supports;
use super::passages::{self, Passages};
use super::roles::Gate;
use super::run::{Call, Run, RunError};

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
}

/// Write the answer and publish it token by token and sentence by sentence.
pub fn write(run: &mut Run<'_>, gate: &mut dyn Gate, question: &str, passages: &Passages) -> Result<Answer, RunError> {
    let config = run.tools.config;
    let texts: Vec<&str> = passages.hits.iter().map(|hit| hit.chunk.text.as_str()).collect();
    let prompt = passages::prompt(config, run.tools.prompts, question, &texts)?;
    let supports = Supports::of(passages);
    let mut steps = Steps::new(gate, &supports, config.answer.max_sentences);
    let attend_to = if config.answer.attribution { context_lines(&texts) } else { Vec::new() };
    let decoding = decoding(run, config.answer.max_tokens);
    let call = Call { purpose: "answer", prompt: &prompt, decoding, attend_to: &attend_to };
    let tapped = run.complete(&call, &mut |publish, token| steps.push(publish, token));
    steps.finish(&mut |event| {
        run.emit(event);
        Flow::Continue
    });
    let text = steps.text.trim().to_owned();
    let answer = Answer { short: text.clone(), text, citations: steps.citations, limit_reached: steps.full };
    // whatever fails from here on, what was written stays
    run.keep(answer.clone());
    let (lengths, tapped) = (steps.lengths, tapped?);
    attribution::publish(run, passages, &lengths, &tapped.attention);
    let completion = tapped.completion;
    let limit_reached = answer.limit_reached || matches!(completion.end, End::MaxTokens | End::ContextFull);
    let short = match completion.end {
        End::ContextFull => after_phrase(&answer.text).unwrap_or_else(|| answer.text.clone()),
        End::Turn | End::StopRule | End::MaxTokens | End::Stopped => short_answer(run, prompt, &answer.text)?,
    };
    Ok(Answer { short, limit_reached, ..answer })
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
fn short_answer(run: &mut Run<'_>, prompt: Prompt, text: &str) -> Result<String, RunError> {
    match (run.tools.config.answer.prompt, after_phrase(text)) {
        (_, Some(short)) => Ok(short),
        (AnswerPrompt::QaShort, None) => Ok(text.to_owned()),
        (AnswerPrompt::StepByStep, None) if run.stopped() || text.is_empty() => Ok(text.to_owned()),
        (AnswerPrompt::StepByStep, None) => {
            let prompt = Prompt { reply: format!(" {text}{ANSWER_LEAD}"), ..prompt };
            let decoding = decoding(run, SHORT_ANSWER_TOKENS);
            let call = Call { purpose: "short answer", prompt: &prompt, decoding, attend_to: &[] };
            match run.complete(&call, &mut |_, _| Flow::Continue) {
                Ok(tapped) => Ok(trim_answer(&tapped.completion.text)),
                // the answer fills the context: what it says is all there is
                Err(RunError::Model(LlmError::PromptTooLong { .. })) => Ok(text.to_owned()),
                Err(error) => Err(error),
            }
        }
    }
}

fn after_phrase(text: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().rfind(ANSWER_PHRASE)?;
    let short = trim_answer(&text[at + ANSWER_PHRASE.len()..]);
    (!short.is_empty()).then_some(short)
}

fn trim_answer(text: &str) -> String {
    let first_line = text.trim().lines().next().unwrap_or_default();
    first_line.trim_start_matches(':').trim().trim_end_matches('.').to_owned()
}

/// Cuts the stream of tokens into steps, one a sentence.
struct Steps<'a> {
    gate: &'a mut dyn Gate,
    supports: &'a Supports,
    max_sentences: u32,
    step: u32,
    /// Tokens of each finished step.
    lengths: Vec<usize>,
    /// Tokens and text of the step under way.
    tokens: Vec<Token>,
    sentence: String,
    text: String,
    citations: Vec<Citation>,
    full: bool,
}

impl<'a> Steps<'a> {
    fn new(gate: &'a mut dyn Gate, supports: &'a Supports, max_sentences: u32) -> Self {
        Self {
            gate,
            supports,
            max_sentences,
            step: 0,
            lengths: Vec::new(),
            tokens: Vec::new(),
            sentence: String::new(),
            text: String::new(),
            citations: Vec::new(),
            full: false,
        }
    }

    fn push(&mut self, publish: &mut dyn FnMut(Event) -> Flow, token: &Token) -> Flow {
        if self.begins_sentence(&token.text) && self.end_step(publish) == Flow::Stop {
            return Flow::Stop;
        }
        if self.full {
            return Flow::Stop;
        }
        if self.tokens.is_empty() {
            self.step += 1;
            if publish(Event::StepStarted { step: self.step }) == Flow::Stop {
                return Flow::Stop;
            }
        }
        self.sentence.push_str(&token.text);
        self.text.push_str(&token.text);
        self.tokens.push(token.clone());
        publish(Event::TokenGenerated {
            step: self.step,
            text: token.text.clone(),
            logprob: token.logprob,
            entropy: token.entropy,
        })
    }

    fn finish(&mut self, publish: &mut dyn FnMut(Event) -> Flow) {
        let _ = self.end_step(publish);
    }

    /// Does `next` open a new sentence? The splitter is asked only where a sentence can end, since it costs more than a token.
    fn begins_sentence(&self, next: &str) -> bool {
        if next.trim().is_empty() || self.sentence.trim().is_empty() {
            return false;
        }
        let spaced = next.starts_with(char::is_whitespace) || self.sentence.ends_with(char::is_whitespace);
        let ended = self.sentence.trim_end().ends_with(['.', '!', '?', '…', '。', '！', '？', '"', '”', ')', ']', '»']);
        if self.sentence.ends_with('\n') {
            return true;
        }
        if !ended || !(spaced || self.sentence.ends_with(['。', '！', '？'])) {
            return false;
        }
        let both = format!("{}{next}", self.sentence);
        let border = self.sentence.trim_end().len();
        sentences(&both, "").iter().any(|range| range.start >= border && both[border..range.start].trim().is_empty())
    }

    fn end_step(&mut self, publish: &mut dyn FnMut(Event) -> Flow) -> Flow {
        if self.tokens.is_empty() {
            return Flow::Continue;
        }
        let text = self.sentence.trim().to_owned();
        let uncertainty = self.gate.judge(&self.tokens);
        let citations = self.supports.cite(&text);
        for citation in &citations {
            if !self.citations.iter().any(|known| known == citation) {
                self.citations.push(citation.clone());
            }
        }
        self.lengths.push(self.tokens.len());
        self.tokens.clear();
        self.sentence.clear();
        self.full = self.step >= self.max_sentences;
        publish(Event::StepFinished { step: self.step, text, uncertainty, citations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_answer_follows_the_last_phrase() {
        let cases = [
            ("Tam was born in Lorby. So the answer is Lorby.", Some("Lorby")),
            ("The answer is: 42.\nMore.", Some("42")),
            ("The answer is", None),
            ("Lorby", None),
        ];
        for (text, expected) in cases {
            assert_eq!(after_phrase(text).as_deref(), expected, "{text}");
        }
    }
}
