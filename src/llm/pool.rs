//! Evaluates texts to pooled rows, with many texts in one batch.

use super::cells::{Memory, count_fitting};
use super::error::{LlmError, Result};
use super::ffi::{Batch, Context, ContextParams, Decoded, Pooling, Purpose};
use super::gguf::Metadata;
use super::load::{LoadOptions, LoadRequest, Loaded, Placement, load_with_context};
use crate::config::{EmbedderSettings, FlashAttention, KvCacheType};
use crate::event::{ModelCard, ModelRole, StopError, saturating_u32};

/// Maximum texts of one batch on a GPU.
const GPU_SEQUENCES: usize = 64;
/// Maximum texts of one batch on the CPU. Rounding depends on the company of a text (up to 0.002 in
/// one number of a vector of MiniLM in Q8_0), so that an updated index would not rank as a new one;
/// a batch of several is no faster there.
const CPU_SEQUENCES: usize = 1;
/// Maximum tokens of one batch, unless a single text is longer: attention is computed over the
/// whole batch, so that larger ones cost more.
const BATCH_TOKENS: usize = 512;
/// Models with longer contexts are given no more than this, since a batch takes memory for all of
/// it.
const MAX_CONTEXT_TOKENS: usize = 8192;

/// The pooling that a role needs of its model.
#[derive(Clone, Copy)]
pub(super) struct Required {
    pub role: ModelRole,
    pub pooling: Pooling,
    /// The reason why a model that pools differently is refused.
    pub otherwise: &'static str,
}

/// A context that pools texts, with its batch.
pub(super) struct Pool {
    pub context: Context,
    /// Maximum tokens of a text.
    pub max_tokens: usize,
    /// Maximum texts of one batch.
    sequences: usize,
    batch: Batch,
}

impl Pool {
    /// Loads a model, and refuses one that does not pool as required.
    pub fn load(
        mut request: LoadRequest,
        required: Required,
        settings: &EmbedderSettings,
    ) -> Result<(Self, ModelCard)> {
        let file = request.file;
        let metadata = Metadata::read(file)?;
        let trained = metadata.trained_context_tokens().unwrap_or(0);
        let trained = usize::try_from(trained).unwrap_or(usize::MAX);
        let max_tokens = trained.clamp(1, MAX_CONTEXT_TOKENS);
        let context_tokens = saturating_u32(max_tokens.max(BATCH_TOKENS));
        let options = LoadOptions {
            role: required.role,
            placement: Placement::for_embedder(settings),
            context: ContextParams {
                // llama.cpp's conversion writes the classes of a classifier, and no pooling
                purpose: match required.pooling {
                    Pooling::Rank if metadata.class_labels().is_some() => Purpose::Classify,
                    Pooling::Rank | Pooling::Vector | Pooling::None => Purpose::Embed,
                },
                context_tokens,
                batch_tokens: context_tokens,
                sequences: saturating_u32(GPU_SEQUENCES),
                threads: settings.threads,
                offload: true,
                flash_attention: FlashAttention::Auto,
                cache_type: KvCacheType::F16,
            },
            can_shorten: false,
        };
        let stop = request.stop;
        let (loaded, context, _) = load_with_context(&mut request, options, |loaded| {
            let params = params(loaded, options.context);
            let context = Context::new(&loaded.model, params, stop);
            let context = context.map_err(|reason| LlmError::unusable(file, reason))?;
            Ok((context, params))
        })?;
        if context.pooling() != required.pooling {
            return Err(LlmError::unusable(file, required.otherwise));
        }

        let pool = Self {
            context,
            max_tokens,
            sequences: sequences(&loaded),
            batch: Batch::default(),
        };
        let card = ModelCard {
            context_tokens: saturating_u32(max_tokens),
            ..loaded.card
        };
        Ok((pool, card))
    }

    /// Returns one row of `width` numbers per text, in order. Each text has between 1 and
    /// `max_tokens` tokens.
    pub fn rows(&mut self, texts: &[Vec<i32>], width: usize) -> Result<Vec<Vec<f32>>> {
        // Texts of similar length share a batch, the longest first.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|text| std::cmp::Reverse(texts[*text].len()));

        let mut rows = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let lengths = rest.iter().take(self.sequences);
            let lengths = lengths.map(|text| texts[*text].len());
            let (now, later) = rest.split_at(count_fitting(lengths, BATCH_TOKENS));
            self.evaluate(now, texts)?;
            for (sequence, text) in now.iter().enumerate() {
                rows[*text] = self.context.pooled_vector(sequence, width)?.to_vec();
            }
            rest = later;
        }
        Ok(rows)
    }

    fn evaluate(&mut self, now: &[usize], texts: &[Vec<i32>]) -> Result<()> {
        self.context.stop_flag().flow().check()?;

        self.batch.clear();
        for (sequence, text) in now.iter().enumerate() {
            for (position, token) in texts[*text].iter().enumerate() {
                self.batch.push(*token, position, sequence, true);
            }
        }

        // Decoder models have a KV cache, which must not hold the batch before.
        self.context.clear();
        match self.context.decode(&mut self.batch)? {
            Decoded::Done => Ok(()),
            Decoded::Aborted => Err(StopError.into()),
            Decoded::NoRoom => Err(LlmError::Backend(
                "the texts do not fit the context".to_owned(),
            )),
        }
    }
}

/// Returns the parameters of the context of a model, as they were planned.
fn params(loaded: &Loaded, planned: ContextParams) -> ContextParams {
    ContextParams {
        sequences: saturating_u32(sequences(loaded)),
        offload: loaded.card.gpu_layers > 0,
        ..planned
    }
}

fn sequences(loaded: &Loaded) -> usize {
    if loaded.card.gpu_layers > 0 {
        GPU_SEQUENCES
    } else {
        CPU_SEQUENCES
    }
}
