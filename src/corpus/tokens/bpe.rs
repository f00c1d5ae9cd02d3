//! Byte-level BPE on the `tokenizers` crate, with the word patterns of llama.cpp's
//! `tokenizer.ggml.pre`.

use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

use crate::llm::gguf::{Metadata, Value};

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The rule by which a vocabulary splits text into words before BPE.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordPattern {
    expression: &'static str,
    /// Whether a word that is a token is not split, whatever the merges.
    ignores_merges: bool,
}

/// A byte-level BPE vocabulary.
pub(super) struct Bpe {
    tokenizer: Tokenizer,
    /// Texts that are tokens wherever they occur, the longest first.
    user_defined: Vec<String>,
}

impl Bpe {
    pub(super) fn new(metadata: &Metadata, pattern: WordPattern) -> Result<Self, String> {
        let tokens = metadata
            .texts("tokenizer.ggml.tokens")
            .ok_or("it holds no vocabulary")?;
        let kinds = metadata
            .list("tokenizer.ggml.token_type")
            .unwrap_or_default();
        let mut user_defined: Vec<String> = tokens
            .iter()
            .zip(kinds)
            .filter(|(text, kind)| is_user_defined(kind) && !text.is_empty())
            .map(|(text, _)| (*text).to_owned())
            .collect();
        user_defined.sort_by_key(|text| std::cmp::Reverse(text.len()));

        let ids = tokens.into_iter().map(str::to_owned).zip(0..).collect();
        let model = BPE::builder()
            .vocab_and_merges::<Vocab>(ids, merges(metadata)?)
            .ignore_merges(pattern.ignores_merges)
            .build()
            .map_err(|error| format!("its vocabulary cannot be used: {error}"))?;
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_pre_tokenizer(Some(splitter(pattern.expression)?));

        Ok(Self {
            tokenizer,
            user_defined,
        })
    }

    /// Returns the number of tokens of `text`.
    pub(super) fn count(&self, text: &str) -> usize {
        self.count_around(text, &self.user_defined)
    }

    /// Counts the given texts, and what is between them.
    fn count_around(&self, text: &str, user_defined: &[String]) -> usize {
        match user_defined.split_first() {
            _ if text.is_empty() => 0,
            // the tokenizer covers any text, so that none gives an error; its bytes are the upper
            // bound
            None => self
                .tokenizer
                .encode_fast(text, false)
                .map_or(text.len(), |encoding| encoding.len()),
            Some((token, others)) => {
                let between: usize = text
                    .split(token.as_str())
                    .map(|part| self.count_around(part, others))
                    .sum();
                between + text.matches(token.as_str()).count()
            }
        }
    }
}

impl WordPattern {
    /// Returns the pattern of a vocabulary; `None` for a name that is not known here.
    pub(super) fn from_metadata(metadata: &Metadata) -> Option<Self> {
        let name = metadata.text("tokenizer.ggml.pre").unwrap_or("gpt-2");

        let (expression, ignores_merges) = match name {
            "gpt-2" | "phi-2" | "mpt" | "olmo" | "jina-es" | "jina-de" | "jina-v2-es"
            | "jina-v2-de" | "jina-v1-en" | "jina-v2-code" | "roberta-bpe" | "modern-bert" => {
                (GPT2, false)
            }
            "llama3" | "llama-v3" | "llama-bpe" | "jina-v5-nano" => (LLAMA3, true),
            "dbrx" | "smaug-bpe" => (LLAMA3, false),
            "qwen2" | "deepseek-r1-qwen" | "stablelm2" | "f2llmv2" => (QWEN2, false),
            _ => return None,
        };

        Some(Self {
            expression,
            ignores_merges,
        })
    }
}

/// Returns whether the type of a token (`llama_token_type`) is that of a user-defined one.
fn is_user_defined(kind: &Value) -> bool {
    matches!(kind, Value::Signed(4) | Value::Unsigned(4))
}

fn splitter(expression: &str) -> Result<PreTokenizerWrapper, String> {
    let words = Split::new(
        SplitPattern::Regex(expression.to_owned()),
        SplitDelimiterBehavior::Isolated,
        false,
    )
    .map_err(|error| format!("its word pattern cannot be used: {error}"))?;
    Ok(Sequence::new(vec![
        words.into(),
        ByteLevel::new(false, false, false).into(),
    ])
    .into())
}

fn merges(metadata: &Metadata) -> Result<Merges, String> {
    let merges = metadata
        .texts("tokenizer.ggml.merges")
        .ok_or("it holds no merges")?;
    let pair = |merge: &str| {
        merge
            .split_once(' ')
            .map(|(left, right)| (left.to_owned(), right.to_owned()))
    };
    merges
        .into_iter()
        .map(|merge| pair(merge).ok_or_else(|| format!("the merge `{merge}` is not a pair")))
        .collect()
}
