//! Lists the files of a folder that become documents, and why the others do not.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde::{Deserialize, Serialize};

use super::error::unreadable;
use super::formats::{Unread, is_picture, read_head};
use crate::config::{CorpusSettings, Ocr, Paths};
use crate::event::{
    Flow, IndexPhase, IndexProgress, Problem, SessionEvent, SkippedFile, WorkError, lock,
};

const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// A file that can become a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Path inside the corpus, with `/` between folders. Bytes that are not UTF-8 are written
    /// `%XX`; see [`locate`].
    pub path: String,
    /// Path of the file itself.
    pub file: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    pub times: FileTimes,
}

/// The times of a file, in nanoseconds since 1970-01-01 UTC; 0 where they are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTimes {
    /// The last change of its content, as its programs say: a copy may keep that of its source.
    pub modified_ns: u64,
    /// The last change of the file on this disk, which a program cannot set. A file that replaces
    /// one of the same size and time has another.
    #[serde(default)]
    pub changed_ns: u64,
    /// The inode of the file where links are followed: one may lead to another file of the same
    /// size and times. 0 elsewhere, since some file systems give other inodes at each mount.
    #[serde(default)]
    pub inode: u64,
}

impl FileTimes {
    /// Creates the times of a file from its metadata, with its inode where links are followed.
    pub fn new(about: &Metadata, follows_links: bool) -> Self {
        let since = about
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        Self {
            modified_ns: modified_ns.unwrap_or(0),
            changed_ns: changed_ns(about),
            inode: if follows_links { inode(about) } else { 0 },
        }
    }
}

#[cfg(unix)]
fn changed_ns(about: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let [seconds, rest] = [about.ctime(), about.ctime_nsec()].map(|part| u64::try_from(part).ok());
    let nanoseconds =
        seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000)?.checked_add(rest?));
    nanoseconds.unwrap_or(0)
}

/// Returns 0: the standard library has no time of this kind there.
#[cfg(not(unix))]
fn changed_ns(_about: &Metadata) -> u64 {
    0
}

#[cfg(unix)]
fn inode(about: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    about.ino()
}

/// Returns 0: the standard library has no stable number there.
#[cfg(not(unix))]
fn inode(_about: &Metadata) -> u64 {
    0
}

/// The result of a walk, in the order of the paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walked {
    pub files: Vec<FoundFile>,
    /// Files that do not become documents, and folders that could not be entered. Files that the
    /// settings leave out (hidden ones, ignored ones, those that no `include` glob names) are not
    /// listed.
    pub skipped: Vec<SkippedFile>,
    /// Paths of the pictures that `corpus.ocr` leaves out.
    pub(super) pictures: Vec<String>,
    /// The folders that were entered, each with the number of its entries that were come to.
    pub(super) folders: HashMap<PathBuf, usize>,
}

/// Walks `folder`. `publish` receives [`IndexPhase::Scanning`] about five times a second.
///
/// # Errors
/// A folder that is missing, is a file or cannot be read; an invalid glob;
/// [`WorkError::Stopped`].
pub fn walk(
    folder: &Path,
    settings: &CorpusSettings,
    publish: &mut dyn FnMut(SessionEvent) -> Flow,
) -> Result<Walked, WorkError> {
    check_folder(folder)?;

    if settings.gitignore
        && let Some(reason) = fault_of_ignore_files(folder, folder)
    {
        return Err(WorkError::new(
            format!("the folder {} is not read: {reason}", folder.display()),
            "shorten them, or read the folder without them: corpus.gitignore = false",
        ));
    }

    let include = globs(folder, &settings.include)?;
    let mut progress = Progress {
        publish,
        last: None,
        started: Instant::now(),
        done: 0,
    };

    let mut walked = Walked::default();
    let refused_folders = Arc::default();

    for entry in walker(folder, settings, &refused_folders).build() {
        match entry {
            Ok(entry) => visit(folder, &entry, &include, settings, &mut walked),
            Err(error) => walked.skipped.extend(skipped_file(folder, &error)),
        }
        progress.step(&walked)?;
    }

    let mut refused_folders = lock(&refused_folders);
    walked.skipped.append(&mut refused_folders);
    walked.files.sort_by(|one, other| one.path.cmp(&other.path));
    walked.pictures.sort_unstable();
    walked
        .skipped
        .sort_by(|one, other| one.path.cmp(&other.path));

    Ok(walked)
}

