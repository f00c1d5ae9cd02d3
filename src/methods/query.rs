//! The query of a retrieval in the middle of an answer.
//!
//! Uncertainty-aware query formulation after SEARAG, section 3.2 and equation 5: the words from the
//! first uncertain one on are what is missing, and the sentence before them (or the question) is
//! what it is about.

use super::calls::ModelCalls;
use super::measures::cosine;
use crate::corpus::language;
use crate::event::{QueryWord, UncertainRegion, WordOrigin, group_words, saturating_u32};
use crate::index::is_content_word;
use crate::llm::{LlmError, Token};

/// Maximum words of an uncertain region, and of a query from the whole history.
const MAX_WORDS: usize = 64;
/// Minimum cosine similarity of words and entities that overlap semantically; the paper has no
/// figure.
const MIN_SIMILARITY: f32 = 0.6;
/// Words that lead to the answer and are no part of it.
const LEAD_IN: &[&str] = &["so", "thus", "therefore", "answer"];

/// Standard deviations above the mean from which the entropy of a word is uncertain (equation 5).
const ALPHA: f64 = 1.0;

/// A word of a sentence: tokens up to the next white space.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// Trimmed of white space, with its punctuation.
    pub text: String,
    /// Mean entropy of its tokens, nats (section 3.2).
    pub entropy: f32,
    /// Probability of its least likely token.
    pub probability: f32,
    /// The same of its tokens with letters or digits, without its markup; 1 where it has none.
    pub letters_probability: f32,
}

/// Groups the tokens of a sentence into words.
pub fn words(tokens: &[Token]) -> Vec<Word> {
    let groups = group_words(tokens, |token| &token.text).into_iter();
    let groups = groups.filter(|(text, _)| !text.trim().is_empty());
    let words = groups.map(|(text, group)| {
        let has_letters = |token: &&Token| token.text.contains(char::is_alphanumeric);
        Word {
            text: text.trim().to_owned(),
            entropy: group.iter().map(|token| token.entropy).sum::<f32>() / group.len() as f32,
            letters_probability: least_probability(group.iter().copied().filter(has_letters)),
            probability: least_probability(group),
        }
    });
    words.collect()
}

/// Returns the probability of the least likely token; 1 without tokens.
pub fn least_probability<'t>(tokens: impl IntoIterator<Item = &'t Token>) -> f32 {
    let probabilities = tokens.into_iter().map(|token| token.logprob.exp());
    probabilities.fold(1.0, f32::min)
}

/// Returns where the uncertain region of a sentence begins, from the entropy of each word, nats
/// (equation 5): the threshold, mean plus alpha times the population standard deviation, and the
/// index of the first word above it.
pub fn uncertain_region(entropies: &[f64], alpha: f64) -> (f64, Option<usize>) {
    let count = entropies.len().max(1) as f64;
    let mean = entropies.iter().sum::<f64>() / count;
    let squares = entropies.iter().map(|entropy| (entropy - mean).powi(2));
    let deviation = (squares.sum::<f64>() / count).sqrt();

    let threshold = mean + alpha * deviation;
    let start = entropies.iter().position(|entropy| *entropy > threshold);
    (threshold, start)
}

/// A query, with the origin of each word.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WrittenQuery {
    pub words: Vec<QueryWord>,
    /// The uncertain region, for a query that was formed from one.
    pub region: Option<UncertainRegion>,
}

impl WrittenQuery {
    /// Uses a text as query, word for word.
    pub fn from_text(text: &str, origin: WordOrigin) -> Self {
        let word = |word: &str| QueryWord {
            text: word.to_owned(),
            origin,
        };
        Self {
            words: text.split_whitespace().map(word).collect(),
            region: None,
        }
    }

    /// Returns the text of the query.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    }

    /// Adds those words that the query does not have.
    pub fn push_new(&mut self, words: &[&str], origin: WordOrigin) {
        for word in words {
            let mut known = self.words.iter();
            if !known.any(|known| bare(&known.text) == bare(word)) {
                self.words.push(QueryWord {
                    text: (*word).to_owned(),
                    origin,
                });
            }
        }
    }
}

/// Forms a query from the question and all sentences so far; if that is too long, from the end of
/// it, as DRAGIN does.
pub fn full_history(question: &str, sentences: &[&str]) -> WrittenQuery {
    let mut query = WrittenQuery::from_text(question, WordOrigin::Question);
    for sentence in sentences {
        let written = WrittenQuery::from_text(sentence, WordOrigin::Sentence);
        query.words.extend(written.words);
    }
    let excess = query.words.len().saturating_sub(MAX_WORDS);
    query.words.drain(..excess);
    query
}

