//! Stop words, which hold a sentence together and say nothing alone, and the language that a
//! question shows by them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use tantivy::tokenizer::{Language, RawTokenizer, StopWordFilter, TextAnalyzer, TokenStream as _};
use whatlang::{Detector, Lang};

use super::expressions::{Expressions, Splitting};
use crate::letters;

/// Languages with lists, by their ISO 639-1 codes.
const LISTED: &[(&str, Language, Lang)] = &[
    ("da", Language::Danish, Lang::Dan),
    ("de", Language::German, Lang::Deu),
    ("en", Language::English, Lang::Eng),
    ("es", Language::Spanish, Lang::Spa),
    ("fi", Language::Finnish, Lang::Fin),
    ("fr", Language::French, Lang::Fra),
    ("hu", Language::Hungarian, Lang::Hun),
    ("it", Language::Italian, Lang::Ita),
    ("nl", Language::Dutch, Lang::Nld),
    ("no", Language::Norwegian, Lang::Nob),
    ("pt", Language::Portuguese, Lang::Por),
    ("ru", Language::Russian, Lang::Rus),
    ("sv", Language::Swedish, Lang::Swe),
];

/// English stop words beside those of tantivy's list, which has neither pronouns nor the words that
/// make a question.
const ENGLISH: &[&str] = &[
    "am", "been", "being", "can", "could", "did", "do", "does", "from", "had", "has", "have", "he",
    "her", "hers", "him", "his", "how", "i", "its", "me", "my", "our", "ours", "she", "should",
    "so", "than", "them", "those", "too", "us", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "would", "you", "your", "yours",
];

/// The stop words of a language.
pub(super) struct StopWords {
    /// `None` for a language without a list.
    list: Option<TextAnalyzer>,
    more: &'static [&'static str],
}

impl StopWords {
    pub fn new(code: &str) -> Self {
        let listed = LISTED.iter().find(|(listed, _, _)| *listed == code);
        let filter = listed.and_then(|(_, language, _)| StopWordFilter::new(*language));
        Self {
            list: filter.map(|filter| {
                let words = TextAnalyzer::builder(RawTokenizer::default());
                words.filter(filter).build()
            }),
            more: if code == "en" { ENGLISH } else { &[] },
        }
    }

    /// Returns whether a word in lower case is one of them.
    pub fn contains(&mut self, word: &str) -> bool {
        let list = self.list.as_mut();
        list.is_some_and(|list| !list.token_stream(word).advance())
            || self.more.binary_search(&word).is_ok()
    }
}

/// Returns the English name of a language with a list.
pub fn language_name(code: &str) -> Option<&'static str> {
    let listed = LISTED.iter().find(|(listed, ..)| *listed == code);
    listed.map(|(.., lang)| lang.eng_name())
}

/// Returns the language of a text that is too short to detect it by its letters: the one with most
/// of its stop words. A text without any may hold letters of a script beside Latin names: kana is
/// Japanese, Hangul Korean, and Han letters alone Chinese.
pub fn short_text_language(text: &str) -> Option<&'static str> {
    let all = LISTED.iter().map(|(language, ..)| *language).collect();
    let has = |letters: RangeInclusive<char>| text.contains(|c| letters.contains(&c));
    question_language(text, &all)
        .or_else(|| has('\u{3041}'..='\u{30ff}').then_some("ja"))
        .or_else(|| has('\u{ac00}'..='\u{d7a3}').then_some("ko"))
        .or_else(|| has('\u{4e00}'..='\u{9fff}').then_some("zh"))
}

/// Returns the language whose stop words a question has most of: one of those of the
/// documents, or another if the question says so clearly. `None` for a question without stop words.
pub(super) fn question_language(
    question: &str,
    languages: &BTreeSet<&str>,
) -> Option<&'static str> {
    let votes = count_stop_words(question);
    let most_of = |votes: &[usize]| votes.iter().copied().max().unwrap_or(0);
    let is_here = |at: usize| languages.contains(LISTED[at].0);
    let here: Vec<usize> = (0..votes.len())
        .filter(|at| is_here(*at))
        .map(|at| votes[at])
        .collect();
    let (most, most_here) = (most_of(&votes), most_of(&here));

    let is_foreign = most > 1 && most > 2 * most_here;
    let wanted = if is_foreign { most } else { most_here };
    let tied: Vec<usize> = (0..votes.len())
        .filter(|at| wanted > 0 && votes[*at] == wanted && (is_foreign || is_here(*at)))
        .collect();
    let [first, _, ..] = tied.as_slice() else {
        return tied.first().map(|at| LISTED[*at].0);
    };

    let detector = Detector::with_allowlist(tied.iter().map(|at| LISTED[*at].2).collect());
    let detected = detector.detect_lang(question);
    let found = LISTED.iter().find(|(_, _, lang)| Some(*lang) == detected);
    Some(found.unwrap_or(&LISTED[*first]).0)
}

/// Returns the number of words of a question that are stop words in each listed language.
fn count_stop_words(question: &str) -> Vec<usize> {
    thread_local! {
        static LISTS: RefCell<Vec<StopWords>> =
            RefCell::new(LISTED.iter().map(|(code, _, _)| StopWords::new(code)).collect());
    }

    let words = Expressions::new(question, Splitting::AtApostrophes);
    let distinct: BTreeSet<String> = words
        .map(|word| letters::normal(word.text).to_lowercase())
        // single letters stand for themselves as often
        .filter(|word| word.chars().nth(1).is_some())
        .collect();

    LISTS.with_borrow_mut(|lists| {
        let votes = lists.iter_mut().zip(LISTED).map(|(list, (language, ..))| {
            // "all huts" is no more Italian than "all'isola" is English
            let stands_alone = |word: &&String| *language != "it" || *word != "all";
            let words = distinct.iter().filter(stands_alone);
            words.filter(|word| list.contains(word)).count()
        });
        votes.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(ENGLISH.is_sorted());
    }

    #[test]
    fn a_question_shows_its_language() {
        let cases: [(&str, &[&str], Option<&str>); 11] = [
            ("list all huts", &["en", "it"], None),
            ("of the", &["de", "en"], Some("en")),
            ("the", &["de", "en"], Some("en")),
            (
                "when did the battery die in winter",
                &["de", "en"],
                Some("en"),
            ),
            (
                "wann ist im bootshaus die ruhezeit",
                &["de", "en"],
                Some("de"),
            ),
            ("was ist die ursache", &["de", "en"], Some("de")),
            ("what is the price of the pump", &["de"], Some("en")),
            ("die hard", &["en"], None),
            ("the", &["de"], None),
            ("pumpe hx 201", &["de", "en"], None),
            (
                "quel est le prix de la pompe",
                &["en", "fr", "it"],
                Some("fr"),
            ),
        ];
        for (question, languages, expected) in cases {
            let languages = languages.iter().copied().collect();
            assert_eq!(
                question_language(question, &languages),
                expected,
                "{question}"
            );
        }
        assert_eq!(short_text_language("Harwenby的市长是谁？"), Some("zh"));
        assert_eq!(short_text_language("What does 道 mean?"), Some("en"));
    }
}
