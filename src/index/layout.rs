//! The files of an index on disk, the current generation, and the lock of the writer.
//!
//! ```text
//! indexes/<name>-<hash of the folder>/
//!   lock            held by the one process that writes
//!   corpus          the canonical path of the folder
//!   current         name of the generation in use, checksum of its manifest; changed by one rename
//!   vectors-*       append-only vectors by content, shared by generations
//!   vectors-*.segment-*   their rows in 8 bits with links between them, for many rows
//!   extracts/       the texts of binary documents, by content and reader
//!   similarity-cache   the chunks of documents that were chunked by similarity
//!   links-*         append-only links by content, one file per recipe of a linker
//!   crashes         paths of documents that ended the program as they were read
//!   gen-<n>/        manifest.json, lexical/ (tantivy)
//! ```

use std::collections::HashSet;
use std::fs::{self, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::caches::extracts::Extracts;
use super::caches::similarity_cache::SimilarityCache;
use super::error::FileError;
use super::vectors::segment::Segment;
use crate::files::{self, FileLock, Links};
use crate::index::caches::link_store::link_files;

/// Maximum size of `current`: a number and a checksum have less than 100 bytes.
const MAX_POINTER_BYTES: u64 = 1024;

/// Maximum size of the notes of crashes: thousands of paths.
const MAX_CRASHES_BYTES: u64 = 1 << 20;

/// The folder of one index.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub root: PathBuf,
}

/// The content of `current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    pub generation: u64,
    /// blake3 of the manifest, hex.
    pub manifest: String,
}

/// The result of taking the writer lock.
pub(super) enum Lock {
    Held(FileLock),
    /// Another process holds it.
    Elsewhere,
    /// The folder cannot be written.
    Refused(FileError),
}

impl Layout {
    /// Returns the layout of the index of the folder whose canonical path is `folder`.
    pub fn for_folder(folder: &Path, indexes: &Path) -> Self {
        // folders of one name in different places have indexes of their own
        let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        let name = readable(&folder.file_name().unwrap_or_default().to_string_lossy());
        Self {
            root: indexes.join(format!("{name}-{}", &hash[..12])),
        }
    }

    pub fn generation(&self, number: u64) -> PathBuf {
        self.root.join(format!("gen-{number}"))
    }

    /// Creates the folder and takes the writer lock when it is free.
    pub fn lock(&self, folder: &Path) -> Lock {
        let file = self.root.join("lock");
        let opened = fs::create_dir_all(&self.root).and_then(|()| files::open_or_create(&file));

        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return Lock::Refused(FileError::write(&file, error)),
        };

