//! What is collected to train on: sentences, by the question that they answer.

use serde::{Deserialize, Serialize};

/// A sentence of a walk: how the model felt about it, and how it turned out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Features of the hidden states, as [`super::features()`] makes them; empty where the sentence ended with its first token.
    pub features: Vec<f32>,
    /// Discrete semantic entropy of the sampled sentences, nats.
    pub entropy: f64,
    /// The same of a second, independent set of samples, for held-out questions.
    pub second_entropy: Option<f64>,
    /// Mean token entropy of the sentence, nats.
    pub token_entropy: f32,
    /// Was it written from passages?
    pub looked_up: bool,
}

/// A finished question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledQuestion {
    pub question: String,
    /// Is it kept out of training?
    pub held_out: bool,
    pub samples: Vec<Sample>,
}
