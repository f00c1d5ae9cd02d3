//! The sources of settings, merged: defaults < preset < user file < environment < flags.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::error::ConfigError;
use super::names::nearest;
use super::paths::Paths;
use super::presets;
use super::settings::{Config, SETTINGS, Setting};
use crate::event::{Problem, os_path};
use crate::files;

const LIST_ADVICE: &str = "`ragscope config` lists every setting";
const ENVIRONMENT_PREFIX: &str = "RAGSCOPE_";

/// The sources of settings, kept apart so that a run can add further ones on top.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Layers {
    #[serde(with = "os_path")]
    presets_folder: PathBuf,
    /// Weakest first: user file, environment, flags. The preset goes under all of them.
    above_preset: Vec<Layer>,
}

/// The settings of one source.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Layer {
    /// Names the source in errors.
    origin: String,
    values: Vec<(&'static Setting, Value)>,
}

impl Layers {
    /// Reads the user file (when there is one) and the environment.
    ///
    /// # Errors
    /// An unreadable user file; unknown settings in either.
    pub fn load(paths: &Paths) -> Result<Self, ConfigError> {
        // our names are plain and their values have to be: a variable that is not Unicode is
        // not one of ours
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });

        Self::from_sources(paths, variables)
    }

    fn from_sources(
        paths: &Paths,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut layers = Self {
            presets_folder: paths.config.join("presets"),
            ..Self::default()
        };

        let file = paths.config_file();
        if file.exists() {
            layers.above_preset.push(Layer::read(&file)?);
        }

        for (name, value) in environment {
            if let Some(key) = environment_key(&name) {
                layers.set(&format!("environment variable {name}"), &key, &value)?;
            }
        }
        Ok(layers)
    }

    /// Only the built-in defaults, as tests and the demo start from.
    pub fn defaults() -> Self {
        Self::default()
    }

    /// Adds one setting above all earlier ones. `value` is TOML, or plain text for settings that
    /// are text.
    ///
    /// # Errors
    /// An unknown setting.
    pub fn set(&mut self, origin: &str, key: &str, value: &str) -> Result<(), ConfigError> {
        let setting = Setting::find(key).ok_or_else(|| unknown_key(origin, key))?;
        self.above_preset.push(Layer {
            origin: origin.to_owned(),
            values: vec![(setting, setting.parse(value))],
        });
        Ok(())
    }

    /// Adds the settings of a file below all others, so that only the preset and the defaults are
    /// weaker: those that come with a corpus, such as `assets/demo/ragscope.toml`.
    ///
    /// # Errors
    /// An unreadable file; an unknown setting.
    pub fn add_base_layer(&mut self, file: &Path) -> Result<(), ConfigError> {
        self.above_preset.insert(0, Layer::read(file)?);
        Ok(())
    }

    /// Returns these layers with `key = value` pairs on top, as a run asks for them.
    ///
    /// # Errors
    /// An unknown setting.
    pub fn with(&self, overrides: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut layers = self.clone();
        for (key, value) in overrides {
            layers.set("setting", key, value)?;
        }
        Ok(layers)
    }

    /// Returns whether a source sets this setting: the preset, a file, the environment, a flag.
    ///
    /// # Errors
    /// An unknown preset.
    pub fn sets(&self, key: &str) -> Result<bool, ConfigError> {
        let preset = self.preset(&self.preset_name(&Config::default()))?;
        let mut layers = std::iter::once(&preset).chain(&self.above_preset);
        Ok(layers.any(|layer| layer.values.iter().any(|(setting, _)| setting.key == key)))
    }

    /// Merges all sources.
    ///
    /// # Errors
    /// An unknown preset; a value that its setting does not take.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        let preset = self.preset(&self.preset_name(&config))?;

        for layer in std::iter::once(&preset).chain(&self.above_preset) {
            for (setting, value) in &layer.values {
                setting.set(&mut config, value).map_err(|reason| {
                    let error = format!("{}: {reason}", layer.origin);
                    ConfigError::Unusable(Problem::new(error, LIST_ADVICE))
                })?;
            }
        }
        Ok(config)
    }

    fn preset_name(&self, defaults: &Config) -> String {
        let named = self
            .above_preset
            .iter()
            .flat_map(|layer| &layer.values)
            .rfind(|(setting, _)| setting.key == "preset");
        match named {
            Some((_, name)) => name.as_str().unwrap_or_default().to_owned(),
            None => defaults.preset.clone(),
        }
    }

    fn preset(&self, name: &str) -> Result<Layer, ConfigError> {
        let file = self.presets_folder.join(format!("{name}.toml"));
        if is_plain_name(name) && file.is_file() {
            return Layer::read(&file);
        }
        if let Some(text) = presets::find_built_in(name) {
            return Layer::parse(format!("preset {name}"), text);
        }

        let known = presets::preset_names(&self.presets_folder);
        let hint = nearest(name, known.iter().map(String::as_str));
        Err(ConfigError::Unknown(Problem::new(
            format!("unknown preset `{name}`{hint}"),
            format!("choose one of {}", known.join(", ")),
        )))
    }
}

impl Layer {
    fn read(file: &Path) -> Result<Self, ConfigError> {
        let origin = file.display().to_string();
        match files::read_text(file) {
            Ok(text) => Self::parse(origin, &text),
            Err(error) => Err(ConfigError::unreadable(&origin, error)),
        }
    }

