//! Hidden states and attention, read from llama.cpp's graph while it is evaluated.
//!
//! Flash attention never has the weights in one tensor, so attention is read from a second context
//! with flash attention off. A row of attention is indexed by the cell of the KV cache: that
//! context holds one sequence and nothing else, so that a cell's index is the token's position.

use std::ops::Range;
use std::slice;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::cells::{Cells, Memory};
use super::error::{LlmError, Result};
use super::ffi::{Batch, Context, ContextParams, Decoded, Tensor, TensorReader};
use super::generator::{KEPT_CELLS, LlamaGenerator};
use super::role::{Generator as _, Tap};
use super::row_reader::{LogitRow, Next, OutputIndex, RowReader};
use super::schedule::{self, Evaluator};
use super::template;
use super::tree::Job;
use super::values::{Decoding, Hidden, HiddenAt, Layers, Prompt, Rendered, Tapped, Taps, Token};
use super::writer::{Continuation, Writer};
use crate::config::FlashAttention;
use crate::event::{Flow, StopError, lock, saturating_u32};

/// llama.cpp's name of the output of a layer: the residual stream after it.
const HIDDEN: &str = "l_out-";
/// llama.cpp's name of the attention after the softmax: `[cells, tokens, heads]`.
const ATTENTION: &str = "kq_soft_max-";
/// The least size of the context for attention: most questions fit with their sources and answer.
const LEAST_UNFUSED_TOKENS: u32 = 4096;

/// The requests of the decodes in progress, and the numbers that they read.
#[derive(Default)]
struct Readings {
    hidden: Vec<HiddenReading>,
    attention: Option<AttentionReading>,
    /// Rows of the first layer's output: one per token of the batch.
    batch_tokens: usize,
}

struct HiddenReading {
    job: usize,
    at: HiddenAt,
    index: OutputIndex,
    layers: Vec<Vec<f32>>,
}

/// Attention of some tokens of the batch to parts of the sequence, summed layer by layer.
struct AttentionReading {
    /// The tokens that are read.
    queries: Vec<Query>,
    /// Positions of each part.
    parts: Vec<Range<usize>>,
    /// The layer that is read; all of them without one.
    layer: Option<u32>,
    /// One column per part: summed over layers and heads.
    sums: Vec<Vec<f32>>,
    /// Layers times heads that were summed.
    planes: usize,
}

/// A token whose attention is read.
struct Query {
    /// Index in the batch.
    token: usize,
    /// The row of `sums` that its attention is added to.
    row: usize,
}

impl AttentionReading {
    fn is_layer_wanted(&self, layer: &str) -> bool {
        match self.layer {
            None => true,
            Some(wanted) => layer.parse() == Ok(wanted),
        }
    }

    fn read(&mut self, tensor: &Tensor) {
        let [cells, tokens, heads, _] = tensor.shape();
        // Reads a whole plane at once if most of its rows are wanted, otherwise single rows.
        let is_whole = self.queries.len() * 2 > tokens;
        let mut plane = vec![0.0; cells * if is_whole { tokens } else { 1 }];

        for head in 0..heads {
            if is_whole {
                tensor.read(head * tokens * cells, &mut plane);
            }
            for query in &self.queries {
                let row = if is_whole {
                    &plane[query.token * cells..(query.token + 1) * cells]
                } else {
                    tensor.read((head * tokens + query.token) * cells, &mut plane);
                    &plane[..]
                };
                for (sum, part) in self.sums[query.row].iter_mut().zip(&self.parts) {
                    let weights = &row[part.start.min(cells)..part.end.min(cells)];
                    *sum += weights.iter().sum::<f32>();
                }
            }
        }
        self.planes += heads;
    }

    /// Takes the means over layers and heads of the first row that is left.
    fn next_means(&mut self) -> Vec<f32> {
        if self.sums.is_empty() {
            return Vec::new();
        }
        let planes = self.planes.max(1) as f32;
        let row = self.sums.remove(0);
        row.into_iter().map(|sum| sum / planes).collect()
    }
}

/// Readings that are shared between the caller and the context's tensor reader.
#[derive(Default, Clone)]
struct SharedReadings(Arc<Mutex<Readings>>);

impl TensorReader for SharedReadings {
    fn is_wanted(&self, name: &str) -> bool {
        let readings = lock(&self.0);
        if name.starts_with(HIDDEN) {
            return !readings.hidden.is_empty();
        }
        match (&readings.attention, name.strip_prefix(ATTENTION)) {
            (Some(attention), Some(layer)) => {
                !attention.queries.is_empty() && attention.is_layer_wanted(layer)
            }
            _ => false,
        }
    }

