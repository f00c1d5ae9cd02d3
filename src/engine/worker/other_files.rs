//! A search in the files of the open folders that are not in the index.

use std::collections::HashSet;

use crate::config::CorpusSettings;
use crate::corpus::{self, Document, FoundFile, ReadOptions};
use crate::engine::error::RunError;
use crate::event::{OtherFiles, SessionEvent, SkippedFile};
use crate::index::IndexError;
use crate::letters;

use super::operations::Worker;
use super::stamp::Publish;

/// Files outside of the index that are read for a phrase.
const MAX_OTHER_FILES: usize = 500;

impl Worker {
    /// Searches the files that are not in the index for a phrase, and emits what is found. An empty
    /// phrase is in none of them.
    ///
    /// # Errors
    /// Settings; the index or a folder cannot be read.
    pub fn search_other_files(
        &mut self,
        phrase: &str,
        publish: Publish<'_>,
    ) -> Result<OtherFiles, RunError> {
        let settings = self.layers.config()?.corpus;
        let everything = CorpusSettings {
            hidden: true,
            gitignore: false,
            include: Vec::new(),
            ..settings.clone()
        };
        let documents = self.documents()?;
        let indexed: HashSet<&str> = documents.iter().map(String::as_str).collect();
        let words = letters::separate_words(phrase);
        let options = ReadOptions::from(&settings);
        let stop = self.models.stop_flag();

        let mut files = OtherFiles::default();
        for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
            let walked = corpus::walk(folder, &everything, &mut |_| stop.flow())
                .map_err(IndexError::from)?;
            files.unreadable.extend(walked.skipped);

            let is_other = |file: &&FoundFile| !indexed.contains(file.path.as_str());
            for file in walked.files.iter().filter(is_other).take(MAX_OTHER_FILES) {
                match corpus::read(file, &options) {
                    Ok(document) if holds(&document, &words) => {
                        let holding = &mut files.holding;
                        holding.get_or_insert_with(|| left_out(file, &settings));
                    }
                    Ok(_) => {}
                    Err(skipped) => files.unreadable.push(skipped),
                }
            }
        }
        let searched = SessionEvent::OtherFilesSearched {
            phrase: phrase.to_owned(),
            files: files.clone(),
        };
        self.emit(searched, publish);
        Ok(files)
    }
}

fn holds(document: &Document, words: &str) -> bool {
    letters::holds(&letters::separate_words(&document.text), words)
}

/// Returns why a file that can be read is not in the index.
fn left_out(file: &FoundFile, settings: &CorpusSettings) -> SkippedFile {
    let is_hidden = file.path.split('/').any(|name| name.starts_with('.'));
    let reason = if is_hidden && !settings.hidden {
        "hidden files are left out (corpus.hidden = true reads them)"
    } else if settings.gitignore {
        "an ignore file or corpus.include leaves it out (corpus.gitignore = false reads it)"
    } else {
        "corpus.include leaves it out"
    };
    SkippedFile::new(&file.path, reason)
}
