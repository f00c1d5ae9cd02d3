//! The error of a question, a run and a command.

use std::borrow::Cow;

use crate::config::ConfigError;
use crate::event::Advice;
use crate::index::IndexError;
use crate::llm::LlmError;
use crate::probe::ProbeError;

/// The error of a question, which could not be asked or whose run ended early, or of another
/// operation of the worker.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the question is empty")]
    EmptyQuestion,
    #[error("the question needs {question_tokens} tokens and the context holds {context_tokens}")]
    QuestionTooLong {
        question_tokens: u32,
        context_tokens: u32,
    },
    #[error("no corpus is open and preset `{preset}` retrieves from one")]
    NothingToSearch { preset: String },
    #[error("no corpus is open")]
    NoCorpus,
    /// The answers of the generator had no sentence to measure.
    #[error("the generator wrote no sentence to calibrate the gate with")]
    NoSentences,
    #[error("no linker is enabled")]
    NoLinker,
    #[error("the run gave no answer to measure toward")]
    NothingToMeasure,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Model(#[from] LlmError),
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Advice for RunError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::EmptyQuestion => "type what you want to know",
            Self::QuestionTooLong { .. } => "shorten it, or raise generator.context_tokens",
            Self::NothingToSearch { .. } => "name a folder, or use --preset closed-book",
            Self::NoCorpus => "name a folder",
            Self::NoSentences => "ask other questions with --questions FILE",
            Self::NoLinker => "set linker.kind to tokens or sentence",
            Self::NothingToMeasure => "type the right answer",
            Self::Config(error) => return error.advice(),
            Self::Model(error) => return error.advice(),
            Self::Probe(error) => return error.advice(),
            Self::Index(error) => return error.advice(),
        };
        Some(advice.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::CorpusError;
    use crate::event::{Problem, StopError, is_stop};

    #[test]
    fn a_damaged_index_is_reported_as_such() {
        let damaged = IndexError::Damaged {
            folder: "notes: old".to_owned(),
            what: "vectors: cut short".to_owned(),
        };
        let error = RunError::from(damaged);
        let advice = "rebuild it with `ragscope index notes: old --rebuild`";
        assert_eq!(
            error.to_problem(),
            Problem::new(
                "the index of notes: old is damaged (vectors: cut short)",
                advice
            )
        );
    }

    #[test]
    fn a_stop_is_found_in_the_error_that_it_caused() {
        let stops: [RunError; 4] = [
            LlmError::from(StopError).into(),
            ProbeError::from(StopError).into(),
            IndexError::from(LlmError::from(StopError)).into(),
            IndexError::from(CorpusError::from(StopError)).into(),
        ];
        for error in &stops {
            assert!(is_stop(error), "{error:?}");
            assert_eq!(error.to_problem(), Problem::without_advice("stopped"));
        }

        let others: [RunError; 2] = [
            RunError::NoCorpus,
            IndexError::from(CorpusError::Missing {
                folder: "there".to_owned(),
            })
            .into(),
        ];
        for error in &others {
            assert!(!is_stop(error), "{error:?}");
        }
    }
}
