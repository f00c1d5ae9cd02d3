//! SEARAG: a probe reads the model's hidden states and says, sentence by sentence, whether the model knows what it says ("Semantic
//! Entropy Adaptive RAG"; references in the code are to its sections).
//!
//! Here is what the method measures and decides: the semantic entropy of the next sentence by sampling (equation 2), the threshold
//! that parts certain from uncertain sentences (semantic-constraint entropy splitting, equation 3), and when a regenerated sentence
//! asks for more passages (equation 6). The probe has a module of its own, the query is in [`super::query`].

use super::{Clusters, MethodError, ModelCalls, discrete_semantic_entropy};
use crate::corpus::sentences;
use crate::llm::{Decoding, Prompt, Sampling, StopRule, Token};

/// Candidates for the threshold between the smallest and the largest entropy.
const GRID: usize = 100;

/// How sentences are sampled to measure their semantic entropy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentenceSampling {
    /// Sampled sentences; the paper takes 10.
    pub samples: u32,
    /// The paper samples at temperature 1.
    pub temperature: f32,
    /// Tokens of a sample at the most.
    pub max_tokens: u32,
    pub seed: u64,
}

/// Discrete semantic entropy of the sentence that follows `prompt`, nats: samples are cut to their first sentence and clustered by
/// bidirectional entailment.
///
/// # Errors
/// What the generator and the entailment judge fail with; [`crate::llm::LlmError::Stopped`].
pub fn sampled_semantic_entropy(
    calls: &mut dyn ModelCalls,
    question: &str,
    prompt: &Prompt,
    sampling: &SentenceSampling,
) -> Result<f64, MethodError> {
    let decoding = Decoding {
        max_tokens: sampling.max_tokens,
        sampling: Sampling {
            temperature: sampling.temperature,
            ..Sampling::GREEDY
        },
        seed: sampling.seed,
        stop: StopRule {
            texts: vec!["\n".to_owned()],
        },
    };
    let prompts = vec![prompt.clone(); sampling.samples as usize];
    let completions = calls.complete("sampled sentences", &prompts, &decoding)?;
    let sampled: Vec<&str> = completions
        .iter()
        .map(|completion| first_sentence(&completion.text))
        .collect();
    let clusters = Clusters::judged(calls, question, &sampled)?;
    Ok(discrete_semantic_entropy(&clusters.sizes()))
}

/// The first sentence of a text, trimmed.
#[must_use]
pub fn first_sentence(text: &str) -> &str {
    sentences(text, "")
        .into_iter()
        .next()
        .map_or("", |range| &text[range])
}

/// Mean entropy of the tokens of a sentence, nats: the cheap measure that needs no probe.
#[must_use]
pub fn mean_token_entropy(tokens: &[Token]) -> f32 {
    tokens.iter().map(|token| token.entropy).sum::<f32>() / tokens.len().max(1) as f32
}

/// Did the doubt rise with the passages, so that more of them are worth a try? Equation 6.
#[must_use]
pub fn asks_for_more(before: f32, after: f32, delta: f32) -> bool {
    after > before + delta
}

/// Means and deviations that bring features to mean 0 and deviation 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    pub mean: Vec<f32>,
    /// Never 0: a feature that does not vary keeps its size.
    pub deviation: Vec<f32>,
}

impl Standard {
    /// Of rows of one width.
    #[must_use]
    pub fn of<'r>(rows: impl Iterator<Item = &'r [f32]> + Clone) -> Self {
        let count = rows.clone().count().max(1) as f64;
        let width = rows.clone().next().map_or(0, <[f32]>::len);
        let mut mean = vec![0.0_f64; width];
        for row in rows.clone() {
            mean.iter_mut()
                .zip(row)
                .for_each(|(mean, value)| *mean += f64::from(*value) / count);
        }
        let mut variance = vec![0.0_f64; width];
        for row in rows {
            for ((variance, mean), value) in variance.iter_mut().zip(&mean).zip(row) {
                *variance += (f64::from(*value) - mean).powi(2) / count;
            }
        }
        let deviation = variance.into_iter().map(|variance| {
            if variance > 1e-12 {
                variance.sqrt() as f32
            } else {
                1.0
            }
        });
        Self {
            mean: mean.into_iter().map(|mean| mean as f32).collect(),
            deviation: deviation.collect(),
        }
    }

    /// A row, standardised.
    #[must_use]
    pub fn apply(&self, row: &[f32]) -> Vec<f32> {
        let scale = self.mean.iter().zip(&self.deviation);
        row.iter()
            .zip(scale)
            .map(|(value, (mean, deviation))| (value - mean) / deviation)
            .collect()
    }
}

