//! Disputes: what one sentence of the sources says, another says otherwise, about the same thing
//! and with another number.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::corpus::{is_month, split_words};
use crate::index::{compare_versions, is_content_word};

use super::sources::{Source, SourceSentence, Supports};
use super::wording::{names, stems};

/// Least share of their words that two sentences about the same thing have in common (Dice's
/// coefficient): of issues of one document, which say the same in much the same words, and of two
/// documents of which none is known to be the newer one.
const MIN_COMMON: f32 = 0.7;
const MIN_COMMON_UNDATED: f32 = 0.75;
/// Least number of words in common.
const MIN_COMMON_WORDS: usize = 2;

impl Supports {
    /// Returns how a sentence is ordered against another: by their dates, or as those of versions
    /// of one file.
    pub fn age(&self, one: &SourceSentence, other: &SourceSentence) -> Option<Ordering> {
        let dates = one.date.as_ref().zip(other.date.as_ref());
        let by_date = dates.map(|(one, other)| one.cmp(other));
        let [one, other] = [one, other].map(|sentence| &self.passages[sentence.passage]);
        by_date
            .filter(|order| order.is_ne())
            .or_else(|| compare_versions(&one.citation.file, &other.citation.file))
    }

    /// Returns whether two sentences are about the same thing, by their words and by those of the
    /// question.
    pub fn is_same_subject(
        &self,
        own: &SourceSentence,
        other: &SourceSentence,
        age: Option<Ordering>,
    ) -> bool {
        let [from, to] = [own, other].map(|sentence| &self.passages[sentence.passage]);
        if from.language != to.language {
            return false;
        }

        // what was asked of one day is not what another day says
        let is_of_day = |sentence: &SourceSentence| {
            let date = sentence.date.as_deref().unwrap_or_default();
            self.days.iter().any(|day| date.starts_with(day))
        };
        if is_of_day(own) && !is_of_day(other) {
            return false;
        }

        let language = from.language;
        let [said, said_there] = [own, other].map(|sentence| subject_words(sentence, language));
        let common = said.intersection(&said_there).count();
        let share = 2.0 * common as f32 / (said.len() + said_there.len()).max(1) as f32;
        let least = match age {
            Some(_) => MIN_COMMON,
            None => MIN_COMMON_UNDATED,
        };
        let is_asked_of_both = self.asked[language]
            .iter()
            .all(|word| !has_word(own, from, word) || has_word(other, to, word));
        common >= MIN_COMMON_WORDS
            && share >= least
            && is_asked_of_both
            && names_are_in(own, other, to)
            && names_are_in(other, own, from)
    }
}

/// Returns the words of what a sentence is about: neither its numbers nor its months.
fn subject_words<'s>(sentence: &'s SourceSentence, language: &str) -> BTreeSet<&'s String> {
    let dates = split_words(&sentence.text).filter(|word| is_month(word));
    let dates: BTreeSet<String> = dates.flat_map(|word| stems(word, language)).collect();
    let is_said = |stem: &&String| !stem.contains(|c: char| c.is_ascii_digit());
    let stems = sentence.stems.iter().filter(is_said);
    stems.filter(|stem| !dates.contains(*stem)).collect()
}

fn has_word(sentence: &SourceSentence, passage: &Source, word: &String) -> bool {
    sentence.stems.contains(word) || passage.place_stems.contains(word)
}

/// Returns whether the names of a sentence are in another one or in its place: what is said of
/// another person is no contradiction. German writes every noun as English writes a name.
fn names_are_in(sentence: &SourceSentence, other: &SourceSentence, passage: &Source) -> bool {
    let first = split_words(&sentence.text).next();
    // "Sorry, the code is 7": a word before a comma is none
    let is_name = |word: &&str| {
        let rest = sentence.text.split_once(*word).map_or("", |(_, rest)| rest);
        !rest.starts_with(',') && is_content_word(word, passage.language)
    };
    let first = first.filter(is_name).map(str::to_owned);
    let mut names = names(&sentence.text)
        .chain(first)
        .filter(|name| !is_month(name));
    passage.language == "de"
        || names.all(|name| {
            let mut forms = stems(&name, passage.language).into_iter();
            forms.any(|form| has_word(other, passage, &form))
        })
}
