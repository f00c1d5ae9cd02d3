//! Clusters of answers with the same meaning, and their entropy.
//!
//! Kuhn, Gal and Farquhar, "Semantic Uncertainty" (2023); the discrete form after Farquhar et al.,
//! Nature 630 (2024). The strict rule: two answers mean the same when each entails the other.

use std::collections::HashSet;

use super::calls::ModelCalls;
use crate::corpus::{language, split_words};
use crate::index::is_content_word;
use crate::letters::normalise;
use crate::llm::{Completion, Entailment, LlmError};

/// Replies that say that there is no answer, as [`normalise`] returns them.
#[rustfmt::skip]
const REFUSALS: &[&str] = &[
    "unknown", "unanswerable", "no answer", "not stated", "not mentioned", "i do not know",
    "i dont know", "not known",
];

/// An answer as answers are compared: lower case, without outer and doubled white space and
/// without a final period.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Meaning(String);

impl Meaning {
    /// Normalises an answer.
    pub fn new(answer: &str) -> Self {
        let words: Vec<&str> = answer.split_whitespace().collect();
        let line = words.join(" ");
        Self(line.trim_end_matches('.').trim_end().to_lowercase())
    }
}

/// Judges entailment without a model: `a` entails `b` when it has all content words of `b`.
///
/// Two answers mean the same, then, when their content words are the same; a paraphrase in other
/// words counts as another meaning.
pub fn judge_by_words(a: &str, b: &str) -> Entailment {
    let content_of_a = content_words(a);
    let content_of_b = content_words(b);

    // "No" and "It" have no content words: such answers are compared by all their words.
    let is_entailed = if content_of_a.is_empty() || content_of_b.is_empty() {
        all_words(b).is_subset(&all_words(a))
    } else {
        content_of_b.is_subset(&content_of_a)
    };
    if is_entailed {
        Entailment::CERTAIN
    } else {
        Entailment::from_row(&[0.0, 1.0, 0.0])
    }
}

fn all_words(text: &str) -> HashSet<String> {
    split_words(text).map(str::to_lowercase).collect()
}

fn content_words(text: &str) -> HashSet<String> {
    let language = language(text);
    split_words(text)
        .filter(|word| is_content_word(word, language))
        .map(str::to_lowercase)
        .collect()
}

/// Answers grouped by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    /// The cluster of each answer, numbered from 0 in the order of their founders.
    pub of: Vec<usize>,
    /// The answer that founded each cluster.
    pub founders: Vec<usize>,
}

impl Clusters {
    /// Clusters greedily, as the published code of semantic entropy does: each answer joins the
    /// first cluster whose founder it is equivalent to, and never moves afterwards.
    ///
    /// `is_equivalent(answer, founder)` is called in that order.
    pub fn by(answers: usize, mut is_equivalent: impl FnMut(usize, usize) -> bool) -> Self {
        let mut clusters = Self {
            of: Vec::with_capacity(answers),
            founders: Vec::new(),
        };

        for answer in 0..answers {
            let mut founders = clusters.founders.iter();
            let known = founders.position(|founder| is_equivalent(answer, *founder));
            let cluster = known.unwrap_or_else(|| {
                clusters.founders.push(answer);
                clusters.founders.len() - 1
            });
            clusters.of.push(cluster);
        }

        clusters
    }

    /// Clusters the answers to a question by bidirectional entailment.
    ///
    /// The clusters are those of [`Agreement::clusters`](super::Agreement::clusters), for at most
    /// half of its judgements: each founder is compared with all answers that are left in one
    /// batch, and in the other direction only with those that it entails.
    ///
    /// # Errors
    /// Failures of the entailment judge.
    pub fn judge(
        calls: &mut dyn ModelCalls,
        question: &str,
        answers: &[&str],
    ) -> Result<Self, LlmError> {
        let mut of: Vec<Option<usize>> = vec![None; answers.len()];
        let mut founders = Vec::new();

        while let Some(founder) = of.iter().position(Option::is_none) {
            // an empty answer means the same as no other, not even as an empty one
            let is_empty = |answer: usize| answers[answer].trim().is_empty();
            let mut equivalent: Vec<usize> = (founder + 1..answers.len())
                .filter(|answer| of[*answer].is_none())
                .filter(|answer| !is_empty(founder) && !is_empty(*answer))
                .collect();
            for founder_entails in [true, false] {
                let pair = |answer: &usize| {
                    if founder_entails {
                        (answers[founder], answers[*answer])
                    } else {
                        (answers[*answer], answers[founder])
                    }
                };
                let pairs: Vec<(&str, &str)> = equivalent.iter().map(pair).collect();
                let mut judged = calls.entail(question, &pairs)?.into_iter();
                equivalent.retain(|_| judged.next().is_some_and(|one| one.is_entailed()));
            }

            for member in equivalent.into_iter().chain([founder]) {
                of[member] = Some(founders.len());
            }
            founders.push(founder);
        }

        Ok(Self {
            of: of.into_iter().flatten().collect(),
            founders,
        })
    }

    /// Returns the number of answers in each cluster.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.founders.len()];
        for cluster in &self.of {
            sizes[*cluster] += 1;
        }
        sizes
    }

    /// Returns the sum of the answers' weights in each cluster.
    pub fn masses(&self, weights: &[f64]) -> Vec<f64> {
        let mut masses = vec![0.0; self.founders.len()];
        for (cluster, weight) in self.of.iter().zip(weights) {
            masses[*cluster] += weight;
        }
        masses
    }
}

/// Returns the discrete semantic entropy of clusters of these sizes: H = -sum (n_c / N) ln (n_c /
/// N), nats; 0 for no answers. SEARAG, equations 10 and 11.
pub fn discrete_semantic_entropy(sizes: &[usize]) -> f64 {
    let answers: usize = sizes.iter().sum();
    let sizes = sizes.iter().filter(|size| **size > 0);
    entropy(sizes.map(|size| *size as f64 / answers as f64))
}

/// Returns H = -sum p ln p of shares above 0 that sum to 1, nats; 0 for none.
pub(super) fn entropy(shares: impl Iterator<Item = f64>) -> f64 {
    // Subtracted from zero: the negated sum of a single share of 1 is -0.0, and is shown as such.
    shares
        .fold(0.0, |sum, share| sum - share * share.ln())
        .max(0.0)
}

/// Returns the weight of each sampled answer: exp of its mean token log-probability, normalised
/// over the samples. A reply without a token weighs 0.
pub fn sequence_likelihoods(samples: &[Completion]) -> Vec<f64> {
    let likelihoods: Vec<f64> = samples.iter().map(likelihood).collect();
    let sum: f64 = likelihoods.iter().sum();
    if sum > 0.0 {
        likelihoods.iter().map(|one| one / sum).collect()
    } else {
        vec![0.0; likelihoods.len()]
    }
}

fn likelihood(sample: &Completion) -> f64 {
    if sample.tokens.is_empty() {
        return 0.0;
    }
    let logprobs = sample.tokens.iter().map(|token| f64::from(token.logprob));
    (logprobs.sum::<f64>() / sample.tokens.len() as f64).exp()
}

/// Returns whether the reply says that there is no answer.
pub fn is_refusal(answer: &str) -> bool {
    REFUSALS.contains(&normalise(answer).as_str())
}
