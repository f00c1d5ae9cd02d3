//! The public run format: what happened, as one stream of typed records.
//!
//! A run is a sequence of [`Record`]s. The screen, `--json`, the recorder and the replayer read the same stream, so an
//! [`Event`] is past tense, self-contained (nobody needs the index to draw it) and holds finite numbers only.
//! This module does no I/O and knows no widget.

mod command;
mod fate;
mod flow;
mod payload;
mod stages;
mod probe;
mod text;
mod understanding;
mod utility;

pub use command::Command;
pub use fate::{Fates, Mark};
pub use flow::{Flow, StopFlag};
pub use payload::*;
pub use probe::*;
pub use stages::*;
pub use text::{error_and_advice, harmless};
pub use understanding::*;
pub use utility::*;

use serde::{Deserialize, Serialize};

/// Version of the run format. A reader accepts any minor version of its own major one.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// The `run` of records that belong to no question: loading, indexing, sources opened on the screen.
pub const SESSION: &str = "session";

/// Version of the run format, carried by [`Event::RunStarted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Changes when old readers can no longer read new records.
    pub major: u32,
    /// Changes when variants or fields were added.
    pub minor: u32,
}

/// One event with its place in the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Position in the stream of its run, from 0, without gaps.
    pub seq: u64,
    /// Microseconds since the run (or the session) started.
    pub t_us: u64,
    /// The run it belongs to, or [`SESSION`].
    pub run: String,
    /// What happened.
    pub event: Event,
}

/// Everything that can happen. New variants may be added: readers skip what they do not know ([`Event::Unknown`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // records are moved once through a channel; boxing would blur the format
pub enum Event {
    // ── session ────────────────────────────────────────────────────────────────────────────────────────────────────
    /// A model file is being read. `fraction` is in 0..=1.
    ModelLoadProgressed {
        role: ModelRole,
        file: String,
        fraction: f32,
    },
    /// A model is ready.
    ModelLoaded { model: ModelCard, wall_ms: u64 },
    /// A corpus is open for questions (again, after its index changed).
    CorpusOpened { corpus: CorpusCard },
    /// Indexing moved on.
    IndexProgressed { progress: IndexProgress },
    /// The index agrees with the folder again.
    IndexFinished { report: IndexReport },
    /// The user stopped something that is not a run: loading models, indexing (what is done stays, and the next update goes on
    /// from there), a question before it began.
    OperationStopped { operation: String },
    /// The chunks of every document are linked, as far as that was possible.
    LinksFinished { report: LinkReport },
    /// The text of a document was read for the source viewer.
    SourceOpened { source: Source },
    /// A phrase was looked for among the chunks, and in the lists of the queries of a run.
    ChunksSought {
        phrase: String,
        lookups: Vec<SoughtLookup>,
    },
    /// The recorded runs, newest first.
    SessionsListed {
        folder: String,
        runs: Vec<RunSummary>,
    },
    /// Something failed outside a run. `advice` says what to do next.
    OperationFailed {
        operation: String,
        error: String,
        advice: String,
    },
    /// A setting was refused or fell back; the program goes on.
    Warned { text: String },
    /// The training of a probe moved on.
    ProbeProgressed { progress: ProbeProgress },
    /// A probe was trained and written to `file`.
    ProbeTrained {
        probe: ProbeCard,
        file: String,
        wall_ms: u64,
    },

