//! The generator on llama.cpp.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use llama_cpp_2::model::LlamaModel;

use super::cells::{Cells, Sharing};
use super::error::{LlmError, Result};
use super::ffi::{Batch, CONTEXT_STEP, Context, ContextParams, Purpose};
use super::gguf::Metadata;
use super::load::{self, LoadOptions, LoadRequest, Loaded, Placement, load_with_context};
use super::role::{Generator, LoadedGenerator, Tap as _};
use super::runtime::Runtime;
use super::schedule::{Evaluator, Report};
use super::template::Template;
use super::template::thought::Opening;
use super::tree::Job;
use super::values::{Completion, Decoding, Prompt, Rendered, Taps, Token};
use super::{ffi, kept_prompt, log, model_file, reply_start};
use crate::config::{FlashAttention, GeneratorSettings};
use crate::event::{CallUsage, Flow, ModelCard, ModelRole, StopFlag, elapsed_us, saturating_u32};

/// Sequences of a context, active and kept.
const SEQUENCES: u32 = 64;
/// Tokens of a prompt that are evaluated at once: llama.cpp's own number, and more than there are
/// sequences, each of which has a token in the batches that write.
const BATCH_TOKENS: u32 = 512;
/// Tokens of a prompt that the CPU reads between two reports of it: as fast as [`BATCH_TOKENS`],
/// while half of them took some percent longer with a small model.
const READING_TOKENS: usize = 256;
/// Sequences for recurrent and hybrid models: each takes the memory of a whole state, used or not.
const STATE_SEQUENCES: u32 = 4;
/// Numbers that ggml's half-precision kernels process per step.
const FLASH_STEP: u64 = 64;
/// The most tokens of a context on the CPU that nobody asked for: more would take minutes to read,
/// and llama.cpp fills all of its memory with zeros before the first of them.
const MAX_CPU_TOKENS: u32 = 16_384;
/// Share of the free memory for the KV cache.
const CACHE_SHARE: f64 = 0.5;
/// Maximum share of the free memory for the KV cache of a second context that nobody asked for.
const SECOND_CACHE_SHARE: f64 = 0.125;
/// Cells that stay filled between calls, for prompts to come: more would slow down every token.
pub(super) const KEPT_CELLS: usize = 8192;

/// Prompt tokens of a call that shows how many are read per second: fewer take as long as the
/// weights take to pass through the memory.
const MEASURED_TOKENS: usize = 64;

/// A generator on llama.cpp. One thread uses it at a time.
pub struct LlamaGenerator {
    pub(super) evaluator: Evaluator,
    pub(super) model: Arc<LlamaModel>,
    pub(super) template: Template,
    /// The start of the model's replies: a space, or nothing.
    pub(super) reply_start: &'static str,
    card: ModelCard,
    usage: CallUsage,
    /// A second context with flash attention off, created when attention is first asked for.
    pub(super) unfused: Option<Evaluator>,
    pub(super) params: ContextParams,
    /// Whether attention can be read on the CPU, in a second context that the memory has room for.
    pub(super) has_room_for_attention: bool,
}

