//! Mentions: the beginning of a document that a better hit names is found and raised, since a
//! question about two documents often has the words of one of them alone ("where was the director
//! of the film born": the film's page names him, and his own page has no word of the film).

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::iter;
use std::path::Path;

use super::copies::words;
use super::names::Names;
use crate::config::{RetrieverKind, RetrieverSettings};
use crate::event::{ChunkText, Hit, document_stem};
use crate::letters;

/// Number of the best hits whose texts are read for names.
const READ: usize = 3;
/// A name that more of them have, or more documents, is a word of the subject.
const MAX_NAMING: usize = 2;
/// The score that the best hit adds to a document that it names, and the factor of each hit behind
/// it. Chosen on 250 questions of HotpotQA and 300 of Natural Questions: 0.3 finds all evidence in
/// ten chunks for 89 % of the former, 0.5 for 90 %; a cosine in the score of a document in neither
/// list finds no more, and two fewer among five for the latter.
const RAISE: f32 = 0.5;
const DECAY: f32 = 0.8;
/// Letters and digits of a name: shorter ones are words like any other.
const MIN_LETTERS: usize = 6;
/// Words of a name, and documents that are added to the hits: an overview names many.
const MAX_WORDS: usize = 8;
const MAX_ADDED: usize = 10;
/// Bytes of a document before which a chunk is its beginning: front matter may stand above it.
const BEGINNING: u64 = 256;

/// Returns the texts of the best hits, in which names are sought; none where the hits are of one
/// list, which stays as it is.
pub(super) fn naming_texts(hits: &[Hit], settings: &RetrieverSettings) -> Vec<NamingText> {
    let read = match settings.kind {
        RetrieverKind::Hybrid => READ,
        _ => 0,
    };
    let best = hits.iter().take(read);
    best.map(|hit| NamingText::new(&hit.chunk)).collect()
}

/// Raises the beginnings of the documents that these texts of the best hits name, those `named` in
/// neither list among them, and orders the best `count` hits again.
pub(super) fn raise_named(
    mut hits: Vec<Hit>,
    named: Vec<Hit>,
    texts: &[NamingText],
    count: usize,
) -> Vec<Hit> {
    let listed = hits.len();
    hits.extend(named);
    let naming: Vec<Option<usize>> = hits
        .iter()
        .map(|hit| naming_hit(&hit.chunk, &hits, texts))
        .collect();
    if naming.iter().all(Option::is_none) {
        hits.truncate(listed);
        return hits;
    }

    let scores: Vec<f32> = hits.iter().map(|hit| hit.fused.score).collect();
    for (at, naming) in naming.into_iter().enumerate() {
        if let Some(better) = naming.filter(|better| *better < at) {
            hits[at].named_by = Some(hits[better].chunk.id);
            // the one that names it stays in front: it answers more often than what it names
            let raised = scores[at] + RAISE * DECAY.powi(better as i32);
            hits[at].fused.score = raised.min(scores[better]).max(scores[at]);
        }
    }
    // what is in neither list has no rank, and is there by its name alone
    hits.retain(|hit| hit.fused.rank > 0 || hit.named_by.is_some());
    hits.sort_by(|one, other| other.fused.score.total_cmp(&one.fused.score));
    for (rank, hit) in (1..).zip(&mut hits) {
        hit.fused.rank = rank;
    }
    hits.truncate(count);
    hits
}

/// The paths of documents by their names, as [`spaced_words`] has them.
pub(super) struct DocumentNames(HashMap<String, Vec<String>>);

impl DocumentNames {
    /// Names documents by their paths and titles.
    pub fn new<'d>(documents: impl Iterator<Item = (&'d str, Option<&'d str>)>) -> Self {
        let mut named: HashMap<String, Vec<String>> = HashMap::new();
        for (path, title) in documents {
            let names: BTreeSet<String> = names(path, title).collect();
            for name in names {
                named.entry(name).or_default().push(path.to_owned());
            }
        }
        Self(named)
    }

    /// Returns the documents that texts of the best hits name, without those that hits and their
    /// copies are of, in the order of the texts.
    pub fn missing(&self, hits: &[Hit], texts: &[NamingText], corpus: &Names) -> Vec<&str> {
        let documents = hits.iter().flat_map(|hit| {
            let copies = hit.copies.iter().map(|copy| copy.document.as_str());
            copies.chain([hit.chunk.document.as_str()])
        });
        let mut known: BTreeSet<String> = documents.map(str::to_owned).collect();

        let mut missing = Vec::new();
        for text in texts {
            for (name, paths) in self.find_in(&text.spaced) {
                for path in paths {
                    if text.has(name, path) && known.insert(corpus.document(path)) {
                        missing.push(path.as_str());
                    }
                }
            }
        }
        missing.truncate(MAX_ADDED);
        missing
    }

    /// Returns the names in a text with their documents. A name of many documents names none.
    fn find_in<'n>(&'n self, spaced: &str) -> Vec<(&'n str, &'n [String])> {
        let blanks: Vec<usize> = spaced.match_indices(' ').map(|(at, _)| at).collect();
        let mut found: Vec<(&str, &[String])> = Vec::new();
        for (from, start) in blanks.iter().enumerate() {
            for end in blanks[from + 1..].iter().take(MAX_WORDS) {
                let named = self.0.get_key_value(&spaced[*start..=*end]);
                let named = named.filter(|(name, paths)| {
                    paths.len() <= MAX_NAMING && !found.iter().any(|(known, _)| known == name)
                });
                found.extend(named.map(|(name, paths)| (name.as_str(), paths.as_slice())));
            }
        }
        found
    }
}

