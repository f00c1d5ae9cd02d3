//! Citations: the chunk that supports a sentence of the answer, by the label that the model wrote
//! where that chunk holds what the sentence says, or else by the source sentence that holds its
//! words.

use std::collections::BTreeSet;

use crate::corpus::split_words;
use crate::event::{Citation, Evidence};

use super::claims::{Claim, MIN_NEAR_SHARE};
use super::denials::denies;
use super::marks::{marks, without_marks};
use super::sources::{Source, SourceSentence, Supports, largest};
use super::wording::{clauses, concludes, is_entry, names, stems};

/// The share of a source sentence that holds all words of a sentence.
pub const WHOLE_SHARE: f32 = 0.99;
/// Minimum share of a sentence's weighted words that the source sentence must hold to support it.
const MIN_SHARE: f32 = 0.6;
/// The same of a passage that the model names: it may word freely what it read there.
const MIN_MARKED_SHARE: f32 = 0.2;
/// Numbers, and numbers and names, that a sentence in another language must have in common.
const MIN_NUMBERS: usize = 2;
const MIN_NUMBERS_AND_NAMES: usize = 3;

impl Supports {
    /// Returns the citations of `sentence`: the passages that it marks with a label and that hold
    /// what it says, otherwise the source sentence that holds most of its words, if any holds
    /// enough of them.
    pub fn cite(&self, sentence: &str) -> Vec<Citation> {
        let claim = self.claim(sentence);
        if concludes(sentence) {
            let best = self.best(&claim, self.sources.iter());
            if best.is_none_or(|(share, _)| share < WHOLE_SHARE) {
                return Vec::new();
            }
        }
        let marked: Vec<Citation> = marks(sentence)
            .into_iter()
            .filter(|label| !self.is_copied(*label, &claim))
            .filter_map(|label| self.find_marked(label, &claim))
            .collect();
        if !marked.is_empty() {
            return marked;
        }
        let copied = self.find_copied(&claim);
        let found = copied.or_else(|| self.best_by_words(&claim));
        match found.or_else(|| self.find_translated(sentence, &claim)) {
            Some(found) => vec![found],
            None => self.cite_clauses(sentence),
        }
    }

    /// Returns the citation of the source sentence in another language that holds what a claim says
    /// in no language: its code, its numbers and its names.
    fn find_translated(&self, sentence: &str, claim: &Claim) -> Option<Citation> {
        let is_command = claim.code.iter().any(|code| code.contains(' '));
        // a command is of the sentence, and the name of a file may be that of the passage
        let holds_code = |code: &str, source: &SourceSentence, passage: &Source| {
            source.holds_code(code) || !code.contains(' ') && passage.text.contains(code)
        };
        let scored = self.sources.iter().filter_map(|source| {
            let passage = &self.passages[source.passage];
            let mut code = claim.code.iter();
            let is_held = passage.language != claim.language
                && denies(&source.text) == claim.is_negated
                && claim.numbers.is_subset(&source.words)
                && code.all(|code| holds_code(code, source, passage))
                && self.holds_facts(source.passage, claim);
            let capitals = names(sentence)
                .filter(|name| split_words(&source.text).any(|word| word == name.as_str()));
            let held = claim.numbers.len() + capitals.count();
            let is_enough = is_command
                || claim.numbers.len() >= MIN_NUMBERS
                || !claim.numbers.is_empty() && held >= MIN_NUMBERS_AND_NAMES;
            (is_held && is_enough).then_some((held as f32, source))
        });
        let (_, source) = largest(scored)?;
        Some(Citation {
            evidence: Evidence::Overlap { share: 1.0 },
            ..self.quote(source)
        })
    }

    /// Returns the citations of the clauses of a sentence that says something of several things;
    /// none where one of them has none.
    fn cite_clauses(&self, sentence: &str) -> Vec<Citation> {
        let text = without_marks(sentence);
        let clauses = clauses(&text);
        if clauses.len() < 2 {
            return Vec::new();
        }
        let mut cited: Vec<Citation> = Vec::new();
        for (at, clause) in clauses.into_iter().enumerate() {
            let mut claim = self.claim(clause);
            // the first word of a sentence is in capitals, and that of a clause is of a name
            let first = split_words(clause).next().filter(|_| at > 0);
            let first = first.filter(|word| word.starts_with(char::is_uppercase));
            claim
                .names
                .extend(first.filter(|_| claim.language != "de").map(str::to_owned));
            let found = self.best_by_words(&claim);
            // what names nothing is about what the clause before it is about
            let of_last = |one: &Citation| cited.last().is_none_or(|last| last.label == one.label);
            match found.filter(|one| !claim.names.is_empty() || of_last(one)) {
                Some(found) => cited.push(found),
                None => return Vec::new(),
            }
        }
        cited.dedup_by_key(|citation| citation.label);
        cited
    }