/// Loads a generator.
///
/// `progress` is called with numbers from 0 to 1 and can end the load. `stop` ends it too, and
/// later ends every call within one decode.
///
/// # Errors
/// A missing file; [`LlmError::Unusable`],  [`LlmError::Stopped`],
/// settings that name no device or template and for a context that does
/// not fit the memory.
pub fn load_generator(
    runtime: &Runtime,
    file: &Path,
    settings: &GeneratorSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaGenerator> {
    model_file::check_writes(file, model_file::role(&Metadata::read(file)?))?;
    load_linker(runtime, file, settings, stop, progress)
}

/// Loads a model whose attention becomes links: a generator, or one that reads the vectors of
/// sentences.
///
/// # Errors
/// As [`load_generator`], but for the last kind of model.
pub fn load_linker(
    runtime: &Runtime,
    file: &Path,
    settings: &GeneratorSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaGenerator> {
    let mut request = LoadRequest {
        runtime,
        file,
        stop,
        progress,
    };
    let options = options(&Metadata::read(file)?, settings);
    let (mut loaded, context, params) = load_with_context(&mut request, options, |loaded| {
        context(loaded, settings, options.context, stop)
    })?;
    if is_encoder(&loaded) {
        let reason = "it turns text into vectors and writes none";
        return Err(LlmError::unusable(file, reason));
    }

    let template = Template::choose(&loaded.model, settings)?;
    let context_tokens = context.context_tokens();
    loaded.card.context_tokens = saturating_u32(context_tokens);
    template.name.clone_into(&mut loaded.card.chat_template);
    template
        .fallback
        .clone_into(&mut loaded.card.template_fallback);

    let has_room_for_attention = has_room_for_attention(&loaded, &params);
    let mut generator = LlamaGenerator {
        has_room_for_attention,
        reply_start: "",
        evaluator: Evaluator {
            batch_tokens: context.batch_tokens(),
            // a GPU takes as long for a part of a batch as for all of it
            reading_tokens: if loaded.card.gpu_layers == 0 {
                READING_TOKENS
            } else {
                context.batch_tokens()
            },
            context,
            cells: Cells::new(context_tokens, params.sequences as usize, sharing(&loaded)),
            batch: Batch::default(),
            is_drafting: true,
        },
        model: loaded.model,
        template,
        card: loaded.card,
        usage: CallUsage::default(),
        unfused: None,
        params,
    };
    generator.learn_reply_start().map_err(|error| match error {
        LlmError::Backend(reason) => LlmError::unusable(file, reason),
        LlmError::Failed(problem) => LlmError::unusable(file, problem.error),
        other => other,
    })?;
    Ok(generator)
}

/// Returns whether the model is an encoder such as BERT, which sees the tokens behind one, too.
fn is_encoder(loaded: &Loaded) -> bool {
    // a key of GGUF
    let causal = format!("{}.attention.causal", loaded.card.architecture);
    loaded.metadata.flag(&causal) == Some(false)
}

/// Returns how a model is loaded, and the context that it will have.
fn options<'s>(metadata: &Metadata, settings: &'s GeneratorSettings) -> LoadOptions<'s> {
    let trained = metadata.trained_context_tokens().unwrap_or(0);
    let trained = u32::try_from(trained).unwrap_or(u32::MAX);

    LoadOptions {
        role: ModelRole::Generator,
        placement: Placement::for_generator(settings),
        context: ContextParams {
            purpose: Purpose::Generate,
            context_tokens: match settings.context_tokens {
                0 => trained.max(CONTEXT_STEP),
                tokens => tokens.max(CONTEXT_STEP),
            },
            // llama.cpp aborts without room in a batch for one token of every sequence
            batch_tokens: BATCH_TOKENS,
            sequences: SEQUENCES,
            threads: settings.threads,
            offload: true,
            flash_attention: settings.flash_attention,
            cache_type: settings.kv_cache_type,
        },
        can_shorten: settings.context_tokens == 0,
    }
}

/// Returns whether the model keeps one state per sequence, which cannot be truncated, in place of
/// cells.
fn has_states(loaded: &Loaded) -> bool {
    loaded.model.is_recurrent() || loaded.model.is_hybrid()
}

fn sharing(loaded: &Loaded) -> Sharing {
    if !has_states(loaded) {
        return Sharing::Prefix;
    }
    log::write(
        log::Level::Remark,
        "ragscope: this model keeps one state per sequence: prompts share no prefix\n",
    );
    Sharing::Whole
}

/// Creates a context of the size in the settings, or the largest up to the trained one that fits
/// the memory.
fn context(
    loaded: &Loaded,
    settings: &GeneratorSettings,
    planned: ContextParams,
    stop: &StopFlag,
) -> Result<(Context, ContextParams)> {
    let sequences = if has_states(loaded) {
        STATE_SEQUENCES
    } else {
        SEQUENCES
    };
    let mut params = ContextParams {
        context_tokens: context_tokens(loaded, settings),
        sequences,
        offload: loaded.card.gpu_layers > 0,
        flash_attention: flash_attention(loaded, settings),
        ..planned
    };

    loop {
        let reason = match Context::new(&loaded.model, params, stop) {
            Ok(context) => return Ok((context, params)),
            Err(reason) => reason,
        };
        if loaded.card.gpu_layers > 0 {
            return Err(loaded.no_room(&reason));
        }
        let tokens = params.context_tokens;
        if settings.context_tokens > 0 || tokens <= 2 * CONTEXT_STEP {
            return Err(LlmError::new(
                format!("no room for a context of {tokens} tokens ({reason})"),
                "lower generator.context_tokens",
            ));
        }
        params.context_tokens /= 2;
    }
}

