//! DRAGIN retrieves when the model is uncertain of a word that the words after it build on, with
//! the words that it attended to when it wrote that one.
//!
//! Su et al., "DRAGIN: Dynamic Retrieval Augmented Generation based on the Real-time Information
//! Needs of Large Language Models", ACL 2024: section 3.1 says when to retrieve (RIND), section 3.2
//! with what (QFS). SEARAG is compared with it (tables 1 and 2).
//!
//! Where paper and published code differ, this module does as the code: attention is that of the
//! written text alone, without the prompt, the shares of a sentence's words sum to 1, and the
//! number of its words is a factor, so that thresholds do not depend on the length. Attention is
//! averaged over the heads of the last layer, word by word, and a word's own attention to itself
//! counts.

use std::ops::Range;

use super::query::{self, WrittenQuery};
use crate::corpus::language;
use crate::event::WordOrigin;
use crate::llm::{Layers, LlmError, Tap, Token};

/// The need of a word for more information.
#[derive(Debug, Clone, PartialEq)]
pub struct InformationNeed {
    pub word: String,
    /// Entropy of the word, nats, times its share of the attention and the number of words: the
    /// entropy itself, if all words are attended to alike. 0 for stop words.
    pub value: f32,
}

/// Returns the last layer's attention between words that are one text, a space between them: row i,
/// column j is that of word i to word j.
fn attention<T: Tap + ?Sized>(model: &mut T, words: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
    let mut text = String::new();
    let mut spans: Vec<Range<usize>> = Vec::with_capacity(words.len());

    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        spans.push(text.len()..text.len() + word.len());
        text.push_str(word);
    }

    if spans.is_empty() {
        return Ok(Vec::new());
    }

    model.attend(&text, &spans, Layers::Last)
}

/// Need above which a word makes its sentence uncertain, in nats: a word that is attended to as
/// much as the others needs its entropy.
pub const MAX_NEED: f32 = 1.0;
/// Maximum words of a query, as in the published settings.
const QUERY_WORDS: usize = 25;

/// Returns the need of each word of the sentence that follows the confirmed ones (section 3.1).
///
/// # Errors
/// Failures of the model.
pub fn information_needs<T: Tap + ?Sized>(
    model: &mut T,
    confirmed: &[String],
    sentence: &[Token],
) -> Result<Vec<InformationNeed>, LlmError> {
    let words = query::words(sentence);
    let before = confirmed.iter().flat_map(|text| text.split_whitespace());
    let before: Vec<&str> = before.collect();
    let sentence: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let written = [before.as_slice(), &sentence].concat();
    let rows = attention(model, &written)?;

    let language = language(&written.join(" "));
    let entropies: Vec<f64> = words.iter().map(|word| f64::from(word.entropy)).collect();
    let values = needs(&entropies, &rows, before.len());
    let needs = words.into_iter().zip(values).map(|(word, value)| {
        let is_content = query::is_content(&word.text, language);
        InformationNeed {
            word: word.text,
            value: if is_content { value as f32 } else { 0.0 },
        }
    });
    Ok(needs.collect())
}

/// Returns the need of each word of a sentence from the entropies of its words and the attention
/// between the words of the text, of which word `first` is the sentence's first.
fn needs(entropies: &[f64], rows: &[Vec<f32>], first: usize) -> Vec<f64> {
    let largest = (first..first + entropies.len()).map(|at| {
        let of_later = rows.iter().skip(at).filter_map(|row| row.get(at));
        f64::from(of_later.copied().fold(0.0, f32::max))
    });
    let largest: Vec<f64> = largest.collect();
    let sum: f64 = largest.iter().sum();
    if sum <= 0.0 {
        return vec![0.0; entropies.len()];
    }

    let count = entropies.len() as f64;
    let needs = largest.iter().zip(entropies);
    let needs = needs.map(|(attention, entropy)| attention / sum * count * entropy);
    needs.collect()
}

