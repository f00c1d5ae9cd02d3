//! Reads the metadata of a GGUF file, in safe Rust and within bounds.
//!
//! llama.cpp aborts the process on some damaged files. They are refused here, with a reason, before
//! it sees them. Tensor data is never read, but the file must be long enough to hold it. The format
//! is described in ggml's `docs/gguf.md`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use super::error::{LlmError, Result};

const MAGIC: &[u8; 4] = b"GGUF";
/// The versions that llama.cpp reads. Version 1 had 32-bit lengths and was in use for weeks only.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=3;
// Limits far above any real model: a damaged length is refused and not allocated.
const MAX_STRING_BYTES: u64 = 64 << 20;
const MAX_ITEMS: u64 = 16 << 20;
// Of the whole file: the largest vocabularies have 1.4 million items in 10 MB.
const MAX_ALL_ITEMS: u64 = 4 << 20;
const MAX_ALL_STRING_BYTES: u64 = 256 << 20;
const MAX_LAYERS: u64 = 1 << 12;
const MAX_HEADS: u64 = 1 << 14;
const MAX_WIDTH: u64 = 1 << 20;
/// llama.cpp counts positions in signed numbers of 32 bits.
const MAX_CONTEXT_TOKENS: u64 = i32::MAX as u64;
const MAX_NESTING: u32 = 4;
const MAX_DIMENSIONS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;

/// The metadata of a GGUF file.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// Size of the file.
    pub file_bytes: u64,
    /// Number of tensors.
    pub tensors: u64,
    /// Number of weights in all tensors.
    pub parameters: u64,
    /// The bytes of those weights that can be on a device.
    pub weights: Weights,
    values: BTreeMap<String, Value>,
}

/// Bytes of the tensors, by the part of the model that they belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weights {
    /// Bytes of each layer, first layer first.
    pub layers: Vec<u64>,
    /// Bytes of the output layer; those of the token embedding where it is used for both.
    pub output: u64,
}

impl Weights {
    /// Adds a tensor. `max_layers` limits what a name can claim.
    fn add(&mut self, name: &str, bytes: u64, max_layers: u64) {
        // llama.cpp's names: blk.N.x for a tensor of layer N
        let layer = name
            .strip_prefix("blk.")
            .and_then(|rest| rest.split_once('.'))
            .and_then(|(layer, _)| layer.parse::<u64>().ok())
            .filter(|layer| *layer < max_layers)
            .and_then(|layer| usize::try_from(layer).ok());

        match layer {
            Some(layer) => {
                if self.layers.len() <= layer {
                    self.layers.resize(layer + 1, 0);
                }
                self.layers[layer] = self.layers[layer].saturating_add(bytes);
            }
            // output.weight and output_norm.weight
            None if name.starts_with("output") => self.output = self.output.saturating_add(bytes),
            None => {}
        }
    }
}

/// A metadata value; the width of a number is not kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    fn as_text(&self) -> Option<&str> {
        let Self::Text(text) = self else { return None };
        Some(text)
    }
}

impl Metadata {
    /// Reads the metadata of `file`.
    ///
    /// # Errors
    /// When there is no such file; [`LlmError::Unusable`] with the reason otherwise.
    pub fn read(file: &Path) -> Result<Self> {
        let unusable = |reason: String| LlmError::unusable(file, reason);
        let opened = File::open(file).map_err(|error| match error.kind() {
            ErrorKind::NotFound => LlmError::missing(file),
            _ => unusable(format!("it cannot be opened: {error}")),
        })?;
        let about = opened
            .metadata()
            .map_err(|error| unusable(format!("it cannot be read: {error}")))?;
        if !about.is_file() {
            return Err(unusable("it is not a file".to_owned()));
        }

        let reader = GgufReader {
            input: BufReader::with_capacity(1 << 16, opened),
            position: 0,
            file_bytes: about.len(),
            items: 0,
            string_bytes: 0,
        };
        reader.metadata().map_err(unusable)
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Iterates over keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the value of `key` if it is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Returns the value of `key` if it is a whole number of at least 0.
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Unsigned(number) => Some(*number),
            Value::Signed(number) => u64::try_from(*number).ok(),
            Value::Float(_) | Value::Bool(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// Returns the value of `key` if it is a bool.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let Value::Bool(flag) = self.get(key)? else {
            return None;
        };
        Some(*flag)
    }

    /// Returns the value of `key` if it is a list.
    pub fn list(&self, key: &str) -> Option<&[Value]> {
        let Value::List(items) = self.get(key)? else {
            return None;
        };
        Some(items)
    }

