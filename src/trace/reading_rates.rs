//! The speed at which the models read on this machine, kept from one start of the program to the
//! next.

use std::path::PathBuf;

use super::kept::Kept;
use crate::event::ModelCard;

/// The highest rate of each model on its device, prompt tokens per second: what slows down a single
/// call is other work.
pub struct ReadingRates(Kept<f32>);

impl ReadingRates {
    /// Reads the rates that were measured before; none where the file cannot be read.
    pub fn read(file: PathBuf) -> Self {
        Self(Kept::read(file))
    }

    /// Returns the rate of a model; 0 where none was measured.
    pub fn rate(&self, model: &ModelCard) -> f32 {
        self.0.get(&key(model)).unwrap_or(0.0)
    }

    /// Keeps a measured rate if it is the highest.
    pub fn keep(&mut self, model: &ModelCard, rate: f32) {
        if rate > self.rate(model) && rate.is_finite() {
            // without the file the next start measures again
            let _ = self.0.set(key(model), Some(rate));
        }
    }
}

fn key(model: &ModelCard) -> String {
    format!("{} {}", model.fingerprint, model.device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ModelRole;

    #[test]
    fn the_highest_rate_stays() {
        let home = tempfile::tempdir().expect("temporary folder");
        let read = || ReadingRates::read(home.path().join("rates.json"));
        let model = ModelCard {
            fingerprint: "f".to_owned(),
            device: "CPU".to_owned(),
            ..ModelCard::unknown(ModelRole::Generator)
        };

        for measured in [40.0, 60.0, 12.0, f32::INFINITY] {
            read().keep(&model, measured);
        }
        assert_eq!(read().rate(&model), 60.0);
        let elsewhere = ModelCard {
            device: "Vulkan0".to_owned(),
            ..model
        };
        assert_eq!(read().rate(&elsewhere), 0.0);
    }
}
