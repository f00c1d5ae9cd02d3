//! The answer: its sentences, their uncertainty and evidence, and the run that wrote it.

use serde::{Deserialize, Serialize};

use super::number::{is_zero, logistic, logit_of};
use super::place::Place;
use super::problem::Problem;

/// The share of words that is no more than most of them.
const ALL_WORDS: f32 = 0.995;

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
    /// The file of its generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
}

impl RunSummary {
    /// Returns the id of its thread.
    pub fn thread(&self) -> &str {
        self.thread.as_deref().unwrap_or(&self.run)
    }
}

/// The cost of a model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallUsage {
    pub prompt_tokens_evaluated: u32,
    /// Prompt tokens that were in the KV cache already.
    pub prompt_tokens_reused: u32,
    pub tokens_generated: u32,
    /// The generated tokens that were evaluated ahead as a draft.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_drafted: u32,
    pub wall_us: u64,
    /// Cells of the KV cache in use after the call, and all of them.
    pub context_used: u32,
    pub context_tokens: u32,
    /// Prompt tokens that the model reads per second: the most of the calls since it was loaded; 0
    /// where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reading_rate: f32,
}

/// The uncertainty of a sentence, and the decision that followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Uncertainty {
    pub measure: UncertaintyMeasure,
    /// Value in the measure's own unit: nats for entropies.
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
    /// The probability that the probe reads in the hidden states, in 0..=1.
    Probe,
    /// 1 - the probability of the sentence's least likely token, in 0..=1.
    TokenProbability,
    /// The largest entropy of the sentence's words, each times its share of the attention of the
    /// words after it and the number of words, nats.
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

/// The effect of a chunk of the context on a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AblatedChunk {
    /// The number of the chunk in the run.
    pub label: u32,
    pub chunk: u64,
    /// ln p of the sentence with the whole context minus that without this chunk, nats: without it
    /// the sentence is `exp` of it times less likely.
    pub logprob_drop: f32,
}

/// The documents that a question is about, and how widely they are searched, by its words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub kind: QuestionKind,
    /// The documents and folders that it names, which alone are searched; empty for all.
    pub documents: Vec<String>,
    /// The things that it compares, or that files are about, or a question for each of two that it
    /// asks about; each is searched as well.
    pub subjects: Vec<String>,
}

impl Scope {
    /// Returns what sets each of two questions apart: without the words at both ends that they have
    /// in common, but those in capitals beside it. Other subjects stay as they are.
    pub fn names(&self) -> Vec<String> {
        match self.subjects.as_slice() {
            [one, other] if one.ends_with('?') => vec![apart(one, other), apart(other, one)],
            subjects => subjects.to_vec(),
        }
    }
}

fn apart(one: &str, other: &str) -> String {
    let words: Vec<&str> = one.split(' ').collect();
    let others: Vec<&str> = other.split(' ').collect();
    let is_small = |at: usize, word: &str| at == 0 || word.starts_with(char::is_lowercase);
    let same = words.iter().zip(&others).enumerate();
    let first = same.take_while(|(at, (word, other))| word == other && is_small(*at, word));
    let first = first.count();
    let behind = words[first..].iter().rev();
    let behind = behind.zip(others[first..].iter().rev());
    let same = words.len() - behind.take_while(|(word, other)| word == other).count();
    // "Abra Works open in Lorby" is of Abra Works
    let is_large = |word: &&&str| !word.starts_with(char::is_lowercase);
    let of_name = words[same..].iter().take_while(is_large).count();
    let own = words[first..same + of_name].join(" ");
    own.trim_end_matches(['?', '？']).to_owned()
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A question for one fact, or for the same of two things.
    #[default]
    Fact,
    /// A question for everything of a kind, or for a number of things.
    Listing,
    /// A question for the documents that are about something, the only one of the subjects.
    Files,
    Comparison,
    /// A question for the content of one document, which is read in its order.
    Summary,
}