/// Returns the file of a document by its path inside the corpus.
pub fn locate(folder: &Path, path: &str) -> PathBuf {
    // a name that looks escaped may be meant as it is
    let plain = folder.join(path);
    if plain.exists() {
        plain
    } else {
        folder.join(unescape(path))
    }
}

fn check_folder(path: &Path) -> Result<(), Problem> {
    let Err(error) = std::fs::read_dir(path) else {
        return Ok(());
    };
    let folder = path.display();
    Err(match error.kind() {
        ErrorKind::NotFound => {
            Problem::new(format!("there is no folder {folder}"), "check the path")
        }
        ErrorKind::NotADirectory if path.exists() => Problem::new(
            format!("{folder} is a file"),
            "give the folder that holds it (corpus.include can name single files)",
        ),
        _ => Problem::new(
            format!("the folder {folder} cannot be read ({error})"),
            "check its permissions",
        ),
    })
}

pub(super) fn globs(folder: &Path, include: &[String]) -> Result<Override, Problem> {
    let bad = |glob: &str, error: &ignore::Error| {
        Problem::new(
            format!("corpus.include: `{glob}` is not a glob ({error})"),
            "write it as in a .gitignore file, e.g. `*.md`",
        )
    };
    let mut builder = OverrideBuilder::new(folder);
    for glob in include {
        builder.add(glob).map_err(|error| bad(glob, &error))?;
    }
    builder
        .build()
        .map_err(|error| bad(&include.join(" "), &error))
}

/// Returns whether the globs let a file through; all do where there are none.
pub(super) fn is_included(include: &Override, file: &Path) -> bool {
    include.is_empty() || include.matched(file, false).is_whitelist()
}

/// Folders that a walk left out, with the reasons.
type RefusedFolders = Arc<Mutex<Vec<SkippedFile>>>;

