//! The embedder on llama.cpp: one unit vector per text.

use std::path::Path;

use llama_cpp_2::token::LlamaToken;

use super::error::{LlmError, Result};
use super::ffi::Pooling;
use super::load::LoadRequest;
use super::pool::{Pool, Required};
use super::role::Embedder;
use super::runtime::Runtime;
use super::{prefixes, template};
use crate::config::EmbedderSettings;
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

const REQUIRED: Required = Required {
    role: ModelRole::Embedder,
    pooling: Pooling::Vector,
    otherwise: "it is not an embedding model: it pools no vector from a text",
};

/// An embedder on llama.cpp. One thread uses it at a time.
pub struct LlamaEmbedder {
    pool: Pool,
    card: ModelCard,
}

/// Loads an embedder.
///
/// `progress` is called with numbers from 0 to 1 and can end the load. `stop` ends it too, and
/// later ends every call within one batch.
///
/// # Errors
/// As [`super::load_generator`]; also [`LlmError::Unusable`] for a model that is no embedder.
pub fn load_embedder(
    runtime: &Runtime,
    file: &Path,
    settings: &EmbedderSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaEmbedder> {
    let request = LoadRequest {
        runtime,
        file,
        stop,
        progress,
    };

    let (pool, card) = Pool::load(request, REQUIRED, settings)?;
    let width = u32::try_from(pool.context.width).unwrap_or(0);
    let prefixes = prefixes::prefixes(&card, settings);

    Ok(LlamaEmbedder {
        pool,
        card: ModelCard {
            width,
            fingerprint: prefixes::fingerprint(&card.fingerprint, &prefixes),
            prefixes,
            ..card
        },
    })
}

impl Embedder for LlamaEmbedder {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let prefix = self.card.prefixes.document.clone();
        self.vectors(&prefix, texts)
    }

    fn embed_queries(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let prefix = self.card.prefixes.query.clone();
        self.vectors(&prefix, texts)
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

impl LlamaEmbedder {
    fn vectors(&mut self, prefix: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokens: Vec<Vec<i32>> = texts
            .iter()
            .map(|text| self.tokens(&format!("{prefix}{text}")))
            .collect();
        let width = self.pool.context.width;
        let rows = self.pool.rows(&tokens, width)?;
        rows.into_iter().map(unit).collect()
    }

    /// Returns the tokens of a text, truncated to the model's context before the closing token.
    fn tokens(&self, text: &str) -> Vec<i32> {
        let vocabulary = self.pool.context.model.vocab();
        let mut tokens: Vec<i32> = vocabulary
            .tokenize(text.as_bytes(), true, false)
            .into_iter()
            .map(|token| token.0)
            .collect();

        if tokens.len() > self.pool.max_tokens {
            let closing = tokens
                .last()
                .copied()
                .filter(|token| vocabulary.is_control(LlamaToken(*token)));
            tokens.truncate(self.pool.max_tokens - closing.iter().len());
            tokens.extend(closing);
        }
        if tokens.is_empty() {
            // A vocabulary without special tokens has none for an empty text, and llama.cpp pools
            // no empty sequence.
            tokens = template::tokenize(&self.pool.context.model, " ", false, false);
        }
        tokens
    }
}

/// Scales a vector to length 1.
pub(super) fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>> {
    let squares = vector.iter().map(|x| f64::from(*x) * f64::from(*x));
    let length = squares.sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(LlmError::new(
            "the embedder computed a vector without a direction",
            "set embedder.device to cpu, or choose another embedder",
        ));
    }
    for x in &mut vector {
        *x = (f64::from(*x) / length) as f32;
    }
    Ok(vector)
}
