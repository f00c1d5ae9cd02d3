//! The query of a lookup in the middle of an answer.
//!
//! Uncertainty-aware query formulation after SEARAG, section 3.2 and equation 5: the words from the first uncertain one on say what is
//! missing, and the sentence before them (or the question) says about whom.

use super::{MethodError, ModelCalls, cosine};
use crate::corpus::language;
use crate::event::{QueryWord, WordOrigin};
use crate::index::is_content_word;
use crate::llm::Token;

/// A query has at most this many words.
const MAX_WORDS: usize = 64;
/// Words and entities at least this near each other (cosine) speak of the same thing.
const SAME_THING: f32 = 0.6;
/// Words that lead to the answer and say nothing of it.
const LEAD_IN: &[&str] = &["so", "thus", "therefore", "answer"];

/// A word of a sentence: tokens up to the next white space.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// Without the white space around it, with the punctuation that hangs on it.
    pub text: String,
    /// Mean entropy of its tokens, nats.
    pub entropy: f32,
}

/// The words of a sentence, from its tokens.
#[must_use]
pub fn words(tokens: &[Token]) -> Vec<Word> {
    let mut groups: Vec<(String, Vec<f32>)> = Vec::new();
    for token in tokens {
        let begins = token.text.starts_with(char::is_whitespace) || groups.is_empty();
        match groups.last_mut() {
            Some((text, entropies)) if !begins || text.trim().is_empty() => {
                text.push_str(&token.text);
                entropies.push(token.entropy);
            }
            Some(_) | None => groups.push((token.text.clone(), vec![token.entropy])),
        }
    }
    let words = groups
        .into_iter()
        .filter(|(text, _)| !text.trim().is_empty());
    words
        .map(|(text, entropies)| Word {
            text: text.trim().to_owned(),
            entropy: entropies.iter().sum::<f32>() / entropies.len() as f32,
        })
        .collect()
}

/// Where the doubt of a sentence begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UncertainRegion {
    /// Mean of the word entropies + alpha times their population standard deviation, nats.
    pub threshold: f64,
    /// The first word above it. The words before are reliable.
    pub start: Option<usize>,
}

/// The uncertain region of a sentence, from the entropy of each word (SEARAG, equation 5).
#[must_use]
pub fn uncertain_region(entropies: &[f64], alpha: f64) -> UncertainRegion {
    let count = entropies.len().max(1) as f64;
    let mean = entropies.iter().sum::<f64>() / count;
    let variance = entropies
        .iter()
        .map(|entropy| (entropy - mean).powi(2))
        .sum::<f64>()
        / count;
    let threshold = mean + alpha * variance.sqrt();
    UncertainRegion {
        threshold,
        start: entropies.iter().position(|entropy| *entropy > threshold),
    }
}

/// A query, word by word with where each came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WrittenQuery {
    pub words: Vec<QueryWord>,
    /// Where the doubt begins, when that was asked for.
    pub region: Option<UncertainRegion>,
}

impl WrittenQuery {
    /// A text as it is.
    #[must_use]
    pub fn of(text: &str, origin: WordOrigin) -> Self {
        let mut query = Self::default();
        query.push_all(text, origin);
        query
    }

