//! The models on llama.cpp, run for real on the bundled files.

mod load;
mod write;
mod tree;
mod judge;
mod tap;
mod template;
mod untrusted;
mod rpc;
mod server;
mod gpu;

use std::path::{Path, PathBuf};
use std::time::Instant;

use ragscope::config::{EmbedderSettings, FlashAttention, GeneratorSettings, KvCacheType, Layers};
use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{
    Completion, Decoding, Generator, LlamaEmbedder, LlamaGenerator, Prompt, Runtime, load_embedder,
    load_generator,
};

/// Tensors of a GGUF file begin at multiples of this.
const ALIGNMENT: usize = 32;

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("assets/models")
        .join(name)
}

pub fn runtime() -> Runtime {
    Runtime::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama.log"))
        .expect("llama.cpp starts")
}

fn generator_settings() -> GeneratorSettings {
    Layers::defaults().config().expect("defaults").generator
}

fn embedder_settings() -> EmbedderSettings {
    Layers::defaults().config().expect("defaults").embedder
}

fn generator_with(settings: &GeneratorSettings, stop: &StopFlag) -> LlamaGenerator {
    let file = bundled("ragscope-demo.Q8_0.gguf");
    load_generator(&runtime(), &file, settings, stop, &mut |_| Flow::Continue)
        .expect("the bundled generator")
}

fn generator() -> LlamaGenerator {
    generator_with(&generator_settings(), &StopFlag::default())
}

/// The bundled generator in single precision, weights, cache and attention: what one prompt gives
/// alone it then gives in any company, since nothing is rounded on the way.
fn exact_generator(settings: &GeneratorSettings, stop: &StopFlag) -> LlamaGenerator {
    let folder = tempfile::tempdir().expect("a folder");
    let file = exact_file(folder.path());
    let settings = exact_settings(settings);
    load_generator(&runtime(), &file, &settings, stop, &mut |_| Flow::Continue)
        .expect("the widened generator")
}

fn exact_file(folder: &Path) -> PathBuf {
    let file = folder.join("exact.gguf");
    std::fs::write(
        &file,
        widen(&std::fs::read(bundled("ragscope-demo.Q8_0.gguf")).expect("the generator")),
    )
    .expect("a file");
    file
}

fn exact_settings(settings: &GeneratorSettings) -> GeneratorSettings {
    GeneratorSettings {
        flash_attention: FlashAttention::Off,
        kv_cache_type: KvCacheType::F32,
        ..settings.clone()
    }
}

/// A tensor of a GGUF file.
struct Place {
    /// Place of its type in the file.
    info: usize,
    /// Numbers in it.
    count: usize,
    kind: usize,
    /// Place of its data in the file.
    data: usize,
}

/// Returns where the descriptions of the tensors of a GGUF file begin and end, and the tensors.
fn places(bytes: &[u8]) -> (usize, usize, Vec<Place>) {
    let u64_at =
        |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
    let u32_at =
        |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let size = |kind: usize| [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][kind];
    let (tensors, values) = (u64_at(8), u64_at(16));
    let mut at = 24;
    for _ in 0..values {
        at += 8 + u64_at(at);
        let kind = u32_at(at);
        at += 4;
        at += match kind {
            8 => 8 + u64_at(at),
            9 if u32_at(at) == 8 => {
                (0..u64_at(at + 4)).fold(12, |end, _| end + 8 + u64_at(at + end))
            }
            9 => 12 + size(u32_at(at)) * u64_at(at + 4),
            other => size(other),
        };
    }
    let infos = at;
    let mut places = Vec::new();
    for _ in 0..tensors {
        at += 8 + u64_at(at);
        let dimensions = u32_at(at);
        let count: usize = (0..dimensions)
            .map(|dimension| u64_at(at + 4 + 8 * dimension))
            .product();
        at += 4 + 8 * dimensions;
        places.push(Place {
            info: at,
            count,
            kind: u32_at(at),
            data: u64_at(at + 4),
        });
        at += 12;
    }
    let data = at.next_multiple_of(ALIGNMENT);
    for place in &mut places {
        place.data += data;
    }
    (infos, at, places)
}

