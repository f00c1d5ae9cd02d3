//! The values of events about utility (SePer) and the uncertainty of sampled answers.

use serde::{Deserialize, Serialize};

/// The form of SePer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SePerForm {
    /// Each sample counts as far as it and a reference answer entail each other.
    Soft,
    /// Clusters of meaning count as a whole, or not at all.
    Hard,
}

/// The utility of a lookup: the change of the model's belief in the reference answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Utility {
    pub form: SePerForm,
    /// The answers that the belief is measured toward.
    pub references: Vec<String>,
    /// Whether the run's own answer is the reference, since none was given.
    pub own_answer: bool,
    /// The belief in each context that was measured. The first is without documents, the second
    /// with all chunks of the context, then come each chunk alone and the context without each of
    /// them; a context that occurs twice is measured once.
    pub beliefs: Vec<Belief>,
    /// Belief with all chunks minus belief without documents, in -1..=1. Negative: the context
    /// misled the model.
    pub delta: f32,
    /// The chunks of the context, in the order of their labels.
    pub hits: Vec<HitUtility>,
}

/// The utility of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HitUtility {
    /// The number of the chunk in the run.
    pub label: u32,
    pub chunk: u64,
    /// Belief with this chunk alone minus belief without documents, in -1..=1.
    pub alone: f32,
    /// Belief with all chunks minus belief without this one, in -1..=1.
    pub left_out: f32,
}

/// The model's belief in a context, from sampled answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// The chunks of the context, in order; empty for none.
    pub chunks: Vec<u64>,
    /// SePer in both forms, in 0..=1.
    pub soft: f32,
    pub hard: f32,
    pub samples: Vec<BeliefSample>,
    /// The most likely answer.
    pub greedy: String,
    pub uncertainty: SampledUncertainty,
}

impl Belief {
    /// Returns SePer in one of its forms.
    pub fn seper(&self, form: SePerForm) -> f32 {
        match form {
            SePerForm::Soft => self.soft,
            SePerForm::Hard => self.hard,
        }
    }
}

/// A sampled answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefSample {
    pub text: String,
    /// Likelihood of the sample, normalised over the samples.
    pub weight: f32,
    /// The cluster of meaning that it belongs to, from 0.
    pub cluster: u32,
    /// The agreement with the nearest reference by entailment, in 0..=1.
    pub entailment: f32,
    /// Whether the first sample of its cluster means the same as a reference.
    pub matches: bool,
}

/// Answers that were sampled from the prompt of the answer, with its last passages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerSamples {
    /// The short answer of each.
    pub texts: Vec<String>,
    pub uncertainty: SampledUncertainty,
}

/// The uncertainty of an answer that was sampled several times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SampledUncertainty {
    /// Entropy of the sizes of the clusters of meaning, nats.
    pub discrete_semantic_entropy: f32,
    /// Entropy of the likelihoods of the clusters of meaning, nats.
    pub semantic_entropy: f32,
    /// DENSE-RAG's semantic entropy over degrees of agreement, nats.
    pub degree_entropy: f32,
    /// Share of pairs that do not agree, in 0..=1.
    pub degree: f32,
    /// An estimate of the number of meanings, from 1.
    pub eigenvalue: f32,
    /// Kernel language entropy with the heat and the Matern kernel, nats; `None` in older records.
    #[serde(default)]
    pub kernel_heat: Option<f32>,
    #[serde(default)]
    pub kernel_matern: Option<f32>,
    /// Mean over the samples of the mean log-probability of their tokens, nats.
    pub mean_logprob: f32,
    /// Perplexity at that log-probability.
    pub perplexity: f32,
}