    /// Returns whether a mark is the passage's own, a reference to its notes, which the model
    /// copied with the sentence before it.
    fn is_copied(&self, label: u32, claim: &Claim) -> bool {
        let best = self.best(claim, self.sources.iter());
        best.is_some_and(|(_, source)| marks(&source.text).contains(&label))
    }

    /// Returns whether a passage holds the names of a claim, and each of its numbers and its unit
    /// in one sentence, since an extension of 4410 is not 4410 EUR; and some passage its code.
    fn holds_facts(&self, passage: usize, claim: &Claim) -> bool {
        let of_passage = &self.passages[passage];
        let holds_name = |name: &String| {
            let is_word = of_passage.words.contains(&name.to_lowercase());
            is_word || !stems(name, of_passage.language).is_disjoint(&of_passage.stems)
        };
        let holds_measure = |measure: &[String; 2]| {
            let mut sources = self.sources_of(passage);
            sources.any(|source| measure.iter().all(|part| source.words.contains(part)))
        };
        claim.is_code_held
            && claim.names.iter().all(holds_name)
            && claim.measures.iter().all(holds_measure)
    }

    /// Returns whether a row of a table holds the names and the code of a claim, or its place does:
    /// the other rows are about other things. True of every other sentence.
    fn is_row_of(&self, source: &SourceSentence, claim: &Claim) -> bool {
        let passage = &self.passages[source.passage];
        let holds_name = |name: &String| {
            let name = name.to_lowercase();
            source.words.contains(&name) || passage.place.contains(&name)
        };
        !source.text.starts_with('|')
            || claim.code.iter().all(|code| source.holds_code(code))
                && claim.names.iter().all(holds_name)
    }

    /// Returns the words of a source sentence, with those of the sentences that hold the other
    /// numbers of a claim. `None` where no source is for a number: the sentence itself, one beside
    /// it, its place, or a sentence of its passage that says more of the claim.
    fn words_with_numbers(&self, at: usize, claim: &Claim) -> Option<BTreeSet<String>> {
        let source = &self.sources[at];
        let beside = at.saturating_sub(1)..(at + 2).min(self.sources.len());
        let is_of_passage = |one: &&SourceSentence| one.passage == source.passage;
        let mut held = source.stems.clone();
        // what an item or a row is about stands above its list or its table, and what was asked
        // about often above a sentence
        let passage = &self.passages[source.passage];
        let asked = &self.asked[passage.language];
        let place = passage.place_stems.iter();
        let place = place.filter(|stem| is_entry(&source.text) || asked.contains(*stem));
        held.extend(place.cloned());

        for number in &claim.numbers {
            let mut near = self.sources[beside.clone()].iter().filter(is_of_passage);
            let is_near = near.any(|one| one.words.contains(number));
            if is_near || self.passages[source.passage].place.contains(number) {
                continue;
            }
            let mut others = self.sources_of(source.passage);
            let other = others.find(|one| {
                one.words.contains(number) && self.says_more(one, source, number, claim)
            })?;
            held.extend(other.stems.iter().cloned());
        }
        Some(held)
    }

    /// Returns whether a sentence says something of a claim that the `source` does not, beside a
    /// number. A "not" of two sentences may be of either.
    fn says_more(
        &self,
        sentence: &SourceSentence,
        source: &SourceSentence,
        number: &str,
        claim: &Claim,
    ) -> bool {
        let [of_claim, _] = self.sought_words(source, claim);
        let mut said = sentence.stems.intersection(of_claim);
        let is_more = said.any(|stem| stem != number && !source.stems.contains(stem));
        is_more && !claim.is_negated && self.agrees(sentence, claim)
    }

    /// Returns the citation of a passage that a sentence marks, with the source sentence in it;
    /// `None` where the passage does not hold what the sentence says.
    fn find_marked(&self, label: u32, claim: &Claim) -> Option<Citation> {
        let is_marked = |passage: &Source| passage.citation.label == label;
        let at = self.passages.iter().position(is_marked)?;
        let passage = &self.passages[at];
        let of_claim = &claim.stems[passage.language];
        // "both say so" has no words to compare, and a translation has other ones, but its digits
        let says_little = of_claim.len() <= 2 && claim.numbers.is_empty() && claim.names.is_empty();
        let is_translated = passage.language != claim.language
            && claim.digits().all(|number| passage.words.contains(number));
        let is_said = is_translated
            || passage.language == claim.language && says_little
            || self.share(of_claim, &passage.stems) >= MIN_MARKED_SHARE
                && claim.numbers.is_subset(&passage.words)
                && self.holds_facts(at, claim);
        if !is_said {
            return None;
        }

        match self.best(claim, self.sources_of(at)) {
            Some((_, source)) if !self.is_backed(source, claim) => None,
            Some((_, source)) => Some(self.quote(source)),
            None => Some(passage.citation.clone()),
        }
    }

