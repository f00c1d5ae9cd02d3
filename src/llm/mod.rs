//! The models by role, behind small traits, on llama.cpp.
//!
//! The prompts of a call become a radix tree of tokens (`tree`), which a scheduler evaluates
//! (`schedule`) over a KV cache that it does the bookkeeping of (`cells`). Every `unsafe` block is
//! in `ffi`.
//!
//! This module does not know retrieval: it turns prompts into text, labels into probabilities and
//! text into vectors.

pub mod gguf;
pub mod discover;
pub mod bundled;
mod log;
mod threads;
mod ffi;
mod runtime;
mod fit;
mod load;
pub mod memory;
mod template;
mod numbers;
mod stream;
mod cells;
mod tree;
mod schedule;
mod generator;
mod reply_start;
pub mod labels;
mod scorer;
mod tap;
mod pool;
mod prefixes;
mod embedder;
mod no_embedder;
mod judge;
mod reranker;
mod linker;
mod vocabulary;
pub mod rpc;
mod exact;
pub mod server;
mod open;
pub mod isolated;

pub use discover::{CacheFolders, FoundModel, ModelSource, discover, resolve};
pub use embedder::{LlamaEmbedder, load_embedder};
pub use generator::{LlamaGenerator, load_generator, load_linker};
pub use isolated::IsolatedGenerator;
pub use judge::{Entailment, EntailmentJudge, LlamaClassifier, Reranker, load_entailment_judge};
pub use linker::linker_misfit;
pub use no_embedder::NoEmbedder;
pub use numbers::Random;
pub use open::open_generator;
pub use prefixes::prefixes_of;
pub use reranker::{LlamaReranker, RerankerLoad, load_reranker};
pub use runtime::{Device, Runtime, contain_crashes};
pub use template::{TEMPLATE_ADVICE, jinja};
pub use threads::limit_spinning;
pub use vocabulary::LlamaVocabulary;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::config::prompts::Filled;
use crate::event::{Advice, Alternative, CallUsage, Flow, ModelCard, Problem};

/// A prompt before the chat template is applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The system turn; empty for none.
    pub system: String,
    /// The user turn.
    pub user: String,
    /// The start of the assistant turn, which the model continues; empty for a new reply.
    pub reply: String,
}

impl From<Filled> for Prompt {
    fn from(Filled { user, reply }: Filled) -> Self {
        Self {
            reply,
            ..Self::user(user)
        }
    }
}

impl Prompt {
    /// Creates a prompt of one user turn.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            user: text.into(),
            ..Self::default()
        }
    }
}

/// A prompt as it is passed to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendered {
    /// The text with the chat template applied.
    pub text: String,
    /// Its tokens, special ones included.
    pub tokens: Vec<i32>,
}

/// Parameters of a continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decoding {
    pub max_tokens: u32,
    pub sampling: Sampling,
    /// Prompt `i` of a call samples with `seed + i`.
    pub seed: u64,
    pub stop: StopRule,
}

/// Sampling settings. Temperature 0 is greedy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    pub temperature: f32,
    /// Number of most likely tokens that are kept; 0 keeps all.
    pub top_k: u32,
    /// Probability mass of the most likely tokens that are kept; 1 keeps all.
    pub top_p: f32,
    /// Minimum probability relative to the most likely token; 0 keeps all.
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

/// What ends a continuation, besides the end of the turn and the token limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRule {
    /// Texts that end the continuation, which does not include them. White space in front of the
    /// first word is none of them.
    pub texts: Vec<String>,
}

/// A sampled token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub id: i32,
    /// Its text; bytes of an incomplete character are part of the next token's.
    pub text: String,
    /// ln p at temperature 1, before top-k, top-p and min-p, nats.
    #[serde(with = "exact::number")]
    pub logprob: f32,
    /// Entropy of that distribution, nats.
    #[serde(with = "exact::number")]
    pub entropy: f32,
    /// Attention to each part of the prompt ([`Taps::attention`]) when the token was sampled: mean
    /// over layers and heads, at most 1 in sum. Empty if it was not tapped.
    #[serde(with = "exact::list")]
    pub attention: Vec<f32>,
    /// Whether it is a part of the thoughts in front of the answer.
    pub is_thought: bool,
    /// The other tokens that were likely in its place, the likeliest first.
    pub alternatives: Vec<Alternative>,
}

/// Why a continuation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text before any stop text, not trimmed, without thoughts.
    pub text: String,
    /// The tokens of that text.
    pub tokens: Vec<Token>,
    /// The thoughts of a thinking model in front of the text; empty for none.
    pub thoughts: String,
    pub end: End,
}

