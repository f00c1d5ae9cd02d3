//! Token counts equal those of llama.cpp.

use std::path::Path;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use proptest::prelude::*;
use ragscope::corpus::TokenCounter;

use super::model;
use crate::llm::runtime;

const GENERATOR: &str = "ragscope-demo.Q8_0.gguf";
/// A model whose word pattern only llama.cpp knows.
const READER: &str = "ragscope-reader.Q5_0.gguf";

/// Accents, scripts, punctuation, symbols, code, white space, long words, and text that looks like
/// a special token.
const VARIED: &str = include_str!("../../data/corpus/varied.txt");

/// llama.cpp's vocabulary and ours of one file.
struct Both {
    theirs: LlamaModel,
    ours: TokenCounter,
}

impl Both {
    fn load(name: &str) -> Self {
        Self::open(&model(name))
    }

    fn open(file: &Path) -> Self {
        let runtime = runtime();
        // only a token that the backend runs; leaked, since dropping it would stop llama.cpp for
        // the other tests
        let backend: &LlamaBackend = Box::leak(Box::new(LlamaBackend {}));
        let params = LlamaModelParams::default().with_vocab_only(true);
        let theirs = LlamaModel::load_from_file(backend, file, &params).expect("the vocabulary");
        Self {
            theirs,
            ours: TokenCounter::from_gguf(file, &runtime).expect("the vocabulary"),
        }
    }

    fn theirs(&self, text: &str) -> u32 {
        self.theirs
            .vocab()
            .tokenize(text.as_bytes(), false, false)
            .len() as u32
    }

    #[track_caller]
    fn check(&self, text: &str) {
        assert_eq!(self.ours.count(text), self.theirs(text), "{text:?}");
    }
}

