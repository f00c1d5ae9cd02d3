//! The summaries of the recorded runs that were read before, so that a list of 100,000 runs reads
//! what is new and nothing else.
//!
//! They are a cache beside the runs: a summary counts while its file has the size and the time that
//! it was read with, and without the cache every file is read again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::append_log::AppendLog;
use crate::event::RunSummary;
use crate::files::{self, FileLock, Links};

const FILE: &str = "summaries";
/// Changes with what a summary holds: the entries of another format are read again.
const FORMAT: &str = "summaries 3";
/// Entries of files that changed or are gone, beyond those in use, from which the cache is
/// rewritten.
const SPARE_ENTRIES: usize = 1000;

/// A file of a run, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunFile {
    /// Name of the file in the sessions folder.
    pub name: String,
    bytes: u64,
    modified_ns: u64,
}

impl RunFile {
    /// Returns the file of a folder's entry; `None` for one that is gone, or has no name in UTF-8:
    /// no run is written to such a file.
    pub fn from_entry(entry: &fs::DirEntry) -> Option<Self> {
        let name = entry.file_name().into_string().ok()?;
        let about = fs::metadata(entry.path()).ok()?;
        let modified = about.modified().ok()?.duration_since(UNIX_EPOCH).ok();
        Some(Self {
            name,
            bytes: about.len(),
            modified_ns: modified.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0)),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct SummaryEntry {
    file: RunFile,
    /// `None` for a file that is no recorded run.
    run: Option<RunSummary>,
}

/// The cache of one sessions folder.
pub(super) struct Summaries {
    folder: PathBuf,
    known: HashMap<String, SummaryEntry>,
    /// Entries in the file, with those that later ones replace.
    entries: usize,
    /// `None` where another process writes the cache, or nobody can.
    log: Option<AppendLog<SummaryEntry>>,
    _lock: Option<FileLock>,
}

impl Summaries {
    /// Reads the cache. Whatever is wrong with it, the runs themselves are still there to be read.
    pub fn open(folder: &Path) -> Self {
        let mut summaries = Self {
            folder: folder.to_owned(),
            known: HashMap::new(),
            entries: 0,
            log: None,
            _lock: None,
        };
        let path = folder.join(FILE);
        let opened = files::open_or_create(&path);
        let read_only = match opened.map(|file| (FileLock::try_take(&file).ok(), file)) {
            Ok((Some(lock), file)) => {
                let visit = |_, entry| summaries.know(entry);
                let log = AppendLog::open(file, &FORMAT, visit).ok();
                summaries.log = log;
                summaries._lock = Some(lock);
                None
            }
            Ok((None, file)) => Some(file),
            Err(_) => files::open(&path, Links::Followed).ok(),
        };
        if let Some(file) = read_only {
            let _ = AppendLog::read(&file, &FORMAT, |_, entry| summaries.know(entry));
        }
        summaries
    }

    fn know(&mut self, entry: SummaryEntry) {
        self.entries += 1;
        self.known.insert(entry.file.name.clone(), entry);
    }

    /// Returns the summary of a file that is still as it was read, and `Some(None)` for one that is
    /// no run.
    pub fn get(&self, file: &RunFile) -> Option<Option<RunSummary>> {
        let entry = self.known.get(&file.name)?;
        let run = || {
            let run = entry.run.as_ref()?;
            Some(RunSummary {
                // the folder may have another name since
                file: self.folder.join(&file.name).display().to_string(),
                ..run.clone()
            })
        };
        (entry.file == *file).then(run)
    }

    /// Adds what was read, and drops what is neither in `files` nor there any more once that is the
    /// larger part. A cache that cannot be written is none.
    pub fn keep(mut self, read: Vec<(RunFile, Option<RunSummary>)>, files: usize) {
        let Some(mut log) = self.log.take() else {
            return;
        };
        for (file, run) in read {
            let entry = SummaryEntry { file, run };
            if log.append(&entry).is_err() {
                return;
            }
            self.know(entry);
        }

        if self.entries > 2 * files + SPARE_ENTRIES {
            let _ = self.rewrite();
        }
    }

    /// Writes the entries of the files that are there. The lock of the old file is held until then.
    fn rewrite(mut self) -> io::Result<()> {
        self.known
            .retain(|name, _| self.folder.join(name).is_file());
        let bytes = AppendLog::compact(&FORMAT, self.known.into_values())?;
        files::replace(&self.folder.join(FILE), &bytes)
    }
}
