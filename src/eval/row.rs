//! The figures of one answer, from the run that gave it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::diagnose::says_one;
use super::evidence::{EvidencePieces, context_chunks, without_repeats};
use super::metrics::{
    AnswerMetric, ChunkFigures, EvidenceList, Metric as _, ScoredBelief, UncertaintyMetric,
    Understood, UtilityMetric, Values, confidence, score,
};
use super::questions::Question;
use super::stress::Stressed;
use crate::event::{Belief, Hit, ModelRole, Outcome, RunUsage};
use crate::story::{BrokenLink, Lookup, Run};

/// The result of one question under one preset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub preset: String,
    /// The question's id.
    pub id: String,
    pub kind: String,
    /// The fingerprint of the model that answered; empty where none was loaded.
    #[serde(default)]
    pub generator: String,
    /// The short answer.
    pub answer: String,
    /// The reason why there is no answer, when the question failed.
    pub error: Option<String>,
    pub scores: Values<AnswerMetric>,
    /// Whether the answer holds a reference answer, by its words.
    #[serde(default)]
    pub says_answer: bool,
    /// Whether the corpus cannot answer the question.
    pub unanswerable: bool,
    /// Whether its set judges the passages that are found and no answers.
    #[serde(default)]
    pub is_retrieval_only: bool,
    /// The evidence in the chunks that were retrieved, in fused order; `None` for a question
    /// without evidence, and without a lookup.
    pub found: Option<EvidenceList>,
    /// The evidence in the chunks that the answer was written from.
    pub context: Option<EvidenceList>,
    /// The measures of uncertainty that the run allows.
    pub uncertainty: BTreeMap<UncertaintyMetric, f64>,
    /// The geometric mean probability of the answer's tokens, in 0..=1.
    pub confidence: Option<f64>,
    /// Help of each measured context for the model; the first is the whole context.
    pub utility: Vec<ContextUtility>,
    /// Understanding of the context, where that was measured.
    #[serde(default)]
    pub understood: Option<Understood>,
    /// Figures of the chunks; `None` where nothing was searched.
    #[serde(default)]
    pub chunks: Option<ChunkFigures>,
    /// The first broken link, where the answer is wrong and that was wanted.
    #[serde(default)]
    pub broken: Option<BrokenLink>,
    /// Answers from disturbed contexts, the undisturbed one first, where they were wanted.
    #[serde(default)]
    pub stressed: Vec<Stressed>,
    pub usage: RunUsage,
}

/// The difference that a context makes to the model's answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextUtility {
    /// The share of the question's evidence in the context, in 0..=1.
    pub evidence: f64,
    /// The metrics with the context; rows of earlier versions lack them.
    #[serde(default)]
    pub with_context: Option<Values<UtilityMetric>>,
    /// The improvement of each metric by the context: positive is better for all of them.
    pub improvement: Values<UtilityMetric>,
}

impl Row {
    /// Computes the figures of a run that is over.
    pub(super) fn new(
        run: &Run,
        preset: &str,
        question: &Question,
        evidence: &EvidencePieces,
    ) -> Self {
        let error = match &run.outcome {
            Some(Outcome::Failed(problem)) => Some(problem.error.clone()),
            Some(Outcome::Completed | Outcome::LimitReached | Outcome::Stopped) => None,
            // a question that is only searched for has no run
            None if question.is_retrieval_only => None,
            None => Some("the run did not end".to_owned()),
        };
        let scores = if error.is_some() {
            Values::from_fn(|_| 0.0)
        } else {
            score(&run.answer, &question.answers)
        };

        let with_evidence = WithEvidence { run, evidence };
        let has_searched = run.lookups.iter().any(|lookup| lookup.retrieval.is_some());
        let is_ranked = has_searched && !evidence.is_empty();

        let uncertainty = UncertaintyMetric::ALL.iter().filter_map(|metric| {
            let compute = metric.declaration().compute;
            Some((*metric, compute(run)?))
        });

        Self {
            preset: preset.to_owned(),
            id: question.id.clone(),
            kind: question.kind.clone(),
            generator: run
                .model(ModelRole::Generator)
                .map_or_else(String::new, |card| card.fingerprint.clone()),
            answer: run.answer.clone(),
            error,
            scores,
            says_answer: says_one(run, &question.answers),
            unanswerable: question.answers.is_empty() && !question.is_retrieval_only,
            is_retrieval_only: question.is_retrieval_only,
            found: is_ranked.then(|| with_evidence.list(&retrieved_chunks(run))),
            // a question that is only searched for has no context
            context: (is_ranked && run.outcome.is_some())
                .then(|| with_evidence.list(&context_chunks(run))),
            uncertainty: uncertainty.collect(),
            confidence: confidence(run),
            utility: with_evidence.utilities(question),
            understood: Understood::from_refinement(&run.refinement),
            chunks: ChunkFigures::from_run(run),
            broken: None,
            stressed: Vec::new(),
            usage: run.usage,
        }
    }