/// A GGUF file with its tensors of eight bits in single precision.
fn widen(bytes: &[u8]) -> Vec<u8> {
    let (infos, end, places) = places(bytes);
    let (mut head, mut body) = (bytes[..infos].to_vec(), Vec::new());
    head.extend_from_slice(&bytes[infos..end]);
    for Place {
        info,
        count,
        kind,
        data: from,
    } in places
    {
        body.resize(body.len().next_multiple_of(ALIGNMENT), 0_u8);
        head[info..info + 4].copy_from_slice(&0_u32.to_le_bytes());
        head[info + 4..info + 12].copy_from_slice(&(body.len() as u64).to_le_bytes());
        match kind {
            0 => body.extend_from_slice(&bytes[from..from + 4 * count]),
            // Q8_0: a scale in half precision and 32 whole numbers of eight bits, a block
            8 => bytes[from..from + count / 32 * 34]
                .chunks_exact(34)
                .for_each(|block| {
                    let scale = single(u16::from_le_bytes([block[0], block[1]]));
                    block[2..]
                        .iter()
                        .for_each(|&one| body.extend((scale * f32::from(one as i8)).to_le_bytes()));
                }),
            other => panic!("a tensor of type {other}"),
        }
    }
    head.resize(head.len().next_multiple_of(ALIGNMENT), 0);
    head.extend(body);
    head
}

/// A GGUF file of eight bits with the same vocabulary and metadata, whose weights mean nothing:
/// numbers from a fixed seed, of the size of a model that was just created.
pub fn without_training(bytes: &[u8]) -> Vec<u8> {
    // half-precision 2^-11: weights of -0.06 to 0.06
    const SCALE: [u8; 2] = [0, 0x10];
    let mut bytes = bytes.to_vec();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for place in places(&bytes).2.iter().filter(|place| place.kind == 8) {
        for block in bytes[place.data..place.data + place.count / 32 * 34].chunks_exact_mut(34) {
            block[..2].copy_from_slice(&SCALE);
            for one in &mut block[2..] {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                *one = (state >> 56) as u8;
            }
        }
    }
    bytes
}

/// Changes to the metadata of a model file.
pub struct Edit<'a> {
    /// The chat template; `None` for a file without one.
    pub template: Option<&'a str>,
    /// Tokens and the texts that they have instead; they become user-defined tokens.
    pub tokens: &'a [(&'a str, &'a str)],
}

/// The bytes of a bundled model file with its metadata changed.
pub fn edited(name: &str, edit: &Edit<'_>) -> Vec<u8> {
    const USER_DEFINED: i32 = 4;
    let bytes = std::fs::read(bundled(name)).expect("a model");
    let u64_at =
        |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
    let u32_at =
        |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let text_at = |at: usize| &bytes[at + 8..at + 8 + u64_at(at)];
    let size = |kind: usize| [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][kind];
    let push_text = |to: &mut Vec<u8>, text: &[u8]| {
        to.extend((text.len() as u64).to_le_bytes());
        to.extend_from_slice(text);
    };

    let mut head = bytes[..24].to_vec();
    let mut changed = Vec::new();
    let mut count = u64_at(16) as u64;
    let mut at = 24;
    for _ in 0..u64_at(16) {
        let (start, key) = (at, text_at(at));
        at += 8 + u64_at(at);
        let kind = u32_at(at);
        let value = at + 4;
        at = match kind {
            8 => value + 8 + u64_at(value),
            9 if u32_at(value) == 8 => {
                (0..u64_at(value + 4)).fold(value + 12, |end, _| end + 8 + u64_at(end))
            }
            9 => value + 12 + size(u32_at(value)) * u64_at(value + 4),
            other => value + size(other),
        };
        match key {
            b"tokenizer.chat_template" => count -= 1,
            b"tokenizer.ggml.tokens" => {
                head.extend_from_slice(&bytes[start..value + 12]);
                let mut text = value + 12;
                for index in 0..u64_at(value + 4) {
                    let known = text_at(text);
                    text += 8 + known.len();
                    let other = edit.tokens.iter().find(|(old, _)| old.as_bytes() == known);
                    if other.is_some() {
                        changed.push(index);
                    }
                    push_text(&mut head, other.map_or(known, |(_, new)| new.as_bytes()));
                }
                assert_eq!(changed.len(), edit.tokens.len());
            }
            b"tokenizer.ggml.token_type" => {
                let from = head.len() + value + 12 - start;
                head.extend_from_slice(&bytes[start..at]);
                for index in &changed {
                    head[from + 4 * index..from + 4 * index + 4]
                        .copy_from_slice(&USER_DEFINED.to_le_bytes());
                }
            }
            _ => head.extend_from_slice(&bytes[start..at]),
        }
    }
    if let Some(template) = edit.template {
        count += 1;
        push_text(&mut head, b"tokenizer.chat_template");
        head.extend(8_u32.to_le_bytes());
        push_text(&mut head, template.as_bytes());
    }
    head[16..24].copy_from_slice(&count.to_le_bytes());

    let infos = at;
    for _ in 0..u64_at(8) {
        at += 8 + u64_at(at);
        at += 4 + 8 * u32_at(at) + 12;
    }
    head.extend_from_slice(&bytes[infos..at]);
    head.resize(head.len().next_multiple_of(ALIGNMENT), 0);
    head.extend_from_slice(&bytes[at.next_multiple_of(ALIGNMENT)..]);
    head
}

