//! The interface between a diagnosis and the program: runs with other settings, ranks of a passage,
//! files that are not in the index.

use crate::event::{OtherFiles, TracedLookup};

use super::diagnosis::Diagnosis;
use super::run::Run;

/// Settings on top of those of the run.
pub type Settings = Vec<(String, String)>;

/// A program that can be asked the question again.
pub trait Inquiry {
    type Error;

    /// Asks the question with these settings on top.
    ///
    /// # Errors
    /// Whatever prevents the question from being asked; a run that fails is a run.
    fn ask(&mut self, settings: &Settings) -> Result<Run, Self::Error>;

    /// Finds the chunks that hold a phrase, with their ranks for these queries.
    ///
    /// # Errors
    /// Failures of the index.
    fn trace(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
    ) -> Result<Vec<TracedLookup>, Self::Error>;

    /// Searches the files that are not in the index for a phrase.
    ///
    /// # Errors
    /// A folder that cannot be read.
    fn search_other_files(&mut self, phrase: &str) -> Result<OtherFiles, Self::Error>;

    /// Takes what is known before a change is tried. Nothing happens by default.
    fn show(&mut self, _so_far: &Diagnosis, _change: &str) {}
}