    // ── run ────────────────────────────────────────────────────────────────────────────────────────────────────────
    /// First record of every run: all that is needed to repeat it.
    RunStarted {
        format: FormatVersion,
        /// Version of the program that wrote the run.
        program: String,
        question: String,
        preset: String,
        /// The effective settings as the merged configuration table.
        settings: serde_json::Value,
        models: Vec<ModelCard>,
        corpus: Option<CorpusCard>,
        seed: u64,
        /// Seconds since 1970-01-01 UTC.
        started_at: u64,
        /// Sentences that the answer was to begin with, taken over from another run; steps count on after them.
        #[serde(default)]
        confirmed: Vec<String>,
    },
    /// Who decides after each sentence whether to look something up, where somebody does.
    GateChosen { gate: GateCard },
    /// The question was written anew for the lookup. `cosine` is its likeness with the question, None for an empty one; one below
    /// `least_cosine` is not used.
    QuestionRewritten {
        question: String,
        rewritten: String,
        cosine: Option<f32>,
        least_cosine: f32,
        used: bool,
    },
    /// The query writer made the text to look up.
    QueryWritten {
        step: u32,
        query: String,
        writer: String,
        words: Vec<QueryWord>,
        /// Where the doubt of the sentence begins that the query is for, when the writer looked for it.
        #[serde(default)]
        region: Option<DoubtedRegion>,
    },
    /// The index answered a query. Hits are in fused order, best first.
    RetrievalFinished { step: u32, retrieval: Retrieval },
    /// The links between chunks of a document were read, because a hit lies in it.
    LinksRead { step: u32, links: DocumentLinks },
    /// Hits were joined with chunks that they are linked with. Best first.
    ChunksLinked { step: u32, linked: Vec<LinkedText> },
    /// Three judges graded each text. When the scores lie close together (`is_tight`), the threshold is their mean plus their
    /// deviation, else their mean; when it let nothing through, the best few were kept (`fell_back`).
    ChunksGraded {
        step: u32,
        graded: Vec<GradedChunk>,
        threshold: f32,
        is_tight: bool,
        fell_back: bool,
    },
    /// A judge said of each text whether it is relevant. When nothing was, everything was kept (`fell_back`).
    ChunksJudged {
        step: u32,
        judged: Vec<JudgedChunk>,
        least_probability: f32,
        fell_back: bool,
    },
    /// A stage between the retriever and the context is over: what it left, in order, and what fell out.
    StageFinished {
        step: u32,
        stage: Stage,
        kept: Vec<u64>,
        dropped: Vec<DroppedChunk>,
    },
    /// Joined texts with a chunk in common became one. The texts that came of it.
    ChunksMerged { step: u32, merged: Vec<Hit> },
    /// The reranker ordered what was left, best first.
    ChunksReranked {
        step: u32,
        ranked: Vec<RerankedChunk>,
    },
    /// The context of the next model call was put together.
    ContextBuilt { step: u32, context: Context },
    /// Documents behind the hits were cut again by meaning, because the context was not understood. The chunks that were found among the
    /// new ones follow in a [`Event::RetrievalFinished`].
    DocumentsRecut {
        step: u32,
        documents: Vec<RecutDocument>,
        similarity: f32,
        most_tokens: u32,
    },
    /// A context was measured. Contexts of a step are counted from 1: each is a round.
    UnderstandingMeasured {
        step: u32,
        round: u32,
        understanding: Understanding,
    },
    /// A context could not be measured: why, and what became of each of its chunks.
    UnderstandingSkipped {
        step: u32,
        round: u32,
        reason: Unmeasured,
        #[serde(default)]
        chunks: Vec<VariedChunk>,
    },
    /// The model said whether the context of a round suffices for the question. No probability: the question did not fit.
    ContextEvaluated {
        step: u32,
        round: u32,
        sufficient: bool,
        probability: Option<f32>,
    },
    /// What each chunk of a round is to its answer.
    ChunksClassified {
        step: u32,
        round: u32,
        chunks: Vec<ClassifiedChunk>,
    },
    /// The context of a round was repaired: what the next round measures.
    ContextRefined {
        step: u32,
        round: u32,
        dropped: Vec<u64>,
        added: Vec<AddedChunk>,
    },
    /// Refinement is over. The context of the best round goes on.
    RefinementFinished {
        step: u32,
        best: u32,
        end: RefinementEnd,
    },
    /// A prompt was handed to a model: the exact text. `branches` continuations of it are sampled.
    ModelCalled {
        call: u32,
        purpose: String,
        role: ModelRole,
        prompt: String,
        prompt_tokens: u32,
        #[serde(default = "one")]
        branches: u32,
    },
    /// A batch of calls is over: `calls` of them, from `call` on. The cost is that of them all.
    ModelCallFinished {
        call: u32,
        #[serde(default = "one")]
        calls: u32,
        usage: CallUsage,
    },
    /// A sentence of the answer begins. When the step is known already, its sentence was doubted and this one takes its place.
    StepStarted { step: u32 },
    /// A token of the answer. Log-probability and entropy in nats, under the model's own distribution at temperature 1.
    TokenGenerated {
        step: u32,
        text: String,
        logprob: f32,
        entropy: f32,
    },
    /// A sentence of the answer is complete. `text` repeats the tokens of the step, trimmed.
    StepFinished {
        step: u32,
        text: String,
        uncertainty: Uncertainty,
        citations: Vec<Citation>,
    },
    /// What a sentence of the answer attended to while it was written. Attention is a hint, not a cause.
    StepAttributed {
        step: u32,
        chunks: Vec<AttendedChunk>,
    },
    /// What the context was worth to the model. A finished run can be measured later, by a record of the session: `of` is that run.
    UtilityMeasured {
        #[serde(default)]
        of: Option<String>,
        step: u32,
        utility: Utility,
    },
    /// Last record of every run.
    RunFinished {
        outcome: Outcome,
        /// The whole text of the answer.
        text: String,
        /// The short answer: what follows "the answer is", otherwise the whole text.
        answer: String,
        citations: Vec<Citation>,
        usage: RunUsage,
    },

    /// Written by a newer program; kept out of the way.
    #[serde(other)]
    Unknown,
}

/// What a record says that was written before calls came in batches.
fn one() -> u32 {
    1
}
