//! The reply to one prompt as it arrives: pieces become text, thoughts and tokens.

use super::http::Wish;
use crate::event::{Alternative, Flow};
use crate::llm::growing::GrowingReply;
use crate::llm::template::thought::Splitter;
use crate::llm::values::{Completion, Decoding, End, Token};

/// A token that a server sent.
#[derive(Debug, Clone)]
pub(super) struct ReplyPiece {
    /// -1 where the server does not say.
    pub id: i32,
    pub bytes: Vec<u8>,
    pub logprob: f32,
    pub entropy: f32,
    /// The other tokens that were likely in its place, the likeliest first.
    pub alternatives: Vec<Alternative>,
    /// Whether the server says that it is a thought.
    pub is_thought: bool,
}

/// A part of a streamed answer.
#[derive(Debug, Default)]
pub(super) struct ReplyStep {
    pub pieces: Vec<ReplyPiece>,
    pub end: Option<End>,
    pub prompt_tokens: Option<u32>,
    pub reused_tokens: Option<u32>,
}

/// The reply to one prompt.
pub(super) struct ServerReply {
    reply: GrowingReply,
    pub generated: u32,
    pub prompt_tokens: u32,
    pub reused_tokens: u32,
}

impl ServerReply {
    pub fn new(splitter: Splitter) -> Self {
        Self {
            reply: GrowingReply::new(splitter),
            generated: 0,
            prompt_tokens: 0,
            reused_tokens: 0,
        }
    }

    pub fn has_ended(&self) -> bool {
        self.reply.end.is_some()
    }

    /// Takes a part of the answer.
    pub fn take(
        &mut self,
        step: ReplyStep,
        decoding: &Decoding,
        observe: &mut dyn FnMut(&Token) -> Flow,
    ) -> Wish {
        if let Some(prompt_tokens) = step.prompt_tokens {
            self.prompt_tokens = prompt_tokens;
        }

        if let Some(reused_tokens) = step.reused_tokens {
            self.reused_tokens = reused_tokens;
        }

        for piece in &step.pieces {
            if self.reply.end.is_some() {
                break;
            }
            if self.push(piece, decoding, observe) == Flow::Stop {
                return Wish::Stop;
            }
        }

        match (step.end, self.reply.end) {
            // a server that is not stopped says what the call took
            (None, Some(_)) => Wish::Enough,
            (Some(end), None) => self.finish_turn(end, observe),
            (Some(_), Some(_)) | (None, None) => Wish::More,
        }
    }

    fn push(
        &mut self,
        piece: &ReplyPiece,
        decoding: &Decoding,
        observe: &mut dyn FnMut(&Token) -> Flow,
    ) -> Flow {
        self.generated += 1;
        let (text, is_thought) = if piece.is_thought {
            (self.reply.add_thought(&piece.bytes), true)
        } else {
            let stops = &decoding.stop.texts;
            self.reply.add(&piece.bytes, stops, decoding.max_tokens)
        };
        let token = Token {
            id: piece.id,
            text,
            logprob: piece.logprob,
            entropy: piece.entropy,
            attention: Vec::new(),
            is_thought,
            alternatives: piece.alternatives.clone(),
        };
        let flow = observe(&token);
        if !is_thought {
            self.reply.tokens.push(token);
        }
        flow
    }

    /// Releases the text that was held back as the start of a stop text or of a mark, with the
    /// numbers of its last token.
    fn finish_turn(&mut self, end: End, observe: &mut dyn FnMut(&Token) -> Flow) -> Wish {
        self.reply.end_turn(end, &[]);
        let text = self.reply.answer.take_rest();

        let Some(last) = self.reply.tokens.last().filter(|_| !text.is_empty()) else {
            return Wish::More;
        };

        let token = Token {
            text,
            ..last.clone()
        };
        let flow = observe(&token);
        self.reply.tokens.push(token);

        match flow {
            Flow::Continue => Wish::More,
            Flow::Stop => Wish::Stop,
        }
    }

    /// Returns the completion; one without an end was stopped.
    pub fn finish(self) -> Completion {
        self.reply.finish(End::Stopped)
    }
}
