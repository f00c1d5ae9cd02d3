//! What answers mean: which of them say the same, and how far a set of sampled answers agrees.
//!
//! Clusters of meaning and their entropy after Kuhn, Gal and Farquhar, "Semantic Uncertainty" (2023); the discrete form after Farquhar
//! et al. in Nature 630 (2024). The strict rule: two answers mean the same when each entails the other.

use std::collections::HashSet;

use super::{MethodError, ModelCalls};
use crate::corpus::language;
use crate::index::is_content_word;
use crate::llm::{Completion, Entailment};

/// An answer as answers are compared: without case, outer and doubled spaces, and a final period.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Meaning(String);

impl Meaning {
    /// What is compared of an answer.
    #[must_use]
    pub fn of(answer: &str) -> Self {
        let words: Vec<&str> = answer.split_whitespace().collect();
        Self(
            words
                .join(" ")
                .trim_end_matches('.')
                .trim_end()
                .to_lowercase(),
        )
    }
}

/// Entailment without a model: an answer entails another when it holds all its content words. Two answers mean the same, then, when their
/// content words are the same; a paraphrase in other words counts as another meaning.
#[must_use]
pub fn entailed_by_words(a: &str, b: &str) -> Entailment {
    let all = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let content = |text: &str| -> HashSet<String> {
        let language = language(text);
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| is_content_word(word, language));
        words.map(str::to_lowercase).collect()
    };
    // "No" and "It" have no content words: such answers are held against each other word for word
    let bare = content(a).is_empty() || content(b).is_empty();
    let (a, b) = if bare {
        (all(a), all(b))
    } else {
        (content(a), content(b))
    };
    if b.is_subset(&a) {
        Entailment::CERTAIN
    } else {
        Entailment::of_row(&[0.0, 1.0, 0.0])
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
    #[must_use]
    pub fn by(answers: usize, mut equivalent: impl FnMut(usize, usize) -> bool) -> Self {
        let mut clusters = Self {
            of: Vec::with_capacity(answers),
            founders: Vec::new(),
        };
        for answer in 0..answers {
            let joined = clusters
                .founders
                .iter()
                .position(|founder| equivalent(answer, *founder));
            let cluster = joined.unwrap_or_else(|| {
                clusters.founders.push(answer);
                clusters.founders.len() - 1
            });
            clusters.of.push(cluster);
        }
        clusters
    }

    /// The clusters of answers to a question by bidirectional entailment, for who needs nothing but the clusters: each founder is
    /// compared with the answers that are left, all at once, and back only with those that it entails. The same clusters as those of an
    /// [`Agreement`](super::Agreement), for at most half of its calls.
    ///
    /// # Errors
    /// What the entailment judge fails with.
    pub fn judged(
        calls: &mut dyn ModelCalls,
        question: &str,
        answers: &[&str],
    ) -> Result<Self, MethodError> {
        let mut of: Vec<Option<usize>> = vec![None; answers.len()];
        let mut founders = Vec::new();
        while let Some(founder) = of.iter().position(Option::is_none) {
            let mut alike: Vec<usize> = (founder + 1..answers.len())
                .filter(|answer| of[*answer].is_none())
                .collect();
            for back in [false, true] {
                let pairs: Vec<(&str, &str)> = alike
                    .iter()
                    .map(|answer| (answers[founder], answers[*answer]))
                    .map(|(a, b)| if back { (b, a) } else { (a, b) })
                    .collect();
                let mut judged = calls.entail(question, &pairs)?.into_iter();
                alike.retain(|_| {
                    judged
                        .next()
                        .is_some_and(|judgement| judgement.is_entailed())
                });
            }
            for member in alike.into_iter().chain([founder]) {
                of[member] = Some(founders.len());
            }
            founders.push(founder);
        }
        Ok(Self {
            of: of.into_iter().flatten().collect(),
            founders,
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

    /// The weight of the answers in each cluster.
    #[must_use]
    pub fn masses(&self, weights: &[f64]) -> Vec<f64> {
        let mut masses = vec![0.0; self.founders.len()];
        for (cluster, weight) in self.of.iter().zip(weights) {
            masses[*cluster] += weight;
        }
        masses
    }
}

/// H = -sum (n_c / N) ln (n_c / N), nats; 0 for no answers.
#[must_use]
pub fn discrete_semantic_entropy(sizes: &[usize]) -> f64 {
    let all: usize = sizes.iter().sum();
    let shares = sizes
        .iter()
        .filter(|size| **size > 0)
        .map(|size| *size as f64 / all as f64);
    entropy(shares)
}

/// H = -sum p ln p of shares above 0 that sum to 1, nats; 0 for none.
pub(super) fn entropy(shares: impl Iterator<Item = f64>) -> f64 {
    // Down from zero: the negated sum of one share of 1 is minus zero, and shows as such.
    shares
        .fold(0.0, |sum, share| sum - share * share.ln())
        .max(0.0)
}

/// The weight of each sampled answer: exp of its mean token log-probability, normalised over the samples. A reply without a token says
/// nothing and weighs nothing.
#[must_use]
pub fn sequence_likelihoods(samples: &[Completion]) -> Vec<f64> {
    let likelihood = |sample: &Completion| {
        let sum: f64 = sample
            .tokens
            .iter()
            .map(|token| f64::from(token.logprob))
            .sum();
        if sample.tokens.is_empty() {
            0.0
        } else {
            (sum / sample.tokens.len() as f64).exp()
        }
    };
    let likelihoods: Vec<f64> = samples.iter().map(likelihood).collect();
    let all: f64 = likelihoods.iter().sum();
    likelihoods
        .into_iter()
        .map(|likelihood| if all > 0.0 { likelihood / all } else { 0.0 })
        .collect()
}