    fn read(&mut self, name: &str, tensor: &Tensor) {
        let mut readings = lock(&self.0);
        let Some(layer) = name.strip_prefix(HIDDEN) else {
            if let Some(attention) = &mut readings.attention {
                attention.read(tensor);
            }
            return;
        };

        let [width, rows, ..] = tensor.shape();
        if layer == "0" {
            readings.batch_tokens = rows;
        }
        // The last layer has only the rows that are output.
        let has_all_tokens = rows == readings.batch_tokens;
        for reading in &mut readings.hidden {
            let row = if has_all_tokens {
                reading.index.token
            } else {
                reading.index.output
            };
            let mut state = vec![0.0; width];
            tensor.read(width * row, &mut state);
            reading.layers.push(state);
        }
    }
}

/// Writes continuations and keeps what is read on the way.
struct TappedWriter<'a> {
    writer: Writer<'a>,
    jobs: &'a [Job],
    hidden: &'a [HiddenAt],
    /// Positions of the parts of each prompt.
    parts: Vec<Vec<Range<usize>>>,
    readings: SharedReadings,
    /// The hidden states of each job.
    read: Vec<Vec<Hidden>>,
    /// Position of the first token of each job's answer that is not white space, once it is known.
    first_tokens: Vec<Option<usize>>,
}

impl TappedWriter<'_> {
    /// Returns the hidden state that is wanted at a position of a job.
    fn tap_at(&self, job: usize, position: usize) -> Option<HiddenAt> {
        let prompt_tokens = self.jobs[job].tokens.len();
        let at = if position + 1 == prompt_tokens {
            HiddenAt::LastPromptToken
        } else if self.first_tokens[job] == Some(position) {
            HiddenAt::FirstToken
        } else {
            return None;
        };
        self.hidden.contains(&at).then_some(at)
    }
}

impl RowReader for TappedWriter<'_> {
    fn before_batch(&mut self) {
        let mut readings = lock(&self.readings.0);
        readings.hidden.clear();
        readings.attention = None;
    }

    fn draft<'p>(&self, job: usize, path: &'p [i32]) -> &'p [i32] {
        self.writer.draft(job, path)
    }

    fn before_reading(&mut self, read: usize) -> bool {
        self.writer.before_reading(read)
    }

    fn before_decode(&mut self, job: usize, position: usize, index: OutputIndex) {
        let mut readings = lock(&self.readings.0);
        if let Some(at) = self.tap_at(job, position) {
            readings.hidden.push(HiddenReading {
                job,
                at,
                index,
                layers: Vec::new(),
            });
        }

        if let Some(parts) = self.parts.get(job) {
            let reading = readings.attention.get_or_insert_with(|| AttentionReading {
                queries: Vec::new(),
                sums: Vec::new(),
                parts: parts.clone(),
                layer: None,
                planes: 0,
            });
            reading.queries.push(Query {
                token: index.token,
                row: reading.sums.len(),
            });
            reading.sums.push(vec![0.0; parts.len()]);
        }
    }

    fn row(&mut self, job: usize, position: usize, row: &LogitRow) -> Next {
        let mut readings = lock(&self.readings.0);
        if let Some(at) = self.tap_at(job, position) {
            let index = readings
                .hidden
                .iter()
                .position(|reading| (reading.job, reading.at) == (job, at));
            if let Some(index) = index {
                let layers = readings.hidden.swap_remove(index).layers;
                self.read[job].push(Hidden { at, layers });
            }
        }
        if let Some(reading) = &mut readings.attention {
            self.writer.attention = reading.next_means();
        }
        drop(readings);

        let next = self.writer.row(job, position, row);
        let first_token = &mut self.first_tokens[job];
        if first_token.is_none() && self.writer.continuations[job].reply.answer.has_word() {
            *first_token = Some(position + 1);
        }
        next
    }
}