/// Returns the best of the hits whose texts name the document that a chunk begins; `None` where
/// none does, and where more than [`MAX_NAMING`] do.
fn naming_hit(chunk: &ChunkText, hits: &[Hit], texts: &[NamingText]) -> Option<usize> {
    let start = chunk.bytes[0];
    let is_earlier = |hit: &Hit| hit.chunk.document == chunk.document && hit.chunk.bytes[0] < start;
    if start >= BEGINNING || hits.iter().any(is_earlier) {
        return None;
    }

    let names = chunk_names(chunk);
    let is_naming = |at: &usize| {
        hits[*at].chunk.document != chunk.document
            && names
                .iter()
                .any(|name| texts[*at].has(name, &chunk.document))
    };
    let naming: Vec<usize> = (0..texts.len()).filter(is_naming).collect();
    let best = naming.first().copied();
    best.filter(|_| naming.len() <= MAX_NAMING)
}

/// The text of a hit that may name a document.
pub(super) struct NamingText {
    text: String,
    /// The words as [`spaced_words`] has them.
    spaced: String,
    /// The names of its own document, by which it names no other.
    own: Vec<String>,
}

impl NamingText {
    fn new(chunk: &ChunkText) -> Self {
        Self {
            text: letters::normal(&chunk.text).into_owned(),
            spaced: spaced_words(&chunk.text),
            own: chunk_names(chunk),
        }
    }

    /// Returns whether it has a name of a document. A name of one word is a word like any other
    /// where the text has it in lower case alone: "the sensors" do not name `sensors.md`.
    fn has(&self, name: &str, document: &str) -> bool {
        let word = name.trim();
        let is_plain = word.chars().all(char::is_lowercase);
        let is_own = self.own.iter().any(|own| own == name);
        !is_own && self.spaced.contains(name) && (!is_plain || self.has_as_name(word, document))
    }

    /// Returns whether the text has a word of lower-case letters as a name: in code marks, as the
    /// name of a file, or with a capital everywhere.
    fn has_as_name(&self, word: &str, document: &str) -> bool {
        let extension = Path::new(document).extension();
        let extension = extension.and_then(OsStr::to_str).unwrap_or_default();
        let is_end = |c: char| !c.is_alphanumeric();

        let mut is_capital = false;
        let mut is_lower = false;
        let mut start = 0;
        for piece in self.text.split_inclusive(is_end) {
            let found = piece.trim_end_matches(is_end);
            let (before, after) = (&self.text[..start], &self.text[start + found.len()..]);
            start += piece.len();
            if found.to_lowercase() != word {
                continue;
            }

            let ending = after.strip_prefix('.');
            let is_file = ending.and_then(|ending| ending.strip_prefix(extension));
            let is_file = !extension.is_empty()
                && is_file.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            if is_file || before.ends_with('`') {
                return true;
            }
            is_capital |= found != word;
            is_lower |= found == word;
        }
        is_capital && !is_lower
    }
}

/// Returns the names of the document of a chunk.
fn chunk_names(chunk: &ChunkText) -> Vec<String> {
    names(&chunk.document, chunk.headings.first().map(String::as_str)).collect()
}

/// Returns the names of a document: that of its file, without a number in front, and its title,
/// and both without what distinguishes them from others: "Gamer (film)", "Lorbyton, Lund".
fn names<'n>(path: &'n str, title: Option<&'n str>) -> impl Iterator<Item = String> + 'n {
    let stem = document_stem(path).replace('_', " ");
    let stem = stem.trim_start_matches(|c: char| c.is_ascii_digit() || "-. ".contains(c));
    let names = iter::once(stem.to_owned()).chain(title.map(str::to_owned));
    let names = names.flat_map(|name| {
        let short = name.find(['(', ',']).map(|end| spaced_words(&name[..end]));
        iter::once(spaced_words(&name)).chain(short)
    });
    names.filter(|name| name.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_LETTERS)
}

