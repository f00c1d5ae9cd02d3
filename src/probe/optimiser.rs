//! Trains a network by AdamW (Loshchilov and Hutter 2019, algorithm 2).

use rayon::prelude::*;

use super::network::{Linear, Network};
use crate::event::logistic;
use crate::llm::dot;

/// Decay rates of the moments and the number that keeps a step finite, as PyTorch has them.
const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// A network in training.
#[derive(Debug)]
pub(super) struct Optimiser {
    pub learning_rate: f64,
    weight_decay: f64,
    hidden: Vec<Neuron>,
    output: Neuron,
    steps: i32,
}

/// Rows of features with their labels (1: certain).
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch<'a> {
    pub rows: &'a [&'a [f32]],
    pub labels: &'a [f32],
    /// The weight of each row in the loss.
    pub weights: &'a [f32],
    /// `[rows, hidden]`: 0 for a unit that is left out, else 1 / (1 - share left out).
    pub dropout: &'a [f32],
}

/// One output of a layer.
#[derive(Debug)]
struct Neuron {
    weights: Parameters,
    bias: Parameters,
}

/// Numbers that are trained, with the running means of their gradients and of the squares of those.
#[derive(Debug)]
struct Parameters {
    values: Vec<f32>,
    means: Vec<f32>,
    squares: Vec<f32>,
}

/// Values that all parameters share in a step.
#[derive(Debug, Clone, Copy)]
struct Step {
    learning_rate: f32,
    decay: f32,
    mean_correction: f32,
    square_correction: f32,
}

impl Optimiser {
    pub fn new(network: &Network, learning_rate: f64, weight_decay: f64) -> Self {
        let units = network.hidden.rows().zip(&network.hidden.bias);
        let hidden = units.map(|(weights, bias)| Neuron::new(weights, *bias));
        Self {
            learning_rate,
            weight_decay,
            hidden: hidden.collect(),
            output: Neuron::new(&network.output.weights, network.output.bias[0]),
            steps: 0,
        }
    }

    /// Takes one step down the gradient of the mean cross-entropy of a batch.
    pub fn step(&mut self, batch: Batch<'_>) {
        self.steps += 1;
        let step = Step {
            learning_rate: self.learning_rate as f32,
            // AdamW (Loshchilov and Hutter 2019): the decay is apart from the gradient
            decay: (1.0 - self.learning_rate * self.weight_decay) as f32,
            // the means begin at 0, so those of the first steps are too small (Kingma and Ba 2015)
            mean_correction: 1.0 / (1.0 - BETA_1.powi(self.steps)),
            square_correction: 1.0 / (1.0 - BETA_2.powi(self.steps)),
        };

        let units = self.units(batch);
        let errors = self.errors(batch, &units);
        self.update_hidden(batch, &units, &errors, step);
        self.update_output(&units, &errors, step);
    }

    /// Returns what the hidden units give for the rows, after dropout: `[hidden][rows]`.
    fn units(&self, batch: Batch<'_>) -> Vec<Vec<f32>> {
        let dropout = |row: usize, unit: usize| batch.dropout[row * self.hidden.len() + unit];
        let of_unit = |(unit, neuron): (usize, &Neuron)| {
            let rows = batch.rows.iter().enumerate();
            rows.map(|(at, row)| neuron.sum(row).max(0.0) * dropout(at, unit))
                .collect()
        };
        self.hidden.par_iter().enumerate().map(of_unit).collect()
    }

    /// Returns the derivative of the loss by each logit: weight (logistic(logit) - label) / rows.
    fn errors(&self, batch: Batch<'_>, units: &[Vec<f32>]) -> Vec<f32> {
        let mut logits = vec![self.output.bias.values[0]; batch.rows.len()];
        for (units, weight) in units.iter().zip(&self.output.weights.values) {
            add_scaled(&mut logits, units, *weight);
        }

        let count = batch.rows.len() as f32;
        logits
            .into_iter()
            .zip(batch.labels.iter().zip(batch.weights))
            .map(|(logit, (label, weight))| weight * (logistic(logit) - label) / count)
            .collect()
    }

    /// Updates each hidden unit as soon as its gradient is known, while both are in the cache of
    /// the processor: the gradient of the whole layer is never in memory.
    fn update_hidden(&mut self, batch: Batch<'_>, units: &[Vec<f32>], errors: &[f32], step: Step) {
        let hidden = self.hidden.len();
        let inputs = batch.rows.first().map_or(0, |row| row.len());
        let output = &self.output.weights.values;

        let update = |gradient: &mut Vec<f32>, (unit, neuron): (usize, &mut Neuron)| {
            gradient.fill(0.0);
            let mut bias_gradient = 0.0;
            for (at, row) in batch.rows.iter().enumerate() {
                // ReLU and dropout let no error through where they gave 0.
                if units[unit][at] > 0.0 {
                    let error = errors[at] * output[unit] * batch.dropout[at * hidden + unit];
                    add_scaled(gradient, row, error);
                    bias_gradient += error;
                }
            }
            neuron.weights.update(gradient, step);
            neuron.bias.update(&[bias_gradient], step);
        };
        self.hidden
            .par_iter_mut()
            .enumerate()
            .for_each_init(|| vec![0.0; inputs], update);
    }

    fn update_output(&mut self, units: &[Vec<f32>], errors: &[f32], step: Step) {
        let gradient: Vec<f32> = units.iter().map(|units| dot(units, errors)).collect();
        self.output.weights.update(&gradient, step);
        self.output.bias.update(&[errors.iter().sum()], step);
    }

    /// Returns the network as it is now.
    pub fn network(&self) -> Network {
        Network {
            hidden: Linear {
                inputs: self
                    .hidden
                    .first()
                    .map_or(0, |unit| unit.weights.values.len()),
                weights: self
                    .hidden
                    .iter()
                    .flat_map(|unit| unit.weights.values.iter().copied())
                    .collect(),
                bias: self.hidden.iter().map(|unit| unit.bias.values[0]).collect(),
            },
            output: Linear {
                inputs: self.output.weights.values.len(),
                weights: self.output.weights.values.clone(),
                bias: self.output.bias.values.clone(),
            },
        }
    }
}

impl Neuron {
    fn new(weights: &[f32], bias: f32) -> Self {
        Self {
            weights: Parameters::new(weights),
            bias: Parameters::new(&[bias]),
        }
    }

    fn sum(&self, row: &[f32]) -> f32 {
        dot(&self.weights.values, row) + self.bias.values[0]
    }
}

impl Parameters {
    fn new(values: &[f32]) -> Self {
        Self {
            values: values.to_vec(),
            means: vec![0.0; values.len()],
            squares: vec![0.0; values.len()],
        }
    }

    fn update(&mut self, gradient: &[f32], step: Step) {
        let moments = self.means.iter_mut().zip(&mut self.squares);
        for ((value, (mean, square)), gradient) in self.values.iter_mut().zip(moments).zip(gradient)
        {
            *mean = BETA_1 * *mean + (1.0 - BETA_1) * gradient;
            *square = BETA_2 * *square + (1.0 - BETA_2) * gradient * gradient;

            let mean = *mean * step.mean_correction;
            let square = *square * step.square_correction;
            *value = *value * step.decay - step.learning_rate * mean / (square.sqrt() + EPSILON);
        }
    }
}

pub(super) fn add_scaled(sum: &mut [f32], values: &[f32], factor: f32) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += factor * value;
    }
}