/// Chooses between flash and unfused attention.
///
/// On the CPU, ggml's half-precision kernels of flash attention process [`FLASH_STEP`] numbers per
/// step and narrower heads one by one: branches side by side are then about three times as fast
/// with flash attention off.
fn flash_attention(loaded: &Loaded, settings: &GeneratorSettings) -> FlashAttention {
    // a worker may have nothing but a CPU
    let has_cpu = loaded.card.gpu_layers == 0 || !settings.rpc.is_empty();
    let is_narrow = load::head_width(&loaded.metadata) < FLASH_STEP;
    if settings.flash_attention == FlashAttention::Auto && is_narrow && has_cpu {
        FlashAttention::Off
    } else {
        settings.flash_attention
    }
}

/// Returns whether the model runs on the CPU and the memory has room for a second context: at most
/// [`SECOND_CACHE_SHARE`] of what was free before the first.
fn has_room_for_attention(loaded: &Loaded, params: &ContextParams) -> bool {
    let cells = u64::from(params.context_tokens);
    let bytes = cells * load::cell_bytes(&loaded.metadata, params.cache_type);
    let is_small = |free: u64| bytes as f64 <= free as f64 * SECOND_CACHE_SHARE;
    loaded.card.gpu_layers == 0 && loaded.free_bytes.is_none_or(is_small)
}

/// Returns the size of the context: the setting, or what is trained, can be read in minutes and
/// fits the memory.
fn context_tokens(loaded: &Loaded, settings: &GeneratorSettings) -> u32 {
    if settings.context_tokens > 0 {
        return settings.context_tokens.max(CONTEXT_STEP);
    }

    if let Some(planned) = loaded.planned_tokens {
        return planned;
    }
    let mut trained = loaded.model.n_ctx_train().max(CONTEXT_STEP);
    if loaded.card.gpu_layers == 0 {
        trained = trained.min(MAX_CPU_TOKENS);
    }
    let Some(free_bytes) = loaded.free_bytes else {
        return trained;
    };
    let cell_bytes = load::cell_bytes(&loaded.metadata, settings.kv_cache_type).max(1);
    let fitting = (free_bytes as f64 * CACHE_SHARE) as u64 / cell_bytes;
    let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
    let fitting = fitting.max(2 * CONTEXT_STEP);
    if fitting >= trained {
        trained
    } else {
        fitting / CONTEXT_STEP * CONTEXT_STEP
    }
}

impl Generator for LlamaGenerator {
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>> {
        let tapped = self.complete_tapped(prompts, decoding, &Taps::default(), observe)?;
        Ok(tapped.into_iter().map(|one| one.completion).collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered> {
        let opening = self.template.thoughts.opening(prompt);
        self.template.render(&self.model, prompt, opening)
    }

    fn reply_start(&self) -> &'static str {
        self.reply_start
    }

    fn usage(&self) -> CallUsage {
        self.usage
    }
}

impl LoadedGenerator for LlamaGenerator {
    /// Recurrent and hybrid models keep one state per sequence, which cannot be truncated: they
    /// evaluate each prompt whole.
    fn can_share_prefixes(&self) -> bool {
        self.evaluator.cells.sharing == Sharing::Prefix
    }

    fn has_inside(&self) -> bool {
        true
    }

    fn restore(&mut self, prompt: &Prompt, folder: &Path) -> bool {
        // without that context the other one writes
        if self.is_attention_cheap() {
            let _ = self.unfused_evaluator(0);
        }
        if self.answering_evaluator().cells.in_use() > 0 {
            return true;
        }
        let Ok((_, file)) = self.kept_prompt(prompt, folder) else {
            return false;
        };
        let evaluator = self.unfused.as_mut().unwrap_or(&mut self.evaluator);
        kept_prompt::restore(evaluator, &file)
    }

