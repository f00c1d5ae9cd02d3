//! The rows of an evaluation, summed up.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::{
    AnswerMetric, ChunkMetric, CostMetric, DepthMetric, EvidenceList, Group, GroupMember, Interval,
    ListMetric, Metric, Section, SeparationMetric, UncertaintyMetric, UnderstandingMetric,
    UtilityMetric, Values, auroc_interval, bootstrap, mean, mean_of_any, paired_bootstrap, pearson,
};
use super::row::{ContextUtility, Row};
use super::stress::{StressSummary, Stressed};
use crate::story::BrokenLink;

/// Upper ends of the intervals of DENSE, nats; 0.2 is the paper's threshold.
const DENSE_BOUNDS: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0];

/// The depth that stands for all in a summary.
const SUMMARY_DEPTH: usize = 5;

/// The figures of one preset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresetSummary {
    pub preset: String,
    pub answered: usize,
    /// Whether its questions were only searched for.
    pub retrieval_only: bool,
    /// Questions that failed; they count as wrong.
    pub failed: Vec<String>,
    /// Means over the questions.
    pub scores: Values<AnswerMetric>,
    /// Questions and exact matches by kind, where the file names kinds.
    pub kinds: BTreeMap<String, KindSummary>,
    /// The chunks that were retrieved, and those in the context; `None` where no question names
    /// evidence.
    pub found: Option<ListSummary>,
    pub context: Option<ListSummary>,
    /// Separation of wrong answers from right ones by each uncertainty.
    pub uncertainty: Vec<UncertaintySummary>,
    pub utility: Option<UtilitySummary>,
    /// Means over the questions that have a value.
    pub chunks: Values<ChunkMetric, Option<f64>>,
    /// Exact match by the entropy that DENSE-RAG measures.
    pub dense: Vec<DenseInterval>,
    /// Wrong answers by their first broken link, where that was wanted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub broken: BTreeMap<BrokenLink, usize>,
    /// Answers from disturbed contexts, where they were wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stress: Vec<StressSummary>,
    /// Means over the questions.
    pub cost: Values<CostMetric>,
}

/// The figures of one kind of question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindSummary {
    pub questions: usize,
    pub exact_match: f64,
    /// The chunks in the context; `None` where no question of the kind names evidence.
    pub context: Option<ListSummary>,
}

/// The evidence in lists of chunks, over the questions with evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListSummary {
    pub questions: usize,
    pub depths: Vec<usize>,
    /// A value for each of the depths.
    #[serde(flatten)]
    pub by_depth: Values<DepthMetric, Vec<f64>>,
    #[serde(flatten)]
    pub whole: Values<ListMetric>,
}

/// The questions whose first context has a DENSE in an interval, and those on either side of its
/// upper end: figures 3 and 5 of "DENSE-RAG".
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DenseInterval {
    /// Nats; the lower end is not in the interval, unless it is 0.
    pub above: f64,
    /// `None` for the last interval, which has no upper end.
    pub up_to: Option<f64>,
    pub questions: usize,
    pub exact_match: f64,
    /// Exact match of all questions up to the upper end, and of all above it; `None` without any.
    pub exact_match_up_to: Option<f64>,
    pub exact_match_above: Option<f64>,
}

/// The quality of an uncertainty: how well it separates wrong answers from right ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UncertaintySummary {
    pub measure: UncertaintyMetric,
    pub questions: usize,
    /// `None` where all answers are right, or all wrong.
    #[serde(flatten)]
    pub separation: Values<SeparationMetric, Option<f64>>,
    /// The interval of the AUROC.
    pub interval: Option<Interval>,
}

/// Pearson's correlation of what a context did to the model with the share of the evidence in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UtilitySummary {
    /// The whole contexts of questions with a reference answer.
    pub contexts: usize,
    /// Means with the whole context, and of what it improves. Questions without a reference answer
    /// are left out: their belief is measured toward the model's own answer.
    pub with_context: Option<Values<UtilityMetric>>,
    pub improvement: Values<UtilityMetric>,
    /// Over the whole contexts of the questions with evidence that are not answered right without
    /// any context: nothing can help with those.
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
    /// The interval of that over the questions, whose contexts are not independent.
    pub interval: Option<Interval>,
}

