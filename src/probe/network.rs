//! Linear, ReLU, dropout, linear: one logit, positive for certain.

use candle_core::{Device, Result, Tensor, Var};
use candle_nn::{Linear, Module};

use crate::llm::Random;

/// The network of a probe.
#[derive(Debug, Clone)]
pub struct Network {
    first: Linear,
    second: Linear,
}

impl Network {
    /// From the weights and biases of both layers: `[hidden, features]`, `[hidden]`, `[1, hidden]`, `[1]`.
    #[must_use]
    pub fn new([weight_1, bias_1, weight_2, bias_2]: [Tensor; 4]) -> Self {
        Self {
            first: Linear::new(weight_1, Some(bias_1)),
            second: Linear::new(weight_2, Some(bias_2)),
        }
    }

    /// Weights and biases in the order of [`Network::new`].
    #[must_use]
    pub fn tensors(&self) -> [Option<&Tensor>; 4] {
        [
            Some(self.first.weight()),
            self.first.bias(),
            Some(self.second.weight()),
            self.second.bias(),
        ]
    }

    /// The logit of one row of standardised features.
    ///
    /// # Errors
    /// Features of another width.
    pub fn logit(&self, features: &[f32]) -> Result<f32> {
        let row = Tensor::from_slice(features, (1, features.len()), &Device::Cpu)?;
        self.logits(&row, None)?.get(0)?.to_scalar()
    }

    /// The logits of `[rows, features]`, with the mask of the dropout while it is trained: 0 for a unit that is left out, else
    /// 1 / (1 - share left out).
    ///
    /// # Errors
    /// Features of another width.
    pub fn logits(&self, features: &Tensor, dropout: Option<&Tensor>) -> Result<Tensor> {
        let mut units = self.first.forward(features)?.relu()?;
        if let Some(mask) = dropout {
            units = units.mul(mask)?;
        }
        self.second.forward(&units)?.squeeze(1)
    }
}

/// Fresh weights, uniform in +-1 / sqrt(inputs), with variables to train them by.
///
/// # Errors
/// candle's own.
pub fn fresh(features: usize, hidden: usize, random: &mut Random) -> Result<(Network, Vec<Var>)> {
    let mut var = |shape: &[usize], inputs: usize| {
        let bound = 1.0 / (inputs.max(1) as f64).sqrt();
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count)
            .map(|_| ((random.unit() * 2.0 - 1.0) * bound) as f32)
            .collect();
        Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu)?)
    };
    let vars = [
        var(&[hidden, features], features)?,
        var(&[hidden], features)?,
        var(&[1, hidden], hidden)?,
        var(&[1], hidden)?,
    ];
    let network = Network::new(vars.each_ref().map(|var| var.as_tensor().clone()));
    Ok((network, vars.into()))
}
