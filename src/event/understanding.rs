//! What events carry about the understanding of a context and its repair.

use serde::{Deserialize, Serialize};

/// A measured context: its answer, the answers with one chunk said another way each, and how far they agree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Understanding {
    pub origin: ContextOrigin,
    /// The chunks of the context, in the order of their labels.
    pub chunks: Vec<VariedChunk>,
    /// The answer of the context as it is, then one a variant.
    pub replies: Vec<String>,
    /// How far two replies entail each other: 0, 0.5 or 1; 1 on the diagonal.
    pub matrix: Vec<Vec<f32>>,
    /// What the entailment judge said of distinct replies.
    pub judgements: Vec<JudgedReplies>,
    /// Degree-based semantic entropy of the replies, nats: 0 when all agree.
    pub dse: f32,
    /// Up to here the context counts as understood.
    pub threshold: f32,
    pub certain: bool,
    pub wall_ms: u64,
}

/// Where a context came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextOrigin {
    /// The chunks of the index.
    Retrieved,
    /// The documents, re-chunked for this question.
    Rechunked,
    /// The context of the round before, repaired.
    Refined,
}

/// A chunk and its variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariedChunk {
    /// The number in brackets, from 1.
    pub label: u32,
    pub chunk: u64,
    /// The chunk said another way.
    pub rephrasing: Option<String>,
    /// Why there is none.
    pub fault: Option<VariantFault>,
    /// How often it was tried.
    pub attempts: u32,
    /// Probability that the chunk entails its rephrasing, and the other way round, where that was judged.
    pub entailed: Option<[f32; 2]>,
    /// The place of the variant's reply in the list of replies.
    pub reply: Option<u32>,
    /// Is the reply the same, whatever the wording? None without a variant.
    pub certain: Option<bool>,
}

/// Why a chunk has no variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariantFault {
    /// The model said nothing.
    Empty,
    /// It said the same words.
    SameWords,
    /// The judge finds another meaning in it.
    OtherMeaning,
    /// It does not fit the context of a model.
    TooLong,
}

/// A judgement of two replies: how the second follows from the first. Probabilities; they sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JudgedReplies {
    pub a: u32,
    pub b: u32,
    pub entailment: f32,
    pub neutral: f32,
    pub contradiction: f32,
}

/// What a chunk is to the answer of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkClass {
    /// Understood: the answer stays the same however the chunk is put.
    Certain,
    /// Not understood, and without it the answer is another.
    Necessary,
    /// Not understood, and without it the answer is the same.
    Unnecessary,
    /// It has no variant, so nothing is known.
    Unmeasured,
}

/// A chunk with its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassifiedChunk {
    pub chunk: u64,
    pub class: ChunkClass,
    /// The answer without it, where that was asked.
    pub without: Option<String>,
    /// How far that answer and the one with it entail each other: 0, 0.5 or 1.
    pub agreement: Option<f32>,
}

/// A chunk that came into the context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AddedChunk {
    pub chunk: u64,
    /// The chunk that it resembles, and their cosine similarity.
    pub similar_to: u64,
    pub similarity: f32,
}

/// Why a context cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unmeasured {
    /// There is no chunk in it.
    NoChunk,
    /// None of its chunks could be said another way.
    NoVariant,
    /// It fits no prompt.
    TooLong,
}

/// Why refinement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefinementEnd {
    /// A context is good enough.
    Sufficient,
    /// The maximum number of rounds was reached.
    RoundLimit,
    /// Nothing was left to drop or to add.
    Unchanged,
    /// A context could not be measured.
    Unmeasured,
}

/// A document that was re-chunked for one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RechunkedDocument {
    /// Path inside the corpus.
    pub document: String,
    pub sentences: u32,
    pub chunks: u32,
    /// True when its chunks were in the cache.
    pub cached: bool,
    /// Why it could not be re-chunked.
    pub error: Option<String>,
}
