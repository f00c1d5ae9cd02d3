//! What the program hands to the screen when it opens.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use crate::config::{Config, Paths};

/// What the screen needs to know from the program.
#[derive(Debug, Clone)]
pub struct Options {
    /// The settings in force, before anything is changed on the screen.
    pub config: Config,
    /// Where themes, the keymap, presets and the history of questions are.
    pub paths: Paths,
    /// Where runs and screens are saved.
    pub save_folder: PathBuf,
    /// The time zone of dates.
    pub time_zone: TimeZone,
    /// Questions to offer before the first one.
    pub suggestions: Vec<Suggestion>,
}

/// A question to offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub question: String,
    /// The preset that it is meant for.
    pub preset: String,
    /// What to look at in the answer.
    pub shows: String,
}