    fn parse(origin: String, text: &str) -> Result<Self, ConfigError> {
        let table = text
            .parse::<Table>()
            .map_err(|error| ConfigError::unreadable(&origin, error))?;

        let values = leaves(&table)
            .into_iter()
            .map(|(key, value)| match Setting::find(&key) {
                Some(setting) => Ok((setting, value)),
                None => Err(unknown_key(&origin, &key)),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { origin, values })
    }
}

/// `RAGSCOPE_RETRIEVER__K` is `retriever.k`. Variables of the program itself, such as
/// `RAGSCOPE_HOME`, are not settings.
fn environment_key(name: &str) -> Option<String> {
    let key = name
        .strip_prefix(ENVIRONMENT_PREFIX)?
        .to_lowercase()
        .replace("__", ".");
    (key.contains('.') || Setting::find(&key).is_some()).then_some(key)
}

/// The values of a table with their dotted names.
fn leaves(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(section) => {
                let inner = leaves(section).into_iter();
                found.extend(inner.map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            _ => found.push((name.clone(), value.clone())),
        }
    }
    found
}

fn unknown_key(origin: &str, key: &str) -> ConfigError {
    let hint = nearest(key, SETTINGS.iter().map(|setting| setting.key));
    let error = format!("{origin}: unknown setting `{key}`{hint}");
    ConfigError::Unknown(Problem::new(error, LIST_ADVICE))
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_keeps_its_default_when_it_is_read_from_text() {
        let defaults = Config::default();
        for setting in SETTINGS {
            assert!(!setting.doc().is_empty(), "{} has no doc", setting.key);
            let mut config = defaults.clone();
            let value = setting.parse(&setting.text(&defaults));
            setting.set(&mut config, &value).expect("its own default");
            assert_eq!(config, defaults, "{}", setting.key);
        }
        assert_eq!(
            Layers::defaults().config().expect("the defaults"),
            defaults,
            "the default preset changes a default"
        );
    }

    #[test]
    fn recordings_of_other_versions_are_read() {
        let mut recorded = serde_json::to_value(Config::default()).expect("JSON");
        recorded["retriever"]["k"] = 7.into();
        recorded["retriever"]["gone"] = 1.into();
        recorded["chunker"]["kind"] = "gone".into();
        recorded["gate"] = serde_json::Value::Null;

        let mut expected = Config::default();
        expected.retriever.k = 7;
        assert_eq!(Config::from_recording(&recorded), expected);
    }

    #[test]
    fn later_sources_win() {
        let mut layers = Layers::defaults();
        layers
            .set("environment", "retriever.k", "8")
            .expect("a known key");
        layers.set("flag", "retriever.k", "5").expect("a known key");
        layers
            .set("flag", "generator.gpu_layers", "7")
            .expect("a known key");
        layers
            .set("flag", "preset", "closed-book")
            .expect("a known key");
        let config = layers.config().expect("valid");
        assert_eq!(config.retriever.k, 5);
        assert_eq!(
            config.generator.gpu_layers,
            crate::config::choices::OrAuto::Set(7)
        );
        assert_eq!(
            config.retriever.kind,
            crate::config::choices::RetrieverKind::Off
        );
    }

    #[test]
    fn the_settings_of_a_corpus_are_weaker_than_those_of_the_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ragscope.toml");
        std::fs::write(&file, "[retriever]\nk = 2\npool = 7\n").expect("written");
        let mut layers = Layers::defaults();
        layers
            .set("user file", "retriever.k", "5")
            .expect("a known key");
        layers.add_base_layer(&file).expect("known keys");
        let config = layers.config().expect("valid");
        assert_eq!((config.retriever.k, config.retriever.pool), (5, 7));
    }

    #[test]
    fn mistakes_name_the_nearest_known_name() {
        let cases = [
            (
                "retreiver.k",
                "8",
                "unknown setting `retreiver.k`, did you mean `retriever.k`?",
            ),
            (
                "preset",
                "naiv",
                "unknown preset `naiv`, did you mean `naive`?",
            ),
            (
                "retriever.kind",
                "hybird",
                "--set: retriever.kind takes `off`, `bm25`, `vectors` or `hybrid`, not `hybird`, did you mean `hybrid`?",
            ),
            (
                "retriever.k",
                "many",
                "retriever.k takes a whole number between 1 and 1000, not `many`",
            ),
            (
                "retriever.k",
                "0",
                "retriever.k takes a whole number between 1 and 1000, not `0`",
            ),
            (
                "retriever.bm25_weight",
                "nan",
                "retriever.bm25_weight takes a number between 0 and 1, not `nan`",
            ),
            (
                "gate.threshold",
                "abc",
                "gate.threshold takes `auto`, or a number between 0 and 100, not `abc`",
            ),
            (
                "reranker.model",
                "words",
                "reranker.model takes `generator`, `embedder` or the name of a GGUF file, not `words`",
            ),
            (
                "filter.fall_back",
                "2",
                "unknown setting `filter.fall_back`, did you mean `filter.fallback`?",
            ),
            ("foo", "1", "--set: unknown setting `foo`"),
        ];
        for (key, value, expected) in cases {
            let mut layers = Layers::defaults();
            let error = match layers.set("--set", key, value) {
                Err(error) => error,
                Ok(()) => layers.config().expect_err("a mistake"),
            };
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn environment_names_become_keys() {
        assert_eq!(
            environment_key("RAGSCOPE_RETRIEVER__BM25_WEIGHT").as_deref(),
            Some("retriever.bm25_weight")
        );
        assert_eq!(environment_key("RAGSCOPE_SEED").as_deref(), Some("seed"));
        assert_eq!(environment_key("RAGSCOPE_HOME"), None);
        assert_eq!(environment_key("PATH"), None);
    }
}