/// Returns the words of a text in lower case, each between blanks.
fn spaced_words(text: &str) -> String {
    words(text).fold(" ".to_owned(), |spaced, word| spaced + &word + " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ranked;

    fn hit(rank: u32, document: &str, start: u64, text: &str) -> Hit {
        let chunk = ChunkText {
            id: u64::from(rank),
            document: document.to_owned(),
            bytes: [start, start + 100],
            lines: [1, 1],
            tokens: 9,
            text: text.to_owned(),
            ..ChunkText::default()
        };
        let score = 1.0 - 0.1 * rank as f32;
        Hit::new(chunk, Ranked { score, rank })
    }

    fn raise(hits: Vec<Hit>) -> Vec<Hit> {
        let texts = naming_texts(&hits, &RetrieverSettings::default());
        raise_named(hits, Vec::new(), &texts, 50)
    }

    #[test]
    fn the_beginning_of_a_named_document_is_raised() {
        let hits = vec![
            hit(
                1,
                "films/0007-night-ferry.md",
                0,
                "Night Ferry was directed by Mira Oakes.",
            ),
            hit(
                2,
                "ferries.md",
                0,
                "A ferry crosses at night. Mira Oaken paid.",
            ),
            hit(3, "b/ferry.md", 0, "The ferry is old."),
            hit(
                4,
                "people/mira_oakes.md",
                200,
                "She paints, says Mira Oakes.",
            ),
            hit(5, "people/mira_oakes.md", 0, "Born in Lorby."),
        ];
        let hits = raise(hits);

        let order = hits
            .iter()
            .map(|hit| (hit.chunk.id, hit.fused.rank, hit.named_by));
        let order: Vec<_> = order.collect();
        let expected = [
            (1, 1, None),
            (5, 2, Some(1)),
            (2, 3, None),
            (3, 4, None),
            (4, 5, None),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_word_in_lower_case_names_no_document() {
        for (document, text, is_named) in [
            ("sensors.md", "The sensors on the pier failed.", false),
            (
                "sensors.md",
                "Sensors: the sensors on the pier failed.",
                false,
            ),
            ("sensors.md", "The list is in sensors.md, says Tom.", true),
            ("sensors.md", "The list is in sensors.mdx, says Tom.", false),
            ("sensors.md", "Read `sensors` first.", true),
            ("metallica.md", "It was recorded by Metallica.", true),
            ("night-ferry.md", "He filmed the night ferry.", true),
            ("hx2010.md", "See hx2010 for more.", true),
        ] {
            let hits = vec![
                hit(1, "minutes.md", 0, text),
                hit(2, document, 0, "A list."),
            ];
            let raised = raise(hits);
            let by = raised.iter().find_map(|hit| hit.named_by);
            assert_eq!(by.is_some(), is_named, "{document}: {text}");
        }
    }

    #[test]
    fn documents_that_only_a_hit_names_are_found_by_file_and_title() {
        let documents = [
            ("0003-mira-oakes.md", None),
            ("p17.md", Some("Night Ferry (film)")),
            ("p18.md", Some("Lorbyton, Lund")),
            ("sensors.md", None),
            ("ferries.md", Some("Daily log")),
            ("log2.md", Some("Daily log")),
            ("a/overview.md", None),
            ("b/overview.md", None),
            ("c/overview.md", None),
        ];
        let names = DocumentNames::new(documents.into_iter());
        let missing = |text: &str| {
            let mut hits = [hit(1, "ferries.md", 0, text)];
            hits[0].chunk.headings = vec!["Daily log".to_owned()];
            let texts = naming_texts(&hits, &RetrieverSettings::default());
            names.missing(&hits, &texts, &Names::default()).join(" ")
        };

        assert_eq!(
            missing(
                "Night Ferry was filmed in Lorbyton, says Mira Oakes; no sensors. See Overview."
            ),
            "p17.md p18.md 0003-mira-oakes.md"
        );
        assert_eq!(missing("It was filmed at night. Mira paid."), "");
        assert_eq!(missing("# Daily log"), "");
    }

    #[test]
    fn a_name_that_most_hits_have_raises_nothing() {
        let text = "The Lighthouse of Lund.";
        let mut hits: Vec<Hit> = (1..=4).map(|rank| hit(rank, "a.md", 0, text)).collect();
        hits.push(hit(5, "lighthouse.md", 0, "White and red."));
        assert_eq!(raise(hits.clone()), hits);

        // nor does it find what is in neither list
        let mut named = hits.pop().expect("a hit");
        named.fused = Ranked::default();
        let texts = naming_texts(&hits, &RetrieverSettings::default());
        assert_eq!(raise_named(hits.clone(), vec![named], &texts, 50), hits);
    }
}