/// The differences between a preset and the first one, on the questions that both answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub preset: String,
    pub against: String,
    pub questions: usize,
    /// Empty where no question was answered.
    #[serde(flatten)]
    pub scores: BTreeMap<AnswerMetric, Interval>,
    /// Lists of the retrieved chunks; empty where no question names evidence.
    #[serde(flatten)]
    pub found: BTreeMap<ListMetric, Interval>,
    /// Per question; empty where nothing was generated.
    #[serde(flatten)]
    pub cost: BTreeMap<CostMetric, Interval>,
}

/// The questions of a preset whose context was understood, or was not, and the same questions under
/// the first preset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderstandingSummary {
    pub preset: String,
    pub certain: bool,
    pub questions: usize,
    #[serde(flatten)]
    pub values: Values<UnderstandingMetric>,
}

impl PresetSummary {
    pub(super) fn new(preset: &str, rows: &[&Row], depths: &[usize]) -> Self {
        let failed = rows
            .iter()
            .filter_map(|row| Some(format!("{}: {}", row.id, row.error.as_ref()?)));
        let uncertainty = UncertaintyMetric::ALL
            .iter()
            .filter_map(|metric| UncertaintySummary::new(*metric, rows));

        let stressed: Vec<&[Stressed]> = rows.iter().map(|row| &row.stressed[..]).collect();

        Self {
            preset: preset.to_owned(),
            answered: rows.len(),
            retrieval_only: !rows.is_empty() && rows.iter().all(|row| row.is_only_searched()),
            failed: failed.collect(),
            scores: Values::mean(
                rows.iter()
                    .filter(|row| !row.is_retrieval_only)
                    .map(|row| &row.scores),
            ),
            kinds: by_kind(rows, depths),
            found: ListSummary::new(rows.iter().filter_map(|row| row.found.as_ref()), depths),
            context: context_summary(rows, depths),
            uncertainty: uncertainty.collect(),
            utility: UtilitySummary::new(rows),
            chunks: Values::from_fn(|metric: ChunkMetric| {
                let compute = metric.declaration().compute;
                mean_of_any(rows.iter().filter_map(|row| compute(row.chunks.as_ref()?)))
            }),
            dense: DenseInterval::all(rows),
            broken: count_broken(rows),
            stress: StressSummary::all(&stressed),
            cost: Values::from_fn(|metric: CostMetric| {
                let compute = metric.declaration().compute;
                mean(rows.iter().map(|row| compute(&row.usage)))
            }),
        }
    }
}

/// Counts the wrong answers by their first broken link.
fn count_broken(rows: &[&Row]) -> BTreeMap<BrokenLink, usize> {
    let mut counts = BTreeMap::new();
    for broken in rows.iter().filter_map(|row| row.broken) {
        *counts.entry(broken).or_default() += 1;
    }
    counts
}

fn context_summary(rows: &[&Row], depths: &[usize]) -> Option<ListSummary> {
    ListSummary::new(rows.iter().filter_map(|row| row.context.as_ref()), depths)
}

fn by_kind(rows: &[&Row], depths: &[usize]) -> BTreeMap<String, KindSummary> {
    let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.kind.is_empty()) {
        kinds.entry(&row.kind).or_default().push(row);
    }
    kinds
        .into_iter()
        .map(|(kind, rows)| (kind.to_owned(), KindSummary::new(&rows, depths)))
        .collect()
}

impl KindSummary {
    fn new(rows: &[&Row], depths: &[usize]) -> Self {
        let exact = rows.iter().map(|row| row.scores[AnswerMetric::ExactMatch]);
        Self {
            questions: rows.len(),
            exact_match: mean(exact),
            context: context_summary(rows, depths),
        }
    }
}