/// What a threshold makes of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    pub threshold: f64,
    /// Samples with an entropy below the threshold, and the others.
    pub low: usize,
    pub high: usize,
    /// Squared distance of the entropies from the mean of their group, summed.
    pub error: f64,
    /// Mean squared distance of the features from the mean of their group, low and high group added up.
    pub variance: f64,
}

/// Each candidate threshold that leaves no group empty. Entropies in nats; one row of features a sample, all of one width.
#[must_use]
pub fn splits(
    entropies: &[f64],
    features: &[Vec<f32>],
    candidates: impl Iterator<Item = f64>,
) -> Vec<Split> {
    let mut order: Vec<usize> = (0..entropies.len()).collect();
    order.sort_by(|a, b| entropies[*a].total_cmp(&entropies[*b]));
    let sorted: Vec<f64> = order.iter().map(|at| entropies[*at]).collect();
    let mut candidates: Vec<f64> = candidates.collect();
    candidates.sort_by(f64::total_cmp);
    let rows = || order.iter().map(|at| features[*at].as_slice());
    let all = Sums::of(sorted.iter().copied().zip(rows()));
    let mut low = Sums::default();
    let mut samples = sorted.iter().copied().zip(rows()).peekable();
    let mut splits = Vec::new();
    for threshold in candidates {
        while let Some((entropy, row)) = samples.next_if(|(entropy, _)| *entropy < threshold) {
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

/// The split that minimises error + lambda * variance (equation 3); of equal ones the first.
#[must_use]
pub fn best_split(splits: &[Split], lambda: f64) -> Option<Split> {
    let cost = |split: &Split| split.error + lambda * split.variance;
    splits.iter().copied().reduce(|best, next| {
        if cost(&next) < cost(&best) {
            next
        } else {
            best
        }
    })
}

/// The entropy that parts certain from uncertain samples. The features are standardised first, and both terms of equation 3 are
/// divided by their value at the mean entropy, so that `lambda` is a share and does not depend on the number of samples or features. None when
/// all entropies are the same.
#[must_use]
pub fn entropy_threshold(entropies: &[f64], features: &[Vec<f32>], lambda: f64) -> Option<f64> {
    let (least, most) = (
        entropies.iter().copied().reduce(f64::min)?,
        entropies
            .iter()
            .copied()
            .reduce(f64::max)
            .filter(|most| most.is_finite())?,
    );
    let mean = entropies.iter().sum::<f64>() / entropies.len() as f64;
    let standard = Standard::of(features.iter().map(Vec::as_slice));
    let features: Vec<Vec<f32>> = features.iter().map(|row| standard.apply(row)).collect();
    let at_mean = *splits(entropies, &features, std::iter::once(mean)).first()?;
    if at_mean.error <= f64::EPSILON || at_mean.variance <= f64::EPSILON {
        return Some(mean);
    }
    let step = (most - least) / GRID as f64;
    let splits = splits(
        entropies,
        &features,
        (1..=GRID).map(|at| least + step * at as f64),
    );
    best_split(&splits, lambda * at_mean.error / at_mean.variance).map(|split| split.threshold)
}

/// Running sums of a group of samples.
#[derive(Debug, Clone, Default)]
struct Sums {
    count: usize,
    entropy: f64,
    entropy_squared: f64,
    features: Vec<f64>,
    features_squared: f64,
}

impl Sums {
    fn of<'r>(samples: impl Iterator<Item = (f64, &'r [f32])>) -> Self {
        samples.fold(Self::default(), |mut sums, (entropy, row)| {
            sums.add(entropy, row);
            sums
        })
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
        rest.features
            .iter_mut()
            .zip(&part.features)
            .for_each(|(all, part)| *all -= part);
        rest.features_squared -= part.features_squared;
        rest
    }

    fn error(&self) -> f64 {
        (self.entropy_squared - self.entropy.powi(2) / self.count as f64).max(0.0)
    }

    fn variance(&self) -> f64 {
        let count = self.count as f64;
        let mean_squared: f64 = self.features.iter().map(|sum| (sum / count).powi(2)).sum();
        (self.features_squared / count - mean_squared).max(0.0)
    }
}
