//! The models by role, as traits.

use std::path::Path;

use super::error::Result;
use super::values::{
    Completion, Decoding, Entailment, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token,
};
use crate::event::{CallUsage, Flow, ModelCard};

/// Writes text.
pub trait Generator {
    /// Continues each prompt; returns one completion per prompt, in order.
    ///
    /// `observe(prompt, token)` is called with every token as it is sampled, those of thoughts
    /// included, and can stop the whole call: the completions then have the text so far and
    /// [`End::Stopped`].
    ///
    /// # Errors
    /// [`super::LlmError::PromptTooLong`], before anything is evaluated, if a prompt leaves no room
    /// for one token; failures of llama.cpp.
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>>;

    /// Describes the model.
    fn card(&self) -> &ModelCard;

    /// Returns the exact text and tokens of a prompt.
    ///
    /// # Errors
    /// When the chat template cannot be applied.
    fn render(&self, prompt: &Prompt) -> Result<Rendered>;

    /// Returns how the model begins its replies: with a space, or at once.
    fn reply_start(&self) -> &'static str;

    /// Returns the cost of the last call.
    fn usage(&self) -> CallUsage;
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
    /// A label without a token;
    /// [`super::LlmError::PromptTooLong`]; [`super::LlmError::Stopped`]; failures of llama.cpp.
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>>;

    /// Returns the log-probability of each token of `continuations[i]` after `prompts[i]`, nats,
    /// without the end of the turn.
    ///
    /// # Errors
    /// As [`Scorer::classify`].
    fn score(&mut self, prompts: &[Prompt], continuations: &[&str]) -> Result<Vec<Vec<f32>>>;
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
    ) -> Result<Vec<Tapped>>;

    /// Continues a prompt as [`Tap::complete_tapped`] does. Where the prompt takes several batches,
    /// `read` is called before each with the number of its tokens that are read.
    ///
    /// # Errors
    /// As [`Generator::complete`].
    fn complete_watched(
        &mut self,
        prompt: &Prompt,
        decoding: &Decoding,
        taps: &Taps,
        _read: &mut dyn FnMut(usize),
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>> {
        self.complete_tapped(std::slice::from_ref(prompt), decoding, taps, observe)
    }

    /// Returns whether reading attention takes a small part of the time of an answer: on the CPU,
    /// where a second context fits into the memory beside the first.
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
    /// [`super::LlmError::PromptTooLong`]; [`super::LlmError::Stopped`]; failures of llama.cpp.
    fn attend(
        &mut self,
        text: &str,
        parts: &[std::ops::Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>>;

    /// Returns the matrix of [`Tap::attend`] for vectors in place of tokens, one position each.
    ///
    /// # Errors
    /// As [`Tap::attend`]; also a vector that is not as wide as the model.
    fn attend_vectors(&mut self, vectors: &[Vec<f32>], layers: Layers) -> Result<Vec<Vec<f32>>>;
}

/// A generator with every capability: text, probabilities, and its hidden states and attention.
pub trait OpenGenerator: Generator + Scorer + Tap {}

impl<G: Generator + Scorer + Tap> OpenGenerator for G {}

/// A generator that was loaded or connected, wherever it runs.
pub trait LoadedGenerator: OpenGenerator + Send {
    /// Returns whether prompts share their common prefixes: otherwise methods that ask much are
    /// slow.
    fn can_share_prefixes(&self) -> bool;

    /// Returns whether its hidden states and attention can be read ([`Tap`]).
    fn has_inside(&self) -> bool;

    /// Reads the state of a prompt that [`Self::keep`] wrote into this folder, if nothing was read
    /// yet. Returns whether it need not be evaluated.
    fn restore(&mut self, _prompt: &Prompt, _folder: &Path) -> bool {
        false
    }

    /// Keeps the state of a prompt that was just evaluated in a file of this folder, for the next
    /// start of the program; where it cannot be written, that evaluates the prompt again. A model
    /// on other machines keeps nothing here.
    fn keep(&self, _prompt: &Prompt, _folder: &Path) {}

    /// Returns whether it ended, so that it has to be loaded again.
    fn is_lost(&self) -> bool {
        false
    }
}

/// Turns text into unit vectors.
pub trait Embedder {
    /// Returns one unit vector of `card().width` numbers per text, in order. Texts longer than the
    /// model's context are truncated.
    ///
    /// # Errors
    /// [`super::LlmError::Stopped`] if the stop flag is set; failures of llama.cpp.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Returns the vectors of queries, which some models read with another prefix than documents.
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    fn embed_queries(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed(texts)
    }

    /// Describes the model.
    fn card(&self) -> &ModelCard;
}

/// Scores the relevance of texts to a question.
pub trait Reranker {
    /// Returns one score per text in 0..=1, in order; higher is more relevant.
    ///
    /// # Errors
    /// [`super::LlmError::Stopped`]; failures of llama.cpp.
    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>>;

    /// Describes the model.
    fn card(&self) -> &ModelCard;
}

/// Judges whether one answer entails another.
pub trait EntailmentJudge {
    /// Returns one judgement per pair: whether the second answer to the question follows from the
    /// first.
    ///
    /// # Errors
    /// [`super::LlmError::Stopped`]; failures of llama.cpp.
    fn judge(&mut self, question: &str, pairs: &[(&str, &str)]) -> Result<Vec<Entailment>>;

    /// Describes the model.
    fn card(&self) -> &ModelCard;
}