impl ListSummary {
    fn new<'a>(lists: impl Iterator<Item = &'a EvidenceList>, depths: &[usize]) -> Option<Self> {
        let lists: Vec<&EvidenceList> = lists.collect();
        let at_depths = |metric: DepthMetric| -> Vec<f64> {
            let compute = metric.declaration().compute;
            depths.iter().map(|depth| compute(&lists, *depth)).collect()
        };
        let over_lists = |metric: ListMetric| (metric.declaration().compute)(&lists);

        (!lists.is_empty()).then(|| Self {
            questions: lists.len(),
            depths: depths.to_vec(),
            by_depth: Values::from_fn(at_depths),
            whole: Values::from_fn(over_lists),
        })
    }

    /// Returns the index of the depth that stands for all in a summary: 5, or else the last.
    pub fn summary_depth(&self) -> usize {
        let last = self.depths.len().saturating_sub(1);
        self.depths
            .iter()
            .position(|depth| *depth == SUMMARY_DEPTH)
            .unwrap_or(last)
    }
}

impl DenseInterval {
    /// Returns the intervals that hold questions.
    fn all(rows: &[&Row]) -> Vec<Self> {
        let measured: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| {
                let exact = row.scores[AnswerMetric::ExactMatch];
                Some((row.understood?.dse, exact))
            })
            .collect();
        let exact_match = |is_in: &dyn Fn(f64) -> bool| -> Vec<f64> {
            let inside = measured.iter().filter(|(dse, _)| is_in(*dse));
            inside.map(|(_, exact)| *exact).collect()
        };

        let lower = std::iter::once(&0.0).chain(DENSE_BOUNDS);
        let upper = DENSE_BOUNDS.iter().copied().map(Some).chain([None]);
        let interval = |(above, up_to): (&f64, Option<f64>)| {
            let end = up_to.unwrap_or(f64::INFINITY);
            let inside = exact_match(&|dse| (dse > *above || *above == 0.0) && dse <= end);
            (!inside.is_empty()).then(|| Self {
                above: *above,
                up_to,
                questions: inside.len(),
                exact_match: mean(inside),
                exact_match_up_to: mean_of_any(exact_match(&|dse| dse <= end)),
                exact_match_above: mean_of_any(exact_match(&|dse| dse > end)),
            })
        };
        lower.zip(upper).filter_map(interval).collect()
    }
}

impl UncertaintySummary {
    fn new(measure: UncertaintyMetric, rows: &[&Row]) -> Option<Self> {
        let (uncertainty, correct) = with_correctness(measure, rows);
        let separation =
            |metric: SeparationMetric| (metric.declaration().compute)(&uncertainty, &correct);

        let right = correct.iter().filter(|correct| **correct).count();
        let area = separation(SeparationMetric::Auroc);

        (!uncertainty.is_empty()).then(|| Self {
            measure,
            questions: uncertainty.len(),
            separation: Values::from_fn(separation),
            interval: area.map(|area| auroc_interval(area, correct.len() - right, right)),
        })
    }
}

/// Returns the uncertainty of each answer for which it was measured, and whether that answer is
/// right.
pub(super) fn with_correctness(measure: UncertaintyMetric, rows: &[&Row]) -> (Vec<f64>, Vec<bool>) {
    rows.iter()
        .filter_map(|row| Some((*row.uncertainty.get(&measure)?, row.is_right())))
        .unzip()
}

impl UtilitySummary {
    fn new(rows: &[&Row]) -> Option<Self> {
        let whole: Vec<&ContextUtility> = rows
            .iter()
            .filter(|row| !row.unanswerable && !row.is_retrieval_only)
            .filter_map(|row| row.utility.first())
            .collect();
        let absolute: Vec<&Values<UtilityMetric>> = whole
            .iter()
            .filter_map(|context| context.with_context.as_ref())
            .collect();

        let with_evidence: Vec<&[ContextUtility]> = rows
            .iter()
            .filter(|row| row.context.is_some() && !row.is_right_without_context())
            .map(|row| row.utility.as_slice())
            .collect();
        let wholes: Vec<&[ContextUtility]> = with_evidence
            .iter()
            .map(|contexts| &contexts[..contexts.len().min(1)])
            .collect();

        (!whole.is_empty()).then(|| Self {
            contexts: whole.len(),
            with_context: (!absolute.is_empty()).then(|| Values::mean(absolute.into_iter())),
            improvement: Values::mean(whole.iter().map(|context| &context.improvement)),
            whole: correlations(&wholes),
            every: correlations(&with_evidence),
        })
    }
}