#[test]
fn varied_text() {
    for name in [GENERATOR, READER] {
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
    let both = Both::load(GENERATOR);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["src/lib.rs", "Cargo.lock", "LICENSE", "config/default.toml"] {
        both.check(&std::fs::read_to_string(root.join(file)).expect(file));
    }
}

/// Each character inside a word, at its end and alone.
#[test]
fn every_character() {
    let both = Both::load(GENERATOR);
    // the planes beyond hold no characters, or private ones
    let characters: Vec<char> = ('\0'..='\u{3ffff}')
        .chain('\u{e0000}'..='\u{e0fff}')
        .collect();
    let text = |characters: &[char]| {
        characters
            .iter()
            .map(|c| format!("a{c}b {c} x{c} "))
            .collect::<String>()
    };
    let differ =
        |characters: &[char]| both.ours.count(&text(characters)) != both.theirs(&text(characters));
    let blocks = characters.chunks(512).filter(|block| differ(block));
    let found: Vec<&char> = blocks
        .flat_map(|block| block.iter().filter(|c| differ(&[**c])))
        .collect();
    assert!(found.is_empty(), "{} differ: {found:?}", found.len());
}

#[test]
fn long_words() {
    let both = Both::load(GENERATOR);
    for word in ["a", "ab", "xq", "ß", "漢", "ข", "😀", "0", "=", "\u{301}"] {
        both.check(&word.repeat(3000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(texts in proptest::collection::vec("\\PC{0,40}|[a-zA-Z' ,.\\-]{0,60}|[\\p{L}\\p{M}\\p{N} ]{0,30}|\\s{0,4}", 0..6)) {
        thread_local! {
            static BOTH: Both = Both::load(GENERATOR);
        }
        BOTH.with(|both| both.check(&texts.concat()));
    }
}

/// Returns the vocabularies of a file with nothing but a SentencePiece vocabulary: control tokens,
/// bytes, a word and its beginning.
fn sentencepiece(kind: &str) -> Both {
    let mut pieces: Vec<(String, f32, i32)> = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("<b>", 4)]
        .map(|(text, kind)| (text.to_owned(), 0.0, kind))
        .to_vec();
    pieces.extend((0..=255_u8).map(|byte| (format!("<0x{byte:02X}>"), 0.0, 6)));
    let words = [
        "\u{2581}",
        "w",
        "o",
        "r",
        "d",
        "wo",
        "rd",
        "\u{2581}wo",
        "word",
    ];
    pieces.extend(
        (1..)
            .zip(words)
            .map(|(rank, text)| (text.to_owned(), -(rank as f32), 1)),
    );

    let mut file = Gguf::default();
    file.text("general.architecture", "llama");
    file.text("tokenizer.ggml.model", kind);
    file.list(
        "tokenizer.ggml.tokens",
        8,
        pieces.iter().map(|piece| string(&piece.0)),
    );
    file.list(
        "tokenizer.ggml.scores",
        6,
        pieces.iter().map(|piece| piece.1.to_le_bytes().to_vec()),
    );
    file.list(
        "tokenizer.ggml.token_type",
        5,
        pieces.iter().map(|piece| piece.2.to_le_bytes().to_vec()),
    );
    for (id, name) in ["unknown", "bos", "eos"].into_iter().enumerate() {
        file.entry(
            &format!("tokenizer.ggml.{name}_token_id"),
            4,
            &(id as u32).to_le_bytes(),
        );
    }
    file.open()
}

/// Writes the metadata of a GGUF file.
#[derive(Default)]
struct Gguf {
    entries: u64,
    bytes: Vec<u8>,
}

impl Gguf {
    fn entry(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.entries += 1;
        self.bytes.extend(string(key));
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(value);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.entry(key, 8, &string(value));
    }

    fn list(&mut self, key: &str, kind: u32, items: impl ExactSizeIterator<Item = Vec<u8>>) {
        let mut value = kind.to_le_bytes().to_vec();
        value.extend((items.len() as u64).to_le_bytes());
        items.for_each(|item| value.extend(item));
        self.entry(key, 9, &value);
    }

    /// Opens the file as a vocabulary.
    fn open(self) -> Both {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vocabulary.gguf");
        std::fs::write(&path, self.finish()).expect("a file");
        Both::open(&path)
    }

    fn finish(self) -> Vec<u8> {
        let head = [
            3_u64 << 32 | u64::from(u32::from_le_bytes(*b"GGUF")),
            0,
            self.entries,
        ];
        head.iter()
            .flat_map(|number| number.to_le_bytes())
            .chain(self.bytes)
            .collect()
    }
}

fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn llama_cpp_counts_sentencepiece_vocabularies() {
    let counts = ["llama", "t5"].map(|kind| {
        let both = sentencepiece(kind);
        ["", "word word", "a <b>word</b>"].map(|text| both.ours.count(text))
    });
    assert_eq!(counts, [[0, 4, 10], [0, 3, 5]]);
}

/// Returns the vocabularies of a file with a BPE vocabulary of bytes and of numbers with two
/// digits, and this name of a word pattern.
fn bpe(pattern: &str) -> Both {
    // how byte-level BPE writes the bytes that are not printable
    let bytes = (0..=255_u8).map(|byte| match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        0..=b' ' => char::from_u32(0x100 + u32::from(byte)).expect("a character"),
        0x7f..=0xa0 => char::from_u32(0x121 + u32::from(byte - 0x7f)).expect("a character"),
        0xad => '\u{143}',
    });
    let pairs: Vec<[char; 2]> = ('0'..='9')
        .flat_map(|first| ('0'..='9').map(move |second| [first, second]))
        .collect();
    let tokens: Vec<String> = bytes
        .map(String::from)
        .chain(pairs.iter().map(String::from_iter))
        .chain(["<|endoftext|>".to_owned()])
        .collect();
    let end = (tokens.len() - 1) as u32;

    let mut file = Gguf::default();
    file.text("general.architecture", "llama");
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", pattern);
    file.list(
        "tokenizer.ggml.tokens",
        8,
        tokens.iter().map(|token| string(token)),
    );
    let kinds = (0..=end).map(|id| if id == end { 3_i32 } else { 1 });
    file.list(
        "tokenizer.ggml.token_type",
        5,
        kinds
            .map(|kind| kind.to_le_bytes().to_vec())
            .collect::<Vec<_>>()
            .into_iter(),
    );
    let merges = pairs
        .iter()
        .map(|[first, second]| string(&format!("{first} {second}")));
    file.list("tokenizer.ggml.merges", 8, merges);
    for name in ["bos", "eos"] {
        let key = format!("tokenizer.ggml.{name}_token_id");
        file.entry(&key, 4, &end.to_le_bytes());
    }
    file.open()
}

#[test]
fn llama_cpp_counts_where_the_word_pattern_is_not_known() {
    // `smollm` splits numbers into digits before it merges; `gpt-2` does not
    let known = bpe("gpt-2");
    let unknown = bpe("smollm");
    for both in [&known, &unknown] {
        for text in VARIED
            .lines()
            .chain(["", " ", "1234", "10 tokens, 2,048 bytes"])
        {
            both.check(text);
        }
    }
    assert_eq!(
        (known.ours.count("1234"), unknown.ours.count("1234")),
        (2, 4)
    );
}

#[test]
fn a_vocabulary_that_llama_cpp_refuses_is_an_error() {
    let mut file = Gguf::default();
    file.text("general.architecture", "llama");
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "a pattern of tomorrow");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, file.finish()).expect("a file");

    let error = TokenCounter::from_gguf(&path, &runtime())
        .err()
        .expect("an error");
    assert!(error.to_string().contains("model.gguf"), "{error}");
}
