//! Finds settings: by name, by a difference, and with the section that they are in.

use serde::{Deserialize, Deserializer, de};

use super::declare::join_lines;
use super::settings::{Config, SECTIONS, SETTINGS, Setting};

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
        let of_section = SECTIONS
            .iter()
            .find(|(section, _)| Some(*section) == self.section());
        of_section.map(|(_, lines)| join_lines(lines))
    }
}

impl<'de> Deserialize<'de> for &'static Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Setting::find(&key).ok_or_else(|| de::Error::custom(format!("unknown setting `{key}`")))
    }
}
