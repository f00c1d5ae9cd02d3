//! WordPiece as llama.cpp reads it (`llm_tokenizer_wpm` in `llama-vocab.cpp`).
//!
//! Words are split at white space, punctuation and Chinese characters, then into tokens, the
//! longest first. A token at the start of a word is stored with `▁` (U+2581) before it. A word with
//! a part that no token covers is one unknown token.

use std::collections::HashSet;

use super::characters::{Kind, base, kind, lower};
use super::count::CountTokens;
use super::vocabulary::Vocabulary;
use crate::llm::gguf::Metadata;

const WORD_START: &str = "\u{2581}";

/// A WordPiece vocabulary.
pub(super) struct WordPiece {
    tokens: HashSet<Box<str>>,
    /// The length of the longest token that begins with each byte, in bytes.
    longest: [usize; 256],
    lowercase: bool,
    strip_accents: bool,
}

impl WordPiece {
    pub(super) fn new(metadata: &Metadata) -> Result<Self, String> {
        let vocabulary = Vocabulary::new(metadata)?;
        let lowercase = metadata
            .flag("tokenizer.ggml.normalizer.lowercase")
            .unwrap_or(true);
        let mut longest = [0; 256];
        for token in vocabulary.iter() {
            if let Some(first) = token.text.bytes().next() {
                let longest = &mut longest[usize::from(first)];
                *longest = token.text.len().max(*longest);
            }
        }
        Ok(Self {
            longest,
            tokens: vocabulary
                .iter()
                .map(|token| Box::from(token.text))
                .collect(),
            lowercase,
            strip_accents: metadata
                .flag("tokenizer.ggml.normalizer.strip_accents")
                .unwrap_or(lowercase),
        })
    }

    /// Returns the number of tokens of a word that begins with [`WORD_START`].
    fn count_word(&self, word: &str) -> usize {
        let mut at = 0;
        let mut count = 0;
        while at < word.len() {
            let Some(length) = self.longest_token(&word[at..]) else {
                return 1;
            };
            at += length;
            count += 1;
        }
        count
    }

    /// Returns the length of the longest token that `rest` begins with, in bytes.
    fn longest_token(&self, rest: &str) -> Option<usize> {
        let first = rest.bytes().next()?;
        let mut end = rest.floor_char_boundary(self.longest[usize::from(first)]);
        while end > 0 {
            if self.tokens.contains(&rest[..end]) {
                return Some(end);
            }
            end = rest.floor_char_boundary(end - 1);
        }
        None
    }
}

impl CountTokens for WordPiece {
    fn count(&self, text: &str) -> usize {
        let mut count = 0;
        let mut word = String::from(WORD_START);
        let mut finish = |word: &mut String| {
            if word.len() > WORD_START.len() {
                count += self.count_word(word);
                word.truncate(WORD_START.len());
            }
        };
        for character in text.chars() {
            let character = if self.strip_accents {
                base(character)
            } else {
                character
            };
            let cased = if self.lowercase {
                lower(character)
            } else {
                character
            };
            match kind(character) {
                Kind::Space => finish(&mut word),
                Kind::Nothing => {}
                Kind::Accent if self.strip_accents => {}
                Kind::Alone => {
                    finish(&mut word);
                    word.push(cased);
                    finish(&mut word);
                }
                Kind::Accent | Kind::Part => word.push(cased),
            }
        }
        finish(&mut word);
        count
    }
}
