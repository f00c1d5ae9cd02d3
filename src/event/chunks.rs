//! The chunks: retrieved, ranked, in the context or dropped.

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};

use super::metadata::Metadata;
use super::place::{Place, PlaceFrom, embedded_text, place_of_lines, unsaid_headings};

/// A word of a query with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryWord {
    pub text: String,
    pub origin: WordOrigin,
}

/// The part of a sentence that the model was uncertain of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UncertainRegion {
    /// Mean of the word entropies + alpha times their deviation, nats: SEARAG, equation 5.
    pub threshold: f32,
    /// The first word above it, counted from 0; the region ends with the sentence. `None` when no
    /// word is: then the region is the whole sentence.
    pub first_word: Option<u32>,
}

/// The origin of a word of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordOrigin {
    /// The question.
    Question,
    /// A sentence of the answer.
    Sentence,
    /// The uncertain region of the uncertain sentence.
    UncertainRegion,
}

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Retrieval {
    pub query: String,
    pub hits: Vec<Hit>,
    /// Length of the BM25 list and of the vector list before fusion.
    pub bm25_found: u32,
    pub vector_found: u32,
    pub wall_us: u64,
    /// The documents that the query was limited to; `None` when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filtered>,
    /// Metadata of the documents of the hits, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub documents: BTreeMap<String, Metadata>,
}

/// The documents that a query was limited to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filtered {
    /// The filter as the user wrote it.
    pub filter: String,
    /// Number of documents that it lets through, of those in the index.
    pub documents: u64,
    pub of: u64,
}

/// A chunk: the unit that is retrieved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChunkText {
    /// Stable within a generation of the index.
    pub id: u64,
    /// Path of the document inside the corpus.
    pub document: String,
    /// Headings above the chunk, outermost first.
    pub headings: Vec<String>,
    /// The headings inside of its text, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionFrom>,
    /// Bytes of the file: start, and one past the end.
    pub bytes: [u64; 2],
    /// Lines of the document's text, from 1, both inclusive: those of the file where the file is
    /// text.
    pub lines: [u32; 2],
    /// The pages, slides or rows that it is on, where the file is not text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFrom>,
    /// Tokens by the embedder's vocabulary.
    pub tokens: u32,
    pub text: String,
    /// The chunks of a joined text, in the order of the document; then `bytes` and `lines` reach
    /// from the first to the last. Empty for a chunk of the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ChunkPart>,
}

impl ChunkText {
    /// Returns the place of lines of the chunk; `None` where the lines are the place.
    pub fn place(&self, lines: [u32; 2]) -> Option<Place> {
        place_of_lines(&self.places, lines)
    }

    /// Returns the path of its document and the headings above it that its text does not repeat.
    pub fn names(&self) -> Vec<&str> {
        let headings = unsaid_headings(&self.headings, &self.text);
        iter::once(self.document.as_str()).chain(headings).collect()
    }

    /// Returns the headings above a byte of its text, outermost first.
    pub fn headings_at(&self, at: usize) -> &[String] {
        let after = self
            .sections
            .partition_point(|section| section.at as usize <= at);
        match after.checked_sub(1) {
            Some(last) => &self.sections[last].headings,
            None => &self.headings,
        }
    }

    /// Returns its text as an embedder reads it.
    pub fn embedded_text(&self) -> String {
        embedded_text(&self.document, &self.headings, &self.text)
    }

    /// Returns the path of its document, the headings above it, and its text: what a question is
    /// compared with word by word.
    pub fn text_with_place(&self) -> String {
        self.place_with(&self.text)
    }

    /// Returns the same of a part of its text.
    pub fn place_with(&self, text: &str) -> String {
        format!("{}\n{}\n{text}", self.document, self.headings.join("\n"))
    }
}

/// A section that begins inside of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionFrom {
    /// The byte of the chunk's text at which its heading begins.
    pub at: u32,
    /// The headings above what follows, outermost first, with its own.
    pub headings: Vec<String>,
}

/// A chunk inside a joined text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkPart {
    pub chunk: u64,
    /// Bytes and lines of the file, as in [`ChunkText`].
    pub bytes: [u64; 2],
    pub lines: [u32; 2],
    /// Bytes of the joined text that are its own: start, and one past the end.
    pub text: [u64; 2],
}

/// Score and rank in one list. Ranks count from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    pub score: f32,
    pub rank: u32,
}

