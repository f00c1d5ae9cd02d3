//! What an update has to do: the folder as it is, against the manifest.

use std::collections::BTreeMap;
use std::path::Path;

use super::manifest::{Manifest, SkippedEntry};
use super::reading::Candidate;
use crate::corpus::Walked;
use crate::event::SkippedFile;

/// What there is to do.
pub(super) struct Plan {
    /// Files to look into.
    pub candidates: Vec<Candidate>,
    /// Documents whose file is gone.
    pub removed: Vec<String>,
    /// Files that were skipped before and are gone.
    pub forgotten: Vec<String>,
    pub unchanged: u64,
    /// Files that are not looked into, and why.
    pub skipped: Vec<SkippedFile>,
}

impl Plan {
    /// Size and time tell whether a file has to be looked into; its checksum will tell whether it changed. `goes_on` says that the
    /// new generation shares with the one before; `indexes` is the canonical path of the folder of indexes.
    pub fn compare(
        before: Option<&Manifest>,
        goes_on: bool,
        walked: Walked,
        indexes: Option<&Path>,
    ) -> Self {
        let mut gone = before
            .map(|before| before.documents.clone())
            .unwrap_or_default();
        let mut unread = before
            .filter(|_| goes_on)
            .map(Manifest::skipped)
            .unwrap_or_default();
        let (candidates, removed, forgotten) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Self {
            candidates,
            removed,
            forgotten,
            unchanged: 0,
            skipped: walked.skipped,
        };
        // an index that lies inside the corpus is not part of it
        let own = |file: &Path| indexes.is_some_and(|indexes| file.starts_with(indexes));
        for file in walked.files.into_iter().filter(|found| !own(&found.file)) {
            let now = (file.bytes, file.modified_ns);
            let skipped = unread
                .remove(&file.path)
                .filter(|skipped| (skipped.bytes, skipped.modified_ns) == now);
            match (gone.remove(&file.path).filter(|_| goes_on), skipped) {
                (Some(entry), _) if (entry.bytes, entry.modified_ns) == now => plan.unchanged += 1,
                (Some(entry), _) if entry.bytes == file.bytes => {
                    plan.candidates.push(Candidate {
                        file,
                        known: Some(entry.blake3),
                    });
                }
                (None, Some(SkippedEntry { reason, .. })) => plan.skipped.push(SkippedFile {
                    path: file.path,
                    reason,
                }),
                (Some(_) | None, _) => plan.candidates.push(Candidate { file, known: None }),
            }
        }
        plan.removed = gone.into_keys().collect();
        plan.forgotten = unread.into_keys().collect();
        plan
    }

    /// Is the folder what the manifest says?
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty() && self.removed.is_empty() && self.forgotten.is_empty()
    }
}

impl Manifest {
    /// The files that need not be read again while they stay as they are: those that this version of the program skipped.
    fn skipped(&self) -> BTreeMap<String, SkippedEntry> {
        if self.program == Self::PROGRAM {
            self.skipped.clone()
        } else {
            BTreeMap::new()
        }
    }
}