    fn keep(&self, prompt: &Prompt, folder: &Path) {
        // what keeps one state per sequence shares a prompt as a whole alone
        if !self.can_share_prefixes() {
            return;
        }
        if let Ok((tokens, file)) = self.kept_prompt(prompt, folder) {
            let _ = kept_prompt::keep(self.answering_evaluator(), &tokens, &file);
        }
    }
}

impl LlamaGenerator {
    /// Returns the context in which answers are written: with attention, once there is one for it.
    fn answering_evaluator(&self) -> &Evaluator {
        self.unfused.as_ref().unwrap_or(&self.evaluator)
    }

    /// Returns the tokens of a prompt, and the file for its state as this model on this machine
    /// evaluates it.
    fn kept_prompt(&self, prompt: &Prompt, folder: &Path) -> Result<(Vec<i32>, PathBuf)> {
        let tokens = self.render(prompt)?.tokens;
        // the rotation of keys depends on the size of the context in some models
        let cells = self.answering_evaluator().cells.total();
        let reader = format!(
            "{} {} {:?} {:?} {} {cells} {}",
            self.card.fingerprint,
            self.card.device,
            self.params.cache_type,
            self.params.flash_attention,
            self.has_room_for_attention,
            ffi::system_info(),
        );
        let name = kept_prompt::file_name(&tokens, &reader);
        Ok((tokens, folder.join(name)))
    }

    pub(super) fn jobs(&self, prompts: &[Prompt], decoding: &Decoding) -> Result<Vec<Job>> {
        let mut jobs = Vec::with_capacity(prompts.len());

        for prompt in prompts {
            let tokens = self.render(prompt)?.tokens;
            self.check_length(tokens.len(), 1)?;
            let thoughts = self.template.thoughts.max_tokens_of(prompt);

            jobs.push(Job {
                first_row: tokens.len() - 1,
                tokens,
                max_new_tokens: decoding.max_tokens as usize + thoughts as usize,
            });
        }

        Ok(jobs)
    }

    /// Learns how the model begins a reply. This also reads the weights from the file before the
    /// first question.
    fn learn_reply_start(&mut self) -> Result<()> {
        self.reply_start = reply_start::learn(self)?;
        self.clear_cache();
        self.usage = CallUsage::default();
        Ok(())
    }

    /// Returns the tokens of a prompt that ends at the first word of the answer.
    pub(super) fn answer_prompt(&self, prompt: &Prompt) -> Result<Vec<i32>> {
        let rendered = self.template.render(&self.model, prompt, Opening::Answer)?;
        Ok(rendered.tokens)
    }

    /// Checks that a prompt has a token, and that `room` more fit into the context.
    pub(super) fn check_length(&self, prompt_tokens: usize, room: usize) -> Result<()> {
        if prompt_tokens == 0 {
            return Err(LlmError::Backend("the prompt is empty".to_owned()));
        }
        if prompt_tokens + room > self.evaluator.cells.total() {
            return Err(LlmError::PromptTooLong {
                prompt_tokens: saturating_u32(prompt_tokens),
                context_tokens: self.card.context_tokens,
            });
        }
        Ok(())
    }

    /// Records the cost of a call to the main context, and limits what it leaves in the cache.
    pub(super) fn record_usage(
        &mut self,
        started: Instant,
        report: Option<&Report>,
        generated: usize,
    ) {
        let Evaluator { cells, context, .. } = &mut self.evaluator;
        cells.limit_kept(KEPT_CELLS, context);
        let in_use = cells.in_use();
        self.record_usage_of(started, report, generated, in_use);
    }

    /// Records the cost of a call that left `in_use` cells of its cache in use.
    pub(super) fn record_usage_of(
        &mut self,
        started: Instant,
        report: Option<&Report>,
        generated: usize,
        in_use: usize,
    ) {
        let nothing = Report::default();
        let report = report.unwrap_or(&nothing);
        let mut reading_rate = self.usage.reading_rate;
        if report.evaluated >= MEASURED_TOKENS {
            let rate = report.evaluated as f32 / report.reading.as_secs_f32();
            reading_rate = reading_rate.max(rate);
        }
        self.usage = CallUsage {
            reading_rate,
            prompt_tokens_evaluated: saturating_u32(report.evaluated),
            prompt_tokens_reused: saturating_u32(report.reused),
            tokens_generated: saturating_u32(generated),
            tokens_drafted: saturating_u32(report.drafted),
            wall_us: elapsed_us(started),
            context_used: saturating_u32(in_use),
            context_tokens: self.card.context_tokens,
        };
    }

