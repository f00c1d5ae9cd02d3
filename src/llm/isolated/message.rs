//! The messages between the program and the process of a generator, one frame each.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::event::{CallUsage, ModelCard};
use crate::llm::error::Result;
use crate::llm::exact;
use crate::llm::values::{Decoding, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token};

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
        #[serde(with = "exact::rows")]
        vectors: Vec<Vec<f32>>,
        layers: Layers,
    },
    Render(Prompt),
    /// The answer to [`GeneratorReply::Token`]: whether to continue.
    Seen {
        continues: bool,
    },
    /// Stops the call in progress.
    Interrupt,
}

/// A message of the process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum GeneratorReply {
    /// The share of the model that is loaded.
    Loading(f32),
    /// A sampled token, after which the process waits.
    Token {
        prompt: usize,
        token: Token,
    },
    Done(CallOutcome),
}

/// The end of a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallOutcome {
    pub result: Result<CallValue>,
    pub usage: CallUsage,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum CallValue {
    Loaded {
        card: Box<ModelCard>,
        has_space_first: bool,
        can_share_prefixes: bool,
        is_attention_cheap: bool,
    },
    Completed(Vec<Tapped>),
    Labelled(Vec<Labelled>),
    Rows(#[serde(with = "exact::rows")] Vec<Vec<f32>>),
    Rendered(Rendered),
}
