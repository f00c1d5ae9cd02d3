//! The rows of an evaluation, summed up.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::{
    DEPTHS, Interval, RankScores, TextScores, auarc, auroc, mean, paired_bootstrap, pearson,
};
use super::row::{ContextUtility, Measure, Row};
use super::understanding::UnderstandingSummary;

/// What an evaluation came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Questions asked, and how many of them the corpus cannot answer.
    pub questions: usize,
    pub unanswerable: usize,
    pub presets: Vec<PresetSummary>,
    /// Each further preset against the first.
    pub comparisons: Vec<Comparison>,
    /// By preset, the questions whose context was understood, then the others.
    pub understanding: Vec<UnderstandingSummary>,
    /// What is wrong with the question file, entry by entry.
    pub remarks: Vec<String>,
    /// Evidence that no document holds.
    pub missing_evidence: Vec<String>,
}

/// The figures of one preset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresetSummary {
    pub preset: String,
    pub answered: usize,
    /// Questions that failed; they count as wrong.
    pub failed: Vec<String>,
    /// Means over the questions.
    pub scores: TextScores,
    /// Questions and exact matches by kind, where the file names kinds.
    pub kinds: BTreeMap<String, KindSummary>,
    /// The chunks that were found, and those that came into the context; None where no question names evidence.
    pub found: Option<RankSummary>,
    pub context: Option<RankSummary>,
    /// How well each uncertainty measure tells wrong answers from right ones.
    pub uncertainty: Vec<UncertaintySummary>,
    pub utility: Option<UtilitySummary>,
    pub cost: Cost,
}

/// The figures of one kind of question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct KindSummary {
    pub questions: usize,
    pub exact_match: f64,
}

/// Means over the questions with evidence, at each of [`DEPTHS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankSummary {
    pub questions: usize,
    pub depths: [usize; 4],
    pub recall: Vec<f64>,
    /// Over the questions that got any chunk, and over all of them (0 without a chunk).
    pub precision: Vec<f64>,
    pub precision_of_all: Vec<f64>,
    /// Mean recall times mean precision, both ways.
    pub ie: Vec<f64>,
    pub ie_of_all: Vec<f64>,
    /// Sum of IE at 1, 3 and 5, as SAKI-RAG's tables print it, both ways.
    pub ie_sum: f64,
    pub ie_sum_of_all: f64,
    /// Mean share of the evidence in the whole list.
    pub share: f64,
    pub mrr: f64,
    pub ndcg: f64,
    /// Mean number of chunks.
    pub chunks: f64,
}

/// How well a measure tells wrong answers from right ones (right: exact match).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UncertaintySummary {
    pub measure: Measure,
    pub questions: usize,
    /// None where all answers are right, or all wrong.
    pub auroc: Option<f64>,
    pub auarc: Option<f64>,
}

/// Pearson's correlation of what a context did to the model with the share of the evidence in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UtilitySummary {
    /// Mean delta SePer of the whole contexts, soft and hard.
    pub soft: f64,
    pub hard: f64,
    /// Over the whole contexts of the questions with evidence.
    pub whole: Vec<Correlation>,
    /// Over each context that was measured: the whole, each chunk alone, all but each.
    pub every: Vec<Correlation>,
}

/// A correlation with the share of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Correlation {
    pub of: &'static str,
    pub contexts: usize,
    pub pearson: Option<f64>,
}

/// Means over the questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cost {
    pub retrievals: f64,
    pub model_calls: f64,
    pub prompt_tokens_evaluated: f64,
    pub prompt_tokens_reused: f64,
    pub tokens_generated: f64,
    pub wall_ms: f64,
}

/// A preset less the first one, on the questions that both answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub preset: String,
    pub against: String,
    pub questions: usize,
    pub exact_match: Interval,
    pub f1: Interval,
    /// Milliseconds a question.
    pub wall_ms: Interval,
    /// Prompt tokens evaluated and tokens generated, a question.
    pub tokens: Interval,
}

