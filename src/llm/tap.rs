//! Hidden states and attention, read from the graph while it is evaluated.
//!
//! Attention rows are indexed by the cell of the cache. The open context holds one sequence and nothing else, so that a cell's
//! number is the token's position.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::cells::{Cells, Memory};
use super::ffi::{Attention, Batch, Context, Decoded, Purpose, Shape, Tensor, Watch};
use super::generator::{KEPT_CELLS, LlamaGenerator, Writer, written};
use super::schedule::{self, Evaluator, Next, Place, Reader, Row};
use super::tree::Job;
use super::{
    Decoding, Hidden, HiddenAt, Layers, LlmError, Prompt, Rendered, Tap, Tapped, Taps, Token, log,
    template,
};
use crate::event::Flow;

/// The sum of a layer over the residual stream.
const HIDDEN: &str = "l_out-";
/// Attention after the softmax: `[cells, tokens, heads]`.
const ATTENTION: &str = "kq_soft_max-";

/// What a decode is to read, and what it read.
#[derive(Default)]
struct Readings {
    hidden: Vec<HiddenReading>,
    attention: Option<AttentionReading>,
    /// Rows of the tensor of the first layer: one a token of the batch.
    batch_tokens: usize,
}

struct HiddenReading {
    job: usize,
    at: HiddenAt,
    place: Place,
    layers: Vec<Vec<f32>>,
}

/// Attention of some tokens of the batch to parts of the sequence, summed layer by layer.
struct AttentionReading {
    /// Index in the batch, and where in `sums` its row is.
    tokens: Vec<(usize, usize)>,
    /// Positions of each part.
    parts: Vec<Range<usize>>,
    layers: Layers,
    /// One row a query, one number a part: summed over layers and heads.
    sums: Vec<Vec<f32>>,
    /// Layers times heads that were summed.
    planes: usize,
}

impl AttentionReading {
    fn wants(&self, layer: &str) -> bool {
        match self.layers {
            Layers::All => true,
            Layers::One(wanted) => layer.parse() == Ok(wanted),
        }
    }

    fn see(&mut self, tensor: &Tensor) {
        let [cells, tokens, heads, _] = tensor.shape();
        let mut plane = Vec::new();
        for head in 0..heads {
            // a whole plane at once where most of its rows are wanted, single rows otherwise
            let whole = self.tokens.len() * 2 > tokens;
            plane.resize(cells * if whole { tokens } else { 1 }, 0.0);
            if whole {
                tensor.read(head * tokens * cells, &mut plane);
            }
            for (index, query) in &self.tokens {
                let row = if whole {
                    &plane[index * cells..(index + 1) * cells]
                } else {
                    tensor.read((head * tokens + index) * cells, &mut plane);
                    &plane[..]
                };
                for (sum, part) in self.sums[*query].iter_mut().zip(&self.parts) {
                    *sum += row[part.start.min(cells)..part.end.min(cells)]
                        .iter()
                        .sum::<f32>();
                }
            }
        }
        self.planes += heads;
    }
}

/// Hands tensors over to the readings, which the caller keeps the other half of.
struct Watcher(Arc<Mutex<Readings>>);

fn lock(readings: &Mutex<Readings>) -> MutexGuard<'_, Readings> {
    readings.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch for Watcher {
    fn wants(&self, name: &str) -> bool {
        let readings = lock(&self.0);
        if name.starts_with(HIDDEN) {
            return !readings.hidden.is_empty();
        }
        let attention = readings
            .attention
            .as_ref()
            .filter(|attention| !attention.tokens.is_empty());
        attention
            .zip(name.strip_prefix(ATTENTION))
            .is_some_and(|(attention, layer)| attention.wants(layer))
    }

    fn see(&mut self, name: &str, tensor: &Tensor) {
        let mut readings = lock(&self.0);
        if !name.starts_with(HIDDEN) {
            readings
                .attention
                .iter_mut()
                .for_each(|attention| attention.see(tensor));
            return;
        }
        let [width, rows, ..] = tensor.shape();
        if name.strip_prefix(HIDDEN) == Some("0") {
            readings.batch_tokens = rows;
        }
        // the last layer computes only the rows that are wanted
        let all = rows == readings.batch_tokens;
        for reading in &mut readings.hidden {
            let mut state = vec![0.0; width];
            tensor.read(
                width
                    * if all {
                        reading.place.index
                    } else {
                        reading.place.row
                    },
                &mut state,
            );
            reading.layers.push(state);
        }
    }
}

