//! How far sampled answers agree, and what that says about the model's uncertainty: the measures that are compared side by side.
//!
//! Degree and eigenvalue measures after Lin, Trivedi and Sun, "Generating with Confidence" (2023), on the judgements of an entailment
//! judge; the degree entropy is DENSE-RAG's equation (6); the likelihood-weighted semantic entropy is the Rao estimator of Farquhar et
//! al. in Nature 630 (2024).

use super::meaning::{Clusters, Meaning, discrete_semantic_entropy, sequence_likelihoods};
use super::{MethodError, ModelCalls};
use crate::event::SampledUncertainty;
use crate::llm::Completion;

/// Rotations of the eigenvalue search; a handful suffices for a matrix of a few dozen answers.
const MOST_SWEEPS: usize = 64;
/// What is left beside the diagonal when the search ends.
const DIAGONAL_ENOUGH: f64 = 1e-18;

/// How far answers agree pair by pair: `W[i][j] = (NLI(i, j) + NLI(j, i)) / 2`, where NLI is 1 when entailment is the likeliest
/// judgement and 0 otherwise. Symmetric, 1 on the diagonal.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    rows: Vec<Vec<f64>>,
}

impl Agreement {
    /// An agreement that is known: a symmetric matrix of numbers in 0..=1.
    #[must_use]
    pub fn of(rows: Vec<Vec<f64>>) -> Self {
        Self { rows }
    }

    /// Ask the entailment judge about answers to a question, both ways. Answers that read the same are judged once, and all pairs are
    /// one batch, so that what the prompts share is evaluated once.
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
        let mut entails = vec![vec![1.0; count]; count];
        for ((a, b), judgement) in pairs.into_iter().zip(judged) {
            entails[a][b] = f64::from(u8::from(judgement.is_entailed()));
        }
        let row = |a: &usize| place.iter().map(|b| (entails[*a][*b] + entails[*b][*a]) / 2.0).collect();
        Ok(Self { rows: place.iter().map(row).collect() })
    }

    /// W, row by row.
    #[must_use]
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// The clusters of meaning by the strict rule: both directions say entailment.
    #[must_use]
    pub fn clusters(&self) -> Clusters {
        Clusters::by(self.rows.len(), |answer, founder| self.rows[answer][founder] >= 1.0)
    }

    /// D: how many answers each answer agrees with, itself included.
    #[must_use]
    pub fn degrees(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().sum()).collect()
    }

    /// DENSE-RAG's semantic entropy, equation (6): the mean of -ln (D_i / n), nats; 0 for no answers. Where the judge's equivalences are
    /// transitive it is the discrete semantic entropy.
    #[must_use]
    pub fn degree_entropy(&self) -> f64 {
        let count = self.rows.len().max(1) as f64;
        let surprise = |degree: &f64| (count / degree).ln();
        (self.degrees().iter().map(surprise).sum::<f64>() / count).max(0.0)
    }

    /// The share of pairs that do not agree, in 0..=1: trace(nI - D) / n².
    #[must_use]
    pub fn degree_uncertainty(&self) -> f64 {
        let count = self.rows.len().max(1) as f64;
        self.degrees().iter().map(|degree| count - degree).sum::<f64>() / (count * count)
    }

    /// About how many meanings there are: the sum of max(0, 1 - λ) over the eigenvalues λ of the normalised Laplacian
    /// I - D^-1/2 W D^-1/2. One for answers that all agree, n for answers of which no two do.
    #[must_use]
    pub fn eigenvalue_uncertainty(&self) -> f64 {
        let degrees = self.degrees();
        let normalised = |i: usize, j: usize| self.rows[i][j] / (degrees[i] * degrees[j]).sqrt();
        let count = self.rows.len();
        let matrix = (0..count).map(|i| (0..count).map(|j| normalised(i, j)).collect()).collect();
        // 1 - λ of the Laplacian is an eigenvalue of what is subtracted from I
        eigenvalues(matrix).into_iter().map(|value| value.max(0.0)).sum()
    }
}

/// The eigenvalues of a symmetric matrix, by Jacobi's rotations.
fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let count = a.len();
    for _ in 0..MOST_SWEEPS {
        let beside: f64 = (0..count).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        if beside < DIAGONAL_ENOUGH {
            break;
        }
        for p in 0..count {
            for q in p + 1..count {
                rotate(&mut a, p, q);
            }
        }
    }
    (0..count).map(|i| a[i][i]).collect()
}

/// Turn the matrix in the plane of `p` and `q` so that it is zero where they cross.
fn rotate(a: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = if theta >= 0.0 { 1.0 } else { -1.0 } / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / t.hypot(1.0);
    let sine = t * cosine;
    for row in a.iter_mut() {
        let (x, y) = (row[p], row[q]);
        (row[p], row[q]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
    for column in 0..a.len() {
        let (x, y) = (a[p][column], a[q][column]);
        (a[p][column], a[q][column]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
}

/// The likelihood-weighted semantic entropy: H = -sum p_c ln p_c over the clusters, where p_c is the weight of their answers, nats.
/// `weights` sum to 1 ([`sequence_likelihoods`]).
#[must_use]
pub fn semantic_entropy(clusters: &Clusters, weights: &[f64]) -> f64 {
    let masses = clusters.masses(weights).into_iter().filter(|mass| *mass > 0.0);
    masses.map(|mass| -mass * mass.ln()).sum::<f64>().max(0.0)
}

/// The mean log-probability of an answer's tokens, nats; 0 for no tokens.
#[must_use]
pub fn mean_logprob(logprobs: impl ExactSizeIterator<Item = f32>) -> f64 {
    let count = logprobs.len().max(1) as f64;
    logprobs.map(f64::from).sum::<f64>() / count
}

/// The perplexity of an answer with this mean log-probability.
#[must_use]
pub fn perplexity(mean_logprob: f64) -> f64 {
    (-mean_logprob).exp()
}

/// Every measure over the answers that were sampled from one prompt, and what they are measured on: how far they agree.
#[must_use]
pub fn sampled_uncertainty(agreement: &Agreement, samples: &[Completion]) -> SampledUncertainty {
    let clusters = agreement.clusters();
    let said: Vec<&Completion> = samples.iter().filter(|sample| !sample.tokens.is_empty()).collect();
    let means = said.iter().map(|sample| mean_logprob(sample.tokens.iter().map(|token| token.logprob)));
    let mean_logprob = means.sum::<f64>() / said.len().max(1) as f64;
    SampledUncertainty {
        discrete_semantic_entropy: discrete_semantic_entropy(&clusters.sizes()) as f32,
        semantic_entropy: semantic_entropy(&clusters, &sequence_likelihoods(samples)) as f32,
        degree_entropy: agreement.degree_entropy() as f32,
        degree: agreement.degree_uncertainty() as f32,
        eigenvalue: agreement.eigenvalue_uncertainty() as f32,
        mean_logprob: mean_logprob as f32,
        perplexity: perplexity(mean_logprob) as f32,
    }
}