    /// Drops every cached prompt: the next call shares nothing with earlier ones.
    pub fn clear_cache(&mut self) {
        self.evaluator.clear();
        if let Some(unfused) = &mut self.unfused {
            unfused.clear();
        }
    }

    /// Sets whether likely tokens are evaluated ahead, as they are from the start. For measuring.
    pub fn set_drafting(&mut self, is_drafting: bool) {
        let evaluators = std::iter::once(&mut self.evaluator).chain(&mut self.unfused);
        evaluators.for_each(|evaluator| evaluator.is_drafting = is_drafting);
    }

    /// Returns whether the bookkeeping of the KV cache matches llama.cpp's, with no sequence left
    /// active. For tests of stops and failures.
    pub fn is_cache_consistent(&self) -> bool {
        self.evaluator.is_consistent() && self.evaluator.cells.active() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use std::{fs, slice};

    use super::*;
    use crate::config::Layers;
    use crate::llm::role::Scorer as _;

    /// Loads the bundled reader.
    fn generator() -> LlamaGenerator {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let runtime =
            Runtime::start(&root.join("target/tmp/llama-unit.log")).expect("llama.cpp starts");
        let settings = Layers::defaults().config().expect("defaults").generator;
        let file = root.join("assets/models/ragscope-demo.Q8_0.gguf");
        let stop = StopFlag::default();
        load_generator(&runtime, &file, &settings, &stop, &mut |_| Flow::Continue)
            .expect("a generator")
    }

    fn complete(generator: &mut LlamaGenerator, prompts: &[Prompt]) -> Vec<Completion> {
        let decoding = Decoding::greedy(12, 1);
        generator
            .complete(prompts, &decoding, &mut |_, _| Flow::Continue)
            .expect("text")
    }

    #[test]
    fn a_kept_prompt_is_read_and_not_evaluated() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let prompt = Prompt::user("Who keeps the lighthouse of Harwenby?".to_owned());
        let read = |is_kept: bool| {
            let mut generator = generator();
            let is_restored = generator.restore(&prompt, folder.path());
            assert_eq!(is_restored, is_kept);
            let reused = |generator: &LlamaGenerator| generator.usage().prompt_tokens_reused;
            generator
                .classify(slice::from_ref(&prompt), &["yes", "no"])
                .expect("labels");
            assert_eq!(reused(&generator) > 0, is_kept);
            generator.keep(&prompt, folder.path());

            let texts = complete(&mut generator, slice::from_ref(&prompt));
            assert!(generator.is_cache_consistent());
            let unfused = generator.unfused.as_ref();
            assert!(unfused.is_none_or(Evaluator::is_consistent));
            texts[0].text.clone()
        };

        let evaluated = read(false);
        let kept = fs::read_dir(folder.path()).expect("a folder").next();
        let file = kept.expect("a file").expect("a file").path();
        assert_eq!(read(true), evaluated);

        let mut bytes = fs::read(&file).expect("bytes");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).expect("damaged");
        assert_eq!(read(false), evaluated, "a damaged file is none");
        assert_eq!(read(true), evaluated, "it was written again");
    }

    #[test]
    fn without_shared_prefixes_the_text_is_the_same() {
        let mut generator = generator();
        let prompts: Vec<Prompt> = ["Who?", "Who keeps the lighthouse?", "Who keeps the ferry?"]
            .map(|text| Prompt::user(text.to_owned()))
            .to_vec();
        let shared = complete(&mut generator, &prompts);
        assert!(generator.can_share_prefixes() && generator.usage().prompt_tokens_reused > 0);

        generator.clear_cache();
        let cells = generator.evaluator.cells.total();
        generator.evaluator.cells = Cells::new(cells, SEQUENCES as usize, Sharing::Whole);
        let whole = complete(&mut generator, &prompts);
        assert!(!generator.can_share_prefixes());
        assert_eq!(generator.usage().prompt_tokens_reused, 0);

        for (shared, whole) in shared.iter().zip(&whole) {
            assert_eq!(shared.text, whole.text);
        }
        assert!(generator.is_cache_consistent());
    }
}
