//! Asked names: what stands under the very name that a question has comes before what stands under
//! another that shares words with it. "Ridge 7" is a part of "Ridge 7 Pro" and of "Ridge 6" all but
//! the number, so that neither words nor vectors distinguish the three.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::lexical::analyser::{STOP_MARK, chunk_words};
use super::lexical::stop_words::short_text_language;
use super::mentions::{NamingText, raise_named};
use crate::corpus::language;
use crate::event::{ChunkText, Hit, document_stem, unsaid_headings};

/// Hits beyond this keep their order: the context is of the first.
const MAX_HITS: usize = 50;

/// The words of a question by which names are compared.
pub struct AskedNames {
    language: &'static str,
    /// Stop words are marked: "pre" is one.
    words: BTreeSet<String>,
}

/// A heading that more documents have is that of a kind of section: "Weight", "Usage".
const MAX_DOCUMENTS: usize = 2;

/// The names in the place of a text.
pub struct PlaceNames {
    document: String,
    names: Vec<Name>,
}

/// A name of a folder, a file or a section: its words, and those of its first word where signs join
/// several, as in `Pre-production`.
struct Name {
    is_heading: bool,
    first: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl AskedNames {
    pub fn new(question: &str) -> Self {
        let language = short_text_language(question).unwrap_or_else(|| language(question));
        Self {
            language,
            words: separate_words(question, language),
        }
    }

    /// Orders items, best first: one comes before those in front of it whose place has another
    /// name, if it has all their words of the question. `names` gives those of the place of an
    /// item, and `held` the words; `moved` gets an item and the one that it was put in front of.
    pub fn order<T>(
        &self,
        items: &mut [T],
        names: impl Fn(&T) -> PlaceNames,
        held: impl Fn(&T) -> BTreeSet<String>,
        mut moved: impl FnMut(&mut T, &T),
    ) {
        let mut names: Vec<PlaceNames> = items.iter().map(names).collect();
        leave_out_kinds(&mut names);
        let mut known: Vec<Option<Rc<BTreeSet<String>>>> = vec![None; items.len()];
        for at in 1..items.len() {
            let mut find_held = |item: usize| {
                let found = known[item].get_or_insert_with(|| Rc::new(held(&items[item])));
                Rc::clone(found)
            };
            let is_meant = |before: &usize| {
                let (own, other) = (&names[at], &names[*before]);
                self.strength(own, other) > self.strength(other, own)
                    && find_held(at).is_superset(&find_held(*before))
            };
            if let Some(front) = (0..at).find(is_meant) {
                items[front..=at].rotate_right(1);
                names[front..=at].rotate_right(1);
                known[front..=at].rotate_right(1);
                let (first, behind) = items[front..].split_at_mut(1);
                moved(&mut first[0], &behind[0]);
            }
        }
    }

    /// Returns the names of a place, of those that share words with the question.
    pub fn names(&self, document: &str, headings: &[String]) -> PlaceNames {
        let parts = path_names(document).map(|name| (name, false));
        let headings = headings.iter().map(|name| (name.as_str(), true));
        let names = parts
            .chain(headings)
            .map(|(name, is_heading)| {
                // words of the name of a file are joined where there are several signs
                let is_joined = name.matches(['-', '_']).nth(1).is_some();
                let mut words =
                    name.split(|c: char| c.is_whitespace() || is_joined && "-_".contains(c));
                Name {
                    is_heading,
                    first: separate_words(words.next().unwrap_or_default(), self.language),
                    words: separate_words(name, self.language),
                }
            })
            .filter(|name| {
                // numbers alone are a date, of which a part is another date
                let is_named = |word: &String| word.contains(char::is_alphabetic);
                name.words.iter().any(is_named) && self.shared_words(&name.words).next().is_some()
            });
        PlaceNames {
            document: document.to_owned(),
            names: names.collect(),
        }
    }

    /// Returns the text of a chunk behind the names of its place that share words with the
    /// question: those of other places distract a reranker.
    pub fn placed_text(&self, chunk: &ChunkText) -> String {
        let of_path = path_names(&chunk.document).map(|name| name.replace(['-', '_'], " "));
        let headings = unsaid_headings(&chunk.headings, &chunk.text).map(str::to_owned);
        let mut names: Vec<String> = of_path.chain(headings).collect();
        names.retain(|name| {
            let words = separate_words(name, self.language);
            self.shared_words(&words).next().is_some()
        });
        if names.is_empty() {
            return chunk.text.clone();
        }
        format!("{}: {}", names.join(", "), chunk.text)
    }

    /// Returns the words of the question in a text and in its place.
    pub fn find_in(&self, document: &str, headings: &[String], text: &str) -> BTreeSet<String> {
        let whole = format!("{document} {} {text}", headings.join(" "));
        let words = separate_words(&whole, self.language);
        self.shared_words(&words).cloned().collect()
    }

    /// Returns the words that the question has, too, without stop words.
    fn shared_words<'w>(&'w self, words: &'w BTreeSet<String>) -> impl Iterator<Item = &'w String> {
        let both = words.intersection(&self.words);
        both.filter(|word| !word.starts_with(STOP_MARK))
    }

    /// Returns the number of words of the question in the best name of a place that is nearer to it
    /// than one of the other place: it has all the words of the question that the other has, and no
    /// other word that the other has not. The other begins as it does: "Music of Lorby" is about
    /// Lorby, too. 0 where there is none, and where both have it.
    fn strength(&self, names: &PlaceNames, other: &PlaceNames) -> usize {
        let nearer = names.names.iter().filter(|name| {
            let is_nearer = |far: &Name| {
                let is_in_far = |word| self.words.contains(word) || far.words.contains(word);
                !far.first.is_disjoint(&name.words)
                    && self
                        .shared_words(&far.words)
                        .all(|word| name.words.contains(word))
                    && name.words.iter().all(is_in_far)
            };
            !other.has(name) && other.names.iter().any(is_nearer)
        });
        nearer
            .map(|name| self.shared_words(&name.words).count())
            .max()
            .unwrap_or(0)
    }
}

impl PlaceNames {
    fn has(&self, name: &Name) -> bool {
        self.names.iter().any(|own| own.words == name.words)
    }
}

/// Returns the names of the folders of a document and that of its file, without the extension.
fn path_names(document: &str) -> impl Iterator<Item = &str> {
    let folders = document.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').chain([document_stem(document)])
}

/// Leaves out the headings that more than [`MAX_DOCUMENTS`] have.
fn leave_out_kinds(places: &mut [PlaceNames]) {
    let mut documents: BTreeMap<BTreeSet<String>, BTreeSet<String>> = BTreeMap::new();
    for place in places.iter() {
        for name in &place.names {
            let having = documents.entry(name.words.clone()).or_default();
            having.insert(place.document.clone());
        }
    }
    for place in places {
        place
            .names
            .retain(|name| !name.is_heading || documents[&name.words].len() <= MAX_DOCUMENTS);
    }
}

/// Returns the words of a text, those of `ridge-7` and of `B-100/2` one by one. A name in capitals
/// would have a form of its own beside its stem.
fn separate_words(text: &str, language: &str) -> BTreeSet<String> {
    let separate = text.to_lowercase().replace(['-', '_', '/'], " ");
    let words = chunk_words(&separate, language).into_iter();
    words.map(|word| word.text).collect()
}

/// Orders the best `count` hits by the names in their texts and places: the documents that these
/// texts name are raised, those `named` in neither list among them, and what has the name that the
/// query asks for comes first. The hits of one list, which have no such texts, stay as they are.
pub(super) fn order_by_names(
    hits: Vec<Hit>,
    named: Vec<Hit>,
    texts: &[NamingText],
    query: &str,
    count: usize,
) -> Vec<Hit> {
    let mut hits = raise_named(hits, named, texts, count);
    if !texts.is_empty() {
        put_asked_first(&mut hits, query);
    }
    hits
}

/// Puts hits whose place has the name that a query asks for in front of those of others, each with
/// the score of the one that it passes.
fn put_asked_first(hits: &mut [Hit], query: &str) {
    let best = hits.len().min(MAX_HITS);
    let asked = AskedNames::new(query);
    asked.order(
        &mut hits[..best],
        |hit| asked.names(&hit.chunk.document, &hit.chunk.headings),
        |hit| asked.find_in(&hit.chunk.document, &hit.chunk.headings, &hit.chunk.text),
        |hit, other| {
            hit.asked_before = Some(other.chunk.id);
            hit.fused.score = other.fused.score;
        },
    );
    for (rank, hit) in (1..).zip(hits) {
        hit.fused.rank = rank;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ranked;

    const WEIGHT: &str = "It weighs 310 grams.";

    /// Returns the numbers of the hits with these documents, headings and texts, in their order.
    fn order<'p>(
        question: &str,
        hits: impl IntoIterator<Item = (&'p str, &'p str, &'p str)>,
    ) -> Vec<u32> {
        let hits = (1..).zip(hits).map(|(rank, (document, heading, text))| {
            let chunk = ChunkText {
                id: u64::from(rank),
                document: document.to_owned(),
                headings: vec![heading.to_owned()],
                text: text.to_owned(),
                ..ChunkText::default()
            };
            let score = 1.0 / rank as f32;
            Hit::new(chunk, Ranked { score, rank })
        });
        let mut hits: Vec<Hit> = hits.collect();
        put_asked_first(&mut hits, question);
        hits.iter().map(|hit| hit.chunk.id as u32).collect()
    }

    #[test]
    fn a_text_has_the_names_of_its_place_that_are_asked_for_in_front() {
        let asked = AskedNames::new("How long is the guarantee of the Weir X?");
        for (document, heading, expected) in [
            ("manuals/weir-x/care.md", "Care", "weir x: 2 years."),
            ("manuals/tarn/care.md", "Care", "2 years."),
            ("care.md", "Weir X", "Weir X: 2 years."),
        ] {
            let chunk = ChunkText {
                document: document.to_owned(),
                headings: vec![heading.to_owned()],
                text: "2 years.".to_owned(),
                ..ChunkText::default()
            };
            assert_eq!(asked.placed_text(&chunk), expected);
        }
    }

    #[test]
    fn the_name_that_is_asked_for_comes_before_longer_and_other_names() {
        for (question, places, expected) in [
            (
                "How much does the Ridge 7 weigh?",
                &[("a.md", "Ridge 7 Pro"), ("a.md", "Ridge 7")] as &[_],
                [2, 1],
            ),
            (
                "Who kept watch on 5 March 2025?",
                &[("2025-03-05.md", "Watch"), ("2025-03-03.md", "Watch")],
                [1, 2],
            ),
            (
                "How much does the Ridge 7 Pro weigh?",
                &[("a.md", "Ridge 7"), ("a.md", "Ridge 7 Pro")],
                [2, 1],
            ),
            (
                "What does the Ridge 7 Pro weigh?",
                &[("Ridge 7 Pro Max.md", ""), ("Ridge 7 Pro.md", "")],
                [2, 1],
            ),
            (
                "How much does the Ridge 7 weigh?",
                &[("ridge-6/data.md", "Weight"), ("ridge-7/data.md", "Weight")],
                [2, 1],
            ),
            (
                "host of production",
                &[("env.md", "Pre-production"), ("env.md", "Production")],
                [2, 1],
            ),
            (
                "What is the outlet pressure of the B-100?",
                &[("a.md", "Pump B-100/2"), ("a.md", "Pump B-100")],
                [2, 1],
            ),
            (
                "What is the database host of production?",
                &[("a.md", "Pre-production"), ("a.md", "Production")],
                [2, 1],
            ),
            (
                "Which rhythm is typical of Lorby?",
                &[("a.md", "Music of Lorby"), ("a.md", "Lorby")],
                [1, 2],
            ),
            // neither is asked for by its name
            (
                "How much does the tent weigh?",
                &[("a.md", "Ridge 7 Pro"), ("a.md", "Ridge 7")],
                [1, 2],
            ),
            // the name that covers more of the question counts
            (
                "The weight of the Ridge 7",
                &[
                    ("a/Ridge 7.md", "Weight limits"),
                    ("a/Ridge 7 Pro.md", "Weight"),
                ],
                [1, 2],
            ),
        ] {
            let places = places.iter();
            let hits = places.map(|(document, heading)| (*document, *heading, WEIGHT));
            assert_eq!(order(question, hits), expected, "{question}");
        }
    }

    #[test]
    fn a_heading_of_many_documents_is_no_name_and_a_folder_of_many_is() {
        let of_places = |question: &str, places: [(&'static str, &'static str); 5]| {
            order(
                question,
                places.map(|(document, heading)| (document, heading, WEIGHT)),
            )
        };
        let usage = [
            ("a.md", "Usage notes"),
            ("b.md", "Other"),
            ("c.md", "Usage"),
            ("d.md", "Usage"),
            ("e.md", "Usage"),
        ];
        assert_eq!(of_places("usage of the pump", usage), [1, 2, 3, 4, 5]);
        let folders = [
            ("ridge-7-pro/a.md", "Data"),
            ("ridge-7-pro/b.md", "Data"),
            ("ridge-7/a.md", "Data"),
            ("ridge-7/b.md", "Data"),
            ("ridge-7/c.md", "Data"),
        ];
        assert_eq!(of_places("weight of the ridge 7", folders), [3, 4, 5, 1, 2]);
    }

    #[test]
    fn a_text_that_lacks_words_of_the_question_stays_behind() {
        let hits = [
            ("Lorby guide.md", "", "The museum opens at nine."),
            ("Lorby.md", "", "A town of 40,000."),
        ];
        assert_eq!(order("When does the museum of Lorby open?", hits), [1, 2]);
    }
}