/// Writes text.
pub trait Generator {
    /// Continues each prompt; returns one completion per prompt, in order.
    ///
    /// `observe(prompt, token)` is called with every token as it is sampled, those of thoughts
    /// included, and can stop the whole call: the completions then have the text so far and [`End::Stopped`].
    ///
    /// # Errors
    /// [`LlmError::PromptTooLong`], before anything is evaluated, if a prompt leaves no room for
    /// one token; failures of llama.cpp.
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>, LlmError>;

    /// Describes the model.
    fn card(&self) -> &ModelCard;

    /// Returns the exact text and tokens of a prompt.
    ///
    /// # Errors
    /// When the chat template cannot be applied.
    fn render(&self, prompt: &Prompt) -> Result<Rendered, LlmError>;

    /// Returns how the model begins its replies: with a space, or at once.
    fn reply_start(&self) -> &'static str;

    /// Returns the cost of the last call.
    fn usage(&self) -> CallUsage;
}

/// How likely a reply begins with each of some labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Labelled {
    /// The probability of each label, normalised over the labels.
    #[serde(with = "exact::list")]
    pub shares: Vec<f32>,
    /// The probability that the reply begins with any of them, in 0..=1, behind a space or quote that the
    /// model has in front of all: near 0 for a model that answers in other words.
    #[serde(with = "exact::number")]
    pub mass: f32,
    /// The label that the greedy reply begins with; `None` where it begins with other words.
    ///
    /// It is the likeliest label wherever one token distinguishes them. Of grades in digits it may not be:
    /// the greedy reply takes "1" for the sum of 1 and 10.
    pub greedy: Option<usize>,
}

impl Labelled {
    /// Returns the label that a parsed reply gives: that of the greedy reply, otherwise the likeliest one,
    /// the first among equals.
    pub fn said(&self) -> Option<usize> {
        let likeliest = || {
            let order = |a: &usize, b: &usize| self.shares[*a].total_cmp(&self.shares[*b]);
            (0..self.shares.len()).rev().max_by(order)
        };
        self.greedy.or_else(likeliest)
    }
}

/// Scores given replies by their likelihood. Nothing is generated and no text is parsed.
///
/// Replies are given without leading space: if the model begins its replies with one, it is added
/// to a reply that opens a turn.
pub trait Scorer {
    /// Returns how likely the reply to each prompt begins with each label, in any of its usual
    /// spellings (`labels::spellings`).
    ///
    /// # Errors
    /// [`LlmError::BadLabel`] for a label without a token; [`LlmError::PromptTooLong`];
    /// [`LlmError::Stopped`]; failures of llama.cpp.
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>, LlmError>;

    /// Returns the log-probability of each token of `continuations[i]` after `prompts[i]`, nats,
    /// without the end of the turn.
    ///
    /// # Errors
    /// As [`Scorer::classify`].
    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError>;
}

/// The hidden states and attention to read while the model writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taps {
    /// Positions whose hidden states are read.
    pub hidden: Vec<HiddenAt>,
    /// Parts of [`Rendered::text`] in bytes, one list per prompt: the attention of each generated
    /// token to each part is read, with flash attention off. Empty for none.
    pub attention: Vec<Vec<std::ops::Range<usize>>>,
}

/// A position whose hidden states can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HiddenAt {
    LastPromptToken,
    /// The first token of the answer that is not white space. It is read when the model evaluates
    /// it: a continuation that ends with it has none.
    FirstToken,
}

/// The hidden states of one position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hidden {
    pub at: HiddenAt,
    /// One vector of the model's width per layer, first layer first: the residual stream after the
    /// layer, before the final norm.
    #[serde(with = "exact::rows")]
    pub layers: Vec<Vec<f32>>,
}

/// A continuation with the hidden states that were read. Attention is in its tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tapped {
    pub completion: Completion,
    /// In the order in which they were read.
    pub hidden: Vec<Hidden>,
}

/// Reads hidden states and attention of a generator. What is not asked for costs nothing.
pub trait Tap {
    /// Continues each prompt as [`Generator::complete`] does, with taps.
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

    /// Returns whether reading attention takes a small part of the time of an answer: on the CPU, where a second
    /// context fits into the memory beside the first.
    fn is_attention_cheap(&self) -> bool {
        false
    }

