//! The sources of an answer: the passages and their sentences, ready to be compared with what the
//! answer says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::corpus::{fold_white_space, language, named_dates, sentences, split_words};
use crate::engine::run::Passages;
use crate::event::{ChunkPart, ChunkText, Citation, Evidence, Hit, Place, saturating_u32};
use crate::index::short_text_language;

use super::threads::{Originals, dated_parts};
use super::wording::{asks_which, has_digit, stems, words};

/// The bonus of a whole sentence: less than the share of any word.
const WHOLE_BONUS: f32 = 1e-3;

/// Words and signs in front of the number of a part of a document, in lower case.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "§", "section", "article", "clause", "chapter", "appendix", "abschnitt", "artikel", "kapitel",
    "anhang", "chapitre", "sección", "artículo", "capítulo",
];

/// The sentences of the passages, ready to be compared with sentences of the answer.
pub struct Supports {
    pub passages: Vec<Source>,
    pub sources: Vec<SourceSentence>,
    /// The number of source sentences that hold a word: a word that is in all of them says little.
    sources_with: HashMap<String, usize>,
    /// Words of the question.
    pub question: BTreeSet<String>,
    /// The days and months that the question names.
    pub days: Vec<String>,
    /// The number of the part of a document that the question names, as in "section 4"; the parts
    /// of "4.2".
    pub part: BTreeSet<String>,
    /// The language of the question, where it is another one than English.
    pub foreign: Option<&'static str>,
    /// Without stop words and endings, by the language of the passages.
    pub asked: BTreeMap<&'static str, BTreeSet<String>>,
    /// The kind of thing that is asked for, as in "which attribute".
    kind: Option<String>,
}

/// A passage, with the words of its text and its place.
pub struct Source {
    pub citation: Citation,
    pub language: &'static str,
    /// Text behind the place, in lower case.
    pub text: String,
    /// The words as they are, in lower case.
    pub words: BTreeSet<String>,
    /// Without stop words and endings.
    pub stems: BTreeSet<String>,
    /// Words of its place, in lower case, and without stop words and endings.
    pub place: BTreeSet<String>,
    pub place_stems: BTreeSet<String>,
}

/// A sentence of a passage.
#[derive(Clone)]
pub struct SourceSentence {
    /// Index of its passage in `passages`.
    pub passage: usize,
    /// The byte of the passage at which it begins.
    pub at: usize,
    pub lines: [u32; 2],
    /// The date of its part of a thread, in the headings above it, or else of its document, as
    /// `2024-01-31`.
    pub date: Option<String>,
    pub place: Option<Place>,
    pub text: String,
    /// Words of the headings above it, in lower case.
    pub above: BTreeSet<String>,
    /// Words of the innermost heading with a number, in lower case.
    pub part: BTreeSet<String>,
    pub words: BTreeSet<String>,
    pub stems: BTreeSet<String>,
}

impl SourceSentence {
    pub fn holds_code(&self, code: &str) -> bool {
        fold_white_space(&self.text.to_lowercase()).contains(code)
    }
}

