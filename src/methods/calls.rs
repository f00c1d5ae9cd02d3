//! The calls of a method to the models.

use crate::config::prompts::PromptName;
use crate::corpus::fold_white_space;
use crate::llm::{Completion, Decoding, Entailment, Labelled, LlmError, Prompt};

/// A kind of judgement by the generator.
#[derive(Debug, Clone, Copy)]
pub struct JudgementKind<'a> {
    /// Name of the call in the prompt inspector.
    pub purpose: &'a str,
    /// The replies that are distinguished.
    pub labels: &'a [&'a str],
}

impl<'a> JudgementKind<'a> {
    /// Whether one answer entails another.
    pub const ENTAILMENT: Self = Self {
        purpose: "entailment",
        labels: &Entailment::LABELS,
    };
    /// Whether the context suffices for the question.
    pub const SELF_EVALUATION: Self = Self {
        purpose: "self-evaluation",
        labels: &["yes", "no"],
    };

    /// Whether the sources state the answer.
    pub const SOURCES_STATE: Self = Self {
        purpose: "support",
        labels: &["yes", "no"],
    };

    /// Whether a passage holds a statement of the answer.
    pub const STATEMENT_HELD: Self = Self {
        purpose: "citation",
        labels: &["yes", "no"],
    };

    /// Returns the judgement whether a text is relevant, 1 or 0, for this purpose.
    pub fn relevance(purpose: &'a str) -> Self {
        Self {
            purpose,
            labels: &["1", "0"],
        }
    }
}

/// The calls that a method makes to the models.
///
/// Each call is one batch, so that a prefix shared by its prompts is evaluated once. `purpose` is
/// the name of the call in the prompt inspector.
pub trait ModelCalls {
    /// Returns the prompt template with its values filled in.
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Prompt;

    /// Continues each prompt to its end; branch `i` samples with `decoding.seed + i`.
    ///
    /// # Errors
    /// [`LlmError::Stopped`] when the user stops the run; failures of the generator.
    fn complete(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Completion>, LlmError>;

    /// Returns how likely the reply to each prompt means each label of `kind`: one per prompt.
    ///
    /// # Errors
    /// As [`crate::llm::Scorer::classify`].
    fn classify(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
    ) -> Result<Vec<Labelled>, LlmError>;

    /// Returns the entailment judgement on each pair: whether the second answer to the question
    /// follows from the first.
    ///
    /// A pair is judged once per run. Answers that differ in case, white space and a final period
    /// only entail each other without a call.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; failures of the judge.
    fn entail(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError>;

    /// Returns the reranker's relevance of each text to the question, in 0..=1.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; failures of the reranker.
    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError>;

    /// Returns one unit vector per text.
    ///
    /// # Errors
    /// No embedder is loaded; [`LlmError::Stopped`]; failures of the embedder.
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError>;
}

/// Returns the passages of a context as prompts show them: one line per passage, labelled from 1.
pub fn context_lines<T: AsRef<str>>(passages: &[T]) -> Vec<String> {
    (1..)
        .zip(passages)
        .map(|(label, text)| format!("[{label}] {}", fold_white_space(text.as_ref())))
        .collect()
}
