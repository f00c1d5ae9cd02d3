//! SePer measures how much a retrieval helped the model.
//!
//! "SePer: Measure Retrieval Utility Through The Lens Of Semantic Perplexity Reduction" (ICLR
//! 2025). The model's belief in a reference answer is the likelihood of the sampled answers that
//! mean the same (section 3.4, equations 6 to 9); the utility of a retrieval is the change that it
//! makes to that belief (definition 1, equations 1 and 11). Where the paper's equations and its
//! published code differ, or are wrong, this module decides as follows:
//!
//! - The weight of a sample is the exponential of its *mean* token log-probability, normalised over
//!   the samples: the raw product of equation 7 rewards short answers only.
//! - The entailment score of a pair is the larger of the two directions.
//! - Of several reference answers the best counts: they are spellings of one answer. Equation 10
//!   takes their mean.
//! - Each (sample, reference) pair is judged on its own; the published code mixes them up when
//!   there are several references.
//! - Hard clusters follow the strict rule of [`Agreement::clusters`], and so does their match with
//!   a reference (equation 8).

use super::calls::ModelCalls;
use super::meaning::{Clusters, sequence_likelihoods};
use super::uncertainty::Agreement;
use crate::llm::{Completion, Entailment, LlmError};

/// The belief in the reference answers that a set of samples shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Believed {
    /// SePer with the entailment score as kernel, in 0..=1.
    pub soft: f64,
    /// SePer with the indicator function (equation 8) as kernel, in 0..=1.
    pub hard: f64,
    /// The weight of each sample; they sum to 1.
    pub weights: Vec<f64>,
    /// Entailment score of each sample and its nearest reference, in 0..=1.
    pub entailment: Vec<f64>,
    pub agreement: Agreement,
    pub clusters: Clusters,
    /// Whether the founder of each cluster is equivalent to a reference.
    pub matches: Vec<bool>,
}

/// Judges in one batch everything that [`measure_belief`] will ask about these sets of samples, so
/// that the judge's prompts share their prefixes.
///
/// # Errors
/// Failures of the entailment judge.
pub fn judge_ahead(
    calls: &mut dyn ModelCalls,
    question: &str,
    references: &[String],
    sets: &[&[Completion]],
) -> Result<(), LlmError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for set in sets {
        let texts: Vec<&str> = set.iter().map(|sample| sample.text.trim()).collect();
        pairs.extend(both_ways(&texts, references));
        for a in &texts {
            pairs.extend(texts.iter().map(|b| (*a, *b)));
        }
    }
    // judgements are kept by pair, and prompts that begin alike lie side by side
    pairs.sort_unstable();
    pairs.dedup();

    calls.entail(question, &pairs)?;
    Ok(())
}

/// Returns the belief in `references` that samples of one prompt show (section 3.4).
///
/// # Errors
/// Failures of the entailment judge.
pub fn measure_belief(
    calls: &mut dyn ModelCalls,
    question: &str,
    references: &[String],
    samples: &[Completion],
) -> Result<Believed, LlmError> {
    let texts: Vec<&str> = samples.iter().map(|sample| sample.text.trim()).collect();
    let weights = sequence_likelihoods(samples);
    let agreement = Agreement::judge(calls, question, &texts)?;
    let clusters = agreement.clusters();
    let judged = Judged {
        judgements: calls.entail(question, &both_ways(&texts, references))?,
        references: references.len(),
    };

    // SePer-S: equation 9 with k = the entailment score of a sample and a reference.
    let soft = (0..references.len()).map(|reference| {
        let scores = (0..texts.len()).map(|sample| judged.score(sample, reference));
        let weighted = weights.iter().zip(scores);
        weighted.map(|(weight, score)| weight * score).sum::<f64>()
    });
    let soft = soft.fold(0.0, f64::max);

    // SePer-H: equation 9 with k = equation 8, the indicator of equivalence.
    let masses = clusters.masses(&weights);
    let is_match =
        |cluster: usize, reference| judged.is_equivalent(clusters.founders[cluster], reference);
    let matches: Vec<bool> = (0..masses.len())
        .map(|cluster| (0..references.len()).any(|reference| is_match(cluster, reference)))
        .collect();
    let hard = masses.iter().zip(&matches).filter(|(_, matches)| **matches);
    let hard = hard.map(|(mass, _)| *mass).sum();
    Ok(Believed {
        soft,
        hard,
        weights,
        entailment: (0..texts.len())
            .map(|sample| judged.best_score(sample))
            .collect(),
        agreement,
        clusters,
        matches,
    })
}

/// The judgements on samples and references, as [`both_ways`] orders the pairs.
struct Judged {
    judgements: Vec<Entailment>,
    references: usize,
}

impl Judged {
    /// The judgements on (sample, reference) and (reference, sample).
    fn pair(&self, sample: usize, reference: usize) -> [&Entailment; 2] {
        let at = 2 * (sample * self.references + reference);
        [&self.judgements[at], &self.judgements[at + 1]]
    }

    /// Returns the entailment score of a pair: the larger of its two directions.
    fn score(&self, sample: usize, reference: usize) -> f64 {
        let [there, back] = self.pair(sample, reference);
        f64::from(there.entailment.max(back.entailment))
    }

    fn best_score(&self, sample: usize) -> f64 {
        (0..self.references)
            .map(|reference| self.score(sample, reference))
            .fold(0.0, f64::max)
    }

    fn is_equivalent(&self, sample: usize, reference: usize) -> bool {
        let pair = self.pair(sample, reference);
        pair.iter().all(|judgement| judgement.is_entailed())
    }
}

/// Pairs each sample with each reference, in both directions; samples are the outer loop.
fn both_ways<'a>(samples: &[&'a str], references: &'a [String]) -> Vec<(&'a str, &'a str)> {
    let mut pairs = Vec::with_capacity(2 * samples.len() * references.len());
    for sample in samples {
        for reference in references {
            pairs.push((*sample, reference.as_str()));
            pairs.push((reference.as_str(), *sample));
        }
    }
    pairs
}

/// Returns the contexts in which the utility of a retrieval of `chunks` chunks is measured, as
/// indices of chunks: none, all, then for each chunk it alone and all but it. A context that occurs
/// twice is listed once.
pub fn contexts(chunks: usize) -> Vec<Vec<usize>> {
    let none = Vec::new();
    let all = (0..chunks).collect();
    let without = |out: usize| (0..chunks).filter(|chunk| *chunk != out).collect();
    let pairs = (0..chunks).flat_map(|chunk| [vec![chunk], without(chunk)]);

    let mut contexts: Vec<Vec<usize>> = Vec::new();
    for context in [none, all].into_iter().chain(pairs) {
        if !contexts.contains(&context) {
            contexts.push(context);
        }
    }
    contexts
}
