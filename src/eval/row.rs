//! The figures of one answer, folded from the events of its run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evidence::Pieces;
use super::metrics::{RankScores, TextScores};
use super::questions::Question;
use super::understanding::Understood;
use crate::event::{Belief, Event, Outcome, RunUsage, UncertaintyMeasure, Utility};
use crate::methods::{mean_logprob, perplexity};

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

/// Looks at the events of one run.
#[derive(Debug, Default)]
pub struct Watched {
    /// Was anything looked up?
    searched: bool,
    /// Text of each chunk that was found.
    texts: BTreeMap<u64, String>,
    found: Vec<u64>,
    /// The last context of each step: one that was repaired takes the place of the one before.
    contexts: BTreeMap<u32, Vec<u64>>,
    /// Log-probability and entropy of the tokens, by sentence: a sentence that is written again starts over.
    tokens: BTreeMap<u32, Vec<(f32, f32)>>,
    /// What the probe read of each sentence.
    probed: BTreeMap<u32, f64>,
    /// Of each lookup that was measured.
    utilities: Vec<Utility>,
    understood: Option<Understood>,
    answer: String,
    usage: RunUsage,
    outcome: Option<Outcome>,
}

impl Watched {
    /// See one event.
    pub fn see(&mut self, event: &Event) {
        Understood::see(&mut self.understood, event);
        match event {
            Event::RetrievalFinished { retrieval, .. } => {
                self.searched = true;
                for hit in &retrieval.hits {
                    if self
                        .texts
                        .insert(hit.chunk.id, hit.chunk.text.clone())
                        .is_none()
                    {
                        self.found.push(hit.chunk.id);
                    }
                }
            }
            Event::ChunksLinked { linked, .. } => {
                self.texts.extend(
                    linked
                        .iter()
                        .map(|text| (text.hit.chunk.id, text.hit.chunk.text.clone())),
                );
            }
            Event::ChunksMerged { merged, .. } => {
                self.texts.extend(
                    merged
                        .iter()
                        .map(|hit| (hit.chunk.id, hit.chunk.text.clone())),
                );
            }
            Event::ContextBuilt { step, context } => {
                self.contexts.insert(
                    *step,
                    context.chunks.iter().map(|part| part.chunk).collect(),
                );
            }
            Event::StepStarted { step } => drop(self.tokens.insert(*step, Vec::new())),
            Event::StepFinished {
                step, uncertainty, ..
            } if uncertainty.measure == UncertaintyMeasure::Probe => {
                self.probed.insert(*step, f64::from(uncertainty.value));
            }
            Event::TokenGenerated {
                step,
                logprob,
                entropy,
                ..
            } => {
                self.tokens
                    .entry(*step)
                    .or_default()
                    .push((*logprob, *entropy));
            }
            Event::UtilityMeasured { utility, .. } => self.utilities.push(utility.clone()),
            Event::RunFinished {
                outcome,
                answer,
                usage,
                ..
            } => {
                (self.outcome, self.usage) = (Some(outcome.clone()), *usage);
                self.answer.clone_from(answer);
            }
            _ => {}
        }
    }

