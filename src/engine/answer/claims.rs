//! Claims: what a sentence of the answer says, as the sources are compared with it, and the
//! sentence of a source that says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;

use crate::corpus::{language, named_cells, split_words};
use crate::event::Citation;
use crate::index::short_text_language;

use super::denials::{denies, is_negated};
use super::marks::{marks, without_marks};
use super::sources::{SourceSentence, Supports, largest};
use super::wording::{
    code_spans, counted_clauses, find_numbers_of_names, has_digit, is_code, is_entry, is_year,
    measures, names, numbers, stems, without_item_number, without_lead, without_yes_or_no,
};

/// Words of numbers that a source must hold as it must hold digits: three hundred years are not
/// three thousand.
const MAGNITUDES: &[&str] = &["hundred", "thousand", "million", "billion"];
/// Words in front of a limit, in lower case: the number is of the question, and of no source.
const LIMITING: &[&str] = &[
    "than", "least", "most", "over", "under", "above", "below", "als", "über", "unter",
];
/// Minimum share of a claim's weighted words in a source sentence that comes near to it. A
/// translation needs only a word of it, such as a name or a number.
pub const MIN_NEAR_SHARE: f32 = 0.3;
/// Least share of the words of a sentence that denies a claim which are of the claim or of the
/// question.
const MIN_DENYING: f32 = 0.8;
/// Words of a source sentence that are read on each side of those that a statement has, too.
const NEGATED_WITHIN: usize = 2;

/// Digits of a year, which is the number of no part.
const YEAR: usize = 4;

/// A sentence of the answer, without its marks and its number in a list.
pub struct Claim {
    pub language: &'static str,
    /// The words without stop words and endings, by the language of the passages that they are
    /// compared with.
    pub stems: BTreeMap<&'static str, BTreeSet<String>>,
    /// Numbers: a source must hold them all.
    pub numbers: BTreeSet<String>,
    /// The numbers that it writes in digits.
    digits: BTreeSet<String>,
    /// Names: their passage must hold them all.
    pub names: Vec<String>,
    /// The parts that it sets as code, in lower case, and whether the passages hold them.
    pub code: Vec<String>,
    pub is_code_held: bool,
    /// Whether it is code and nothing else.
    pub is_code: bool,
    /// Numbers with their units: a source sentence must hold both.
    pub measures: Vec<[String; 2]>,
    pub is_negated: bool,
}

/// A clause of a source sentence that has numbers.
struct Clause<'s> {
    /// The words that the question or the claim has, too.
    held: BTreeSet<String>,
    numbers: &'s BTreeSet<String>,
    /// Whether all of its words are among them.
    is_whole: bool,
}

impl Claim {
    /// Returns the numbers that every language writes in the same way.
    pub fn digits(&self) -> impl Iterator<Item = &String> {
        self.numbers.intersection(&self.digits)
    }
}

impl Supports {
    /// Returns what a sentence of the answer claims.
    pub fn claim(&self, sentence: &str) -> Claim {
        let text = without_marks(sentence);
        let text = without_yes_or_no(without_item_number(&text));
        let text = &self.without_limits(text);
        let language = match language(text) {
            // too short to detect it by its letters
            "en" => match self.foreign {
                Some(asked) => short_text_language(text).unwrap_or(asked),
                None => "en",
            },
            known => known,
        };
        let code = code_spans(text);
        let digits = numbers(text);
        let mut numbers = digits.clone();
        numbers.retain(|number| !self.question.contains(number));
        // what was asked of 2.39 is not in a passage about 2.35, and a question for 3 ways is
        // answered by three of them
        let is_long = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_digit());
        let asked = split_words(text).filter(|word| is_long(word) && self.question.contains(*word));
        numbers.extend(asked.map(str::to_owned));
        numbers.extend(find_numbers_of_names(text));
        let lower = text.to_lowercase();
        let magnitudes = split_words(&lower).filter(|word| MAGNITUDES.contains(word));
        numbers.extend(magnitudes.map(str::to_owned));

