//! The declaration of a setting, and the macro that derives everything else from it.

use serde::{Serialize, Serializer};
use toml::{Table, Value};

use super::names::nearest;
use super::value::{Choice, join_lines};

/// Readers of a setting besides the runs, which a change of it concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingReader {
    /// Indexing: a change needs the folder indexed again.
    Index,
    /// The ranking of chunks for a query, which a passage trace repeats.
    Ranking,
    /// Sampling from a loaded generator: a change does not load it again.
    Sampling,
    /// The journal of sentences collected for a probe: a change starts a new one.
    ProbeJournal,
    /// The training of a probe, and no run.
    ProbeTraining,
    /// The program, once, when it starts.
    Start,
    /// The screen, at once.
    Screen,
}

/// A setting of the configuration `C`, as `settings!` declares it.
#[derive(Debug)]
pub struct Declared<C> {
    /// Dotted name, e.g. `retriever.k`.
    pub key: &'static str,
    /// The names that it may have, with what each means; empty for a setting of another type.
    pub choices: &'static [Choice],
    pub(super) doc_lines: &'static [&'static str],
    pub(super) range: Option<[f64; 2]>,
    /// Readers of the whole section, and of this setting alone.
    pub(super) readers: [&'static [SettingReader]; 2],
    pub(super) takes: fn() -> String,
    pub(super) read: fn(&C) -> Value,
    /// `None` when the value is not of the setting's type.
    pub(super) write: fn(&mut C, &Value) -> Option<()>,
}

/// A setting is written as its dotted name.
impl<C> Serialize for Declared<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.key.serialize(serializer)
    }
}

impl<C: Default> Declared<C> {
    /// Returns the explanation, without that of its choices.
    pub fn doc(&self) -> String {
        join_lines(self.doc_lines)
    }

    /// Returns the section that it is in; `None` at the top level.
    pub fn section(&self) -> Option<&'static str> {
        self.key.split_once('.').map(|(section, _)| section)
    }

    /// Returns the name without the section.
    pub fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    /// Returns whether `reader` reads it.
    pub fn is_read_by(&self, reader: SettingReader) -> bool {
        self.readers.iter().any(|readers| readers.contains(&reader))
    }

    /// Returns when it is read, for a setting that no run reads.
    pub fn read_later(&self) -> Option<&'static str> {
        if self.is_read_by(SettingReader::Index) {
            Some("when a folder is indexed")
        } else if self.is_read_by(SettingReader::ProbeTraining) {
            Some("when a probe is trained")
        } else if self.is_read_by(SettingReader::Start) {
            Some("when the program starts")
        } else {
            None
        }
    }

    /// Returns its value in a configuration.
    pub fn value(&self, config: &C) -> Value {
        (self.read)(config)
    }

    /// Returns its value as it is written after `--set key=`.
    pub fn text(&self, config: &C) -> String {
        match self.value(config) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Returns what it takes, in words, e.g. `a number between 0 and 1`.
    fn takes(&self) -> String {
        let takes = (self.takes)();
        match self.range {
            Some([min, max]) => format!("{takes} between {min} and {max}"),
            None => takes,
        }
    }

    /// Reads the text of a flag or variable: as it is for a setting that is text, as TOML for
    /// others.
    pub fn parse(&self, text: &str) -> Value {
        let is_text = self.value(&C::default()).is_str();
        let parsed = format!("v = {text}")
            .parse::<Table>()
            .ok()
            .and_then(|mut table| table.remove("v"));
        match parsed {
            Some(value) if value.is_str() || !is_text => value,
            _ => Value::String(text.to_owned()),
        }
    }

    /// Changes it in a configuration.
    ///
    /// # Errors
    /// What it takes instead of this value, for the user.
    pub fn set(&self, config: &mut C, value: &Value) -> Result<(), String> {
        let written = self.is_in_range(value).then(|| (self.write)(config, value));
        written.flatten().ok_or_else(|| self.refusal(value))
    }

    fn is_in_range(&self, value: &Value) -> bool {
        let number = match value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match (self.range, number) {
            // NaN is in no range
            (Some([min, max]), Some(number)) => (min..=max).contains(&number),
            (None, _) | (_, None) => true,
        }
    }

    fn refusal(&self, value: &Value) -> String {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let hint = nearest(&value, self.choices.iter().map(|choice| choice.name));
        format!("{} takes {}, not `{value}`{hint}", self.key, self.takes())
    }
}

/// Declares the settings: the structs that hold them, their defaults, and [`SETTINGS`], from which
/// `config/default.toml`, the settings overlay, the merging of sources and their errors come.
///
/// A field reads `name: Type = DEFAULT, in MIN..=MAX, for READER READER;`, where the range and the
/// readers are optional. Readers after a section's type are those of all its fields.
macro_rules! settings {
    (
        $(#[doc = $config_doc:literal])+
        Config {
            $(
                $(#[doc = $top_doc:literal])+
                $top:ident: $top_type:ty = $top_default:expr $(, for $($top_reader:ident)+)?;
            )+
        }
        $(
            $(#[doc = $section_doc:literal])+
            $section:ident: $section_type:ident $(, for $($section_reader:ident)+)? {
                $(
                    $(#[doc = $doc:literal])+
                    $field:ident: $type:ty = $default:expr
                        $(, in $min:literal..=$max:literal)?
                        $(, for $($reader:ident)+)?;
                )+
            }
        )+
    ) => {
        $(#[doc = $config_doc])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            $($(#[doc = $top_doc])+ pub $top: $top_type,)+
            $($(#[doc = $section_doc])+ pub $section: $section_type,)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    $($top: $top_default,)+
                    $($section: $section_type::default(),)+
                }
            }
        }

        $(
            $(#[doc = $section_doc])+
            #[derive(Debug, Clone, PartialEq)]
            pub struct $section_type {
                $($(#[doc = $doc])+ pub $field: $type,)+
            }

            impl $section_type {
                const READERS: &'static [SettingReader] = &[$($(SettingReader::$section_reader),+)?];
            }

            impl Default for $section_type {
                fn default() -> Self {
                    Self { $($field: $default,)+ }
                }
            }
        )+

        /// A setting as it is declared.
        pub type Setting = Declared<Config>;

        /// Every setting, in the order of `config/default.toml`.
        pub static SETTINGS: &[Setting] = &[
            $(Setting {
                key: stringify!($top),
                choices: <$top_type as SettingType>::CHOICES,
                doc_lines: &[$($top_doc),+],
                range: None,
                readers: [&[], &[$($(SettingReader::$top_reader),+)?]],
                takes: <$top_type as SettingType>::takes,
                read: |config| config.$top.to_value(),
                write: |config, value| {
                    config.$top = SettingType::from_value(value)?;
                    Some(())
                },
            },)+
            $($(Setting {
                key: concat!(stringify!($section), ".", stringify!($field)),
                choices: <$type as SettingType>::CHOICES,
                doc_lines: &[$($doc),+],
                range: [$([$min as f64, $max as f64])?].first().copied(),
                readers: [$section_type::READERS, &[$($(SettingReader::$reader),+)?]],
                takes: <$type as SettingType>::takes,
                read: |config| config.$section.$field.to_value(),
                write: |config, value| {
                    config.$section.$field = SettingType::from_value(value)?;
                    Some(())
                },
            },)+)+
        ];

        /// The sections with their docs.
        pub(super) static SECTIONS: &[(&str, &[&str])] =
            &[$((stringify!($section), &[$($section_doc),+]),)+];
    };
}

pub(super) use settings;
