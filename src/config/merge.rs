//! Merging the sources of settings as tables, and the list of settings with their docs.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{CHOICES, Config, Paths, RANGES};

const DEFAULTS: &str = include_str!("../../config/default.toml");
const PRESETS: &[(&str, &str)] = &[
    (
        "closed-book",
        include_str!("../../config/presets/closed-book.toml"),
    ),
    ("naive", include_str!("../../config/presets/naive.toml")),
    (
        "dense-rag",
        include_str!("../../config/presets/dense-rag.toml"),
    ),
    ("searag", include_str!("../../config/presets/searag.toml")),
    (
        "chunkrag",
        include_str!("../../config/presets/chunkrag.toml"),
    ),
    (
        "saki-rag",
        include_str!("../../config/presets/saki-rag.toml"),
    ),
    ("full", include_str!("../../config/presets/full.toml")),
];
const ENVIRONMENT_PREFIX: &str = "RAGSCOPE_";

/// What can be wrong with settings. Every message names the source and the nearest known name.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{origin}: unknown setting `{key}`{hint}")]
    UnknownKey {
        origin: String,
        key: String,
        hint: String,
    },
    #[error("unknown preset `{name}`{hint}; known are {known}")]
    UnknownPreset {
        name: String,
        hint: String,
        known: String,
    },
    #[error("{origin}: `{key}` cannot be `{value}`{hint}")]
    BadValue {
        origin: String,
        key: String,
        value: String,
        hint: String,
    },
    #[error("{origin}: {reason}")]
    Unreadable { origin: String, reason: String },
}

/// A setting as `config/default.toml` declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Dotted name, e.g. `retriever.k`.
    pub key: String,
    /// The comment above it.
    pub doc: String,
    /// The default as TOML text.
    pub default: String,
    /// The names it may take; empty when it is not a choice.
    pub choices: Vec<String>,
}

/// The text of `config/default.toml`, comments included.
#[must_use]
pub fn defaults_toml() -> &'static str {
    DEFAULTS
}

/// The sources of settings, each a table, kept apart so that a run can lay further ones on top.
#[derive(Debug, Clone)]
pub struct Layers {
    presets_folder: PathBuf,
    /// Weakest first: user file, environment, flags. The preset goes under all of them.
    above_preset: Vec<(String, Table)>,
}

impl Layers {
    /// Read the user file (when there is one) and the environment.
    ///
    /// # Errors
    /// An unreadable user file; unknown keys or values in either.
    pub fn load(paths: &Paths) -> Result<Self, ConfigError> {
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            // a variable that is not Unicode is none of ours: our names are plain, and their values have to be
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::from_sources(paths, std::env::vars_os().filter_map(readable))
    }

    fn from_sources(
        paths: &Paths,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut layers = Self {
            presets_folder: paths.config.join("presets"),
            above_preset: Vec::new(),
        };
        let file = paths.config_file();
        if file.exists() {
            layers.push(&file.display().to_string(), read_table(&file)?)?;
        }
        for (name, value) in environment {
            if let Some(key) = environment_key(&name) {
                layers.set(&format!("environment variable {name}"), &key, &value)?;
            }
        }
        Ok(layers)
    }

