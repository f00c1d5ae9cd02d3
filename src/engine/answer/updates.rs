//! Updates: a question for a value that the sources state and a newer one states otherwise is
//! answered by the sentence of the newer one. Of two sentences small models take the one with more
//! words of the question, whatever the prompt says of their dates: of six such questions a model of
//! 1.5 billion parameters answered six with the older value.

use std::cmp::Ordering;

use crate::corpus::{is_month, split_words};
use crate::engine::run::{Answer, Passages, Run, Sentence};
use crate::event::{QuestionKind, Scope};
use crate::letters::{holds, normalise};

use super::changes::{ValueKind, values};
use super::quotes::quotation;
use super::scope::has_scope;
use super::sources::{SourceSentence, Supports, largest};
use super::threads::is_head;
use super::wording::has_digit;

/// Least share of the question's words in a sentence that would answer it and in its place.
const MIN_ASKED: f32 = 0.5;
/// The bonus of words in the sentence itself: less than the share of any word.
const OWN_BONUS: f32 = 1e-2;
/// Words of a question for a day or a time, in the form that they are compared in.
#[rustfmt::skip]
const FOR_DATES: &[&str] = &[
    "when", "date", "what day", "which day", "what time", "wann", "datum", "welchem tag",
    "welchen tag", "um wie viel uhr", "quand", "quel jour", "quelle heure", "quelle date",
    "cuándo", "qué día", "qué hora", "qué fecha", "什么时候", "何时", "哪天", "几点", "日期",
];
/// Words of a question for a number.
#[rustfmt::skip]
const FOR_NUMBERS: &[&str] = &[
    "how much", "how many", "how high", "how long", "how large", "code", "price", "fee", "total",
    "cost", "costs", "number", "wie viel", "wie viele", "wie hoch", "wie lange", "preis", "gebühr",
    "nummer", "combien", "prix", "montant", "numéro", "cuánto", "cuánta", "cuántos", "cuántas",
    "precio", "importe", "número", "código", "多少", "密码", "价格", "几个",
];
/// Words of a question for what was before, or for more than a value.
#[rustfmt::skip]
const FOR_MORE: &[&str] = &[
    "original", "originally", "first", "initial", "initially", "before", "previous", "previously",
    "old", "earlier", "was", "were", "had", "did", "why", "who", "how often", "and", "or",
    "ursprünglich", "zuerst", "vorher", "früher", "alte", "alter", "alten", "war", "waren", "hatte",
    "warum", "wer", "und", "oder", "initialement", "dabord", "avant", "ancien", "ancienne",
    "était", "étaient", "pourquoi", "qui", "et", "ou", "originalmente", "inicialmente", "antes",
    "anterior", "era", "fue", "quién", "y", "原来", "之前", "以前", "最初", "为什么", "和",
];

/// Words in front of a day that a question names.
const BEFORE_DAYS: &[&str] = &["on", "am", "le", "el"];

/// Answers with the newest sentence of the passages on what is asked, where an older one would
/// answer it otherwise; `None` where the model is to write.
pub fn give_update(
    run: &mut Run<'_>,
    scope: &Scope,
    confirmed: &[String],
    passages: &Passages,
) -> Option<Answer> {
    let is_fact = scope.kind == QuestionKind::Fact && scope.subjects.is_empty();
    if !is_fact || !confirmed.is_empty() || !has_scope(run.tools.config) {
        return None;
    }

    let supports = Supports::new(run.question, passages);
    let newest = supports.find_update(run.question)?;
    let citation = supports.quote(newest);
    let text = format!("“{}”", quotation(&newest.text));
    let mut answer = Answer::default();
    run.give_step(&mut answer, "", text.clone(), Some(citation.clone()));
    // it is checked as what a model writes
    answer.given = 0;
    answer.sentences.push(Sentence {
        step: 1,
        raw: text,
        citations: vec![citation],
        ..Sentence::default()
    });
    Some(answer)
}

