//! FLARE retrieves when a token of the next sentence is unlikely, with the likely words of that
//! sentence.
//!
//! Jiang et al., "Active Retrieval Augmented Generation", EMNLP 2023: section 3.2.1 says when to
//! retrieve ([`THETA`]), section 3.2.2 with what ("implicit" queries, [`BETA`]). SEARAG is compared
//! with it (table 1). Here whole words are left out, since pieces of words search for nothing.

use super::query::{self, WrittenQuery};
use crate::event::{QueryWord, WordOrigin};
use crate::llm::Token;

/// Probability below which a token makes its sentence uncertain.
pub const THETA: f32 = 0.8;
/// Probability below which a token is left out of the query.
pub const BETA: f32 = 0.4;

/// Returns the words of a sentence whose tokens all have at least the probability beta; the
/// question, if there are none.
pub fn certain_words(question: &str, tokens: &[Token]) -> WrittenQuery {
    let certain = query::words(tokens).into_iter();
    let certain = certain.filter(|word| word.probability >= BETA);
    let certain = certain.map(|word| QueryWord {
        text: word.text,
        origin: WordOrigin::Sentence,
    });
    let certain: Vec<QueryWord> = certain.collect();
    if certain.is_empty() {
        return WrittenQuery::from_text(question, WordOrigin::Question);
    }
    WrittenQuery {
        words: certain,
        region: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns tokens with these texts and probabilities.
    fn tokens(of: &[(&str, f32)]) -> Vec<Token> {
        let token = |(text, probability): &(&str, f32)| Token {
            id: 0,
            text: (*text).to_owned(),
            logprob: probability.ln(),
            entropy: 0.0,
            attention: Vec::new(),
            is_thought: false,
            alternatives: Vec::new(),
        };
        of.iter().map(token).collect()
    }

    #[test]
    fn unlikely_words_are_left_out_whole() {
        let sentence = [
            (" Tam", 0.9),
            (" Re", 0.95),
            ("eve", 0.3),
            (" was", 1.0),
            (" born", 0.41),
        ];
        let cases = [
            (&sentence[..], "Tam was born"),
            (&[(" Lor", 0.2), ("by", 0.9)], "Where is it?"),
            (&[], "Where is it?"),
        ];
        for (sentence, expected) in cases {
            let query = certain_words("Where is it?", &tokens(sentence));
            assert_eq!(query.text(), expected);
        }
    }
}
