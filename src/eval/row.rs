//! The figures of one answer, from the run that gave it.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::evidence::Pieces;
use super::metrics::{RankScores, TextScores};
use super::questions::Question;
use super::understanding::Understood;
use crate::event::{Belief, Context, Outcome, RunUsage, UncertaintyMeasure, Utility};
use crate::methods::{mean_logprob, perplexity};
use crate::story::{Lookup, Run, Token};

/// Declares the uncertainty measures that are compared: name, and what it is.
macro_rules! measures {
    ($($measure:ident = $name:literal $doc:literal;)+) => {
        /// A measure of the uncertainty of an answer: the higher, the less sure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Measure { $(#[doc = $doc] $measure),+ }

        impl Measure {
            /// Every measure, in the order in which they are shown.
            pub const ALL: &[Self] = &[$(Self::$measure),+];

            /// The name in tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$measure => $name),+ }
            }

            /// What it is.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$measure => $doc),+ }
            }
        }
    };
}

measures! {
    TokenEntropy = "token entropy" "Mean entropy of the token distributions of the answer, nats.";
    Logprob = "mean log-probability" "Mean log-probability of the answer's tokens, negated, nats.";
    Perplexity = "perplexity" "Perplexity of the answer.";
    Probe = "probe" "What the probe reads in the hidden states: the highest of the answer's sentences, in 0..=1.";
    Dense = "DENSE" "Entropy of the answers to the context with one chunk said another way at a time, nats.";
    DiscreteSemanticEntropy = "discrete semantic entropy" "Entropy of the sizes of the clusters of sampled answers, nats.";
    SemanticEntropy = "semantic entropy" "Entropy of the likelihoods of the clusters of sampled answers, nats.";
    DegreeEntropy = "degree entropy" "DENSE-RAG's entropy over degrees of agreement, of sampled answers, nats.";
    Degree = "degree" "Share of pairs of sampled answers that do not agree.";
    Eigenvalue = "eigenvalues" "About how many meanings the sampled answers have, by the Laplacian's eigenvalues.";
}

/// What one question under one preset came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub preset: String,
    /// The question's id.
    pub id: String,
    pub kind: String,
    /// The short answer.
    pub answer: String,
    /// Why there is no answer, when the question failed.
    pub error: Option<String>,
    pub scores: TextScores,
    /// Is the question one that the corpus cannot answer?
    pub unanswerable: bool,
    /// How well the chunks that were found, in fused order, hold the evidence; None for a question without any, and
    /// without a lookup.
    pub found: Option<RankScores>,
    /// The same of the chunks that the answer was written from.
    pub context: Option<RankScores>,
    /// Chunks that were found, and those that came into the context.
    pub chunks_found: u32,
    pub chunks_in_context: u32,
    pub uncertainty: BTreeMap<Measure, f64>,
    /// The mean probability of the answer's tokens (geometric), in 0..=1: how sure the model says it is.
    pub confidence: Option<f64>,
    /// What each measured context did to the model's belief; the first is the whole context.
    pub utility: Vec<ContextUtility>,
    /// How the context was understood, where that was measured.
    #[serde(default)]
    pub understood: Option<Understood>,
    pub usage: RunUsage,
}

/// How the model's answers differ between a context and none: values with the context less values without.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ContextUtility {
    /// The share of the question's evidence in the context, in 0..=1.
    pub evidence: f64,
    /// SePer, in both forms.
    pub soft: f64,
    pub hard: f64,
    /// Of the most likely answer.
    pub exact_match: f64,
    pub f1: f64,
    pub rouge_l: f64,
    /// Of the sampled answers, negated, so that more is better for all of them.
    pub perplexity: f64,
    pub semantic_entropy: f64,
    pub discrete_semantic_entropy: f64,
}

impl Row {
    /// The figures of a run that is over.
    pub(super) fn of(run: &Run, preset: &str, question: &Question, evidence: &Pieces) -> Self {
        let error = match &run.outcome {
            Some(Outcome::Failed { error, .. }) => Some(error.clone()),
            Some(Outcome::Completed | Outcome::LimitReached | Outcome::Stopped) => None,
            None => Some("the run did not end".to_owned()),
        };
        let scores = if error.is_some() {
            TextScores::default()
        } else {
            TextScores::of(&run.answer, &question.answers)
        };

        let held = Held { run, evidence };
        let has_searched = run.lookups.iter().any(|lookup| lookup.retrieval.is_some());
        let ranks =
            |chunks: &[u64]| (has_searched && !evidence.is_empty()).then(|| held.ranks(chunks));
        let found = found_chunks(run);
        let context = context_chunks(run);

        let tokens: Vec<&Token> = run.tokens().collect();
        let logprobs = tokens.iter().map(|token| token.logprob);
        let logprob = (!tokens.is_empty()).then(|| mean_logprob(logprobs));
        let understood = Understood::of(&run.refinement);
        Self {
            preset: preset.to_owned(),
            id: question.id.clone(),
            kind: question.kind.clone(),
            answer: run.answer.clone(),
            error,
            scores,
            unanswerable: question.answers.is_empty(),
            found: ranks(&found),
            context: ranks(&context),
            chunks_found: u32::try_from(found.len()).unwrap_or(u32::MAX),
            chunks_in_context: u32::try_from(context.len()).unwrap_or(u32::MAX),
            uncertainty: uncertainty(run, &tokens, logprob, understood),
            confidence: logprob.map(f64::exp),
            utility: held.utilities(question),
            understood,
            usage: run.usage,
        }
    }
}

