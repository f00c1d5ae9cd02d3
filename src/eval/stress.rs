//! Asks a question again with its context disturbed: does a right answer stay right?

use std::fmt;

use serde::{Deserialize, Serialize};

use super::diagnose::{is_refused, is_said, only};
use super::evidence::context_chunks;
use super::metrics::normalise;
use crate::event::ChunkText;
use crate::letters;
use crate::story::{Expected, Inquiry, Lookup, Run};

/// A change of the chunks in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// The same chunks again: what the others are compared with, since no stage runs.
    Same,
    /// The same chunks, the best one last.
    Reversed,
    /// The chunk with the evidence between the others, where models read least.
    Middle,
    /// Behind the best chunk that the answer did not have, which does not hold the evidence.
    Distracted,
    /// Without the chunks that hold the evidence: the right answer is a refusal.
    Removed,
}

impl Disturbance {
    /// All of them, in the order in which they are asked.
    const ALL: [Self; 5] = [
        Self::Same,
        Self::Reversed,
        Self::Middle,
        Self::Distracted,
        Self::Removed,
    ];
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "the same chunks",
            Self::Reversed => "in reverse order",
            Self::Middle => "evidence in the middle",
            Self::Distracted => "nearest distractor first",
            Self::Removed => "without the evidence",
        })
    }
}

/// The answer from a disturbed context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stressed {
    pub disturbance: Disturbance,
    /// Whether the answer holds a right one.
    pub is_right: bool,
    pub is_refused: bool,
}

/// Asks the question of a run again from its own chunks, disturbed in each way that they allow.
/// Nothing is asked where the context is empty.
///
/// # Errors
/// Failures of the inquiry.
pub fn stress<E>(
    run: &Run,
    expected: &Expected,
    inquiry: &mut dyn Inquiry<Error = E>,
) -> Result<Vec<Stressed>, E> {
    let mut answers = Vec::new();
    for (disturbance, chunks) in contexts(run, expected) {
        let mut settings = only(run, &chunks);
        let min_support = run.settings.answer.min_support.to_string();
        settings.push(("answer.min_support".to_owned(), min_support));
        settings.push(("answer.order".to_owned(), "best_first".to_owned()));

        let answer = inquiry.ask(&settings)?;
        answers.push(Stressed {
            disturbance,
            is_right: is_said(expected, &answer),
            is_refused: is_refused(&answer),
        });
    }
    Ok(answers)
}

/// Returns the contexts to ask from, each in the order of the prompt.
fn contexts<'r>(run: &'r Run, expected: &Expected) -> Vec<(Disturbance, Vec<&'r ChunkText>)> {
    let ids = context_chunks(run);
    let hits = ids.iter().filter_map(|id| run.hit(*id));
    let same: Vec<&ChunkText> = hits.map(|hit| &hit.chunk).collect();
    if same.is_empty() {
        return Vec::new();
    }

    let holds = |chunk: &ChunkText| holds_evidence(chunk, expected);
    let (evidence, others): (Vec<_>, Vec<_>) = same.iter().copied().partition(|one| holds(one));
    let retrieved = run.lookups.iter().flat_map(Lookup::retrieved_hits);
    let distractor = retrieved
        .map(|hit| &hit.chunk)
        .find(|chunk| !ids.contains(&chunk.id) && !holds(chunk));

    let mut all = vec![(Disturbance::Same, same.clone())];
    if same.len() > 1 {
        let reversed = same.iter().rev().copied().collect();
        all.push((Disturbance::Reversed, reversed));
    }
    if !evidence.is_empty() && others.len() > 1 {
        let (before, behind) = others.split_at(others.len() / 2);
        all.push((Disturbance::Middle, [before, &evidence, behind].concat()));
    }
    if let Some(distractor) = distractor {
        let behind = [&[distractor], &same[..]].concat();
        all.push((Disturbance::Distracted, behind));
    }
    if !evidence.is_empty() && !others.is_empty() {
        all.push((Disturbance::Removed, others));
    }
    all
}

/// Returns whether a chunk holds a passage that is expected, or an answer.
fn holds_evidence(chunk: &ChunkText, expected: &Expected) -> bool {
    let text = normalise(&chunk.text);
    let mut wanted = expected.passages.iter().chain(&expected.answers);
    wanted.any(|wanted| letters::holds(&text, &normalise(wanted)))
}

/// The answers of a preset from contexts disturbed in one way, beside those from the same chunks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StressSummary {
    pub disturbance: Disturbance,
    /// Questions that were asked so.
    pub questions: usize,
    pub right: usize,
    pub refused: usize,
    /// Answers that were right from the same chunks, and no longer are.
    pub lost: usize,
    /// Answers that became right.
    pub gained: usize,
}

impl StressSummary {
    /// Sums up the answers of each question, disturbance by disturbance.
    pub(super) fn all(questions: &[&[Stressed]]) -> Vec<Self> {
        let summaries = Disturbance::ALL.map(|disturbance| Self::new(disturbance, questions));
        let mut asked = Vec::from(summaries);
        asked.retain(|summary| summary.questions > 0);
        asked
    }

    fn new(disturbance: Disturbance, questions: &[&[Stressed]]) -> Self {
        let pairs = questions.iter().filter_map(|answers| {
            let disturbed = answers.iter().find(|one| one.disturbance == disturbance)?;
            Some((answers.first()?, disturbed))
        });
        let pairs: Vec<(&Stressed, &Stressed)> = pairs.collect();
        let count = |is: fn(&Stressed, &Stressed) -> bool| {
            let counted = pairs.iter().filter(|(same, disturbed)| is(same, disturbed));
            counted.count()
        };
        Self {
            disturbance,
            questions: pairs.len(),
            right: count(|_, disturbed| disturbed.is_right),
            refused: count(|_, disturbed| disturbed.is_refused),
            lost: count(|same, disturbed| same.is_right && !disturbed.is_right),
            gained: count(|same, disturbed| !same.is_right && disturbed.is_right),
        }
    }
}
