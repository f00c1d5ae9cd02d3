//! Files that collect beside the recorded runs, and the part of them beyond its limits.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::config::Paths;
use crate::files::FileLock;
use crate::index::{AbandonedIndex, find_abandoned};

use super::history;

/// The unit in which limits of age are given.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes that are kept of each kind, the newest: more than a year of evaluations takes, and little
/// beside the models.
const MAX_BYTES: u64 = 4 << 30;
/// Bytes of prompts that are kept: a model of 1.5 billion parameters takes 3 MB for one.
const MAX_PROMPT_BYTES: u64 = 256 << 20;
/// Age in days beyond which the index of a folder that no longer exists goes: a disk may be away
/// for that long.
const MAX_INDEX_DAYS: u32 = 90;
/// Questions that stay in the history of the input line, the newest.
const MAX_HISTORY: usize = 10_000;

/// A kind of what collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LeftoverKind {
    Evaluation,
    ProbeJournal,
    PassageFolder,
    /// The instructions of answers, as a model has read them.
    KeptPrompt,
    AbandonedIndex,
    /// A file that a process began to write before it was killed.
    UnfinishedFile,
    OldQuestion,
}

impl LeftoverKind {
    /// Returns the bytes that are kept of this kind.
    fn max_bytes(self) -> u64 {
        match self {
            Self::KeptPrompt => MAX_PROMPT_BYTES,
            _ => MAX_BYTES,
        }
    }

    /// Returns the kind as a noun that takes an `s`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Evaluation => "evaluation",
            Self::ProbeJournal => "probe journal",
            Self::PassageFolder => "passage folder",
            Self::KeptPrompt => "kept prompt",
            Self::AbandonedIndex => "unused index folder",
            Self::UnfinishedFile => "unfinished file",
            Self::OldQuestion => "old question",
        }
    }
}

/// Something beyond the limits.
#[derive(Debug, Serialize)]
pub(super) struct Leftover {
    pub kind: LeftoverKind,
    /// The file or folder.
    pub path: PathBuf,
    /// For an index, the folder of documents that no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Bytes that removing it frees.
    pub bytes: u64,
    /// The number of what is removed: questions of the history, or one.
    pub count: u64,
    #[serde(skip)]
    age: Duration,
}

/// Returns what is beyond the limits, by kind and then the newest first. What was written within
/// the last day is left out, because it may be in use; so is every link.
pub(super) fn leftovers(paths: &Paths, max_days: u32) -> Vec<Leftover> {
    let kept = [
        (LeftoverKind::Evaluation, paths.evaluations()),
        (LeftoverKind::ProbeJournal, paths.cache.join("probes")),
        (LeftoverKind::PassageFolder, paths.datasets()),
        (LeftoverKind::KeptPrompt, paths.kept_prompts()),
    ];
    let mut found = Vec::new();
    for (kind, folder) in &kept {
        let mut whole = Vec::new();
        for mut leftover in entries(*kind, folder) {
            if is_unfinished(&leftover.path) {
                leftover.kind = LeftoverKind::UnfinishedFile;
                found.push(leftover);
            } else {
                whole.push(leftover);
            }
        }
        found.extend(beyond(whole, kind.max_bytes(), max_days));
    }
    for folder in [paths.sessions(), paths.probes()] {
        let entries = entries(LeftoverKind::UnfinishedFile, &folder).into_iter();
        found.extend(entries.filter(|entry| is_unfinished(&entry.path)));
    }
    found.extend(unused_indexes(&paths.indexes()));
    found.retain(|leftover| leftover.age >= DAY);

    found.extend(old_questions(&paths.history_file()));
    found.sort_by_key(|leftover| (leftover.kind as u8, leftover.age));
    found
}

/// Returns the entries of a folder of the program, the newest first.
fn entries(kind: LeftoverKind, folder: &Path) -> Vec<Leftover> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Leftover> = entries
        .filter_map(|entry| Leftover::from_path(kind, entry.path()))
        .collect();
    found.sort_by_key(|leftover| leftover.age);
    found
}

/// Returns whether this is the name under which a file is written before it has its own.
fn is_unfinished(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    ending == "part" || ending == "draft" || ending.ends_with("-part")
}

/// Returns what is too old, or beyond the bytes that are kept, of one kind with the newest first.
fn beyond(found: Vec<Leftover>, max_bytes: u64, max_days: u32) -> Vec<Leftover> {
    let mut bytes = 0;
    let mut beyond = found;
    beyond.retain(|leftover| {
        bytes += leftover.bytes;
        bytes > max_bytes || is_older(leftover.age, max_days)
    });
    beyond
}

fn is_older(age: Duration, days: u32) -> bool {
    days > 0 && age > DAY * days
}

fn unused_indexes(indexes: &Path) -> Vec<Leftover> {
    let unused = find_abandoned(indexes).into_iter().filter_map(|index| {
        Some(Leftover {
            folder: Some(index.folder),
            ..Leftover::from_path(LeftoverKind::AbandonedIndex, index.root)?
        })
    });
    unused
        .filter(|leftover| is_older(leftover.age, MAX_INDEX_DAYS))
        .collect()
}

fn old_questions(file: &Path) -> Option<Leftover> {
    let old = history::beyond(file, MAX_HISTORY)?;
    Some(Leftover {
        kind: LeftoverKind::OldQuestion,
        path: file.to_owned(),
        folder: None,
        bytes: old.bytes,
        count: old.questions,
        age: Duration::ZERO,
    })
}

impl Leftover {
    /// Returns a file or folder with its size and age; `None` for a link, and for what cannot be
    /// read.
    fn from_path(kind: LeftoverKind, path: PathBuf) -> Option<Self> {
        let (bytes, modified) = measure(&path)?;
        let age = SystemTime::now().duration_since(modified);
        Some(Self {
            kind,
            path,
            folder: None,
            bytes,
            count: 1,
            age: age.unwrap_or_default(),
        })
    }

    /// Removes it, unless it is in use. Returns whether it is removed.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        let removed = match self.kind {
            LeftoverKind::OldQuestion => history::shorten(&self.path, MAX_HISTORY),
            LeftoverKind::AbandonedIndex => AbandonedIndex {
                folder: self.folder.clone().unwrap_or_default(),
                root: self.path.clone(),
            }
            .remove(),
            _ if self.path.is_dir() => fs::remove_dir_all(&self.path).map(|()| true),
            _ => remove_unlocked(&self.path),
        };

        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed,
        }
    }
}

/// Removes a file that no process holds the lock of.
fn remove_unlocked(file: &Path) -> io::Result<bool> {
    let opened = File::open(file)?;
    let Ok(_lock) = FileLock::try_take(&opened) else {
        return Ok(false);
    };
    fs::remove_file(file).map(|()| true)
}

/// Returns the bytes of a file, or of all files in a folder, and when it was last written. No link
/// is followed; `None` for one, and for what cannot be read.
fn measure(path: &Path) -> Option<(u64, SystemTime)> {
    let about = fs::symlink_metadata(path).ok()?;
    let modified = about.modified().ok()?;
    if about.is_file() {
        return Some((about.len(), modified));
    }
    if !about.is_dir() {
        return None;
    }

    let mut sum = (0, modified);
    for entry in fs::read_dir(path).ok()?.flatten() {
        if let Some((bytes, modified)) = measure(&entry.path()) {
            sum = (sum.0 + bytes, sum.1.max(modified));
        }
    }
    Some(sum)
}
