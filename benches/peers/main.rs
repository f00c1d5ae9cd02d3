//! This program's side of the comparison with its peers ([README](README.md)):
//!
//! `peers embed MODEL.gguf TEXTS.json THREADS` turns a list of texts into vectors, and
//! `peers generate MODEL.gguf PROMPT.txt TOKENS THREADS` continues a prompt greedily. Each prints one JSON
//! object, with the seconds of the work and of processor time, without loading the model.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::Path;
use std::time::{Duration, Instant};

use ragscope::config::Layers;
use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{
    Decoding, Embedder, Generator, Prompt, Runtime, load_embedder, load_generator,
};
use serde_json::{Value, json};

fn main() {
    // cargo passes --bench
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["embed", model, texts, threads] => embed(model, texts, number(threads)),
        ["generate", model, prompt, tokens, threads] => {
            generate(model, prompt, number(tokens), number(threads))
        }
        _ => {
            println!("see benches/peers/README.md");
            return;
        }
    };
    println!("{result}");
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

fn runtime() -> Runtime {
    Runtime::start(&std::env::temp_dir().join("ragscope-peers.log")).expect("llama.cpp starts")
}

/// Returns the processor time of this process, all threads (Linux, in hundredths of a second).
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // the name of the program, in parentheses, may have blanks
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Measures the wall time and the processor time of a call, in seconds.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64, f64) {
    let started = Instant::now();
    let processor = processor_time();
    let result = call();
    let processor = processor_time().saturating_sub(processor);
    (
        result,
        started.elapsed().as_secs_f64(),
        processor.as_secs_f64(),
    )
}

fn embed(model: &str, texts: &str, threads: u32) -> Value {
    let mut settings = Layers::defaults().config().expect("defaults").embedder;
    settings.threads = threads;
    "cpu".clone_into(&mut settings.device);
    let texts = std::fs::read_to_string(texts).expect("the texts");
    let texts: Vec<String> = serde_json::from_str(&texts).expect("a list of texts");
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();

    let stop = StopFlag::default();
    let mut embedder = load_embedder(&runtime(), Path::new(model), &settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the embedder");
    embedder.embed(&texts[..1]).expect("a vector");
    let (vectors, seconds, processor) = timed(|| embedder.embed(&texts).expect("vectors"));
    json!({ "seconds": seconds, "processor": processor, "vectors": vectors })
}

fn generate(model: &str, prompt: &str, tokens: u32, threads: u32) -> Value {
    let mut settings = Layers::defaults().config().expect("defaults").generator;
    settings.threads = threads;
    settings.context_tokens = 2048;
    "cpu".clone_into(&mut settings.device);
    "none".clone_into(&mut settings.chat_template);
    let prompt = Prompt::user(std::fs::read_to_string(prompt).expect("the prompt"));
    let decoding = Decoding::greedy(tokens, 1);

    let stop = StopFlag::default();
    let mut generator = load_generator(&runtime(), Path::new(model), &settings, &stop, &mut |_| {
        Flow::Continue
    })
    .expect("the generator");
    let prompts = std::slice::from_ref(&prompt);
    let prompt_tokens = generator.render(&prompt).expect("a prompt").tokens.len();

    // from the first token on: the prompt is evaluated before it
    let mut first = None;
    let mut last = None;
    let mut count = 0;
    let completions = generator
        .complete(prompts, &decoding, &mut |_, _| {
            let now = (Instant::now(), processor_time());
            first.get_or_insert(now);
            last = Some(now);
            count += 1;
            Flow::Continue
        })
        .expect("a completion");
    let (first, last) = first.zip(last).expect("tokens");
    json!({
        "seconds": (last.0 - first.0).as_secs_f64(),
        "processor": (last.1 - first.1).as_secs_f64(),
        "prompt_tokens": prompt_tokens,
        "tokens": count,
        "text": completions[0].text,
    })
}
