//! Which chunk supports a sentence of the answer: the label that the model wrote, else the place that holds its words.

use std::collections::{HashMap, HashSet};

use crate::corpus::sentences;
use crate::engine::run::Passages;
use crate::event::{ChunkPart, Citation, Evidence, Hit};

/// A sentence of the answer counts as supported by a place that holds at least this share of its weighted words.
const MIN_SHARE: f32 = 0.6;

/// The sentences of the passages, ready to be compared with sentences of the answer.
pub struct Supports {
    passages: Vec<Citation>,
    places: Vec<Place>,
    /// In how many places a word occurs: a word that is everywhere says little.
    places_with: HashMap<String, usize>,
}

struct Place {
    passage: usize,
    lines: [u32; 2],
    words: HashSet<String>,
}

impl Supports {
    /// Split the passages into sentences.
    pub fn of(passages: &Passages) -> Self {
        let mut supports = Self {
            passages: Vec::new(),
            places: Vec::new(),
            places_with: HashMap::new(),
        };
        for (label, hit) in (1..).zip(&passages.hits) {
            for range in sentences(&hit.chunk.text, "") {
                let words = words(&hit.chunk.text[range.clone()]);
                for word in &words {
                    *supports.places_with.entry(word.clone()).or_default() += 1;
                }
                supports.places.push(Place {
                    passage: supports.passages.len(),
                    lines: lines(hit, range),
                    words,
                });
            }
            supports.passages.push(citation(label, hit));
        }
        supports
    }

    /// The places that support `sentence`: all that it marks with a label, else the best one by its words, if any is good enough.
    pub fn cite(&self, sentence: &str) -> Vec<Citation> {
        let marked: Vec<Citation> = marks(sentence)
            .into_iter()
            .filter_map(|label| self.passages.iter().find(|passage| passage.label == label))
            .cloned()
            .collect();
        if marked.is_empty() {
            self.best_by_words(sentence).into_iter().collect()
        } else {
            marked
        }
    }

    fn best_by_words(&self, sentence: &str) -> Option<Citation> {
        let words = words(sentence);
        let total: f32 = words.iter().map(|word| self.weight(word)).sum();
        let (share, place) = self
            .places
            .iter()
            .map(|place| {
                let held: f32 = words
                    .intersection(&place.words)
                    .map(|word| self.weight(word))
                    .sum();
                (held / total, place)
            })
            .filter(|(share, _)| *share >= MIN_SHARE)
            // of equal places the first: passages come best first
            .reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        let [first_line, last_line] = place.lines;
        let passage = self.passages.get(place.passage)?.clone();
        Some(Citation {
            first_line,
            last_line,
            evidence: Evidence::Overlap { share },
            ..passage
        })
    }

    /// Inverse document frequency over the places; a word that no place holds weighs most.
    fn weight(&self, word: &str) -> f32 {
        let places_with = self.places_with.get(word).copied().unwrap_or(0);
        (1.0 + self.places.len() as f32 / (1.0 + places_with as f32)).ln()
    }
}

fn citation(label: u32, hit: &Hit) -> Citation {
    Citation {
        label,
        chunk: hit.chunk.id,
        file: hit.chunk.document.clone(),
        first_line: hit.chunk.lines[0],
        last_line: hit.chunk.lines[1],
        evidence: Evidence::Marked,
    }
}

/// The lines of a sentence: counted inside the chunk where its text runs line by line with the file, else those of the chunk.
fn lines(hit: &Hit, range: std::ops::Range<usize>) -> [u32; 2] {
    let chunk = &hit.chunk;
    let own = |part: &&ChunkPart| range.start < part.text[1] as usize;
    let (whole, [first, last]) = match chunk.parts.iter().find(own) {
        Some(part) => (part.text[0] as usize..part.text[1] as usize, part.lines),
        None => (0..chunk.text.len(), chunk.lines),
    };
    let ends = |text: &str| u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
    let text = &chunk.text[whole.clone()];
    if ends(text.trim_end()) != last.saturating_sub(first) {
        return [first, last];
    }
    let start = first + ends(&chunk.text[whole.start..range.start.max(whole.start)]);
    [
        start,
        (start + ends(chunk.text[range].trim_end())).min(last),
    ]
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The labels that a sentence names: `[2]`, `[1, 3]`.
fn marks(sentence: &str) -> Vec<u32> {
    sentence
        .split('[')
        .skip(1)
        .filter_map(|rest| rest.split_once(']'))
        .flat_map(|(inside, _)| {
            inside
                .split(',')
                .map(|label| label.trim().parse())
                .collect::<Vec<_>>()
        })
        .filter_map(Result::ok)
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
        let supports = Supports::of(&passages);
        /// Label, first and last line of each expected citation.
        type Cited = &'static [(u32, u32, u32)];
        let cases: [(&str, Cited); 5] = [
            ("Tam Reeve came from Lorby [1].", &[(1, 3, 4)]),
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
