//! The embedder on llama.cpp: many texts in one batch, one unit vector a text.

use std::path::Path;

use super::ffi::{Batch, Context, Decoded, Pooling, Purpose, Shape};
use super::load::{self, Placement};
use super::runtime::{self, Runtime};
use super::{Embedder, LlmError, log, template};
use crate::config::EmbedderSettings;
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

/// Texts of one batch.
const SEQUENCES: usize = 64;
/// Tokens of one batch, unless the model's context is longer: attention is computed over the whole batch, so larger ones cost more.
const BATCH_TOKENS: usize = 512;
/// Models with long contexts are given no more than this, for the memory that a batch takes.
const MAX_CONTEXT_TOKENS: usize = 8192;

/// An embedder on llama.cpp. One thread uses it at a time.
pub struct LlamaEmbedder {
    context: Context,
    card: ModelCard,
    batch: Batch,
    /// Set when the model keeps a cache, which must be emptied between batches.
    longest: usize,
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
    let placement = Placement { role: ModelRole::Embedder, gpu_layers: settings.gpu_layers, device: &settings.device };
    let mut loaded = load::load(runtime, file, placement, stop, progress)?;
    let longest = (loaded.model.n_ctx_train() as usize).clamp(1, MAX_CONTEXT_TOKENS);
    let tokens = u32::try_from(longest.max(BATCH_TOKENS)).unwrap_or(u32::MAX);
    let shape = Shape {
        purpose: Purpose::Embed,
        context_tokens: tokens,
        batch_tokens: tokens,
        sequences: SEQUENCES as u32,
        threads: runtime::threads(settings.threads),
        offload: loaded.card.gpu_layers > 0,
    };
    log::forget_complaints();
    let unusable = |reason: String| LlmError::Unusable { path: file.display().to_string(), reason };
    let Some(context) = Context::new(&loaded.model, shape, stop) else {
        return Err(unusable(log::complaint().unwrap_or_else(|| "not enough memory".to_owned())));
    };
    if context.pooling() != Pooling::Vector {
        return Err(unusable("it is not an embedding model: it pools no vector from a text".to_owned()));
    }
    loaded.card.context_tokens = u32::try_from(longest).unwrap_or(u32::MAX);
    loaded.card.width = u32::try_from(context.width()).unwrap_or(0);
    Ok(LlamaEmbedder { context, card: loaded.card, batch: Batch::default(), longest })
}

impl Embedder for LlamaEmbedder {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let tokens: Vec<Vec<i32>> = texts.iter().map(|text| self.tokens(text)).collect();
        // texts of like length go together, the longest first
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|text| std::cmp::Reverse(tokens[*text].len()));
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.fitting(rest, &tokens));
            self.evaluate(now, &tokens)?;
            for (sequence, text) in now.iter().enumerate() {
                vectors[*text] = unit(self.context.pooled(sequence, self.context.width())?)?;
            }
            rest = later;
        }
        Ok(vectors)
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

impl LlamaEmbedder {
    /// Tokens of a text, cut at the end to what the model takes; the closing token stays.
    fn tokens(&self, text: &str) -> Vec<i32> {
        let vocabulary = self.context.model().vocab();
        let mut tokens: Vec<i32> =
            vocabulary.tokenize(text.as_bytes(), true, false).into_iter().map(|token| token.0).collect();
        if tokens.len() > self.longest {
            let closing =
                tokens.last().copied().filter(|token| vocabulary.is_control(llama_cpp_2::token::LlamaToken(*token)));
            tokens.truncate(self.longest - closing.iter().len());
            tokens.extend(closing);
        }
        if tokens.is_empty() {
            // a vocabulary without marks has no token for an empty text; a space stands in
            tokens = template::tokens(self.context.model(), " ", false, false);
        }
        tokens
    }

    /// How many texts at the front make up one batch.
    fn fitting(&self, order: &[usize], tokens: &[Vec<i32>]) -> usize {
        let mut sum = 0;
        let fits = |text: &&usize| {
            sum += tokens[**text].len();
            sum <= BATCH_TOKENS
        };
        order.iter().take(SEQUENCES).take_while(fits).count().max(1)
    }

    fn evaluate(&mut self, texts: &[usize], tokens: &[Vec<i32>]) -> Result<(), LlmError> {
        if self.context.stop_flag().is_set() {
            return Err(LlmError::Stopped);
        }
        self.batch.clear();
        for (sequence, text) in texts.iter().enumerate() {
            for (position, token) in tokens[*text].iter().enumerate() {
                self.batch.push(*token, position, sequence, true);
            }
        }
        super::cells::Memory::clear(&mut self.context);
        match self.context.decode(&mut self.batch)? {
            Decoded::Done => Ok(()),
            Decoded::Aborted => Err(LlmError::Stopped),
            Decoded::NoRoom => Err(LlmError::Backend("the texts do not fit the embedder's context".to_owned())),
        }
    }
}

/// The vector at length 1.
fn unit(vector: &[f32]) -> Result<Vec<f32>, LlmError> {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(LlmError::Backend("the embedder computed a vector without a direction".to_owned()));
    }
    Ok(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
}
