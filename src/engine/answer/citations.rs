//! Citations: the chunk that supports a sentence of the answer, by the label that the model wrote,
//! or else by the source sentence that holds its words.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::corpus::sentences;
use crate::engine::run::Passages;
use crate::event::{ChunkPart, Citation, Evidence, Hit, Place, saturating_u32};

/// Minimum share of a sentence's weighted words that the source sentence must hold to support it.
const MIN_SHARE: f32 = 0.6;

/// The sentences of the passages, ready to be compared with sentences of the answer.
pub struct Supports {
    passages: Vec<Citation>,
    sources: Vec<SourceSentence>,
    /// The number of source sentences that hold a word: a word that is in all of them says little.
    sources_with: HashMap<String, usize>,
}

struct SourceSentence {
    /// Its passage, as an index into `passages`.
    passage: usize,
    lines: [u32; 2],
    place: Option<Place>,
    text: String,
    words: HashSet<String>,
}

impl SourceSentence {
    /// Returns the citation of a passage with this sentence of it.
    fn cited_of(&self, passage: Citation) -> Citation {
        Citation {
            first_line: self.lines[0],
            last_line: self.lines[1],
            place: self.place.clone(),
            quote: Some(self.text.clone()),
            ..passage
        }
    }
}

impl Supports {
    /// Splits the passages into sentences.
    pub fn new(passages: &Passages) -> Self {
        let mut supports = Self {
            passages: Vec::new(),
            sources: Vec::new(),
            sources_with: HashMap::new(),
        };
        for (label, hit) in (1..).zip(&passages.hits) {
            for range in sentences(&hit.chunk.text, "") {
                let words = words(&hit.chunk.text[range.clone()]);
                for word in &words {
                    *supports.sources_with.entry(word.clone()).or_default() += 1;
                }
                let lines = lines(hit, range.clone());
                supports.sources.push(SourceSentence {
                    passage: supports.passages.len(),
                    lines,
                    place: hit.chunk.place(lines),
                    text: hit.chunk.text[range].to_owned(),
                    words,
                });
            }
            supports.passages.push(citation(label, hit));
        }
        supports
    }

    /// Returns the citations of `sentence`: the passages that it marks with a label, otherwise the
    /// source sentence that holds most of its words, if any holds enough of them.
    pub fn cite(&self, sentence: &str) -> Vec<Citation> {
        let marked: Vec<Citation> = marks(sentence)
            .into_iter()
            .filter_map(|label| self.find_marked(label, sentence))
            .collect();
        if marked.is_empty() {
            self.best_by_words(sentence).into_iter().collect()
        } else {
            marked
        }
    }

    /// Returns the citation of a passage that a sentence marks, with the source sentence in it.
    fn find_marked(&self, label: u32, sentence: &str) -> Option<Citation> {
        let at = self
            .passages
            .iter()
            .position(|passage| passage.label == label)?;
        let sources = self.sources.iter().filter(|source| source.passage == at);
        let best = self.best(&without_marks(sentence), sources);
        let passage = self.passages[at].clone();
        Some(match best {
            Some((_, source)) => source.cited_of(passage),
            None => passage,
        })
    }

    fn best_by_words(&self, sentence: &str) -> Option<Citation> {
        let (share, source) = self.best(sentence, self.sources.iter())?;
        let passage = self.passages.get(source.passage)?.clone();
        Some(Citation {
            evidence: Evidence::Overlap { share },
            ..source.cited_of(passage)
        })
    }

    /// Returns the source sentence that holds most of the words of `sentence`, with its share of
    /// them, if it is large enough.
    fn best<'a>(
        &self,
        sentence: &str,
        sources: impl Iterator<Item = &'a SourceSentence>,
    ) -> Option<(f32, &'a SourceSentence)> {
        let words = words(sentence);
        let total: f32 = words.iter().map(|word| self.weight(word)).sum();
        sources
            .map(|source| {
                let held = words.intersection(&source.words);
                let weight: f32 = held.map(|word| self.weight(word)).sum();
                (weight / total, source)
            })
            .filter(|(share, _)| *share >= MIN_SHARE)
            // of equal ones the first: passages come best first
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Returns the inverse document frequency over the source sentences: a word that none of them
    /// holds weighs most.
    fn weight(&self, word: &str) -> f32 {
        let sources_with = self.sources_with.get(word).copied().unwrap_or(0);
        (1.0 + self.sources.len() as f32 / (1.0 + sources_with as f32)).ln()
    }
}

fn citation(label: u32, hit: &Hit) -> Citation {
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

/// Returns the lines of a sentence of a chunk: counted inside the chunk where its text has the line
/// breaks of the file, otherwise those of the chunk.
fn lines(hit: &Hit, range: Range<usize>) -> [u32; 2] {
    let chunk = &hit.chunk;
    let holds_start = |part: &&ChunkPart| range.start < part.text[1] as usize;
    let (whole, [first, last]) = match chunk.parts.iter().find(holds_start) {
        Some(part) => (part.text[0] as usize..part.text[1] as usize, part.lines),
        None => (0..chunk.text.len(), chunk.lines),
    };

    let breaks = |text: &str| saturating_u32(text.matches('\n').count());
    let text = &chunk.text[whole.clone()];
    if breaks(text.trim_end()) != last.saturating_sub(first) {
        return [first, last];
    }

    let start = first + breaks(&chunk.text[whole.start..range.start.max(whole.start)]);
    let end = start + breaks(chunk.text[range].trim_end());
    [start, end.min(last)]
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns a sentence without the labels that it names.
fn without_marks(sentence: &str) -> String {
    let is_label = |label: &str| label.trim().parse::<u32>().is_ok();
    let mut kept = String::with_capacity(sentence.len());
    for part in sentence.split('[') {
        match part.split_once(']') {
            Some((inside, rest)) if inside.split(',').all(is_label) => kept.push_str(rest),
            _ => kept.push_str(part),
        }
    }
    kept
}

/// Returns the labels that a sentence names: `[2]`, `[1, 3]`.
fn marks(sentence: &str) -> Vec<u32> {
    sentence
        .split('[')
        .skip(1)
        .filter_map(|rest| rest.split_once(']'))
        .flat_map(|(inside, _)| inside.split(','))
        .filter_map(|label| label.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ChunkText, Ranked};

    fn hit(text: &str, lines: [u32; 2]) -> Hit {
        let chunk = ChunkText {
            id: u64::from(lines[0]),
            document: "people.md".to_owned(),
            headings: Vec::new(),
            bytes: [0, text.len() as u64],
            lines,
            places: Vec::new(),
            tokens: 1,
            text: text.to_owned(),
            parts: Vec::new(),
        };
        Hit {
            chunk,
            bm25: None,
            vector: None,
            fused: Ranked {
                score: 1.0,
                rank: 1,
            },
        }
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
        let supports = Supports::new(&passages);
        /// Label, first and last line of each expected citation.
        type Cited = &'static [(u32, u32, u32)];
        let cases: [(&str, Cited); 6] = [
            ("Tam Reeve came from Lorby [1].", &[(1, 3, 4)]),
            ("Mira Oakes lives in Lorby [1].", &[(1, 3, 3)]),
            ("Both say so [1, 2].", &[(1, 3, 4), (2, 7, 9)]),
            ("Tam Reeve was born in Aldmouth.", &[(2, 7, 8)]),
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
}
