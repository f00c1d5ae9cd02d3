use serde::{Deserialize, Serialize};

use crate::event::{Fusion, StatePosition};

use super::Place;
use super::choices::*;

/// All settings. Each field is explained in `config/default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub preset: String,
    pub seed: u64,
    pub generator: GeneratorSettings,
    pub embedder: EmbedderSettings,
    pub corpus: CorpusSettings,
    pub chunker: ChunkerSettings,
    pub rewriter: RewriterSettings,
    pub retriever: RetrieverSettings,
    pub linker: LinkerSettings,
    pub filter: FilterSettings,
    pub reranker: RerankerSettings,
    pub judge: JudgeSettings,
    pub understanding: UnderstandingSettings,
    pub refiner: RefinerSettings,
    pub gate: GateSettings,
    pub query: QuerySettings,
    pub probe: ProbeSettings,
    pub utility: UtilitySettings,
    pub answer: AnswerSettings,
    pub screen: ScreenSettings,
    pub record: RecordSettings,
}

/// A role that has no setting but its choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role<K> {
    pub kind: K,
}

/// The model that writes answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorSettings {
    pub model: String,
    pub gpu_layers: GpuLayers,
    pub device: String,
    pub threads: u32,
    pub context_tokens: u32,
    pub batch_tokens: u32,
    pub flash_attention: FlashAttention,
    pub cache_type: CacheType,
    pub chat_template: String,
    pub temperature: f32,
    pub top_k: u32,
    pub top_p: f32,
    pub min_p: f32,
}

impl GeneratorSettings {
    /// Would a model loaded with `other` do for these settings? Sampling settings do not ask for a new load.
    #[must_use]
    pub fn loads_like(&self, other: &Self) -> bool {
        let Self {
            temperature,
            top_k,
            top_p,
            min_p,
            ..
        } = self.clone();
        *self
            == Self {
                temperature,
                top_k,
                top_p,
                min_p,
                ..other.clone()
            }
    }
}

/// The model that turns text into vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedderSettings {
    pub model: String,
    pub gpu_layers: GpuLayers,
    pub device: String,
    pub threads: u32,
}

/// Who rewrites the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewriterSettings {
    pub kind: RewriterKind,
    pub least_cosine: f32,
}

/// Who ties chunks together, and how what is tied together is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkerSettings {
    pub kind: LinkerKind,
    pub model: String,
    pub links: u32,
    pub window: u32,
    pub direction: LinkDirection,
    pub candidates: u32,
    pub relatives: u32,
    pub join: LinkJoin,
}

/// Who drops chunks, and what they have to reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterSettings {
    pub kind: FilterKind,
    pub prefilter: PrefilterKind,
    pub most_cosine: f32,
    pub grade_weight: f32,
    pub reflect_weight: f32,
    pub critic_weight: f32,
    pub least_variance: f32,
    pub fallback: u32,
    pub least_probability: f32,
}

/// Who orders the hits again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RerankerSettings {
    pub kind: RerankerKind,
    pub model: String,
}

/// The entailment judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeSettings {
    pub model: String,
}

/// The utility meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtilitySettings {
    pub kind: UtilityKind,
    pub samples: u32,
    pub temperature: f32,
    pub max_tokens: u32,
    pub references: Vec<String>,
    pub several: SeveralReferences,
    pub each_chunk: bool,
}

/// The name of a model that stands for the generator itself, asked with a prompt.
pub const THE_GENERATOR: &str = "generator";

/// The name of a reranker that asks the embedder: how near a text is to the question.
pub const THE_EMBEDDER: &str = "embedder";

/// The name of a judge that needs no model: it compares words.
pub const THE_WORDS: &str = "words";

/// The name of the linker's model that stands for the one that goes with its kind.
pub const AUTO_MODEL: &str = "auto";

/// The bundled model that reads one vector a chunk.
pub const SENTENCE_MODEL: &str = "ragscope-sentences.F16.gguf";

/// Which files become documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusSettings {
    pub max_file_bytes: u64,
    pub hidden: bool,
    pub follow_links: bool,
    pub gitignore: bool,
    pub include: Vec<String>,
}

/// How documents are cut into chunks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkerSettings {
    pub kind: ChunkerKind,
    pub tokens: u32,
    pub overlap_tokens: u32,
    pub sentences: u32,
    pub similarity: f32,
    pub characters: u32,
}

/// How chunks are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrieverSettings {
    pub kind: RetrieverKind,
    pub at_start: bool,
    pub k: u32,
    pub pool: u32,
    pub keep: u32,
    pub fusion: Fusion,
    pub bm25_weight: f32,
    pub vector_weight: f32,
    pub rrf_k: f32,
    pub ef_search: u32,
    pub pinned: Vec<Place>,
    pub excluded: Vec<Place>,
}

/// Who measures whether the model understands its context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnderstandingSettings {
    pub kind: UnderstandingKind,
    pub threshold: f32,
    pub answer_tokens: u32,
    pub check_rephrasings: bool,
    pub retry_temperature: f32,
}

