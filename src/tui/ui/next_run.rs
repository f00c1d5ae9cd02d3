//! The settings of the next run: as the program was started, with what was changed on the screen.

use std::path::Path;

use serde_json::Value;

use crate::config::{Config, Layers, Place, preset_names};
use crate::tui::state::setting;

/// The settings of the next run.
#[derive(Debug, Clone)]
pub struct NextRun {
    /// Settings changed on the screen.
    pub overrides: Vec<(String, String)>,
    /// The settings that the program was started with.
    pub settings: Value,
    /// How the documents of the index were chunked.
    chunking: Vec<String>,
    /// Every preset with its settings.
    presets: Vec<(String, Value)>,
}

impl NextRun {
    pub fn new(config: &Config, presets_folder: &Path) -> Self {
        let mut next = Self {
            overrides: Vec::new(),
            settings: serde_json::to_value(config).unwrap_or_default(),
            chunking: Vec::new(),
            presets: presets(presets_folder),
        };
        next.chunking = next.chunking_settings();
        next
    }

    /// The names of all presets.
    pub fn presets(&self) -> impl Iterator<Item = &str> {
        self.presets.iter().map(|(name, _)| name.as_str())
    }

    /// The presets in which a role is on.
    pub fn presets_with<'a>(&'a self, role: &str) -> impl Iterator<Item = &'a str> {
        let key = format!("{role}.kind");
        let is_on =
            move |settings: &Value| setting(settings, &key).is_some_and(|kind| kind != "off");
        self.presets
            .iter()
            .filter(move |(_, settings)| is_on(settings))
            .map(|(name, _)| name.as_str())
    }

    /// The value of a setting: as changed on the screen, then as a preset chosen there has it, then as at the start.
    pub fn value(&self, key: &str) -> Option<String> {
        if let Some(value) = self.changed(key) {
            return Some(value.to_owned());
        }

        let at_start = setting(&self.settings, key);
        let before = setting(&self.settings, "preset").and_then(|name| self.of_preset(&name, key));
        // the user's own settings are stronger than any preset
        if before == at_start
            && let Some(chosen) = self.changed("preset")
            && let Some(value) = self.of_preset(chosen, key)
        {
            return Some(value);
        }
        at_start
    }

    fn changed(&self, key: &str) -> Option<&str> {
        self.overrides
            .iter()
            .find(|(changed, _)| changed == key)
            .map(|(_, value)| value.as_str())
    }

    fn of_preset(&self, name: &str, key: &str) -> Option<String> {
        let (_, settings) = self.presets.iter().find(|(known, _)| known == name)?;
        setting(settings, key)
    }

    /// Changes a setting for the next run.
    pub fn set(&mut self, key: &str, value: &str) {
        self.reset(key);
        self.overrides.push((key.to_owned(), value.to_owned()));
    }

    /// Takes back what was changed of a setting.
    pub fn reset(&mut self, key: &str) {
        self.overrides.retain(|(changed, _)| changed != key);
    }

    /// The places of documents that a setting names.
    pub fn places(&self, key: &str) -> Vec<Place> {
        #[derive(serde::Deserialize)]
        struct Named {
            places: Vec<Place>,
        }
        let value = self.value(key).unwrap_or_default();
        toml::from_str::<Named>(&format!("places = {value}"))
            .map_or_else(|_| Vec::new(), |named| named.places)
    }

    /// Returns whether the index has to be rebuilt for its chunks to follow the settings.
    pub fn needs_indexing(&self) -> bool {
        self.chunking_settings() != self.chunking
    }

    /// The index is being brought up to date with the settings as they are now.
    pub fn indexed(&mut self) {
        self.chunking = self.chunking_settings();
    }

    /// The settings that decide how documents are chunked for the index.
    fn chunking_settings(&self) -> Vec<String> {
        let value = |key: &str| self.value(&format!("chunker.{key}")).unwrap_or_default();
        let (kind, keys): (&str, &[&str]) = match value("kind").as_str() {
            "semantic" => ("semantic", &["tokens", "similarity", "characters"]),
            // the adaptive chunker re-chunks for a question, not in the index
            _ => ("fixed", &["tokens", "overlap_tokens", "sentences"]),
        };
        std::iter::once(kind.to_owned())
            .chain(keys.iter().map(|key| value(key)))
            .collect()
    }
}

/// The presets with the settings that each gives. A preset that cannot be read is left empty here; choosing it says why.
fn presets(folder: &Path) -> Vec<(String, Value)> {
    preset_names(folder)
        .into_iter()
        .map(|name| {
            let settings = preset_settings(&name).unwrap_or_default();
            (name, settings)
        })
        .collect()
}

fn preset_settings(name: &str) -> Option<Value> {
    let layers = Layers::defaults()
        .with(&[("preset".to_owned(), name.to_owned())])
        .ok()?;
    serde_json::to_value(layers.config().ok()?).ok()
}