        // German writes every noun as English writes a name
        let names = if language == "de" {
            Vec::new()
        } else {
            names(text).collect()
        };
        // what leads to a statement is in no source; the names and numbers in it have to be
        let stems = self.passages.iter().map(|passage| {
            let mut stems = stems(without_lead(text), passage.language);
            self.remove_kind(&mut stems, passage.language);
            (passage.language, stems)
        });
        let is_held = |code: &String| self.passages.iter().any(|one| one.text.contains(code));
        Claim {
            language,
            stems: stems.collect(),
            numbers,
            digits,
            names,
            is_code_held: code.iter().all(is_held),
            is_code: is_code(text),
            code,
            measures: measures(text),
            is_negated: denies(text),
        }
    }

    /// Returns a sentence without the limits of the question: 24 beds are more than 20.
    fn without_limits(&self, text: &str) -> String {
        let words: Vec<&str> = text.split(' ').collect();
        let befores = once("").chain(words.iter().copied());
        let kept = befores.zip(&words).filter(|(before, word)| {
            let is_limited = LIMITING.contains(&before.to_lowercase().as_str());
            !(is_limited && self.question.contains(**word))
        });
        kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
    }

    /// Returns the words of a claim and those of the question, without stop words and endings, in
    /// the language of a source sentence.
    pub fn sought_words<'c>(
        &'c self,
        source: &SourceSentence,
        claim: &'c Claim,
    ) -> [&'c BTreeSet<String>; 2] {
        let language = self.passages[source.passage].language;
        [&claim.stems[language], &self.asked[language]]
    }

    /// Returns whether a source sentence, where it has the words of a claim, says that something is
    /// not so if and only if the claim does.
    pub fn agrees(&self, source: &SourceSentence, claim: &Claim) -> bool {
        let language = self.passages[source.passage].language;
        let [said, _] = self.sought_words(source, claim);
        // each cell of a row says something of its own
        let cells = source.text.rsplit(['|', ';']);
        let common = |cell: &&str| stems(cell, language).intersection(said).count();
        let text = cells.max_by_key(common).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_common = |word: &&str| !stems(word, language).is_disjoint(said);
        let Some(first) = words.iter().position(is_common) else {
            return true;
        };

        let last = words.iter().rposition(is_common).unwrap_or(first);
        let end = (last + 1 + NEGATED_WITHIN).min(words.len());
        let common = &words[first.saturating_sub(NEGATED_WITHIN)..end];
        // "12 shelves, not 14" says nothing against 12
        let is_of_other = |at: &usize| {
            let next = common.get(at + 1).copied().unwrap_or_default();
            let next = next.trim_matches(|c: char| !c.is_alphanumeric());
            has_digit(next) && !claim.numbers.contains(next)
        };
        let said = (0..common.len()).filter(|at| !is_of_other(at));
        is_negated(said.map(|at| common[at])) == claim.is_negated
    }

    /// Returns the sentence of the passage of a source that is nearer to what was asked, and says
    /// otherwise than a claim: another number in a list or table or in the same sentence, or that
    /// it is not so.
    pub fn find_contrary<'s>(
        &'s self,
        source: &'s SourceSentence,
        claim: &Claim,
    ) -> Option<&'s SourceSentence> {
        self.find_item_asked(source.passage, claim)
            .or_else(|| self.find_row_asked(source, claim))
            .or_else(|| self.find_section_asked(source, claim))
            .or_else(|| self.has_number_asked(source, claim).then_some(source))
            .or_else(|| self.find_denial(source, claim))
    }

    /// Returns the numbers of a claim that the question has not.
    fn added_numbers<'c>(&self, claim: &'c Claim) -> impl Iterator<Item = &'c String> {
        let digits = claim.digits();
        digits.filter(|number| !self.question.contains(*number))
    }

    /// Returns the words of a part of a source sentence that the question or a claim has, too, and
    /// the place of the passage has not: all of it is about that.
    fn in_common(
        &self,
        part: &BTreeSet<String>,
        source: &SourceSentence,
        claim: &Claim,
    ) -> BTreeSet<String> {
        let place = &self.passages[source.passage].place_stems;
        let [said, asked] = self.sought_words(source, claim);
        let held = said.union(asked).filter(|stem| part.contains(*stem));
        held.filter(|stem| !place.contains(*stem))
            .cloned()
            .collect()
    }

    /// Returns the same of the whole sentence, without numbers.
    fn words_in_common(&self, source: &SourceSentence, claim: &Claim) -> BTreeSet<String> {
        let mut words = self.in_common(&source.stems, source, claim);
        words.retain(|word| !has_digit(word));
        words
    }

    /// Returns the item or the row that was asked for, where a number of the claim is of others
    /// alone: it has the words that each of them has in common with the question and the claim,
    /// and more.
    fn find_item_asked(&self, passage: usize, claim: &Claim) -> Option<&SourceSentence> {
        let in_common = |one: &SourceSentence| self.words_in_common(one, claim);
        let values = |one: &SourceSentence| numbers(without_item_number(&one.text));
        self.added_numbers(claim).find_map(|number| {
            let own = self.sources_of(passage);
            let mut own = own.filter(|one| values(one).contains(number));
            let first = in_common(own.next().filter(|one| is_entry(&one.text))?);
            let others = own.map(in_common).all(|words| words.is_subset(&first));
            let mut entries = self.sources_of(passage).filter(|one| is_entry(&one.text));
            let is_asked = |one: &&SourceSentence| {
                let (words, numbers) = (in_common(one), values(one));
                let has_another = !numbers.is_empty() && numbers.is_disjoint(&claim.numbers);
                has_another && is_exceeded(&first, &words)
            };
            let is_compared = others && !first.is_empty();
            entries.find(is_asked).filter(|_| is_compared)
        })
    }

    /// Returns the row whose first cell is asked about, where the `source` is another row: what
    /// "orange" means is not what "red" does.
    fn find_row_asked(&self, source: &SourceSentence, claim: &Claim) -> Option<&SourceSentence> {
        let [_, asked] = self.sought_words(source, claim);
        let key = |one: &SourceSentence| {
            let cells = named_cells(&one.text)?;
            let key = stems(cells.first()?.1, self.passages[one.passage].language);
            Some(key).filter(|key| !key.is_empty())
        };
        if key(source).is_none_or(|own| own.is_subset(asked)) {
            return None;
        }
        self.sources_of(source.passage).find(|one| {
            // a row may say of another one who reports to it
            key(one).is_some_and(|key| key.is_subset(asked) && !key.is_subset(&source.stems))
        })
    }

    /// Returns whether a source sentence is in another numbered part of its document than the one
    /// that the question names, as in "section 4".
    pub fn is_in_other_part(&self, source: &SourceSentence) -> bool {
        let is_number =
            |word: &String| word.len() < YEAR && word.starts_with(|c: char| c.is_ascii_digit());
        let is_numbered = source.part.iter().any(is_number);
        is_numbered && !self.part.is_subset(&source.part)
    }

    /// Returns the sentence of another section of the passage, whose heading has more of the names
    /// of a claim, with another number for the words that the `source` has in common with it.
    fn find_section_asked(
        &self,
        source: &SourceSentence,
        claim: &Claim,
    ) -> Option<&SourceSentence> {
        let held = |one: &SourceSentence| -> BTreeSet<&String> {
            let is_held = |name: &&String| {
                let name = name.to_lowercase();
                one.above.contains(&name) || one.words.contains(&name)
            };
            claim.names.iter().filter(is_held).collect()
        };
        let own = held(source);
        let words = self.words_in_common(source, claim);
        let mut added = self.added_numbers(claim);
        if words.is_empty() || !added.any(|number| source.words.contains(number)) {
            return None;
        }
        self.sources_of(source.passage).find(|one| {
            let (names, values) = (held(one), numbers(&one.text));
            one.above != source.above
                && own.is_subset(&names)
                && own.len() < names.len()
                && !values.is_empty()
                && values.is_disjoint(&claim.numbers)
                && words.is_subset(&self.words_in_common(one, claim))
        })
    }

    /// Returns whether a clause of a source sentence is nearer to what was asked than the one that
    /// has the claim's number, and has another one.
    fn has_number_asked(&self, source: &SourceSentence, claim: &Claim) -> bool {
        let added: BTreeSet<&String> = self.added_numbers(claim).collect();
        let counted = counted_clauses(&source.text, self.passages[source.passage].language);
        let clauses: Vec<Clause<'_>> = counted
            .iter()
            .map(|(words, numbers)| {
                let mut held = self.in_common(words, source, claim);
                held.retain(|word| !numbers.contains(word) || self.question.contains(word));
                let mut others = words.difference(numbers);
                Clause {
                    is_whole: others.all(|word| held.contains(word)),
                    held,
                    numbers,
                }
            })
            .collect();
        let Some(first) = clauses.first() else {
            return false;
        };

        let [said, _] = self.sought_words(source, claim);
        let of_claim = |words: &BTreeSet<String>| said.intersection(words).cloned().collect();
        let is_nearer = |own: &Clause<'_>, number: &String, other: &Clause<'_>| {
            let mut others = other.numbers.iter();
            let is_other = others.clone().all(|one| !added.contains(one));
            let is_asked = others.clone().all(|one| self.question.contains(one));
            let is_kind = others.any(|one| is_year(one) == is_year(number));
            if !is_other || is_asked || !is_kind {
                return false;
            }
            // "tickets cost 30, students 15": what is not repeated stands in the first clause
            let continued: BTreeSet<String> = other.held.union(&first.held).cloned().collect();
            is_year(number) && is_exceeded(&own.held, &other.held)
                || other.is_whole
                    && !own.held.is_empty()
                    && is_exceeded(&of_claim(&own.held), &of_claim(&continued))
        };
        clauses.iter().any(|own| {
            let mut stated = own.numbers.iter().filter(|number| added.contains(number));
            stated.any(|number| clauses.iter().any(|other| is_nearer(own, number, other)))
        })
    }

    /// Returns the sentence that denies a claim, in words of the claim and of the question: it has
    /// those that the `source` has in common with the question, and more.
    fn find_denial(&self, source: &SourceSentence, claim: &Claim) -> Option<&SourceSentence> {
        let [said, asked] = self.sought_words(source, claim);
        let asked_of = |one: &SourceSentence| -> BTreeSet<String> {
            asked.intersection(&one.stems).cloned().collect()
        };
        let own = asked_of(source);
        self.sources_of(source.passage).find(|one| {
            let known = one.stems.iter();
            let known = known.filter(|stem| said.contains(*stem) || asked.contains(*stem));
            let mut added = said.difference(asked);
            is_exceeded(&own, &asked_of(one))
                && added.any(|stem| one.stems.contains(stem))
                && known.count() as f32 >= one.stems.len() as f32 * MIN_DENYING
                && !self.agrees(one, claim)
        })
    }

    /// Returns the sentence of a source that says otherwise than a sentence of the answer, which no
    /// source holds.
    pub fn find_denying(&self, sentence: &str) -> Option<Citation> {
        let claim = self.claim(sentence);
        let labels = marks(sentence);
        let (share, source) = largest(self.sources.iter().filter_map(|source| {
            let label = self.passages[source.passage].citation.label;
            let is_marked = labels.is_empty() || labels.contains(&label);
            is_marked.then(|| (self.share_with_question(source, &claim), source))
        }))?;
        let is_denied = share >= MIN_DENYING && !self.agrees(source, &claim);
        let is_near = share >= MIN_NEAR_SHARE;
        let contrary = || self.find_contrary(source, &claim).filter(|_| is_near);
        let contrary = is_denied.then_some(source).or_else(contrary)?;
        Some(self.quote(contrary))
    }

    /// Returns the share of the words of a claim in a source sentence, where those that it repeats
    /// from the question count half if they are elsewhere in the passage, and whole in its place.
    pub fn share_with_question(&self, source: &SourceSentence, claim: &Claim) -> f32 {
        let passage = &self.passages[source.passage];
        let [said, asked] = self.sought_words(source, claim);
        let elsewhere = passage.stems.difference(&source.stems);
        let elsewhere = elsewhere.filter(|word| said.contains(*word) && asked.contains(*word));
        let (placed, elsewhere): (BTreeSet<String>, BTreeSet<String>) = elsewhere
            .cloned()
            .partition(|word| passage.place_stems.contains(word));
        let near = self.share(said, &source.stems) + self.share(said, &placed);
        near + self.share(said, &elsewhere) / 2.0
    }
}

/// Returns whether others have all of some words, and more.
fn is_exceeded(words: &BTreeSet<String>, others: &BTreeSet<String>) -> bool {
    words.is_subset(others) && words != others
}
