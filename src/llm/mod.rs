//! Models by role behind small traits. A generator's prompts become a tree of token runs (`tree`) that a schedule (`schedule`) drives
//! through llama.cpp with a cache whose books it keeps (`cells`); every `unsafe` block is in `ffi`.
//!
//! This module knows nothing of retrieval: it turns prompts into text, labels into probabilities and text into vectors.

pub mod gguf;
pub mod discover;
pub mod bundled;
mod log;
mod ffi;
mod runtime;
mod load;
mod template;
mod numbers;
mod stream;
mod cells;
mod tree;
mod schedule;
mod generator;
mod scorer;
mod tap;
mod pool;
mod embedder;
mod judge;
pub mod scripted;

pub use discover::{FoundModel, Place, discover, resolve};
pub use embedder::{LlamaEmbedder, load_embedder};
pub use generator::{LlamaGenerator, load_generator};
pub use judge::{Entailment, EntailmentJudge, LlamaClassifier, Reranker, load_classifier};
pub use numbers::Random;
pub use runtime::{Device, Runtime};

use crate::event::{CallUsage, Flow, ModelCard};

/// A prompt before the chat template: what the user turn says, and the reply so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The system turn; empty for none.
    pub system: String,
    /// The user turn.
    pub user: String,
    /// The assistant turn so far, left open: the model goes on from here. Empty for a new reply.
    pub reply: String,
}

impl Prompt {
    /// A prompt of one user turn.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            user: text.into(),
            ..Self::default()
        }
    }
}

/// A prompt as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text with the chat template applied.
    pub text: String,
    /// Its tokens, special ones included.
    pub tokens: Vec<i32>,
}

/// How to continue a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoding {
    pub max_tokens: u32,
    pub sampling: Sampling,
    /// Branch `i` of a call samples with `seed + i`.
    pub seed: u64,
    pub stop: StopRule,
}

/// Sampling settings. Temperature 0 is greedy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    pub temperature: f32,
    /// 0 keeps all.
    pub top_k: u32,
    /// 1 keeps all.
    pub top_p: f32,
    /// 0 keeps all.
    pub min_p: f32,
}

impl Sampling {
    /// The most likely token every time.
    pub const GREEDY: Self = Self {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
    };
}

/// Where a continuation ends, besides the end of the turn and the token limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopRule {
    /// Texts that end the continuation when it contains one of them; the text itself is cut off.
    pub texts: Vec<String>,
}

/// A sampled token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub id: i32,
    /// Its text; bytes of an unfinished character wait for the next token.
    pub text: String,
    /// ln p under the model's own distribution (temperature 1, before any cut), nats.
    pub logprob: f32,
    /// Entropy of that distribution, nats.
    pub entropy: f32,
    /// Where it was asked for ([`Taps::attention`]): the share of attention to each part when the token was chosen, mean over layers
    /// and heads. It sums to at most 1.
    pub attention: Vec<f32>,
}

/// Why a continuation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The model ended its turn.
    Turn,
    /// A stop rule matched.
    StopRule,
    /// The token limit was reached.
    MaxTokens,
    /// The context is full.
    ContextFull,
    /// The observer answered [`Flow::Stop`].
    Stopped,
}

/// A continuation of one prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The text, stop texts cut off, not trimmed.
    pub text: String,
    pub tokens: Vec<Token>,
    pub end: End,
}

/// Writes text.
pub trait Generator {
    /// Continue each prompt. `observe(branch, token)` sees every token as it is sampled and may stop the whole call; what was
    /// written so far comes back with [`End::Stopped`]. One completion a prompt, in order.
    ///
    /// # Errors
    /// [`LlmError::PromptTooLong`] before anything is evaluated when a prompt leaves no room for one token; llama.cpp's own failures.
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>, LlmError>;

    /// What the model is.
    fn card(&self) -> &ModelCard;

    /// The exact text and tokens of a prompt.
    ///
    /// # Errors
    /// When the chat template cannot be applied.
    fn render(&self, prompt: &Prompt) -> Result<Rendered, LlmError>;

    /// Cost of the last call.
    fn usage(&self) -> CallUsage;
}