    /// Returns the source sentence that comes closest to a sentence that no source holds by its
    /// words, with its passage; `None` where none comes near, or what must be held is not.
    pub fn nearest(&self, sentence: &str) -> Option<Citation> {
        if concludes(sentence) {
            return None;
        }
        let claim = self.claim(sentence);
        let sources = self.sources.iter().filter(|source| {
            let words = &self.passages[source.passage].words;
            self.holds_facts(source.passage, &claim) && claim.numbers.is_subset(words)
        });
        let scored = sources.map(|source| (self.share_with_question(source, &claim), source));
        let near = scored.filter(|(share, source)| {
            let is_translated = self.passages[source.passage].language != claim.language;
            if is_translated {
                *share > 0.0
            } else {
                *share >= MIN_NEAR_SHARE && self.is_backed(source, &claim)
            }
        });
        // what it adds to the question counts twice: that is what a reader looks for
        let weighed = near.map(|(share, source)| {
            let [said, asked] = self.sought_words(source, &claim);
            let added = said.difference(asked).cloned().collect();
            (share + self.share(&added, &source.stems), source)
        });
        let (_, source) = largest(weighed)?;
        Some(self.quote(source))
    }

    /// Returns the citation of the first passage with all lines of code of a claim that is nothing
    /// else: a command has few words, and the sentence around it may say "never" of another thing.
    fn find_copied(&self, claim: &Claim) -> Option<Citation> {
        let lines = claim.is_code.then_some(&claim.code)?;
        // a single word is in many passages
        let is_long = lines.iter().any(|line| line.contains(' '));
        let holds_all = |passage: &Source| lines.iter().all(|line| passage.text.contains(line));
        let mut passages = self.passages.iter();
        let at = passages.position(|passage| is_long && holds_all(passage))?;
        let best = largest(self.scores(claim, self.sources_of(at)));
        let whole = || self.passages[at].citation.clone();
        Some(Citation {
            evidence: Evidence::Overlap { share: 1.0 },
            ..best.map_or_else(whole, |(_, source)| self.quote(source))
        })
    }

    fn best_by_words(&self, claim: &Claim) -> Option<Citation> {
        let sources = self.sources.iter().enumerate();
        let holding = sources.filter(|(_, source)| {
            self.holds_facts(source.passage, claim) && self.is_row_of(source, claim)
        });
        let scored = holding.filter_map(|(at, source)| {
            let held = self.words_with_numbers(at, claim)?;
            let [said, _] = self.sought_words(source, claim);
            Some((self.share(said, &held), source))
        });
        // the words of a sentence are looked at one by one only where it may be cited
        let agreeing =
            scored.filter(|(share, source)| *share >= MIN_SHARE && self.is_backed(source, claim));
        let (share, best) = largest(agreeing)?;
        // the words may be of two sentences: the quotation is of the one that says more
        let [said, _] = self.sought_words(best, claim);
        let own = self.share(said, &best.stems);
        let of_passage = self.scores(claim, self.sources_of(best.passage));
        let more = of_passage.filter(|(share, one)| *share > own && self.agrees(one, claim));
        let quoted = largest(more).map_or(best, |(_, source)| source);
        self.is_backed(quoted, claim).then(|| Citation {
            evidence: Evidence::Overlap { share },
            ..self.quote(quoted)
        })
    }

