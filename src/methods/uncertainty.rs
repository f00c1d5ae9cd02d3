//! The agreement of sampled answers, and the measures of uncertainty that are computed from it.
//!
//! Degree and eigenvalue measures after Lin, Trivedi and Sun, "Generating with Confidence" (2023),
//! over the judgements of an entailment judge; the degree entropy is DENSE-RAG's equation 6; the
//! likelihood-weighted semantic entropy is the Rao estimator of Farquhar et al., Nature 630 (2024).

use std::collections::HashSet;

use super::calls::ModelCalls;
use super::kle;
use super::meaning::{Clusters, Meaning, discrete_semantic_entropy, entropy, sequence_likelihoods};
use super::measures::finite;
use super::symmetric::Eigen;
use crate::event::{JudgedReplies, SampledUncertainty, saturating_u32};
use crate::llm::{Completion, Entailment, LlmError};

/// The agreement of answers, pair by pair: W of DENSE-RAG's equation 5.
///
/// `W[i][j] = (NLI(i, j) + NLI(j, i)) / 2`, where NLI is 1 when entailment is the likeliest
/// judgement and 0 otherwise. W is symmetric, with 1 on the diagonal.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    rows: Vec<Vec<f64>>,
    /// The mean probability of entailment, both ways: W of Lin et al., 1 on the diagonal.
    probable: Vec<Vec<f64>>,
    /// The edges of kernel language entropy: the sum of both ways of 1 for entailment, 0.5 for
    /// neutral and 0 for contradiction, whichever is the likeliest.
    edges: Vec<Vec<f64>>,
}

impl Agreement {
    /// Wraps a known agreement: a symmetric matrix of numbers in 0..=1. The probabilities of
    /// entailment are the same numbers, and no judgement is neutral.
    pub fn from_rows(rows: Vec<Vec<f64>>) -> Self {
        let twice = |row: &Vec<f64>| row.iter().map(|of| 2.0 * of).collect();
        Self {
            probable: rows.clone(),
            edges: rows.iter().map(twice).collect(),
            rows,
        }
    }

    /// Judges all pairs of answers to a question, both ways, in one batch.
    ///
    /// Answers that read the same agree without a judgement. An empty answer agrees with none, not
    /// even with another empty one.
    ///
    /// # Errors
    /// Failures of the entailment judge.
    pub fn judge(
        calls: &mut dyn ModelCalls,
        question: &str,
        answers: &[&str],
    ) -> Result<Self, LlmError> {
        Ok(Self::with_judgements(calls, question, answers)?.0)
    }

    /// Judges as [`Self::judge`], and returns the judgements too: one per ordered pair of answers
    /// that read differently.
    ///
    /// # Errors
    /// As [`Self::judge`].
    pub fn with_judgements(
        calls: &mut dyn ModelCalls,
        question: &str,
        answers: &[&str],
    ) -> Result<(Self, Vec<JudgedReplies>), LlmError> {
        let count = answers.len();
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|a| (0..count).filter(move |b| a != *b).map(move |b| (a, b)))
            .collect();
        let (entailed, judged) = judge(calls, question, answers, &pairs)?;

