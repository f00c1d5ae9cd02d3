//! The values that events carry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Metadata, Place, PlaceFrom, Problem, place_of_lines};

/// The models by role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// Writes answers.
    Generator,
    /// Turns text into vectors.
    Embedder,
    /// Orders texts by their fit to a question.
    Reranker,
    /// Judges whether one answer entails another.
    EntailmentJudge,
    /// Links chunks by its attention.
    Linker,
}

impl ModelRole {
    /// Every role, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Generator,
        Self::Embedder,
        Self::Reranker,
        Self::EntailmentJudge,
        Self::Linker,
    ];

    /// Returns the name in settings and on the screen.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Embedder => "embedder",
            Self::Reranker => "reranker",
            Self::EntailmentJudge => "entailment_judge",
            Self::Linker => "linker",
        }
    }
}

/// The description of a loaded model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    pub role: ModelRole,
    /// Name from the file's metadata, else the file name.
    pub name: String,
    /// File name without its folder.
    pub file: String,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// blake3 over size, metadata and a sample of the weights, as hex: it identifies the model.
    pub fingerprint: String,
    /// Architecture name of the GGUF (`llama`, `bert`, …).
    pub architecture: String,
    /// Quantisation, e.g. `Q4_K_M`, as the file describes itself.
    pub quantisation: String,
    pub parameters: u64,
    pub layers: u32,
    /// Layers that run on a GPU.
    pub gpu_layers: u32,
    /// Name of the device that holds them, or `CPU`; several names have ` + ` between them.
    pub device: String,
    /// Bytes that the model takes on that device: weights, KV cache and the results between layers. 0 on the
    /// CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub device_bytes: u64,
    /// Width of a hidden state or an embedding.
    pub width: u32,
    /// Size of the context in tokens.
    pub context_tokens: u32,
    /// The chat template in use: `gguf`, `none`, a file or a name. Empty for roles without one.
    pub chat_template: String,
    /// Why another template stands in for the model's own; empty when none does.
    #[serde(default)]
    pub template_fallback: String,
    /// Whether it is a generator that comes with the program: made for its demo, and often wrong
    /// about other documents.
    #[serde(default)]
    pub practice: bool,
    /// What the server of the model can do; empty for a model that runs here. The device is then its
    /// host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// What an embedder reads in front of each text.
    #[serde(default, skip_serializing_if = "Prefixes::is_empty")]
    pub prefixes: Prefixes,
}

impl ModelCard {
    /// The name of the chat template of models that have none.
    pub const NO_TEMPLATE: &str = "none";

    /// Returns whether its prompts are plain text, as for base models.
    pub fn has_plain_prompts(&self) -> bool {
        self.chat_template == Self::NO_TEMPLATE
    }

    /// A model of which only the role is known.
    pub fn unknown(role: ModelRole) -> Self {
        Self {
            role,
            name: String::new(),
            file: String::new(),
            file_bytes: 0,
            fingerprint: String::new(),
            architecture: String::new(),
            quantisation: String::new(),
            parameters: 0,
            layers: 0,
            gpu_layers: 0,
            device: String::new(),
            device_bytes: 0,
            width: 0,
            context_tokens: 0,
            chat_template: String::new(),
            template_fallback: String::new(),
            practice: false,
            server: String::new(),
            prefixes: Prefixes::default(),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The texts in front of queries and documents that an embedder was trained with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefixes {
    pub query: String,
    pub document: String,
}

impl Prefixes {
    /// Returns whether the model reads texts as they are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.query.is_empty() && self.document.is_empty()
    }
}

/// The two sides of a search, which some embedders read with another text in front.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    #[default]
    Document,
    Query,
}

/// The vectors of texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// Name of the embedder.
    pub model: String,
    /// One unit vector per text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of all texts by the embedder's vocabulary, before it truncates any.
    pub tokens: u64,
}

/// A corpus and the state of its index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorpusCard {
    /// The folder as the user named it; of several folders, their names joined by `, `.
    pub folder: String,
    /// The folders as the user named them, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    pub documents: u64,
    pub chunks: u64,
    /// Number of the index generation in use; of several indexes, the sum.
    pub generation: u64,
    /// Whether another process writes this index, or one of them, and this one only reads.
    pub read_only: bool,
    /// Whether it is the corpus of the demo.
    #[serde(default)]
    pub demo: bool,
    /// Whether the index has no vectors, so that only its words can be searched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words_only: bool,
}

impl CorpusCard {
    /// Returns whether the folder was indexed, even if nothing in it could be read.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        self.generation > 0
    }
}

impl CorpusCard {
    /// Returns the folders as they are named on the command line.
    #[must_use]
    pub fn arguments(&self) -> String {
        if self.folders.is_empty() {
            self.folder.clone()
        } else {
            self.folders.join(" ")
        }
    }
}