impl Report {
    /// Sum up the rows of these presets.
    #[must_use]
    pub fn of(presets: &[String], rows: &[Row]) -> Self {
        let of_preset = |preset: &String| {
            rows.iter()
                .filter(|row| row.preset == *preset)
                .collect::<Vec<&Row>>()
        };
        let by_preset: Vec<Vec<&Row>> = presets.iter().map(of_preset).collect();
        let first = by_preset.first().map_or(&[][..], Vec::as_slice);
        Self {
            questions: first.len(),
            unanswerable: first.iter().filter(|row| row.unanswerable).count(),
            presets: presets
                .iter()
                .zip(&by_preset)
                .map(|(preset, rows)| PresetSummary::of(preset, rows))
                .collect(),
            comparisons: by_preset
                .iter()
                .skip(1)
                .filter_map(|rows| Comparison::of(rows, first))
                .collect(),
            understanding: by_preset
                .iter()
                .flat_map(|rows| UnderstandingSummary::of(rows, first))
                .collect(),
            remarks: Vec::new(),
            missing_evidence: Vec::new(),
        }
    }
}

fn mean_of(rows: &[&Row], value: impl Fn(&Row) -> f64) -> f64 {
    mean(&rows.iter().map(|row| value(row)).collect::<Vec<f64>>())
}

impl PresetSummary {
    fn of(preset: &str, rows: &[&Row]) -> Self {
        let mut kinds: BTreeMap<String, KindSummary> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.kind.is_empty()) {
            let kind = kinds.entry(row.kind.clone()).or_default();
            kind.questions += 1;
            kind.exact_match += row.scores.exact_match;
        }
        kinds
            .values_mut()
            .for_each(|kind| kind.exact_match /= kind.questions as f64);
        let failed = rows
            .iter()
            .filter_map(|row| Some(format!("{}: {}", row.id, row.error.as_ref()?)));
        Self {
            preset: preset.to_owned(),
            answered: rows.len(),
            failed: failed.collect(),
            scores: TextScores {
                exact_match: mean_of(rows, |row| row.scores.exact_match),
                f1: mean_of(rows, |row| row.scores.f1),
                substring: mean_of(rows, |row| row.scores.substring),
                rouge_l: mean_of(rows, |row| row.scores.rouge_l),
                meteor: mean_of(rows, |row| row.scores.meteor),
            },
            kinds,
            found: RankSummary::of(
                rows.iter()
                    .filter_map(|row| Some((row.found.as_ref()?, row.chunks_found))),
            ),
            context: RankSummary::of(
                rows.iter()
                    .filter_map(|row| Some((row.context.as_ref()?, row.chunks_in_context))),
            ),
            uncertainty: Measure::ALL
                .iter()
                .filter_map(|measure| UncertaintySummary::of(*measure, rows))
                .collect(),
            utility: UtilitySummary::of(rows),
            cost: Cost {
                retrievals: mean_of(rows, |row| f64::from(row.usage.retrievals)),
                model_calls: mean_of(rows, |row| f64::from(row.usage.model_calls)),
                prompt_tokens_evaluated: mean_of(rows, |row| {
                    row.usage.prompt_tokens_evaluated as f64
                }),
                prompt_tokens_reused: mean_of(rows, |row| row.usage.prompt_tokens_reused as f64),
                tokens_generated: mean_of(rows, |row| row.usage.tokens_generated as f64),
                wall_ms: mean_of(rows, |row| row.usage.wall_ms as f64),
            },
        }
    }
}

impl RankSummary {
    fn of<'a>(lists: impl Iterator<Item = (&'a RankScores, u32)>) -> Option<Self> {
        let (scores, chunks): (Vec<&RankScores>, Vec<f64>) = lists
            .map(|(scores, chunks)| (scores, f64::from(chunks)))
            .unzip();
        let over = |value: &dyn Fn(&RankScores) -> f64| {
            mean(&scores.iter().map(|one| value(one)).collect::<Vec<f64>>())
        };
        let over_depths =
            |value: &dyn Fn(usize) -> f64| (0..DEPTHS.len()).map(value).collect::<Vec<f64>>();
        let precise = |depth: usize| -> Vec<f64> {
            scores
                .iter()
                .filter_map(|one| Some(one.precision.as_ref()?[depth]))
                .collect()
        };
        let recall = over_depths(&|depth| over(&|one| one.recall[depth]));
        let precision = over_depths(&|depth| mean(&precise(depth)));
        let precision_of_all =
            over_depths(&|depth| precise(depth).iter().sum::<f64>() / scores.len().max(1) as f64);
        let product = |precision: &[f64]| {
            recall
                .iter()
                .zip(precision)
                .map(|(a, b)| a * b)
                .collect::<Vec<f64>>()
        };
        let (ie, ie_of_all) = (product(&precision), product(&precision_of_all));
        (!scores.is_empty()).then(|| Self {
            questions: scores.len(),
            depths: DEPTHS,
            // the first three depths are 1, 3 and 5
            ie_sum: ie[..3].iter().sum(),
            ie_sum_of_all: ie_of_all[..3].iter().sum(),
            recall,
            precision,
            precision_of_all,
            ie,
            ie_of_all,
            share: over(&|one| one.share),
            mrr: over(&|one| one.reciprocal_rank),
            ndcg: over(&|one| one.ndcg),
            chunks: mean(&chunks),
        })
    }
}

