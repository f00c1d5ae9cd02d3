//! SEARAG retrieves when the model is uncertain of the sentence that it writes.
//!
//! "SEARAG: Semantic Entropy-Guided Adaptive Retrieval for Multi-Hop Question Answering" (anonymous
//! submission to ACL). This module has what the method measures and decides: the semantic entropy
//! of the next sentence by sampling (section 3.1, equation 2; appendix A), the threshold that
//! separates certain from uncertain sentences (semantic-constraint entropy splitting, equations 3
//! and 12), and when a regenerated sentence needs more passages (section 3.3, equation 6). The
//! probe is in `probe`, the query (section 3.2) in [`super::query`].

use super::calls::ModelCalls;
use super::meaning::{Clusters, discrete_semantic_entropy};
use super::measures::largest_by;
use crate::corpus::sentences;
use crate::llm::{Decoding, LlmError, Prompt, Token};

/// Candidates for the threshold between the smallest and the largest entropy.
const GRID: usize = 100;
/// Weight of the feature variances beside the error of the entropies (equation 3).
pub const LAMBDA: f64 = 0.1;
/// Rise of the uncertainty that expands the recall (equation 6).
const DELTA: f32 = 0.05;
/// Temperature of sampled sentences: the paper says only "high"; Farquhar et al. (2024) take 1.
const TEMPERATURE: f32 = 1.0;

/// Sampling of sentences for their semantic entropy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentenceSampling {
    /// Number of samples; the paper takes 10.
    pub samples: u32,
    /// Maximum tokens of a sample.
    pub max_tokens: u32,
    pub seed: u64,
}

/// Returns the discrete semantic entropy of the sentence that follows `prompt`, nats (equations 10
/// and 11): samples are cut to their first sentence and clustered by bidirectional entailment.
///
/// # Errors
/// Failures of the generator and the entailment judge; [`crate::llm::LlmError::Stopped`].
pub fn sampled_semantic_entropy(
    calls: &mut dyn ModelCalls,
    question: &str,
    prompt: &Prompt,
    sampling: &SentenceSampling,
) -> Result<f64, LlmError> {
    let decoding = Decoding {
        temperature: TEMPERATURE,
        ..Decoding::one_line(sampling.max_tokens, sampling.seed)
    };
    let prompts = vec![prompt.clone(); sampling.samples as usize];
    let completions = calls.complete("sampled sentences", &prompts, &decoding)?;

    let sampled = completions.iter().map(|one| first_sentence(&one.text));
    let sampled: Vec<&str> = sampled.collect();
    let clusters = Clusters::judge(calls, question, &sampled)?;
    Ok(discrete_semantic_entropy(&clusters.sizes()))
}

/// Returns the first sentence of a text, trimmed.
pub fn first_sentence(text: &str) -> &str {
    let first = sentences(text, "").into_iter().next();
    first.map_or("", |range| &text[range])
}

/// Returns the mean entropy of the tokens of a sentence, nats: a cheap measure that needs no probe.
pub fn mean_token_entropy(tokens: &[Token]) -> f32 {
    tokens.iter().map(|token| token.entropy).sum::<f32>() / tokens.len().max(1) as f32
}

/// Returns whether the uncertainty rose with the passages by more than delta, so that the recall is
/// expanded and the sentence regenerated once more (equation 6).
pub fn should_expand(before: f32, after: f32) -> bool {
    after > before + DELTA
}

/// Standardisation of features to mean 0 and deviation 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    pub mean: Vec<f32>,
    /// Never 0: a feature that does not vary keeps its scale.
    pub deviation: Vec<f32>,
}

impl Standard {
    /// Computes mean and population standard deviation per column of rows of one width.
    pub fn from_rows<'r>(rows: impl Iterator<Item = &'r [f32]> + Clone) -> Self {
        let count = rows.clone().count().max(1) as f64;
        let width = rows.clone().next().map_or(0, <[f32]>::len);

        let mut mean = vec![0.0_f64; width];
        for row in rows.clone() {
            for (mean, value) in mean.iter_mut().zip(row) {
                *mean += f64::from(*value) / count;
            }
        }

        let mut variance = vec![0.0_f64; width];
        for row in rows {
            for ((variance, mean), value) in variance.iter_mut().zip(&mean).zip(row) {
                *variance += (f64::from(*value) - mean).powi(2) / count;
            }
        }

        let scale = |variance: f64| {
            if variance > 1e-12 {
                variance.sqrt()
            } else {
                1.0
            }
        };
        let deviation = variance.into_iter().map(|one| scale(one) as f32);
        Self {
            mean: mean.into_iter().map(|mean| mean as f32).collect(),
            deviation: deviation.collect(),
        }
    }

    /// Standardises a row.
    pub fn apply(&self, row: &[f32]) -> Vec<f32> {
        let scale = self.mean.iter().zip(&self.deviation);
        let values = row.iter().zip(scale);
        let values = values.map(|(value, (mean, deviation))| (value - mean) / deviation);
        values.collect()
    }
}

