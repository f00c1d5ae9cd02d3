//! The settings of the next run: those at the start of the program, with the changes on the screen.

use std::path::Path;

use toml::Value;

use crate::config::{ChunkerSettings, Config, Layers, Location, Setting, preset_doc, preset_names};

/// The settings of the next run.
#[derive(Debug, Clone)]
pub struct NextRun {
    /// Settings changed on the screen.
    pub overrides: Vec<(String, String)>,
    /// The settings that the program was started with.
    pub settings: Config,
    /// The settings by which the documents of the index were chunked.
    chunker: ChunkerSettings,
    presets: Vec<Preset>,
}

/// A preset that may be chosen.
#[derive(Debug, Clone)]
pub struct Preset {
    pub name: String,
    /// The first comment of its file; empty for one of the user without it.
    pub doc: String,
    /// `None` for one that cannot be read: choosing it reports why.
    settings: Option<Config>,
}

impl NextRun {
    pub fn new(config: &Config, presets_folder: &Path) -> Self {
        Self {
            overrides: Vec::new(),
            settings: config.clone(),
            chunker: config.chunker.for_index(),
            presets: preset_names(presets_folder)
                .into_iter()
                .map(|name| Preset {
                    doc: preset_doc(&name, presets_folder),
                    settings: preset_settings(&name),
                    name,
                })
                .collect(),
        }
    }

    /// Every preset.
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// The presets in which a role is on.
    pub fn presets_with<'a>(&'a self, role: &str) -> impl Iterator<Item = &'a str> {
        let kind = Setting::find(&format!("{role}.kind"));
        let is_on = move |settings: &Config| kind.is_some_and(|kind| kind.text(settings) != "off");
        let presets = self.presets.iter();
        presets
            .filter(move |preset| preset.settings.as_ref().is_some_and(is_on))
            .map(|preset| preset.name.as_str())
    }

    /// Returns the name of the preset of the next run.
    pub fn preset_name(&self) -> &str {
        let mut overrides = self.overrides.iter();
        let chosen = overrides.find(|(key, _)| key == "preset");
        chosen.map_or(&self.settings.preset, |(_, name)| name)
    }

    /// The settings as changed on the screen, else as a preset chosen there has them, else as at
    /// the start.
    pub fn config(&self) -> Config {
        let mut next = self.settings.clone();

        let chosen = self.overrides.iter().find(|(key, _)| key == "preset");
        let before = self.preset(&self.settings.preset);
        let after = chosen.and_then(|(_, name)| self.preset(name));
        if let (Some(before), Some(after)) = (before, after) {
            // the user's own settings are stronger than any preset
            let is_of_preset =
                |setting: &&Setting| setting.value(before) == setting.value(&self.settings);
            for setting in Setting::differing(before, after).filter(is_of_preset) {
                let _ = setting.set(&mut next, &setting.value(after));
            }
        }

        for (key, text) in &self.overrides {
            if let Some(setting) = Setting::find(key) {
                // a value that does not fit was refused when it was typed
                let _ = setting.set(&mut next, &setting.parse(text));
            }
        }
        next
    }

    fn preset(&self, name: &str) -> Option<&Config> {
        let preset = self.presets.iter().find(|preset| preset.name == name)?;
        preset.settings.as_ref()
    }

    /// Changes a setting for the next run.
    pub fn set(&mut self, key: &str, value: &str) {
        self.reset(key);
        self.overrides.push((key.to_owned(), value.to_owned()));
    }

    /// Undoes the change of a setting.
    pub fn reset(&mut self, key: &str) {
        self.overrides.retain(|(changed, _)| changed != key);
    }

    /// The locations that a setting lists.
    pub fn locations(&self, key: &str) -> Vec<Location> {
        let value = Setting::find(key).map(|setting| setting.value(&self.config()));
        let listed = value.iter().filter_map(Value::as_array).flatten();
        listed
            .filter_map(|location| location.as_str()?.parse().ok())
            .collect()
    }

    /// Returns whether the index has to be rebuilt for its chunks to follow the settings.
    pub fn needs_indexing(&self) -> bool {
        self.config().chunker.for_index() != self.chunker
    }

    /// Notes that the index is being updated with the current settings.
    pub fn note_indexing(&mut self) {
        self.chunker = self.config().chunker.for_index();
    }
}

fn preset_settings(name: &str) -> Option<Config> {
    let layers = Layers::defaults().with(&[("preset".to_owned(), name.to_owned())]);
    layers.ok()?.config().ok()
}
