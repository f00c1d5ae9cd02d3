//! The five papers and the measures they share, one paper one file, cited at its top.
//!
//! A method returns values and knows nothing of the run: what it asks of the models goes through [`ModelCalls`], which whoever runs
//! it implements (the run tells every call; a test replies from a script).

pub mod dense;
pub mod chunkrag;
pub mod joined;
mod meaning;
mod uncertainty;
mod seper;
pub mod query;
pub mod searag;
pub mod saki;

pub use meaning::{
    Clusters, Meaning, discrete_semantic_entropy, entailed_by_words, sequence_likelihoods,
};
pub use seper::{Believed, believed, contexts, judge_ahead};
pub use uncertainty::{
    Agreement, JudgedPair, mean_logprob, perplexity, sampled_uncertainty, semantic_entropy,
};

use crate::config::ConfigError;
use crate::config::prompts::PromptName;
use crate::corpus::fold_white_space;
use crate::llm::{Completion, Decoding, Entailment, LlmError, Prompt};

/// The calls that a method makes of the models. Each is one batch: what its prompts share is evaluated once.
///
/// `purpose` says what a call is for, as the prompt inspector shows it.
pub trait ModelCalls {
    /// The prompt with its values filled in.
    ///
    /// # Errors
    /// A user's prompt file that cannot be read.
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Result<Prompt, MethodError>;

    /// Continue each prompt to its end; branch `i` samples with `decoding.seed + i`.
    ///
    /// # Errors
    /// [`LlmError::Stopped`] when the user stops; the failures of the generator.
    fn complete(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Completion>, MethodError>;

    /// Probability of each label as the whole reply to each prompt, one row a prompt.
    ///
    /// # Errors
    /// As [`crate::llm::Scorer::classify`].
    fn classify(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        labels: &[&str],
    ) -> Result<Vec<Vec<f32>>, MethodError>;

    /// How the second answer of each pair follows from the first, for this question: what the entailment judge says, once a pair and
    /// run. Answers that differ in case, spaces and a final period only are entailed without a call.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; the failures of the judge.
    fn entail(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, MethodError>;

    /// How well each text fits the question, in 0..=1: what the reranker says.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; the failures of the reranker.
    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, MethodError>;

    /// Unit vectors of the embedder, one a text.
    ///
    /// # Errors
    /// No embedder is loaded; [`LlmError::Stopped`]; its failures.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, MethodError>;
}

/// What a method can fail with.
#[derive(Debug, thiserror::Error)]
pub enum MethodError {
    #[error(transparent)]
    Model(#[from] LlmError),
    #[error(transparent)]
    Prompt(#[from] ConfigError),
}

/// The passages of a context as prompts show them: a line each, with its label.
#[must_use]
pub fn context_lines(passages: &[&str]) -> Vec<String> {
    (1..)
        .zip(passages)
        .map(|(label, text)| format!("[{label}] {}", fold_white_space(text)))
        .collect()
}

/// Area under the ROC curve: how often a true case scores above a false one, ties counting half (Mann and Whitney). None when only
/// one class occurs.
#[must_use]
pub fn auroc(scores: &[f64], truth: &[bool]) -> Option<f64> {
    let mut order: Vec<(f64, bool)> = scores.iter().copied().zip(truth.iter().copied()).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut wins, mut false_below) = (0.0, 0.0);
    for ties in order.chunk_by(|a, b| a.0 == b.0) {
        let positives = ties.iter().filter(|(_, truth)| *truth).count() as f64;
        let negatives = ties.len() as f64 - positives;
        wins += positives * (false_below + negatives / 2.0);
        false_below += negatives;
    }
    let positives = order.len() as f64 - false_below;
    (positives > 0.0 && false_below > 0.0).then(|| wins / (positives * false_below))
}

/// The cosine of two vectors of length 1.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
