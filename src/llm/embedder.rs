//! The embedder on llama.cpp: one unit vector a text.

use std::path::Path;

use llama_cpp_2::token::LlamaToken;

use super::ffi::Pooling;
use super::pool::Pool;
use super::runtime::Runtime;
use super::{Embedder, LlmError, template};
use crate::config::EmbedderSettings;
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

/// An embedder on llama.cpp. One thread uses it at a time.
pub struct LlamaEmbedder {
    pool: Pool,
    card: ModelCard,
}

/// Load an embedder. `progress` sees numbers from 0 to 1 and may end the load; `stop` ends it too, and later every call
/// within one batch.
///
/// # Errors
/// As [`super::load_generator`]; also [`LlmError::Unusable`] for a model that makes no vector of a text.
pub fn load_embedder(
    runtime: &Runtime,
    file: &Path,
    settings: &EmbedderSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaEmbedder, LlmError> {
    let kind = (
        ModelRole::Embedder,
        Pooling::Vector,
        "it is not an embedding model: it pools no vector from a text",
    );
    let (pool, card) = Pool::load(runtime, file, kind, (settings, stop), progress)?;
    let width = u32::try_from(pool.context.width()).unwrap_or(0);
    Ok(LlamaEmbedder {
        pool,
        card: ModelCard { width, ..card },
    })
}

impl Embedder for LlamaEmbedder {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let tokens: Vec<Vec<i32>> = texts.iter().map(|text| self.tokens(text)).collect();
        let width = self.pool.context.width();
        self.pool
            .rows(&tokens, width)?
            .into_iter()
            .map(unit)
            .collect()
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

impl LlamaEmbedder {
    /// Tokens of a text, cut at the end to what the model takes; the closing token stays.
    fn tokens(&self, text: &str) -> Vec<i32> {
        let vocabulary = self.pool.context.model().vocab();
        let mut tokens: Vec<i32> = vocabulary
            .tokenize(text.as_bytes(), true, false)
            .into_iter()
            .map(|token| token.0)
            .collect();
        if tokens.len() > self.pool.longest {
            let closing = tokens
                .last()
                .copied()
                .filter(|token| vocabulary.is_control(LlamaToken(*token)));
            tokens.truncate(self.pool.longest - closing.iter().len());
            tokens.extend(closing);
        }
        if tokens.is_empty() {
            // a vocabulary without marks has no token for an empty text; a space stands in
            tokens = template::tokens(self.pool.context.model(), " ", false, false);
        }
        tokens
    }
}

/// The vector at length 1.
fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>, LlmError> {
    let length = vector
        .iter()
        .map(|x| f64::from(*x) * f64::from(*x))
        .sum::<f64>()
        .sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(LlmError::Backend(
            "the embedder computed a vector without a direction".to_owned(),
        ));
    }
    vector
        .iter_mut()
        .for_each(|x| *x = (f64::from(*x) / length) as f32);
    Ok(vector)
}