    /// Returns the value of `key` if it is a list of texts.
    pub fn texts(&self, key: &str) -> Option<Vec<&str>> {
        self.list(key)?.iter().map(Value::as_text).collect()
    }

    /// Returns the names of the classes of a sequence-classification model; `None` for another one.
    pub fn class_labels(&self) -> Option<Vec<&str>> {
        let architecture = self.architecture()?;
        let labels = self.texts(&format!("{architecture}.classifier.output_labels"))?;
        (!labels.is_empty()).then_some(labels)
    }

    /// Checks the numbers that llama.cpp computes with: it stops the process on some that are none.
    fn check_numbers(&self) -> Result<(), String> {
        let Some(architecture) = self.architecture() else {
            return Ok(());
        };
        let limits = [
            ("block_count", MAX_LAYERS),
            ("embedding_length", MAX_WIDTH),
            ("attention.head_count", MAX_HEADS),
            ("context_length", MAX_CONTEXT_TOKENS),
        ];
        for (name, most) in limits {
            let key = format!("{architecture}.{name}");
            let number = self.number(&key);
            if number.is_some_and(|number| number == 0 || number > most) {
                return Err(format!("`{key}` is {}", number.unwrap_or_default()));
            }
        }

        let is_of_model = |key: &str| key.starts_with(&format!("{architecture}."));
        for (key, value) in self.iter().filter(|(key, _)| is_of_model(key)) {
            if let Value::Float(number) = value
                && !(number.is_finite() && (*number >= 0.0 || !key.ends_with("epsilon")))
            {
                return Err(format!("`{}` is {number}", escape(key)));
            }
        }
        Ok(())
    }

    /// The architecture (`llama`, `bert`, …).
    pub fn architecture(&self) -> Option<&str> {
        self.text("general.architecture")
    }

    /// The name that the model gives itself.
    pub fn name(&self) -> Option<&str> {
        self.text("general.name")
    }

    /// Tokens of context that the model was trained for.
    pub fn trained_context_tokens(&self) -> Option<u64> {
        self.number(&format!("{}.context_length", self.architecture()?))
    }
}

/// Reads forward and knows the length of the file. Errors are the reasons shown to the user.
struct GgufReader<R> {
    input: R,
    position: u64,
    file_bytes: u64,
    /// Items of lists and bytes of texts so far.
    items: u64,
    string_bytes: u64,
}

impl<R: Read> GgufReader<R> {
    fn metadata(mut self) -> Result<Metadata, String> {
        self.check_header()?;
        // a tensor takes at least its name, dimensions, kind and offset; a pair its key, kind and
        // value
        let tensors = self.count("tensors", 24)?;
        let pairs = self.count("metadata entries", 13)?;

        let mut values = BTreeMap::new();
        for _ in 0..pairs {
            let key = self.string()?;
            let kind = self.u32()?;
            let value = self
                .value(kind, 0)
                .map_err(|reason| format!("metadata `{}`: {reason}", escape(&key)))?;
            values.insert(key, value);
        }

        let mut metadata = Metadata {
            file_bytes: self.file_bytes,
            tensors,
            parameters: 0,
            weights: Weights::default(),
            values,
        };
        self.tensors(&mut metadata)?;
        metadata.check_numbers()?;
        Ok(metadata)
    }

    /// Reads magic and version.
    fn check_header(&mut self) -> Result<(), String> {
        if self.file_bytes == 0 {
            return Err("the file is empty".to_owned());
        }
        let is_gguf = self.file_bytes >= 4 && &self.bytes::<4>()? == MAGIC;
        if !is_gguf {
            return Err("it does not begin as a GGUF file does".to_owned());
        }

        let version = self.u32()?;
        // GGUF has no mark of its byte order: the version shows it
        if VERSIONS.contains(&version.swap_bytes()) {
            return Err("it was written for big-endian machines".to_owned());
        }
        if !VERSIONS.contains(&version) {
            return Err(format!(
                "GGUF version {version}, while versions 2 and 3 are known"
            ));
        }
        Ok(())
    }

