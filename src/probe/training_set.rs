//! The rows that a probe is trained on, and the progress of that.

use rayon::prelude::*;

use super::network::Network;

/// Maximum number of epochs: that of the paper's probe (appendix B).
pub const MAX_EPOCHS: u32 = 100;

/// The result of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Finished epochs.
    pub done: u32,
    /// Loss on the validation part, or on all sentences where none are for validation.
    pub loss: f32,
}

/// Features, labels (1: certain) and weights of some sentences.
#[derive(Debug, Default)]
pub(super) struct TrainingSet {
    pub rows: Vec<Vec<f32>>,
    pub labels: Vec<f32>,
    /// Both classes weigh alike, however many sentences they have; 1 on average.
    pub weights: Vec<f32>,
}

impl TrainingSet {
    /// Creates the set of these rows, each with whether its sentence is a certain one.
    pub fn new(rows: impl Iterator<Item = (Vec<f32>, bool)>) -> Self {
        let (rows, certain): (Vec<Vec<f32>>, Vec<bool>) = rows.unzip();
        let of_class = |is_certain: &bool| {
            let count = certain.iter().filter(|other| *other == is_certain).count();
            certain.len() as f32 / (2 * count) as f32
        };
        let [of_certain, of_uncertain] = [true, false].map(|class| of_class(&class));

        let weight = |is_certain: &bool| {
            if *is_certain {
                of_certain
            } else {
                of_uncertain
            }
        };
        Self {
            rows,
            labels: certain.iter().map(|one| f32::from(*one)).collect(),
            weights: certain.iter().map(weight).collect(),
        }
    }

    /// Returns the number of features of a row.
    pub fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// Returns the weighted mean binary cross-entropy in the form that stays finite for every logit
    /// x: max(x, 0) - x y + ln(1 + exp(-|x|)).
    pub fn cross_entropy(&self, network: &Network) -> f32 {
        let losses: Vec<f32> = self
            .rows
            .par_iter()
            .zip(&self.labels)
            .zip(&self.weights)
            .map(|((row, label), weight)| {
                let logit = network.logit(row);
                weight * (logit.max(0.0) - logit * label + (1.0 + (-logit.abs()).exp()).ln())
            })
            .collect();
        losses.iter().sum::<f32>() / self.weights.iter().sum::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_kept_and_both_classes_weigh_alike() {
        let rows = (0..10).map(|at| (vec![at as f32], at < 2));
        let set = TrainingSet::new(rows);
        assert_eq!((set.rows.len(), set.labels.len()), (10, 10));
        assert_eq!(set.weights[..2], [2.5; 2]);
        assert_eq!(set.weights[2..], [0.625; 8]);
    }
}
