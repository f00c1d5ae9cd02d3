//! The error of a probe.

use std::borrow::Cow;

use crate::event::{Advice, StopError};
use crate::trace::JournalError;

/// An error with a probe.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("the probe {file} cannot be read ({reason})")]
    Unreadable { file: String, reason: String },
    #[error("the probe {file} cannot be written ({reason})")]
    Unwritable { file: String, reason: String },
    #[error("the probe {file} does not fit ({reason})")]
    Unfit { file: String, reason: String },
    #[error("no probe was trained for {generator}")]
    None { generator: String },
    #[error("the probe reads hidden states, which the model server {host} does not give")]
    Inside { host: String },
    #[error(
        "{certain} certain and {uncertain} uncertain sentences are too few to train on, each needs {needed}"
    )]
    TooFew {
        certain: usize,
        uncertain: usize,
        needed: usize,
    },
    #[error(
        "{right} right and {wrong} wrong answers are known of {questions} questions, each needs one"
    )]
    NoAnswers {
        right: usize,
        wrong: usize,
        questions: usize,
    },
    #[error("the generator wrote no usable question about any of {asked} passages")]
    NoQuestions { asked: usize },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("stopped")]
    Stopped(#[from] StopError),
}

impl Advice for ProbeError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Unreadable { .. } => "train it again with `ragscope probe train`",
            Self::Unwritable { .. } => "check the folder and the space on its disk",
            Self::Unfit { .. } => "train one for this model with `ragscope probe train`",
            Self::None { .. } => "train one with `ragscope probe train FOLDER`",
            Self::Inside { .. } => "set gate.kind to token_entropy, or run the model here",
            Self::TooFew { .. } => {
                "ask more questions (probe.questions, or --questions with a longer file)"
            }
            Self::NoQuestions { .. } => "give it questions with --questions FILE",
            Self::NoAnswers { .. } => {
                "give it questions with answers with --questions FILE, some of which the model knows"
            }
            Self::Journal(error) => return error.advice(),
            Self::Stopped(_) => return None,
        };

        Some(advice.into())
    }
}
