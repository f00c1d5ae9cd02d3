//! The folders and the question of a command, which are one list of values.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::cli::failure::Stopped;

/// The folders and the question of a command. They are one argument, so that a flag can be anywhere
/// among them.
#[derive(Debug, Clone, Args)]
pub struct Asked {
    /// Folders of documents, searched as one corpus, and last your question or query
    #[arg(value_name = "FOLDER", required = true, num_args = 1..)]
    asked: Vec<OsString>,
}

impl Asked {
    /// Returns the folders, and the question, which is the last value.
    ///
    /// # Errors
    /// On a single value, and on a question that is not UTF-8.
    pub fn split(&self) -> Result<(Vec<PathBuf>, &str), Stopped> {
        let advice = "ragscope <COMMAND> [OPTIONS] <FOLDER>... <QUESTION>";
        let wrong = |error| Stopped::usage(error, advice);
        let parts = self.asked.split_last();
        let Some((question, folders)) = parts.filter(|(_, folders)| !folders.is_empty()) else {
            let error = "the following required arguments were not provided: <QUESTION>";
            return Err(wrong(error));
        };
        let question = question.to_str();
        let question = question.ok_or_else(|| wrong("the question is not UTF-8"))?;
        Ok((folders.iter().map(PathBuf::from).collect(), question))
    }
}
