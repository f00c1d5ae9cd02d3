//! The speed at which the models read on this machine, kept from one start of the program to the
//! next.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::event::ModelCard;
use crate::files;

/// The highest rate of each model on its device, prompt tokens per second: what slows down a single
/// call is other work.
pub struct ReadingRates {
    file: PathBuf,
    rates: BTreeMap<String, f32>,
}

impl ReadingRates {
    /// Reads the rates that were measured before; none where the file cannot be read.
    pub fn read(file: PathBuf) -> Self {
        let text = files::read_text(&file).unwrap_or_default();
        Self {
            file,
            rates: serde_json::from_str(&text).unwrap_or_default(),
        }
    }

    /// Returns the rate of a model; 0 where none was measured.
    pub fn rate(&self, model: &ModelCard) -> f32 {
        self.rates.get(&key(model)).copied().unwrap_or(0.0)
    }

    /// Keeps a measured rate if it is the highest.
    pub fn keep(&mut self, model: &ModelCard, rate: f32) {
        if rate <= self.rate(model) || !rate.is_finite() {
            return;
        }
        self.rates.insert(key(model), rate);
        // without the file the next start measures again
        if let Ok(text) = serde_json::to_string(&self.rates) {
            let _ = files::replace(&self.file, text.as_bytes());
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
