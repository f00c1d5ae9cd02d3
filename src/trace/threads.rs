//! The names of threads.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::error::unwritable;
use super::list::entries;
use super::recorder::file_stem;
use crate::event::Problem;
use crate::files::{self, Links};

/// File extension of the name of a thread.
const ENDING: &str = "name";
/// A longer name is none.
const MAX_NAME_BYTES: u64 = 4096;

/// Gives the thread that begins with this run a name. It is complete or absent after a kill.
///
/// # Errors
/// When the file cannot be written.
pub fn name_thread(folder: &Path, thread: &str, name: &str) -> Result<(), Problem> {
    let path = folder.join(format!("{}.{ENDING}", file_stem(thread)));
    let line: Vec<&str> = name.split_whitespace().collect();
    fs::create_dir_all(folder)
        .and_then(|()| files::replace(&path, format!("{}\n", line.join(" ")).as_bytes()))
        .map_err(|error| unwritable(&path, error))
}

/// Returns the name of the thread that begins with this run; `None` for a file that cannot be read.
pub fn thread_name(folder: &Path, thread: &str) -> Option<String> {
    name_in(&folder.join(format!("{}.{ENDING}", file_stem(thread))))
}

fn name_in(path: &Path) -> Option<String> {
    let name = files::read_limited(path, Links::Followed, MAX_NAME_BYTES).ok()?;
    let name = String::from_utf8(name).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Returns the names of threads by their first run. A file that cannot be read names none.
///
/// # Errors
/// When the folder cannot be listed.
pub fn thread_names(folder: &Path) -> Result<BTreeMap<String, String>, Problem> {
    let files = entries(folder)?.map(|entry| entry.path());
    Ok(files
        .filter(|path| path.extension() == Some(OsStr::new(ENDING)))
        .filter_map(|path| {
            let thread = path.file_stem()?.to_str()?.to_owned();
            Some((thread, name_in(&path)?))
        })
        .collect())
}
