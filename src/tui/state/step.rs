use crate::event::{AttendedChunk, Citation, Uncertainty};

use super::one_line;

/// A sentence of the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    pub step: u32,
    pub tokens: Vec<Token>,
    /// The tokens so far, then the text of the finished sentence; trimmed.
    pub text: String,
    /// Once the sentence is complete.
    pub uncertainty: Option<Uncertainty>,
    pub citations: Vec<Citation>,
    /// What the sentence attended to, where that was measured; strongest first.
    pub attended: Vec<AttendedChunk>,
    /// The sentences that it took the place of, oldest first.
    pub replaced: Vec<Doubted>,
    /// Was it taken over from another run?
    pub given: bool,
}

/// A sentence that was doubted and written again.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubted {
    pub text: String,
    pub tokens: Vec<Token>,
    pub uncertainty: Option<Uncertainty>,
}

/// A token of the answer; nats.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub text: String,
    pub logprob: f32,
    pub entropy: f32,
}

impl Step {
    pub(super) fn push(&mut self, token: Token) {
        if self.text.is_empty() {
            self.text.push_str(token.text.trim_start());
        } else {
            self.text.push_str(&token.text);
        }
        self.tokens.push(token);
    }

    /// The sentence begins; what was there already was doubted.
    pub(super) fn begin(&mut self) {
        if !self.tokens.is_empty() {
            let before = std::mem::take(self);
            let doubted = Doubted {
                text: before.text,
                tokens: before.tokens,
                uncertainty: before.uncertainty,
            };
            let replaced = before.replaced.into_iter().chain([doubted]).collect();
            *self = Self {
                step: before.step,
                replaced,
                ..Self::default()
            };
        }
    }

    /// What was measured of each sentence that stood here, oldest first.
    pub fn measured(&self) -> impl Iterator<Item = Option<&Uncertainty>> {
        let before = self
            .replaced
            .iter()
            .map(|doubted| doubted.uncertainty.as_ref());
        before.chain([self.uncertainty.as_ref()])
    }

    /// The tokens of the sentence that was first written: those that a query was made of.
    #[must_use]
    pub fn first_tokens(&self) -> &[Token] {
        self.replaced
            .first()
            .map_or(&self.tokens, |doubted| &doubted.tokens)
    }

    /// The word (tokens up to the next space) that holds the least certain token, and that token's entropy in nats.
    #[must_use]
    pub fn most_uncertain_word(&self) -> Option<(String, f32)> {
        let tokens = self.first_tokens();
        let (at, token) = tokens
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.entropy.total_cmp(&b.1.entropy))?;
        let begins = |token: &Token| token.text.starts_with(char::is_whitespace);
        let start = (0..=at).rev().find(|i| begins(&tokens[*i])).unwrap_or(0);
        let end = (at + 1..tokens.len())
            .find(|i| begins(&tokens[*i]))
            .unwrap_or(tokens.len());
        let word: String = tokens[start..end]
            .iter()
            .map(|token| token.text.as_str())
            .collect();
        let word = one_line(word.trim());
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        Some((
            if bare.is_empty() {
                word
            } else {
                bare.to_owned()
            },
            token.entropy,
        ))
    }
}

/// The words of a sentence (tokens up to the next space) with the mean entropy of their tokens, nats.
#[must_use]
pub fn words(tokens: &[Token]) -> Vec<(String, f32)> {
    let mut groups: Vec<Vec<&Token>> = Vec::new();
    for token in tokens {
        let open = groups
            .last()
            .is_some_and(|group| group.iter().all(|token| token.text.trim().is_empty()));
        match groups.last_mut() {
            Some(group) if open || !token.text.starts_with(char::is_whitespace) => {
                group.push(token)
            }
            Some(_) | None => groups.push(vec![token]),
        }
    }
    let word = |group: Vec<&Token>| {
        let text: String = group.iter().map(|token| token.text.as_str()).collect();
        let entropy = group.iter().map(|token| token.entropy).sum::<f32>() / group.len() as f32;
        (one_line(text.trim()), entropy)
    };
    groups
        .into_iter()
        .map(word)
        .filter(|(text, _)| !text.is_empty())
        .collect()
}