fn walker(folder: &Path, settings: &CorpusSettings, refused: &RefusedFolders) -> WalkBuilder {
    let root = folder.to_owned();
    let refused = Arc::clone(refused);
    let has_limit = settings.gitignore;
    let own = own_folders(folder);

    let is_entered = move |entry: &DirEntry| {
        if entry.file_name() == ".git" || own.iter().any(|own| own == entry.path()) {
            return false;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let fault = (has_limit && is_folder)
            .then(|| fault_of_ignore_files(entry.path(), &root))
            .flatten();
        let Some(fault) = fault else {
            return true;
        };
        let skipped = SkippedFile {
            path: inside(&root, entry.path()),
            reason: format!("{fault}; corpus.gitignore = false reads the folder without them"),
        };
        lock(&refused).push(skipped);
        false
    };

    let mut walker = WalkBuilder::new(folder);
    walker
        .hidden(!settings.hidden)
        .follow_links(settings.follow_symlinks)
        .ignore(settings.gitignore)
        .git_ignore(settings.gitignore)
        .git_exclude(settings.gitignore)
        .git_global(settings.gitignore)
        .parents(settings.gitignore)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(is_entered);
    walker
}

/// Returns the folders of the program that are inside a corpus: recordings and indexes are no
/// documents of it.
pub(super) fn own_folders(folder: &Path) -> Vec<PathBuf> {
    let below = |own: &PathBuf| own.starts_with(folder) && own != folder;
    Paths::for_user()
        .folders()
        .into_iter()
        .map(|own| own.canonicalize().unwrap_or(own))
        .filter(below)
        .collect()
}

/// Files of a folder that say what a walk leaves out.
pub(super) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// Maximum size of the ignore files of a folder and of those above it in the corpus: in memory
/// their globs take 400 times as much, and no list that users write is as long.
const MAX_IGNORE_BYTES: u64 = 256 << 10;

/// Returns the reason why the ignore files of a folder are not read, and so the folder neither.
fn fault_of_ignore_files(folder: &Path, root: &Path) -> Option<String> {
    let files = |folder: &Path| {
        let found = IGNORE_FILES.map(|name| std::fs::metadata(folder.join(name)).ok());
        found.into_iter().flatten().filter(|about| !about.is_dir())
    };
    if files(folder).any(|about| !about.is_file()) {
        return Some("its .gitignore or .ignore is not a regular file".to_owned());
    }
    files(folder).next()?;

    let folders = folder
        .ancestors()
        .take_while(|above| above.starts_with(root));
    let bytes: u64 = folders.flat_map(files).map(|about| about.len()).sum();
    (bytes > MAX_IGNORE_BYTES).then(|| {
        format!(
            "the .gitignore and .ignore files there and above hold {bytes} bytes, more than {MAX_IGNORE_BYTES}"
        )
    })
}

/// Adds the entry to the files or to the skipped ones, unless the settings leave it out.
fn visit(
    folder: &Path,
    entry: &DirEntry,
    include: &Override,
    settings: &CorpusSettings,
    walked: &mut Walked,
) {
    let parent = entry.path().parent();
    if let Some(entries) = parent.and_then(|parent| walked.folders.get_mut(parent)) {
        *entries += 1;
    }
    let Some(kind) = entry.file_type() else {
        return;
    };
    if kind.is_dir() {
        walked.folders.insert(entry.path().to_owned(), 0);
        return;
    }
    if !is_included(include, entry.path()) {
        return;
    }

    let path = inside(folder, entry.path());
    if kind.is_file() && settings.ocr == Ocr::Off && is_picture(&path) {
        walked.pictures.push(path);
        return;
    }
    let found = if kind.is_symlink() {
        Err("a symbolic link; corpus.follow_symlinks is off".to_owned())
    } else if !kind.is_file() {
        Err("not a regular file".to_owned())
    } else {
        let about = entry.metadata().map_err(|error| reason(&error));
        about.and_then(|about| found_file(&path, entry.path(), &about, settings))
    };
    match found {
        Ok(file) => walked.files.push(file),
        Err(reason) => walked.skipped.push(SkippedFile { path, reason }),
    }
}

/// Finds a file by its own path, whatever ignore files say.
///
/// # Errors
/// The reason why it does not become a document.
pub fn find_file(file: &Path, settings: &CorpusSettings) -> Result<FoundFile, String> {
    let path = file.display().to_string();
    let file = file.canonicalize().map_err(|error| unreadable(&error))?;
    let about = std::fs::metadata(&file).map_err(|error| unreadable(&error))?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    found_file(&path, &file, &about, settings)
}

fn found_file(
    path: &str,
    file: &Path,
    about: &Metadata,
    settings: &CorpusSettings,
) -> Result<FoundFile, String> {
    // a file that is too large is not read, whatever it is
    let is_small = about.len() <= settings.max_file_bytes;
    let head = || {
        if is_small {
            read_head(file)
        } else {
            Vec::new()
        }
    };
    if let Some(unread) = Unread::for_file(path, head) {
        return Err(unread.reason());
    }

    if about.len() > settings.max_file_bytes {
        return Err(format!(
            "{} bytes, more than corpus.max_file_bytes ({})",
            about.len(),
            settings.max_file_bytes
        ));
    }

    Ok(FoundFile {
        path: path.to_owned(),
        file: file.to_owned(),
        bytes: about.len(),
        times: FileTimes::new(about, settings.follow_symlinks),
    })
}

/// Returns the file that an error of the walk skips. A fault in an ignore file skips none: only its
/// line is ignored.
fn skipped_file(folder: &Path, error: &ignore::Error) -> Option<SkippedFile> {
    let (path, ancestor) = path_and_loop(error);
    if ancestor.is_none() && error.io_error().is_none() {
        return None;
    }

    Some(SkippedFile {
        path: path.map_or_else(|| ".".to_owned(), |path| inside(folder, path)),
        reason: ancestor.map_or_else(
            || reason(error),
            |ancestor| {
                format!(
                    "a symbolic link that leads back to {}",
                    inside(folder, ancestor)
                )
            },
        ),
    })
}

/// Returns the path that an error is about, and the folder that a link leads back to.
fn path_and_loop(error: &ignore::Error) -> (Option<&Path>, Option<&Path>) {
    match error {
        ignore::Error::WithPath { path, err } => (Some(path), path_and_loop(err).1),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_and_loop(err)
        }
        ignore::Error::Loop { ancestor, child } => (Some(child), Some(ancestor)),
        ignore::Error::Partial(_)
        | ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => (None, None),
    }
}

