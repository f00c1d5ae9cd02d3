//! Finds settings: by name, by a difference, and with the section that they are in.

use serde::{Deserialize, Deserializer, de};

use super::settings::{Config, SECTIONS, SETTINGS, Setting};
use super::value::join_lines;

impl Setting {
    /// Returns the setting with a dotted name.
    pub fn find(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// Returns the settings in which two configurations differ.
    pub fn differing(a: &Config, b: &Config) -> impl Iterator<Item = &'static Self> {
        SETTINGS
            .iter()
            .filter(|setting| setting.value(a) != setting.value(b))
    }

    /// Returns the explanation of its section; `None` at the top level.
    pub fn section_doc(&self) -> Option<String> {
        self.section().map(|section| join_lines(doc_lines(section)))
    }
}

/// Returns the explanation of a section.
pub(super) fn doc_lines(section: &str) -> &'static [&'static str] {
    let found = SECTIONS.iter().find(|(name, _)| *name == section);
    found.map_or(&[], |(_, doc_lines)| doc_lines)
}

impl<'de> Deserialize<'de> for &'static Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Setting::find(&key).ok_or_else(|| de::Error::custom(format!("unknown setting `{key}`")))
    }
}
