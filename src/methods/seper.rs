//! SePer: what a lookup was worth to the model.
//!
//! "SePer: Measure Retrieval Utility Through The Lens Of Semantic Perplexity Reduction" (ICLR 2025). A model's belief in a reference
//! answer is the likelihood of the sampled answers that mean the same (equations 5 to 9); what a lookup was worth is how far it moved
//! that belief (equation 3). Where the paper's equations and its published code differ:
//!
//! - a sample weighs the exponential of its *mean* token log-probability, normalised over the samples: the raw product of equation 6
//!   rewards short answers only;
//! - entailment is the larger of the two directions, and of several reference answers the best counts (equation 10 takes their mean:
//!   [`SeveralReferences::Mean`]);
//! - each (sample, reference) pair is judged on its own, where the published code mixes them up when there are several references;
//! - hard clusters follow the strict rule of [`Agreement::clusters`], and so does their match with a reference.

use super::meaning::{Clusters, sequence_likelihoods};
use super::uncertainty::Agreement;
use super::{MethodError, ModelCalls};
use crate::config::SeveralReferences;
use crate::llm::Completion;

/// The belief in the reference answers that a set of samples shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Believed {
    /// SePer soft and hard, in 0..=1.
    pub soft: f64,
    pub hard: f64,
    /// The weight of each sample; they sum to 1.
    pub weights: Vec<f64>,
    /// How far each sample and its nearest reference entail each other, in 0..=1.
    pub entailment: Vec<f64>,
    pub agreement: Agreement,
    pub clusters: Clusters,
    /// Of each cluster: does its founder mean what a reference means?
    pub matches: Vec<bool>,
}

/// Judge all that [`believed`] will ask about these sets of samples as one batch, so that their prompts share what they have in common.
///
/// # Errors
/// What the entailment judge fails with.
pub fn judge_ahead(
    calls: &mut dyn ModelCalls,
    question: &str,
    references: &[String],
    sets: &[&[Completion]],
) -> Result<(), MethodError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for set in sets {
        let texts: Vec<&str> = set.iter().map(|sample| sample.text.trim()).collect();
        pairs.extend(both_ways(&texts, references));
        pairs.extend(
            texts
                .iter()
                .flat_map(|a| texts.iter().map(move |b| (*a, *b))),
        );
    }
    pairs.sort_unstable();
    pairs.dedup();
    calls.entail(question, &pairs).map(drop)
}

/// The belief in `references` that samples of one prompt show (section 3 of the paper).
///
/// # Errors
/// What the entailment judge fails with.
pub fn believed(
    calls: &mut dyn ModelCalls,
    question: &str,
    references: &[String],
    samples: &[Completion],
    several: SeveralReferences,
) -> Result<Believed, MethodError> {
    let texts: Vec<&str> = samples.iter().map(|sample| sample.text.trim()).collect();
    let weights = sequence_likelihoods(samples);
    let agreement = Agreement::judged(calls, question, &texts)?;
    let clusters = agreement.clusters();
    let masses = clusters.masses(&weights);
    let judged = calls.entail(question, &both_ways(&texts, references))?;
    // two judgements a (sample, reference) pair, samples outermost
    let pair = |sample: usize, reference: usize| {
        let at = 2 * (sample * references.len() + reference);
        (&judged[at], &judged[at + 1])
    };
    let entailment = |sample: usize, reference: usize| {
        let (there, back) = pair(sample, reference);
        f64::from(there.entailment.max(back.entailment))
    };
    let means = |cluster: &usize, reference: usize| {
        let (there, back) = pair(clusters.founders[*cluster], reference);
        there.is_entailed() && back.is_entailed()
    };
    let all = 0..references.len();
    let soft = all.clone().map(|reference| {
        weights
            .iter()
            .enumerate()
            .map(|(sample, weight)| weight * entailment(sample, reference))
            .sum::<f64>()
    });
    let matches: Vec<bool> = (0..masses.len())
        .map(|cluster| all.clone().any(|reference| means(&cluster, reference)))
        .collect();
    let mass = |matching: &dyn Fn(&usize) -> bool| {
        (0..masses.len())
            .filter(matching)
            .map(|c| masses[c])
            .sum::<f64>()
    };
    let hard = match several {
        SeveralReferences::Best => mass(&|cluster| matches[*cluster]),
        SeveralReferences::Mean => mean(
            all.clone()
                .map(|reference| mass(&|cluster| means(cluster, reference))),
        ),
    };
    Ok(Believed {
        soft: match several {
            SeveralReferences::Best => soft.fold(0.0, f64::max),
            SeveralReferences::Mean => mean(soft),
        },
        hard,
        entailment: (0..texts.len())
            .map(|sample| {
                all.clone()
                    .map(|reference| entailment(sample, reference))
                    .fold(0.0, f64::max)
            })
            .collect(),
        weights,
        agreement,
        clusters,
        matches,
    })
}

/// Each sample with each reference, forth and back.
fn both_ways<'a>(samples: &[&'a str], references: &'a [String]) -> Vec<(&'a str, &'a str)> {
    samples
        .iter()
        .flat_map(|sample| {
            references
                .iter()
                .flat_map(|reference| [(*sample, &**reference), (&**reference, *sample)])
        })
        .collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// The contexts that a lookup of `chunks` chunks is measured in, as places of chunks: none, all, each alone, all but each. A context
/// that occurs twice stands once.
#[must_use]
pub fn contexts(chunks: usize) -> Vec<Vec<usize>> {
    let alone = (0..chunks).map(|chunk| vec![chunk]);
    let without = (0..chunks).map(|out| (0..chunks).filter(|chunk| *chunk != out).collect());
    let mut contexts: Vec<Vec<usize>> = Vec::new();
    for context in [Vec::new(), (0..chunks).collect()]
        .into_iter()
        .chain(alone)
        .chain(without)
    {
        if !contexts.contains(&context) {
            contexts.push(context);
        }
    }
    contexts
}
