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

impl CountTokens for Tokenizer {
    fn count(&self, text: &str) -> usize {
        // a tokenizer covers any text, so that none gives an error; its bytes are the upper bound
        self.encode_fast(text, false)
            .map_or(text.len(), |encoding| encoding.len())
    }
}
