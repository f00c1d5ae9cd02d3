//! Sources that disagree: a sentence of another document that has another number where the one that
//! the answer cites has the number of the answer, or one that says otherwise than an answer without
//! a source.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use crate::engine::run::{Answer, Passages, Run};
use crate::event::{Citation, Conflict};

use super::changes::value_texts;
use super::marks::without_marks;
use super::quotes::quotation;
use super::sources::{SourceSentence, Supports};
use super::wording::{has_digit, numbers};

/// A sentence of a source that says otherwise.
struct Otherwise {
    citation: Citation,
    /// Whether its document is newer or older than the cited one; `None` where that is not known.
    age: Option<Ordering>,
}

/// Adds the sentence of a source that says otherwise than the answer to it; `uncited` are the steps
/// of the sentences that no source holds. Returns which that is; `None` where the sources that were
/// read agree, or the answer has both.
pub fn add_otherwise(
    run: &mut Run<'_>,
    answer: &mut Answer,
    uncited: &[u32],
    passages: &Passages,
) -> Option<Conflict> {
    let said = value_texts(&without_marks(&answer.text));
    if said.is_empty() && uncited.is_empty() {
        return None;
    }

    let supports = Supports::new(run.question, passages);
    let is_new = |other: &Otherwise| {
        let quote = other.citation.quote.as_deref().unwrap_or_default();
        !value_texts(quote).is_subset(&said)
    };
    // one is enough to look at both
    let (step, other) = answer.sentences.iter().find_map(|sentence| {
        let text = sentence.text();
        let mut cited = sentence.citations.iter();
        let found = if uncited.contains(&sentence.step) {
            let citation = supports.find_denying(text)?;
            Some(Otherwise {
                citation,
                age: None,
            })
        } else {
            cited.find_map(|citation| supports.find_otherwise(text, citation).filter(is_new))
        };
        found.map(|other| (sentence.step, other))
    })?;

    let conflict = Conflict {
        step,
        file: other.citation.file.clone(),
        newer: other.age.map(Ordering::is_gt),
    };
    let quote = quotation(other.citation.quote.as_deref().unwrap_or_default());
    let text = format!("≠ {}: “{quote}”", conflict.file);
    run.give_step(answer, "\n\n", text, Some(other.citation));
    Some(conflict)
}

impl Supports {
    /// Returns the source sentence that says otherwise than a sentence of the answer and the
    /// passage that it cites: the newest, of those of an unknown age the first.
    fn find_otherwise(&self, sentence: &str, cited: &Citation) -> Option<Otherwise> {
        let is_own = |one: &&SourceSentence| {
            let passage = &self.passages[one.passage];
            let is_asked = !one.stems.is_disjoint(&self.asked[passage.language]);
            passage.citation.label == cited.label
                && (is_asked || Some(&one.text) == cited.quote.as_ref())
        };
        let stated = value_texts(&without_marks(sentence));
        let own = self.sources.iter().filter(is_own).filter_map(|own| {
            let mut disputed = value_texts(&own.text);
            disputed.retain(|value| stated.contains(value));
            (!disputed.is_empty()).then_some((own, disputed))
        });
        let others = own.flat_map(|(own, disputed)| {
            let others = self.sources.iter();
            others.filter_map(move |other| Some((self.compare(own, &disputed, other)?, other)))
        });

        // of several newer ones the newest, in one document the last
        let rank = |(age, other): &(Option<Ordering>, &SourceSentence)| {
            let newer = age.is_some_and(Ordering::is_gt);
            let newest = newer.then(|| (other.date.clone(), other.lines));
            Reverse((age.map_or(0, |age| age as i8), newest))
        };
        let (age, other) = others.min_by_key(rank)?;
        Some(Otherwise {
            citation: self.quote(other),
            age,
        })
    }

    /// Returns the age of a sentence beside one that has the `disputed` values of the answer, where
    /// it says otherwise; `Some(None)` where it is not known.
    fn compare(
        &self,
        own: &SourceSentence,
        disputed: &BTreeSet<String>,
        other: &SourceSentence,
    ) -> Option<Option<Ordering>> {
        let of_other = value_texts(&other.text);
        if self.is_changed_by(own, other, disputed) || self.is_changed_by(other, own, &of_other) {
            return Some(self.order(other, own));
        }

        let age = self.age(other, own);
        let known = numbers(&other.text);
        let file = |one: &SourceSentence| &self.passages[one.passage].citation.file;
        let is_apart = file(other) != file(own) || other.date != own.date;
        let mut disputed = disputed.iter().filter(|value| has_digit(value));
        let has_another = is_apart
            && disputed.any(|number| !known.contains(number))
            && !known.is_subset(&numbers(&own.text));
        (has_another && self.is_same_subject(own, other, age)).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Hit;

    fn hit(id: u32, [path, date, heading, text]: [&str; 4]) -> Hit {
        let mut hit = Hit::from_text(id, path, text);
        hit.chunk.headings = vec![heading.to_owned()];
        hit.date = Some(date.to_owned()).filter(|date| !date.is_empty());
        hit
    }

    /// The age of the source that says otherwise than the answer, which cites the first one.
    fn otherwise(question: &str, answer: &str, sources: &[[&str; 4]]) -> Option<&'static str> {
        let hits = (1..).zip(sources).map(|(id, source)| hit(id, *source));
        let supports = Supports::new(question, &Passages::from_hits(hits.collect()));
        let cited = supports.quote(&supports.sources[0]);
        let found = supports.find_otherwise(answer, &cited)?;
        Some(match found.age {
            Some(Ordering::Greater) => "newer",
            Some(_) => "older",
            None => "unknown",
        })
    }