        let both_ways = |of: fn(&Entailed) -> f64, diagonal: f64| {
            let mut rows = vec![vec![0.0; count]; count];
            for (at, row) in rows.iter_mut().enumerate() {
                row[at] = diagonal;
            }
            for ((a, b), entailed) in pairs.iter().zip(&entailed) {
                rows[*a][*b] += of(entailed) * diagonal / 2.0;
                rows[*b][*a] += of(entailed) * diagonal / 2.0;
            }
            rows
        };
        let agreement = Self {
            rows: both_ways(|one| one.verdict, 1.0),
            probable: both_ways(|one| one.probability, 1.0),
            edges: both_ways(|one| one.edge, 2.0),
        };
        Ok((agreement, judged))
    }

    /// Returns the agreement of one answer with each of the others: 0, 0.5 or 1.
    ///
    /// # Errors
    /// As [`Self::judge`].
    pub fn with_first(
        calls: &mut dyn ModelCalls,
        question: &str,
        first: &str,
        others: &[&str],
    ) -> Result<Vec<f64>, LlmError> {
        let answers: Vec<&str> = [&[first], others].concat();
        let pairs: Vec<(usize, usize)> = (1..answers.len())
            .flat_map(|other| [(0, other), (other, 0)])
            .collect();
        let (entailed, _) = judge(calls, question, &answers, &pairs)?;

        let (both_ways, _) = entailed.as_chunks::<2>();
        let mean = |[there, back]: &[Entailed; 2]| (there.verdict + back.verdict) / 2.0;
        Ok(both_ways.iter().map(mean).collect())
    }

    /// Returns W, row by row.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// Returns the clusters of meaning by the strict rule: entailment in both directions.
    pub fn clusters(&self) -> Clusters {
        Clusters::by(self.rows.len(), |answer, founder| {
            self.rows[answer][founder] >= 1.0
        })
    }

    /// Returns the agreement whose W has the probabilities of entailment in place of the verdicts.
    pub fn by_probability(&self) -> Self {
        Self {
            rows: self.probable.clone(),
            ..self.clone()
        }
    }

    /// Returns D: the number of answers that each answer agrees with, itself included.
    pub fn degrees(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().sum()).collect()
    }

    /// Returns the degree-based semantic entropy, DENSE-RAG's equation 6: the mean of -ln (D_i /
    /// n), nats; 0 for no answers.
    ///
    /// Where the judge's equivalences are transitive it equals the discrete semantic entropy.
    pub fn degree_entropy(&self) -> f64 {
        let count = self.rows.len().max(1) as f64;
        let degrees = self.degrees().into_iter();
        let surprises = degrees.map(|degree| (count / degree).ln());
        (surprises.sum::<f64>() / count).max(0.0)
    }

    /// Returns U_deg of Lin et al.: the share of pairs that do not agree, trace(nI - D) / n², in
    /// 0..=1.
    pub fn degree_uncertainty(&self) -> f64 {
        let count = self.rows.len().max(1) as f64;
        let missing = self.degrees().into_iter().map(|degree| count - degree);
        missing.sum::<f64>() / (count * count)
    }

    /// Returns U_EigV of Lin et al.: the sum of max(0, 1 - λ) over the eigenvalues λ of the
    /// normalised Laplacian I - D^-1/2 W D^-1/2.
    ///
    /// It is about the number of meanings: 1 for answers that all agree, n for n answers of which
    /// no two do.
    pub fn eigenvalue_uncertainty(&self) -> f64 {
        let degrees = self.degrees();
        let count = self.rows.len();
        // 1 - λ is an eigenvalue of D^-1/2 W D^-1/2, which the Laplacian subtracts from I.
        let normalised = (0..count).map(|i| {
            let row = (0..count).map(|j| self.rows[i][j] / (degrees[i] * degrees[j]).sqrt());
            row.collect()
        });
        let values = Eigen::new(normalised.collect()).values.into_iter();
        values.map(|value| value.max(0.0)).sum()
    }

    /// Returns the kernel language entropy with the heat kernel over the verdicts, nats.
    pub fn heat_entropy(&self) -> f64 {
        kle::kernel_entropy(&self.edges, kle::HEAT)
    }

    /// Returns the kernel language entropy with the Matern kernel over the probabilities of
    /// entailment, both ways summed, nats.
    pub fn matern_entropy(&self) -> f64 {
        let twice = |row: &Vec<f64>| row.iter().map(|of| 2.0 * of).collect();
        let edges: Vec<Vec<f64>> = self.probable.iter().map(twice).collect();
        kle::kernel_entropy(&edges, kle::MATERN)
    }
}

/// The degree to which the first answer of a pair entails the second.
#[derive(Default)]
struct Entailed {
    /// 1 when entailment is the likeliest judgement, otherwise 0.
    verdict: f64,
    probability: f64,
    /// 1 when entailment is the likeliest judgement, 0.5 for neutral, 0 for contradiction.
    edge: f64,
}

impl Entailed {
    fn from_judgement(judged: Entailment) -> Self {
        let verdict = f64::from(u8::from(judged.is_entailed()));
        let is_neutral = verdict == 0.0 && judged.neutral > judged.contradiction;
        Self {
            verdict,
            probability: f64::from(judged.entailment),
            edge: if is_neutral { 0.5 } else { verdict },
        }
    }
}