/// A phase of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexPhase {
    /// Walking the folder and comparing it with the manifest.
    Scanning,
    /// Reading, splitting and counting.
    Reading,
    /// Computing vectors.
    Embedding,
    /// Writing the new generation.
    Writing,
    /// Reading the attention between the chunks of documents.
    Linking,
}

/// The progress of indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexProgress {
    pub phase: IndexPhase,
    /// Finished units: files while scanning and reading, chunks while embedding and writing.
    pub done: u64,
    /// Number of units of the phase, when known. While files are still being read, the number of
    /// chunks is estimated from their bytes.
    pub total: Option<u64>,
    /// The current file.
    pub file: Option<String>,
    /// Units per second, once measured.
    pub rate_per_s: Option<f32>,
    /// Estimated milliseconds until the phase ends, once measured.
    pub left_ms: Option<u64>,
}

/// A file that was not indexed, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Path inside the corpus.
    pub path: String,
    pub reason: String,
}

/// The result of an update of the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexReport {
    pub corpus: CorpusCard,
    pub added: u64,
    pub changed: u64,
    pub unchanged: u64,
    pub removed: u64,
    /// Paths of the documents that were added, changed or removed; the first ones, at most
    /// [`IndexReport::MAX_UPDATED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updated: Vec<String>,
    /// Chunks whose vector was computed in this update.
    pub embedded: u64,
    /// Chunks whose vector was known already.
    pub reused: u64,
    /// With chunks by meaning: the neighbouring sentences of the corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbouringSentences>,
    /// Files that are not in the index and why.
    pub skipped: Vec<SkippedFile>,
    /// Files that are in the index, with what could not be read of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noted: Vec<NotedFile>,
    pub wall_ms: u64,
}

/// A file that was read, with a remark on how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedFile {
    /// Path inside the corpus.
    pub path: String,
    /// As in `read as windows-1251: it is not UTF-8`.
    pub note: String,
}

/// Pairs of neighbouring sentences, and those of them that are in one chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbouringSentences {
    pub pairs: u64,
    pub joined: u64,
}

impl IndexReport {
    /// Maximum number of paths in `updated`.
    pub const MAX_UPDATED: usize = 1000;
}

/// The text of a document, for the source viewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Path inside the corpus.
    pub document: String,
    /// Absolute path, for an editor.
    pub path: String,
    /// Lines of the file from `from_line`, without line ends, control characters replaced.
    pub lines: Vec<String>,
    /// Line number of the first of `lines`, from 1.
    pub from_line: u32,
    /// The places of a document that is not text (pages, sheets), with the lines where they begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFrom>,
    /// What the lines are, for a viewer that renders them.
    #[serde(default, skip_serializing_if = "SourceForm::is_lines")]
    pub form: SourceForm,
    /// The lines to highlight, from 1, both inclusive.
    pub first_line: u32,
    pub last_line: u32,
    /// Whether the file changed since it was indexed: the lines may no longer be what was
    /// retrieved.
    #[serde(default)]
    pub changed: bool,
}

/// What the lines of a document are, besides text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceForm {
    #[default]
    Lines,
    Markdown,
    /// Marks in the lines, and headings in their order.
    Markup {
        language: MarkupLanguage,
        headings: Vec<HeadingLines>,
    },
    /// Rows in the order of their lines. Lines of no row are text.
    Table {
        rows: Vec<TableRow>,
    },
}

impl SourceForm {
    /// Returns whether the lines are nothing but text.
    #[must_use]
    pub fn is_lines(&self) -> bool {
        *self == Self::Lines
    }
}

/// A markup other than Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkupLanguage {
    AsciiDoc,
    RestructuredText,
    Org,
}

/// A heading, with its lines in the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadingLines {
    /// From 1, both inclusive.
    pub first_line: u32,
    pub last_line: u32,
    /// Level 1 is outermost.
    pub level: u8,
    pub title: String,
}

/// A row of a table, with its lines in the document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRow {
    /// From 1, both inclusive.
    pub first_line: u32,
    pub last_line: u32,
    /// Whether it names the columns of the rows below it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub header: bool,
    pub cells: Vec<String>,
}

/// A recorded run in the sessions folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub file: String,
    pub run: String,
    pub started_at: u64,
    pub question: String,
    pub preset: String,
    /// `None` when the run never finished.
    pub answer: Option<String>,
    /// The first run of its thread, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The folders of its corpus, as [`CorpusCard::arguments`] names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<String>,
}

