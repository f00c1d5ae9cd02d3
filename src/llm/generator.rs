//! The generator on llama.cpp.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::cells::{Cells, Sharing};
use super::ffi::{Attention, Batch, CONTEXT_STEP, Context, Purpose, Shape};
use super::load::{self, Loaded, Placement};
use super::numbers::{Candidates, Sampler};
use super::runtime::{self, Runtime};
use super::schedule::{self, Ended, Evaluator, Next, Reader, Report, Row};
use super::stream::Stream;
use super::template::Template;
use super::tree::Job;
use super::{
    Completion, Decoding, End, Generator, LlmError, Prompt, Rendered, Sampling, StopRule, Token,
    log,
};
use crate::config::{FlashAttention, GeneratorSettings};
use crate::event::{CallUsage, Flow, ModelCard, ModelRole, StopFlag};

/// Sequences that may be worked in or kept at once.
const SEQUENCES: u32 = 64;
/// The same for models whose sequences each take memory of their own, used or not.
const WHOLE_SEQUENCES: u32 = 4;
/// Numbers that ggml's half-precision kernels take at once.
const FLASH_STEP: u64 = 64;
/// Of the free memory, what the cache may take.
const CACHE_SHARE: f64 = 0.5;
/// Cells that stay filled between calls for prompts to come; more would slow every token down.
pub(super) const KEPT_CELLS: usize = 8192;

/// A generator on llama.cpp. One thread uses it at a time.
pub struct LlamaGenerator {
    pub(super) evaluator: Evaluator,
    pub(super) model: Arc<LlamaModel>,
    pub(super) template: Template,
    /// The tokens that end a turn.
    pub(super) turn_ends: Vec<usize>,
    /// What the model begins its replies with: a space, or nothing.
    pub(super) reply_start: &'static str,
    card: ModelCard,
    usage: CallUsage,
    /// A second context without flash attention, made when attention is first asked for.
    pub(super) open: Option<Evaluator>,
    pub(super) shape: Shape,
}