    /// The text to look up.
    #[must_use]
    pub fn text(&self) -> String {
        self.words
            .iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Add the words of a text that are not there yet, as far as there is room.
    pub fn push_all(&mut self, text: &str, origin: WordOrigin) {
        for word in text.split_whitespace() {
            let known = self
                .words
                .iter()
                .any(|known| bare(&known.text) == bare(word));
            if !known && self.words.len() < MAX_WORDS {
                self.words.push(QueryWord {
                    text: word.to_owned(),
                    origin,
                });
            }
        }
    }
}

/// The question and all that was written so far; when that is too long, the end of it (DRAGIN cuts there, too).
#[must_use]
pub fn full_history(question: &str, sentences: &[&str]) -> WrittenQuery {
    let asked = question
        .split_whitespace()
        .map(|word| (word, WordOrigin::Question));
    let written = sentences
        .iter()
        .flat_map(|text| text.split_whitespace())
        .map(|word| (word, WordOrigin::Sentence));
    let mut words: Vec<_> = asked.chain(written).collect();
    words.drain(..words.len().saturating_sub(MAX_WORDS));
    let words = words.into_iter().map(|(word, origin)| QueryWord {
        text: word.to_owned(),
        origin,
    });
    WrittenQuery {
        words: words.collect(),
        region: None,
    }
}

/// The query of a doubted sentence: the content words of its uncertain region, behind the sentence before it when they speak of the
/// same thing, otherwise behind the question. `previous` is the last confirmed sentence.
///
/// # Errors
/// What the embedder fails with.
pub fn uncertainty_aware(
    calls: &mut dyn ModelCalls,
    question: &str,
    previous: Option<&str>,
    doubted: &[Word],
    alpha: f64,
) -> Result<WrittenQuery, MethodError> {
    let entropies: Vec<f64> = doubted.iter().map(|word| f64::from(word.entropy)).collect();
    let region = uncertain_region(&entropies, alpha);
    let language = language(question);
    let kept: Vec<&str> = doubted[region.start.unwrap_or(0)..]
        .iter()
        .map(|word| word.text.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| {
            is_content_word(word, language) && !LEAD_IN.contains(&word.to_lowercase().as_str())
        })
        .collect();
    let base = match previous {
        Some(previous) if speak_of_the_same(calls, &kept, &entities(previous))? => {
            WrittenQuery::of(previous, WordOrigin::Sentence)
        }
        Some(_) | None => WrittenQuery::of(question, WordOrigin::Question),
    };
    let mut query = WrittenQuery {
        region: Some(region),
        ..base
    };
    query.words.truncate(MAX_WORDS.saturating_sub(kept.len()));
    query.push_all(&kept.join(" "), WordOrigin::UncertainRegion);
    Ok(query)
}

/// Do the kept words and the entities overlap, in words or by meaning?
fn speak_of_the_same(
    calls: &mut dyn ModelCalls,
    kept: &[&str],
    entities: &[&str],
) -> Result<bool, MethodError> {
    if kept.is_empty() || entities.is_empty() {
        return Ok(false);
    }
    if kept
        .iter()
        .any(|word| entities.iter().any(|entity| bare(entity) == bare(word)))
    {
        return Ok(true);
    }
    let vectors = calls.embed(&[&kept.join(" "), &entities.join(" ")])?;
    Ok(matches!(vectors.as_slice(), [kept, entities] if cosine(kept, entities) >= SAME_THING))
}

/// Names and numbers: words with a capital or a digit. The first word has a capital anyway, so it counts when a name goes on after it.
fn entities(sentence: &str) -> Vec<&str> {
    let words: Vec<&str> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    let is_name = |word: &&str| {
        word.starts_with(char::is_uppercase) || word.contains(|c: char| c.is_ascii_digit())
    };
    let first = words
        .first()
        .filter(|word| is_name(word) && words.get(1).is_some_and(&is_name));
    first
        .into_iter()
        .chain(words.iter().skip(1).filter(|word| is_name(word)))
        .copied()
        .collect()
}

/// A word as words are compared: whole, without case and the punctuation around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, entropy: f32) -> Token {
        Token {
            id: 0,
            text: text.to_owned(),
            logprob: -entropy,
            entropy,
            attention: Vec::new(),
        }
    }

    #[test]
    fn words_are_groups_of_tokens_up_to_the_next_space() {
        let tokens = [
            token(" Tam", 0.2),
            token(" Re", 1.0),
            token("eve", 2.0),
            token(".", 0.0),
            token("\n", 0.4),
        ];
        let words = words(&tokens);
        let expected = [("Tam", 0.2), ("Reeve.", 1.0)];
        let found: Vec<(&str, f32)> = words
            .iter()
            .map(|word| (word.text.as_str(), word.entropy))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn entities_are_names_and_numbers() {
        let cases: [(&str, &[&str]); 4] = [
            ("Tam Reeve was born in Lorby.", &["Tam", "Reeve", "Lorby"]),
            ("Where was the Silver Heron built?", &["Silver", "Heron"]),
            ("He came in 1943", &["1943"]),
            ("", &[]),
        ];
        for (sentence, expected) in cases {
            assert_eq!(entities(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn a_query_has_no_word_twice_and_at_most_sixty_four() {
        let mut query = WrittenQuery::of("Where was Ann born?", WordOrigin::Question);
        query.push_all("born Annville", WordOrigin::UncertainRegion);
        assert_eq!(query.text(), "Where was Ann born? Annville");
        let long: Vec<String> = (0..100).map(|number| format!("w{number}")).collect();
        assert_eq!(
            WrittenQuery::of(&long.join(" "), WordOrigin::Question)
                .words
                .len(),
            MAX_WORDS
        );
        let history = full_history(&long.join(" "), &["The end."]);
        assert_eq!(history.words.len(), MAX_WORDS);
        assert!(
            history.text().ends_with("w99 The end."),
            "{}",
            history.text()
        );
    }
}
