//! What answers mean: which of them say the same, and how far a set of sampled answers agrees.
//!
//! Clusters of meaning and their entropy after Kuhn, Gal and Farquhar, "Semantic Uncertainty" (2023); the discrete form after Farquhar
//! et al. in Nature 630 (2024). The strict rule: two answers mean the same when each entails the other.

use super::{MethodError, ModelCalls};
use crate::llm::Completion;

/// An answer as answers are compared: without case, outer and doubled spaces, and a final period.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Meaning(String);

impl Meaning {
    /// What is compared of an answer.
    #[must_use]
    pub fn of(answer: &str) -> Self {
        let words: Vec<&str> = answer.split_whitespace().collect();
        Self(words.join(" ").trim_end_matches('.').trim_end().to_lowercase())
    }
}

/// Which cluster each answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    /// The cluster of each answer, numbered from 0 in the order of their founders.
    pub of: Vec<usize>,
    /// The answer that founded each cluster.
    pub founders: Vec<usize>,
}

impl Clusters {
    /// Each answer joins the first cluster whose founder it is equivalent to, and never moves afterwards. `equivalent(answer,
    /// founder)` is asked in that order.
    ///
    /// # Errors
    /// What `equivalent` fails with.
    pub fn by<E>(answers: usize, mut equivalent: impl FnMut(usize, usize) -> Result<bool, E>) -> Result<Self, E> {
        let mut clusters = Self { of: Vec::with_capacity(answers), founders: Vec::new() };
        for answer in 0..answers {
            let mut joined = None;
            for (cluster, founder) in clusters.founders.iter().enumerate() {
                if equivalent(answer, *founder)? {
                    joined = Some(cluster);
                    break;
                }
            }
            let cluster = joined.unwrap_or_else(|| {
                clusters.founders.push(answer);
                clusters.founders.len() - 1
            });
            clusters.of.push(cluster);
        }
        Ok(clusters)
    }

    /// The clusters of answers to a question by bidirectional entailment. Distinct answers are judged in one batch, so that what the
    /// prompts share is evaluated once.
    ///
    /// # Errors
    /// What the entailment judge fails with.
    pub fn judged(calls: &mut dyn ModelCalls, question: &str, answers: &[&str]) -> Result<Self, MethodError> {
        let mut distinct: Vec<(Meaning, &str)> = Vec::new();
        let place: Vec<usize> = answers
            .iter()
            .map(|answer| {
                let meaning = Meaning::of(answer);
                distinct.iter().position(|(known, _)| *known == meaning).unwrap_or_else(|| {
                    distinct.push((meaning, answer));
                    distinct.len() - 1
                })
            })
            .collect();
        let count = distinct.len();
        let pairs: Vec<(usize, usize)> =
            (0..count).flat_map(|a| (0..count).filter(move |b| a != *b).map(move |b| (a, b))).collect();
        let texts: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (distinct[*a].1, distinct[*b].1)).collect();
        let judged = calls.entail(question, &texts)?;
        let mut entails = vec![true; count * count];
        for ((a, b), judgement) in pairs.into_iter().zip(judged) {
            entails[a * count + b] = judgement.is_entailed();
        }
        Self::by(answers.len(), |answer, founder| {
            let (a, b) = (place[answer], place[founder]);
            Ok(entails[a * count + b] && entails[b * count + a])
        })
    }

    /// The number of answers in each cluster.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.founders
            .iter()
            .enumerate()
            .map(|(cluster, _)| self.of.iter().filter(|of| **of == cluster).count())
            .collect()
    }
}

/// H = -sum (n_c / N) ln (n_c / N), nats; 0 for no answers.
#[must_use]
pub fn discrete_semantic_entropy(sizes: &[usize]) -> f64 {
    let all: usize = sizes.iter().sum();
    let shares = sizes.iter().filter(|size| **size > 0).map(|size| *size as f64 / all as f64);
    shares.map(|share| -share * share.ln()).sum::<f64>().max(0.0)
}

/// The weight of each sampled answer: exp of its mean token log-probability, normalised over the samples.
#[must_use]
pub fn sequence_likelihoods(samples: &[Completion]) -> Vec<f64> {
    let likelihood = |sample: &Completion| {
        let sum: f64 = sample.tokens.iter().map(|token| f64::from(token.logprob)).sum();
        (sum / sample.tokens.len().max(1) as f64).exp()
    };
    let likelihoods: Vec<f64> = samples.iter().map(likelihood).collect();
    let all: f64 = likelihoods.iter().sum();
    likelihoods.into_iter().map(|likelihood| if all > 0.0 { likelihood / all } else { 0.0 }).collect()
}
