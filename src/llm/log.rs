//! llama.cpp's and ggml's log: to a file, never to the screen. The last complaints are kept for error messages.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

const COMPLAINTS: usize = 8;
/// A log longer than this is begun anew at the next start.
const MAX_BYTES: u64 = 1 << 20;

struct Log {
    file: Option<File>,
    complaints: VecDeque<String>,
}

static LOG: Mutex<Log> = Mutex::new(Log {
    file: None,
    complaints: VecDeque::new(),
});

fn lock() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Write to this file from now on.
pub(super) fn open(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let long = std::fs::metadata(file).is_ok_and(|about| about.len() > MAX_BYTES);
    let mut options = OpenOptions::new();
    options.create(true);
    lock().file = Some(
        if long {
            options.write(true).truncate(true)
        } else {
            options.append(true)
        }
        .open(file)?,
    );
    Ok(())
}

/// A piece of llama.cpp's log; `complaint` is a warning or an error.
pub(super) fn write(complaint: bool, text: &str) {
    let mut log = lock();
    if let Some(file) = &mut log.file {
        // a full disk must not end a run
        let _ = file.write_all(text.as_bytes());
    }
    if complaint && !text.trim().is_empty() {
        log.complaints.push_back(text.trim().to_owned());
        if log.complaints.len() > COMPLAINTS {
            log.complaints.pop_front();
        }
    }
}

/// Forget earlier complaints, before a call whose failure is to be explained.
pub(super) fn forget_complaints() {
    lock().complaints.clear();
}

/// The first complaint since, without the name of the C function that made it.
pub(super) fn complaint() -> Option<String> {
    let log = lock();
    let text = log.complaints.front()?;
    let said = text
        .split_once(": ")
        .filter(|(function, _)| !function.contains(' '))
        .map_or(text.as_str(), |(_, rest)| rest);
    Some(said.trim_start_matches("error loading model: ").to_owned())
}