impl Tap for LlamaGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>> {
        self.write(prompts, decoding, taps, None, observe)
    }

    fn complete_watched(
        &mut self,
        prompt: &Prompt,
        decoding: &Decoding,
        taps: &Taps,
        read: &mut dyn FnMut(usize),
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>> {
        self.write(slice::from_ref(prompt), decoding, taps, Some(read), observe)
    }

    fn is_attention_cheap(&self) -> bool {
        self.has_room_for_attention
    }

    fn attend(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>> {
        let tokens = template::tokenize(&self.model, text, true, false);
        self.check_length(tokens.len(), 0)?;
        let rendered = Rendered {
            text: text.to_owned(),
            tokens,
        };
        let starts = self.token_starts(&rendered);
        let positions = parts.iter().map(|part| positions(&starts, part)).collect();

        let tokens = rendered.tokens;
        let mut push = |batch: &mut Batch, position: usize, is_output: bool| {
            batch.push(tokens[position], position, 0, is_output);
        };
        self.attend_over(tokens.len(), positions, layers, &mut push)
    }

    fn attend_vectors(&mut self, vectors: &[Vec<f32>], layers: Layers) -> Result<Vec<Vec<f32>>> {
        let width = usize::try_from(self.model.n_embd()).unwrap_or(0);
        if let Some(vector) = vectors.iter().find(|vector| vector.len() != width) {
            return Err(LlmError::new(
                format!(
                    "vectors of {} numbers do not fit a model of width {width}",
                    vector.len()
                ),
                "choose an embedder and a linker of the same width",
            ));
        }
        self.check_length(vectors.len(), 0)?;

        let positions = (0..vectors.len())
            .map(|position| position..position + 1)
            .collect();
        let mut push = |batch: &mut Batch, position: usize, is_output: bool| {
            batch.push_vector(&vectors[position], position, 0, is_output);
        };
        self.attend_over(vectors.len(), positions, layers, &mut push)
    }
}

/// Evaluates the batch of a context, all of it.
fn decode_whole(evaluator: &mut Evaluator) -> Result<()> {
    match evaluator.context.decode(&mut evaluator.batch)? {
        Decoded::Done => Ok(()),
        Decoded::Aborted => Err(StopError.into()),
        Decoded::NoRoom => {
            let fault = "the text does not fit the cache";
            Err(LlmError::Backend(fault.to_owned()))
        }
    }
}

/// Makes means per token and plane of sums of attention.
fn divide(sums: &mut [Vec<f32>], parts: &[Range<usize>], planes: usize) {
    for (row, part) in sums.iter_mut().zip(parts) {
        let count = (part.len().max(1) * planes.max(1)) as f32;
        for sum in row {
            *sum /= count;
        }
    }
}

/// Returns whether the context for attention has more of a single prompt in its cache than the
/// other.
fn has_more_of(jobs: &[Job], unfused: &Evaluator, evaluator: &Evaluator) -> bool {
    match jobs {
        [job] if job.end() <= unfused.cells.total() => {
            unfused.cells.cached_tokens(&job.tokens) > evaluator.cells.cached_tokens(&job.tokens)
        }
        _ => false,
    }
}

impl LlamaGenerator {
    /// Continues each prompt with taps; `read` sees how many tokens of a single one are read.
    fn write(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        read: Option<&mut dyn FnMut(usize)>,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>> {
        let started = Instant::now();
        let jobs = self.jobs(prompts, decoding)?;
        let parts = self.parts(prompts, &taps.attention)?;
        let needs_attention = !parts.is_empty();
        if needs_attention {
            self.unfused_evaluator(jobs.iter().map(Job::end).max().unwrap_or(0))?;
        }
        let evaluator = match &mut self.unfused {
            Some(unfused) if needs_attention => unfused,
            // what follows an answer whose attention was read continues in that context
            Some(unfused)
                if taps.hidden.is_empty() && has_more_of(&jobs, unfused, &self.evaluator) =>
            {
                unfused
            }
            _ => &mut self.evaluator,
        };
        evaluator.context.keep_threads(decoding.temperature > 0.0);
        let readings = SharedReadings::default();
        let mut writer = Writer::new(&self.model, &self.template, decoding, prompts, observe);
        if let Some(read) = read {
            writer.read = Some(read);
        }
        let mut writer = TappedWriter {
            writer,
            jobs: &jobs,
            hidden: &taps.hidden,
            parts,
            readings: readings.clone(),
            read: vec![Vec::new(); jobs.len()],
            first_tokens: vec![None; jobs.len()],
        };

        // with a reader llama.cpp asks about every tensor, which a call without taps does without
        if *taps != Taps::default() {
            evaluator.context.set_tensor_reader(Box::new(readings));
        }
        let report = schedule::run(evaluator, &jobs, &mut writer);
        evaluator.context.clear_tensor_reader();
        let Evaluator { cells, context, .. } = evaluator;
        cells.limit_kept(KEPT_CELLS, context);
        let in_use = cells.in_use();

        let TappedWriter { writer, read, .. } = writer;
        let continuations = writer.continuations;
        let tokens_of = |one: &Continuation| one.reply.tokens.len() + one.thought_tokens;
        let generated = continuations.iter().map(tokens_of).sum();
        self.record_usage_of(started, report.as_ref().ok(), generated, in_use);

        let ends = report?.ends;
        Ok(continuations
            .into_iter()
            .zip(ends)
            .zip(read)
            .map(|((continuation, end), hidden)| Tapped {
                completion: continuation.finish(end),
                hidden,
            })
            .collect())
    }

    /// Returns the context in which attention can be read, with room for a sequence of `tokens`. It
    /// is created when it is first needed, and again where it is too small: llama.cpp fills the
    /// memory of a context with zeros, which takes half a second for each gigabyte.
    pub(super) fn unfused_evaluator(&mut self, tokens: usize) -> Result<&mut Evaluator> {
        let largest = self.params.context_tokens;
        let wanted = saturating_u32(tokens).next_power_of_two();
        let wanted = wanted.max(LEAST_UNFUSED_TOKENS).min(largest);
        let is_too_small = |unfused: &Evaluator| unfused.cells.total() < wanted as usize;
        if self.unfused.as_ref().is_none_or(is_too_small) {
            let params = ContextParams {
                context_tokens: wanted,
                sequences: 1,
                flash_attention: FlashAttention::Off,
                ..self.params
            };
            let stop = self.evaluator.context.stop_flag();
            let context = Context::new(&self.model, params, stop).map_err(|reason| {
                LlmError::new(
                    format!("no room for a second context, which attention needs ({reason})"),
                    "lower generator.context_tokens",
                )
            })?;

            let cells = Cells::new(context.context_tokens(), 1, self.evaluator.cells.sharing);
            self.unfused = Some(Evaluator {
                context,
                cells,
                batch: Batch::default(),
                batch_tokens: self.evaluator.batch_tokens,
                reading_tokens: self.evaluator.reading_tokens,
                is_drafting: self.evaluator.is_drafting,
            });
        }

        self.unfused
            .as_mut()
            .ok_or_else(|| LlmError::Backend("the attention context is gone".to_owned()))
    }

    /// Returns the positions of parts of each prompt.
    fn parts(
        &self,
        prompts: &[Prompt],
        wanted: &[Vec<Range<usize>>],
    ) -> Result<Vec<Vec<Range<usize>>>> {
        let parts = prompts.iter().zip(wanted).map(|(prompt, wanted)| {
            let starts = self.token_starts(&self.render(prompt)?);
            Ok(wanted.iter().map(|part| positions(&starts, part)).collect())
        });
        parts.collect()
    }

    /// Evaluates a sequence from the start and returns the attention between parts of it.
    ///
    /// `push(batch, position, is_output)` puts a position into the batch.
    fn attend_over(
        &mut self,
        length: usize,
        parts: Vec<Range<usize>>,
        layers: Layers,
        push: &mut dyn FnMut(&mut Batch, usize, bool),
    ) -> Result<Vec<Vec<f32>>> {
        let layer = match layers {
            Layers::All => None,
            Layers::One(layer) => Some(layer),
            Layers::Last => Some(self.model.n_layer().saturating_sub(1)),
        };
        let unfused = self.unfused_evaluator(length)?;
        unfused.clear();
        let readings = SharedReadings::default();
        unfused
            .context
            .set_tensor_reader(Box::new(readings.clone()));

        let mut sums = vec![vec![0.0; parts.len()]; parts.len()];
        let mut planes = 1;
        let mut outcome = Ok(());
        for from in (0..length).step_by(unfused.batch_tokens) {
            let to = (from + unfused.batch_tokens).min(length);
            unfused.batch.clear();
            for position in from..to {
                push(&mut unfused.batch, position, position + 1 == to);
            }

            lock(&readings.0).attention = Some(AttentionReading {
                queries: queries(&parts, from..to),
                parts: parts.clone(),
                layer,
                sums: std::mem::take(&mut sums),
                planes: 0,
            });
            outcome = decode_whole(unfused);
            let Some(reading) = lock(&readings.0).attention.take() else {
                break;
            };
            sums = reading.sums;
            planes = reading.planes;
            if outcome.is_err() {
                break;
            }
        }
        unfused.context.clear_tensor_reader();
        unfused.context.clear();
        outcome?;

        divide(&mut sums, &parts, planes);
        Ok(sums)
    }

    /// Returns the byte at which each token starts in the text, and the end of the last one.
    ///
    /// Tokens that are not in the text (a start token, the space that some vocabularies put in
    /// front) have no length.
    fn token_starts(&self, rendered: &Rendered) -> Vec<usize> {
        let vocabulary = self.model.vocab();
        let text = rendered.text.as_bytes();

        let mut at = 0;
        let mut starts = Vec::with_capacity(rendered.tokens.len() + 1);

        for token in &rendered.tokens {
            starts.push(at);

            let piece = vocabulary.token_to_piece(LlamaToken(*token), true, None);
            let bare = piece.strip_prefix(b" ").unwrap_or(&piece);
            at += [&piece[..], bare]
                .iter()
                .find(|piece| text[at..].starts_with(piece))
                .map_or(0, |piece| piece.len());
        }

        starts.push(at);
        starts
    }
}

/// Returns the positions of the tokens that contain some of these bytes, from the start of each
/// token and the end of the last.
fn positions(starts: &[usize], bytes: &Range<usize>) -> Range<usize> {
    let tokens = starts.len() - 1;
    let first = starts
        .windows(2)
        .position(|token| token[1] > bytes.start)
        .unwrap_or(tokens);
    let end = starts[first..]
        .iter()
        .position(|start| *start >= bytes.end)
        .map_or(tokens, |count| first + count);
    first..end.min(tokens)
}

/// Returns the tokens of a batch (positions `batch`) that are in parts; the attention of part i is
/// added up in row i.
fn queries(parts: &[Range<usize>], batch: Range<usize>) -> Vec<Query> {
    let mut queries = Vec::new();
    for (row, part) in parts.iter().enumerate() {
        for position in part.start.max(batch.start)..part.end.min(batch.end) {
            queries.push(Query {
                token: position - batch.start,
                row,
            });
        }
    }
    queries
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use super::{ATTENTION, Layers, TensorReader};
    use crate::config;
    use crate::event::{Flow, StopFlag};
    use crate::llm::cells::Memory;
    use crate::llm::ffi::Tensor;
    use crate::llm::generator::{LlamaGenerator, load_generator};
    use crate::llm::role::{Generator as _, Tap};
    use crate::llm::runtime::Runtime;
    use crate::llm::template;
    use crate::llm::values::{Decoding, Prompt, Taps};

    fn generator() -> LlamaGenerator {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let runtime =
            Runtime::start(&root.join("target/tmp/llama-unit.log")).expect("llama.cpp starts");
        let settings = config::Layers::defaults()
            .config()
            .expect("defaults")
            .generator;
        let file = root.join("assets/models/ragscope-demo.Q8_0.gguf");
        load_generator(
            &runtime,
            &file,
            &settings,
            &StopFlag::default(),
            &mut |_| Flow::Continue,
        )
        .expect("a generator")
    }

    /// Name, shape and values of a tensor.
    type Copy = (String, [usize; 4], Vec<f32>);

    /// Copies of the tensors of one layer.
    struct Copies(Arc<Mutex<Vec<Copy>>>);

    impl TensorReader for Copies {
        fn is_wanted(&self, name: &str) -> bool {
            ["Qcur-2", "Kcur-2", "kq_soft_max-2"].contains(&name)
        }

        fn read(&mut self, name: &str, tensor: &Tensor) {
            let mut values = vec![0.0; tensor.shape().iter().product()];
            tensor.read(0, &mut values);
            self.0
                .lock()
                .expect("one thread")
                .push((name.to_owned(), tensor.shape(), values));
        }
    }

    #[test]
    fn attention_equals_softmax_of_queries_and_keys() {
        let mut generator = generator();
        let text = "The lighthouse on Sherk Island is 40 metres tall. Mara Voss keeps it.";
        let tokens = template::tokenize(&generator.model, text, true, false);
        let copies = Arc::new(Mutex::new(Vec::new()));
        let unfused = generator
            .unfused_evaluator(tokens.len())
            .expect("a context");
        unfused.clear();
        let reader = Copies(Arc::clone(&copies));
        unfused.context.set_tensor_reader(Box::new(reader));
        unfused.batch.clear();
        for (position, token) in tokens.iter().enumerate() {
            unfused.batch.push(*token, position, 0, true);
        }
        unfused
            .context
            .decode(&mut unfused.batch)
            .expect("evaluated");
        unfused.context.clear_tensor_reader();
        unfused.context.clear();

        let copies = copies.lock().expect("one thread");
        // The rotated queries and keys are the last tensors of their names.
        let last = |name: &str| {
            copies
                .iter()
                .rev()
                .find(|copy| copy.0 == name)
                .expect("a tensor")
                .clone()
        };
        let (_, [size, heads, count, _], queries) = last("Qcur-2");
        let (_, [_, key_heads, ..], keys) = last("Kcur-2");
        let (name, [cells, rows, planes, _], attention) = last("kq_soft_max-2");
        assert!(
            name.starts_with(ATTENTION)
                && (count, rows, planes) == (tokens.len(), tokens.len(), heads)
        );

        let mut largest_error = 0.0_f32;
        for head in 0..heads {
            for query in 0..count {
                let q = &queries[(query * heads + head) * size..][..size];
                let logit = |key: usize| {
                    let k = &keys[(key * key_heads + head * key_heads / heads) * size..][..size];
                    q.iter().zip(k).map(|(q, k)| q * k).sum::<f32>() / (size as f32).sqrt()
                };
                let logits: Vec<f32> = (0..=query).map(logit).collect();
                let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let sum: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
                let row = &attention[(head * rows + query) * cells..][..cells];
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
                for (key, logit) in logits.iter().enumerate() {
                    largest_error =
                        largest_error.max((row[key] - (logit - largest).exp() / sum).abs());
                }
            }
        }
        // The KV cache has half precision.
        assert!(largest_error < 3e-3, "{largest_error}");
    }

    #[test]
    fn a_long_prompt_is_read_in_parts_that_are_reported() {
        let mut generator = generator();
        let read_of = |generator: &mut LlamaGenerator, words: usize| {
            let prompt = Prompt::user("harbour ".repeat(words));
            let tokens = generator.render(&prompt).expect("rendered").tokens.len();
            let mut reads = Vec::new();
            let watched = generator.complete_watched(
                &prompt,
                &Decoding::greedy(4, 1),
                &Taps::default(),
                &mut |read| reads.push(read),
                &mut |_, _| Flow::Continue,
            );
            assert_eq!(watched.expect("a reply").len(), 1);
            (tokens, reads)
        };

        let (_, short) = read_of(&mut generator, 8);
        assert!(short.is_empty(), "a batch alone is not reported: {short:?}");
        generator.clear_cache();
        let (tokens, long) = read_of(&mut generator, 300);
        let parts = tokens.div_ceil(generator.evaluator.reading_tokens);
        assert!(parts > 2 && long.len() == parts, "{tokens}: {long:?}");
        assert!(long[0] == 0 && long.is_sorted() && long[parts - 1] < tokens);
        // what is kept of it was read before
        let (_, again) = read_of(&mut generator, 300);
        assert!(again.is_empty(), "{again:?}");
    }

    #[test]
    fn attention_between_parts_is_the_sum_over_their_tokens() {
        let mut generator = generator();
        let text = "The lighthouse is tall. Mara keeps it. It was built in 1871.";
        let ends: Vec<usize> = text.match_indices('.').map(|(at, _)| at + 1).collect();
        let parts = [0..ends[0], ends[0]..ends[1], ends[1]..ends[2]];
        let rows = generator
            .attend(text, &parts, Layers::All)
            .expect("attention");
        for (at, row) in rows.iter().enumerate() {
            assert!(
                (row.iter().sum::<f32>() - 1.0).abs() < 1e-3,
                "row {at} of everything sums to 1: {row:?}"
            );
            assert!(
                row[at + 1..].iter().all(|later| *later == 0.0),
                "nothing looks ahead: {row:?}"
            );
        }

        // The mean over layers is the mean of the layers.
        let each: Vec<_> = (0..6)
            .map(|layer| {
                generator
                    .attend(text, &parts, Layers::One(layer))
                    .expect("attention")
            })
            .collect();
        let mean: f32 = each.iter().map(|rows| rows[2][0]).sum::<f32>() / 6.0;
        assert!((mean - rows[2][0]).abs() < 1e-4);

        // Batches do not matter.
        generator.unfused = None;
        generator.evaluator.batch_tokens = 7;
        let pieces = generator
            .attend(text, &parts, Layers::All)
            .expect("attention");
        for (piece, row) in pieces.iter().flatten().zip(rows.iter().flatten()) {
            assert!((piece - row).abs() < 1e-3, "{piece} {row}");
        }
    }
}
