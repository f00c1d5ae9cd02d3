//! Splits documents into chunks: of a fixed size (`fixed`), or where the meaning changes from one
//! sentence to the next (`semantic`). Both take a text as a sequence of small pieces (`pieces`).

mod ranges;
mod pieces;
mod fixed;
mod semantic;

use serde::{Deserialize, Serialize};

use crate::config::{ChunkerKind, ChunkerSettings};

pub use fixed::{FixedSplit, fixed_chunks};
pub use ranges::chunks_at;
pub use semantic::{SemanticSplit, Sentences};

/// The method that splits the documents of an index into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SplitMethod {
    Fixed(FixedSplit),
    Semantic(SemanticSplit),
}

impl SplitMethod {
    /// Returns the method of an index. The adaptive chunker splits at a fixed size there, and
    /// re-chunks for a question that needs it.
    pub fn for_index(settings: &ChunkerSettings) -> Self {
        match settings.kind {
            ChunkerKind::Fixed | ChunkerKind::Adaptive => Self::Fixed(FixedSplit::new(settings)),
            ChunkerKind::Semantic => Self::Semantic(SemanticSplit::new(settings)),
        }
    }
}