/// The chunks that the retriever found, each once, in the order of the lookups.
fn found_chunks(run: &Run) -> Vec<u64> {
    let hits = run.lookups.iter().flat_map(Lookup::retrieved_hits);
    once_each(hits.map(|hit| hit.chunk.id))
}

/// The chunks that the answer was written from, each once. A context that was repaired replaces the
/// one before it.
fn context_chunks(run: &Run) -> Vec<u64> {
    let mut contexts: BTreeMap<u32, &Context> = BTreeMap::new();
    for lookup in &run.lookups {
        if let Some(context) = &lookup.context {
            contexts.insert(lookup.step, context);
        }
    }
    let used = contexts.values().flat_map(|context| &context.chunks);
    once_each(used.map(|used| used.chunk))
}

fn once_each(chunks: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut seen = HashSet::new();
    chunks.filter(|chunk| seen.insert(*chunk)).collect()
}

/// The measures of uncertainty that the run allows.
fn uncertainty(
    run: &Run,
    tokens: &[&Token],
    logprob: Option<f64>,
    understood: Option<Understood>,
) -> BTreeMap<Measure, f64> {
    let mut measured = BTreeMap::new();
    if let Some(logprob) = logprob {
        let entropy: f64 = tokens.iter().map(|token| f64::from(token.entropy)).sum();
        measured.insert(Measure::TokenEntropy, entropy / tokens.len() as f64);
        measured.insert(Measure::Logprob, -logprob);
        measured.insert(Measure::Perplexity, perplexity(logprob));
    }

    if let Some(understood) = understood {
        measured.insert(Measure::Dense, understood.dse);
    }

    let probed = run
        .steps
        .iter()
        .filter_map(|step| step.uncertainty.as_ref())
        .filter(|known| known.measure == UncertaintyMeasure::Probe)
        .map(|known| f64::from(known.value));
    if let Some(highest) = probed.reduce(f64::max) {
        measured.insert(Measure::Probe, highest);
    }

    if let Some(belief) = run.utility().and_then(Utility::belief) {
        let sampled = belief.uncertainty;
        for (measure, value) in [
            (
                Measure::DiscreteSemanticEntropy,
                sampled.discrete_semantic_entropy,
            ),
            (Measure::SemanticEntropy, sampled.semantic_entropy),
            (Measure::DegreeEntropy, sampled.degree_entropy),
            (Measure::Degree, sampled.degree),
            (Measure::Eigenvalue, sampled.eigenvalue),
        ] {
            measured.insert(measure, f64::from(value));
        }
    }
    measured
}

/// The chunks of a run beside the evidence of its question.
struct Held<'a> {
    run: &'a Run,
    evidence: &'a Pieces,
}

impl Held<'_> {
    /// How well these chunks, best first, hold the evidence.
    fn ranks(&self, chunks: &[u64]) -> RankScores {
        let pieces = |chunk: &u64| {
            self.run
                .hit(*chunk)
                .map_or_else(Vec::new, |hit| self.evidence.held_by(&hit.chunk.text))
        };
        let held: Vec<Vec<usize>> = chunks.iter().map(pieces).collect();
        RankScores::of(&held, self.evidence.len())
    }

    /// The change that each measured context made, lookup by lookup.
    fn utilities(&self, question: &Question) -> Vec<ContextUtility> {
        let mut utilities = Vec::new();
        for utility in &self.run.utilities {
            let Some((without, contexts)) = utility.beliefs.split_first() else {
                continue;
            };
            let before = TextScores::of(&without.greedy, &question.answers);
            for with in contexts {
                let after = TextScores::of(&with.greedy, &question.answers);
                let evidence = self.ranks(&with.chunks).share;
                utilities.push(ContextUtility::between(
                    Measured {
                        belief: without,
                        scores: &before,
                    },
                    Measured {
                        belief: with,
                        scores: &after,
                    },
                    evidence,
                ));
            }
        }
        utilities
    }
}

/// A belief with the scores of its most likely answer.
struct Measured<'a> {
    belief: &'a Belief,
    scores: &'a TextScores,
}

impl ContextUtility {
    fn between(without: Measured<'_>, with: Measured<'_>, evidence: f64) -> Self {
        let then = without.belief.uncertainty;
        let now = with.belief.uncertainty;
        Self {
            evidence,
            soft: f64::from(with.belief.soft - without.belief.soft),
            hard: f64::from(with.belief.hard - without.belief.hard),
            exact_match: with.scores.exact_match - without.scores.exact_match,
            f1: with.scores.f1 - without.scores.f1,
            rouge_l: with.scores.rouge_l - without.scores.rouge_l,
            perplexity: f64::from(then.perplexity - now.perplexity),
            semantic_entropy: f64::from(then.semantic_entropy - now.semantic_entropy),
            discrete_semantic_entropy: f64::from(
                then.discrete_semantic_entropy - now.discrete_semantic_entropy,
            ),
        }
    }
}
