//! The reply to one prompt as it grows: bytes of tokens become thoughts, and the answer behind
//! them.

use super::stream::Stream;
use super::template::thought::Splitter;
use super::values::{Completion, End, Token};

/// A reply as it grows.
pub(super) struct GrowingReply {
    /// The reply with its thoughts.
    whole: Stream,
    pub splitter: Splitter,
    pub answer: Stream,
    /// The tokens of the answer.
    pub tokens: Vec<Token>,
    thoughts: String,
    pub end: Option<End>,
}

impl GrowingReply {
    pub fn new(splitter: Splitter) -> Self {
        Self {
            whole: Stream::default(),
            splitter,
            answer: Stream::default(),
            tokens: Vec::new(),
            thoughts: String::new(),
            end: None,
        }
    }

    /// Takes the bytes of a token. Returns the text that is released, and whether it is a thought.
    pub fn add(&mut self, bytes: &[u8], stops: &[String], max_tokens: u32) -> (String, bool) {
        let was_in_answer = self.splitter.is_in_answer();
        let thought = self.push(bytes, stops);
        if !was_in_answer && !self.splitter.is_in_answer() {
            return (thought, true);
        }

        if self.tokens.len() + 1 >= max_tokens as usize {
            self.end.get_or_insert(End::MaxTokens);
        }
        let text = match self.end {
            Some(_) => self.answer.take_rest(),
            None => self.answer.take(stops),
        };
        (text, false)
    }

    /// Takes the bytes of a token, and returns what they add to the thoughts.
    fn push(&mut self, bytes: &[u8], stops: &[String]) -> String {
        let mut thought = String::new();
        let is_stopped = if self.splitter.is_in_answer() {
            self.answer.push(bytes, stops)
        } else {
            self.whole.push(bytes, &[]);
            let parts = self.splitter.push(&self.whole.take(&[]));
            thought = parts.thought;
            self.answer.push(parts.answer.as_bytes(), stops)
        };
        if is_stopped {
            self.end = Some(End::StopRule);
        }
        self.thoughts.push_str(&thought);
        thought
    }

    /// Takes the bytes of a token that is known to be a thought, and returns the text that is
    /// released.
    pub fn add_thought(&mut self, bytes: &[u8]) -> String {
        self.whole.push(bytes, &[]);
        let thought = self.whole.take(&[]);
        self.thoughts.push_str(&thought);
        thought
    }

    /// Ends the thoughts, whatever was written.
    pub fn close_thoughts(&mut self) {
        self.thoughts.push_str(&self.splitter.close());
    }

    /// Ends the turn. Of what was held back as the start of a mark, returns the thought; the answer
    /// is part of its rest.
    pub fn end_turn(&mut self, end: End, stops: &[String]) -> String {
        self.end = Some(end);
        let held = self.splitter.finish();
        self.thoughts.push_str(&held.thought);
        self.answer.push(held.answer.as_bytes(), stops);
        held.thought
    }

    /// Returns the completion; one without an end ends `otherwise`.
    pub fn finish(self, otherwise: End) -> Completion {
        Completion {
            text: self.answer.finish(),
            tokens: self.tokens,
            thoughts: self.thoughts,
            end: self.end.unwrap_or(otherwise),
        }
    }
}
