//! How far sampled answers agree, and what that says about the model's uncertainty: the measures that are compared side by side.
//!
//! Degree and eigenvalue measures after Lin, Trivedi and Sun, "Generating with Confidence" (2023), on the judgements of an entailment
//! judge; the degree entropy is DENSE-RAG's equation (6); the likelihood-weighted semantic entropy is the Rao estimator of Farquhar et
//! al. in Nature 630 (2024).

use super::meaning::{Clusters, Meaning, discrete_semantic_entropy, entropy, sequence_likelihoods};
use super::{MethodError, ModelCalls};
use crate::event::SampledUncertainty;
use crate::llm::{Completion, Entailment};

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

    /// Ask the entailment judge about answers to a question, both ways, all pairs in one batch: what the prompts share is evaluated
    /// once. Answers that read the same agree without a judge; an empty one says nothing that another could agree with, not even
    /// another empty one.
    ///
    /// # Errors
    /// What the entailment judge fails with.
    pub fn judged(
        calls: &mut dyn ModelCalls,
        question: &str,
        answers: &[&str],
    ) -> Result<Self, MethodError> {
        Ok(Self::with_judgements(calls, question, answers)?.0)
    }

    /// The same, with what the judge said of each pair that it was asked about.
    ///
    /// # Errors
    /// As [`Self::judged`].
    pub fn with_judgements(
        calls: &mut dyn ModelCalls,
        question: &str,
        answers: &[&str],
    ) -> Result<(Self, Vec<JudgedPair>), MethodError> {
        let count = answers.len();
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|a| (0..count).filter(move |b| a != *b).map(move |b| (a, b)))
            .collect();
        let (links, judgements) = links(calls, question, answers, &pairs)?;
        let mut rows = vec![vec![0.0; count]; count];
        (0..count).for_each(|at| rows[at][at] = 1.0);
        for ((a, b), link) in pairs.into_iter().zip(links) {
            rows[a][b] += link / 2.0;
            rows[b][a] += link / 2.0;
        }
        Ok((Self { rows }, judgements))
    }

    /// How far an answer agrees with each of others: 0, 0.5 or 1.
    ///
    /// # Errors
    /// As [`Self::judged`].
    pub fn with_first(
        calls: &mut dyn ModelCalls,
        question: &str,
        first: &str,
        others: &[&str],
    ) -> Result<Vec<f64>, MethodError> {
        let answers: Vec<&str> = std::iter::once(first)
            .chain(others.iter().copied())
            .collect();
        let pairs: Vec<(usize, usize)> = (1..answers.len())
            .flat_map(|other| [(0, other), (other, 0)])
            .collect();
        let (links, _) = links(calls, question, &answers, &pairs)?;
        Ok(links
            .as_chunks::<2>()
            .0
            .iter()
            .map(|both| both.iter().sum::<f64>() / 2.0)
            .collect())
    }

    /// W, row by row.
    #[must_use]
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// The clusters of meaning by the strict rule: both directions say entailment.
    #[must_use]
    pub fn clusters(&self) -> Clusters {
        Clusters::by(self.rows.len(), |answer, founder| {
            self.rows[answer][founder] >= 1.0
        })
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
        self.degrees()
            .iter()
            .map(|degree| count - degree)
            .sum::<f64>()
            / (count * count)
    }

    /// About how many meanings there are: the sum of max(0, 1 - λ) over the eigenvalues λ of the normalised Laplacian
    /// I - D^-1/2 W D^-1/2. One for answers that all agree, n for answers of which no two do.
    #[must_use]
    pub fn eigenvalue_uncertainty(&self) -> f64 {
        let degrees = self.degrees();
        let normalised = |i: usize, j: usize| self.rows[i][j] / (degrees[i] * degrees[j]).sqrt();
        let count = self.rows.len();
        let matrix = (0..count)
            .map(|i| (0..count).map(|j| normalised(i, j)).collect())
            .collect();
        // 1 - λ of the Laplacian is an eigenvalue of what is subtracted from I
        eigenvalues(matrix)
            .into_iter()
            .map(|value| value.max(0.0))
            .sum()
    }
}

/// What the entailment judge said of two answers, by their places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedPair {
    pub a: usize,
    pub b: usize,
    pub judged: Entailment,
}

/// Whether the first answer of each pair entails the second, 0 or 1, with what the judge said of each pair of different answers.
fn links(
    calls: &mut dyn ModelCalls,
    question: &str,
    answers: &[&str],
    pairs: &[(usize, usize)],
) -> Result<(Vec<f64>, Vec<JudgedPair>), MethodError> {
    let meanings: Vec<Meaning> = answers.iter().map(|answer| Meaning::of(answer)).collect();
    let empty = Meaning::of("");
    let says = |(a, b): &(usize, usize)| meanings[*a] != empty && meanings[*b] != empty;
    let asked: Vec<(usize, usize)> = pairs.iter().copied().filter(says).collect();
    let texts: Vec<(&str, &str)> = asked
        .iter()
        .map(|(a, b)| (answers[*a], answers[*b]))
        .collect();
    let judged = if texts.is_empty() {
        Vec::new()
    } else {
        calls.entail(question, &texts)?
    };
    let mut told: Vec<JudgedPair> = Vec::new();
    for ((a, b), judged) in asked.iter().copied().zip(&judged) {
        let known =
            |pair: &JudgedPair| meanings[pair.a] == meanings[a] && meanings[pair.b] == meanings[b];
        if meanings[a] != meanings[b] && !told.iter().any(known) {
            told.push(JudgedPair {
                a,
                b,
                judged: *judged,
            });
        }
    }
    let mut judged = judged.into_iter();
    let link = |pair| says(pair) && judged.next().is_some_and(|judged| judged.is_entailed());
    Ok((
        pairs
            .iter()
            .map(link)
            .map(|link| f64::from(u8::from(link)))
            .collect(),
        told,
    ))
}

/// The eigenvalues of a symmetric matrix, by Jacobi's rotations.
fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let count = a.len();
    for _ in 0..MOST_SWEEPS {
        let beside: f64 = (0..count)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i][j] * a[i][j])
            .sum();
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
    // p comes before q
    let (above, below) = a.split_at_mut(q);
    for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

/// The likelihood-weighted semantic entropy: H = -sum p_c ln p_c over the clusters, where p_c is the weight of their answers, nats.
/// `weights` sum to 1 ([`sequence_likelihoods`]).
#[must_use]
pub fn semantic_entropy(clusters: &Clusters, weights: &[f64]) -> f64 {
    entropy(
        clusters
            .masses(weights)
            .into_iter()
            .filter(|mass| *mass > 0.0),
    )
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
    let said: Vec<&Completion> = samples
        .iter()
        .filter(|sample| !sample.tokens.is_empty())
        .collect();
    let means = said
        .iter()
        .map(|sample| mean_logprob(sample.tokens.iter().map(|token| token.logprob)));
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