    /// The figures, once the run is over.
    #[must_use]
    pub fn row(self, preset: &str, question: &Question, evidence: &Pieces) -> Row {
        let error = match &self.outcome {
            Some(Outcome::Failed { error, .. }) => Some(error.clone()),
            Some(Outcome::Completed | Outcome::LimitReached | Outcome::Stopped) => None,
            None => Some("the run did not end".to_owned()),
        };
        let ranks = |chunks: &[u64]| {
            let held: Vec<Vec<usize>> = chunks
                .iter()
                .map(|chunk| self.held(*chunk, evidence))
                .collect();
            (self.searched && !evidence.is_empty()).then(|| RankScores::of(&held, evidence.len()))
        };
        let mut context: Vec<u64> = Vec::new();
        for chunk in self.contexts.values().flatten() {
            if !context.contains(chunk) {
                context.push(*chunk);
            }
        }
        let tokens: Vec<(f32, f32)> = self.tokens.values().flatten().copied().collect();
        let logprob =
            (!tokens.is_empty()).then(|| mean_logprob(tokens.iter().map(|(logprob, _)| *logprob)));
        Row {
            preset: preset.to_owned(),
            id: question.id.clone(),
            kind: question.kind.clone(),
            scores: if error.is_some() {
                TextScores::default()
            } else {
                TextScores::of(&self.answer, &question.answers)
            },
            unanswerable: question.answers.is_empty(),
            found: ranks(&self.found),
            context: ranks(&context),
            chunks_found: u32::try_from(self.found.len()).unwrap_or(u32::MAX),
            chunks_in_context: u32::try_from(context.len()).unwrap_or(u32::MAX),
            uncertainty: self.uncertainty(&tokens, logprob),
            confidence: logprob.map(f64::exp),
            utility: self.utility(question, evidence),
            understood: self.understood,
            usage: self.usage,
            answer: self.answer,
            error,
        }
    }

    /// The pieces of evidence that a chunk holds.
    fn held(&self, chunk: u64, evidence: &Pieces) -> Vec<usize> {
        self.texts
            .get(&chunk)
            .map_or_else(Vec::new, |text| evidence.held_by(text))
    }

    fn uncertainty(&self, tokens: &[(f32, f32)], logprob: Option<f64>) -> BTreeMap<Measure, f64> {
        let mut measured = BTreeMap::new();
        if let Some(logprob) = logprob {
            let entropy: f64 = tokens.iter().map(|(_, entropy)| f64::from(*entropy)).sum();
            measured.insert(Measure::TokenEntropy, entropy / tokens.len() as f64);
            measured.insert(Measure::Logprob, -logprob);
            measured.insert(Measure::Perplexity, perplexity(logprob));
        }
        if let Some(understood) = self.understood {
            measured.insert(Measure::Dense, understood.dse);
        }
        if let Some(probed) = self.probed.values().copied().reduce(f64::max) {
            measured.insert(Measure::Probe, probed);
        }
        // the second belief is that with all chunks; without documents there is one belief
        let belief = self
            .utilities
            .last()
            .and_then(|utility| utility.beliefs.get(1).or(utility.beliefs.first()));
        if let Some(sampled) = belief.map(|belief| belief.uncertainty) {
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

    /// What each measured context did, lookup by lookup.
    fn utility(&self, question: &Question, evidence: &Pieces) -> Vec<ContextUtility> {
        self.utilities
            .iter()
            .flat_map(|utility| self.utility_of(utility, question, evidence))
            .collect()
    }

    fn utility_of(
        &self,
        utility: &Utility,
        question: &Question,
        evidence: &Pieces,
    ) -> Vec<ContextUtility> {
        let Some((without, with)) = utility.beliefs.split_first() else {
            return Vec::new();
        };
        let scores = |belief: &Belief| TextScores::of(&belief.greedy, &question.answers);
        let before = scores(without);
        let change = |belief: &Belief| {
            let after = scores(belief);
            let held: Vec<Vec<usize>> = belief
                .chunks
                .iter()
                .map(|chunk| self.held(*chunk, evidence))
                .collect();
            let (now, then) = (belief.uncertainty, without.uncertainty);
            ContextUtility {
                evidence: RankScores::of(&held, evidence.len()).share,
                soft: f64::from(belief.soft - without.soft),
                hard: f64::from(belief.hard - without.hard),
                exact_match: after.exact_match - before.exact_match,
                f1: after.f1 - before.f1,
                rouge_l: after.rouge_l - before.rouge_l,
                perplexity: f64::from(then.perplexity - now.perplexity),
                semantic_entropy: f64::from(then.semantic_entropy - now.semantic_entropy),
                discrete_semantic_entropy: f64::from(
                    then.discrete_semantic_entropy - now.discrete_semantic_entropy,
                ),
            }
        };
        with.iter().map(change).collect()
    }
}
