//! The messages between the program and the process of a generator, one frame each.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::event::{CallUsage, ModelCard};
use crate::llm::error::Result;
use crate::llm::exact;
use crate::llm::values::{Decoding, Layers, Prompt, Taps, Token};

/// A message to the process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum GeneratorRequest {
    Load {
        file: PathBuf,
        log_file: Option<PathBuf>,
        /// All settings, as a recorded run has them.
        settings: serde_json::Value,
    },
    Complete {
        prompts: Vec<Prompt>,
        decoding: Decoding,
        taps: Taps,
    },
    Classify {
        prompts: Vec<Prompt>,
        labels: Vec<String>,
    },
    Score {
        prompts: Vec<Prompt>,
        continuations: Vec<String>,
    },
    Attend {
        text: String,
        parts: Vec<Range<usize>>,
        layers: Layers,
    },
    AttendVectors {
        vectors: Rows,
        layers: Layers,
    },
    Render(Prompt),
    /// The answer to [`Shown`]: whether to continue.
    Seen {
        continues: bool,
    },
    /// Stops the call in progress.
    Interrupt,
}

/// A message of the process, whose calls give `T`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum GeneratorReply<T> {
    Shown(Shown),
    Done(CallOutcome<T>),
}

/// A step of a call, after which the process waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Shown {
    /// The share of the model that is loaded.
    Loading(f32),
    /// A sampled token.
    Token { prompt: usize, token: Token },
}

/// The end of a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallOutcome<T> {
    pub result: Result<T>,
    pub usage: CallUsage,
}

/// A generator that is loaded.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LoadedCard {
    pub card: ModelCard,
    pub has_space_first: bool,
    pub can_share_prefixes: bool,
    pub is_attention_cheap: bool,
}

/// Numbers, exact to the bit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rows(#[serde(with = "exact")] pub Vec<Vec<f32>>);