/// The degree to which the sources of an answer state it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Support {
    /// The generator's probability that one of the best sentences of the sources, or all sources,
    /// state the answer to exactly this question, in 0..=1; `None` where it was not asked.
    pub stated: Option<f32>,
    /// Whether it was asked of all sources at once, which says yes less often.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
    /// Whether a rule chose the sources by all words of the question, and nothing else was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_rule: bool,
    /// The largest score of a sentence of the sources: its cosine similarity to the question and
    /// the weighted share of the question's words in it and around it.
    pub score: f32,
    /// The probability that the sources answer the question, from all of these, in 0..=1.
    pub probability: f32,
    /// Whether the probability reaches `answer.min_support`.
    pub supported: bool,
}

/// The sentence of a source that is nearest to the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NearestSentence {
    /// Number of the chunk in the index.
    pub chunk: u64,
    pub text: String,
    /// Cosine similarity to the question.
    pub similarity: f32,
}

/// Whether an answer can be trusted, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub kind: VerdictKind,
    /// The probability that the answer is right by its sources, in 0..=1.
    pub probability: f32,
    /// The same before it was fitted to the folder and the model; `None` where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfitted: Option<f32>,
    /// Sources that it was written from.
    pub sources: u32,
    /// Sentences that state something and were generated.
    pub statements: u32,
    /// The steps of those that no source holds.
    pub uncited: Vec<u32>,
    /// The word that carries the answer and that the model was least sure of.
    pub least_certain: Option<UncertainWord>,
    /// The source that says otherwise than the one that a statement cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
}

/// A source that says otherwise than the one that a statement of the answer cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The step of the statement.
    pub step: u32,
    /// Path of the other source inside the corpus.
    pub file: String,
    /// Whether it is newer than the cited one; `None` where that is not known.
    pub newer: Option<bool>,
}

impl Verdict {
    /// Returns the word that carries the answer and of which the model was unsure.
    pub fn unsure_word(&self) -> Option<&UncertainWord> {
        let least = self.least_certain.as_ref();
        least.filter(|word| word.probability < 0.5)
    }

    /// Returns whether the answer states something that is not in the documents.
    pub fn is_unfounded(&self) -> bool {
        let is_stated = self.statements > 0 && self.uncited.len() == self.statements as usize;
        self.kind == VerdictKind::NotInDocuments && is_stated
    }
}

/// The calibration of verdicts on answers of one model over one folder: Platt's scaling of their
/// probability (Platt 1999).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VerdictFit {
    pub slope: f32,
    pub constant: f32,
    /// Answers that it was fitted to.
    pub answers: u32,
}

impl VerdictFit {
    /// Returns the share of right answers among those whose verdict has this probability, in 0..=1.
    pub fn apply(&self, probability: f32) -> f32 {
        logistic(self.slope * logit_of(probability) + self.constant)
    }
}

impl Support {
    /// Returns whether neither a model nor a rule decided that the sources answer the question.
    pub fn is_unjudged(&self) -> bool {
        self.stated.is_none() && !self.by_rule
    }
}

/// The verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// A source holds each statement, and the model was sure.
    Supported,
    /// Passages that fit the question are quoted, and no model judged whether they answer it.
    Quoted,
    /// A source holds some of the statements.
    Partly,
    /// The sources do not answer the question.
    NotInDocuments,
    /// There is an answer, and little speaks for it.
    Doubtful,
}

/// A word of an answer that the model was unsure of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UncertainWord {
    pub step: u32,
    pub text: String,
    /// The probability of its least likely token, in 0..=1.
    pub probability: f32,
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
    /// The sentence of the chunk that holds most words of the answer's sentence, if any holds
    /// enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    pub evidence: Evidence,
}

impl Citation {
    /// Returns the cited lines, from 1, both inclusive.
    pub fn lines(&self) -> [u32; 2] {
        [self.first_line, self.last_line]
    }

    /// Returns whether the source has some of the words of its sentence, and that is all that is
    /// known.
    pub fn is_in_part(&self) -> bool {
        matches!(self.evidence, Evidence::Overlap { share } if share <= ALL_WORDS)
    }
}

/// The evidence that a chunk supports a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// The model wrote the chunk's label, e.g. `[2]`.
    Marked,
    /// The share of the sentence's content words that the cited lines hold, in 0..=1.
    Overlap { share: f32 },
    /// The probability by which the model says that the passage states the sentence, in 0..=1.
    Judged { share: f32 },
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    /// Stopped by the user; the text so far stays.
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