    /// Returns source sentences, each with its share of the words of a claim.
    fn scores<'a>(
        &self,
        claim: &Claim,
        sources: impl Iterator<Item = &'a SourceSentence>,
    ) -> impl Iterator<Item = (f32, &'a SourceSentence)> {
        sources.map(|source| {
            let [said, _] = self.sought_words(source, claim);
            (self.share(said, &source.stems), source)
        })
    }

    /// Returns the source sentence that holds most of the words of a claim, with its share of
    /// them, if it is large enough; of equal ones the first, since passages come best first.
    fn best<'a>(
        &self,
        claim: &Claim,
        sources: impl Iterator<Item = &'a SourceSentence>,
    ) -> Option<(f32, &'a SourceSentence)> {
        let scored = self.scores(claim, sources);
        largest(scored.filter(|(share, _)| *share >= MIN_SHARE))
    }

    /// Returns whether a source sentence is in the part that was asked about, agrees with a claim,
    /// and none of its passage that is nearer to what was asked says otherwise.
    fn is_backed(&self, source: &SourceSentence, claim: &Claim) -> bool {
        !self.is_in_other_part(source)
            && self.agrees(source, claim)
            && self.find_contrary(source, claim).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run::Passages;
    use crate::event::{ChunkText, Hit, Ranked, SectionFrom, saturating_u32};

    fn hit(text: &str, lines: [u32; 2]) -> Hit {
        let chunk = ChunkText {
            id: u64::from(lines[0]),
            document: "people.md".to_owned(),
            bytes: [0, text.len() as u64],
            lines,
            tokens: 1,
            text: text.to_owned(),
            ..ChunkText::default()
        };
        Hit::new(
            chunk,
            Ranked {
                score: 1.0,
                rank: 1,
            },
        )
    }

    #[test]
    fn a_sentence_is_cited_by_its_label_else_by_its_words() {
        let passages = Passages {
            hits: vec![
                hit("Mira Oakes lives in Lorby.\nShe paints.", [3, 4]),
                hit("Tam Reeve was born\nin Aldmouth.\nHe taught Mira.", [7, 9]),
            ],
            ..Passages::default()
        };
        let supports = Supports::new("", &passages);
        /// Label, first and last line of each expected citation.
        type Cited = &'static [(u32, u32, u32)];
        let cases: [(&str, Cited); 22] = [
            ("Tam Reeve came from Lorby [1].", &[]),
            ("Oakes paints 780 boats [1].", &[]),
            ("Tam was born in Aldmouth [1].", &[(2, 7, 8)]),
            ("The list is `rows[2]`.", &[]),
            ("7. Tam Reeve was born in Aldmouth [2].", &[(2, 7, 8)]),
            ("Tam Reeve was born in Aldmouth [Source 2].", &[(2, 7, 8)]),
            (
                "Tam Reeve was born in Aldmouth (Quelle 2)【2†L7】.",
                &[(2, 7, 8)],
            ),
            ("Both say so [1-2].", &[(1, 3, 4), (2, 7, 9)]),
            ("Both say so [1 and 2].", &[(1, 3, 4), (2, 7, 9)]),
            ("Tam Reeve was born in Aldmouth (7).", &[]),
            ("Tam Reeve was born in Aldmouth (2 sources).", &[]),
            ("Tam Reeve was born in Aldmouth [10:30].", &[]),
            ("Mira Oakes lives in Lorby [1†[2].", &[(1, 3, 3)]),
            (
                "Mira Oakes lives in Lorby (source 1†see [2]).",
                &[(1, 3, 3)],
            ),
            ("7 boats were born in Aldmouth [2].", &[]),
            ("Mira Oakes lives in Lorby [1].", &[(1, 3, 3)]),
            ("Both say so [1, 2].", &[(1, 3, 4), (2, 7, 9)]),
            ("Tam Reeve was born in Aldmouth.", &[(2, 7, 8)]),
            (
                "According to the information in [1], Tam Reeve was born in Aldmouth.",
                &[(2, 7, 8)],
            ),
            ("According to Ann Dow, Tam Reeve was born in Aldmouth.", &[]),
            ("The moon is made of cheese.", &[]),
            ("", &[]),
        ];
        for (sentence, expected) in cases {
            let found: Vec<_> = supports
                .cite(sentence)
                .iter()
                .map(|cited| (cited.label, cited.first_line, cited.last_line))
                .collect();
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn what_denies_is_held_and_its_opposite_is_denied() {
        let text = "There is no launderette at the harbour.\nWe ordered 12 shelves, not 14.\n\
            Shipping costs of 6.90 EUR are not refunded.";
        let passages = Passages::from_hits(vec![hit(text, [1, 3])]);
        for (question, sentence, is_held, is_denied) in [
            (
                "Is there a launderette at the harbour?",
                "No, there is no launderette at the harbour.",
                true,
                false,
            ),
            (
                "Is there a launderette at the harbour?",
                "Yes, there is a launderette at the harbour.",
                false,
                true,
            ),
            (
                "How many shelves were ordered?",
                "We ordered 12 shelves.",
                true,
                false,
            ),
            (
                "Are shipping costs refunded?",
                "Yes, shipping costs of 6.90 EUR are refunded.",
                false,
                true,
            ),
            (
                "Are shipping costs refunded?",
                "Nein, shipping costs of 6.90 EUR are not refunded.",
                true,
                false,
            ),
        ] {
            let supports = Supports::new(question, &passages);
            let found = (
                !supports.cite(sentence).is_empty(),
                supports.find_denying(sentence).is_some(),
            );
            assert_eq!(found, (is_held, is_denied), "{sentence}");
        }
    }

    #[test]
    fn another_row_and_another_section_than_the_one_asked_about_hold_nothing() {
        let rows = "| Lamp: red, steady | Meaning: grounds box full |\n\
            | Lamp: orange | Meaning: descale soon |";
        let mut animals = hit("Dogs may not be kept.", [3, 3]);
        animals.chunk.headings = vec!["Flat 4B".to_owned(), "§ 3 Animals".to_owned()];
        let mut repairs = hit("The landlord must repair the heating.", [5, 5]);
        repairs.chunk.headings = vec!["§ 4 Repairs".to_owned()];
        let people = "| Name: Ann | Role: head |\n| Name: Bob | Reports to: Ann |";
        let hits = vec![hit(rows, [1, 2]), animals, repairs, hit(people, [7, 8])];
        let passages = Passages::from_hits(hits);
        for (question, sentence, expected) in [
            (
                "What does an orange lamp mean?",
                "An orange lamp means that the grounds box is full [1].",
                0,
            ),
            (
                "What does an orange lamp mean?",
                "An orange lamp means that you descale soon [1].",
                1,
            ),
            ("Who reports to Ann?", "Bob reports to Ann [4].", 1),
            ("What does § 4 (2) require?", "Dogs may not be kept [2].", 0),
            (
                "What does section 3 require?",
                "Dogs may not be kept [2].",
                1,
            ),
            ("What is in the lease?", "Dogs may not be kept [2].", 1),
        ] {
            let supports = Supports::new(question, &passages);
            assert_eq!(supports.cite(sentence).len(), expected, "{sentence}");
        }
    }

    #[test]
    fn clauses_rows_and_translations_are_cited_by_what_they_have_in_common() {
        let passages = Passages {
            hits: vec![
                hit(
                    "The screen must have at least 60 columns and 16 rows, as all of them do.",
                    [1, 1],
                ),
                hit(
                    "Type `ragscope threads rename NAME NEW` to name the thread in another way.",
                    [2, 2],
                ),
                hit(
                    "The feast that is called Salt Fair in Lorbymouth is held on 9 August.",
                    [3, 3],
                ),
                hit(
                    "| Command: `box serve` | Use: serves folders over a network |\n\
                     | Command: `box work` | Use: serves the devices of this machine |",
                    [4, 5],
                ),
                hit("The Silver Heron was built in Farlamouth.", [6, 6]),
                hit("The Gray Falcon is 27 metres long.", [7, 7]),
            ],
            ..Passages::default()
        };
        let supports = Supports::new("Wie groß ist der Schirm?", &passages);
        let cases: [(&str, &[u32]); 23] = [
            (
                "Therefore, the Silver Heron was built earlier in Farlamouth.",
                &[],
            ),
            ("Therefore, the Silver Heron was built in Farlamouth.", &[5]),
            // the name is nowhere, and an item of a list is no clause
            (
                "The Silver Heron, the Ferry, and the Gray Falcon is 27 metres long.",
                &[],
            ),
            (
                "The Silver Heron was built in Farlamouth, and Koryn is 27 metres long.",
                &[],
            ),
            (
                "The screen must have 60 columns, 16 rows, and the Silver Heron.",
                &[],
            ),
            (
                "The Silver Heron was built in Farlamouth, and the Gray Falcon is 27 metres long.",
                &[5, 6],
            ),
            (
                "The Silver Heron was built in Farlamouth, and the Gray Falcon in Salethport.",
                &[],
            ),
            (
                "Der Bildschirm muss mindestens 60 Spalten und 16 Zeilen haben.",
                &[1],
            ),
            (
                "Der Bildschirm muss mindestens 60 Spalten und 20 Zeilen haben.",
                &[],
            ),
            (
                "Der Bildschirm muss mindestens 60 Spalten haben, und mehr ist besser.",
                &[],
            ),
            (
                "Benutze dafür den Befehl `ragscope threads rename NAME NEW`, bitte.",
                &[2],
            ),
            (
                "Benutze dafür den Befehl `ragscope threads move NAME NEW`, bitte.",
                &[],
            ),
            (
                "La feria de la sal (Salt Fair) en Lorbymouth se celebra el 9 de agosto.",
                &[3],
            ),
            (
                "The command `box work` serves the devices of this machine.",
                &[4],
            ),
            (
                "The command `box serve` serves the devices of this machine.",
                &[],
            ),
            (
                "One difference is that the Silver Heron was built in Farlamouth, while the Gray \
                 Falcon is 27 meters long.",
                &[5, 6],
            ),
            (
                "The Silver Heron was built in Farlamouth, while the Gray Falcon is 29 metres long.",
                &[],
            ),
            (
                "The Silver Heron was built in Farlamouth, while it rained.",
                &[],
            ),
            // of a number that is in another line, of a name that is nowhere, and denied
            ("Silver Heron, 1931 [5].", &[]),
            (
                "En Harwenby la Salt Fair de Lorbymouth es el 9 de agosto.",
                &[],
            ),
            ("Der Bildschirm hat nicht 60 Spalten und 16 Zeilen.", &[]),
            // a clause without a name is about what the one before it is about
            (
                "The Silver Heron was built in Farlamouth, but is 27 metres long.",
                &[],
            ),
            (
                "The reason the bridge of Lorby closed in 1931 is that the Silver Heron was built \
                 in Farlamouth, while the Gray Falcon is 27 metres long.",
                &[],
            ),
        ];
        for (sentence, expected) in cases {
            let found = supports.cite(sentence);
            let labels: Vec<u32> = found.iter().map(|cited| cited.label).collect();
            assert_eq!(labels, expected, "{sentence}");
        }
    }

    #[test]
    fn a_source_that_says_something_else_is_not_cited() {
        let text = "Stage 3 is the final stage of the bill. The company could not evade tax by \
                    moving to the Netherlands. This is known as the West Lothian question. DECnet \
                    Phase II was an open standard with published specifications. Bills that are \
                    not opposed pass. They decided to switch to German in protest against the \
                    occupation by Napoleon. Calmarock Light was designed by Torak Lansenley. It is \
                    27 metres tall. At night it shines amber. The light was first lit in 1872. The \
                    deposit office has extension 4410. The fee (EUR) is 310. The laws that Isaac \
                    Newton formulated stood for three hundred years.";
        let passages = Passages {
            hits: vec![hit(text, [1, 1])],
            ..Passages::default()
        };
        for (question, sentence, is_cited) in [
            (
                "",
                "Isaac Newton formulated laws that stood for three hundred years.",
                true,
            ),
            (
                "",
                "Isaac Newton formulated laws that stood for three thousand years.",
                false,
            ),
            ("", "Stage 3 is the final stage of the bill.", true),
            (
                "Stage 4 is the final stage of what?",
                "Stage 4 is the final stage of the bill.",
                false,
            ),
            (
                "Who could evade tax?",
                "The company could evade tax by moving to the Netherlands.",
                false,
            ),
            (
                "",
                "The company couldn't evade tax by moving to the Netherlands.",
                true,
            ),
            (
                "The West Lutheran question is known as what?",
                "The West Lutheran question is known as the West Lothian question.",
                false,
            ),
            (
                "What did DECnet Phase 2 become?",
                "DECnet Phase 2 became an open standard with published specifications.",
                true,
            ),
            (
                "What did DECnet Phase I become?",
                "DECnet Phase I became an open standard with published specifications.",
                false,
            ),
            (
                "Who designed Calmarock Light, and when was it first lit?",
                "Torak Lansenley designed Calmarock Light, and it was first lit in 1872.",
                true,
            ),
            (
                "Who designed Calmarock Light?",
                "Torak Lansenley designed Calmarock Light in 1872.",
                false,
            ),
            (
                "What is the deposit?",
                "The deposit is 4,410 EUR [1].",
                false,
            ),
            ("What is the fee?", "The fee is 310 EUR [1].", true),
            (
                "Which light is taller than 20 metres?",
                "Calmarock Light is taller than 20 metres: it is 27 metres tall.",
                true,
            ),
            (
                "Which light is 20 metres tall?",
                "Calmarock Light is 20 metres tall.",
                false,
            ),
            (
                "Why did they switch?",
                "They switched to German because they were protesting against the occupation by \
                 Napoleon.",
                true,
            ),
        ] {
            let cited = Supports::new(question, &passages).cite(sentence);
            assert_eq!(!cited.is_empty(), is_cited, "{sentence}");
        }
    }

    #[test]
    fn a_cell_says_something_of_its_own_and_code_is_held_as_it_is() {
        let text = "| Register: `%` | Read: Name of the current file | Written: This register is not writable |\n\
                    | Key: `Ctrl-s` | Action: Save a jump to the jumplist |";
        let passages = Passages {
            hits: vec![hit(text, [1, 2])],
            ..Passages::default()
        };
        let supports = Supports::new("", &passages);
        for (sentence, is_cited) in [
            ("The register holds the name of the current file.", true),
            ("This register is writable.", false),
            ("The key `ctrl-S` saves a jump to the jumplist.", true),
            ("The key `Ctrl-q` saves a jump to the jumplist.", false),
            (
                "Save a jump to the jumplist:\n```\n| Key:  `Ctrl-s`\n```",
                true,
            ),
            (
                "Save a jump to the jumplist:\n```\nkey ctrl-s jump\n```",
                false,
            ),
        ] {
            assert_eq!(!supports.cite(sentence).is_empty(), is_cited, "{sentence}");
        }
    }

    #[test]
    fn the_kind_of_thing_that_is_asked_for_need_not_be_named() {
        let text = "With `#[deref]` it's possible to indicate the field that\nyou want to derive `Deref` for.";
        let passages = Passages {
            hits: vec![hit(text, [1, 2])],
            ..Passages::default()
        };
        let question = "Which attribute indicates the field that I want to derive Deref for?";
        let supports = Supports::new(question, &passages);
        for (sentence, is_cited) in [
            (
                "The attribute that indicates the field to derive Deref for is #[deref].",
                true,
            ),
            ("The attribute is #[deref].", true),
            ("The attribute is #[derive_more].", false),
            ("The compiler that indicates the field is rustc.", false),
        ] {
            assert_eq!(!supports.cite(sentence).is_empty(), is_cited, "{sentence}");
        }
    }

    #[test]
    fn copied_code_is_cited_whatever_the_sentence_around_it_says() {
        let text =
            "- A damaged index is reported and never used: `ragscope index ~/notes --rebuild`.";
        let passages = Passages {
            hits: vec![
                hit("The index of notes is kept.", [1, 1]),
                hit(text, [7, 7]),
            ],
            ..Passages::default()
        };
        let supports = Supports::new("How do I rebuild the index of ~/notes?", &passages);
        for (sentence, lines) in [
            ("```sh\nragscope index ~/notes --rebuild\n```", vec![7]),
            ("`ragscope index ~/notes --rebuild`.", vec![7]),
            ("```\nragscope index ~/notes --force\n```", vec![]),
            ("```\nthe\n```", vec![]),
        ] {
            let cited = supports.cite(sentence);
            let found: Vec<u32> = cited.iter().map(|citation| citation.first_line).collect();
            assert_eq!(found, lines, "{sentence}");
        }

        let supports = Supports::new("Mit welchem Befehl wird er neu gebaut?", &passages);
        let near = supports.nearest("Der Befehl ist `ragscope index ~/notes --rebuild`.");
        assert_eq!(near.map(|citation| citation.first_line), Some(7));
    }

    #[test]
    fn the_nearest_source_holds_the_numbers_and_the_names() {
        let passages = Passages {
            hits: vec![hit(
                "GCC or Clang compiles Helix 25. Other tools are not needed.",
                [1, 1],
            )],
            ..Passages::default()
        };
        let supports = Supports::new("Which compiler builds Helix?", &passages);
        for (sentence, is_near) in [
            (
                "To build it from source, you need a compiler: GCC or Clang.",
                true,
            ),
            (
                "To build it from source, you need a compiler: GCC 12 or Clang.",
                false,
            ),
            (
                "To build it from source, you need a compiler: GCC or Zig.",
                false,
            ),
            ("Ships sail at night.", false),
            (
                "Um es selbst zu bauen, braucht man einen Übersetzer: GCC, und nichts weiter.",
                true,
            ),
            (
                "Um es selbst zu bauen, braucht man einen Übersetzer in Version 12, wie GCC.",
                false,
            ),
        ] {
            assert!(supports.cite(sentence).is_empty(), "{sentence}");
            assert_eq!(supports.nearest(sentence).is_some(), is_near, "{sentence}");
        }
    }

    #[test]
    fn a_sentence_that_is_nearer_to_what_was_asked_says_otherwise() {
        let fees = "Each month you pay a fee for the berth:\n\n\
                    * Fee of a berth for one boat: $96.05\n\
                    * Fee of a berth for a child's boat: $186.44\n\
                    * Fee of a berth for a family boat: $287.65\n\n\
                    Who leaves is paid for the unused days of vacation. Unused holidays are not \
                    paid when somebody leaves. In the spring of 1911 there was a feast, and in \
                    1950 the harbour was closed. The boiler has three valves.\n\n1. Drain the \
                    boiler.\n2. Scrub it.\n3. Rinse.\n\nIn 1970 there were 40 boats in the harbour, \
                    and 55 boats in 1980. Tickets cost 30 euros for each person, students 15 and \
                    children 8. 门票每人30元，学生15元。";
        let passages = Passages {
            hits: vec![hit(fees, [1, 8])],
            ..Passages::default()
        };
        let family = "How much is the fee for the berth of a family boat?";
        let holidays = "What happens to unused holidays when I leave?";
        let vacation = "What happens to unused days of vacation when I leave?";
        let steps = "How many valves does the boiler have?";
        let boats = "How many boats were in the harbour in 1980?";
        let feast = "When was there a feast?";
        let closed = "When was the harbour closed?";
        let paid = "Unused holidays are paid when you leave [1].";
        let ticket = "How much is a ticket for a student?";
        for (question, sentence, contrary) in [
            (family, "The fee for a family boat is $287.65 [1].", None),
            (
                family,
                "The fee for a family boat is $186.44 [1].",
                Some("$287.65"),
            ),
            (
                family,
                "The fee for a family boat is $186.44.",
                Some("$287.65"),
            ),
            (family, "A child's boat costs a fee of $186.44 [1].", None),
            (holidays, paid, Some("not paid")),
            (holidays, "Unused holidays are not paid [1].", None),
            (
                vacation,
                "You are paid for unused days of vacation [1].",
                None,
            ),
            (steps, "There are 3 valves [1].", None),
            (boats, "There were 55 boats in 1980 [1].", None),
            (closed, "The harbour was closed in 1911 [1].", Some("1950")),
            (closed, "The harbour was closed in 1950 [1].", None),
            (feast, "There was a feast in 1911 [1].", None),
            (boats, "There were 40 boats in 1980 [1].", Some("55 boats")),
            (ticket, "A ticket costs 30 euros for each person [1].", None),
            (ticket, "A ticket for a student costs 15 euros [1].", None),
            (
                ticket,
                "A ticket for a student costs 30 euros [1].",
                Some("students 15"),
            ),
            (
                ticket,
                "A ticket for children costs 15 [1].",
                Some("children 8"),
            ),
            ("学生票多少钱？", "学生票每人30元 [1]。", Some("学生15元")),
            ("学生票多少钱？", "学生票每人15元 [1]。", None),
            ("门票多少钱？", "门票每人30元 [1]。", None),
        ] {
            let supports = Supports::new(question, &passages);
            let cited = supports.cite(sentence);
            assert_eq!(
                cited.is_empty(),
                contrary.is_some(),
                "{question} {sentence}"
            );
            let found = supports.find_denying(sentence);
            let quote = found.and_then(|one| one.quote).unwrap_or_default();
            let is_found = contrary.is_some_and(|part| quote.contains(part));
            assert_eq!(is_found, contrary.is_some(), "{sentence}: {quote}");
        }
    }

    #[test]
    fn a_number_of_another_section_is_not_cited() {
        let text = "Elvet Pro\n\nWe repair it for free during 31 weeks.\n\nDunmore\n\nWe repair it \
                    for free during 23 weeks.";
        let mut hit = hit(text, [1, 7]);
        hit.chunk.headings = vec!["Pumps".to_owned(), "Elvet Pro".to_owned()];
        hit.chunk.sections = vec![SectionFrom {
            at: saturating_u32(text.find("Dunmore").unwrap_or_default()),
            headings: vec!["Pumps".to_owned(), "Dunmore".to_owned()],
        }];
        let supports = Supports::new(
            "How long is the guarantee of the Elvet Pro?",
            &Passages::from_hits(vec![hit]),
        );
        for (weeks, is_cited) in [("31", true), ("23", false)] {
            let sentence = format!("They repair the Elvet Pro for free during {weeks} weeks [1].");
            assert_eq!(!supports.cite(&sentence).is_empty(), is_cited, "{weeks}");
        }
    }

    #[test]
    fn the_quotation_is_the_sentence_that_says_most() {
        let text = "The movement rose to power. It defeated the warlords. Elections were held. \
                    It took over roughly 80 percent of the country.";
        let passages = Passages {
            hits: vec![hit(text, [1, 1])],
            ..Passages::default()
        };
        let supports = Supports::new("", &passages);
        let sentence =
            "The movement rose to power and took over roughly 80 percent of the country.";
        let cited = supports.cite(sentence);
        let quote = cited.first().and_then(|citation| citation.quote.as_deref());
        assert!(
            quote.is_some_and(|quote| quote.contains("80 percent")),
            "{quote:?}"
        );
    }

    #[test]
    fn a_number_of_the_question_must_be_in_the_source_too() {
        let passages = Passages {
            hits: vec![hit("Stash learned the option --staged in 2.35.", [1, 1])],
            ..Passages::default()
        };
        let supports = Supports::new("What changed in stash in 2.39?", &passages);
        let cites = |sentence: &str| !supports.cite(sentence).is_empty();
        assert!(cites("In 2.35, stash learned the option --staged."));
        assert!(!cites("In 2.39, stash learned the option --staged [1]."));

        let mut named = hit(
            "* \"git stash\" learned the \"--staged\" option to stash away what has been\n   added to \
             the index (and nothing else).",
            [31, 32],
        );
        named.chunk.document = "2.35.0.txt".to_owned();
        let passages = Passages {
            hits: vec![named],
            ..Passages::default()
        };
        let supports = Supports::new("What did git stash learn in 2.35?", &passages);
        let by_name = "In Git 2.35, the `git stash` command learned the \"--staged\" option to stash \
                       away what has been added to the index (and nothing else).";
        assert_eq!(supports.cite(by_name).len(), 1, "the file is of 2.35");
    }
}