/// A half-precision number in single precision.
fn single(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (
        i32::from(half >> 10 & 0x1f),
        f32::from(half & 0x3ff) / 1024.0,
    );
    match exponent {
        0 => sign * fraction * 2.0_f32.powi(-14),
        _ => sign * (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

/// Whether a GPU computes: it chooses its kernels by the size of the batch, and so rounds by the
/// company of a prompt.
fn has_gpu() -> bool {
    runtime().devices().iter().any(|device| device.is_gpu)
}

/// Returns the difference that rounding between batches may cause, given that on a CPU.
fn between_batches(on_cpu: f32) -> f32 {
    if has_gpu() { 10.0 * on_cpu } else { on_cpu }
}

fn embedder() -> LlamaEmbedder {
    let file = bundled("all-MiniLM-L6-v2.Q8_0.gguf");
    load_embedder(
        &runtime(),
        &file,
        &embedder_settings(),
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    )
    .expect("the bundled embedder")
}

fn greedy(max_tokens: u32) -> Decoding {
    Decoding::greedy(max_tokens, 1)
}

fn sampled(max_tokens: u32, seed: u64) -> Decoding {
    Decoding {
        temperature: 1.0,
        ..Decoding::greedy(max_tokens, seed)
    }
}

/// Samples a continuation and returns its tokens per second after the first.
fn tokens_per_second(generator: &mut (impl Generator + ?Sized), prompt: &Prompt) -> f64 {
    const TOKENS: u32 = 128;
    let mut first = None;
    let mut tokens = 0_u32;
    generator
        .complete(
            std::slice::from_ref(prompt),
            &sampled(TOKENS, 3),
            &mut |_, _| {
                first.get_or_insert_with(Instant::now);
                tokens += 1;
                Flow::Continue
            },
        )
        .expect("a completion");
    let seconds = first.expect("a token").elapsed().as_secs_f64();
    f64::from(tokens - 1) / seconds
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

const CONTEXT: &str = "[1] The lighthouse on Sherk Island is 40 metres tall.\n[2] Mara Voss keeps the lighthouse. It was built in 1871.";

fn question(text: &str) -> Prompt {
    Prompt::user(format!(
        "Context:\n{CONTEXT}\nAnswer the question step by step, one short sentence at a time, and finish with \"So the answer is\".\nQuestion: {text}"
    ))
}

fn complete(
    generator: &mut LlamaGenerator,
    prompts: &[Prompt],
    decoding: &Decoding,
) -> Vec<Completion> {
    generator
        .complete(prompts, decoding, &mut |_, _| Flow::Continue)
        .expect("a completion")
}

fn one(generator: &mut LlamaGenerator, prompt: &Prompt, decoding: &Decoding) -> Completion {
    complete(generator, std::slice::from_ref(prompt), decoding).remove(0)
}

/// After a stop, whatever comes next is not stopped.
fn next_command(stop: &StopFlag) {
    stop.mark_sent();
    stop.mark_taken();
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
