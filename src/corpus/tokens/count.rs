//! The counting of tokens: by llama.cpp, or by a tokenizer of the crate.

use tokenizers::Tokenizer;

use crate::llm::LlamaVocabulary;

/// A vocabulary that counts the tokens of a text.
pub(super) trait CountTokens: Send + Sync {
    fn count(&self, text: &str) -> usize;
}

impl CountTokens for LlamaVocabulary {
    fn count(&self, text: &str) -> usize {
        LlamaVocabulary::count(self, text)
    }
}

/// Returns the number of tokens of a text by a tokenizer of the crate. A tokenizer covers any text,
/// so that no text gives an error; its bytes are the upper bound.
pub(super) fn encoded_length(tokenizer: &Tokenizer, text: &str) -> usize {
    tokenizer
        .encode_fast(text, false)
        .map_or(text.len(), |encoding| encoding.len())
}