impl Supports {
    /// Splits the passages into sentences.
    pub fn new(question: &str, passages: &Passages) -> Self {
        let mut supports = Self {
            passages: Vec::new(),
            sources: Vec::new(),
            sources_with: HashMap::new(),
            question: words(question),
            days: named_dates(question),
            part: part_asked(question),
            foreign: short_text_language(question).filter(|language| *language != "en"),
            asked: BTreeMap::new(),
            kind: kind_asked(question).map(str::to_owned),
        };

        let originals = Originals::new(&passages.hits);
        for (label, hit) in (1..).zip(&passages.hits) {
            let language = language(&hit.chunk.text);
            let parts = dated_parts(hit);
            // what a mail quotes of another source is of that one
            let mut own_text = String::new();
            let mut end = 0;
            for range in sentences(&hit.chunk.text, language) {
                let text = &hit.chunk.text[range.clone()];
                own_text.push_str(&hit.chunk.text[end.min(range.start)..range.start]);
                end = range.end;
                if originals.has_source(supports.passages.len(), &hit.chunk.text, range.clone()) {
                    continue;
                }
                own_text.push_str(text);
                let stems = stems(text, language);
                for stem in &stems {
                    *supports.sources_with.entry(stem.clone()).or_default() += 1;
                }
                let lines = lines(&hit.chunk, range.clone());
                let headings = hit.chunk.headings_at(range.start);
                let part = parts.iter().rfind(|part| part.at <= range.start);
                let numbered = headings.iter().rev().find(|one| has_digit(one));
                let dated = headings.iter().rev().find_map(|one| named_dates(one).pop());
                let dated = dated.or_else(|| hit.date.clone());
                supports.sources.push(SourceSentence {
                    passage: supports.passages.len(),
                    at: range.start,
                    lines,
                    date: part.map_or(dated, |part| part.date.clone()),
                    place: hit.chunk.place(lines),
                    text: text.to_owned(),
                    above: words(&headings.join(" ")),
                    part: numbered.map(|one| words(one)).unwrap_or_default(),
                    words: words(text),
                    stems,
                });
            }

            own_text.push_str(&hit.chunk.text[end..]);
            let text = hit.chunk.place_with(&own_text);
            let place = hit.chunk.names().join(" ");
            let asked = supports.asked.entry(language);
            asked.or_insert_with(|| stems(question, language));
            supports.passages.push(Source {
                citation: citation(label, hit),
                language,
                text: fold_white_space(&text.to_lowercase()),
                words: words(&text),
                stems: stems(&text, language),
                place: words(&place),
                place_stems: stems(&place, language),
            });
        }

        supports
    }

    /// Returns the citation of a source sentence.
    pub fn quote(&self, source: &SourceSentence) -> Citation {
        Citation {
            first_line: source.lines[0],
            last_line: source.lines[1],
            place: source.place.clone(),
            quote: Some(source.text.clone()),
            ..self.passages[source.passage].citation.clone()
        }
    }

    /// Returns a citation of each passage with the sentence that holds most words of the question:
    /// of two that hold as many, a whole one goes before a field or a heading.
    pub fn best_quotations(&self) -> Vec<Citation> {
        let passages = self.passages.iter().enumerate();
        let best = passages.filter_map(|(at, passage)| {
            let asked = &self.asked[passage.language];
            let own = self.sources_of(at);
            let scored = own.map(|source| {
                let is_whole = source.text.ends_with(['.', '!', '?', '。']);
                let bonus = if is_whole { WHOLE_BONUS } else { 0.0 };
                (self.share(asked, &source.stems) + bonus, source)
            });
            largest(scored).map(|(_, source)| self.quote(source))
        });
        best.collect()
    }

    /// Returns the sentences of a passage, by its index.
    pub fn sources_of(&self, passage: usize) -> impl Iterator<Item = &SourceSentence> {
        self.sources
            .iter()
            .filter(move |one| one.passage == passage)
    }

    /// Returns the weighted share of the words of a claim among `held`.
    pub fn share(&self, words: &BTreeSet<String>, held: &BTreeSet<String>) -> f32 {
        let total: f32 = words.iter().map(|word| self.weight(word)).sum();
        let common = words.intersection(held);
        let common: f32 = common.map(|word| self.weight(word)).sum();
        if total > 0.0 { common / total } else { 0.0 }
    }

    /// Removes from the words of a claim the kind of thing that was asked for, where no source has
    /// its name: "which attribute …" is answered by an attribute that is not called one.
    pub fn remove_kind(&self, words: &mut BTreeSet<String>, language: &'static str) {
        let kind = self.kind.as_deref().unwrap_or_default();
        for stem in stems(kind, language) {
            if !self.sources_with.contains_key(&stem) {
                words.remove(&stem);
            }
        }
    }

