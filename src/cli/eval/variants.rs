//! The presets of an evaluation, each with the values of a sweep.

use crate::cli::args::Evaluation;
use crate::cli::failure::{Failure, Stopped};
use crate::config::{AttributionKind, ConfigError, Layers, RetrieverKind};

/// A preset with the settings that it is evaluated with.
pub(super) struct Variant {
    /// The preset and the values of a sweep: one row of the tables.
    pub name: String,
    pub layers: Layers,
}

impl Variant {
    pub fn is_searching(&self) -> bool {
        let config = self.layers.config();
        config.is_ok_and(|config| config.retriever.kind != RetrieverKind::Off)
    }

    /// Returns the same with another value of a setting.
    fn with(&self, key: &str, value: &str) -> Result<Self, Stopped> {
        let setting = (key.to_owned(), value.to_owned());
        let layers = self.layers.with(&[setting]).map_err(usage)?;
        layers.config().map_err(usage)?;
        Ok(Self {
            name: format!("{} {key}={value}", self.name),
            layers,
        })
    }
}

/// Returns the presets, each with every combination of the swept values.
pub(super) fn variants(
    what: &Evaluation,
    names: Option<&str>,
    layers: &Layers,
) -> Result<Vec<Variant>, Stopped> {
    let mut variants = presets(names, layers)?;

    for (key, values) in &what.sweep {
        let mut swept = Vec::new();
        for variant in &variants {
            for value in values.split(',').map(str::trim) {
                swept.push(variant.with(key, value)?);
            }
        }
        variants = swept;
    }

    Ok(variants)
}

pub(super) fn usage(error: ConfigError) -> Stopped {
    Failure::from(error).into_usage().into()
}

/// Returns the presets by name, each with its effective settings.
fn presets(names: Option<&str>, layers: &Layers) -> Result<Vec<Variant>, Stopped> {
    let own = layers.config()?.preset;

    let mut presets: Vec<Variant> = Vec::new();
    let names = names.unwrap_or(&own).split(',').map(str::trim);
    for name in names.filter(|name| !name.is_empty()) {
        if !presets.iter().any(|known| known.name == name) {
            let mut layers = layers.with(&[("preset".to_owned(), name.to_owned())])?;
            let config = layers.config().map_err(usage)?;
            // no table shows it
            if config.answer.attribution == AttributionKind::Auto {
                layers = layers.with(&[("answer.attribution".to_owned(), "off".to_owned())])?;
            }
            presets.push(Variant {
                name: name.to_owned(),
                layers,
            });
        }
    }

    if presets.is_empty() {
        return Err(Stopped::usage(
            "--preset names no preset",
            "separate presets with commas, e.g. --preset naive,closed-book",
        ));
    }

    Ok(presets)
}
