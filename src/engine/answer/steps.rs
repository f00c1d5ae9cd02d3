//! Splits the stream of tokens into steps, one per sentence, line of a list, or block of code.

use crate::corpus::sentences;
use crate::engine::run::{Observe, Sentence, token_event};
use crate::event::{Flow, RunEvent, Uncertainty, ends_in_code};
use crate::llm::Token;

use super::attribution::attribute;
use super::marks::without_last_marks;
use super::short::is_name_continued;
use super::sources::Supports;

/// Decides about a sentence from its tokens alone; `None` if the gate must be called.
pub type EarlyDecision<'a> = &'a dyn Fn(&[Token]) -> Option<Uncertainty>;

/// Returns whether a sentence is the last one of the answer; the second argument holds the
/// sentences of the same completion before it.
pub type IsLast<'a> = &'a dyn Fn(&str, &[Sentence]) -> bool;

/// The surroundings of the sentences of one completion.
pub struct Rules<'a> {
    pub decide_early: EarlyDecision<'a>,
    pub is_last: IsLast<'a>,
    pub supports: Supports,
    /// The chunks that attention is attributed to, in the order of their labels.
    pub chunks: Vec<u64>,
    /// The number of the last step that there may be.
    pub last_step: u32,
}

/// The steps of one completion. It ends with the first sentence that the gate must judge, or that
/// is the last one.
pub struct Steps<'a> {
    rules: Rules<'a>,
    /// The current step, its tokens and its text.
    step: u32,
    tokens: Vec<Token>,
    raw: String,
    /// The finished sentences; only the last one can be undecided.
    sentences: Vec<Sentence>,
    is_over: bool,
}

impl<'a> Steps<'a> {
    /// Steps from number `first` on.
    pub fn new(first: u32, rules: Rules<'a>) -> Self {
        Self {
            rules,
            step: first,
            tokens: Vec::new(),
            raw: String::new(),
            sentences: Vec::new(),
            is_over: false,
        }
    }

    /// Takes the next token of the completion.
    pub fn push(&mut self, publish: Observe<'_>, token: &Token) -> Flow {
        if token.is_thought {
            return publish(RunEvent::ThoughtGenerated {
                step: self.step,
                text: token.text.clone(),
            });
        }
        if self.begins_sentence(&token.text) && self.finish(publish) == Flow::Stop {
            return Flow::Stop;
        }
        if self.is_over {
            return Flow::Stop;
        }

        if self.tokens.is_empty()
            && publish(RunEvent::StepStarted { step: self.step }) == Flow::Stop
        {
            return Flow::Stop;
        }
        self.raw.push_str(&token.text);
        self.tokens.push(token.clone());
        publish(token_event(self.step, token))
    }

    /// Finishes the current sentence.
    pub fn finish(&mut self, publish: Observe<'_>) -> Flow {
        let tokens = std::mem::take(&mut self.tokens);
        let raw = std::mem::take(&mut self.raw);
        // white space before the end of the turn is not a sentence
        if raw.trim().is_empty() {
            return Flow::Continue;
        }

        let step = self.step;
        let attributed = attribute(&tokens, &self.rules.chunks);
        let attributed = attributed.map(|chunks| RunEvent::StepAttributed { step, chunks });
        let sentence = Sentence {
            step: self.step,
            citations: self.rules.supports.cite(raw.trim()),
            uncertainty: (self.rules.decide_early)(&tokens),
            raw,
            tokens,
        };
        let decided = sentence.uncertainty.clone();
        let finished = decided.map(|uncertainty| sentence.to_event(uncertainty));
        let is_last = (self.rules.is_last)(sentence.text(), &self.sentences);
        self.is_over =
            is_last || sentence.uncertainty.is_none() || self.step >= self.rules.last_step;
        self.step += 1;
        self.sentences.push(sentence);

        // both events are published even if the first is answered with a stop: a stop keeps what
        // is written
        let mut is_stopped = false;
        for event in finished.into_iter().chain(attributed) {
            is_stopped |= publish(event) == Flow::Stop;
        }
        Flow::stop_if(is_stopped)
    }

    /// Returns the sentences of the completion.
    pub fn into_sentences(self) -> Vec<Sentence> {
        self.sentences
    }

    /// Returns whether `next` opens a new sentence. The splitter runs only where a sentence can
    /// end, since it costs more than a token does.
    fn begins_sentence(&self, next: &str) -> bool {
        let is_blank = next.trim().is_empty() || self.raw.trim().is_empty();
        if is_blank || ends_in_code(&self.raw) {
            return false;
        }
        let leading = next.len() - next.trim_start().len();
        let line = self.raw.trim_end_matches([' ', '\t']);
        if line.ends_with('\n') || next[..leading].contains('\n') {
            return true;
        }
        // a mark behind the full stop is of the sentence before it
        if next[leading..].starts_with('[') {
            return false;
        }

        let ended = without_last_marks(&self.raw);
        let has_ended = ended.ends_with([
            '.', '!', '?', '…', '。', '！', '？', '"', '”', ')', ']', '»',
        ]);
        let is_spaced =
            next.starts_with(char::is_whitespace) || self.raw.ends_with(char::is_whitespace);
        // full-width punctuation needs no space behind it
        if !has_ended || !(is_spaced || self.raw.ends_with(['。', '！', '？'])) {
            return false;
        }

        if is_name_continued(ended, next) {
            return false;
        }

        let space = if is_spaced { " " } else { "" };
        let text = format!("{ended}{space}{}", next.trim_start());
        let end = ended.len();
        sentences(&text, "")
            .iter()
            .any(|range| range.start >= end && text[end..range.start].trim().is_empty())
    }
}
