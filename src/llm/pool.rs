//! Texts to pooled rows: many texts in one batch, packed by tokens.

use std::path::Path;

use super::LlmError;
use super::cells::Memory;
use super::ffi::{Attention, Batch, Context, Decoded, Pooling, Purpose, Shape};
use super::load::{self, Loaded, Placement};
use super::log;
use super::runtime::{self, Runtime};
use crate::config::{CacheType, EmbedderSettings};
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

/// Texts of one batch.
const SEQUENCES: usize = 64;
/// Tokens of one batch, unless a text is longer: attention is computed over the whole batch, so larger ones cost more.
const BATCH_TOKENS: usize = 512;
/// Models with long contexts are given no more than this, for the memory that a batch takes.
const MAX_CONTEXT_TOKENS: usize = 8192;

/// A context that pools texts, with its batch.
pub(super) struct Pool {
    pub context: Context,
    /// Tokens of the longest text.
    pub longest: usize,
    batch: Batch,
}

impl Pool {
    /// Load a model that pools as `pooling` says; `otherwise` is what is wrong with one that does not.
    pub fn load(
        runtime: &Runtime,
        file: &Path,
        (role, pooling, otherwise): (ModelRole, Pooling, &str),
        (settings, stop): (&EmbedderSettings, &StopFlag),
        progress: &mut dyn FnMut(f32) -> Flow,
    ) -> Result<(Self, ModelCard), LlmError> {
        let placement = Placement {
            role,
            gpu_layers: settings.gpu_layers,
            device: &settings.device,
        };
        let loaded = load::load(runtime, file, placement, stop, progress)?;
        let longest = (loaded.model.n_ctx_train() as usize).clamp(1, MAX_CONTEXT_TOKENS);
        let unusable = |reason: String| LlmError::Unusable {
            path: file.display().to_string(),
            reason,
        };
        let context = context(&loaded, longest, settings.threads, stop).map_err(unusable)?;
        if context.pooling() != pooling {
            return Err(unusable(otherwise.to_owned()));
        }
        let card = ModelCard {
            context_tokens: u32::try_from(longest).unwrap_or(u32::MAX),
            ..loaded.card
        };
        Ok((
            Self {
                context,
                longest,
                batch: Batch::default(),
            },
            card,
        ))
    }

    /// One row of `width` numbers a text, in order. No text has more than `longest` tokens, or none.
    pub fn rows(&mut self, texts: &[Vec<i32>], width: usize) -> Result<Vec<Vec<f32>>, LlmError> {
        // texts of like length go together, the longest first
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|text| std::cmp::Reverse(texts[*text].len()));
        let mut rows = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest, texts));
            self.evaluate(now, texts)?;
            for (sequence, text) in now.iter().enumerate() {
                rows[*text] = self.context.pooled(sequence, width)?.to_vec();
            }
            rest = later;
        }
        Ok(rows)
    }

    fn evaluate(&mut self, now: &[usize], texts: &[Vec<i32>]) -> Result<(), LlmError> {
        if self.context.stop_flag().is_set() {
            return Err(LlmError::Stopped);
        }
        self.batch.clear();
        for (sequence, text) in now.iter().enumerate() {
            for (position, token) in texts[*text].iter().enumerate() {
                self.batch.push(*token, position, sequence, true);
            }
        }
        // models that keep a cache begin each batch without it
        self.context.clear();
        match self.context.decode(&mut self.batch)? {
            Decoded::Done => Ok(()),
            Decoded::Aborted => Err(LlmError::Stopped),
            Decoded::NoRoom => Err(LlmError::Backend(
                "the texts do not fit the context".to_owned(),
            )),
        }
    }
}

fn context(
    loaded: &Loaded,
    longest: usize,
    threads: u32,
    stop: &StopFlag,
) -> Result<Context, String> {
    let tokens = u32::try_from(longest.max(BATCH_TOKENS)).unwrap_or(u32::MAX);
    let shape = Shape {
        purpose: Purpose::Embed,
        context_tokens: tokens,
        batch_tokens: tokens,
        sequences: SEQUENCES as u32,
        threads: runtime::threads(threads),
        offload: loaded.card.gpu_layers > 0,
        attention: Attention::FlashIfAble,
        cache_type: CacheType::F16,
    };
    log::forget_complaints();
    Context::new(&loaded.model, shape, stop)
        .ok_or_else(|| log::complaint().unwrap_or_else(|| "not enough memory".to_owned()))
}

/// How many texts at the front make up one batch.
fn fitting(order: &[usize], texts: &[Vec<i32>]) -> usize {
    let mut sum = 0;
    let fits = |text: &&usize| {
        sum += texts[**text].len();
        sum <= BATCH_TOKENS
    };
    order.iter().take(SEQUENCES).take_while(fits).count().max(1)
}
