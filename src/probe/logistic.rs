//! Logistic regression, for sentences that are too few for a network: two units of a hidden layer
//! that undo each other's ReLU, so that a file of weights and a reading know networks alone.

use std::ops::Range;

use rayon::prelude::*;

use super::network::{Linear, Network};
use super::optimiser::add_scaled;
use super::training_set::{Epoch, MAX_EPOCHS, TrainingSet};
use crate::event::{Flow, WorkError, logistic};
use crate::llm::dot;

/// Steps of an epoch.
const STEPS: u32 = 5;

/// Weights of the features, and the bias behind them.
struct Weights {
    features: Vec<f32>,
    bias: f32,
}

/// Fits the labels by the features of `part`, by gradients with Nesterov's momentum; the penalty on
/// the squared weights is that of scikit-learn's default.
pub(super) fn fit(
    set: &TrainingSet,
    part: Range<usize>,
    epoch: &mut dyn FnMut(Epoch) -> Flow,
) -> Result<Network, WorkError> {
    // standardised features make a row of mean square 1 per feature, whatever their number
    let scale = 1.0 / (part.len().max(1) as f32).sqrt();
    let scaled = |row: &Vec<f32>| row[part.clone()].iter().map(|of| of * scale).collect();
    let rows: Vec<Vec<f32>> = set.rows.iter().map(scaled).collect();
    let count = rows.len() as f32;
    let penalty = 1.0 / count;

    // a quarter bounds the curvature of the loss of a row of length 1
    let lengths = rows.iter().zip(&set.weights);
    let curvature: f32 = lengths
        .map(|(row, weight)| weight * (dot(row, row) + 1.0))
        .sum();
    let rate = 1.0 / (curvature / count / 4.0 + penalty);

    let zero = || Weights {
        features: vec![0.0; part.len()],
        bias: 0.0,
    };
    let (mut weights, mut ahead) = (zero(), zero());
    for step in 1..=MAX_EPOCHS * STEPS {
        let errors = errors(set, &rows, &ahead);
        let mut gradient: Vec<f32> = ahead.features.iter().map(|of| of * penalty).collect();
        for (row, error) in rows.iter().zip(&errors) {
            add_scaled(&mut gradient, row, *error);
        }

        let momentum = (step - 1) as f32 / (step + 2) as f32;
        let steps = weights.features.iter_mut().zip(&mut ahead.features);
        for ((weight, ahead), gradient) in steps.zip(&gradient) {
            move_on(weight, ahead, rate * gradient, momentum);
        }
        let bias_gradient: f32 = errors.iter().sum();
        move_on(
            &mut weights.bias,
            &mut ahead.bias,
            rate * bias_gradient,
            momentum,
        );

        if step % STEPS == 0 {
            let network = as_network(&weights, &part, scale, set.width());
            let loss = set.cross_entropy(&network);
            epoch(Epoch {
                done: step / STEPS,
                loss,
            })
            .check()?;
        }
    }
    Ok(as_network(&weights, &part, scale, set.width()))
}

/// Takes a step from the point ahead, and moves that point on.
fn move_on(weight: &mut f32, ahead: &mut f32, step: f32, momentum: f32) {
    let before = *weight;
    *weight = *ahead - step;
    *ahead = *weight + momentum * (*weight - before);
}

/// Returns the derivative of the mean loss by the logit of each row.
fn errors(set: &TrainingSet, rows: &[Vec<f32>], weights: &Weights) -> Vec<f32> {
    let count = rows.len() as f32;
    rows.par_iter()
        .zip(&set.labels)
        .zip(&set.weights)
        .map(|((row, label), weight)| {
            let logit = dot(&weights.features, row) + weights.bias;
            (logistic(logit) - label) * weight / count
        })
        .collect()
}

/// Returns the network whose logit is relu(x) - relu(-x) = x of a row that is not scaled.
fn as_network(weights: &Weights, part: &Range<usize>, scale: f32, width: usize) -> Network {
    let mut unit = vec![0.0; width];
    for (of, weight) in unit[part.clone()].iter_mut().zip(&weights.features) {
        *of = weight * scale;
    }
    let opposite = unit.iter().map(|weight| -weight);
    Network {
        hidden: Linear {
            inputs: width,
            weights: unit.iter().copied().chain(opposite).collect(),
            bias: vec![weights.bias, -weights.bias],
        },
        output: Linear {
            inputs: 2,
            weights: vec![1.0, -1.0],
            bias: vec![0.0],
        },
    }
}
