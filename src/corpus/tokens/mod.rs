//! Counts the tokens of a text for the embedder: in parallel, and with the results of llama.cpp.
//!
//! The vocabulary comes from the model's own file. BPE and both kinds of SentencePiece run on the
//! `tokenizers` crate. WordPiece, and a vocabulary that these do not know (the `tokenizer.ggml.pre`
//! of a new model), is counted by llama.cpp, which takes linear time for it: the crate normalises
//! text in another way, takes time quadratic in a word, and counts one unknown token for a long
//! one, so that a chunk would not fit the embedder.
//!
//! The counts are those of llama.cpp, in the tests of this module. It reads 3.3 MB/s over whole
//! documents, and 6.1 MB/s sentence by sentence on two threads.

mod count;
mod vocabulary;
mod bpe;
mod sentencepiece;
mod unigram;

use std::path::Path;
use std::sync::Arc;

use self::count::CountTokens;
use self::vocabulary::Vocabulary;
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
    vocabulary: Arc<dyn CountTokens>,
    /// Texts that are tokens wherever they occur, the longest first.
    user_defined: Arc<[String]>,
    max_text_tokens: u32,
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
        let max_text_tokens = context.saturating_sub(SPECIAL_TOKENS);

        let Some(vocabulary) = known_vocabulary(&metadata) else {
            return Ok(Self {
                vocabulary: Arc::new(LlamaVocabulary::load(runtime, file)?),
                // llama.cpp finds them itself
                user_defined: Arc::default(),
                max_text_tokens,
            });
        };

        let unusable = |reason| LlmError::Unusable {
            path: file.display().to_string(),
            reason,
        };
        let user_defined = Vocabulary::new(&metadata).map_err(unusable)?.user_defined();
        Ok(Self {
            vocabulary: vocabulary.map_err(unusable)?,
            user_defined: user_defined.into(),
            max_text_tokens,
        })
    }

    /// Returns the number of tokens of `text`, without those that the model adds around it.
    pub fn count(&self, text: &str) -> u32 {
        saturating_u32(self.count_around(text, &self.user_defined))
    }

    /// Returns the number of tokens of the text of a chunk as it is embedded.
    pub fn count_embedded(&self, text: &str) -> u32 {
        self.count(&with_short_rules(text))
    }

    /// Counts the given texts, and what is between them.
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

    /// Returns the number of tokens of the longest text that the model reads completely.
    pub fn max_text_tokens(&self) -> u32 {
        self.max_text_tokens
    }
}

/// Returns the vocabulary of a model; `None` for one of a kind that this module does not know.
fn known_vocabulary(metadata: &Metadata) -> Option<Result<Arc<dyn CountTokens>, String>> {
    fn share<C: CountTokens + 'static>(
        vocabulary: Result<C, String>,
    ) -> Result<Arc<dyn CountTokens>, String> {
        Ok(Arc::new(vocabulary?))
    }

    match metadata.text("tokenizer.ggml.model")? {
        "gpt2" => {
            let pattern = bpe::WordPattern::from_metadata(metadata)?;
            Some(share(bpe::tokenizer(metadata, pattern)))
        }
        "llama" => Some(share(sentencepiece::tokenizer(metadata))),
        "t5" => Some(share(unigram::Unigram::new(metadata))),
        _ => None,
    }
}
