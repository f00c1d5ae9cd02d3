//! Counts the tokens of a text for the embedder: in parallel, and with the results of llama.cpp.
//!
//! The vocabulary comes from the model's own file. BPE runs on the `tokenizers` crate. WordPiece,
//! SentencePiece, and a vocabulary that is not known here (the `tokenizer.ggml.pre` of a new
//! model), is counted by llama.cpp, which takes linear time for WordPiece: the crate normalises
//! text in another way, takes time quadratic in a word, and counts one unknown token for a long
//! one, so that a chunk would not fit the embedder.
//!
//! The counts are those of llama.cpp, in the tests of this module. It reads 3.3 MB/s over whole
//! documents, and 6.1 MB/s sentence by sentence on two threads.

mod bpe;

use std::path::Path;
use std::sync::Arc;

use self::bpe::{Bpe, WordPattern};
use crate::event::{saturating_u32, with_short_rules};
use crate::llm::gguf::Metadata;
use crate::llm::{LlamaVocabulary, LlmError, Runtime};

/// Tokens that the embedder adds around a text.
const SPECIAL_TOKENS: u32 = 2;
/// Context size of an embedder whose file does not name one.
const DEFAULT_CONTEXT_TOKENS: u32 = 512;

/// Counts tokens. A clone shares the vocabulary.
#[derive(Clone)]
pub struct TokenCounter {
    vocabulary: Arc<Vocabulary>,
    max_text_tokens: u32,
}

enum Vocabulary {
    Bpe(Box<Bpe>),
    Llama(LlamaVocabulary),
}

impl TokenCounter {
    /// Creates the counter of the model in `file`.
    ///
    /// # Errors
    /// A file that cannot be read, or whose vocabulary neither this module nor llama.cpp knows.
    pub fn from_gguf(file: &Path, runtime: &Runtime) -> Result<Self, LlmError> {
        let metadata = Metadata::read(file)?;
        let context = metadata
            .trained_context_tokens()
            .and_then(|tokens| u32::try_from(tokens).ok());
        let context = context.unwrap_or(DEFAULT_CONTEXT_TOKENS);

        let vocabulary = match pattern(&metadata) {
            Some(pattern) => {
                let path = file.display().to_string();
                let bpe = Bpe::new(&metadata, pattern)
                    .map_err(|reason| LlmError::Unusable { path, reason })?;
                Vocabulary::Bpe(Box::new(bpe))
            }
            None => Vocabulary::Llama(LlamaVocabulary::load(runtime, file)?),
        };

        Ok(Self {
            vocabulary: Arc::new(vocabulary),
            max_text_tokens: context.saturating_sub(SPECIAL_TOKENS),
        })
    }

    /// Returns the number of tokens of `text`, without those that the model adds around it.
    pub fn count(&self, text: &str) -> u32 {
        saturating_u32(match &*self.vocabulary {
            Vocabulary::Bpe(vocabulary) => vocabulary.count(text),
            Vocabulary::Llama(vocabulary) => vocabulary.count(text),
        })
    }

    /// Returns the number of tokens of the text of a chunk as it is embedded.
    pub fn count_embedded(&self, text: &str) -> u32 {
        self.count(&with_short_rules(text))
    }

    /// Returns the number of tokens of the longest text that the model reads completely.
    pub fn max_text_tokens(&self) -> u32 {
        self.max_text_tokens
    }
}

/// Returns the word pattern of a BPE vocabulary; `None` for one that this module does not know.
fn pattern(metadata: &Metadata) -> Option<WordPattern> {
    let is_bpe = metadata.text("tokenizer.ggml.model") == Some("gpt2");
    is_bpe
        .then(|| WordPattern::from_metadata(metadata))
        .flatten()
}