/// Returns the correlations over the contexts of these questions.
fn correlations(questions: &[&[ContextUtility]]) -> Vec<Correlation> {
    let correlation = |metric: UtilityMetric| {
        let pearson_of = |drawn: &[usize]| {
            let contexts = drawn.iter().flat_map(|question| questions[*question]);
            let (values, evidence): (Vec<f64>, Vec<f64>) = contexts
                .map(|context| (context.improvement[metric], context.evidence))
                .unzip();
            pearson(&values, &evidence)
        };
        let all: Vec<usize> = (0..questions.len()).collect();
        Correlation {
            of: metric.declaration().label,
            contexts: questions.iter().map(|contexts| contexts.len()).sum(),
            pearson: pearson_of(&all),
            interval: bootstrap(questions.len(), &pearson_of),
        }
    };

    UtilityMetric::in_section(Section::Utility)
        .map(correlation)
        .collect()
}

impl Comparison {
    pub(super) fn new(rows: &[&Row], first: &[&Row]) -> Option<Self> {
        let pairs: Vec<(&Row, &Row)> = rows
            .iter()
            .filter_map(|row| Some((*row, *first.iter().find(|other| other.id == row.id)?)))
            .collect();
        let difference = |value: &dyn Fn(&Row) -> f64| {
            let differences: Vec<f64> = pairs
                .iter()
                .map(|(row, other)| value(row) - value(other))
                .collect();
            paired_bootstrap(&differences)
        };

        let is_answered = !pairs.iter().all(|(row, _)| row.is_only_searched());
        let scores = AnswerMetric::in_section(Section::Comparison)
            .filter(|_| is_answered)
            .filter_map(|metric| Some((metric, difference(&|row| row.scores[metric])?)));
        let is_ranked = |row: &Row| row.found.is_some();
        let has_found = pairs
            .iter()
            .any(|(row, other)| is_ranked(row) && is_ranked(other));
        let found = ListMetric::in_section(Section::Comparison)
            .filter(|_| has_found)
            .filter_map(|metric| {
                let value = |row: &Row| {
                    let list = row.found.as_ref();
                    list.map_or(0.0, |list| (metric.declaration().compute)(&[list]))
                };
                Some((metric, difference(&value)?))
            });
        let cost = CostMetric::in_section(Section::Comparison)
            .filter(|_| is_answered)
            .filter_map(|metric| {
                let compute = metric.declaration().compute;
                Some((metric, difference(&|row| compute(&row.usage))?))
            });

        (pairs.len() > 1).then(|| Self {
            preset: pairs[0].0.preset.clone(),
            against: pairs[0].1.preset.clone(),
            questions: pairs.len(),
            scores: scores.collect(),
            found: found.collect(),
            cost: cost.collect(),
        })
    }
}

impl UnderstandingSummary {
    pub(super) fn new(certain: bool, rows: &[&Row], first: &[&Row]) -> Option<Self> {
        let mut group = Group::default();
        for row in rows {
            let Some(understood) = row.understood.filter(|known| known.certain == certain) else {
                continue;
            };
            group.members.push(row.group_member(understood));
            let under_first = first.iter().find(|other| other.id == row.id);
            group
                .under_first
                .extend(under_first.map(|other| other.group_member(understood)));
        }

        (!group.members.is_empty()).then(|| Self {
            preset: rows[0].preset.clone(),
            certain,
            questions: group.members.len(),
            values: Values::from_fn(|metric: UnderstandingMetric| {
                (metric.declaration().compute)(&group)
            }),
        })
    }
}

impl Row {
    fn group_member(&self, understood: super::metrics::Understood) -> GroupMember<'_> {
        GroupMember {
            exact_match: self.scores[AnswerMetric::ExactMatch],
            usage: &self.usage,
            understood,
        }
    }
}
