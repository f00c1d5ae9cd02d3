//! The log of llama.cpp and ggml, which goes to a file and never to the screen. The last warnings
//! and errors are kept, to explain a failure.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of warnings and errors that are kept.
const KEPT_ERRORS: usize = 8;
/// A log file longer than this is emptied at the next start.
const MAX_BYTES: u64 = 1 << 20;

struct Log {
    file: Option<File>,
    /// Warnings and errors, oldest first.
    errors: VecDeque<String>,
}

static LOG: Mutex<Log> = Mutex::new(Log {
    file: None,
    errors: VecDeque::new(),
});

fn lock() -> MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the log to this file from now on.
pub(super) fn open(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let is_long = std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > MAX_BYTES);

    let mut options = OpenOptions::new();
    options.create(true);
    if is_long {
        options.write(true).truncate(true);
    } else {
        options.append(true);
    }
    lock().file = Some(options.open(file)?);
    Ok(())
}

/// Writes a piece of the log; `is_error` for a warning or an error.
pub(super) fn write(is_error: bool, text: &str) {
    let mut log = lock();
    if let Some(file) = &mut log.file {
        // A full disk must not end a run.
        let _ = file.write_all(text.as_bytes());
    }

    if is_error && !text.trim().is_empty() {
        log.errors.push_back(text.trim().to_owned());
        if log.errors.len() > KEPT_ERRORS {
            log.errors.pop_front();
        }
    }
}

/// Forgets earlier errors, before a call whose failure is to be explained.
pub(super) fn clear_errors() {
    lock().errors.clear();
}

/// Returns the first error since, without the name of the C function that logged it.
pub(super) fn first_error() -> Option<String> {
    let log = lock();
    let error = log.errors.front()?;
    let reason = match error.split_once(": ") {
        Some((function, rest)) if !function.contains(' ') => rest,
        Some(_) | None => error,
    };
    Some(
        reason
            .trim_start_matches("error loading model: ")
            .to_owned(),
    )
}