        // the time of the file is when the folder was opened last
        let _ = opened.set_modified(SystemTime::now());
        match FileLock::try_take(&opened) {
            Ok(lock) => self
                .note(folder)
                .map_or_else(Lock::Refused, |()| Lock::Held(lock)),
            Err(TryLockError::WouldBlock) => Lock::Elsewhere,
            Err(TryLockError::Error(error)) => Lock::Refused(FileError::write(&file, error)),
        }
    }

    /// Writes the path of the folder that the index belongs to.
    fn note(&self, folder: &Path) -> Result<(), FileError> {
        let note = self.root.join("corpus");
        if note.exists() {
            Ok(())
        } else {
            files::replace(&note, folder.as_os_str().as_encoded_bytes())
                .map_err(|error| FileError::write(&note, error))
        }
    }

    /// Returns whether there is a generation to read.
    pub fn has_generation(&self) -> bool {
        self.current_file().exists()
    }

    /// Returns the generation in use; `None` before the first one.
    pub fn current(&self) -> Result<Option<Pointer>, FileError> {
        let file = self.current_file();
        let bytes = match files::read_limited(&file, Links::Followed, MAX_POINTER_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FileError::missing_or_unreadable(&file, &error)),
        };
        str::from_utf8(&bytes)
            .ok()
            .and_then(parse_pointer)
            .map(Some)
            .ok_or_else(|| FileError::for_damage(&file, "it names no generation"))
    }

    /// Changes the generation in use, by one rename.
    pub fn make_current(&self, pointer: &Pointer) -> Result<(), FileError> {
        let text = format!("gen-{} {}\n", pointer.generation, pointer.manifest);
        let file = self.current_file();
        files::replace(&file, text.as_bytes()).map_err(|error| FileError::write(&file, error))
    }

    /// Returns a number that no generation has: neither the one in use here, nor the one that
    /// `current` names (they differ when the new one could not be opened), nor one that a killed
    /// process left.
    pub fn next_generation(&self, in_use: u64) -> Result<u64, FileError> {
        let named = self.current()?.map_or(0, |pointer| pointer.generation);
        let entries =
            fs::read_dir(&self.root).map_err(|error| FileError::read(&self.root, error))?;
        let left = entries
            .flatten()
            .filter_map(|entry| number(&entry.file_name().to_string_lossy()));
        Ok(left.chain([named, in_use]).max().unwrap_or(0) + 1)
    }

    /// Deletes every generation that is not in `generations`, and every vector file that is not in
    /// `vectors`. What cannot be deleted now is deleted next time.
    pub fn sweep(&self, generations: &[u64], vectors: &[&str]) {
        let Ok(entries) = fs::read_dir(&self.root) else {
            return;
        };

        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_unused = match number(&name) {
                Some(number) => !generations.contains(&number),
                None => name.starts_with("vectors-") && !vectors.contains(&vectors_of(&name)),
            };
            if is_unused {
                let _ = remove(&entry.path());
            }
        }
    }

    /// Returns the file to which a crash adds the path of the document that was read, and a zero.
    pub fn crashes_file(&self) -> PathBuf {
        self.root.join("crashes")
    }

    /// Returns the paths of the documents that ended the program since the last generation.
    pub fn crashes(&self) -> HashSet<String> {
        let notes = files::read_limited(&self.crashes_file(), Links::Followed, MAX_CRASHES_BYTES);
        let notes = notes.unwrap_or_default();
        // the one byte that no path has
        let notes = notes.split(|byte| *byte == 0);
        notes
            .filter_map(|path| String::from_utf8(path.to_vec()).ok())
            .filter(|path| !path.is_empty())
            .collect()
    }

    /// Forgets the crashes: the generation in use skips their documents.
    pub fn forget_crashes(&self) {
        // what is still there is skipped again
        let _ = remove(&self.crashes_file());
    }

    /// Deletes everything but the lock.
    pub fn clear(&self) -> Result<(), FileError> {
        // first the pointer: without it nothing of the rest is used, whatever happens next
        let pointer = self.current_file();
        remove(&pointer).map_err(|error| FileError::write(&pointer, error))?;
        self.sweep(&[], &[]);
        self.forget_crashes();
        // only a cache: what cannot be deleted is still valid
        let _ = remove(&self.similarity_cache());
        self.extracts().sweep(std::iter::empty());
        link_files(&self.root)
            .iter()
            .try_for_each(|file| remove(file).map_err(|error| FileError::write(file, error)))
    }

    /// Returns the file of the similarity cache.
    pub fn similarity_cache(&self) -> PathBuf {
        self.root.join(SimilarityCache::FILE)
    }

    /// Returns the texts of binary documents.
    pub fn extracts(&self) -> Extracts {
        Extracts::new(self.root.join("extracts"))
    }

    fn current_file(&self) -> PathBuf {
        self.root.join("current")
    }
}

/// Deletes what is at a path, if anything is: a file, or a folder in its place.
fn remove(path: &Path) -> std::io::Result<()> {
    let removed = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the name of the vectors that a file belongs to: its own, or that before its segment.
fn vectors_of(name: &str) -> &str {
    let segment = name.split_once(Segment::NAME);
    segment.map_or(name, |(vectors, _)| vectors)
}

/// Returns the number of a generation, by the name of its folder.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("gen-")?.parse().ok()
}

fn parse_pointer(text: &str) -> Option<Pointer> {
    let (name, manifest) = text.strip_suffix('\n')?.split_once(' ')?;
    Some(Pointer {
        generation: number(name)?,
        manifest: manifest.to_owned(),
    })
}

/// Returns the lower-case letters and digits of a folder name, for users who open the indexes
/// folder.
fn readable(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(32)
        .collect();

    text.truncate(text.trim_end_matches('-').len());
    if text.chars().all(|c| c == '-') {
        "folder".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_are_readable_and_differ() {
        let name = |folder: &str| {
            let root = Layout::for_folder(Path::new(folder), Path::new("/x")).root;
            root.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        assert!(
            name("/home/me/My Notes!").starts_with("my-notes-"),
            "{}",
            name("/home/me/My Notes!")
        );
        assert!(name("/").starts_with("folder-"));
        assert!(name("/home/文書").starts_with("folder-"));
        assert_ne!(name("/a/notes"), name("/b/notes"));
    }

    #[test]
    fn an_incomplete_pointer_is_refused() {
        let whole = Pointer {
            generation: 7,
            manifest: "ab".into(),
        };
        let cases = [
            ("gen-7 ab\n", Some(whole)),
            ("gen-7 ab", None),
            ("gen-7\n", None),
            ("gen-x ab\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_pointer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_released() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::for_folder(Path::new("/notes"), folder.path());
        let first = layout.lock(Path::new("/notes"));
        assert!(matches!(first, Lock::Held(_)));
        assert!(matches!(layout.lock(Path::new("/notes")), Lock::Elsewhere));
        drop(first);
        assert!(matches!(layout.lock(Path::new("/notes")), Lock::Held(_)));
    }
}