impl RunSummary {
    /// Returns the id of its thread.
    #[must_use]
    pub fn thread(&self) -> &str {
        self.thread.as_deref().unwrap_or(&self.run)
    }
}

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retrieval {
    pub query: String,
    /// How the two lists were fused.
    pub fusion: Fusion,
    pub hits: Vec<Hit>,
    /// Length of the BM25 list and of the vector list before fusion.
    pub bm25_found: u32,
    pub vector_found: u32,
    pub wall_us: u64,
    /// The documents that the query was limited to; `None` when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filtered>,
    /// What the documents of the hits say of themselves, by path.
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

/// How the BM25 list and the vector list are fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fusion {
    /// Weighted sum of min-max normalised scores over the union of both lists.
    Weighted,
    /// Reciprocal rank fusion: sum of weight / (k + rank).
    Rrf,
}

/// A chunk: the unit that is retrieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkText {
    /// Stable within a generation of the index.
    pub id: u64,
    /// Path of the document inside the corpus.
    pub document: String,
    /// Headings above the chunk, outermost first.
    pub headings: Vec<String>,
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
    #[must_use]
    pub fn place(&self, lines: [u32; 2]) -> Option<Place> {
        place_of_lines(&self.places, lines)
    }
}

impl Citation {
    /// Returns the cited lines, from 1, both inclusive.
    #[must_use]
    pub fn lines(&self) -> [u32; 2] {
        [self.first_line, self.last_line]
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    pub score: f32,
    pub rank: u32,
}

/// A chunk that a retrieval returned, with its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub chunk: ChunkText,
    /// BM25 score and rank; `None` when that list did not hold the chunk.
    pub bm25: Option<Ranked>,
    /// Cosine similarity and rank; `None` when that list did not hold the chunk.
    pub vector: Option<Ranked>,
    /// Score and rank after fusion.
    pub fused: Ranked,
}

/// The reranker's score of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RerankedChunk {
    pub chunk: u64,
    /// How well it fits the question, in 0..=1.
    pub score: f32,
}

/// A chunk in a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextChunk {
    /// The number of the chunk in the run, from 1; the prompt counts its passages in the order of this
    /// list.
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

/// Why a chunk was dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum DropReason {
    /// It ranked below the top `k`.
    BelowK { k: u32 },
    /// The prompt would not have fitted into the context.
    ContextFull {
        needed_tokens: u32,
        available_tokens: u32,
    },
    /// Its document was re-chunked for this question, and new chunks replaced it.
    Rechunked,
    /// A round of refinement found that the answer does not need it.
    Unnecessary { round: u32 },
    /// A better chunk says the same.
    Redundant { duplicate_of: u64, similarity: f32 },
    /// Its score did not reach the threshold that followed from all scores.
    BelowThreshold { score: f32, threshold: f32 },
    /// The relevance judge rated it irrelevant.
    Irrelevant {
        probability: f32,
        min_probability: f32,
    },
    /// Its chunks are part of another text now.
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

/// The cost of a model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallUsage {
    pub prompt_tokens_evaluated: u32,
    /// Prompt tokens that were in the KV cache already.
    pub prompt_tokens_reused: u32,
    pub tokens_generated: u32,
    pub wall_us: u64,
    /// Cells of the KV cache in use after the call, and all of them.
    pub context_used: u32,
    pub context_tokens: u32,
}

/// The uncertainty of a sentence, and the decision that followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Uncertainty {
    pub measure: UncertaintyMeasure,
    /// In the measure's own unit: nats for entropies.
    pub value: f32,
    /// The gate's threshold; `None` when no gate decides.
    pub threshold: Option<f32>,
    pub decision: Decision,
}

/// A measure of uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UncertaintyMeasure {
    /// Mean entropy of the sentence's token distributions, nats.
    TokenEntropy,
    /// Discrete semantic entropy of sampled sentences, nats.
    SemanticEntropy,
    /// What the probe reads in the hidden states, in 0..=1.
    Probe,
    /// 1 - the probability of the sentence's least likely token, in 0..=1.
    TokenProbability,
    /// The largest entropy of the sentence's words, each times its share of the attention of the words
    /// after it and the number of words, nats.
    AttendedEntropy,
}

/// The decision of a gate about a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// No gate: measured only.
    Measured,
    /// Kept: certain enough, or as good as retrieval could make it.
    Keep,
    /// Uncertain: retrieve, and regenerate the sentence.
    Retrieve,
    /// More uncertain than before the lookup: add passages, rerank, and regenerate the sentence.
    Expand,
}

/// A token that was likely in the place of the one that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    pub text: String,
    /// ln p at temperature 1, nats.
    pub logprob: f32,
}

/// The attention of a sentence to a chunk of the context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AttendedChunk {
    /// The number of the chunk in the run.
    pub label: u32,
    pub chunk: u64,
    /// Share of the attention that went to any chunk, in 0..=1: mean over layers, heads and the
    /// sentence's tokens. The rest of the prompt and the first token, an attention sink, are left
    /// out.
    pub share: f32,
}

