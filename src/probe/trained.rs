//! A trained probe, and whether it fits a generator.

use std::path::Path;

use crate::event::{ModelCard, ProbeCard, ProbeLayers, Problem};
use crate::methods::searag::Standard;

use super::error::{unfit, unreadable};
use super::features;
use super::network::Network;

/// Version of the weights file.
pub(super) const FORMAT: u32 = 1;

/// A trained probe.
#[derive(Debug, Clone)]
pub struct Probe {
    pub card: ProbeCard,
    pub(super) standard: Standard,
    pub(super) network: Network,
}

impl Probe {
    /// Checks that the probe reads this generator.
    ///
    /// # Errors
    /// With the reason.
    pub fn check(&self, file: &Path, generator: &ModelCard) -> Result<(), Problem> {
        let card = &self.card;
        let reason = if card.fingerprint != generator.fingerprint {
            format!(
                "it was trained for {}, the generator is {}, another file",
                card.generator, generator.file
            )
        } else if (card.layers, card.width) != (generator.layers, generator.width) {
            format!(
                "it reads {} layers of width {}, the generator has {} of width {}",
                card.layers, card.width, generator.layers, generator.width
            )
        } else {
            return Ok(());
        };

        Err(unfit(file, reason))
    }

    /// Returns how uncertain the generator is of the sentence, in 0..=1: 1 - sigmoid(logit), since
    /// label 1 means certain.
    ///
    /// # Errors
    /// Features of another width.
    pub fn uncertainty(&self, features: &[f32]) -> Result<f32, Problem> {
        let card = &self.card;
        let range = |reads| features::range(reads, card.layers, card.width);
        let expected = range(ProbeLayers::All).len();
        if features.len() != expected {
            let reason = format!(
                "it reads {expected} numbers, the generator gave {}",
                features.len()
            );
            return Err(unfit(Path::new(&card.generator), reason));
        }

        let read = self.standard.apply(&features[range(card.reads)]);
        let logit = self.network.logit(&read);
        let uncertainty = 1.0 / (1.0 + logit.exp());
        if uncertainty.is_finite() {
            return Ok(uncertainty);
        }
        let file = format!("for {}", card.generator);
        Err(unreadable(Path::new(&file))("its numbers are not finite"))
    }
}
