//! Fits the probability of verdicts to a model and a folder, from answers that were found to be
//! right or wrong there: Platt's scaling (Platt 1999), kept near no change while answers are few.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::UncertaintyMetric;
use super::row::Row;
use crate::event::{VerdictFit, logistic, logit_of, saturating_u32};

/// Answers that a fit needs, and right and wrong ones among them.
const MIN_ANSWERS: usize = 30;
const MIN_OF_EACH: usize = 5;
/// Parts of the answers, each of which is predicted from the others.
const FOLDS: usize = 5;
/// Bins of the probability, over which the calibration error is taken (Naeini et al. 2015).
const BINS: usize = 10;
/// Shares of wrong answers that may be accepted.
const ALLOWED: [f64; 2] = [0.05, 0.1];
/// Steps of the fit, which is at its end after some dozens.
const STEPS: usize = 1000;

/// The verdicts of one model and what they are worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedVerdicts {
    /// The fingerprint of the model.
    pub model: String,
    /// Answers that were not refused.
    pub answers: usize,
    pub right: usize,
    /// The error of the probability as it is shipped, and fitted to the other answers.
    pub shipped: Calibration,
    pub fitted: Calibration,
    /// The fit to all answers, where it predicts those that it has not seen better than what is
    /// shipped.
    pub fit: Option<VerdictFit>,
    /// Answers that may be accepted, by the wrong ones among all answers, 5 and 10 %.
    pub accepted: [Option<Accepted>; 2],
}

/// Answers whose probability is high enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Accepted {
    /// The least probability, as it is shown from now on.
    pub from: f32,
    /// The share of the answers with at least that.
    pub share: f64,
}

/// The error of probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Calibration {
    /// The mean of -ln of the probability of what is so, nats.
    pub log_loss: f64,
    /// The expected calibration error, in 0..=1.
    pub error: f64,
}

/// The probability of a verdict, and whether the answer is right.
type Judged = (f32, bool);

/// Fits the verdicts on the answers of each model.
///
/// # Errors
/// The reason why nothing can be fitted.
pub fn fit_verdicts(rows: &[Row]) -> Result<Vec<FittedVerdicts>, String> {
    let mut models: Vec<&str> = rows.iter().map(|row| row.generator.as_str()).collect();
    models.sort_unstable();
    models.dedup();

    let fits = models.into_iter().map(|model| fit_model(model, rows));
    let (fitted, failed): (Vec<_>, Vec<_>) = fits.partition(Result::is_ok);
    match failed.into_iter().find_map(Result::err) {
        Some(reason) if fitted.is_empty() => Err(reason),
        Some(_) | None => Ok(fitted.into_iter().flatten().collect()),
    }
}

fn fit_model(model: &str, rows: &[Row]) -> Result<FittedVerdicts, String> {
    // one question under several presets is one of what is seen, or of what is not
    let mut known = BTreeMap::new();
    let of_model = rows.iter().filter(|row| row.generator == model);
    let (judged, folds): (Vec<Judged>, Vec<usize>) = of_model
        .filter_map(|row| {
            let judged = judge_row(row)?;
            let next = known.len();
            Some((judged, *known.entry(&row.id).or_insert(next) % FOLDS))
        })
        .unzip();
    let (answers, right) = (judged.len(), count_right(&judged));
    let wrong = answers - right;
    if answers < MIN_ANSWERS || right.min(wrong) < MIN_OF_EACH {
        return Err(format!(
            "a fit needs {MIN_ANSWERS} answers with a verdict, {MIN_OF_EACH} right and {MIN_OF_EACH} wrong ones among them: here are {right} right and {wrong} wrong ones"
        ));
    }

    let shipped = Calibration::new(&judged);
    let fitted = Calibration::new(&predict(&judged, &folds));
    let is_better = fitted.log_loss < shipped.log_loss;
    let fit = is_better.then(|| fit(judged.iter().copied()));
    let mut shown = judged;
    if let Some(fit) = fit {
        for (probability, _) in &mut shown {
            *probability = fit.apply(*probability);
        }
    }
    shown.sort_by(|(a, _), (b, _)| b.total_cmp(a));

    Ok(FittedVerdicts {
        model: model.to_owned(),
        answers,
        right,
        shipped,
        fitted,
        fit,
        accepted: ALLOWED.map(|allowed| accept(&shown, allowed)),
    })
}

/// Returns the most answers, of highest probability first, that may be accepted so that no more
/// than this share of all answers is expected to be accepted and wrong: conformal risk control
/// (Angelopoulos et al. 2022, eq. 4), whose bound counts one wrong answer more than was seen.
fn accept(shown: &[Judged], allowed: f64) -> Option<Accepted> {
    let all = shown.len();
    let mut counted = 0;
    let mut wrong = 0;
    let mut accepted = None;
    // answers of one probability are accepted together
    for alike in shown.chunk_by(|(a, _), (b, _)| a == b) {
        counted += alike.len();
        wrong += alike.len() - count_right(alike);
        if (wrong + 1) as f64 > allowed * (all + 1) as f64 {
            break;
        }
        accepted = Some(Accepted {
            from: alike[0].0,
            share: counted as f64 / all as f64,
        });
    }
    accepted
}

fn judge_row(row: &Row) -> Option<Judged> {
    let uncertainty = row.uncertainty.get(&UncertaintyMetric::Verdict)?;
    Some(((1.0 - uncertainty) as f32, row.is_right()))
}

fn count_right(judged: &[Judged]) -> usize {
    judged.iter().filter(|(_, is_right)| *is_right).count()
}

