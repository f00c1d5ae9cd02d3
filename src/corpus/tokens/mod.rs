//! How many tokens a text has for the embedder, counted without llama.cpp and in parallel, and equal to its counts.
//!
//! The vocabulary comes from the model's own file. BPE and both kinds of SentencePiece run on the `tokenizers` crate. WordPiece
//! is llama.cpp's reading of it ([`wordpiece`]), which differs from the crate's: other normal forms, no limit on the length of a
//! word, and no time quadratic in it.

mod vocabulary;
mod wordpiece;
mod characters;
mod bpe;
mod sentencepiece;
mod unigram;

use std::path::Path;
use std::sync::Arc;

use tokenizers::Tokenizer;

use self::vocabulary::Vocabulary;
use crate::llm::LlmError;
use crate::llm::gguf::Metadata;

/// Tokens that the embedder puts around a text.
const SPECIAL_TOKENS: u32 = 2;
/// What an embedder is taken to read when its file does not say.
const DEFAULT_CONTEXT_TOKENS: u32 = 512;

const KNOWN: &str = "`bert`, `gpt2`, `llama` and `t5`";

/// Counts tokens. A clone shares the vocabulary.
#[derive(Clone)]
pub struct TokenCounter {
    vocabulary: Arc<dyn Count>,
    /// Texts that are tokens wherever they stand, the longest first.
    user_defined: Arc<[String]>,
    room: u32,
}

/// One way to take a text apart that holds no user-defined token.
trait Count: Send + Sync {
    fn count(&self, text: &str) -> usize;
}

impl TokenCounter {
    /// The counter of the model in `file`.
    ///
    /// # Errors
    /// A file that cannot be read, or a vocabulary of a kind that is not known here.
    pub fn from_gguf(file: &Path) -> Result<Self, LlmError> {
        let metadata = Metadata::read(file)?;
        let unusable = |reason| LlmError::Unusable {
            path: file.display().to_string(),
            reason,
        };
        let vocabulary = vocabulary(&metadata).map_err(unusable)?;
        let context = metadata
            .trained_context_tokens()
            .and_then(|tokens| u32::try_from(tokens).ok());
        let room = context
            .unwrap_or(DEFAULT_CONTEXT_TOKENS)
            .saturating_sub(SPECIAL_TOKENS);
        let user_defined = Vocabulary::new(&metadata)
            .map_err(unusable)?
            .user_defined()
            .into();
        Ok(Self {
            vocabulary,
            user_defined,
            room,
        })
    }

    /// Tokens of `text`, without those that the model puts around it.
    #[must_use]
    pub fn count(&self, text: &str) -> u32 {
        u32::try_from(self.count_around(text, &self.user_defined)).unwrap_or(u32::MAX)
    }

    /// Tokens of what is left between the given texts, and of those.
    fn count_around(&self, text: &str, user_defined: &[String]) -> usize {
        match user_defined.split_first() {
            _ if text.is_empty() => 0,
            None => self.vocabulary.count(text),
            Some((token, others)) => {
                let between: usize = text
                    .split(token.as_str())
                    .map(|part| self.count_around(part, others))
                    .sum();
                between + text.matches(token.as_str()).count()
            }
        }
    }

    /// Tokens of the longest text that the model reads whole.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.room
    }
}

fn vocabulary(metadata: &Metadata) -> Result<Arc<dyn Count>, String> {
    let model = metadata
        .text("tokenizer.ggml.model")
        .ok_or("it names no tokenizer")?;
    match model {
        "bert" => Ok(Arc::new(wordpiece::WordPiece::new(metadata)?)),
        "gpt2" => Ok(Arc::new(bpe::Bpe::new(metadata)?)),
        "llama" => Ok(Arc::new(sentencepiece::SentencePiece::new(metadata)?)),
        "t5" => Ok(Arc::new(unigram::Unigram::new(metadata)?)),
        other => Err(format!(
            "its tokens cannot be counted: its tokenizer is `{other}`, and {KNOWN} are known"
        )),
    }
}

/// Tokens of a text by a tokenizer of the crate. It covers any text, so an error cannot come from one; bytes are the upper bound.
fn encoded_length(tokenizer: &Tokenizer, text: &str) -> usize {
    tokenizer
        .encode_fast(text, false)
        .map_or(text.len(), |encoding| encoding.len())
}
