//! Scores of an answer against the reference answers.
//!
//! Exact match and F1 as SQuAD's evaluate-v2.0.py has them (Rajpurkar et al. 2016), substring
//! accuracy as EVOUNA's lexical match (Wang et al. 2023), ROUGE-L (Lin 2004) over lower-case words,
//! METEOR (Banerjee and Lavie 2005) over exact matches with the parameters of its authors' later
//! release (α 0.9, β 3, γ 0.5). Of several reference answers the closest counts.

use std::collections::HashMap;

pub use crate::letters::normalise;
pub use crate::methods::is_refusal;

use super::declare::Format::Share;
use super::declare::{Metric as _, Values, metrics};
use crate::corpus::split_words;

const METEOR_ALPHA: f64 = 0.9;
const METEOR_BETA: i32 = 3;
const METEOR_GAMMA: f64 = 0.5;

metrics! {
    /// A score of an answer against a reference answer, in 0..=1.
    AnswerMetric: fn(&str, &str) -> f64 {
        /// Equal to a reference answer but for case, punctuation and articles.
        ExactMatch "exact match": Higher, Share, in Answers Comparison => exact_match;
        /// Harmonic mean of precision and recall over words.
        F1 "F1": Higher, Share, in Answers Comparison => f1;
        /// A reference answer is part of the reply.
        Substring "substring": Higher, Share, in Answers => substring;
        /// Harmonic mean of precision and recall of the longest common subsequence of words.
        RougeL "ROUGE-L": Higher, Share, in Answers => rouge_l;
        /// Weighted mean of precision and recall over words, minus a penalty for scattered matches.
        Meteor "METEOR": Higher, Share, in Answers => meteor;
    }
}

/// Scores an answer against the reference answers. A question without any cannot be answered, and
/// a reply that says so is right.
pub fn score(answer: &str, references: &[String]) -> Values<AnswerMetric> {
    if references.is_empty() {
        let refused = f64::from(is_refusal(answer));
        return Values::from_fn(|_| refused);
    }

    Values::from_fn(|metric: AnswerMetric| {
        let compute = metric.declaration().compute;
        let scores = references
            .iter()
            .map(|reference| compute(answer, reference));
        scores.fold(0.0, f64::max)
    })
}

/// Returns 1 when both are equal once they are [`normalise`], else 0.
pub fn exact_match(answer: &str, reference: &str) -> f64 {
    f64::from(normalise(answer) == normalise(reference))
}

/// Returns the harmonic mean of precision and recall over words.
pub fn f1(answer: &str, reference: &str) -> f64 {
    let answer = normalise(answer);
    let reference = normalise(reference);
    if answer.is_empty() || reference.is_empty() {
        return f64::from(answer == reference);
    }

    let answer: Vec<&str> = answer.split(' ').collect();
    let reference: Vec<&str> = reference.split(' ').collect();
    let mut unmatched: HashMap<&str, usize> = HashMap::new();
    for word in &reference {
        *unmatched.entry(word).or_default() += 1;
    }

    let mut common = 0;
    for word in &answer {
        if let Some(count) = unmatched.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    harmonic_mean(common, answer.len(), reference.len())
}

/// Returns the harmonic mean of `common / answer` and `common / reference`.
fn harmonic_mean(common: usize, answer: usize, reference: usize) -> f64 {
    if common == 0 {
        0.0
    } else {
        2.0 * common as f64 / (answer + reference) as f64
    }
}

/// Returns 1 when the reference answer is part of the reply, both [`normalise`], else 0.
pub fn substring(answer: &str, reference: &str) -> f64 {
    f64::from(normalise(answer).contains(&normalise(reference)))
}

/// Returns the lower-case runs of letters and digits.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    split_words(&lower).map(str::to_owned).collect()
}

/// Returns the harmonic mean of precision and recall of the longest common subsequence of words.
pub fn rouge_l(answer: &str, reference: &str) -> f64 {
    let answer = words(answer);
    let reference = words(reference);

    // one row of the table of longest common subsequences is enough for their length
    let mut row = vec![0_usize; reference.len() + 1];
    for word in &answer {
        let mut diagonal = 0;
        for (at, other) in reference.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other {
                diagonal + 1
            } else {
                above.max(row[at])
            };
            diagonal = above;
        }
    }
    harmonic_mean(row[reference.len()], answer.len(), reference.len())
}

/// Returns the weighted mean of precision and recall over matched words, minus a penalty for
/// scattered matches.
pub fn meteor(answer: &str, reference: &str) -> f64 {
    let answer = words(answer);
    let reference = words(reference);

    let mut unmatched: Vec<(usize, &String)> = reference.iter().enumerate().collect();
    let mut matches: Vec<(usize, usize)> = Vec::new();
    // from the end, as the common implementations align
    for (at, word) in answer.iter().enumerate().rev() {
        if let Some(found) = unmatched.iter().rposition(|(_, other)| *other == word) {
            matches.push((at, unmatched.remove(found).0));
        }
    }
    if matches.is_empty() {
        return 0.0;
    }
    matches.reverse();

    // a chunk of METEOR is a run of matches in the same order on both sides
    let breaks = matches
        .windows(2)
        .filter(|pair| pair[1] != (pair[0].0 + 1, pair[0].1 + 1))
        .count();
    let count = matches.len() as f64;
    let fragmentation = (breaks + 1) as f64 / count;
    // Banerjee and Lavie 2005, with the parameters of the common implementations
    let penalty = METEOR_GAMMA * fragmentation.powi(METEOR_BETA);

    let precision = count / answer.len() as f64;
    let recall = count / reference.len() as f64;
    let mean = precision * recall / (METEOR_ALPHA * precision + (1.0 - METEOR_ALPHA) * recall);
    mean * (1.0 - penalty)
}
