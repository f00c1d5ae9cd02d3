//! The samples that a probe is trained on: sentences, by the question that they answer.

use serde::{Deserialize, Serialize};

/// A sentence of an answer: the model's hidden states before it, and its measured entropy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Features of the hidden states, from [`super::features()`]; empty where the sentence ended
    /// with its first token.
    pub features: Vec<f32>,
    /// Discrete semantic entropy of the sampled sentences, nats.
    pub entropy: f64,
    /// The entropy of a second, independent set of samples, for held-out questions.
    pub second_entropy: Option<f64>,
    /// Mean token entropy of the sentence, nats.
    pub token_entropy: f32,
    /// Whether it was written with retrieved passages.
    pub has_passages: bool,
}

/// A finished question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledQuestion {
    pub question: String,
    /// Whether it is kept out of training.
    pub held_out: bool,
    pub samples: Vec<Sample>,
}