/// Reads off what a generator thinks of given replies. Nothing is generated and no text is parsed.
///
/// Replies are given as a person writes them: where a model begins its replies with a space, the space is put before a reply that
/// opens a turn.
pub trait Scorer {
    /// Probability of each label as the whole reply to each prompt: the label's tokens and then the end of the turn, so that "1" and
    /// "10" are told apart. One row a prompt, one number a label, normalised over the labels.
    ///
    /// # Errors
    /// [`LlmError::BadLabel`] for a label without a token; [`LlmError::PromptTooLong`]; [`LlmError::Stopped`]; llama.cpp's own failures.
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Vec<f32>>, LlmError>;

    /// Log-probability of each token of `continuations[i]` after `prompts[i]`, nats. The end of the turn is not part of it.
    ///
    /// # Errors
    /// As [`Scorer::classify`].
    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError>;
}

/// What to read from the model's inside while it writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taps {
    /// Positions whose hidden states are wanted.
    pub hidden: Vec<HiddenAt>,
    /// Parts of [`Rendered::text`], in bytes, one list a prompt: how much attention each token of the continuation paid to each of
    /// them is wanted. Empty for none. Attention is computed in the open then, without flash attention.
    pub attention: Vec<Vec<std::ops::Range<usize>>>,
}

/// A position whose hidden states can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenAt {
    LastPromptToken,
    /// The first token of the continuation. It is read when the model goes on from it: a continuation that ends with it has none.
    FirstToken,
}

/// The hidden states of one position.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden {
    pub at: HiddenAt,
    /// One vector of the model's width a layer, first layer first: what the layer adds up to, before the final norm.
    pub layers: Vec<Vec<f32>>,
}

/// A continuation with what was read while it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Tapped {
    pub completion: Completion,
    /// In the order in which they were read.
    pub hidden: Vec<Hidden>,
}

/// Looks inside a generator. What is not asked for costs nothing.
pub trait Tap {
    /// [`Generator::complete`], with taps.
    ///
    /// # Errors
    /// As [`Generator::complete`].
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>, LlmError>;

    /// Attention between parts of a plain text (ranges of bytes that do not overlap): row i, column j is the attention that the
    /// tokens of part i pay to all tokens of part j, mean over the tokens, `layers` and heads. A causal model looks back only.
    ///
    /// # Errors
    /// [`LlmError::PromptTooLong`]; [`LlmError::Stopped`]; llama.cpp's own failures.
    fn attend(
        &mut self,
        text: &str,
        parts: &[std::ops::Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError>;

    /// Attention between vectors that are fed in place of tokens, one position each: the same matrix.
    ///
    /// # Errors
    /// As [`Tap::attend`]; [`LlmError::Backend`] when a vector is not as wide as the model.
    fn attend_vectors(
        &mut self,
        vectors: &[Vec<f32>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError>;
}

/// The layers that attention is averaged over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layers {
    #[default]
    All,
    /// This one, counted from 0.
    One(u32),
}

/// Turns text into unit vectors.
pub trait Embedder {
    /// One vector of `card().width` numbers and length 1 a text, in order. Texts longer than the model's context are cut at its end.
    ///
    /// # Errors
    /// [`LlmError::Stopped`] when the stop flag was set; llama.cpp's own failures.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError>;

    /// What the model is.
    fn card(&self) -> &ModelCard;
}

/// What can go wrong with a model. Every message names what to do next.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    #[error(
        "no model file at {path}: check the path, or run `ragscope models` to see what is found"
    )]
    Missing { path: String },
    #[error(
        "no model named `{name}` was found{hint}: give the path of a GGUF file, or run `ragscope models` to see what is found"
    )]
    Unknown { name: String, hint: String },
    #[error(
        "{path} is not a usable GGUF model ({reason}): download it again, or choose another with --model"
    )]
    Unusable { path: String, reason: String },
    #[error(
        "the prompt has {prompt_tokens} tokens and the context holds {context_tokens}: shorten the question, or raise generator.context_tokens"
    )]
    PromptTooLong {
        prompt_tokens: u32,
        context_tokens: u32,
    },
    #[error("the label `{label}` cannot be judged: {reason}")]
    BadLabel { label: String, reason: String },
    #[error("stopped")]
    Stopped,
    #[error("llama.cpp: {0}")]
    Backend(String),
}