/// Returns the query of an uncertain sentence (section 3.2): of the question, the confirmed
/// sentences and the sentence before its first word in need, the content words which that word
/// attends to most, in the order of the text. Without such a word before it, the question.
///
/// A word is in need above the threshold; if none is, it is the one with the largest need.
///
/// # Errors
/// Failures of the model.
pub fn attended_words<T: Tap + ?Sized>(
    model: &mut T,
    question: &str,
    confirmed: &[String],
    sentence: &[Token],
) -> Result<WrittenQuery, LlmError> {
    let needs = information_needs(model, confirmed, sentence)?;
    let Some(in_need) = first_in_need(&needs) else {
        return Ok(WrittenQuery::from_text(question, WordOrigin::Question));
    };

    let before = confirmed.iter().flat_map(|text| text.split_whitespace());
    let begun = needs[..in_need].iter().map(|need| need.word.as_str());
    let mut words: Vec<&str> = question.split_whitespace().collect();
    let mut origins = vec![WordOrigin::Question; words.len()];
    words.extend(before.chain(begun));
    origins.resize(words.len(), WordOrigin::Sentence);
    words.push(&needs[in_need].word);
    let rows = attention(model, &words)?;
    let attended = rows.last().map(Vec::as_slice).unwrap_or_default();

    let language = language(question);
    let content = attended.iter().copied().enumerate().take(origins.len());
    let content = content.filter(|(at, _)| query::is_content(words[*at], language));
    let mut content: Vec<(usize, f32)> = content.collect();
    content.sort_by(|a, b| b.1.total_cmp(&a.1));
    content.truncate(QUERY_WORDS);
    content.sort_by_key(|(at, _)| *at);

    let mut written = WrittenQuery::default();
    for (at, _) in content {
        written.push_new(&[query::trim(words[at])], origins[at]);
    }
    if written.words.is_empty() {
        return Ok(WrittenQuery::from_text(question, WordOrigin::Question));
    }
    Ok(written)
}

/// Returns the first word above the threshold, otherwise the one with the largest need; `None` for
/// a sentence without one.
fn first_in_need(needs: &[InformationNeed]) -> Option<usize> {
    let above = needs.iter().position(|need| need.value > MAX_NEED);
    above.or_else(|| {
        let by_value = |a: &&InformationNeed, b: &&InformationNeed| a.value.total_cmp(&b.value);
        let largest = needs
            .iter()
            .filter(|need| need.value > 0.0)
            .max_by(by_value)?;
        needs.iter().position(|need| need == largest)
    })
}

/// Returns the largest need of the words; 0 without words.
pub fn largest_need(needs: &[InformationNeed]) -> f32 {
    needs.iter().map(|need| need.value).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The golden numbers are computed with numpy: `W[first:, first:]` under the diagonal, column
    /// maxima, divided by their sum, times the entropies and their number.
    #[test]
    fn a_need_is_entropy_times_the_share_of_attention_times_the_words() {
        let rows = vec![
            vec![1.0, 0.0, 0.0, 0.0],
            vec![0.6, 0.4, 0.0, 0.0],
            vec![0.3, 0.5, 0.2, 0.0],
            vec![0.2, 0.1, 0.45, 0.25],
        ];
        let cases: [(&[f64], usize, &[f64]); 4] = [
            (
                &[0.5, 2.0, 1.0, 0.1],
                0,
                &[0.909_090_909, 1.818_181_818, 0.818_181_818, 0.045_454_545],
            ),
            (&[2.0, 1.0, 0.1], 1, &[2.5, 1.125, 0.0625]),
            (&[3.0], 3, &[3.0]),
            (&[], 4, &[]),
        ];
        for (entropies, first, expected) in cases {
            let found = needs(entropies, &rows, first);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
        assert_eq!(needs(&[1.0, 1.0], &[], 0), [0.0, 0.0]);
    }

    #[test]
    fn the_first_word_in_need_is_searched_for() {
        let need = |value| InformationNeed {
            word: "w".to_owned(),
            value,
        };
        let cases: [(&[f32], Option<usize>); 4] = [
            (&[0.0, 1.2, 3.0], Some(1)),
            (&[0.1, 0.9, 0.3], Some(1)),
            (&[0.0, 0.0], None),
            (&[], None),
        ];
        for (values, expected) in cases {
            let needs: Vec<InformationNeed> = values.iter().map(|value| need(*value)).collect();
            assert_eq!(first_in_need(&needs), expected, "{values:?}");
        }
    }
}