/// Writes continuations and keeps what was read on the way.
struct TappedWriter<'a> {
    writer: Writer<'a>,
    jobs: &'a [Job],
    hidden: &'a [HiddenAt],
    /// Positions of the parts of each prompt.
    parts: Vec<Vec<Range<usize>>>,
    readings: Arc<Mutex<Readings>>,
    read: Vec<Vec<Hidden>>,
}

impl TappedWriter<'_> {
    /// What is wanted of a position of a job.
    fn wanted(&self, job: usize, position: usize) -> Option<HiddenAt> {
        let prompt_tokens = self.jobs[job].tokens.len();
        let at = match position {
            _ if position + 1 == prompt_tokens => HiddenAt::LastPromptToken,
            _ if position == prompt_tokens => HiddenAt::FirstToken,
            _ => return None,
        };
        self.hidden.contains(&at).then_some(at)
    }
}

impl Reader for TappedWriter<'_> {
    fn place(&mut self, job: usize, position: usize, place: Place) {
        let mut readings = lock(&self.readings);
        if let Some(at) = self.wanted(job, position) {
            // a batch that found no room is put together again
            readings
                .hidden
                .retain(|reading| (reading.job, reading.at) != (job, at));
            readings.hidden.push(HiddenReading {
                job,
                at,
                place,
                layers: Vec::new(),
            });
        }
        if let Some(parts) = self.parts.get(job) {
            readings.attention = Some(AttentionReading {
                tokens: vec![(place.index, 0)],
                sums: vec![vec![0.0; parts.len()]],
                parts: parts.clone(),
                layers: Layers::All,
                planes: 0,
            });
        }
    }

    fn row(&mut self, job: usize, position: usize, row: &Row) -> Next {
        let mut readings = lock(&self.readings);
        if let Some(at) = self.wanted(job, position) {
            let found = readings
                .hidden
                .iter()
                .position(|reading| (reading.job, reading.at) == (job, at));
            if let Some(found) = found {
                let layers = readings.hidden.swap_remove(found).layers;
                self.read[job].push(Hidden { at, layers });
            }
        }
        if let Some(reading) = readings.attention.take() {
            self.writer.attention = reading.means().pop().unwrap_or_default();
        }
        drop(readings);
        self.writer.row(job, position, row)
    }
}

impl AttentionReading {
    /// Means over layers and heads.
    fn means(self) -> Vec<Vec<f32>> {
        let planes = self.planes.max(1) as f32;
        self.sums
            .into_iter()
            .map(|row| row.into_iter().map(|sum| sum / planes).collect())
            .collect()
    }
}

impl Tap for LlamaGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>, LlmError> {
        let begun = Instant::now();
        let jobs = self.jobs(prompts, decoding)?;
        let mut parts = Vec::new();
        for (prompt, wanted) in prompts.iter().zip(&taps.attention) {
            let rendered = self.template.render(&self.model, prompt)?;
            parts.push(
                wanted
                    .iter()
                    .map(|bytes| self.positions(&rendered, bytes))
                    .collect(),
            );
        }
        let readings = Arc::new(Mutex::new(Readings::default()));
        if !parts.is_empty() {
            self.make_open()?;
        }
        let evaluator = match &mut self.open {
            Some(open) if !parts.is_empty() => open,
            _ => &mut self.evaluator,
        };
        let mut writer = TappedWriter {
            writer: Writer::new(&self.model, &self.template, decoding, jobs.len(), observe),
            jobs: &jobs,
            hidden: &taps.hidden,
            parts,
            readings: Arc::clone(&readings),
            read: vec![Vec::new(); jobs.len()],
        };
        evaluator.context.watch(Box::new(Watcher(readings)));
        let report = schedule::run(evaluator, &jobs, &mut writer);
        evaluator.context.unwatch();
        evaluator
            .cells
            .keep_at_most(KEPT_CELLS, &mut evaluator.context);
        let used = evaluator.cells.in_use();
        let TappedWriter { writer, read, .. } = writer;
        let branches = writer.branches;
        self.account_for(begun, report.as_ref().ok(), written(&branches), used);
        let ends = report?.ends;
        let tapped = branches
            .into_iter()
            .zip(ends)
            .zip(read)
            .map(|((branch, ended), hidden)| Tapped {
                completion: branch.finish(ended),
                hidden,
            });
        Ok(tapped.collect())
    }

    fn attend(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let tokens = template::tokens(&self.model, text, true, false);
        self.check_length(tokens.len(), 0)?;
        let rendered = Rendered {
            text: text.to_owned(),
            tokens,
        };
        let positions = parts
            .iter()
            .map(|bytes| self.positions(&rendered, bytes))
            .collect();
        let tokens = rendered.tokens;
        self.attend_over(
            tokens.len(),
            positions,
            layers,
            &mut |batch, position, last| {
                batch.push(tokens[position], position, 0, last);
            },
        )
    }

    fn attend_vectors(
        &mut self,
        vectors: &[Vec<f32>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let width = usize::try_from(self.model.n_embd()).unwrap_or(0);
        if let Some(vector) = vectors.iter().find(|vector| vector.len() != width) {
            return Err(LlmError::Backend(format!(
                "a vector of {} numbers was fed to a model of width {width}: choose an embedder and a generator of one width",
                vector.len()
            )));
        }
        self.check_length(vectors.len(), 0)?;
        let positions = (0..vectors.len())
            .map(|position| position..position + 1)
            .collect();
        self.attend_over(
            vectors.len(),
            positions,
            layers,
            &mut |batch, position, last| {
                batch.push_vector(&vectors[position], position, 0, last);
            },
        )
    }
}