/// Who repairs the context, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefinerSettings {
    pub kind: RefinerKind,
    pub pool: u32,
    pub max_rounds: u32,
    pub stop: RefinerStop,
    pub prune: bool,
    pub refill: RefillKind,
    pub self_evaluate: bool,
}

/// Who decides that a sentence needs a lookup, and what follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateSettings {
    pub kind: GateKind,
    pub threshold: f32,
    pub token_entropy_threshold: f32,
    pub semantic_entropy_threshold: f32,
    pub probe: String,
    pub delta: f32,
    pub expand_by: u32,
    pub expand_to: u32,
}

/// How queries are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuerySettings {
    pub kind: QueryKind,
    pub alpha: f32,
}

/// How a probe is trained, and how sentences are sampled for their semantic entropy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSettings {
    pub position: StatePosition,
    pub samples: u32,
    pub temperature: f32,
    pub questions: u32,
    pub passages: ProbePassages,
    pub lambda: f64,
    pub hidden: u32,
    pub dropout: f64,
    pub learning_rate: f64,
    pub weight_decay: f64,
    pub batch: u32,
    pub epochs: u32,
    pub patience: u32,
}

/// How the answer is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerSettings {
    pub prompt: AnswerPrompt,
    pub order: PassageOrder,
    pub max_sentences: u32,
    pub max_tokens: u32,
    pub attribution: bool,
}

/// How the screen looks and moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenSettings {
    pub theme: String,
    pub frames_per_second: u32,
    pub mouse: bool,
}

/// Whether runs are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSettings {
    pub enabled: bool,
}

/// The numbers that a setting may be, both ends included.
pub const RANGES: &[(&str, f64, f64)] = &[
    ("generator.threads", 0.0, 1024.0),
    ("generator.batch_tokens", 1.0, 65_536.0),
    ("generator.temperature", 0.0, 100.0),
    ("generator.top_p", 0.0, 1.0),
    ("generator.min_p", 0.0, 1.0),
    ("embedder.threads", 0.0, 1024.0),
    ("chunker.tokens", 16.0, 65_536.0),
    ("chunker.overlap_tokens", 0.0, 65_536.0),
    ("chunker.sentences", 0.0, 65_536.0),
    ("chunker.similarity", -1.0, 1.0),
    ("chunker.characters", 0.0, 1e6),
    ("retriever.k", 1.0, 1000.0),
    ("retriever.pool", 1.0, 100_000.0),
    ("retriever.keep", 0.0, 1000.0),
    ("retriever.bm25_weight", 0.0, 1e6),
    ("retriever.vector_weight", 0.0, 1e6),
    ("retriever.rrf_k", 0.0, 1e6),
    ("retriever.ef_search", 1.0, 100_000.0),
    ("utility.samples", 1.0, 1000.0),
    ("utility.temperature", 0.01, 100.0),
    ("utility.max_tokens", 1.0, 1e6),
    ("understanding.threshold", 0.0, 100.0),
    ("understanding.answer_tokens", 1.0, 4096.0),
    ("understanding.retry_temperature", 0.0, 100.0),
    ("refiner.pool", 0.0, 1000.0),
    ("refiner.max_rounds", 1.0, 100.0),
    ("gate.threshold", 0.0, 1.0),
    ("gate.token_entropy_threshold", 0.0, 100.0),
    ("gate.semantic_entropy_threshold", 0.0, 100.0),
    ("gate.delta", 0.0, 100.0),
    ("gate.expand_by", 0.0, 1000.0),
    ("gate.expand_to", 0.0, 1000.0),
    ("query.alpha", 0.0, 100.0),
    ("probe.samples", 2.0, 1000.0),
    ("probe.temperature", 0.01, 100.0),
    ("probe.questions", 1.0, 1e6),
    ("probe.lambda", 0.0, 1e6),
    ("probe.hidden", 1.0, 65_536.0),
    ("probe.dropout", 0.0, 0.99),
    ("probe.learning_rate", 1e-9, 1.0),
    ("probe.weight_decay", 0.0, 1.0),
    ("probe.batch", 1.0, 65_536.0),
    ("probe.epochs", 1.0, 1e6),
    ("probe.patience", 1.0, 1e6),
    ("rewriter.least_cosine", -1.0, 1.0),
    ("linker.links", 1.0, 1000.0),
    ("linker.window", 16.0, 65_536.0),
    ("linker.candidates", 0.0, 1000.0),
    ("linker.relatives", 0.0, 1000.0),
    ("filter.most_cosine", 0.0, 1.0),
    ("filter.grade_weight", 0.0, 1e6),
    ("filter.reflect_weight", 0.0, 1e6),
    ("filter.critic_weight", 0.0, 1e6),
    ("filter.least_variance", 0.0, 1.0),
    ("filter.fallback", 1.0, 1000.0),
    ("filter.least_probability", 0.0, 1.0),
    ("answer.max_sentences", 1.0, 1e6),
    ("answer.max_tokens", 1.0, 1e6),
    ("screen.frames_per_second", 1.0, 240.0),
];
