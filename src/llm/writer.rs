//! Writes the continuations of prompts token by token: samples, splits off thoughts, and stops.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::draft::prompt_lookup;
use super::growing::GrowingReply;
use super::numbers::{self, Blocks, Sampler};
use super::row_reader::{LogitRow, Next, RowReader};
use super::schedule::JobEnd;
use super::template::Template;
use super::values::{Completion, Decoding, End, Prompt, Token};
use crate::event::{Alternative, Flow};

/// Maximum number of alternatives that are listed of a token, and the minimum probability of each.
const ALTERNATIVES: usize = 3;
const LEAST_PROBABILITY: f32 = 0.01;

/// Writes the continuations of a call.
pub(super) struct Writer<'a> {
    model: &'a LlamaModel,
    decoding: &'a Decoding,
    stops: Vec<String>,
    /// Maximum number of tokens of the thoughts in front of an answer.
    thinking_tokens: usize,
    /// The tokens that end thoughts which are too long.
    closing: Vec<i32>,
    pub continuations: Vec<Continuation>,
    blocks: Blocks,
    /// Attention read with the next row, where it is tapped.
    pub attention: Vec<f32>,
    /// Sees how many tokens of a single prompt are read.
    pub read: Option<&'a mut dyn FnMut(usize)>,
    observe: &'a mut dyn FnMut(usize, &Token) -> Flow,
}

/// The continuation of one prompt.
pub(super) struct Continuation {
    sampler: Sampler,
    pub reply: GrowingReply,
    pub thought_tokens: usize,
    /// Tokens that follow whatever the model says, the next one last.
    forced: Vec<i32>,
}

impl<'a> Writer<'a> {
    pub fn new(
        model: &'a LlamaModel,
        template: &Template,
        decoding: &'a Decoding,
        prompts: &[Prompt],
        observe: &'a mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Self {
        let continuations = (0..).zip(prompts).map(|(index, prompt)| Continuation {
            // samples of one prompt must differ, and be the same each time
            sampler: Sampler::new(decoding.temperature, decoding.seed.wrapping_add(index)),
            reply: GrowingReply::new(template.thoughts.splitter(prompt)),
            thought_tokens: 0,
            forced: Vec::new(),
        });

        Self {
            model,
            decoding,
            stops: [&decoding.stop.texts[..], &template.stop_texts].concat(),
            thinking_tokens: template.thoughts.max_tokens as usize,
            closing: template.closing(model),
            continuations: continuations.collect(),
            blocks: Blocks::new(),
            attention: Vec::new(),
            read: None,
            observe,
        }
    }

    /// Returns the token that follows in a continuation: the sampled one, or the first of those
    /// that end its thoughts when they take too long.
    fn next(&mut self, job: usize, sampled: i32) -> i32 {
        let continuation = &mut self.continuations[job];
        let is_too_long = continuation.reply.splitter.is_in_thoughts()
            && continuation.thought_tokens >= self.thinking_tokens;
        if !is_too_long {
            return sampled;
        }

        continuation.reply.close_thoughts();
        // `pop` takes the first of them first
        continuation.forced = self.closing.iter().rev().copied().collect();
        continuation.forced.pop().unwrap_or(sampled)
    }
}

impl Continuation {
    pub fn finish(mut self, end: JobEnd) -> Completion {
        let otherwise = match end {
            JobEnd::ContextFull => End::ContextFull,
            JobEnd::Done | JobEnd::Stopped => End::Stopped,
        };
        if self.reply.splitter.is_in_thoughts() {
            self.reply.close_thoughts();
        }
        self.reply.finish(otherwise)
    }

    /// Takes the end of the turn. Returns the text that was held back, and whether it is a thought.
    fn end_turn(&mut self, stops: &[String]) -> (String, bool) {
        let is_thought = !self.reply.splitter.is_in_answer();
        let thought = self.reply.end_turn(End::Turn, stops);
        if is_thought {
            (thought, true)
        } else {
            (self.reply.answer.take_rest(), false)
        }
    }
}

/// Returns the other tokens that were likely in the place of the one that was sampled.
fn alternatives(model: &LlamaModel, row: &LogitRow, sampled: usize) -> Vec<Alternative> {
    let likely = numbers::alternatives(
        row.logits,
        &row.distribution,
        sampled,
        ALTERNATIVES,
        LEAST_PROBABILITY,
    );

    let vocabulary = model.vocab();
    likely
        .into_iter()
        .map(|(id, logprob)| {
            let id = LlamaToken(i32::try_from(id).unwrap_or(i32::MAX));
            let bytes = vocabulary.token_to_piece(id, true, None);
            Alternative {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                logprob,
            }
        })
        .collect()
}

impl RowReader for Writer<'_> {
    fn before_reading(&mut self, read: usize) -> bool {
        if let Some(observe) = &mut self.read {
            observe(read);
        }
        self.read.is_some()
    }

    fn draft<'p>(&self, job: usize, path: &'p [i32]) -> &'p [i32] {
        let continuation = &self.continuations[job];
        // what is read of the first word is announced before its row, which no draft can be
        if continuation.reply.answer.has_word() && continuation.forced.is_empty() {
            prompt_lookup(path)
        } else {
            &[]
        }
    }

    fn row(&mut self, job: usize, _position: usize, row: &LogitRow) -> Next {
        let continuation = &mut self.continuations[job];
        if self.decoding.max_tokens == 0 {
            continuation.reply.end = Some(End::MaxTokens);
            return Next::End;
        }
        if let Some(token) = continuation.forced.pop() {
            return Next::Extend(token);
        }

        let sampled = continuation
            .sampler
            .sample(row.logits, &row.distribution, &mut self.blocks);
        let id = i32::try_from(sampled).unwrap_or(i32::MAX);
        let ends_turn = self.model.vocab().is_eog(LlamaToken(id));
        let (text, is_thought) = if ends_turn {
            continuation.end_turn(&self.stops)
        } else {
            // the marks of thoughts are control tokens in some vocabularies
            let shows_control = !continuation.reply.splitter.is_in_answer();
            let vocabulary = self.model.vocab();
            let bytes = vocabulary.token_to_piece(LlamaToken(id), shows_control, None);
            let max_tokens = self.decoding.max_tokens;
            continuation.reply.add(&bytes, &self.stops, max_tokens)
        };
        // The end of the turn is listed as a token only if it releases text that was held back as
        // the start of a stop text.
        if ends_turn && text.is_empty() {
            return Next::End;
        }

        let token = Token {
            id,
            text,
            logprob: row.logprob(sampled),
            entropy: row.distribution.entropy,
            attention: std::mem::take(&mut self.attention),
            is_thought,
            alternatives: alternatives(self.model, row, sampled),
        };
        let flow = (self.observe)(job, &token);
        if is_thought {
            continuation.thought_tokens += 1;
        } else {
            continuation.reply.tokens.push(token);
        }
        match (flow, continuation.reply.end) {
            (Flow::Stop, _) => Next::Stop,
            (Flow::Continue, Some(_)) => Next::End,
            (Flow::Continue, None) => Next::Extend(self.next(job, id)),
        }
    }
}