fn reason(error: &ignore::Error) -> String {
    error
        .io_error()
        .map_or_else(|| error.to_string(), unreadable)
}

/// Returns the path inside the corpus.
pub(super) fn inside(folder: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<Cow<'_, str>> = relative
        .iter()
        .map(|part| escape(part.as_encoded_bytes()))
        .collect();
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

/// Returns a name as text. Bytes that are not UTF-8 become `%XX`, and so does the `%` of a name
/// that has such an escape itself: two names stay different.
fn escape(name: &[u8]) -> Cow<'_, str> {
    if let Ok(name) = std::str::from_utf8(name)
        && !has_escape(name)
    {
        return Cow::Borrowed(name);
    }

    let mut escaped = String::with_capacity(name.len() + 8);
    for part in name.utf8_chunks() {
        let valid = part.valid();
        for (at, character) in valid.char_indices() {
            if character == '%' && is_escape(&valid.as_bytes()[at..]) {
                escaped.push_str("%25");
            } else {
                escaped.push(character);
            }
        }

        part.invalid()
            .iter()
            .for_each(|byte| escaped.push_str(&format!("%{byte:02X}")));
    }

    Cow::Owned(escaped)
}

/// Returns whether a text has a `%` with two hexadecimal digits after it.
fn has_escape(text: &str) -> bool {
    text.as_bytes().windows(3).any(is_escape)
}

fn is_escape(bytes: &[u8]) -> bool {
    bytes.len() > 2
        && bytes[0] == b'%'
        && bytes[1].is_ascii_hexdigit()
        && bytes[2].is_ascii_hexdigit()
}

#[cfg(unix)]
fn unescape(path: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let byte = (first == b'%').then(|| path_byte(after)).flatten();
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(unix)]
fn path_byte(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(not(unix))]
fn unescape(path: &str) -> PathBuf {
    PathBuf::from(path)
}

/// Publishes how many files were seen, a few times a second.
struct Progress<'a> {
    publish: &'a mut dyn FnMut(SessionEvent) -> Flow,
    last: Option<Instant>,
    started: Instant,
    done: u64,
}

impl Progress<'_> {
    fn step(&mut self, walked: &Walked) -> Result<(), WorkError> {
        let done = (walked.files.len() + walked.skipped.len()) as u64;
        let due = self
            .last
            .is_none_or(|last| last.elapsed() >= PROGRESS_EVERY);

        if done == self.done || !due {
            return Ok(());
        }

        self.done = done;
        self.last = Some(Instant::now());

        let seconds = self.started.elapsed().as_secs_f32();
        let progress = IndexProgress {
            phase: IndexPhase::Scanning,
            done,
            total: None,
            file: walked.files.last().map(|file| file.path.clone()),
            rate_per_s: (seconds > 0.05).then(|| done as f32 / seconds),
            left_ms: None,
        };

        Ok((self.publish)(SessionEvent::IndexProgressed { progress }).check()?)
    }
}
