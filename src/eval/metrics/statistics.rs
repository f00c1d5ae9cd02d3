//! Statistics over the questions of a set.

use serde::{Deserialize, Serialize};

use crate::llm::Random;

/// Draws of the bootstrap.
const DRAWS: usize = 2000;
/// The bootstrap draws the same every time.
const BOOTSTRAP_SEED: u64 = 7;

/// The arithmetic mean; 0 of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    // a sum of nothing is -0
    (0.0 + values.iter().sum::<f64>()) / values.len().max(1) as f64
}

/// The probability that a wrong answer is more uncertain than a right one; ties count half. None unless there are both.
#[must_use]
pub fn auroc(uncertainty: &[f64], correct: &[bool]) -> Option<f64> {
    let wrong: Vec<bool> = correct.iter().map(|correct| !correct).collect();
    crate::methods::auroc(uncertainty, &wrong)
}

/// The mean accuracy of the m most certain answers, for each m from 1 on. Answers of the same uncertainty share their accuracy, so that
/// the order of the questions does not matter.
#[must_use]
pub fn accuracy_by_coverage(uncertainty: &[f64], correct: &[bool]) -> Vec<f64> {
    let mut sorted: Vec<(f64, f64)> = uncertainty
        .iter()
        .zip(correct)
        .map(|(value, correct)| (*value, f64::from(u8::from(*correct))))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    for tied in sorted.chunk_by_mut(|a, b| a.0 == b.0) {
        let share = tied.iter().map(|(_, correct)| correct).sum::<f64>() / tied.len() as f64;
        tied.iter_mut().for_each(|entry| entry.1 = share);
    }
    let mut right = 0.0;
    let accuracy = |(most, (_, correct)): (usize, (f64, f64))| {
        right += correct;
        right / most as f64
    };
    (1..).zip(sorted).map(accuracy).collect()
}

/// Area under [`accuracy_by_coverage`] by the trapezoid rule (Lin, Trivedi and Sun 2023). None for fewer than two answers.
#[must_use]
pub fn auarc(uncertainty: &[f64], correct: &[bool]) -> Option<f64> {
    let accuracy = accuracy_by_coverage(uncertainty, correct);
    let steps = accuracy.len().checked_sub(1).filter(|steps| *steps > 0)?;
    Some(
        accuracy
            .windows(2)
            .map(|pair| (pair[0] + pair[1]) / 2.0)
            .sum::<f64>()
            / steps as f64,
    )
}

/// Pearson's correlation. None for fewer than two pairs, and where one side never changes.
#[must_use]
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b).map(|(x, y)| (x - mean_a, y - mean_b)) {
        both += x * y;
        square_a += x * x;
        square_b += y * y;
    }
    (square_a > 0.0 && square_b > 0.0).then(|| both / (square_a * square_b).sqrt())
}

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Does the interval leave out zero?
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The mean of paired differences with its interval by the percentile bootstrap over the questions. None for no pairs.
#[must_use]
pub fn paired_bootstrap(differences: &[f64]) -> Option<Interval> {
    let count = differences.len();
    if count == 0 {
        return None;
    }
    let mut random = Random::new(BOOTSTRAP_SEED);
    let mut draw = || {
        (0..count)
            .map(|_| differences[random.below(count)])
            .sum::<f64>()
            / count as f64
    };
    let mut means: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((share * DRAWS as f64) as usize).min(DRAWS - 1)];
    Some(Interval {
        mean: mean(differences),
        low: at(0.025),
        high: at(0.975),
    })
}