    #[test]
    fn a_source_says_otherwise_where_it_has_another_number_of_the_same_thing() {
        let claims = "Within how many days must claims be handed in?";
        let v1 = [
            "policy v1.md",
            "",
            "Policy, version 1",
            "Claims are handed in within 60 days.",
        ];
        let v2 = [
            "policy v2.md",
            "",
            "Policy, version 2",
            "Claims are handed in within 30 days.",
        ];
        assert_eq!(
            otherwise(claims, "Within 60 days.", &[v1, v2]),
            Some("newer")
        );
        assert_eq!(
            otherwise(claims, "Within 30 days.", &[v2, v1]),
            Some("older")
        );
        let asked = "Within how many days must claims be handed in by version 1?";
        assert_eq!(otherwise(asked, "Within 60 days.", &[v1, v2]), None);
        assert_eq!(otherwise(claims, "In time.", &[v1, v2]), None, "no number");

        let fee = "What is the annual fee for the bicycle room?";
        let meeting = "Minutes of the house meeting";
        let march = format!("{meeting}, 12 March 2026");
        let june = format!("{meeting}, 11 June 2026");
        let stays = "The annual fee for the bicycle room stays at 30 euros.";
        let rises = "The annual fee for the bicycle room goes up to 36 euros from July.";
        let first = ["2026-03-12.md", "2026-03-12", &march, stays];
        let second = ["2026-06-11.md", "2026-06-11", &june, rises];
        assert_eq!(otherwise(fee, "30 euros.", &[first, second]), Some("newer"));
        let asked = "What did the meeting in March say of the annual fee for the bicycle room?";
        assert_eq!(otherwise(asked, "30 euros.", &[first, second]), None);

        let code = "What is the code of the side door?";
        let old = "The code of the side door is 4417 from today.";
        let new = "The code of the side door is now 8802.";
        let mails = [
            ["a.eml", "2026-02-03", "", old],
            ["b.eml", "2026-05-18", "", new],
        ];
        assert_eq!(otherwise(code, "It is 4417.", &mails), Some("newer"));
        let undated = mails.map(|[path, _, heading, text]| [path, "", heading, text]);
        assert_eq!(otherwise(code, "It is 4417.", &undated), Some("unknown"));
    }

    #[test]
    fn a_number_of_another_thing_is_no_contradiction() {
        let guarantee = "How long is the guarantee of the Ostra kettle?";
        let two = "The guarantee covers all parts for 2 years.";
        let three = "The guarantee covers all parts for 3 years.";
        let products = [
            ["ostra.md", "", "Ostra kettle", two],
            ["velin.md", "", "Velin urn", three],
        ];
        assert_eq!(
            otherwise(guarantee, "2 years.", &products),
            None,
            "asked of one"
        );

        let built = "When were the ships built?";
        let heron = "The ship Silver Heron was built in 1959.";
        let falcon = "The ship Grey Falcon was built in 1964.";
        let ships = [["a.md", "", "", heron], ["b.md", "", "", falcon]];
        assert_eq!(otherwise(built, "In 1959.", &ships), None, "another name");

        let log = "What was the boiler pressure on 3 May 2026?";
        let days = [
            [
                "2026-05-03.md",
                "2026-05-03",
                "",
                "The boiler pressure was 14.",
            ],
            [
                "2026-05-04.md",
                "2026-05-04",
                "",
                "The boiler pressure was 16.",
            ],
        ];
        assert_eq!(otherwise(log, "It was 14.", &days), None, "asked of a day");
        let log = "What was the boiler pressure?";
        assert_eq!(otherwise(log, "It was 14.", &days), Some("newer"));

        let same = [["a.md", "", "", two], ["b.md", "", "", two]];
        assert_eq!(otherwise("How long is it?", "2 years.", &same), None);
        let own = [["a.md", "", "", two], ["a.md", "", "", three]];
        assert_eq!(
            otherwise("How long is it?", "2 years.", &own),
            None,
            "one document"
        );
    }
}
