//! The five papers, baselines of theirs, and the measures they share: one paper, one file, cited at
//! its top.
//!
//! A method returns values and does not know the run. Every call to a model goes through
//! [`ModelCalls`], which the engine implements (it emits an event per call) and which a test
//! answers from a script.

mod calls;
mod measures;
mod symmetric;
mod meaning;
pub mod kle;
mod uncertainty;
pub mod query;
pub mod flare;
pub mod dragin;
pub mod dense;
pub mod chunkrag;
pub mod joined;
mod seper;
pub mod searag;
pub mod saki;

pub use calls::{JudgementKind, ModelCalls, context_lines};
pub use meaning::{
    Clusters, Meaning, discrete_semantic_entropy, is_refusal, judge_by_words, sequence_likelihoods,
};
pub use measures::{auroc, cosine, finite, largest_by};
pub use seper::{Believed, contexts, judge_ahead, measure_belief};
pub use uncertainty::{Agreement, mean_logprob, perplexity, sampled_uncertainty, semantic_entropy};