impl Supports {
    /// Returns the newest sentence that states the value which is asked for, where the sentence
    /// with most words of the question is older, or is older than this one and states another.
    fn find_update(&self, question: &str) -> Option<&SourceSentence> {
        let kind = value_asked(question)?;
        let has_value = |one: &SourceSentence| {
            let mut values = values(&one.text).into_iter();
            !is_head(&one.text) && values.any(|value| is_of_kind(value.kind, kind))
        };
        let asked = |one: &SourceSentence| &self.asked[self.passages[one.passage].language];
        let own = self.sources.iter().filter(|one| has_value(one));
        // what a sentence does not repeat stands in its place
        let scored = own.map(|one| {
            let held = one.stems.union(&self.place_words(one)).cloned().collect();
            let own = self.share(asked(one), &one.stems);
            (self.share(asked(one), &held) + own * OWN_BONUS, one)
        });
        let (share, best) = largest(scored)?;
        if share < MIN_ASKED || best.stems.is_disjoint(asked(best)) {
            return None;
        }

        // what is further down alone may be another case of the same thing
        let is_newer = |one: &SourceSentence, older: &SourceSentence| {
            self.age(one, older) == Some(Ordering::Greater)
        };
        let newer_than = |older: &SourceSentence| {
            let newer = self.sources.iter().filter(|one| has_value(one));
            let newer = newer.filter(|one| is_newer(one, older) && self.replaces(one, older));
            newer.max_by_key(|one| (one.date.clone(), one.lines))
        };
        let changes_another = || {
            let mut others = self.sources.iter();
            others.any(|older| {
                has_value(older) && is_newer(best, older) && self.replaces(best, older)
            })
        };
        newer_than(best).or_else(|| changes_another().then_some(best))
    }
}

/// Returns whether a value may be what is asked for: "when" asks for a day or a time.
fn is_of_kind(kind: ValueKind, asked: ValueKind) -> bool {
    kind == asked || asked == ValueKind::Date && kind == ValueKind::Time
}

/// Returns the kind of value that a question asks for, and nothing else.
fn value_asked(question: &str) -> Option<ValueKind> {
    let text = normalise(question);
    let has = |words: &[&str]| words.iter().any(|phrase| holds(&text, &normalise(phrase)));
    let names_day = split_words(question).any(is_month) || has_digit(&text) && has(BEFORE_DAYS);
    if has(FOR_MORE) || names_day {
        return None;
    }
    match (has(FOR_DATES), has(FOR_NUMBERS)) {
        (true, _) => Some(ValueKind::Date),
        (false, true) => Some(ValueKind::Number),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Hit;

    #[test]
    fn a_value_that_a_newer_source_changes_is_not_given() {
        let planned = "The launch is planned for 3 June 2024. Ann is ill.";
        let moved = "Wen is back. The launch is moved to 24 June 2024.";
        let last = "The launch is moved up to 10 June 2024.";
        let garden = "The garden party is on 5 June.";
        let code = "The code of the gate is 5518.\n\nThe gate code was changed to 7204.";
        let fee = "The fee is 12 EUR. The fee is reduced to 8 EUR for children.";
        for (question, texts, expected) in [
            ("When is the launch?", vec![planned, moved], Some("24 June")),
            ("When is the launch?", vec![moved, planned], None),
            (
                "When is the launch?",
                vec![planned, moved, last],
                Some("10 June"),
            ),
            ("When is the launch?", vec![planned, garden], None),
            ("Who is ill at the launch?", vec![planned, moved], None),
            (
                "When was the launch first planned?",
                vec![planned, moved],
                None,
            ),
            ("When and where is the launch?", vec![planned, moved], None),
            // without a date the later one may be another case
            ("What is the code of the gate?", vec![code], None),
            ("What is the code of the gate?", vec![fee, code], None),
            ("What is the fee?", vec![fee], None),
        ] {
            let hits = (1..).zip(&texts).map(|(id, text)| {
                let mut hit = Hit::from_text(id, &format!("{id}.md"), text);
                hit.date = Some(format!("2024-0{id}-01"));
                hit
            });
            let supports = Supports::new(question, &Passages::from_hits(hits.collect()));
            let found = supports.find_update(question).map(|one| one.text.as_str());
            let is_right = match (found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found == expected,
            };
            assert!(is_right, "{question} {texts:?}: {found:?}");
        }
    }
}
