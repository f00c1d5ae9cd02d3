use serde::{Deserialize, Serialize};

use super::answer::{
    AblatedChunk, Alternative, AttendedChunk, CallUsage, Citation, NearestSentence, Outcome,
    RunUsage, Scope, Support, Uncertainty, Verdict,
};
use super::chunks::{
    Context, DroppedChunk, Hit, QueryWord, RerankedChunk, Retrieval, UncertainRegion,
};
use super::documents::CorpusCard;
use super::models::{ModelCard, ModelRole};
use super::probe::GateCard;
use super::problem::Problem;
use super::stages::{DocumentLinks, GradedChunk, JudgedChunk, LeftOut, LinkedText, Part, Stage};
use super::thread::AsAsked;
use super::understanding::{
    AddedChunk, ClassifiedChunk, RechunkedDocument, RefinementEnd, Understanding, Unmeasured,
    VariedChunk,
};
use super::utility::{AnswerSamples, Utility};
use super::version::FormatVersion;

/// Everything that can happen in a run.
///
/// `step` is the sentence of the answer that the work is for, from 1; 0 before the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
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
        /// Sentences that the answer begins with, reused from another run; steps count on from
        /// them.
        #[serde(default)]
        confirmed: Vec<String>,
        /// The first run of the thread that this one continues; a run without it begins a thread,
        /// whose id is its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
    },
    /// Something fell back or was left out; the run continues.
    Warned {
        text: String,
        /// Advice about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advice: Option<String>,
    },
    /// The gate that decides after each sentence whether to retrieve, where one is on.
    GateChosen { gate: GateCard },
    /// A follow-up question was rewritten to stand alone, by the last `turns` of its thread, or put
    /// behind the last question where the model could not. Everything after it works with the
    /// rewritten question, unless `as_asked` says why it is not used.
    FollowUpRewritten {
        question: String,
        rewritten: String,
        turns: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_asked: Option<AsAsked>,
    },
    /// The question was rewritten for the lookup. `similarity` is its cosine similarity to the
    /// question, None for an empty one; one below `min_similarity` is not used.
    QuestionRewritten {
        question: String,
        rewritten: String,
        similarity: Option<f32>,
        min_similarity: f32,
        used: bool,
    },
    /// The query writer made the text to search for.
    QueryWritten {
        step: u32,
        query: String,
        writer: String,
        words: Vec<QueryWord>,
        /// The uncertain part of the sentence that the query is for, when the writer looked for
        /// it.
        #[serde(default)]
        region: Option<UncertainRegion>,
    },
    /// The index answered a query. Hits are in fused order, best first.
    RetrievalFinished { step: u32, retrieval: Retrieval },
    /// The links between chunks of a document were read, because a hit lies in it.
    LinksRead { step: u32, links: DocumentLinks },
    /// Hits were joined with chunks that they are linked with. Best first.
    ChunksLinked { step: u32, linked: Vec<LinkedText> },
    /// Three judges graded each text. When the scores lie close together (`is_tight`), the
    /// threshold is their mean plus their deviation, else their mean; when it rejected everything,
    /// the best few were kept (`fell_back`).
    ChunksGraded {
        step: u32,
        graded: Vec<GradedChunk>,
        threshold: f32,
        is_tight: bool,
        fell_back: bool,
    },
    /// A judge rated the relevance of each text. When nothing was relevant, everything was kept
    /// (`fell_back`).
    ChunksJudged {
        step: u32,
        judged: Vec<JudgedChunk>,
        min_probability: f32,
        fell_back: bool,
    },
    /// A stage between the retriever and the context is over: what it kept, in order, and what it
    /// dropped.
    StageFinished {
        step: u32,
        stage: Stage,
        kept: Vec<u64>,
        dropped: Vec<DroppedChunk>,
    },
    /// Joined texts with a chunk in common were merged into these.
    ChunksMerged { step: u32, merged: Vec<Hit> },
    /// The reranker ordered the surviving texts, best first.
    ChunksReranked {
        step: u32,
        ranked: Vec<RerankedChunk>,
    },
    /// Parts of the run were left out, for one reason.
    PartsLeftOut {
        step: u32,
        parts: Vec<Part>,
        reason: LeftOut,
    },
    /// The context of the next model call was put together.
    ContextBuilt { step: u32, context: Context },
    /// Documents behind the hits were re-chunked by meaning, because the context was not
    /// understood. The hits among the new chunks follow in a [`RunEvent::RetrievalFinished`].
    DocumentsRechunked {
        step: u32,
        documents: Vec<RechunkedDocument>,
        similarity: f32,
        /// The percentile of a document's similarities that is its minimum, in place of
        /// `similarity`.
        #[serde(default)]
        percentile: Option<f32>,
        max_tokens: u32,
    },
    /// A context was measured. Contexts of a step are counted from 1: each is a round.
    UnderstandingMeasured {
        step: u32,
        round: u32,
        understanding: Understanding,
    },
    /// The first chunks of a context were measured; the others follow, unless the run is stopped.
    UnderstandingProgressed {
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
    /// The model judged whether the context of a round suffices for the question. No probability:
    /// the question did not fit.
    ContextEvaluated {
        step: u32,
        round: u32,
        sufficient: bool,
        probability: Option<f32>,
        /// Whether the answer from it counts as one: `refiner.prefer_answers` counts no "unknown".
        #[serde(default = "yes")]
        answered: bool,
    },
    /// The class of each chunk of a round.
    ChunksClassified {
        step: u32,
        round: u32,
        chunks: Vec<ClassifiedChunk>,
    },
    /// The context of a round was repaired: the next round measures the result.
    ContextRefined {
        step: u32,
        round: u32,
        dropped: Vec<u64>,
        added: Vec<AddedChunk>,
    },
    /// Refinement is over. The answer is written from the context of the best round.
    RefinementFinished {
        step: u32,
        best: u32,
        end: RefinementEnd,
    },
    /// A prompt was handed to a model: the exact text. `branches` continuations of it are sampled.
    /// The last `reply_bytes` of the text are the given beginning of the reply.
    ModelCalled {
        call: u32,
        purpose: String,
        role: ModelRole,
        prompt: String,
        prompt_tokens: u32,
        #[serde(default = "one")]
        branches: u32,
        #[serde(default)]
        reply_bytes: u32,
        /// Time until the prompt is read, at the rate at which this machine reads; `None` where
        /// that is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_ms: Option<u64>,
    },
    /// The prompt of a call is read as far as `read` of its tokens, those included that were read
    /// before the call.
    PromptProgressed { call: u32, read: u32 },
    /// Texts of the present calls: `begun` are begun.
    CallsProgressed {
        purpose: String,
        begun: u32,
        total: u32,
    },
    /// A batch of calls is over: `calls` of them, from `call` on. The cost is that of them all.
    ModelCallFinished {
        call: u32,
        #[serde(default = "one")]
        calls: u32,
        usage: CallUsage,
    },
    /// Judgements were read from the replies to `calls` calls, from `call` on. `masses` has the
    /// probability that each reply begins with one of the labels (empty when it was not read); of
    /// the replies, `parsed` were written and parsed instead, and `unread` of them name no label.
    JudgementsRead {
        call: u32,
        calls: u32,
        labels: Vec<String>,
        masses: Vec<f32>,
        parsed: u32,
        unread: u32,
    },
    /// A sentence of the answer begins. When the step is known already, its sentence was uncertain
    /// and this one replaces it.
    StepStarted { step: u32 },
    /// A thinking model wrote a part of its thoughts. They are no part of the answer.
    ThoughtGenerated { step: u32, text: String },
    /// A token of the answer. Log-probability and entropy in nats, under the model's own
    /// distribution at temperature 1.
    TokenGenerated {
        step: u32,
        text: String,
        logprob: f32,
        entropy: f32,
        /// The other tokens that were likely in its place, the likeliest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<Alternative>,
    },
    /// A sentence of the answer is complete. `text` repeats the tokens of the step, trimmed, with
    /// the numbers of the run in its marks.
    StepFinished {
        step: u32,
        text: String,
        uncertainty: Uncertainty,
        citations: Vec<Citation>,
    },
    /// A sentence of the answer that no source held by its words has citations now, or one whose
    /// source held some of them has none, from a judgement of the model. `text` as in
    /// [`RunEvent::StepFinished`].
    StepCited {
        step: u32,
        text: String,
        citations: Vec<Citation>,
    },
    /// The chunks that a sentence of the answer attended to while it was written. Attention is a
    /// hint, not a cause.
    StepAttributed {
        step: u32,
        chunks: Vec<AttendedChunk>,
    },
    /// The loss of likelihood of a sentence of the answer when its prompt lacks one of its chunks:
    /// one number per chunk, each left out alone.
    StepAblated {
        step: u32,
        chunks: Vec<AblatedChunk>,
    },
    /// A part of the answer that was not generated: a quotation of a passage, rows of a table, or
    /// that the documents do not say.
    StepGiven {
        step: u32,
        text: String,
        citations: Vec<Citation>,
    },
    /// The documents that the question is about, by its words; before anything is searched.
    ScopeChosen { scope: Scope },
    /// The support of the answer by the sources, before it is written.
    SupportMeasured {
        support: Support,
        /// The nearest sentence of each source that was compared with the question by meaning.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nearest: Vec<NearestSentence>,
    },
    /// Whether the answer can be trusted.
    VerdictGiven { verdict: Verdict },
    /// The help of the context for the model.
    UtilityMeasured { step: u32, utility: Utility },
    /// The agreement of answers that were sampled from the prompt of the answer.
    AnswerSampled { samples: AnswerSamples },
    /// Last record of every run.
    RunFinished {
        outcome: Outcome,
        /// The whole text of the answer.
        text: String,
        /// The short answer that the text states, otherwise the whole text.
        answer: String,
        citations: Vec<Citation>,
        usage: RunUsage,
    },

    /// Written by a newer program, and skipped.
    #[serde(other)]
    Unknown,
}

/// Returns the value in records that were written before a context could be unanswered.
fn yes() -> bool {
    true
}

/// The number in records that were written before calls came in batches.
fn one() -> u32 {
    1
}

impl RunEvent {
    /// Returns the event of a warning.
    pub fn warning(Problem { error, advice }: Problem) -> Self {
        Self::Warned {
            text: error,
            advice,
        }
    }
}