impl LlamaGenerator {
    /// Positions of the tokens that hold some of these bytes of a rendered text.
    fn positions(&self, rendered: &Rendered, bytes: &Range<usize>) -> Range<usize> {
        let starts = token_starts(self, rendered);
        let first = starts
            .windows(2)
            .position(|pair| pair[1] > bytes.start)
            .unwrap_or(rendered.tokens.len());
        let end = starts[first..]
            .iter()
            .position(|start| *start >= bytes.end)
            .map_or(rendered.tokens.len(), |at| first + at);
        first..end.min(rendered.tokens.len())
    }

    /// The context in which attention can be read, made when it is first needed.
    fn make_open(&mut self) -> Result<&mut Evaluator, LlmError> {
        if self.open.is_none() {
            let shape = Shape {
                purpose: Purpose::Attend,
                sequences: 1,
                attention: Attention::Open,
                ..self.shape
            };
            log::forget_complaints();
            let Some(context) =
                Context::new(&self.model, shape, self.evaluator.context.stop_flag())
            else {
                let reason = log::complaint().unwrap_or_else(|| "not enough memory".to_owned());
                return Err(LlmError::Backend(format!(
                    "no second context for attention ({reason}): lower generator.context_tokens"
                )));
            };
            let cells = Cells::new(context.context_tokens(), 1, self.evaluator.cells.sharing());
            let batch_tokens = self.evaluator.batch_tokens;
            self.open = Some(Evaluator {
                context,
                cells,
                batch: Batch::default(),
                batch_tokens,
            });
        }
        self.open
            .as_mut()
            .ok_or_else(|| LlmError::Backend("the attention context is gone".to_owned()))
    }

    /// Evaluate a sequence from the start and read the attention between parts of it. `push` puts a position into the batch.
    fn attend_over(
        &mut self,
        length: usize,
        parts: Vec<Range<usize>>,
        layers: Layers,
        push: &mut dyn FnMut(&mut Batch, usize, bool),
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let open = self.make_open()?;
        open.clear();
        let readings = Arc::new(Mutex::new(Readings::default()));
        let mut sums = vec![vec![0.0; parts.len()]; parts.len()];
        open.context.watch(Box::new(Watcher(Arc::clone(&readings))));
        let mut evaluated = Ok(());
        let mut planes = 1;
        for from in (0..length).step_by(open.batch_tokens) {
            let to = (from + open.batch_tokens).min(length);
            open.batch.clear();
            (from..to).for_each(|position| push(&mut open.batch, position, position + 1 == to));
            lock(&readings).attention =
                Some(queries(&parts, from..to, layers, std::mem::take(&mut sums)));
            evaluated = match open.context.decode(&mut open.batch) {
                Ok(Decoded::Done) => Ok(()),
                Ok(Decoded::Aborted) => Err(LlmError::Stopped),
                Ok(Decoded::NoRoom) => Err(LlmError::Backend(
                    "the text does not fit the cache".to_owned(),
                )),
                Err(error) => Err(error),
            };
            let Some(read) = lock(&readings).attention.take() else {
                break;
            };
            (sums, planes) = (read.sums, read.planes);
            if evaluated.is_err() {
                break;
            }
        }
        open.context.unwatch();
        open.context.clear();
        evaluated?;
        for (row, part) in sums.iter_mut().zip(&parts) {
            row.iter_mut()
                .for_each(|sum| *sum /= (part.len().max(1) * planes.max(1)) as f32);
        }
        Ok(sums)
    }
}