/// The samples as a threshold splits them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    pub threshold: f64,
    /// Number of samples with an entropy below the threshold.
    pub low: usize,
    /// Number of the others.
    pub high: usize,
    /// MSE of equation 3: squared distance of the entropies from the mean of their group, summed.
    pub error: f64,
    /// Variance term of equation 12: mean squared distance of the features from the mean of their
    /// group, summed over both groups.
    pub variance: f64,
}

/// Splits the samples at each candidate threshold that leaves neither group empty.
///
/// Entropies in nats; one row of features per sample, all of one width.
pub fn splits(
    entropies: &[f64],
    features: &[Vec<f32>],
    candidates: impl Iterator<Item = f64>,
) -> Vec<Split> {
    let mut order: Vec<usize> = (0..entropies.len()).collect();
    order.sort_by(|a, b| entropies[*a].total_cmp(&entropies[*b]));
    let samples = || order.iter().map(|at| (entropies[*at], &*features[*at]));
    let mut candidates: Vec<f64> = candidates.collect();
    candidates.sort_by(f64::total_cmp);

    // Both are in ascending order: each sample moves to the low group once.
    let all = Sums::from_samples(samples());
    let mut low = Sums::default();
    let mut waiting = samples().peekable();
    let mut splits = Vec::new();
    for threshold in candidates {
        while let Some((entropy, row)) = waiting.next_if(|(entropy, _)| *entropy < threshold) {
            low.add(entropy, row);
        }
        let high = all.without(&low);
        if low.count > 0 && high.count > 0 {
            splits.push(Split {
                threshold,
                low: low.count,
                high: high.count,
                error: low.error() + high.error(),
                variance: low.variance() + high.variance(),
            });
        }
    }
    splits
}

/// Returns the split that minimises error + lambda * variance (equation 3), the first among equals.
pub fn best_split(splits: &[Split], lambda: f64) -> Option<Split> {
    let loss = |split: &Split| split.error + lambda * split.variance;
    largest_by(splits.iter().copied(), |split| -loss(split))
}

/// Returns tau, the entropy that separates certain from uncertain samples: the minimum of equation
/// 3 over a grid. `None` when all entropies are equal.
///
/// Departure from the paper: the features are standardised first, and both terms are divided by
/// their value at the mean entropy. Lambda is then a ratio that does not depend on the number of
/// samples or features.
pub fn entropy_threshold(entropies: &[f64], features: &[Vec<f32>]) -> Option<f64> {
    let min = entropies.iter().copied().reduce(f64::min)?;
    let max = entropies.iter().copied().reduce(f64::max)?;
    if !max.is_finite() {
        return None;
    }
    let mean = entropies.iter().sum::<f64>() / entropies.len() as f64;

    let standard = Standard::from_rows(features.iter().map(Vec::as_slice));
    let features: Vec<Vec<f32>> = features.iter().map(|row| standard.apply(row)).collect();
    let at_mean = *splits(entropies, &features, std::iter::once(mean)).first()?;
    if at_mean.error <= f64::EPSILON || at_mean.variance <= f64::EPSILON {
        return Some(mean);
    }

    let step = (max - min) / GRID as f64;
    let grid = (1..=GRID).map(|at| min + step * at as f64);
    let splits = splits(entropies, &features, grid);
    let lambda = LAMBDA * at_mean.error / at_mean.variance;
    best_split(&splits, lambda).map(|split| split.threshold)
}

/// Running sums over a group of samples.
#[derive(Debug, Clone, Default)]
struct Sums {
    count: usize,
    entropy: f64,
    entropy_squared: f64,
    features: Vec<f64>,
    features_squared: f64,
}

impl Sums {
    fn from_samples<'r>(samples: impl Iterator<Item = (f64, &'r [f32])>) -> Self {
        let mut sums = Self::default();
        for (entropy, row) in samples {
            sums.add(entropy, row);
        }
        sums
    }

    fn add(&mut self, entropy: f64, row: &[f32]) {
        self.count += 1;
        self.entropy += entropy;
        self.entropy_squared += entropy * entropy;
        self.features.resize(row.len(), 0.0);
        for (sum, value) in self.features.iter_mut().zip(row) {
            *sum += f64::from(*value);
            self.features_squared += f64::from(*value).powi(2);
        }
    }

    fn without(&self, part: &Self) -> Self {
        let mut rest = self.clone();
        rest.count -= part.count;
        rest.entropy -= part.entropy;
        rest.entropy_squared -= part.entropy_squared;
        for (sum, part) in rest.features.iter_mut().zip(&part.features) {
            *sum -= part;
        }
        rest.features_squared -= part.features_squared;
        rest
    }

    /// Sum of squared distances of the entropies from their mean.
    fn error(&self) -> f64 {
        (self.entropy_squared - self.entropy.powi(2) / self.count as f64).max(0.0)
    }

    /// Mean squared distance of the features from their mean.
    fn variance(&self) -> f64 {
        let count = self.count as f64;
        let mean_squared: f64 = self.features.iter().map(|sum| (sum / count).powi(2)).sum();
        (self.features_squared / count - mean_squared).max(0.0)
    }
}
