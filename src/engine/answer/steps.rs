//! Cuts the stream of tokens into steps, one a sentence.

use crate::corpus::sentences;
use crate::engine::run::Sentence;
use crate::event::{Event, Flow, Uncertainty};
use crate::llm::Token;

use super::attribution::Attribution;
use super::citations::Supports;

/// Says of a sentence, from its tokens, that it is kept; None when that takes more than a look.
pub type KeepAtOnce<'a> = &'a dyn Fn(&[Token]) -> Option<Uncertainty>;

/// Says that a sentence is the last one of the answer; `before` are those of the same completion.
pub type IsLast<'a> = &'a dyn Fn(&str, &[Sentence]) -> bool;

/// The steps of one completion. It ends with the first sentence that is not kept at once, or that is the last one.
pub struct Steps<'a> {
    keep: KeepAtOnce<'a>,
    is_last: IsLast<'a>,
    supports: &'a Supports,
    attribution: &'a Attribution,
    /// The last step that there may be.
    last: u32,
    /// The step under way, its tokens and its text.
    step: u32,
    tokens: Vec<Token>,
    raw: String,
    /// The finished sentences; only the last one can be unjudged.
    pub sentences: Vec<Sentence>,
    ended: bool,
}

impl<'a> Steps<'a> {
    /// Steps from number `first` to number `last`.
    pub fn new(
        (keep, is_last): (KeepAtOnce<'a>, IsLast<'a>),
        (supports, attribution): (&'a Supports, &'a Attribution),
        first: u32,
        last: u32,
    ) -> Self {
        let (tokens, raw, sentences) = (Vec::new(), String::new(), Vec::new());
        Self {
            keep,
            is_last,
            supports,
            attribution,
            last,
            step: first,
            tokens,
            raw,
            sentences,
            ended: false,
        }
    }

    /// Take the next token in.
    pub fn push(&mut self, publish: &mut dyn FnMut(Event) -> Flow, token: &Token) -> Flow {
        if self.begins_sentence(&token.text) && self.finish(publish) == Flow::Stop {
            return Flow::Stop;
        }
        if self.ended {
            return Flow::Stop;
        }
        if self.tokens.is_empty() && publish(Event::StepStarted { step: self.step }) == Flow::Stop {
            return Flow::Stop;
        }
        self.raw.push_str(&token.text);
        self.tokens.push(token.clone());
        publish(Event::TokenGenerated {
            step: self.step,
            text: token.text.clone(),
            logprob: token.logprob,
            entropy: token.entropy,
        })
    }

    /// The sentence under way is over.
    pub fn finish(&mut self, publish: &mut dyn FnMut(Event) -> Flow) -> Flow {
        if self.tokens.is_empty() {
            return Flow::Continue;
        }
        let (raw, tokens) = (
            std::mem::take(&mut self.raw),
            std::mem::take(&mut self.tokens),
        );
        if raw.trim().is_empty() {
            // white space before the end of the turn is no sentence
            return Flow::Continue;
        }
        let attributed = self.attribution.event(self.step, &tokens);
        let (citations, uncertainty) = (self.supports.cite(raw.trim()), (self.keep)(&tokens));
        let sentence = Sentence {
            step: self.step,
            raw,
            tokens,
            citations,
            uncertainty,
        };
        let is_last = (self.is_last)(sentence.text(), &self.sentences);
        self.ended = is_last || sentence.uncertainty.is_none() || self.step >= self.last;
        self.step += 1;
        let event = sentence
            .uncertainty
            .clone()
            .map(|uncertainty| sentence.finished(uncertainty));
        self.sentences.push(sentence);
        // both are told, whatever the first one is answered with: a stop keeps what is there
        let told = event.into_iter().chain(attributed).map(publish);
        told.fold(
            Flow::Continue,
            |all, flow| if flow == Flow::Stop { flow } else { all },
        )
    }

    /// Does `next` open a new sentence? The splitter is asked only where a sentence can end, since it costs more than a token.
    fn begins_sentence(&self, next: &str) -> bool {
        if next.trim().is_empty() || self.raw.trim().is_empty() {
            return false;
        }
        let spaced =
            next.starts_with(char::is_whitespace) || self.raw.ends_with(char::is_whitespace);
        let ended = self.raw.trim_end().ends_with([
            '.', '!', '?', '…', '。', '！', '？', '"', '”', ')', ']', '»',
        ]);
        if self.raw.ends_with('\n') {
            return true;
        }
        if !ended || !(spaced || self.raw.ends_with(['。', '！', '？'])) {
            return false;
        }
        let both = format!("{}{next}", self.raw);
        let border = self.raw.trim_end().len();
        sentences(&both, "")
            .iter()
            .any(|range| range.start >= border && both[border..range.start].trim().is_empty())
    }
}
