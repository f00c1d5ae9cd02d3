//! The answer in progress: its sentences so far, and the next completion that continues them.

use crate::config::AttributionKind;
use crate::engine::error::RunError;
use crate::engine::run::{Call, Draft, Gate, Passages, Run, Sentence, StepLookup, context};
use crate::event::{Citation, Flow, saturating_u32};
use crate::llm::{Decoding, End, Prompt, Tapped, Token};

use super::short;
use super::sources::Supports;
use super::steps::{EarlyDecision, Rules, Steps};

/// A sentence that was written this often is a loop, with which an answer ends.
const MAX_REPEATS: usize = 2;

/// An answer in progress.
pub struct Writing<'w> {
    /// The passages that each sentence is first written from; none where only uncertain sentences
    /// retrieve.
    pub passages: &'w Passages,
    /// The sentences of the answer so far.
    pub confirmed: Vec<String>,
    /// The reply so far as the model wrote it, with its white space.
    pub text: String,
    pub citations: Vec<Citation>,
    pub lookups: Vec<StepLookup>,
    /// The confirmed sentences that were generated.
    pub sentences: Vec<Sentence>,
    pub limit_reached: bool,
    /// An undecided sentence whose completion failed.
    pub interrupted: Option<Sentence>,
    /// The sentences of an earlier run that it begins with.
    begun: u32,
    /// Tokens of the confirmed sentences that were generated.
    tokens: usize,
}

/// The sentence of a completion that the gate must judge, and the end of the completion.
pub type Written = (Option<Draft>, End);

impl<'w> Writing<'w> {
    /// An answer that begins with the `confirmed` sentences; `reply_start` is the model's.
    pub fn new(passages: &'w Passages, confirmed: &[String], reply_start: &str) -> Self {
        let text = match join(confirmed) {
            none if none.is_empty() => none,
            sentences => format!("{reply_start}{sentences}"),
        };

        Self {
            passages,
            confirmed: confirmed.iter().map(|one| one.trim().to_owned()).collect(),
            text,
            citations: Vec::new(),
            lookups: Vec::new(),
            sentences: Vec::new(),
            limit_reached: false,
            interrupted: None,
            begun: 0,
            tokens: 0,
        }
    }

    /// Cites the sentences that the answer begins with by what is read now.
    pub fn cite_confirmed(&mut self, run: &mut Run<'_>) {
        self.begun = saturating_u32(self.confirmed.len());
        if self.passages.hits.is_empty() {
            return;
        }

        let supports = Supports::new(run.question, self.passages);
        for (step, text) in (1..).zip(&self.confirmed) {
            let sentence = run.give_sentence(step, text, supports.cite(text));
            self.citations.extend(sentence.citations.iter().cloned());
            self.sentences.push(sentence);
        }
    }