    /// Only the built-in defaults: what tests and the demo start from.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            presets_folder: PathBuf::new(),
            above_preset: Vec::new(),
        }
    }

    /// Lay one setting over all earlier ones. `value` is TOML, or plain text for settings that are text.
    ///
    /// # Errors
    /// An unknown key.
    pub fn set(&mut self, origin: &str, key: &str, value: &str) -> Result<(), ConfigError> {
        let Some(default) = get(&defaults(), key).cloned() else {
            return Err(unknown_key(origin, key));
        };
        let mut table = Table::new();
        put(&mut table, key, read_value(&default, value));
        self.push(origin, table)
    }

    /// Lay the settings of a file under all others, so that only the preset and the defaults are weaker: what a corpus
    /// brings along, such as `assets/demo/ragscope.toml`.
    ///
    /// # Errors
    /// An unreadable file; an unknown key.
    pub fn lay_beneath(&mut self, file: &Path) -> Result<(), ConfigError> {
        let (origin, table) = (file.display().to_string(), read_table(file)?);
        check_keys(&origin, &table)?;
        self.above_preset.insert(0, (origin, table));
        Ok(())
    }

    /// The same layers with `key = value` pairs on top, as a run asks for them.
    ///
    /// # Errors
    /// An unknown key.
    pub fn with(&self, overrides: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut layers = self.clone();
        for (key, value) in overrides {
            layers.set("setting", key, value)?;
        }
        Ok(layers)
    }

    fn push(&mut self, origin: &str, table: Table) -> Result<(), ConfigError> {
        check_keys(origin, &table)?;
        self.above_preset.push((origin.to_owned(), table));
        Ok(())
    }

    /// Merge everything and read it once.
    ///
    /// # Errors
    /// An unknown preset; a value of the wrong kind.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let mut merged = defaults();
        let name = self.preset_name(&merged);
        let (origin, preset) = self.preset(&name)?;
        check_keys(&origin, &preset)?;
        let mut layers = vec![(origin, preset)];
        layers.extend(self.above_preset.iter().cloned());
        for (origin, table) in layers {
            merge(&mut merged, &table);
            check_values(&origin, &table, &merged)?;
        }
        merged
            .try_into()
            .map_err(|error: toml::de::Error| ConfigError::Unreadable {
                origin: "settings".to_owned(),
                reason: error.message().to_owned(),
            })
    }

    fn preset_name(&self, defaults: &Table) -> String {
        self.above_preset
            .iter()
            .rev()
            .find_map(|(_, table)| table.get("preset"))
            .or_else(|| defaults.get("preset"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }

    fn preset(&self, name: &str) -> Result<(String, Table), ConfigError> {
        let file = self.presets_folder.join(format!("{name}.toml"));
        if is_plain_name(name) && file.is_file() {
            return Ok((file.display().to_string(), read_table(&file)?));
        }
        if let Some((name, text)) = PRESETS.iter().find(|(known, _)| *known == name) {
            return Ok((format!("preset {name}"), parse_table(name, text)?));
        }
        let known = preset_names(&self.presets_folder);
        Err(ConfigError::UnknownPreset {
            name: name.to_owned(),
            hint: nearest(name, known.iter().map(String::as_str)),
            known: known.join(", "),
        })
    }

    /// The folder of the user's presets.
    #[must_use]
    pub fn presets_folder(&self) -> &Path {
        &self.presets_folder
    }
}

/// The presets by name: the built-in ones, then the user's.
#[must_use]
pub fn preset_names(presets_folder: &Path) -> Vec<String> {
    names_with_own(PRESETS, presets_folder)
}

/// The names of embedded files, then those of the TOML files that the user has beside them in `folder`, sorted.
#[must_use]
pub fn names_with_own(built_in: &[(&str, &str)], folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = built_in
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut own: Vec<String> = files
        .filter_map(|entry| {
            Some(
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".toml")?
                    .to_owned(),
            )
        })
        .filter(|name| !names.contains(name))
        .collect();
    own.sort();
    names.extend(own);
    names
}

/// Every setting in the order of `config/default.toml`.
#[must_use]
pub fn settings_list() -> Vec<Setting> {
    let mut settings = Vec::new();
    let (mut section, mut doc) = (String::new(), Vec::new());
    for line in DEFAULTS.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            doc.push(comment.trim());
        } else if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
            doc.clear();
        } else if let Some((name, default)) = line.split_once(" = ") {
            let key = format!("{section}{name}");
            let choices = CHOICES
                .iter()
                .find(|(known, _)| *known == key)
                .map_or(&[][..], |(_, names)| names);
            settings.push(Setting {
                doc: doc.join(" "),
                default: default.to_owned(),
                choices: choices.iter().map(|name| (*name).to_owned()).collect(),
                key,
            });
            doc.clear();
        } else {
            doc.clear();
        }
    }
    settings
}

fn defaults() -> Table {
    DEFAULTS.parse().unwrap_or_default()
}

fn read_table(file: &Path) -> Result<Table, ConfigError> {
    let origin = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| ConfigError::Unreadable {
        origin: origin.clone(),
        reason: error.to_string(),
    })?;
    parse_table(&origin, &text)
}

fn parse_table(origin: &str, text: &str) -> Result<Table, ConfigError> {
    text.parse()
        .map_err(|error: toml::de::Error| ConfigError::Unreadable {
            origin: origin.to_owned(),
            reason: error.to_string(),
        })
}

/// `RAGSCOPE_RETRIEVER__K` is `retriever.k`. Names that are settings of the program itself, such as `RAGSCOPE_HOME`, are not keys.
fn environment_key(name: &str) -> Option<String> {
    let key = name
        .strip_prefix(ENVIRONMENT_PREFIX)?
        .to_lowercase()
        .replace("__", ".");
    (key.contains('.') || get(&defaults(), &key).is_some()).then_some(key)
}

fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((section, rest)) => table
            .get(section)?
            .as_table()
            .and_then(|table| get(table, rest)),
        None => table.get(key).filter(|value| !value.is_table()),
    }
}

fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        Some((section, rest)) => {
            let inner = table
                .entry(section)
                .or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
        None => {
            table.insert(key.to_owned(), value);
        }
    }
}

/// Text settings take text as it is; the others are read as TOML (whole numbers stand for fractions too).
fn read_value(default: &Value, text: &str) -> Value {
    let parsed = format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("v"));
    match (default, parsed) {
        (Value::String(_), Some(Value::String(quoted))) => Value::String(quoted),
        (Value::String(_), _) => Value::String(text.to_owned()),
        (Value::Float(_), Some(Value::Integer(whole))) => Value::Float(whole as f64),
        (_, Some(value)) => value,
        (_, None) => Value::String(text.to_owned()),
    }
}

