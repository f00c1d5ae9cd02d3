//! The values of events about the understanding of a context and its refinement.

use serde::{Deserialize, Serialize};

/// A measured context: its answer, the answers with one chunk rephrased each, and their agreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Understanding {
    pub origin: ContextOrigin,
    /// The chunks of the context, in the order of their labels.
    pub chunks: Vec<VariedChunk>,
    /// The original answer, then one per variant.
    pub replies: Vec<String>,
    /// The agreement of two replies by entailment: 0, 0.5 or 1; 1 on the diagonal.
    pub matrix: Vec<Vec<f32>>,
    /// The judgements of distinct replies.
    pub judgements: Vec<JudgedReplies>,
    /// Degree-based semantic entropy of the replies, nats: 0 when all agree.
    pub dse: f32,
    /// The context counts as understood up to this entropy.
    pub threshold: f32,
    pub certain: bool,
    pub wall_ms: u64,
}

/// The origin of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextOrigin {
    /// The chunks of the index.
    Retrieved,
    /// The documents, re-chunked for this question.
    Rechunked,
    /// The context of the previous round, refined.
    Refined,
}

/// A chunk and its variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariedChunk {
    /// The number of the chunk in the run.
    pub label: u32,
    pub chunk: u64,
    /// The chunk in other words.
    pub rephrasing: Option<String>,
    /// The reason why there is none.
    pub fault: Option<VariantFault>,
    /// Number of attempts.
    pub attempts: u32,
    /// Probability that the chunk entails its rephrasing, and the reverse, where that was judged.
    pub entailed: Option<[f32; 2]>,
    /// The position of the variant's reply in the list of replies.
    pub reply: Option<u32>,
    /// Whether the reply stays the same with the variant; `None` without a variant.
    pub certain: Option<bool>,
}

/// The reason why a chunk has no variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariantFault {
    /// The model wrote nothing.
    Empty,
    /// The model wrote the same words.
    SameWords,
    /// The judge rated its meaning as different.
    OtherMeaning,
    /// The variant does not fit into the context of a model.
    TooLong,
}

/// A judgement of whether the second reply follows from the first: probabilities, which sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JudgedReplies {
    pub a: u32,
    pub b: u32,
    pub entailment: f32,
    pub neutral: f32,
    pub contradiction: f32,
}

/// The role of a chunk in the answer of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkClass {
    /// Understood: the answer stays the same however the chunk is worded.
    Certain,
    /// Not understood, and the answer without it is different.
    Necessary,
    /// Not understood, and the answer without it is the same.
    Unnecessary,
    /// Without a variant, nothing was measured.
    Unmeasured,
}

/// A chunk with its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassifiedChunk {
    pub chunk: u64,
    pub class: ChunkClass,
    /// The answer without it, where that was generated.
    pub without: Option<String>,
    /// The agreement of that answer with the one with it: 0, 0.5 or 1.
    pub agreement: Option<f32>,
}

/// A chunk that was added to the context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AddedChunk {
    pub chunk: u64,
    /// The chunk that it is similar to, and their cosine similarity.
    pub similar_to: u64,
    pub similarity: f32,
}

/// The reason why a context cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unmeasured {
    /// The context has no chunk.
    NoChunk,
    /// None of its chunks could be rephrased.
    NoVariant,
    /// The prompt does not fit into the context size.
    TooLong,
}

/// The reason why refinement ended.
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
    /// Whether its chunks were in the cache.
    pub cached: bool,
    /// The reason why the document could not be re-chunked.
    pub error: Option<String>,
}