    /// Reads the tensor table: adds up the parameters and checks that the data fits into the file.
    fn tensors(&mut self, metadata: &mut Metadata) -> Result<(), String> {
        let mut data_bytes = 0_u64;
        let mut embedding_bytes = 0;
        let mut has_output = false;
        for _ in 0..metadata.tensors {
            let name = self.string()?;
            let tensor = self
                .tensor()
                .map_err(|reason| format!("tensor `{}`: {reason}", escape(&name)))?;
            data_bytes = data_bytes.max(tensor.end);
            metadata.parameters = metadata.parameters.saturating_add(tensor.parameters);
            metadata.weights.add(&name, tensor.bytes, metadata.tensors);
            has_output |= name == "output.weight";
            if name == "token_embd.weight" {
                embedding_bytes = tensor.bytes;
            }
        }
        // llama.cpp uses the token embedding where there is no output.weight
        if !has_output {
            metadata.weights.output = metadata.weights.output.saturating_add(embedding_bytes);
        }

        let alignment = metadata
            .number("general.alignment")
            .unwrap_or(DEFAULT_ALIGNMENT);
        if !alignment.is_power_of_two() {
            return Err(format!(
                "an alignment of {alignment}, which is not a power of two"
            ));
        }

        // the data begins at the next multiple of the alignment behind the table
        let needed = self
            .position
            .checked_next_multiple_of(alignment)
            .and_then(|start| start.checked_add(data_bytes))
            .ok_or("tensors beyond any size")?;
        if metadata.tensors > 0 && needed > self.file_bytes {
            return Err(format!(
                "the file is cut off: {} bytes of {needed}",
                self.file_bytes
            ));
        }
        Ok(())
    }

    /// Reads an entry of the tensor table behind its name.
    fn tensor(&mut self) -> Result<Tensor, String> {
        let dimensions = self.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(format!("{dimensions} dimensions"));
        }
        let mut parameters = 1_u64;
        for _ in 0..dimensions {
            let length = self.u64()?;
            parameters = parameters
                .checked_mul(length)
                .ok_or("more numbers than can be counted")?;
        }

        let kind = self.u32()?;
        let offset = self.u64()?;
        // Of an unknown type the size is not known, but the offset must be in the file.
        let bytes = block(kind).map_or(0, |(numbers, bytes)| {
            (parameters / numbers).saturating_mul(bytes)
        });
        let end = offset.checked_add(bytes).ok_or("data beyond any size")?;
        Ok(Tensor {
            end,
            bytes,
            parameters,
        })
    }

    fn value(&mut self, kind: u32, nesting: u32) -> Result<Value, String> {
        Ok(match kind {
            0 => Value::Unsigned(u64::from(self.bytes::<1>()?[0])),
            1 => Value::Signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => Value::Signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => Value::Unsigned(u64::from(self.u32()?)),
            5 => Value::Signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            7 => Value::Bool(self.bytes::<1>()?[0] != 0),
            8 => Value::Text(self.string()?),
            9 => self.list(nesting + 1)?,
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.bytes()?)),
            12 => Value::Float(f64::from_le_bytes(self.bytes()?)),
            unknown => return Err(format!("a value of the unknown kind {unknown}")),
        })
    }

    fn list(&mut self, nesting: u32) -> Result<Value, String> {
        if nesting > MAX_NESTING {
            return Err("lists in lists without end".to_owned());
        }
        let kind = self.u32()?;
        let length = self.count("list items", smallest(kind))?;
        self.items += length;
        if self.items > MAX_ALL_ITEMS {
            return Err(format!("its lists hold more than {MAX_ALL_ITEMS} items"));
        }
        let items: Result<Vec<Value>, String> =
            (0..length).map(|_| self.value(kind, nesting)).collect();
        items.map(Value::List)
    }

    /// Reads a count of things that take at least `smallest` bytes each.
    fn count(&mut self, things: &str, smallest: u64) -> Result<u64, String> {
        let count = self.u64()?;
        if count > MAX_ITEMS {
            return Err(format!("it claims {count} {things}"));
        }
        if count * smallest > self.remaining_bytes() {
            return Err(format!(
                "the file is cut off: it claims {count} {things} and ends before them"
            ));
        }
        Ok(count)
    }

    /// Reads a string. GGUF asks for UTF-8, but tokens of some vocabularies are not: they get
    /// replacement characters.
    fn string(&mut self) -> Result<String, String> {
        let length = self.u64()?;
        if length > MAX_STRING_BYTES {
            return Err(format!("it claims a text of {length} bytes"));
        }
        if length > self.remaining_bytes() {
            return Err("the file is cut off inside its metadata".to_owned());
        }
        self.string_bytes += length;
        if self.string_bytes > MAX_ALL_STRING_BYTES {
            return Err(format!(
                "its texts take more than {MAX_ALL_STRING_BYTES} bytes"
            ));
        }

        let mut bytes = vec![0; usize::try_from(length).map_err(|error| error.to_string())?];
        self.fill(&mut bytes)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.input
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => "the file is cut off inside its metadata".to_owned(),
                _ => format!("it cannot be read: {error}"),
            })?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Bytes after the position.
    fn remaining_bytes(&self) -> u64 {
        self.file_bytes.saturating_sub(self.position)
    }
}