    /// Returns the inverse document frequency over the source sentences: a word that none of them
    /// holds weighs most.
    pub fn weight(&self, word: &str) -> f32 {
        let sources_with = self.sources_with.get(word).copied().unwrap_or(0);
        (1.0 + self.sources.len() as f32 / (1.0 + sources_with as f32)).ln()
    }
}

/// Returns the words of the number behind a word for a part of a document.
fn part_asked(question: &str) -> BTreeSet<String> {
    let lower = question.to_lowercase().replace('§', " § ");
    let words: Vec<&str> = lower.split_whitespace().collect();
    let number = PARTS.iter().find_map(|part| {
        let at = words.iter().position(|word| word == part)?;
        let number = words.get(at + 1)?;
        number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(*number)
    });
    number.map(self::words).unwrap_or_default()
}

/// Returns the word behind the one that asks which thing it is; in English a name is no kind.
fn kind_asked(question: &str) -> Option<&str> {
    let mut words = split_words(question).enumerate();
    let is_small = |word: &str| !word.starts_with(char::is_uppercase);
    let is_asking =
        |at: usize, word: &str| (at == 0 || is_small(word)) && asks_which(&word.to_lowercase());
    let (_, asking) = words.find(|(at, word)| is_asking(*at, word))?;
    let (_, kind) = words.next()?;
    let is_english = ["which", "what"].contains(&asking.to_lowercase().as_str());
    (!is_english || is_small(kind)).then_some(kind)
}

/// Returns the source sentence with the largest share; of equal ones the first.
pub fn largest<'a>(
    scored: impl Iterator<Item = (f32, &'a SourceSentence)>,
) -> Option<(f32, &'a SourceSentence)> {
    scored.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// Returns the citation of a passage as a whole.
pub fn citation(label: u32, hit: &Hit) -> Citation {
    Citation {
        label,
        chunk: hit.chunk.id,
        chunk_lines: Some(hit.chunk.lines),
        chunk_place: hit.chunk.place(hit.chunk.lines),
        file: hit.chunk.document.clone(),
        first_line: hit.chunk.lines[0],
        last_line: hit.chunk.lines[1],
        place: hit.chunk.place(hit.chunk.lines),
        quote: None,
        evidence: Evidence::Marked,
    }
}

/// Returns whether a line of a chunk is one of its file: readers put blank ones between rows.
type CountsLine = fn(&str) -> bool;

/// Returns the number of lines that end inside of a text.
fn line_breaks(text: &str, counts: CountsLine) -> u32 {
    let lines = text.split_inclusive('\n');
    let ended = lines.filter(|line| line.ends_with('\n') && counts(line));
    saturating_u32(ended.count())
}

/// Returns the lines of a part of a chunk: counted inside of the chunk where its text has the lines
/// of the file, be it with blank ones between them, otherwise those of the chunk.
pub fn lines(chunk: &ChunkText, range: Range<usize>) -> [u32; 2] {
    let holds_start = |part: &&ChunkPart| range.start < part.text[1] as usize;
    let (whole, [first, last]) = match chunk.parts.iter().find(holds_start) {
        Some(part) => (part.text[0] as usize..part.text[1] as usize, part.lines),
        None => (0..chunk.text.len(), chunk.lines),
    };

    let text = chunk.text[whole.clone()].trim_end();
    let is_whole = |counts: &CountsLine| line_breaks(text, *counts) == last.saturating_sub(first);
    let ways: [CountsLine; 2] = [|_| true, |line| !line.trim().is_empty()];
    let Some(counts) = ways.into_iter().find(is_whole) else {
        return [first, last];
    };

    let start = first
        + line_breaks(
            &chunk.text[whole.start..range.start.max(whole.start)],
            counts,
        );
    let end = start + line_breaks(chunk.text[range].trim_end(), counts);
    [start, end.min(last)]
}