    /// Returns whether the question was searched for and not answered.
    pub(super) fn is_only_searched(&self) -> bool {
        self.is_retrieval_only && self.found.is_some() && self.context.is_none()
    }

    /// Returns whether the most likely answer without any context is right.
    pub(super) fn is_right_without_context(&self) -> bool {
        let without = self.utility.first().and_then(|context| {
            let with = context.with_context.as_ref()?;
            Some(with[UtilityMetric::ExactMatch] - context.improvement[UtilityMetric::ExactMatch])
        });
        without.is_some_and(|exact_match| exact_match > 0.5)
    }

    /// Returns whether the answer is right: it matches a reference answer exactly or, since models
    /// write sentences, holds one.
    pub(super) fn is_right(&self) -> bool {
        self.says_answer || self.scores[AnswerMetric::ExactMatch] > 0.5
    }
}

/// Returns the chunks that the retriever returned, each once, in the order of the lookups.
fn retrieved_chunks(run: &Run) -> Vec<u64> {
    let hits = run.lookups.iter().flat_map(Lookup::retrieved_hits);
    without_repeats(hits.map(|hit| hit.chunk.id))
}

/// A run with the evidence of its question.
struct WithEvidence<'a> {
    run: &'a Run,
    evidence: &'a EvidencePieces,
}

impl WithEvidence<'_> {
    /// Returns the evidence in these chunks, best first.
    fn list(&self, chunks: &[u64]) -> EvidenceList {
        let hits: Vec<Option<&Hit>> = chunks.iter().map(|chunk| self.run.hit(*chunk)).collect();
        let held = hits
            .iter()
            .map(|hit| hit.map_or_else(Vec::new, |hit| self.evidence.find_in(&hit.chunk)));
        let tokens = hits.iter().map(|hit| hit.map_or(0, |hit| hit.chunk.tokens));
        EvidenceList {
            held: held.collect(),
            pieces: self.evidence.len(),
            tokens: tokens.collect(),
        }
    }

    /// Returns how much each measured context helped, lookup by lookup.
    fn utilities(&self, question: &Question) -> Vec<ContextUtility> {
        let mut utilities = Vec::new();
        for utility in &self.run.utilities {
            let Some((without, contexts)) = utility.beliefs.split_first() else {
                continue;
            };

            let without = score_belief(without, question);
            utilities.extend(contexts.iter().map(|belief| {
                let with = score_belief(belief, question);
                ContextUtility {
                    evidence: self.list(&belief.chunks).share(),
                    with_context: Some(Values::from_fn(|metric: UtilityMetric| {
                        (metric.declaration().compute)(&with)
                    })),
                    improvement: improvement(&without, &with),
                }
            }));
        }
        utilities
    }
}

fn score_belief<'a>(belief: &'a Belief, question: &Question) -> ScoredBelief<'a> {
    ScoredBelief {
        belief,
        scores: score(&belief.greedy, &question.answers),
    }
}

fn improvement(without: &ScoredBelief<'_>, with: &ScoredBelief<'_>) -> Values<UtilityMetric> {
    Values::from_fn(|metric: UtilityMetric| {
        let declaration = metric.declaration();
        let change = (declaration.compute)(with) - (declaration.compute)(without);
        declaration.better.improvement(change)
    })
}