/// A chunk that supports a sentence of the answer, and the lines in it that do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// The number of the chunk in the run.
    pub label: u32,
    pub chunk: u64,
    /// The lines of the chunk, as in [`ChunkText::lines`]; `None` in recordings before 2.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_lines: Option<[u32; 2]>,
    /// The place of the chunk, where the file is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_place: Option<Place>,
    /// Path inside the corpus.
    pub file: String,
    /// The lines of `quote`; of the chunk, where there is none.
    pub first_line: u32,
    pub last_line: u32,
    /// The page, slide or row of these lines, where the file is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The sentence of the chunk that holds most words of the answer's sentence, if any holds enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    pub evidence: Evidence,
}

/// How the program knows that a chunk supports a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// The model wrote the chunk's label, e.g. `[2]`.
    Marked,
    /// The share of the sentence's content words that the cited lines hold, in 0..=1.
    Overlap { share: f32 },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    /// By the user; what was written so far stays.
    Stopped,
    /// A limit of the settings cut the answer off.
    LimitReached,
    Failed(Problem),
}

/// The cost of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunUsage {
    pub prompt_tokens_evaluated: u64,
    pub prompt_tokens_reused: u64,
    pub tokens_generated: u64,
    pub model_calls: u32,
    pub retrievals: u32,
    pub wall_ms: u64,
}

/// What a download of a model does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullPhase {
    /// Asking the server for the files of the model.
    Listing,
    /// Waiting for another process that downloads the same file.
    Waiting,
    /// Checking what an earlier attempt left.
    Checking,
    Downloading,
}

/// How far a download of a model is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullProgress {
    /// The model, as the user named it.
    pub reference: String,
    pub phase: PullPhase,
    /// The file at hand.
    pub file: String,
    /// Bytes on the disk, of all files.
    pub done_bytes: u64,
    /// Size of all files; 0 until it is known.
    pub total_bytes: u64,
    /// Bytes per second, once measured.
    pub rate_bytes_per_s: Option<f64>,
    /// Estimated milliseconds until the end, once measured.
    pub left_ms: Option<u64>,
}

/// A model that was downloaded, or was here already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledModel {
    /// The model, as the user named it.
    pub reference: String,
    /// The value of `generator.model` and `--model`.
    pub name: String,
    /// Path of the file; of the first piece of a split one.
    pub file: String,
    /// Size of the model.
    pub bytes: u64,
    /// Bytes that came over the network.
    pub received_bytes: u64,
}

/// The free memory that models can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineMemory {
    /// Name of the device: `CPU`, or a GPU with more.
    pub device: String,
    /// `None` if the system does not report it.
    pub free_bytes: Option<u64>,
}

/// The memory that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNeed {
    pub file_bytes: u64,
    /// The KV cache; 0 for a model without one.
    pub cache_bytes: u64,
}

impl MemoryNeed {
    /// Returns the sum.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.file_bytes.saturating_add(self.cache_bytes)
    }

    /// Returns the sum with room for the arithmetic.
    #[must_use]
    pub fn roomy_bytes(self) -> u64 {
        self.bytes().saturating_add(self.file_bytes / 5)
    }
}

/// A model that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedModel {
    pub name: String,
    pub role: ModelRole,
    /// The argument of `ragscope models pull`.
    pub reference: String,
    pub need: MemoryNeed,
    /// Whether it fits into the memory of this machine; `None` if that is not known.
    pub fits: Option<bool>,
    /// It is the one to take of its role.
    pub is_best: bool,
    pub licence: String,
    /// Tokens of context that it was trained for.
    pub context_tokens: u64,
    pub languages: String,
    pub note: String,
    /// What its name and size were compared with; empty if with nothing.
    pub checked: String,
}

/// A model file on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalModel {
    /// The file name, or Ollama's `model:tag`.
    pub name: String,
    /// The value of the setting that selects it: the name, or the path where the name means another
    /// file.
    pub setting: String,
    pub file: String,
    /// Where it was found.
    pub source: String,
    /// The role that its metadata suggests; `None` if it cannot be used.
    pub role: Option<ModelRole>,
    /// Size of the file; of all pieces of a split one.
    pub bytes: u64,
    /// Architecture name of the GGUF; empty if it cannot be read.
    pub architecture: String,
    pub need: Option<MemoryNeed>,
    /// Why it cannot be used.
    pub problem: Option<Problem>,
}

/// The models to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    pub local: Vec<LocalModel>,
    /// Those that are not here.
    pub offered: Vec<OfferedModel>,
    /// The date of the list of those.
    pub made: String,
    pub memory: MachineMemory,
}