/// Returns the judgement of each pair of answers, and those on pairs that read differently, each
/// once.
fn judge(
    calls: &mut dyn ModelCalls,
    question: &str,
    answers: &[&str],
    pairs: &[(usize, usize)],
) -> Result<(Vec<Entailed>, Vec<JudgedReplies>), LlmError> {
    let meanings: Vec<Meaning> = answers.iter().map(|answer| Meaning::new(answer)).collect();
    let empty = Meaning::new("");
    let is_asked = |(a, b): &(usize, usize)| meanings[*a] != empty && meanings[*b] != empty;

    let asked: Vec<(usize, usize)> = pairs.iter().copied().filter(is_asked).collect();
    let texts = asked.iter().map(|(a, b)| (answers[*a], answers[*b]));
    let texts: Vec<(&str, &str)> = texts.collect();
    let judgements = if texts.is_empty() {
        Vec::new()
    } else {
        calls.entail(question, &texts)?
    };

    let mut seen = HashSet::new();
    let mut judged = Vec::new();
    for ((a, b), judgement) in asked.into_iter().zip(&judgements) {
        if meanings[a] != meanings[b] && seen.insert((&meanings[a], &meanings[b])) {
            judged.push(JudgedReplies {
                a: saturating_u32(a),
                b: saturating_u32(b),
                entailment: finite(judgement.entailment),
                neutral: finite(judgement.neutral),
                contradiction: finite(judgement.contradiction),
            });
        }
    }

    let mut judgements = judgements.into_iter();
    let entailed = pairs.iter().map(|pair| {
        let judged = is_asked(pair).then(|| judgements.next()).flatten();
        judged.map_or_else(Entailed::default, Entailed::from_judgement)
    });
    Ok((entailed.collect(), judged))
}

/// Returns the likelihood-weighted semantic entropy: H = -sum p_c ln p_c over the clusters, where
/// p_c is the weight of their answers, nats. `weights` sum to 1 ([`sequence_likelihoods`]).
pub fn semantic_entropy(clusters: &Clusters, weights: &[f64]) -> f64 {
    let masses = clusters.masses(weights).into_iter();
    entropy(masses.filter(|mass| *mass > 0.0))
}

/// Returns the mean log-probability of an answer's tokens, nats; 0 for no tokens.
pub fn mean_logprob(logprobs: impl ExactSizeIterator<Item = f32>) -> f64 {
    let count = logprobs.len().max(1) as f64;
    logprobs.map(f64::from).sum::<f64>() / count
}

/// Returns the perplexity of an answer with this mean log-probability.
pub fn perplexity(mean_logprob: f64) -> f64 {
    (-mean_logprob).exp()
}

/// Computes every measure over the answers that were sampled from one prompt. The degree and the
/// eigenvalues are of the probabilities of entailment, as Lin et al. have it.
pub fn sampled_uncertainty(agreement: &Agreement, samples: &[Completion]) -> SampledUncertainty {
    let probable = agreement.by_probability();
    let clusters = agreement.clusters();
    let logprobs =
        |sample: &Completion| mean_logprob(sample.tokens.iter().map(|token| token.logprob));
    let written = samples.iter().filter(|sample| !sample.tokens.is_empty());
    let means: Vec<f64> = written.map(logprobs).collect();
    let mean_logprob = means.iter().sum::<f64>() / means.len().max(1) as f64;

    SampledUncertainty {
        discrete_semantic_entropy: discrete_semantic_entropy(&clusters.sizes()) as f32,
        semantic_entropy: semantic_entropy(&clusters, &sequence_likelihoods(samples)) as f32,
        degree_entropy: agreement.degree_entropy() as f32,
        degree: probable.degree_uncertainty() as f32,
        eigenvalue: probable.eigenvalue_uncertainty() as f32,
        kernel_heat: Some(agreement.heat_entropy() as f32),
        kernel_matern: Some(agreement.matern_entropy() as f32),
        mean_logprob: mean_logprob as f32,
        perplexity: perplexity(mean_logprob) as f32,
    }
}