impl UncertaintySummary {
    fn of(measure: Measure, rows: &[&Row]) -> Option<Self> {
        let (uncertainty, correct) = measured(measure, rows);
        (!uncertainty.is_empty()).then(|| Self {
            measure,
            questions: uncertainty.len(),
            auroc: auroc(&uncertainty, &correct),
            auarc: auarc(&uncertainty, &correct),
        })
    }
}

/// The values of a measure, and which of the answers are right.
pub(super) fn measured(measure: Measure, rows: &[&Row]) -> (Vec<f64>, Vec<bool>) {
    let value = |row: &&Row| {
        Some((
            *row.uncertainty.get(&measure)?,
            row.scores.exact_match > 0.5,
        ))
    };
    rows.iter().filter_map(value).unzip()
}

/// A number of what a context did to the model.
type Change = fn(&ContextUtility) -> f64;

/// What is held against the share of evidence, after the paper's table 2.
const UTILITIES: [(&str, Change); 8] = [
    ("delta SePer, soft", |context| context.soft),
    ("delta SePer, hard", |context| context.hard),
    ("exact match", |context| context.exact_match),
    ("F1", |context| context.f1),
    ("ROUGE-L", |context| context.rouge_l),
    ("perplexity", |context| context.perplexity),
    ("semantic entropy", |context| context.semantic_entropy),
    ("discrete semantic entropy", |context| {
        context.discrete_semantic_entropy
    }),
];

impl UtilitySummary {
    fn of(rows: &[&Row]) -> Option<Self> {
        let whole: Vec<&ContextUtility> =
            rows.iter().filter_map(|row| row.utility.first()).collect();
        let with_evidence = || rows.iter().filter(|row| row.context.is_some());
        let over = |contexts: Vec<&ContextUtility>| {
            let evidence: Vec<f64> = contexts.iter().map(|context| context.evidence).collect();
            let correlation = |(of, value): &(&'static str, Change)| {
                let values: Vec<f64> = contexts.iter().map(|context| value(context)).collect();
                Correlation {
                    of,
                    contexts: contexts.len(),
                    pearson: pearson(&values, &evidence),
                }
            };
            UTILITIES.iter().map(correlation).collect()
        };
        (!whole.is_empty()).then(|| Self {
            soft: mean(
                &whole
                    .iter()
                    .map(|context| context.soft)
                    .collect::<Vec<f64>>(),
            ),
            hard: mean(
                &whole
                    .iter()
                    .map(|context| context.hard)
                    .collect::<Vec<f64>>(),
            ),
            whole: over(
                with_evidence()
                    .filter_map(|row| row.utility.first())
                    .collect(),
            ),
            every: over(with_evidence().flat_map(|row| &row.utility).collect()),
        })
    }
}

impl Comparison {
    fn of(rows: &[&Row], first: &[&Row]) -> Option<Self> {
        let pairs: Vec<(&Row, &Row)> = rows
            .iter()
            .filter_map(|row| Some((*row, *first.iter().find(|other| other.id == row.id)?)))
            .collect();
        let difference = |value: &dyn Fn(&Row) -> f64| {
            paired_bootstrap(
                &pairs
                    .iter()
                    .map(|(row, other)| value(row) - value(other))
                    .collect::<Vec<f64>>(),
            )
        };
        Some(Self {
            preset: rows.first()?.preset.clone(),
            against: first.first()?.preset.clone(),
            questions: pairs.len(),
            exact_match: difference(&|row| row.scores.exact_match)?,
            f1: difference(&|row| row.scores.f1)?,
            wall_ms: difference(&|row| row.usage.wall_ms as f64)?,
            tokens: difference(&|row| {
                (row.usage.prompt_tokens_evaluated + row.usage.tokens_generated) as f64
            })?,
        })
    }
}
