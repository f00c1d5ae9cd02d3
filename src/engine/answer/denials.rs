//! Questions that a "no" answers.

use crate::corpus::{count_negations, split_words};

/// Verbs that begin such a question, in lower case.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "am", "do", "does", "did", "can", "could", "may", "might", "must",
    "shall", "should", "will", "would", "has", "have", "had", "ist", "sind", "war", "waren", "hat",
    "haben", "hatte", "darf", "dürfen", "kann", "können", "muss", "müssen", "soll", "sollen",
    "wird", "werden", "gibt", "est", "sont", "es", "son", "está", "están", "hay", "se", "puedo",
    "puede", "pueden", "podemos", "debe", "tengo", "tiene", "tienen", "hace",
];
/// Ends of French verbs that a pronoun is behind: "peut-on".
const INVERSIONS: &[&str] = &[
    "-ce", "-je", "-tu", "-il", "-elle", "-on", "-nous", "-vous", "-ils", "-elles",
];
/// Words for something that was named before, in lower case.
const PRONOUNS: &[&str] = &[
    "it", "they", "he", "she", "this", "these", "es", "er", "sie", "dies", "diese", "il", "elle",
    "ils", "elles", "cela", "esto", "estos", "它", "他们",
];
/// Words of which a French question with such a verb asks something else, in lower case.
const ASKING: &[&str] = &[
    "où", "quand", "comment", "pourquoi", "combien", "qui", "que", "quoi", "quel", "quelle",
    "quels", "quelles",
];
/// Parts of a Chinese question that is answered by yes or no.
const CHINESE: &[&str] = &["吗", "是否", "有没有", "能不能", "可不可以", "能否"];

/// Returns whether a question is answered by yes or no.
pub fn asks_yes_or_no(question: &str) -> bool {
    let lower = question.to_lowercase().replace('’', "'");
    let first = split_words(&lower).next().unwrap_or_default();
    let mut words = lower.split_whitespace();
    let words_of = |words: &[&str]| split_words(&lower).any(|word| words.contains(&word));
    let has_pronoun = words.any(|word| INVERSIONS.iter().any(|end| word.ends_with(end)));
    VERBS.contains(&first)
        || has_pronoun && !words_of(ASKING)
        || CHINESE.iter().any(|part| lower.contains(part))
}

/// Returns whether a sentence begins with a word for something that the one before it names.
pub fn begins_with_pronoun(sentence: &str) -> bool {
    let first = split_words(sentence).next().unwrap_or_default();
    PRONOUNS.contains(&first.to_lowercase().as_str())
}

/// Returns whether a sentence says that something is not so.
pub fn denies(sentence: &str) -> bool {
    is_negated(sentence.split_whitespace())
}

/// Returns whether words deny something: by one "not", and not by two.
pub fn is_negated<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    count_negations(words) % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_by_yes_or_no_where_a_verb_begins_it() {
        for (question, expected) in [
            ("Is the shop open on Sundays?", true),
            ("May I keep a dog?", true),
            ("When is the shop open?", false),
            ("Darf ich einen Hund halten?", true),
            ("Wann darf ich mähen?", false),
            ("Est-ce que le port est ouvert ?", true),
            ("Peut-on congeler la tarte ?", true),
            ("Où peut-on dormir ?", false),
            ("¿Se puede congelar la tarta?", true),
            ("¿Cuándo se puede pagar?", false),
            ("商店星期天开门吗？", true),
            ("商店几点开门？", false),
        ] {
            assert_eq!(asks_yes_or_no(question), expected, "{question}");
        }
    }
}
