//! A perceptron with one hidden layer: linear, ReLU, dropout, linear. One logit, positive for
//! certain.

use crate::llm::{Random, dot};

/// The network of a probe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Network {
    pub hidden: Linear,
    pub output: Linear,
}

/// A layer: each output is a weighted sum of the inputs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Linear {
    pub inputs: usize,
    /// `[outputs, inputs]`, row by row.
    pub weights: Vec<f32>,
    /// `[outputs]`.
    pub bias: Vec<f32>,
}

impl Network {
    /// Returns new weights, uniform in ±1 / sqrt(inputs).
    pub fn random(features: usize, hidden: usize, random: &mut Random) -> Self {
        Self {
            hidden: Linear::random(features, hidden, random),
            output: Linear::random(hidden, 1, random),
        }
    }

    /// Returns the logit of one row of standardised features.
    pub fn logit(&self, features: &[f32]) -> f32 {
        let units = self.hidden.rows().zip(&self.hidden.bias);
        let sum: f32 = units
            .zip(&self.output.weights)
            .map(|((weights, bias), output)| (dot(weights, features) + bias).max(0.0) * output)
            .sum();
        sum + self.output.bias.first().copied().unwrap_or_default()
    }
}

impl Linear {
    fn random(inputs: usize, outputs: usize, random: &mut Random) -> Self {
        // the bound of PyTorch's linear layers
        let bound = 1.0 / (inputs.max(1) as f64).sqrt();
        let mut uniform = |count: usize| -> Vec<f32> {
            (0..count)
                .map(|_| ((random.unit() * 2.0 - 1.0) * bound) as f32)
                .collect()
        };
        Self {
            inputs,
            weights: uniform(inputs * outputs),
            bias: uniform(outputs),
        }
    }

    /// The weights of each output.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.weights.chunks_exact(self.inputs.max(1))
    }
}
