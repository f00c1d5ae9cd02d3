//! The documents of an evaluation.

use std::path::Path;

use crate::cli::failure::Stopped;
use crate::config::Config;
use crate::corpus::{self, Document, FoundFile, ReadOptions};
use crate::event::Flow;

/// Returns the files of the corpus.
pub(super) fn files(folder: &Path, config: &Config) -> Result<Vec<FoundFile>, Stopped> {
    let walked = corpus::walk(folder, &config.corpus, &mut |_| Flow::Continue);
    Ok(walked?.files)
}

/// Returns the readable documents; indexing reports the others.
pub(super) fn documents(files: &[FoundFile], config: &Config) -> Vec<Document> {
    let options = ReadOptions::from(&config.corpus);
    files
        .iter()
        .filter_map(|file| corpus::read(file, &options).ok())
        .collect()
}