/// Returns the start of a name, safe to show: a damaged one can be long and contain anything.
fn escape(name: &str) -> String {
    crate::event::harmless(&name.chars().take(60).collect::<String>()).into_owned()
}

/// Returns the size of the shortest value of a type, in bytes.
fn smallest(kind: u32) -> u64 {
    match kind {
        2 | 3 => 2,
        4..=6 => 4,
        8 | 10..=12 => 8,
        // a list: the kind of its items and their number
        9 => 12,
        _ => 1,
    }
}

/// An entry of the tensor table.
struct Tensor {
    /// End of its data in the data section.
    end: u64,
    /// 0 for an unknown type.
    bytes: u64,
    parameters: u64,
}

/// Returns the numbers and bytes of a block of a tensor type (`ggml_type` in `ggml.h`, sizes in
/// `ggml-common.h`). `None` for types newer than this list.
fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),      // F32, I32
        1 | 25 | 30 => (1, 2), // F16, I16, BF16
        24 => (1, 1),          // I8
        27 | 28 => (1, 8),     // I64, F64
        2 | 20 => (32, 18),    // Q4_0, IQ4_NL
        3 => (32, 20),         // Q4_1
        6 => (32, 22),         // Q5_0
        7 => (32, 24),         // Q5_1
        8 => (32, 34),         // Q8_0
        9 => (32, 36),         // Q8_1
        10 => (256, 84),       // Q2_K
        11 | 21 => (256, 110), // Q3_K, IQ3_S
        12 => (256, 144),      // Q4_K
        13 => (256, 176),      // Q5_K
        14 => (256, 210),      // Q6_K
        15 => (256, 292),      // Q8_K
        16 | 35 => (256, 66),  // IQ2_XXS, TQ2_0
        17 => (256, 74),       // IQ2_XS
        18 => (256, 98),       // IQ3_XXS
        19 => (256, 50),       // IQ1_S
        22 => (256, 82),       // IQ2_S
        23 => (256, 136),      // IQ4_XS
        29 => (256, 56),       // IQ1_M
        34 => (256, 54),       // TQ1_0
        39 => (32, 17),        // MXFP4
        40 => (64, 36),        // NVFP4
        41 => (128, 18),       // Q1_0
        42 => (64, 18),        // Q2_0
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model_file(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("assets/models")
            .join(name)
    }

    #[test]
    fn reads_the_bundled_models() {
        let embedder =
            Metadata::read(&model_file("all-MiniLM-L6-v2.Q8_0.gguf")).expect("the embedder");
        assert_eq!(embedder.architecture(), Some("bert"));
        assert_eq!(embedder.text("tokenizer.ggml.model"), Some("bert"));
        assert_eq!(
            embedder
                .texts("tokenizer.ggml.tokens")
                .map(|tokens| tokens.len()),
            Some(30_522)
        );
        assert_eq!(embedder.trained_context_tokens(), Some(512));

        let generator =
            Metadata::read(&model_file("ragscope-demo.Q8_0.gguf")).expect("the generator");
        assert_eq!(generator.architecture(), Some("llama"));
        assert!(
            (5_000_000..7_000_000).contains(&generator.parameters),
            "{}",
            generator.parameters
        );
    }

    /// A small file with an entry of every kind, which the tests below cut and change.
    fn small() -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(1_u64.to_le_bytes());
        file.extend(3_u64.to_le_bytes());
        text(&mut file, "general.architecture");
        file.extend(8_u32.to_le_bytes());
        text(&mut file, "tiny");
        text(&mut file, "tiny.context_length");
        file.extend(4_u32.to_le_bytes());
        file.extend(64_u32.to_le_bytes());
        text(&mut file, "tiny.words");
        file.extend(9_u32.to_le_bytes());
        file.extend(8_u32.to_le_bytes());
        file.extend(2_u64.to_le_bytes());
        text(&mut file, "a");
        text(&mut file, "b");
        text(&mut file, "weight");
        file.extend(2_u32.to_le_bytes());
        file.extend(4_u64.to_le_bytes());
        file.extend(8_u64.to_le_bytes());
        file.extend(0_u32.to_le_bytes());
        file.extend(0_u64.to_le_bytes());
        file.resize(file.len().next_multiple_of(32) + 128, 0);
        file
    }

    fn text(file: &mut Vec<u8>, text: &str) {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    }

    fn read(bytes: &[u8]) -> Result<Metadata, String> {
        GgufReader {
            items: 0,
            string_bytes: 0,
            input: bytes,
            position: 0,
            file_bytes: bytes.len() as u64,
        }
        .metadata()
    }

    #[test]
    fn reads_every_part_of_a_small_file() {
        let metadata = read(&small()).expect("sound");
        assert_eq!(metadata.trained_context_tokens(), Some(64));
        assert_eq!(metadata.texts("tiny.words"), Some(vec!["a", "b"]));
        assert_eq!((metadata.tensors, metadata.parameters), (1, 32));
        assert_eq!(metadata.iter().count(), 3);
    }

    #[test]
    fn all_lists_of_a_file_have_one_limit() {
        const ITEMS: u64 = 3 << 20;
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(0_u64.to_le_bytes());
        file.extend(2_u64.to_le_bytes());
        for name in ["tiny.one", "tiny.two"] {
            text(&mut file, name);
            file.extend(9_u32.to_le_bytes());
            file.extend(0_u32.to_le_bytes());
            file.extend(ITEMS.to_le_bytes());
            file.resize(file.len() + ITEMS as usize, 7);
        }
        let refused = read(&file).expect_err("refused");
        assert!(refused.contains("lists hold more than"), "{refused}");
    }

    #[test]
    fn weights_are_counted_by_layer() {
        let mut weights = Weights::default();
        for (name, bytes) in [
            ("token_embd.weight", 1000),
            ("blk.1.attn_q.weight", 10),
            ("blk.0.attn_q.weight", 5),
            ("blk.1.ffn_up.weight", 20),
            ("output_norm.weight", 3),
            ("output.weight", 400),
            // names that are no layer, and one beyond what the file can hold
            ("blk.x.attn_q.weight", 7),
            ("blk.4294967295.attn_q.weight", 7),
        ] {
            weights.add(name, bytes, 8);
        }
        let expected = Weights {
            layers: vec![5, 30],
            output: 403,
        };
        assert_eq!(weights, expected);

        let generator =
            Metadata::read(&model_file("ragscope-demo.Q8_0.gguf")).expect("the generator");
        let layers = &generator.weights.layers;
        assert_eq!(layers.len(), 6);
        let all = layers.iter().sum::<u64>() + generator.weights.output;
        assert!(all > 3_000_000 && all < generator.file_bytes, "{all}");
        let embedder =
            Metadata::read(&model_file("all-MiniLM-L6-v2.Q8_0.gguf")).expect("the embedder");
        assert_eq!(embedder.weights.layers.len(), 6);
    }

    #[test]
    fn the_reason_names_what_is_wrong() {
        let changed = |at: usize, bytes: &[u8]| {
            let mut file = small();
            file[at..at + bytes.len()].copy_from_slice(bytes);
            file
        };
        let cases: [(Vec<u8>, &str); 9] = [
            (Vec::new(), "the file is empty"),
            (b"GG".to_vec(), "does not begin as a GGUF"),
            (
                b"<!DOCTYPE html><html>not a model".to_vec(),
                "does not begin as a GGUF",
            ),
            (changed(4, &1_u32.to_le_bytes()), "GGUF version 1"),
            (changed(4, &3_u32.to_be_bytes()), "big-endian"),
            (
                changed(8, &u64::MAX.to_le_bytes()),
                "claims 18446744073709551615 tensors",
            ),
            (changed(24, &u64::MAX.to_le_bytes()), "claims a text of"),
            (changed(52, &99_u32.to_le_bytes()), "unknown kind 99"),
            (small()[..small().len() - 1].to_vec(), "cut off"),
        ];
        for (file, expected) in cases {
            let reason = read(&file).expect_err(expected);
            assert!(
                reason.contains(expected),
                "{reason:?} should say {expected:?}"
            );
        }
    }

    #[test]
    fn every_cut_of_a_file_is_refused() {
        let file = small();
        for length in 0..file.len() {
            assert!(read(&file[..length]).is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn a_changed_byte_never_panics() {
        let file = small();
        for at in 0..file.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = file.clone();
                changed[at] = value;
                let _ = read(&changed);
            }
        }
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = Metadata::read(&folder.path().join("none.gguf")).expect_err("missing");
        assert!(missing.to_string().ends_with("none.gguf"), "{missing}");

        let not_a_file = Metadata::read(folder.path()).expect_err("a folder");
        assert!(
            matches!(&not_a_file, LlmError::Unusable { .. }),
            "{not_a_file}"
        );

        let cut = folder.path().join("cut.gguf");
        let whole = std::fs::read(model_file("ragscope-demo.Q8_0.gguf")).expect("the generator");
        std::fs::write(&cut, &whole[..whole.len() / 2]).expect("written");
        let message = Metadata::read(&cut).expect_err("cut off").to_string();
        assert!(
            message.contains("cut.gguf") && message.contains("cut off"),
            "{message}"
        );
    }
}
