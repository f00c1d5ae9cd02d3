//! What events carry of the stages between the retriever and the context: links, grades, judgements, and the way of a passage.

use serde::{Deserialize, Serialize};

use super::{ChunkText, CorpusCard, Hit, Ranked, SkippedFile};

/// A weighted tie to another chunk of the same document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The other chunk, by its place in the document, from 0.
    pub to: u32,
    /// Share of the attention that either pays to the other, in 0..=1.
    pub weight: f32,
}

/// Chunks of a document with the links between them, as far as they are drawn: all of a short document, of a long one what lies
/// around the chunks in question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentLinks {
    /// Path inside the corpus.
    pub document: String,
    /// Place of the first of `chunks` in the document, from 0, and the number of chunks that the document has.
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
    /// Strongest first.
    pub links: Vec<Link>,
}

/// A text that a linker made of a hit and relatives of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkedText {
    /// The joined text, with the scores of the hit that it grew from.
    pub hit: Hit,
    /// The hit that it grew from.
    pub seed: u64,
    pub relatives: Vec<Relative>,
}

/// A chunk that a hit is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    pub chunk: u64,
    pub weight: f32,
}

/// Where the chunks stand that hold a phrase, for one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedLookup {
    pub step: u32,
    pub query: String,
    /// Chunks of each list that are fused.
    pub pool: u32,
    /// Empty when no chunk of the index holds the phrase.
    pub chunks: Vec<TracedChunk>,
}

/// A chunk that holds a phrase, with its place in the lists of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedChunk {
    pub chunk: ChunkText,
    /// False when the phrase begins in one chunk and ends in the next.
    pub whole: bool,
    /// In the whole list; None when no word of the query is in the chunk.
    pub bm25: Option<Ranked>,
    /// In the whole list; None when the index has no vectors that can be compared.
    pub vector: Option<Ranked>,
    /// None when it is in neither pool.
    pub fused: Option<Ranked>,
}

/// What linking did.
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
    /// Hits were joined with what they are linked with.
    Linked,
    /// Texts with nearly the words of a better one were dropped.
    SimilarWording,
    /// Texts with nearly the vector of a better one fell out.
    Redundant,
    /// Three judges graded what was left, and a threshold followed from their grades.
    Graded,
    /// A judge said what is relevant.
    Judged,
    /// Joined texts with a chunk in common became one.
    Merged,
}

/// The grades of a text, each in 0..=1: relevance, the same after reflection, the critic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GradedChunk {
    pub chunk: u64,
    pub grades: [f32; 3],
    /// The grades by their weights.
    pub score: f32,
}

/// What the judge of relevance says of a text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JudgedChunk {
    pub chunk: u64,
    /// Probability that it is relevant.
    pub probability: f32,
}
