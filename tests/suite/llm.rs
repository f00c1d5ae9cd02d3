//! The models on llama.cpp, run for real on the bundled files.

mod load;
mod write;
mod tree;
mod judge;
mod tap;

use std::path::{Path, PathBuf};

use ragscope::config::{EmbedderSettings, GeneratorSettings, Layers};
use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{
    Completion, Decoding, Generator, LlamaEmbedder, LlamaGenerator, Prompt, Runtime, Sampling, StopRule, load_embedder,
    load_generator,
};

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models").join(name)
}

fn runtime() -> Runtime {
    Runtime::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama.log")).expect("llama.cpp starts")
}

fn generator_settings() -> GeneratorSettings {
    Layers::defaults().config().expect("defaults").generator
}

fn embedder_settings() -> EmbedderSettings {
    Layers::defaults().config().expect("defaults").embedder
}

fn generator_with(settings: &GeneratorSettings, stop: &StopFlag) -> LlamaGenerator {
    let file = bundled("ragscope-demo.F16.gguf");
    load_generator(&runtime(), &file, settings, stop, &mut |_| Flow::Continue).expect("the bundled generator")
}

fn generator() -> LlamaGenerator {
    generator_with(&generator_settings(), &StopFlag::default())
}

fn embedder() -> LlamaEmbedder {
    let file = bundled("all-MiniLM-L6-v2.Q8_0.gguf");
    load_embedder(&runtime(), &file, &embedder_settings(), &StopFlag::default(), &mut |_| Flow::Continue)
        .expect("the bundled embedder")
}

fn greedy(max_tokens: u32) -> Decoding {
    Decoding { max_tokens, sampling: Sampling::GREEDY, seed: 1, stop: StopRule::default() }
}

fn sampled(max_tokens: u32, seed: u64) -> Decoding {
    let sampling = Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0 };
    Decoding { max_tokens, sampling, seed, stop: StopRule::default() }
}

const CONTEXT: &str =
    "[1] The lighthouse on Sherk Island is 40 metres tall.\n[2] Mara Voss keeps the lighthouse. It was built in 1871.";

fn question(text: &str) -> Prompt {
    Prompt::user(format!(
        "Context:\n{CONTEXT}\nAnswer the question step by step, one short sentence at a time, and finish with \"So the answer is\".\nQuestion: {text}"
    ))
}

fn complete(generator: &mut LlamaGenerator, prompts: &[Prompt], decoding: &Decoding) -> Vec<Completion> {
    generator.complete(prompts, decoding, &mut |_, _| Flow::Continue).expect("a completion")
}

fn one(generator: &mut LlamaGenerator, prompt: &Prompt, decoding: &Decoding) -> Completion {
    complete(generator, std::slice::from_ref(prompt), decoding).remove(0)
}

/// After a stop, whatever comes next is not stopped.
fn next_command(stop: &StopFlag) {
    stop.sent();
    stop.taken();
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
