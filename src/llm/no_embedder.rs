//! Stands in for the embedder where nothing compares vectors.

use super::error::{LlmError, Result};
use super::role::Embedder;
use crate::event::{ModelCard, ModelRole};

/// An embedder that computes nothing: BM25 search needs no vectors.
#[derive(Debug, Clone)]
pub struct NoEmbedder {
    card: ModelCard,
}

impl NoEmbedder {
    /// Stands in for the embedder in this file, whose vocabulary still counts the tokens of chunks.
    pub fn new(file: &str) -> Self {
        Self {
            card: ModelCard {
                file: file.to_owned(),
                ..ModelCard::unknown(ModelRole::Embedder)
            },
        }
    }
}

impl Embedder for NoEmbedder {
    fn embed(&mut self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(LlmError::new(
            "this needs vectors, and retriever.kind = \"bm25\" computes none",
            "set retriever.kind to hybrid, or turn off what compares meanings",
        ))
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}
