//! The values that models take and return.

use serde::{Deserialize, Serialize};

use super::exact;
use super::labels::MIN_MASS;
use crate::config::prompts::Filled;
use crate::event::Alternative;

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
    /// Tokens of the prompt, special ones included.
    pub tokens: Vec<i32>,
}

/// Parameters of a continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decoding {
    pub max_tokens: u32,
    /// Sampling temperature; 0 takes the most likely token every time.
    pub temperature: f32,
    /// Prompt `i` of a call samples with `seed + i`.
    pub seed: u64,
    pub stop: StopRule,
}

impl Decoding {
    /// Returns greedy decoding.
    pub fn greedy(max_tokens: u32, seed: u64) -> Self {
        Self {
            max_tokens,
            temperature: 0.0,
            seed,
            stop: StopRule::default(),
        }
    }

    /// Returns greedy decoding of one line.
    pub fn one_line(max_tokens: u32, seed: u64) -> Self {
        Self {
            stop: StopRule {
                texts: vec!["\n".to_owned()],
            },
            ..Self::greedy(max_tokens, seed)
        }
    }
}

/// Texts and rules that end a continuation, besides the end of the turn and the token limit.
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
    /// Text of the token; bytes of an incomplete character are part of the next token's.
    pub text: String,
    /// ln p at temperature 1, before top-k, top-p and min-p, nats.
    #[serde(with = "exact")]
    pub logprob: f32,
    /// Entropy of that distribution, nats.
    #[serde(with = "exact")]
    pub entropy: f32,
    /// Attention to each part of the prompt ([`Taps::attention`]) when the token was sampled: mean
    /// over layers and heads, at most 1 in sum. Empty if it was not tapped.
    #[serde(with = "exact")]
    pub attention: Vec<f32>,
    /// Whether it is a part of the thoughts in front of the answer.
    pub is_thought: bool,
    /// The other tokens that were likely in its place, the likeliest first.
    pub alternatives: Vec<Alternative>,
}

/// The reason why a continuation ended.
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

/// The probabilities that a reply begins with each of some labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Labelled {
    /// The probability of each label, normalised over the labels.
    #[serde(with = "exact")]
    pub shares: Vec<f32>,
    /// The probability that the reply begins with any of them, in 0..=1, behind a space or quote
    /// that the model has in front of all: near 0 for a model that answers in other words.
    #[serde(with = "exact")]
    pub mass: f32,
    /// The label that the greedy reply begins with; `None` where it begins with other words.
    ///
    /// It is the likeliest label wherever one token distinguishes them. Of grades in digits it may
    /// not be: the greedy reply takes "1" for the sum of 1 and 10.
    pub greedy: Option<usize>,
}

impl Labelled {
    /// Returns whether the reply, read or written, begins with a label or names one: below
    /// [`MIN_MASS`] the shares are the tails of other replies, and no judgement.
    pub fn names_label(&self) -> bool {
        self.greedy.is_some() || self.mass >= MIN_MASS
    }

    /// Returns the label that a parsed reply gives: that of the greedy reply, otherwise the
    /// likeliest one, the first among equals.
    pub fn said(&self) -> Option<usize> {
        let likeliest = || {
            let order = |a: &usize, b: &usize| self.shares[*a].total_cmp(&self.shares[*b]);
            (0..self.shares.len()).rev().max_by(order)
        };
        self.greedy.or_else(likeliest)
    }
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
    #[serde(with = "exact")]
    pub layers: Vec<Vec<f32>>,
}

/// A continuation with the hidden states that were read. Attention is in its tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tapped {
    pub completion: Completion,
    /// Hidden states in the order in which they were read.
    pub hidden: Vec<Hidden>,
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

/// Probabilities of the three judgements; they sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entailment {
    pub entailment: f32,
    pub neutral: f32,
    pub contradiction: f32,
}

impl Entailment {
    /// The three labels, as a generator is asked for them.
    pub const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];

    /// The judgement on a text and itself, which needs no judge.
    pub const CERTAIN: Self = Self {
        entailment: 1.0,
        neutral: 0.0,
        contradiction: 0.0,
    };

    /// Converts a row of [`super::Scorer::classify`] over [`Self::LABELS`].
    pub fn from_row(row: &[f32]) -> Self {
        let at = |label: usize| row.get(label).copied().unwrap_or_default();
        Self {
            entailment: at(0),
            neutral: at(1),
            contradiction: at(2),
        }
    }

    /// Returns whether entailment is the likeliest of the three.
    pub fn is_entailed(&self) -> bool {
        self.entailment > self.neutral.max(self.contradiction)
    }
}
