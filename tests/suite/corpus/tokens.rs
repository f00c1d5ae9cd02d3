//! Token counts are llama.cpp's own.

use std::path::Path;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use proptest::prelude::*;
use ragscope::corpus::TokenCounter;
use ragscope::llm::Runtime;

use super::model;

const EMBEDDER: &str = "all-MiniLM-L6-v2.Q8_0.gguf";
const GENERATOR: &str = "ragscope-demo.F16.gguf";

/// Accents, scripts, punctuation, signs, code, white space, long words, and what looks like a special token.
const VARIED: &str = include_str!("../../data/corpus/varied.txt");

/// llama.cpp's vocabulary and ours of one file.
struct Both {
    theirs: LlamaModel,
    ours: TokenCounter,
}

impl Both {
    fn load(name: &str) -> Self {
        Runtime::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("vocabulary.log")).expect("llama.cpp starts");
        // only a token that the backend runs; leaked, since dropping it would stop llama.cpp for the other tests
        let backend: &LlamaBackend = Box::leak(Box::new(LlamaBackend {}));
        let params = LlamaModelParams::default().with_vocab_only(true);
        let theirs = LlamaModel::load_from_file(backend, model(name), &params).expect("the vocabulary");
        Self { theirs, ours: TokenCounter::from_gguf(&model(name)).expect("the vocabulary") }
    }

    fn theirs(&self, text: &str) -> u32 {
        self.theirs.vocab().tokenize(text.as_bytes(), false, false).len() as u32
    }

    #[track_caller]
    fn check(&self, text: &str) {
        assert_eq!(self.ours.count(text), self.theirs(text), "{text:?}");
    }
}

#[test]
fn varied_text() {
    for name in [EMBEDDER, GENERATOR] {
        let both = Both::load(name);
        both.check(VARIED);
        both.check("");
        both.check(" \n\t ");
        for line in VARIED.lines() {
            both.check(line);
            both.check(&line.replace(' ', ""));
        }
    }
}

#[test]
fn source_files() {
    let both = Both::load(EMBEDDER);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["src/lib.rs", "Cargo.lock", "LICENSE", "config/default.toml"] {
        both.check(&std::fs::read_to_string(root.join(file)).expect(file));
    }
}

/// Each character inside a word, at its end and alone.
#[test]
fn every_character() {
    let both = Both::load(EMBEDDER);
    // the planes beyond hold no characters, or private ones
    let characters: Vec<char> = ('\0'..='\u{3ffff}').chain('\u{e0000}'..='\u{e0fff}').collect();
    let text = |characters: &[char]| characters.iter().map(|c| format!("a{c}b {c} x{c} ")).collect::<String>();
    let differ = |characters: &[char]| both.ours.count(&text(characters)) != both.theirs(&text(characters));
    let blocks = characters.chunks(512).filter(|block| differ(block));
    let found: Vec<&char> = blocks.flat_map(|block| block.iter().filter(|c| differ(&[**c]))).collect();
    assert!(found.is_empty(), "{} differ: {found:?}", found.len());
}

#[test]
fn long_words() {
    for name in [EMBEDDER, GENERATOR] {
        let both = Both::load(name);
        for word in ["a", "ab", "xq", "ß", "漢", "ข", "😀", "0", "=", "\u{301}"] {
            both.check(&word.repeat(3000));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(texts in proptest::collection::vec("\\PC{0,40}|[a-zA-Z' ,.\\-]{0,60}|[\\p{L}\\p{M}\\p{N} ]{0,30}|\\s{0,4}", 0..6)) {
        thread_local! {
            static BOTH: Both = Both::load(EMBEDDER);
        }
        BOTH.with(|both| both.check(&texts.concat()));
    }
}