/// Forms the query of an uncertain sentence (section 3.2): a base and the content words of the
/// uncertain region. The base is the sentence before if its entities overlap with these words,
/// otherwise the question.
///
/// If no word is above the threshold, the whole sentence is the region. `previous` is the last
/// confirmed sentence.
///
/// # Errors
/// Failures of the embedder.
pub fn uncertainty_aware(
    calls: &mut dyn ModelCalls,
    question: &str,
    previous: Option<&str>,
    sentence: &[Word],
) -> Result<WrittenQuery, LlmError> {
    let entropies = sentence.iter().map(|word| f64::from(word.entropy));
    let entropies: Vec<f64> = entropies.collect();
    let (threshold, start) = uncertain_region(&entropies, ALPHA);
    let language = language(question);
    let region = sentence[start.unwrap_or(0)..].iter();
    let kept = region.map(|word| trim(&word.text));
    let kept = kept.filter(|word| is_content(word, language));
    let kept: Vec<&str> = kept.take(MAX_WORDS).collect();

    let base = match previous {
        Some(previous) if do_overlap(calls, &kept, &entities(previous))? => {
            WrittenQuery::from_text(previous, WordOrigin::Sentence)
        }
        Some(_) | None => WrittenQuery::from_text(question, WordOrigin::Question),
    };
    let mut query = WrittenQuery {
        region: Some(UncertainRegion {
            threshold: threshold as f32,
            first_word: start.map(saturating_u32),
        }),
        ..base
    };
    query.push_new(&kept, WordOrigin::UncertainRegion);
    Ok(query)
}

/// Returns whether the kept words and the entities overlap, lexically or semantically.
fn do_overlap(
    calls: &mut dyn ModelCalls,
    kept: &[&str],
    entities: &[&str],
) -> Result<bool, LlmError> {
    if kept.is_empty() || entities.is_empty() {
        return Ok(false);
    }
    let is_entity = |word: &&str| entities.iter().any(|entity| bare(entity) == bare(word));
    if kept.iter().any(is_entity) {
        return Ok(true);
    }

    let vectors = calls.embed(&[&kept.join(" "), &entities.join(" ")])?;
    Ok(matches!(vectors.as_slice(), [kept, entities] if cosine(kept, entities) >= MIN_SIMILARITY))
}

/// Returns the names and numbers of a sentence: words with a capital or a digit.
///
/// The first word has a capital anyway: it counts only when the word after it is a name too.
fn entities(sentence: &str) -> Vec<&str> {
    let words: Vec<&str> = sentence.split_whitespace().map(trim).collect();
    let is_name = |word: &str| {
        word.starts_with(char::is_uppercase) || word.contains(|c: char| c.is_ascii_digit())
    };

    let mut entities = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_certain = at > 0 || words.get(1).is_some_and(|next| is_name(next));
        if is_name(word) && is_certain {
            entities.push(*word);
        }
    }
    entities
}

/// Returns a word without the punctuation around it.
pub(super) fn trim(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Returns whether a word, with the punctuation around it, is none of the language's stop words and
/// no lead to the answer.
pub(super) fn is_content(word: &str, language: &str) -> bool {
    let word = trim(word);
    is_content_word(word, language) && !LEAD_IN.contains(&word.to_lowercase().as_str())
}

/// Returns a word as words are compared: in lower case, without the punctuation around it.
pub fn bare(word: &str) -> String {
    trim(word).to_lowercase()
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
            is_thought: false,
            alternatives: Vec::new(),
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
    fn a_base_is_kept_word_for_word() {
        let question = "Who is older, the director of the film A or the director of the film B?";
        let mut query = WrittenQuery::from_text(question, WordOrigin::Question);
        query.push_new(&["director", "Tam"], WordOrigin::UncertainRegion);
        assert_eq!(query.text(), format!("{question} Tam"));
    }

    #[test]
    fn a_query_of_the_history_has_its_last_sixty_four_words() {
        let long: Vec<String> = (0..100).map(|number| format!("w{number}")).collect();
        let history = full_history(&long.join(" "), &["The end."]);
        assert_eq!(history.words.len(), MAX_WORDS);
        assert!(
            history.text().ends_with("w99 The end."),
            "{}",
            history.text()
        );
    }
}
