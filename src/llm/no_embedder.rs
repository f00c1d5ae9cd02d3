//! Stands in for the embedder where nothing compares vectors.

use super::{Embedder, LlmError};
use crate::event::{ModelCard, ModelRole, Prefixes};

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
                role: ModelRole::Embedder,
                name: String::new(),
                file: file.to_owned(),
                file_bytes: 0,
                fingerprint: String::new(),
                architecture: String::new(),
                quantisation: String::new(),
                parameters: 0,
                layers: 0,
                gpu_layers: 0,
                device: String::new(),
                device_bytes: 0,
                width: 0,
                context_tokens: 0,
                chat_template: String::new(),
                template_fallback: String::new(),
                server: String::new(),
                practice: false,
                prefixes: Prefixes::default(),
            },
        }
    }
}

impl Embedder for NoEmbedder {
    fn embed(&mut self, _texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        Err(LlmError::settings(
            "this needs vectors, and retriever.kind = \"bm25\" computes none",
            "set retriever.kind to hybrid, or turn off what compares meanings",
        ))
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}
