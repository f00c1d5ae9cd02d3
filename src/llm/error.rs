//! The error of a model, here or behind a server.

use std::fmt::Display;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::event::{Advice, Problem, StopError};

/// The result of what a model does.
pub type Result<T, E = LlmError> = std::result::Result<T, E>;

/// A failure of a model.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum LlmError {
    #[error("{path} is not a usable GGUF model ({reason})")]
    Unusable { path: String, reason: String },
    #[error("the prompt has {prompt_tokens} tokens and the context holds {context_tokens}")]
    PromptTooLong {
        prompt_tokens: u32,
        context_tokens: u32,
    },
    #[error("stopped")]
    Stopped(#[from] StopError),
    /// A model server refused a request.
    #[error("the model server {host} refused the request (HTTP {status}): {message}")]
    Rejected {
        host: String,
        status: u16,
        message: String,
    },
    /// A model server sent something else than an answer.
    #[error("the answer of the model server {host} cannot be read ({reason})")]
    Unreadable { host: String, reason: String },
    /// llama.cpp refused, or returned what cannot be right.
    #[error("llama.cpp: {0}")]
    Backend(String),
    /// Anything else, as settings that ask for what this model or this machine cannot do.
    #[error("{0}")]
    Failed(Problem),
}

impl LlmError {
    /// Creates the error of a failure that the user can do something about.
    pub fn new(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Problem::new(error, advice).into()
    }

    /// Returns the error of a path without a file.
    pub(super) fn missing(path: &Path) -> Self {
        Self::new(
            format!("no model file at {}", path.display()),
            "check the path, or run `ragscope models` to see what is found",
        )
    }

    /// Returns the error of a file that is no model, or not one that can be used.
    pub(super) fn unusable(file: &Path, reason: impl Into<String>) -> Self {
        Self::Unusable {
            path: file.display().to_string(),
            reason: reason.into(),
        }
    }

    /// Returns the error of a label without a token.
    pub(super) fn bad_label(label: &str) -> Self {
        Self::new(
            format!("the label `{label}` has no token in the model's vocabulary"),
            "give it a text that is not empty",
        )
    }

    /// Returns the error of a worker that cannot be used, or ended.
    pub(super) fn for_worker(endpoint: &str, reason: impl Display) -> Self {
        Self::new(
            format!("the worker {endpoint} {reason}"),
            "start `ragscope worker` of the same version there, or take it out of generator.rpc",
        )
    }
}

impl From<Problem> for LlmError {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl Advice for LlmError {
    fn advice(&self) -> Option<&str> {
        let advice = match self {
            Self::Unusable { .. } => "download it again, or choose another with --model",
            Self::PromptTooLong { .. } => "shorten the question, or raise generator.context_tokens",
            Self::Rejected { .. } => "the log of the server says more",
            Self::Unreadable { .. } => {
                "check that the url is that of a model server with an OpenAI-compatible interface"
            }
            Self::Backend(_) => {
                "lower generator.context_tokens or generator.gpu_layers; `ragscope paths` says where its log is"
            }
            Self::Failed(problem) => return problem.advice.as_deref(),
            Self::Stopped(_) => return None,
        };

        Some(advice)
    }
}