/// A reading of the tokens of a batch (positions `batch`) that lie in parts; `so_far` is what earlier batches gave.
fn queries(
    parts: &[Range<usize>],
    batch: Range<usize>,
    layers: Layers,
    so_far: Vec<Vec<f32>>,
) -> AttentionReading {
    let tokens = parts
        .iter()
        .enumerate()
        .flat_map(|(query, part)| {
            let inside = part.start.max(batch.start)..part.end.min(batch.end);
            inside.map(move |position| (position, query))
        })
        .map(|(position, query)| (position - batch.start, query))
        .collect();
    AttentionReading {
        tokens,
        parts: parts.to_vec(),
        layers,
        sums: so_far,
        planes: 0,
    }
}

/// Where each token starts in the text, and where the last one ends. Tokens that are not in the text (a start mark, the space that
/// some vocabularies put in front) take no room.
fn token_starts(generator: &LlamaGenerator, rendered: &Rendered) -> Vec<usize> {
    let vocabulary = generator.model.vocab();
    let text = rendered.text.as_bytes();
    let mut at = 0;
    let mut starts = Vec::with_capacity(rendered.tokens.len() + 1);
    for token in &rendered.tokens {
        starts.push(at);
        let piece = vocabulary.token_to_piece(llama_cpp_2::token::LlamaToken(*token), true, None);
        let bare = piece.strip_prefix(b" ").unwrap_or(&piece);
        at += [&piece[..], bare]
            .iter()
            .find(|piece| text[at..].starts_with(piece))
            .map_or(0, |piece| piece.len());
    }
    starts.push(at);
    starts
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use super::{ATTENTION, Layers, Watch};
    use crate::config;
    use crate::event::{Flow, StopFlag};
    use crate::llm::cells::Memory;
    use crate::llm::ffi::Tensor;
    use crate::llm::{LlamaGenerator, Runtime, Tap, load_generator, template};

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

    impl Watch for Copies {
        fn wants(&self, name: &str) -> bool {
            ["Qcur-2", "Kcur-2", "kq_soft_max-2"].contains(&name)
        }
        fn see(&mut self, name: &str, tensor: &Tensor) {
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
        let tokens = template::tokens(&generator.model, text, true, false);
        let copies = Arc::new(Mutex::new(Vec::new()));
        let open = generator.make_open().expect("a context");
        open.clear();
        open.context.watch(Box::new(Copies(Arc::clone(&copies))));
        open.batch.clear();
        for (position, token) in tokens.iter().enumerate() {
            open.batch.push(*token, position, 0, true);
        }
        open.context.decode(&mut open.batch).expect("evaluated");
        open.context.unwatch();
        open.context.clear();
        let copies = copies.lock().expect("one thread");
        // the rotated queries and keys are the last tensors of their names
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
        let mut largest = 0.0_f32;
        for head in 0..heads {
            for query in 0..count {
                let q = &queries[(query * heads + head) * size..][..size];
                let logit = |key: usize| {
                    let k = &keys[(key * key_heads + head * key_heads / heads) * size..][..size];
                    q.iter().zip(k).map(|(q, k)| q * k).sum::<f32>() / (size as f32).sqrt()
                };
                let logits: Vec<f32> = (0..=query).map(logit).collect();
                let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let sum: f32 = logits.iter().map(|logit| (logit - most).exp()).sum();
                let row = &attention[(head * rows + query) * cells..][..cells];
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
                for (key, logit) in logits.iter().enumerate() {
                    largest = largest.max((row[key] - (logit - most).exp() / sum).abs());
                }
            }
        }
        // keys are kept in half precision
        assert!(largest < 3e-3, "{largest}");
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
        // the mean over layers is the mean of the layers
        let each: Vec<_> = (0..6)
            .map(|layer| {
                generator
                    .attend(text, &parts, Layers::One(layer))
                    .expect("attention")
            })
            .collect();
        let mean: f32 = each.iter().map(|rows| rows[2][0]).sum::<f32>() / 6.0;
        assert!((mean - rows[2][0]).abs() < 1e-4);
        // batches do not matter
        generator.open = None;
        generator.evaluator.batch_tokens = 7;
        let pieces = generator
            .attend(text, &parts, Layers::All)
            .expect("attention");
        for (piece, row) in pieces.iter().flatten().zip(rows.iter().flatten()) {
            assert!((piece - row).abs() < 1e-3, "{piece} {row}");
        }
    }
}