    /// Returns the attention between parts of a plain text (ranges of bytes that do not overlap).
    ///
    /// Row i, column j is the attention of the tokens of part i to all tokens of part j: mean over
    /// the tokens of part i, `layers` and heads (SAKI-RAG, equation 3). A causal model looks back
    /// only.
    ///
    /// # Errors
    /// [`LlmError::PromptTooLong`]; [`LlmError::Stopped`]; failures of llama.cpp.
    fn attend(
        &mut self,
        text: &str,
        parts: &[std::ops::Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError>;

    /// Returns the matrix of [`Tap::attend`] for vectors in place of tokens, one position each.
    ///
    /// # Errors
    /// As [`Tap::attend`]; [`LlmError::Settings`] when a vector is not as wide as the model.
    fn attend_vectors(
        &mut self,
        vectors: &[Vec<f32>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError>;
}

/// The layers over which attention is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Layers {
    #[default]
    All,
    /// A single layer, counted from 0.
    One(u32),
    /// The last one.
    Last,
}

/// A generator with every capability: text, probabilities, and its hidden states and attention.
pub trait OpenGenerator: Generator + Scorer + Tap {}

impl<G: Generator + Scorer + Tap> OpenGenerator for G {}

/// A generator that was loaded or connected, wherever it runs.
pub trait LoadedGenerator: OpenGenerator + Send {
    /// Returns whether prompts share their common prefixes: otherwise methods that ask much are slow.
    fn can_share_prefixes(&self) -> bool;

    /// Returns whether its hidden states and attention can be read ([`Tap`]).
    fn has_inside(&self) -> bool;

    /// Returns whether it ended, so that it has to be loaded again.
    fn is_lost(&self) -> bool;
}

/// Turns text into unit vectors.
pub trait Embedder {
    /// Returns one unit vector of `card().width` numbers per text, in order. Texts longer than the
    /// model's context are truncated.
    ///
    /// # Errors
    /// [`LlmError::Stopped`] if the stop flag is set; failures of llama.cpp.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError>;

    /// Returns the vectors of queries, which some models read with another prefix than documents.
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    fn embed_queries(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        self.embed(texts)
    }

    /// Describes the model.
    fn card(&self) -> &ModelCard;
}

/// What can go wrong with a model.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum LlmError {
    #[error("no model file at {path}")]
    Missing { path: String },
    #[error("no model named `{name}` was found{hint}")]
    Unknown { name: String, hint: String },
    #[error("{path} is not a usable GGUF model ({reason})")]
    Unusable { path: String, reason: String },
    /// The settings ask for what this model or this machine cannot do.
    #[error(transparent)]
    Settings(Problem),
    #[error("the prompt has {prompt_tokens} tokens and the context holds {context_tokens}")]
    PromptTooLong {
        prompt_tokens: u32,
        context_tokens: u32,
    },
    #[error("the label `{label}` has no token in the model's vocabulary")]
    BadLabel { label: String },
    #[error("stopped")]
    Stopped,
    /// A worker cannot be used, or ended.
    #[error("the worker {endpoint} {reason}")]
    Worker { endpoint: String, reason: String },
    /// A model server failed.
    #[error(transparent)]
    Server(#[from] server::ServerError),
    /// llama.cpp refused, or returned what cannot be right.
    #[error("llama.cpp: {0}")]
    Backend(String),
    /// A portable build without the libraries that come with it.
    #[error("ggml's kernels for this processor are missing")]
    NoKernels,
}

impl LlmError {
    /// The error of settings that ask for what this model or this machine cannot do.
    pub(crate) fn settings(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Settings(Problem::new(error, advice))
    }
}

impl Advice for LlmError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Missing { .. } => "check the path, or run `ragscope models` to see what is found",
            Self::Unknown { .. } => {
                "give the path of a GGUF file, or run `ragscope models` to see what is found"
            }
            Self::Unusable { .. } => "download it again, or choose another with --model",
            Self::Settings(problem) => return problem.advice.as_deref().map(Cow::Borrowed),
            Self::PromptTooLong { .. } => "shorten the question, or raise generator.context_tokens",
            Self::BadLabel { .. } => "give it a text that is not empty",
            Self::Server(error) => return error.advice(),
            Self::Stopped => return None,
            Self::Worker { .. } => {
                "start `ragscope worker` of the same version there, or take it out of generator.rpc"
            }
            Self::NoKernels => {
                "install ragscope again: the libraries beside the program are incomplete"
            }
            Self::Backend(_) => {
                "lower generator.context_tokens or generator.gpu_layers; `ragscope paths` says where its log is"
            }
        };
        Some(advice.into())
    }
}
