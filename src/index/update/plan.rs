//! Plans an update: compares the folder with the manifest.

use std::collections::BTreeMap;
use std::path::Path;

use super::reading::FileToRead;
use crate::corpus::{Format, FoundFile, ReadOptions, Walked};
use crate::event::{OmittedFiles, SkippedFile};
use crate::index::manifest::{DocumentEntry, Manifest, SkippedEntry};

/// The work of an update.
#[derive(Default)]
pub(in crate::index) struct UpdatePlan {
    /// Files to read.
    pub candidates: Vec<FileToRead>,
    /// Documents whose file is gone.
    pub removed: Vec<String>,
    /// Files that were skipped before and are gone.
    pub forgotten: Vec<String>,
    pub unchanged: u64,
    /// Files that are not read, and why.
    pub skipped: Vec<SkippedFile>,
    /// Files that settings leave out, once they were counted.
    pub omitted: Vec<OmittedFiles>,
}

impl UpdatePlan {
    /// Compares a walk with the manifest. A file whose size or times changed is read; its checksum
    /// then decides whether it changed. `can_extend` says that the new generation shares files with
    /// the previous one; `indexes` is the canonical path of the folder of indexes.
    pub fn compare(
        before: Option<&Manifest>,
        can_extend: bool,
        walked: Walked,
        indexes: Option<&Path>,
        options: &ReadOptions,
    ) -> Self {
        let mut gone = before
            .map(|before| before.documents.clone())
            .unwrap_or_default();
        let mut unread = before
            .filter(|_| can_extend)
            .map(|before| before.skipped_files(options))
            .unwrap_or_default();
        let mut plan = Self {
            skipped: walked.skipped,
            ..Self::default()
        };

        // an index inside the corpus is not part of it
        let is_own = |file: &Path| indexes.is_some_and(|indexes| file.starts_with(indexes));
        let files = walked.files.into_iter();
        for file in files.filter(|found| !is_own(&found.file)) {
            let skipped = unread.remove(&file.path);
            let known = gone
                .remove(&file.path)
                .filter(|entry| can_extend && entry.is_read_with(options));
            plan.add(file, known, skipped);
        }
        plan.removed = gone.into_keys().collect();
        plan.forgotten = unread.into_keys().collect();
        plan
    }

    /// Adds a file with what the manifest knows of it: as a document, or as one that was skipped.
    fn add(
        &mut self,
        file: FoundFile,
        known: Option<DocumentEntry>,
        skipped: Option<SkippedEntry>,
    ) {
        let now = (file.bytes, file.times);
        let skipped = skipped.filter(|skipped| (skipped.bytes, skipped.times) == now);

        let indexed_blake3 = match (known, skipped) {
            (Some(entry), _) if (entry.bytes, entry.times) == now => {
                self.unchanged += 1;
                return;
            }
            (None, Some(SkippedEntry { reason, .. })) => {
                let path = file.path;
                self.skipped.push(SkippedFile { path, reason });
                return;
            }
            (known, _) => known.filter(|entry| entry.bytes == file.bytes),
        };

        self.candidates.push(FileToRead {
            file,
            indexed_blake3: indexed_blake3.map(|entry| entry.blake3),
        });
    }

    /// Returns whether the index is up to date.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty() && self.removed.is_empty() && self.forgotten.is_empty()
    }
}

impl Manifest {
    /// Returns the files that are not read again while they are unchanged: those that this version
    /// of the program skipped with these settings.
    fn skipped_files(&self, options: &ReadOptions) -> BTreeMap<String, SkippedEntry> {
        if self.program != Self::PROGRAM {
            return BTreeMap::new();
        }
        let mut skipped = self.skipped.clone();
        skipped.retain(|_, entry| entry.reading == options.key());
        skipped
    }
}

impl DocumentEntry {
    /// Returns whether a binary document was read by this version of its reader, with these
    /// settings.
    fn is_read_with(&self, options: &ReadOptions) -> bool {
        let reading = Format::from_name(&self.format).map(|format| format.reading(options));
        reading.unwrap_or_default() == self.reading
    }
}
