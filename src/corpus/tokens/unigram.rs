//! SentencePiece vocabularies of the `t5` kind: the most likely sequence of tokens
//! (`llm_tokenizer_ugm` in `llama-vocab.cpp`).
//!
//! The `tokenizers` crate finds the sequence. The text is normalised here, by the table in the
//! file, as llama.cpp does it; the crate applies such tables to one grapheme at a time and differs.

use tokenizers::Model;
use tokenizers::models::unigram::Unigram as Lattice;

use super::count::CountTokens;
use super::vocabulary::{Kind, Vocabulary};
use crate::llm::gguf::{Metadata, Value};

const SPACE: &str = "\u{2581}";

/// A SentencePiece vocabulary of the `t5` kind.
pub(super) struct Unigram {
    model: Lattice,
    replacements: Option<Replacements>,
    prepend_space: bool,
    append_space: bool,
    merge_spaces: bool,
}

impl Unigram {
    pub(super) fn new(metadata: &Metadata) -> Result<Self, String> {
        let vocabulary = Vocabulary::new(metadata)?;

        let unknown = metadata
            .number("tokenizer.ggml.unknown_token_id")
            .unwrap_or(2);
        let model = Lattice::from(pieces(&vocabulary), usize::try_from(unknown).ok(), false)
            .map_err(|error| format!("its vocabulary cannot be used: {error}"))?;

        let flag = |name: &str| {
            metadata
                .flag(&format!("tokenizer.ggml.{name}"))
                .unwrap_or(false)
        };
        let adds_space = flag("add_space_prefix");
        let is_suffix = flag("treat_whitespace_as_suffix");

        Ok(Self {
            model,
            replacements: metadata
                .list("tokenizer.ggml.precompiled_charsmap")
                .and_then(Replacements::new),
            prepend_space: adds_space && !is_suffix,
            append_space: adds_space && is_suffix,
            merge_spaces: flag("remove_extra_whitespaces"),
        })
    }

    /// Returns the text with characters replaced and spaces as characters of the vocabulary.
    fn normal_form(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len() + text.len() / 4);
        let mut is_prepended = false;
        let mut is_in_word = false;
        let mut rest = text;

        while !rest.is_empty() {
            let (piece, consumed) = self.replace_first(rest);
            for character in piece.chars() {
                if character == ' ' {
                    is_in_word = false;
                    if !self.merge_spaces {
                        normal.push_str(SPACE);
                    }
                    continue;
                }

                if !is_in_word && (self.merge_spaces || (self.prepend_space && !is_prepended)) {
                    normal.push_str(SPACE);
                    is_prepended = true;
                }
                is_in_word = true;
                normal.push(character);
            }
            rest = &rest[consumed..];
        }

        if self.append_space {
            normal.push_str(SPACE);
        }

        normal
    }

    /// Returns the replacement of the beginning of `rest`, and the number of bytes that it
    /// replaces.
    fn replace_first<'a>(&'a self, rest: &'a str) -> (&'a str, usize) {
        let replaced = self
            .replacements
            .as_ref()
            .and_then(|table| table.longest(rest));
        replaced.unwrap_or_else(|| {
            let length = rest.chars().next().map_or(rest.len(), char::len_utf8);
            (&rest[..length], length)
        })
    }
}

impl CountTokens for Unigram {
    fn count(&self, text: &str) -> usize {
        let normal = self.normal_form(text);
        // the unknown token covers what no other does, so that no text gives an error
        self.model
            .tokenize(&normal)
            .map_or(normal.len(), |tokens| tokens.len())
    }
}

/// Returns tokens with their scores. Those that no text can contain get an unreachable text.
fn pieces(vocabulary: &Vocabulary<'_>) -> Vec<(String, f64)> {
    let normal = || vocabulary.iter().filter(|token| token.kind == Kind::Normal);
    let min_score = normal()
        .map(|token| token.score)
        .fold(f64::INFINITY, f64::min);

    vocabulary
        .iter()
        .map(|token| match token.kind {
            Kind::Normal => (token.text.to_owned(), token.score),
            Kind::Unused => (token.text.to_owned(), token.score.max(min_score)),
            Kind::UserDefined => (token.text.to_owned(), 0.0),
            Kind::Unknown | Kind::Control | Kind::Byte => (format!("\0{}", token.text), 0.0),
        })
        .collect()
}

/// SentencePiece's table of normal forms: a double array that maps beginnings of a text to their
/// replacements.
struct Replacements {
    array: Vec<u32>,
    texts: Vec<u8>,
}

impl Replacements {
    fn new(table: &[Value]) -> Option<Self> {
        let byte = |value: &Value| match value {
            Value::Unsigned(byte) => u8::try_from(*byte).ok(),
            Value::Signed(byte) => i8::try_from(*byte).ok().map(i8::cast_unsigned),
            Value::Float(_) | Value::Bool(_) | Value::Text(_) | Value::List(_) => None,
        };

        let bytes: Vec<u8> = table.iter().map(byte).collect::<Option<_>>()?;
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (array, texts) = rest.split_at_checked(length)?;
        let array = array
            .as_chunks::<4>()
            .0
            .iter()
            .map(|node| u32::from_le_bytes(*node))
            .collect();

        Some(Self {
            array,
            texts: texts.to_owned(),
        })
    }

    /// Returns the replacement of the longest known beginning of `rest`, and the length of that
    /// beginning. A node has its base in bits 10 to 30 (shifted when bit 9 is set), the byte that
    /// leads to it in the low 8, and whether it is an end in bit 8.
    fn longest(&self, rest: &str) -> Option<(&str, usize)> {
        let base = |node: u32| (node >> 10) << ((node & (1 << 9)) >> 6);

        let mut at = base(*self.array.first()?);
        let mut found = None;
        for (index, byte) in rest.bytes().enumerate().take_while(|(_, byte)| *byte != 0) {
            at ^= u32::from(byte);
            let Some(node) = self
                .array
                .get(at as usize)
                .filter(|node| **node & (1 << 31 | 0xff) == u32::from(byte))
            else {
                break;
            };

            at ^= base(*node);
            if node & (1 << 8) != 0 {
                found = self
                    .array
                    .get(at as usize)
                    .map(|value| (value & !(1 << 31), index + 1));
            }
        }

        let (offset, length) = found.filter(|(_, length)| rest.is_char_boundary(*length))?;
        let text = self.texts.get(offset as usize..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some((std::str::from_utf8(&text[..end]).ok()?, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table that replaces `A` by `aa`: the root, its child, and the value of that.
    #[test]
    fn replacements_are_found() {
        let mut array = vec![0_u32; 256];
        array[0] = 1 << 10;
        // base 1, reached by 'A' at 1 ^ 0x41 = 0x40, an end, base 0x80 >> its value at 0x40 ^ 0x80
        array[0x40] = (0x80 << 10) | (1 << 8) | 0x41;
        array[0xc0] = (1 << 31) | 2;
        let mut table = (u32::try_from(array.len() * 4).expect("small"))
            .to_le_bytes()
            .to_vec();
        table.extend(array.iter().flat_map(|node| node.to_le_bytes()));
        table.extend(b"x\0aa\0");
        let values: Vec<Value> = table
            .iter()
            .map(|byte| Value::Unsigned(u64::from(*byte)))
            .collect();
        let table = Replacements::new(&values).expect("a table");
        assert_eq!(table.longest("AB"), Some(("aa", 1)));
        assert_eq!(table.longest("B"), None);
        assert_eq!(table.longest(""), None);
        assert!(Replacements::new(&values[..100]).is_none());
    }
}
