//! Byte-level BPE on the `tokenizers` crate, with the word patterns of llama.cpp's
//! `tokenizer.ggml.pre`.

use tokenizers::models::bpe::{BPE, Merges};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

use super::vocabulary::Vocabulary;
use crate::llm::gguf::Metadata;

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

/// Creates the tokenizer of a BPE vocabulary.
pub(super) fn tokenizer(metadata: &Metadata, pattern: WordPattern) -> Result<Tokenizer, String> {
    let model = BPE::builder()
        .vocab_and_merges(Vocabulary::new(metadata)?.ids(), merges(metadata)?)
        .ignore_merges(pattern.ignores_merges)
        .build()
        .map_err(|error| format!("its vocabulary cannot be used: {error}"))?;

    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(splitter(pattern.expression)?));
    Ok(tokenizer)
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