/// Returns the answers with the probability that a fit to the answers of other folds gives them.
fn predict(judged: &[Judged], folds: &[usize]) -> Vec<Judged> {
    let fits: Vec<VerdictFit> = (0..FOLDS)
        .map(|fold| {
            let others = judged.iter().zip(folds).filter(|(_, own)| **own != fold);
            fit(others.map(|(of, _)| *of))
        })
        .collect();
    let answers = judged.iter().zip(folds);
    answers
        .map(|((probability, is_right), fold)| (fits[*fold].apply(*probability), *is_right))
        .collect()
}

/// Fits slope and constant; each has a normal prior of variance 1 around no change. The curvature
/// of the log-loss is taken at its upper bound (Boehning and Lindsay 1988): Newton's own steps
/// diverge where shipped probabilities are near 0 or 1.
fn fit(judged: impl Iterator<Item = Judged>) -> VerdictFit {
    const BOUND: f64 = 0.25;
    let logits: Vec<(f64, f64)> = judged
        .map(|(probability, is_right)| {
            let label = f64::from(is_right);
            (f64::from(logit_of(probability)), label)
        })
        .collect();
    let moment = |power| {
        logits
            .iter()
            .map(|(logit, _)| logit.powi(power))
            .sum::<f64>()
    };
    let [of_constant, of_both, of_slope] = [0, 1, 2].map(|power| BOUND * moment(power));
    let [of_constant, of_slope] = [of_constant, of_slope].map(|bound| bound + 1.0);
    let determinant = of_slope * of_constant - of_both * of_both;

    let (mut slope, mut constant) = (1.0_f64, 0.0_f64);
    for _ in 0..STEPS {
        let (mut by_slope, mut by_constant) = (slope - 1.0, constant);
        for (logit, label) in &logits {
            let error = f64::from(logistic((slope * logit + constant) as f32)) - label;
            by_slope += error * logit;
            by_constant += error;
        }
        slope -= (of_constant * by_slope - of_both * by_constant) / determinant;
        constant -= (of_slope * by_constant - of_both * by_slope) / determinant;
    }

    VerdictFit {
        slope: slope as f32,
        constant: constant as f32,
        answers: saturating_u32(logits.len()),
    }
}

impl Calibration {
    fn new(judged: &[Judged]) -> Self {
        let count = judged.len().max(1) as f64;
        let losses = judged.iter().map(|(probability, is_right)| {
            let of_outcome = if *is_right {
                *probability
            } else {
                1.0 - probability
            };
            -f64::from(of_outcome.max(1e-3)).ln()
        });

        let mut bins = [(0.0, 0.0); BINS];
        for (probability, is_right) in judged {
            let bin = ((probability * BINS as f32) as usize).min(BINS - 1);
            bins[bin].0 += f64::from(*probability);
            bins[bin].1 += f64::from(*is_right);
        }
        let gaps = bins
            .iter()
            .map(|(expected, right)| (expected - right).abs());
        Self {
            log_loss: losses.sum::<f64>() / count,
            error: gaps.sum::<f64>() / count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers whose verdicts say `probability`, of which `right` of ten are right.
    fn answers(probability: f32, right: usize) -> impl Iterator<Item = Judged> {
        (0..10).map(move |at| (probability, at < right))
    }

    #[test]
    fn a_fit_follows_many_answers_and_hardly_a_few() {
        // two coefficients meet the shares of two groups, but for the prior
        let few: Vec<Judged> = answers(0.8, 5).chain(answers(0.2, 1)).collect();
        let many: Vec<Judged> = few.iter().copied().cycle().take(4000).collect();

        let fitted = fit(many.iter().copied());
        assert!((fitted.apply(0.8) - 0.5).abs() < 0.01, "{fitted:?}");
        assert!((fitted.apply(0.2) - 0.1).abs() < 0.01, "{fitted:?}");
        let slight = fit(few.iter().copied());
        assert!((0.5..0.8).contains(&slight.apply(0.8)), "{slight:?}");
        assert_eq!(fit(std::iter::empty()).apply(0.7), 0.7);
    }

    #[test]
    fn a_calibration_error_is_the_gap_of_each_bin() {
        let judged: Vec<Judged> = answers(0.8, 5).chain(answers(0.2, 2)).collect();
        let calibration = Calibration::new(&judged);
        assert!((calibration.error - 0.15).abs() < 1e-6);
        // 5 of 10 and 8 of 10 were as likely as 0.8, 0.2; and 0.8
        let expected = -(13.0 * 0.8_f64.ln() + 7.0 * 0.2_f64.ln()) / 20.0;
        assert!((calibration.log_loss - expected).abs() < 1e-6);
    }

    #[test]
    fn answers_are_accepted_while_one_more_wrong_one_is_allowed() {
        let shown = |outcomes: &str| -> Vec<Judged> {
            let outcomes = outcomes.chars().enumerate();
            outcomes
                .map(|(at, outcome)| (1.0 - (at / 2) as f32 * 0.05, outcome == '+'))
                .collect()
        };
        let accepted = |outcomes, allowed| {
            let accepted = accept(&shown(outcomes), allowed)?;
            Some((accepted.share * 20.0).round())
        };

        // of 20 answers the bound of 0.1 allows one wrong one, and that of 0.05 none
        let cases = [
            ("++++++++++++++++++++", 0.1, Some(20.0)),
            ("++++++++++++++++++++", 0.05, Some(20.0)),
            ("++++++-+++++-+++++++", 0.1, Some(12.0)),
            ("++++++-+++++++++++++", 0.05, Some(6.0)),
            ("--++++++++++++++++++", 0.1, None),
            ("-+++++++++++++++++++", 0.05, None),
        ];
        for (outcomes, allowed, expected) in cases {
            assert_eq!(
                accepted(outcomes, allowed),
                expected,
                "{outcomes} {allowed}"
            );
        }
    }
}