    /// Runs one completion that continues the confirmed sentences, and confirms those that are
    /// decided early.
    pub fn complete(
        &mut self,
        run: &mut Run<'_>,
        gate: &dyn Gate,
        passages: &Passages,
        decide_early: EarlyDecision<'_>,
    ) -> Result<Written, RunError> {
        let settings = &run.tools.config.answer;
        let left = (settings.max_tokens as usize).saturating_sub(self.tokens);
        if left == 0 {
            return Ok((None, End::MaxTokens));
        }

        let prompt = self.prompt(run, passages);
        let attend_to = attended_lines(run, passages);
        let call = Call {
            purpose: "answer",
            prompt: &prompt,
            decoding: decoding(run, saturating_u32(left)),
            attend_to: &attend_to,
            hidden: &gate.taps(run),
        };

        // without a gate one completion writes the whole answer, and its end is the model's
        let has_gate = gate.card(run).is_some();
        let is_last = |text: &str, before: &[Sentence]| {
            let repeats = before.iter().filter(|known| known.text() == text).count();
            let least = if has_gate { 1 } else { MAX_REPEATS };
            (has_gate && is_last(text, &self.confirmed))
                || (repeats >= least && short::is_repeatable(text))
        };
        let rules = Rules {
            decide_early,
            is_last: &is_last,
            supports: Supports::new(run.question, passages),
            chunks: passages.hits.iter().map(|hit| hit.chunk.id).collect(),
            last_step: settings.max_sentences.saturating_add(self.begun),
        };
        let mut steps = Steps::new(saturating_u32(self.confirmed.len() + 1), rules);
        // sentences that the model does not see are those of another paragraph
        let mut begins_paragraph = self.text.is_empty() && !self.confirmed.is_empty();
        let tapped = run.stream(&call, &mut |publish, token| {
            if !begins_paragraph || token.is_thought {
                return steps.push(publish, token);
            }
            begins_paragraph = false;
            let text = format!("\n\n{}", token.text.trim_start());
            let first = Token {
                text,
                ..token.clone()
            };
            steps.push(publish, &first)
        });
        let _ = steps.finish(&mut |event| {
            run.emit(event);
            Flow::Continue
        });

        let undecided = self.confirm_decided(steps.into_sentences());
        let Tapped { completion, hidden } = match tapped {
            Ok(tapped) => tapped,
            Err(error) => {
                self.interrupted = undecided;
                return Err(error);
            }
        };
        let draft = undecided.map(|sentence| Draft {
            sentence,
            prompt,
            confirmed: self.confirmed.clone(),
            hidden,
        });
        Ok((draft, completion.end))
    }

    /// Returns the prompt of the answer with the reply so far, which the model continues.
    fn prompt(&self, run: &Run<'_>, passages: &Passages) -> Prompt {
        let tools = &run.tools;
        let bare = context::prompt(tools.config, tools.prompts, run.question, &passages.hits);
        // the next word has its own space; line breaks are the model's
        let reply = format!("{}{}", bare.reply, self.text.trim_end_matches(' '));
        Prompt { reply, ..bare }
    }

    /// Confirms the decided sentences of a completion and returns the undecided one, which is the
    /// last if there is one.
    fn confirm_decided(&mut self, mut sentences: Vec<Sentence>) -> Option<Sentence> {
        let undecided = sentences.pop_if(|sentence| sentence.uncertainty.is_none());
        for sentence in sentences {
            self.confirm(sentence);
        }
        undecided
    }

    /// Appends a sentence to the answer.
    pub fn confirm(&mut self, sentence: Sentence) {
        self.tokens += sentence.tokens.len();
        self.confirmed.push(sentence.text().to_owned());
        self.text.push_str(&sentence.raw);
        for citation in &sentence.citations {
            if !self.citations.contains(citation) {
                self.citations.push(citation.clone());
            }
        }
        self.sentences.push(sentence);
    }
}

/// Returns sentences as one text, in which the white space behind each of them stays.
fn join(sentences: &[String]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        if !text.is_empty() && !text.ends_with(char::is_whitespace) {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    text
}

/// Returns the lines of the prompt whose share in the attention of each sentence is measured.
fn attended_lines(run: &Run<'_>, passages: &Passages) -> Vec<String> {
    let is_measured = match run.tools.config.answer.attribution {
        AttributionKind::On | AttributionKind::Causal => true,
        AttributionKind::Auto => run.tools.generator.is_attention_cheap(),
        AttributionKind::Off => false,
    };
    if is_measured {
        context::show_chunks(run.tools.config.answer.prompt, &passages.hits)
    } else {
        Vec::new()
    }
}

/// Returns the decoding of the settings.
pub fn decoding(run: &Run<'_>, max_tokens: u32) -> Decoding {
    let settings = &run.tools.config.generator;
    Decoding {
        temperature: settings.temperature,
        ..Decoding::greedy(max_tokens, run.tools.config.seed)
    }
}

/// Returns whether the answer ends with this sentence: it states the short answer, or says again
/// what one of the sentences before it said.
pub fn is_last(text: &str, before: &[String]) -> bool {
    let is_known = before.iter().any(|known| known == text);
    short::find_stated(text).is_some() || (is_known && short::is_repeatable(text))
}
