//! The words of a question, and the passages and sentences that hold them.

use std::collections::{BTreeMap, BTreeSet};

use crate::corpus::{is_month, language, split_words};
use crate::engine::run::Passages;
use crate::index::{content_words, path_words, short_text_language};

use super::wording::{has_digit, names};

/// Least share of the question's words in a sentence and its place that answers all of it.
const MIN_HELD: f32 = 0.8;
/// Words by which a question asks what may be done, which the text says by "may" or "must".
const ALLOWING: &str = "allowed permitted forbidden possible ok okay erlaubt gestattet verboten \
    möglich permis autorisé interdit possible permitido permite prohibido posible";

/// The words of a question, with their weight among the passages.
pub struct QuestionWords {
    pub language: &'static str,
    weights: BTreeMap<String, f32>,
    /// The words that name its dates.
    of_dates: BTreeSet<String>,
    /// The words of [`ALLOWING`].
    allowing: BTreeSet<String>,
    /// The words of the question in the text and the place of each passage.
    pub by_passage: Vec<BTreeSet<String>>,
}

impl QuestionWords {
    pub fn new(question: &str, passages: &Passages) -> Self {
        Self::in_language(question, language(question), passages)
    }

    fn in_language(question: &str, language: &'static str, passages: &Passages) -> Self {
        let words = content_words(question, language).into_iter();
        let begins_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let of_dates = split_words(question).filter(|word| is_month(word) || begins_number(word));
        let of_dates = of_dates.flat_map(|word| content_words(word, language));
        let mut known = Self {
            language,
            weights: words.map(|word| (word, 1.0)).collect(),
            of_dates: of_dates.collect(),
            allowing: content_words(ALLOWING, language).into_iter().collect(),
            by_passage: Vec::new(),
        };
        for hit in &passages.hits {
            let chunk = &hit.chunk;
            known
                .by_passage
                .push(known.find_in(&chunk.text_with_place()));
        }

        // a word that every passage holds does not set one apart from another
        let all = known.by_passage.len() as f32;
        for (word, weight) in &mut known.weights {
            let holding = known.by_passage.iter().filter(|held| held.contains(word));
            *weight = (1.0 + all / (1.0 + holding.count() as f32)).ln();
        }
        known
    }

    /// Returns whether no passage has some name or number of the question.
    pub fn lacks_name(&self, question: &str) -> bool {
        let held: BTreeSet<&String> = self.by_passage.iter().flatten().collect();
        let is_missing = |name: String| {
            let forms = content_words(&name, self.language);
            !forms.is_empty() && !forms.iter().any(|form| held.contains(form))
        };
        let numbers = question.split_whitespace().filter(|word| has_digit(word));
        let mut numbers = numbers.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        // German writes every noun as a name, and a title all of its words
        let words = split_words(question).count();
        let has_names = self.language != "de" && names(question).count() * 2 < words;
        numbers.any(|number| is_missing(number.to_owned()))
            || has_names && names(question).any(is_missing)
    }

    /// Returns whether words of a sentence are nearly all of the question, and its passage holds
    /// the others.
    pub fn are_held(&self, held: &BTreeSet<String>, passage: usize) -> bool {
        let of_passage = &self.by_passage[passage];
        let asked = || {
            let weights = self.weights.iter();
            weights.filter(|(word, _)| !self.allowing.contains(*word))
        };
        let total: f32 = asked().map(|(_, weight)| weight).sum();
        let common = asked().filter(|(word, _)| held.contains(*word));
        let common: f32 = common.map(|(_, weight)| weight).sum();
        total > 0.0
            && common >= total * MIN_HELD
            && asked().all(|(word, _)| of_passage.contains(word) || held.contains(word))
    }

    /// Returns the words of the question that a text holds.
    pub fn find_in(&self, text: &str) -> BTreeSet<String> {
        self.find_among(content_words(text, self.language))
    }

    /// Returns the words of the question in the path of a document, and the share of dates that it
    /// has; 0 without a date.
    pub fn find_in_path(&self, document: &str, dates: &[String]) -> (BTreeSet<String>, f32) {
        let words = path_words(document, self.language);
        let dated = dates.iter().filter(|date| words.contains(date));
        let dated = dated.count() as f32 / dates.len().max(1) as f32;
        (self.find_among(words), dated)
    }

    fn find_among(&self, mut words: Vec<String>) -> BTreeSet<String> {
        words.retain(|word| self.weights.contains_key(word));
        words.into_iter().collect()
    }

    /// Returns the weighted share of the words, in a document with this share of the dates that are
    /// asked about: one of the very day does not say again which it is.
    pub fn share(&self, words: &BTreeSet<String>, dated: f32) -> f32 {
        let counts = |word: &String| dated < 1.0 || !self.of_dates.contains(word);
        let counted = self.weights.iter().filter(|(word, _)| counts(word));
        let (mut total, mut held) = (0.0, 0.0);
        for (word, weight) in counted {
            total += weight;
            held += if words.contains(word) { *weight } else { 0.0 };
        }
        if total > 0.0 { held / total } else { 0.0 }
    }
}

/// Returns the share of the words of a text that the passages hold together, in the mean of some
/// texts; all of a text without words of content, and of no text.
pub fn mean_share(texts: &[String], passages: &Passages) -> f32 {
    let shares = texts.iter().map(|text| {
        let words = QuestionWords::new(text, passages);
        let held: BTreeSet<&String> = words.by_passage.iter().flatten().collect();
        match words.weights.len() {
            0 => 1.0,
            asked => held.len() as f32 / asked as f32,
        }
    });
    match texts.len() {
        0 => 1.0,
        count => shares.sum::<f32>() / count as f32,
    }
}

/// Returns whether the text and the place of each passage hold the words of what a question asks
/// for: all of up to three, three of four of more.
pub fn hold_subject(question: &str, subject: &str, passages: &Passages) -> Vec<bool> {
    let language = short_text_language(question).unwrap_or_else(|| language(subject));
    let words = QuestionWords::in_language(subject, language, passages);
    let least = words.weights.len() - words.weights.len() / 4;
    let held = words.by_passage.iter().map(BTreeSet::len);
    held.map(|count| count >= least).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Hit;

    #[test]
    fn the_words_of_a_question_are_held_by_a_sentence_and_its_place() {
        for (question, path, sentence, expected) in [
            (
                "Can I return an opened pack of filters?",
                "returns.txt",
                "Opened packs of descaler and filters are not taken back.",
                true,
            ),
            (
                "Am I allowed to paint the windows?",
                "lease.md",
                "The tenant must not paint the windows.",
                true,
            ),
            (
                "Am I allowed to smoke at the windows?",
                "lease.md",
                "The tenant must not paint the windows.",
                false,
            ),
            (
                "Is the pump suitable for sea water?",
                "pump.md",
                "It is not suitable for hot water.",
                false,
            ),
        ] {
            let hits = vec![Hit::from_text(1, path, sentence)];
            let words = QuestionWords::new(question, &Passages::from_hits(hits));
            let mut held = words.find_in(sentence);
            held.extend(words.find_in_path(path, &[]).0);
            assert_eq!(words.are_held(&held, 0), expected, "{question}");
        }
    }
}