/// Load a generator. `progress` sees numbers from 0 to 1 and may end the load; `stop` ends it too, and later every call,
/// within one decode step.
///
/// # Errors
/// [`LlmError::Missing`] and [`LlmError::Unusable`] for the file, [`LlmError::Stopped`], [`LlmError::Backend`] for settings that
/// name no device or template and for a context that does not fit the memory.
pub fn load_generator(
    runtime: &Runtime,
    file: &Path,
    settings: &GeneratorSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaGenerator, LlmError> {
    let placement = Placement {
        role: ModelRole::Generator,
        gpu_layers: settings.gpu_layers,
        device: &settings.device,
    };
    let mut loaded = load::load(runtime, file, placement, stop, progress)?;
    if loaded
        .metadata
        .flag(&format!("{}.attention.causal", loaded.card.architecture))
        == Some(false)
    {
        let reason = "it turns text into vectors and writes none".to_owned();
        return Err(LlmError::Unusable {
            path: file.display().to_string(),
            reason,
        });
    }
    let template = Template::choose(&loaded.model, &settings.chat_template)?;
    let (context, shape) = context(&loaded, settings, stop)?;
    let (tokens, batch_tokens) = (context.context_tokens(), context.batch_tokens());
    loaded.card.context_tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    template.name().clone_into(&mut loaded.card.chat_template);
    let sharing = if keeps_states(&loaded) {
        log::write(
            false,
            "ragscope: this model keeps one state a sequence: prompts share nothing and are evaluated whole\n",
        );
        Sharing::Whole
    } else {
        Sharing::Prefix
    };
    let mut generator = LlamaGenerator {
        turn_ends: turn_ends(&loaded.model),
        reply_start: "",
        evaluator: Evaluator {
            context,
            cells: Cells::new(tokens, shape.sequences as usize, sharing),
            batch: Batch::default(),
            batch_tokens,
        },
        model: loaded.model,
        template,
        card: loaded.card,
        usage: CallUsage::default(),
        open: None,
        shape,
    };
    match generator.learn_reply_start() {
        Err(LlmError::Backend(reason)) => Err(LlmError::Unusable {
            path: file.display().to_string(),
            reason,
        })?,
        otherwise => otherwise?,
    }
    Ok(generator)
}

fn turn_ends(model: &LlamaModel) -> Vec<usize> {
    let vocabulary = model.vocab();
    vocabulary
        .tokens()
        .filter(|token| vocabulary.is_eog(*token))
        .filter_map(|token| usize::try_from(token.0).ok())
        .collect()
}

/// Does the model keep one state a sequence, which cannot be cut, in place of cells?
fn keeps_states(loaded: &Loaded) -> bool {
    loaded.model.is_recurrent() || loaded.model.is_hybrid()
}

fn sequences(loaded: &Loaded) -> u32 {
    if keeps_states(loaded) {
        WHOLE_SEQUENCES
    } else {
        SEQUENCES
    }
}

/// llama.cpp wants room in a batch, and so in the context, for one token of every sequence; it aborts without.
fn batch_tokens(settings: &GeneratorSettings) -> u32 {
    settings.batch_tokens.max(SEQUENCES)
}

/// A context of the size that the settings ask for, or the largest up to the trained one that fits the memory.
fn context(
    loaded: &Loaded,
    settings: &GeneratorSettings,
    stop: &StopFlag,
) -> Result<(Context, Shape), LlmError> {
    let mut tokens = context_tokens(loaded, settings);
    loop {
        let shape = Shape {
            purpose: Purpose::Generate,
            context_tokens: tokens,
            batch_tokens: batch_tokens(settings),
            sequences: sequences(loaded),
            threads: runtime::threads(settings.threads),
            offload: loaded.card.gpu_layers > 0,
            attention: attention(loaded, settings.flash_attention),
            cache_type: settings.cache_type,
        };
        log::forget_complaints();
        match Context::new(&loaded.model, shape, stop) {
            Some(context) => return Ok((context, shape)),
            None if settings.context_tokens == 0 && tokens > 2 * CONTEXT_STEP => tokens /= 2,
            None => {
                let reason = log::complaint().unwrap_or_else(|| "not enough memory".to_owned());
                return Err(LlmError::Backend(format!(
                    "no context of {tokens} tokens ({reason}): lower generator.context_tokens"
                )));
            }
        }
    }
}

/// On the CPU the half-precision kernels of flash attention work in steps of [`FLASH_STEP`] numbers and take narrower heads number by
/// number: side by side, branches are then about three times as fast with attention in the open.
fn attention(loaded: &Loaded, setting: FlashAttention) -> Attention {
    let narrow = load::head_width(&loaded.metadata) < FLASH_STEP;
    match setting {
        FlashAttention::On => Attention::Flash,
        FlashAttention::Off => Attention::Open,
        FlashAttention::Auto if narrow && loaded.card.gpu_layers == 0 => Attention::Open,
        FlashAttention::Auto => Attention::FlashIfAble,
    }
}

fn context_tokens(loaded: &Loaded, settings: &GeneratorSettings) -> u32 {
    if settings.context_tokens > 0 {
        return settings.context_tokens.max(CONTEXT_STEP);
    }
    let trained = loaded.model.n_ctx_train().max(CONTEXT_STEP);
    let cell = load::cell_bytes(&loaded.metadata, settings.cache_type).max(1);
    let fitting = loaded.cache_bytes.map_or(u64::from(trained), |bytes| {
        (bytes as f64 * CACHE_SHARE) as u64 / cell
    });
    let fitting = u32::try_from(fitting)
        .unwrap_or(u32::MAX)
        .max(2 * CONTEXT_STEP);
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
    ) -> Result<Vec<Completion>, LlmError> {
        let begun = Instant::now();
        let jobs = self.jobs(prompts, decoding)?;
        let mut writer = Writer::new(&self.model, &self.template, decoding, jobs.len(), observe);
        let report = schedule::run(&mut self.evaluator, &jobs, &mut writer);
        let branches = writer.branches;
        self.account(begun, report.as_ref().ok(), written(&branches));
        Ok(branches
            .into_iter()
            .zip(report?.ends)
            .map(|(branch, ended)| branch.finish(ended))
            .collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered, LlmError> {
        self.template.render(&self.model, prompt)
    }

    fn usage(&self) -> CallUsage {
        self.usage
    }
}

impl LlamaGenerator {
    pub(super) fn jobs(
        &self,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Job>, LlmError> {
        prompts
            .iter()
            .map(|prompt| {
                let tokens = self.template.render(&self.model, prompt)?.tokens;
                self.check_length(tokens.len(), 1)?;
                Ok(Job {
                    first_row: tokens.len() - 1,
                    tokens,
                    growth: decoding.max_tokens as usize,
                })
            })
            .collect()
    }

    /// See how the model begins a reply. This also has the weights read from the file before the first question.
    fn learn_reply_start(&mut self) -> Result<(), LlmError> {
        let prompt = Prompt::user("Answer with one word: is water wet, yes or no?");
        let decoding = Decoding {
            max_tokens: 1,
            sampling: Sampling::GREEDY,
            seed: 0,
            stop: StopRule::default(),
        };
        let reply = self.complete(&[prompt], &decoding, &mut |_, _| Flow::Continue)?;
        if reply.iter().any(|reply| reply.end == End::Stopped) {
            return Err(LlmError::Stopped);
        }
        if reply.iter().any(|reply| reply.text.starts_with(' ')) {
            self.reply_start = " ";
        }
        self.clear_cache();
        self.usage = CallUsage::default();
        Ok(())
    }

    /// A prompt must have a token, and leave room for so many more.
    pub(super) fn check_length(&self, prompt_tokens: usize, room: usize) -> Result<(), LlmError> {
        if prompt_tokens == 0 {
            return Err(LlmError::Backend("the prompt is empty".to_owned()));
        }
        if prompt_tokens + room > self.evaluator.cells.total() {
            return Err(LlmError::PromptTooLong {
                prompt_tokens: u32::try_from(prompt_tokens).unwrap_or(u32::MAX),
                context_tokens: self.card.context_tokens,
            });
        }
        Ok(())
    }

    /// Note the cost of a call, and leave no more in the cache than pays.
    pub(super) fn account(&mut self, begun: Instant, report: Option<&Report>, generated: usize) {
        self.evaluator
            .cells
            .keep_at_most(KEPT_CELLS, &mut self.evaluator.context);
        let used = self.evaluator.cells.in_use();
        self.account_for(begun, report, generated, used);
    }

    /// Note the cost of a call that left `used` cells of its cache in use.
    pub(super) fn account_for(
        &mut self,
        begun: Instant,
        report: Option<&Report>,
        generated: usize,
        used: usize,
    ) {
        let count = |tokens: usize| u32::try_from(tokens).unwrap_or(u32::MAX);
        let (evaluated, reused) = report.map_or((0, 0), |report| (report.evaluated, report.reused));
        self.usage = CallUsage {
            prompt_tokens_evaluated: count(evaluated),
            prompt_tokens_reused: count(reused),
            tokens_generated: count(generated),
            wall_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            context_used: count(used),
            context_tokens: self.card.context_tokens,
        };
    }

    /// Can prompts share what they have in common? Recurrent and hybrid models keep one state a sequence that cannot be cut: each
    /// prompt is evaluated whole then.
    #[must_use]
    pub fn shares_prefixes(&self) -> bool {
        self.evaluator.cells.sharing() == Sharing::Prefix
    }

    /// Forget every prompt evaluated so far: the next call shares nothing with earlier ones.
    pub fn clear_cache(&mut self) {
        self.evaluator.clear();
        self.open.iter_mut().for_each(Evaluator::clear);
    }

    /// Do the books of the cache agree with llama.cpp's own? For tests of stops and failures.
    #[must_use]
    pub fn cache_is_sound(&self) -> bool {
        self.evaluator.in_agreement() && self.evaluator.cells.held() == 0
    }
}

/// Writes the continuations of a call.
pub(super) struct Writer<'a> {
    model: &'a LlamaModel,
    decoding: &'a Decoding,
    stops: Vec<String>,
    pub branches: Vec<Branch>,
    candidates: Candidates,
    /// What was read of the row that comes next, where attention is tapped.
    pub attention: Vec<f32>,
    observe: &'a mut dyn FnMut(usize, &Token) -> Flow,
}

/// One continuation.
pub(super) struct Branch {
    sampler: Sampler,
    stream: Stream,
    pub tokens: Vec<Token>,
    end: Option<End>,
}

/// Tokens of all branches.
pub(super) fn written(branches: &[Branch]) -> usize {
    branches.iter().map(|branch| branch.tokens.len()).sum()
}

impl<'a> Writer<'a> {
    pub fn new(
        model: &'a LlamaModel,
        template: &Template,
        decoding: &'a Decoding,
        branches: usize,
        observe: &'a mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Self {
        let branch = |branch| Branch {
            sampler: Sampler::new(decoding.sampling, decoding.seed.wrapping_add(branch as u64)),
            stream: Stream::default(),
            tokens: Vec::new(),
            end: None,
        };
        let stops = [&decoding.stop.texts[..], template.stop_texts()].concat();
        Self {
            model,
            decoding,
            stops,
            branches: (0..branches).map(branch).collect(),
            candidates: Candidates::new(),
            attention: Vec::new(),
            observe,
        }
    }
}

impl Branch {
    pub fn finish(self, ended: Ended) -> Completion {
        let otherwise = match ended {
            Ended::ContextFull => End::ContextFull,
            Ended::Done | Ended::Stopped => End::Stopped,
        };
        Completion {
            text: self.stream.finish(),
            tokens: self.tokens,
            end: self.end.unwrap_or(otherwise),
        }
    }
}

impl Reader for Writer<'_> {
    fn row(&mut self, job: usize, _position: usize, row: &Row) -> Next {
        let branch = &mut self.branches[job];
        if self.decoding.max_tokens == 0 {
            branch.end = Some(End::MaxTokens);
            return Next::End;
        }
        let drawn = branch
            .sampler
            .draw(row.logits, &row.distribution, &mut self.candidates);
        let id = i32::try_from(drawn).unwrap_or(i32::MAX);
        let vocabulary = self.model.vocab();
        let turn_is_over = vocabulary.is_eog(LlamaToken(id));
        if turn_is_over {
            branch.end = Some(End::Turn);
        } else if branch.stream.push(
            &vocabulary.token_to_piece(LlamaToken(id), false, None),
            &self.stops,
        ) {
            branch.end = Some(End::StopRule);
        } else if branch.tokens.len() + 1 >= self.decoding.max_tokens as usize {
            branch.end = Some(End::MaxTokens);
        }
        let text = if branch.end.is_some() {
            branch.stream.give_rest()
        } else {
            branch.stream.give(&self.stops)
        };
        if turn_is_over && text.is_empty() {
            return Next::End;
        }
        // the end of a turn is a token only where it sets text free that might have become a stop text
        let (entropy, attention) = (
            row.distribution.entropy,
            std::mem::take(&mut self.attention),
        );
        let token = Token {
            id,
            text,
            logprob: row.logprob(drawn),
            entropy,
            attention,
        };
        let flow = (self.observe)(job, &token);
        branch.tokens.push(token);
        match (flow, branch.end) {
            (Flow::Stop, _) => Next::Stop,
            (Flow::Continue, Some(_)) => Next::End,
            (Flow::Continue, None) => Next::Extend(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Layers;

    #[test]
    fn a_state_that_cannot_be_cut_gives_the_same_text_without_sharing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let runtime =
            Runtime::start(&root.join("target/tmp/llama-unit.log")).expect("llama.cpp starts");
        let settings = Layers::defaults().config().expect("defaults").generator;
        let file = root.join("assets/models/ragscope-demo.Q8_0.gguf");
        let mut generator = load_generator(
            &runtime,
            &file,
            &settings,
            &StopFlag::default(),
            &mut |_| Flow::Continue,
        )
        .expect("a generator");
        let decoding = Decoding {
            max_tokens: 12,
            sampling: Sampling::GREEDY,
            seed: 1,
            stop: StopRule::default(),
        };
        let prompts: Vec<Prompt> = ["Who?", "Who keeps the lighthouse?", "Who keeps the ferry?"]
            .map(|text| Prompt::user(text.to_owned()))
            .to_vec();
        let shared = generator
            .complete(&prompts, &decoding, &mut |_, _| Flow::Continue)
            .expect("text");
        assert!(generator.shares_prefixes() && generator.usage().prompt_tokens_reused > 0);
        generator.clear_cache();
        let cells = generator.evaluator.cells.total();
        generator.evaluator.cells = Cells::new(cells, SEQUENCES as usize, Sharing::Whole);
        let whole = generator
            .complete(&prompts, &decoding, &mut |_, _| Flow::Continue)
            .expect("text");
        assert!(!generator.shares_prefixes());
        assert_eq!(generator.usage().prompt_tokens_reused, 0);
        for (shared, whole) in shared.iter().zip(&whole) {
            assert_eq!(shared.text, whole.text);
        }
        assert!(generator.cache_is_sound());
    }
}
