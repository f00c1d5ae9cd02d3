//! The options of the screen.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use crate::config::{Config, Paths};

use super::diagnosing::Diagnose;

/// The options of the screen.
#[derive(Debug, Clone)]
pub struct Options {
    /// The settings at the start of the program.
    pub config: Config,
    /// Whether something sets the number of chunks.
    pub sets_chunks: bool,
    /// The folders of themes, keymap, presets and history.
    pub paths: Paths,
    /// The folder that runs and screens are saved in, which is the working directory.
    pub save_folder: PathBuf,
    /// The folders of documents that were opened before, the last one first.
    pub recent_folders: Vec<PathBuf>,
    /// Whether folders are being opened already.
    pub opens_folders: bool,
    /// The time zone of dates.
    pub time_zone: TimeZone,
    /// Whether the locale shows no more than ASCII.
    pub has_plain_locale: bool,
    /// Whether the terminal is known to show hyperlinks.
    pub has_hyperlinks: bool,
    /// The method of a diagnosis, which the screen itself does not know.
    pub diagnose: Diagnose,
    /// The suggested questions.
    pub suggestions: Vec<Suggestion>,
}

/// A suggested question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub question: String,
    /// The preset that it is meant for, where it is prepared.
    pub preset: Option<String>,
    /// Points the user to what the run demonstrates.
    pub shows: String,
}
