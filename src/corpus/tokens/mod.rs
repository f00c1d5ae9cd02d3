//! How many tokens a text has for the embedder, counted without llama.cpp and in parallel, and equal to its counts.
//!
//! The vocabulary comes from the model's own file. Byte-level BPE runs on the `tokenizers` crate. WordPiece is llama.cpp's
//! reading of it ([`wordpiece`]), which differs from the crate's: other normal forms, no limit on the length of a word, and no
//! time quadratic in it.

mod bpe;
mod characters;
mod wordpiece;

use std::path::Path;
use std::sync::Arc;

use crate::llm::LlmError;
use crate::llm::gguf::Metadata;

/// Tokens that the embedder puts around a text.
const SPECIAL_TOKENS: u32 = 2;
/// What an embedder is taken to read when its file does not say.
const DEFAULT_CONTEXT_TOKENS: u32 = 512;

/// Counts tokens. A clone shares the vocabulary.
#[derive(Clone)]
pub struct TokenCounter {
    vocabulary: Arc<dyn Count>,
    room: u32,
}

/// One way to take a text apart.
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
        let unusable = |reason| LlmError::Unusable { path: file.display().to_string(), reason };
        let vocabulary = vocabulary(&metadata).map_err(unusable)?;
        let context = metadata.trained_context_tokens().and_then(|tokens| u32::try_from(tokens).ok());
        let room = context.unwrap_or(DEFAULT_CONTEXT_TOKENS).saturating_sub(SPECIAL_TOKENS);
        Ok(Self { vocabulary, room })
    }

    /// Tokens of `text`, without those that the model puts around it.
    #[must_use]
    pub fn count(&self, text: &str) -> u32 {
        u32::try_from(self.vocabulary.count(text)).unwrap_or(u32::MAX)
    }

    /// Tokens of the longest text that the model reads whole.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.room
    }
}

fn vocabulary(metadata: &Metadata) -> Result<Arc<dyn Count>, String> {
    let model = metadata.text("tokenizer.ggml.model").ok_or("it names no tokenizer")?;
    match model {
        "bert" => Ok(Arc::new(wordpiece::WordPiece::new(metadata)?)),
        "gpt2" => Ok(Arc::new(bpe::Bpe::new(metadata)?)),
        other => Err(format!("its tokens cannot be counted: tokenizer `{other}`, while `bert` and `gpt2` are known")),
    }
}

/// The tokens of the vocabulary, in order.
fn tokens(metadata: &Metadata) -> Result<Vec<&str>, String> {
    metadata.texts("tokenizer.ggml.tokens").ok_or_else(|| "it holds no vocabulary".to_owned())
}
