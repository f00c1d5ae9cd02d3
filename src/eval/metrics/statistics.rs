//! Statistics over the questions of a set.

use serde::{Deserialize, Serialize};

use crate::llm::Random;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 2000;
/// Seed of the bootstrap: the same rows give the same intervals.
const BOOTSTRAP_SEED: u64 = 7;

/// Returns the arithmetic mean; 0 without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    // a sum of nothing is -0
    let mut sum = 0.0;
    let mut count = 0_u32;
    for value in values {
        sum += value;
        count += 1;
    }
    sum / f64::from(count.max(1))
}

/// Returns the mean; `None` of nothing.
pub(crate) fn mean_of_any(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values = values.into_iter().peekable();
    values.peek().is_some().then(|| mean(values))
}

/// Returns the probability that a wrong answer is more uncertain than a right one; ties count
/// half. `None` unless there are both.
pub fn auroc(uncertainty: &[f64], correct: &[bool]) -> Option<f64> {
    let wrong: Vec<bool> = correct.iter().map(|correct| !correct).collect();
    crate::methods::auroc(uncertainty, &wrong)
}

/// Returns the interval of such a probability between `wrong` and `right` answers, by its standard
/// error after Hanley and McNeil (Radiology 143, 1982).
pub fn auroc_interval(area: f64, wrong: usize, right: usize) -> Interval {
    let of_two_wrong = area / (2.0 - area);
    let of_two_right = 2.0 * area * area / (1.0 + area);
    let [n, m] = [wrong, right].map(|count| count as f64);
    let variance = area * (1.0 - area)
        + (n - 1.0) * (of_two_wrong - area * area)
        + (m - 1.0) * (of_two_right - area * area);

    let half = 1.96 * (variance / (n * m)).max(0.0).sqrt();
    Interval {
        mean: area,
        low: (area - half).max(0.0),
        high: (area + half).min(1.0),
    }
}

/// Returns the mean accuracy of the m most certain answers, for each m from 1 on. Answers of equal
/// uncertainty share their accuracy, so that the order of the questions does not matter.
pub fn accuracy_by_coverage(uncertainty: &[f64], correct: &[bool]) -> Vec<f64> {
    let mut sorted: Vec<(f64, f64)> = uncertainty
        .iter()
        .zip(correct)
        .map(|(value, correct)| (*value, f64::from(*correct)))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));

    for tied in sorted.chunk_by_mut(|a, b| a.0 == b.0) {
        let share = mean(tied.iter().map(|(_, correct)| *correct));
        for entry in tied {
            entry.1 = share;
        }
    }

    let mut right = 0.0;
    let mut accuracy = Vec::with_capacity(sorted.len());
    for (_, correct) in sorted {
        right += correct;
        accuracy.push(right / (accuracy.len() + 1) as f64);
    }
    accuracy
}

/// Returns the area under [`accuracy_by_coverage`] by the trapezoid rule (Lin, Trivedi and Sun
/// 2023). `None` for fewer than two answers.
pub fn auarc(uncertainty: &[f64], correct: &[bool]) -> Option<f64> {
    let accuracy = accuracy_by_coverage(uncertainty, correct);
    let steps = accuracy.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    (accuracy.len() > 1).then(|| mean(steps))
}

/// Returns Pearson's correlation. `None` for fewer than two pairs, and where one side is constant.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean_a = mean(a.iter().copied());
    let mean_b = mean(b.iter().copied());

    let mut covariance = 0.0;
    let mut variance_a = 0.0;
    let mut variance_b = 0.0;
    for (x, y) in a.iter().zip(b) {
        let x = x - mean_a;
        let y = y - mean_b;
        covariance += x * y;
        variance_a += x * x;
        variance_b += y * y;
    }
    let is_defined = variance_a > 0.0 && variance_b > 0.0;
    is_defined.then(|| covariance / (variance_a * variance_b).sqrt())
}

/// A figure, such as a mean, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Returns whether zero lies outside the interval.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Returns the mean of paired differences with its interval by the percentile bootstrap over the
/// questions. `None` for fewer than two pairs: resampling one shows no spread.
pub fn paired_bootstrap(differences: &[f64]) -> Option<Interval> {
    bootstrap(differences.len(), &|drawn| {
        Some(mean(drawn.iter().map(|at| differences[*at])))
    })
}

/// Returns a figure of `count` questions with its interval by the percentile bootstrap over them;
/// `figure` computes it from the drawn questions. `None` for fewer than two questions, and where
/// the figure of all of them is not defined; draws for which it is not are left out.
pub fn bootstrap(count: usize, figure: &dyn Fn(&[usize]) -> Option<f64>) -> Option<Interval> {
    if count < 2 {
        return None;
    }
    let all: Vec<usize> = (0..count).collect();
    let whole = figure(&all)?;

    let mut random = Random::new(BOOTSTRAP_SEED);
    let mut figures: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let drawn: Vec<usize> = (0..count).map(|_| random.below(count)).collect();
            figure(&drawn)
        })
        .collect();
    figures.sort_by(f64::total_cmp);

    let last = figures.len().checked_sub(1)?;
    let percentile = |share: f64| figures[((share * figures.len() as f64) as usize).min(last)];
    Some(Interval {
        mean: whole,
        low: percentile(0.025),
        high: percentile(0.975),
    })
}
