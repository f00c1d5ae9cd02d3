//! The values of events about the stages between the retriever and the context: links, grades,
//! judgements, and the trace of a passage.

use serde::{Deserialize, Serialize};

use super::chunks::{ChunkText, Hit, Ranked, WordScore};
use super::documents::{CorpusCard, SkippedFile};
use super::place::Place;

/// A part of a run that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Rewriter,
    Linker,
    Filter,
    Reranker,
    Understanding,
    Refiner,
    Utility,
}

/// The reason why parts of a run were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LeftOut {
    /// The gate was certain of the sentence without them.
    NotNeeded,
    /// They would have taken longer than what was left of the budget.
    NoTime { needed_ms: u64, left_ms: u64 },
}

/// A weighted connection to another chunk of the same document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The other chunk, by its position in the document, from 0.
    pub to: u32,
    /// Attention that either pays to the other, divided by what it pays to a unit on average; in
    /// records before 2.12 the share of its attention.
    pub weight: f32,
}

/// Chunks of a document with the links between them: all of a short document, those around the hits
/// of a long one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentLinks {
    /// Path inside the corpus.
    pub document: String,
    /// Position of the first of `chunks` in the document, from 0, and the document's number of
    /// chunks.
    pub first: u32,
    pub of: u32,
    pub chunks: Vec<LinkedChunk>,
}

/// A chunk and its strongest links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkedChunk {
    pub chunk: u64,
    /// Lines of the file, from 1, both inclusive.
    pub lines: [u32; 2],
    /// The page, slide or row, where the file is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Strongest first.
    pub links: Vec<Link>,
}

/// A text that a linker joined from a hit and its relatives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkedText {
    /// The joined text, with the scores of its `seed`.
    pub hit: Hit,
    /// The hit that its relatives were joined to.
    pub seed: u64,
    pub relatives: Vec<Relative>,
}

/// A chunk that a hit is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    pub chunk: u64,
    pub weight: f32,
}

/// The ranks of the chunks that hold a phrase, for one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedLookup {
    pub step: u32,
    pub query: String,
    /// Chunks of each list that are fused.
    pub pool: u32,
    /// Empty when no chunk of the index holds the phrase.
    pub chunks: Vec<TracedChunk>,
}

/// A chunk that holds a phrase, with its rank in the lists of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedChunk {
    pub chunk: ChunkText,
    /// False when the phrase begins in one chunk and ends in the next.
    pub whole: bool,
    /// Rank and score in the whole list; `None` when no word of the query is in the chunk.
    pub bm25: Option<Ranked>,
    /// Rank and score in the whole list; `None` when the index has no comparable vectors.
    pub vector: Option<Ranked>,
    /// `None` when it is in neither pool.
    pub fused: Option<Ranked>,
    /// The words of the query that it holds, as in [`super::Hit`]; none where a database searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<WordScore>,
}

/// The result of linking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    pub corpus: CorpusCard,
    /// The linker, and the file of the model whose attention was read.
    pub linker: String,
    pub model: String,
    /// Documents and chunks that have links now.
    pub documents: u64,
    pub chunks: u64,
    /// Documents that were linked in this run, and that were linked before.
    pub linked: u64,
    pub known: u64,
    /// Documents that could not be linked, and why.
    pub skipped: Vec<SkippedFile>,
    pub wall_ms: u64,
}

/// A stage between the retriever and the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Hits were joined with the chunks that they are linked with.
    Linked,
    /// Texts with nearly the same vector as a better one were dropped.
    Redundant,
    /// Three judges graded the texts, and a threshold followed from their grades.
    Graded,
    /// A judge rated the relevance of the texts.
    Judged,
    /// Joined texts with a chunk in common were merged.
    Merged,
}

/// The grades of a text, each in 0..=1: relevance, relevance after reflection, the critic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GradedChunk {
    pub chunk: u64,
    pub grades: [f32; 3],
    /// The weighted sum of the grades.
    pub score: f32,
}

/// The relevance judge's rating of a text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JudgedChunk {
    pub chunk: u64,
    /// Probability that it is relevant.
    pub probability: f32,
}
