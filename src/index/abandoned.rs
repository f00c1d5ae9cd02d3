//! The folders that have an index, and the indexes of those that no longer exist.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::layout::{Layout, Lock};
use crate::files;

/// An index whose folder of documents no longer exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbandonedIndex {
    /// The folder of documents, by its canonical path.
    pub folder: PathBuf,
    /// The folder of the index.
    pub root: PathBuf,
}

/// Returns the indexes in `indexes` whose folder no longer exists. One that cannot be reached for
/// another reason still counts as there.
pub fn find_abandoned(indexes: &Path) -> Vec<AbandonedIndex> {
    let gone = read_roots(indexes).filter(|(folder, _)| is_missing(folder));
    gone.map(|(folder, root)| AbandonedIndex { folder, root })
        .collect()
}

/// Returns the folders of documents with an index in `indexes` that exist; the one that was opened
/// last comes first.
pub fn indexed_folders(indexes: &Path) -> Vec<PathBuf> {
    let opened = |root: &Path| fs::metadata(root.join("lock")).and_then(|lock| lock.modified());
    let existing = read_roots(indexes).filter(|(folder, _)| folder.is_dir());
    let mut folders: Vec<_> = existing
        .filter_map(|(folder, root)| Some((opened(&root).ok()?, folder)))
        .collect();
    folders.sort_unstable_by(|one, other| other.cmp(one));
    folders.into_iter().map(|(_, folder)| folder).collect()
}

/// Reads the folders of documents with the roots of their indexes. A link in the place of an
/// index is none.
fn read_roots(indexes: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let entries = fs::read_dir(indexes).into_iter().flatten().flatten();
    let roots = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    roots.filter_map(|entry| {
        let root = entry.path();
        let folder = path(files::read(&root.join("corpus")).ok()?)?;
        let is_own = Layout::for_folder(&folder, indexes).root == root;
        is_own.then_some((folder, root))
    })
}

impl AbandonedIndex {
    /// Deletes the index, unless another process writes it or the folder is there again. Returns
    /// whether it is deleted.
    ///
    /// # Errors
    /// A file that cannot be deleted.
    pub fn remove(&self) -> io::Result<bool> {
        let layout = Layout {
            root: self.root.clone(),
        };
        let Lock::Held(_lock) = layout.lock(&self.folder) else {
            return Ok(false);
        };
        if !is_missing(&self.folder) {
            return Ok(false);
        }
        fs::remove_dir_all(&self.root).map(|()| true)
    }
}

fn is_missing(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the path that was written as the bytes of an [`OsString`].
#[cfg(unix)]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;

    let path = PathBuf::from(OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

/// Returns the path that was written as the bytes of an [`OsString`]; `None` where they are no
/// UTF-8.
#[cfg(not(unix))]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from(String::from_utf8(bytes).ok()?));
    path.is_absolute().then_some(path)
}
