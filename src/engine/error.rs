//! What a run, a question and a command can fail with.

use crate::config::ConfigError;
use crate::event::error_and_advice;
use crate::index::IndexError;
use crate::llm::LlmError;
use crate::methods::MethodError;
use crate::probe::ProbeError;

/// What ends a run early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Model(#[from] LlmError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("{0:#}")]
    Search(anyhow::Error),
}

impl From<MethodError> for RunError {
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::Model(error) => Self::Model(error),
            MethodError::Prompt(error) => Self::Config(error),
        }
    }
}

/// Why a question was not asked at all. Nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the question is empty: type what you want to know")]
    EmptyQuestion,
    #[error(
        "the question needs {question_tokens} tokens and the context holds {context_tokens}: shorten it, or raise generator.context_tokens"
    )]
    QuestionTooLong {
        question_tokens: u32,
        context_tokens: u32,
    },
    #[error(
        "no corpus is open and preset `{preset}` looks things up: name a folder, or use --preset closed-book"
    )]
    NoCorpus { preset: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Model(#[from] LlmError),
}

/// What a command can fail with. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Model(#[from] LlmError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("{0:#}")]
    Search(anyhow::Error),
    #[error("no corpus is open: name a folder")]
    NoCorpus,
    #[error("no linker is enabled: set linker.kind to tokens or sentence")]
    NoLinker,
    #[error("the run gave no answer to measure toward: type the right one")]
    NothingToMeasure,
}

impl From<RunError> for WorkerError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Model(error) => Self::Model(error),
            RunError::Config(error) => Self::Config(error),
            RunError::Search(error) => Self::Search(error),
            RunError::Probe(reason) => Self::Probe(reason),
        }
    }
}

impl WorkerError {
    /// What happened, and what to do next.
    #[must_use]
    pub fn told(&self) -> (String, String) {
        let text = self.to_string();
        match self {
            Self::Config(_) | Self::Ask(AskError::Config(_)) => {
                (text, "`ragscope config` lists every setting".to_owned())
            }
            Self::Model(_)
            | Self::Index(_)
            | Self::Ask(_)
            | Self::Probe(_)
            | Self::Search(_)
            | Self::NoCorpus
            | Self::NoLinker
            | Self::NothingToMeasure => {
                let (error, advice) = error_and_advice(&text);
                (error.to_owned(), advice.to_owned())
            }
        }
    }

    /// Was it the user who ended it?
    pub(super) fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Model(LlmError::Stopped)
                | Self::Ask(AskError::Model(LlmError::Stopped))
                | Self::Index(IndexError::Embedder(LlmError::Stopped))
        )
    }
}