fn merge(under: &mut Table, over: &Table) {
    for (name, value) in over {
        match (under.get_mut(name), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            _ => {
                under.insert(name.clone(), value.clone());
            }
        }
    }
}

fn leaves(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(
                    leaves(inner)
                        .into_iter()
                        .map(|(key, value)| (format!("{name}.{key}"), value)),
                );
            }
            _ => found.push((name.clone(), value.clone())),
        }
    }
    found
}

fn check_keys(origin: &str, table: &Table) -> Result<(), ConfigError> {
    let known = defaults();
    match leaves(table)
        .into_iter()
        .find(|(key, _)| get(&known, key).is_none())
    {
        Some((key, _)) => Err(unknown_key(origin, &key)),
        None => Ok(()),
    }
}

/// Try the merged table as a whole, and name the one setting of this source that breaks it.
fn check_values(origin: &str, table: &Table, merged: &Table) -> Result<(), ConfigError> {
    if merged.clone().try_into::<Config>().is_ok() {
        return check_ranges(origin, table);
    }
    for (key, value) in leaves(table) {
        let mut alone = defaults();
        put(&mut alone, &key, value.clone());
        if let Err(error) = alone.try_into::<Config>() {
            let error: toml::de::Error = error;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let hint = match CHOICES.iter().find(|(known, _)| *known == key) {
                Some((_, names)) => {
                    format!(
                        "{}; known are {}",
                        nearest(&text, names.iter().copied()),
                        names.join(", ")
                    )
                }
                None => format!(": {}", error.message().trim()),
            };
            return Err(ConfigError::BadValue {
                origin: origin.to_owned(),
                key,
                value: text,
                hint,
            });
        }
    }
    Ok(())
}

/// A number out of its range would only fail later and elsewhere; `nan` is in no range.
fn check_ranges(origin: &str, table: &Table) -> Result<(), ConfigError> {
    for &(key, least, most) in RANGES {
        let number = match get(table, key) {
            Some(Value::Float(number)) => *number,
            Some(Value::Integer(whole)) => *whole as f64,
            _ => continue,
        };
        if !(least..=most).contains(&number) {
            return Err(ConfigError::BadValue {
                origin: origin.to_owned(),
                key: key.to_owned(),
                value: number.to_string(),
                hint: format!(": give a number from {least} to {most}"),
            });
        }
    }
    Ok(())
}

fn unknown_key(origin: &str, key: &str) -> ConfigError {
    let known = leaves(&defaults());
    ConfigError::UnknownKey {
        origin: origin.to_owned(),
        key: key.to_owned(),
        hint: nearest(key, known.iter().map(|(name, _)| name.as_str())),
    }
}

/// `, did you mean …` with the nearest known name; empty when nothing is known.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)))
        .map_or_else(String::new, |best| format!(", did you mean `{best}`?"))
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
    fn every_setting_has_a_doc_and_the_defaults_are_readable() {
        let config = Layers::defaults()
            .config()
            .expect("the defaults are a configuration");
        assert_eq!(config.preset, "naive");
        let settings = settings_list();
        assert_eq!(settings.len(), leaves(&defaults()).len());
        for (key, ..) in RANGES {
            assert!(
                settings.iter().any(|setting| setting.key == *key),
                "{key} has a range and does not exist"
            );
        }
        for setting in settings {
            assert!(!setting.doc.is_empty(), "{} has no comment", setting.key);
            for choice in &setting.choices {
                assert!(
                    setting.doc.contains(choice.as_str()),
                    "{}: comment does not name {choice}",
                    setting.key
                );
            }
        }
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
            super::super::GpuLayers::Count(7)
        );
        assert_eq!(config.retriever.kind, super::super::RetrieverKind::Off);
    }

    #[test]
    fn what_a_corpus_brings_along_is_weaker_than_the_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ragscope.toml");
        std::fs::write(&file, "[retriever]\nk = 2\npool = 7\n").expect("written");
        let mut layers = Layers::defaults();
        layers
            .set("user file", "retriever.k", "5")
            .expect("a known key");
        layers.lay_beneath(&file).expect("known keys");
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
                "unknown preset `naiv`, did you mean `naive`?; known are closed-book, naive, ",
            ),
            (
                "retriever.kind",
                "hybird",
                "`retriever.kind` cannot be `hybird`, did you mean `hybrid`?; known are off, hybrid",
            ),
            ("retriever.k", "many", "`retriever.k` cannot be `many`"),
            (
                "retriever.k",
                "0",
                "`retriever.k` cannot be `0`: give a number from 1 to 1000",
            ),
            (
                "retriever.rrf_k",
                "nan",
                "`retriever.rrf_k` cannot be `NaN`",
            ),
            (
                "generator.top_p",
                "1.5",
                "`generator.top_p` cannot be `1.5`: give a number from 0 to 1",
            ),
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
