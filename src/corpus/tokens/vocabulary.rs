//! The vocabulary in a GGUF file: texts, scores and kinds of its tokens.

use tokenizers::models::bpe::Vocab;

use crate::llm::gguf::{Metadata, Value};

/// A token as it is in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) id: u32,
    pub(super) text: &'a str,
    /// Log-probability; 0 in vocabularies without scores.
    pub(super) score: f64,
    pub(super) kind: Kind,
}

/// The type of a token (`llama_token_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Unknown,
    Control,
    /// A token wherever its text occurs, before the text is split.
    UserDefined,
    Unused,
    Byte,
}

/// All tokens of a model, by id.
pub(super) struct Vocabulary<'a> {
    tokens: Vec<Token<'a>>,
}

impl<'a> Vocabulary<'a> {
    pub(super) fn new(metadata: &'a Metadata) -> Result<Self, String> {
        let texts = metadata
            .texts("tokenizer.ggml.tokens")
            .ok_or("it holds no vocabulary")?;
        let scores = metadata.list("tokenizer.ggml.scores").unwrap_or_default();
        let kinds = metadata
            .list("tokenizer.ggml.token_type")
            .unwrap_or_default();

        let token = |(id, text): (u32, &'a str)| Token {
            id,
            text,
            score: scores.get(id as usize).map_or(0.0, score),
            kind: kinds.get(id as usize).map_or(Kind::Normal, kind),
        };

        Ok(Self {
            tokens: (0..).zip(texts).map(token).collect(),
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Token<'a>> {
        self.tokens.iter()
    }

    /// Returns the id of each text.
    pub(super) fn ids(&self) -> Vocab {
        let tokens = self.tokens.iter();
        tokens
            .map(|token| (token.text.to_owned(), token.id))
            .collect()
    }

    /// Returns the texts that are tokens wherever they occur, the longest first.
    pub(super) fn user_defined(&self) -> Vec<String> {
        let tokens = self
            .tokens
            .iter()
            .filter(|token| token.kind == Kind::UserDefined && !token.text.is_empty());
        let mut texts: Vec<String> = tokens.map(|token| token.text.to_owned()).collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts
    }
}

fn score(value: &Value) -> f64 {
    if let Value::Float(score) = value {
        *score
    } else {
        0.0
    }
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Signed(2) | Value::Unsigned(2) => Kind::Unknown,
        Value::Signed(3) | Value::Unsigned(3) => Kind::Control,
        Value::Signed(4) | Value::Unsigned(4) => Kind::UserDefined,
        Value::Signed(5) | Value::Unsigned(5) => Kind::Unused,
        Value::Signed(6) | Value::Unsigned(6) => Kind::Byte,
        _ => Kind::Normal,
    }
}