/// A chunk that a retrieval returned, with its scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub chunk: ChunkText,
    /// BM25 score and rank; `None` when that list did not hold the chunk.
    pub bm25: Option<Ranked>,
    /// Cosine similarity and rank; `None` when that list did not hold the chunk.
    pub vector: Option<Ranked>,
    /// Score and rank after fusion, those of the best of its copies.
    pub fused: Ranked,
    /// The chunks that say the same and are no hits of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<ChunkCopy>,
    /// The words of the query that it holds, which add up to its BM25 score; the highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<WordScore>,
    /// The date that its document gives itself, or its file name has, as `2024-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The better hit that names its document, which raised its score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_by: Option<u64>,
    /// The hit of another name that it was put in front of, as its own place has the name that the
    /// query asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_before: Option<u64>,
}

/// A word of a query in a chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WordScore {
    /// The word as it is in the query; in records of before, and of a date, as it is indexed.
    pub word: String,
    /// The part that its forms add to the BM25 score.
    pub score: f32,
    /// Whether it is not in the text, but in the name of the file or in the headings alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub place_alone: bool,
    /// Whether it is a stop word: a query of nothing else is searched by those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_word: bool,
}

impl Hit {
    /// A chunk that is in neither list, with its place in the fused one.
    pub fn new(chunk: ChunkText, fused: Ranked) -> Self {
        Self {
            chunk,
            fused,
            ..Self::default()
        }
    }

    /// A chunk that no search ranked, at a place behind those that one did.
    pub fn with_rank(chunk: ChunkText, rank: u32) -> Self {
        Self::new(chunk, Ranked { score: 0.0, rank })
    }

    /// A chunk of one line, ranked by its number.
    #[cfg(test)]
    pub fn from_text(id: u32, document: &str, text: &str) -> Self {
        let chunk = ChunkText {
            id: id.into(),
            document: document.to_owned(),
            lines: [1, 1],
            text: text.to_owned(),
            ..ChunkText::default()
        };
        Self::with_rank(chunk, id)
    }
}

/// A chunk that says the same as a hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkCopy {
    pub chunk: u64,
    /// Path of the document inside the corpus.
    pub document: String,
    /// Lines of the document, as in [`ChunkText`].
    pub lines: [u32; 2],
    /// The place of the lines; `None` where the lines are the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The date of its document, where that of the hit has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Whether some of its words are others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub near: bool,
    /// The first of its words that the hit has not, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_words: Vec<String>,
}

/// The reranker's score of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RerankedChunk {
    pub chunk: u64,
    /// Relevance for the question, in 0..=1.
    pub score: f32,
}

/// A chunk in a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextChunk {
    /// The number of the chunk in the run, from 1; the prompt counts its passages in the order of
    /// this list.
    pub label: u32,
    pub chunk: u64,
    /// Tokens by the generator's vocabulary.
    pub tokens: u32,
}

/// A chunk that is not in the context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DroppedChunk {
    pub chunk: u64,
    pub reason: DropReason,
}

/// The reason why a chunk was dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum DropReason {
    /// The chunk ranked below the top `k`.
    BelowK { k: u32 },
    /// The prompt would not have fitted into the context.
    ContextFull {
        needed_tokens: u32,
        available_tokens: u32,
    },
    /// The first word of the answer would have come too late.
    Late {
        needed_tokens: u32,
        /// Tokens of a prompt that is read in time.
        timely_tokens: u32,
    },
    /// The document was re-chunked for this question, and new chunks replaced the old ones.
    Rechunked,
    /// A round of refinement found that the answer does not need it.
    Unnecessary { round: u32 },
    /// A better chunk says the same.
    Redundant { duplicate_of: u64, similarity: f32 },
    /// The score did not reach the threshold that followed from all scores.
    BelowThreshold { score: f32, threshold: f32 },
    /// The relevance judge rated it irrelevant.
    Irrelevant {
        probability: f32,
        min_probability: f32,
    },
    /// The chunk is part of another text now.
    Absorbed { by: u64 },
    /// The user excluded it.
    Excluded,
}

/// The passages of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    pub chunks: Vec<ContextChunk>,
    /// Retrieved chunks that are not in the context.
    pub dropped: Vec<DroppedChunk>,
    /// Tokens of the whole prompt, template included, and the token budget.
    pub prompt_tokens: u32,
    pub available_tokens: u32,
}
