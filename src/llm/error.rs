//! The errors of a model and of a model server.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::event::{Advice, Problem, StopError};

/// The result of what a model does.
pub type Result<T, E = LlmError> = std::result::Result<T, E>;

/// A failure of a model.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum LlmError {
    #[error("no model file at {path}")]
    Missing { path: String },
    #[error("no model named `{name}` was found{hint}")]
    Unknown { name: String, hint: String },
    #[error("{path} is not a usable GGUF model ({reason})")]
    Unusable { path: String, reason: String },
    /// The settings ask for what this model or this machine cannot do.
    #[error(transparent)]
    Settings(Problem),
    #[error("the prompt has {prompt_tokens} tokens and the context holds {context_tokens}")]
    PromptTooLong {
        prompt_tokens: u32,
        context_tokens: u32,
    },
    #[error("the label `{label}` has no token in the model's vocabulary")]
    BadLabel { label: String },
    #[error("stopped")]
    Stopped(#[from] StopError),
    /// A worker cannot be used, or ended.
    #[error("the worker {endpoint} {reason}")]
    Worker { endpoint: String, reason: String },
    /// A model server failed.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// llama.cpp refused, or returned what cannot be right.
    #[error("llama.cpp: {0}")]
    Backend(String),
    /// A portable build without the libraries that come with it.
    #[error("ggml's kernels for this processor are missing")]
    NoKernels,
}

impl LlmError {
    /// The error of settings that ask for what this model or this machine cannot do.
    pub(crate) fn settings(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Settings(Problem::new(error, advice))
    }

    /// The error of a file that is no model, or not one that can be used.
    pub(super) fn unusable(file: &Path, reason: impl Into<String>) -> Self {
        Self::Unusable {
            path: file.display().to_string(),
            reason: reason.into(),
        }
    }
}

impl Advice for LlmError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Missing { .. } => "check the path, or run `ragscope models` to see what is found",
            Self::Unknown { .. } => {
                "give the path of a GGUF file, or run `ragscope models` to see what is found"
            }
            Self::Unusable { .. } => "download it again, or choose another with --model",
            Self::Settings(problem) => return problem.advice.as_deref().map(Cow::Borrowed),
            Self::PromptTooLong { .. } => "shorten the question, or raise generator.context_tokens",
            Self::BadLabel { .. } => "give it a text that is not empty",
            Self::Server(error) => return error.advice(),
            Self::Stopped(_) => return None,
            Self::Worker { .. } => {
                "start `ragscope worker` of the same version there, or take it out of generator.rpc"
            }
            Self::NoKernels => {
                "install ragscope again: the libraries beside the program are incomplete"
            }
            Self::Backend(_) => {
                "lower generator.context_tokens or generator.gpu_layers; `ragscope paths` says where its log is"
            }
        };

        Some(advice.into())
    }
}

/// A failure of a model server, named by its host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ServerError {
    #[error("the model server {host} cannot be reached ({reason})")]
    Unreachable { host: String, reason: String },
    #[error("the model server {host} sent nothing for {seconds} s")]
    Slow { host: String, seconds: u64 },
    #[error("the model server {host} refuses the key (HTTP {status})")]
    Denied { host: String, status: u16 },
    #[error("the model server {host} has no model `{model}`; it lists {known}")]
    NoModel {
        host: String,
        model: String,
        known: String,
    },
    #[error("the model server {host} is too busy (HTTP {status}, after {attempts} attempts)")]
    Busy {
        host: String,
        status: u16,
        attempts: u32,
    },
    #[error("the model server {host} refused the request (HTTP {status}): {message}")]
    Rejected {
        host: String,
        status: u16,
        message: String,
    },
    #[error("the answer of the model server {host} cannot be read ({reason})")]
    Unreadable { host: String, reason: String },
    #[error("the connection to the model server {host} ended in the middle of an answer")]
    Cut { host: String },
    /// The server lacks something that the settings need.
    #[error("the model server {host} gives no {what}")]
    Lacks {
        host: String,
        what: String,
        advice: String,
    },
}

impl Advice for ServerError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Unreachable { .. } => {
                "start it, or correct the url in the settings; without a url the model runs here"
            }
            Self::Slow { .. } => "raise server.timeout_seconds, or choose a smaller model there",
            Self::Denied { .. } => "set `key` beside the url, as env:NAME or file:PATH",
            Self::NoModel { .. } => "set `served_model` beside the url to one that it lists",
            Self::Busy { .. } => "try again later, or lower server.parallel",
            Self::Rejected { .. } => "the log of the server says more",
            Self::Unreadable { .. } => {
                "check that the url is that of a model server with an OpenAI-compatible interface"
            }
            Self::Cut { .. } => "ask again; the log of the server may say why it ended",
            Self::Lacks { advice, .. } => advice,
        };

        Some(advice.into())
    }
}
