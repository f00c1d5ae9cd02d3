//! The journal of a long operation: its finished rows, each written as it is done.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::append_log::AppendLog;
use crate::event::Problem;
use crate::files::{self, FileLock};

/// An open journal of rows `T`. While it is open no other process writes it.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    log: AppendLog<T>,
    rows: Vec<T>,
    _lock: FileLock,
}

/// The operation that the rows belong to.
#[derive(Serialize, Deserialize)]
struct Head {
    work: String,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Opens the journal of the operation `name` with its rows. A torn last row is removed; the
    /// journal of another operation starts over.
    ///
    /// # Errors
    /// A file that cannot be created, read or written; another process that writes it.
    pub fn open(path: &Path, name: &str) -> Result<Self, Problem> {
        let failed = |error: io::Error| file_error(path, &error);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .map_err(failed)?;
        let file = files::open_or_create(path).map_err(failed)?;

        let lock = match FileLock::try_take(&file) {
            Ok(lock) => lock,
            Err(TryLockError::WouldBlock) => {
                return Err(Problem::new(
                    format!("another ragscope writes the journal {}", path.display()),
                    "wait for it, or stop it",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        };

        let head = Head {
            work: name.to_owned(),
        };
        let mut rows = Vec::new();
        let log = AppendLog::open(file, &head, |_, row| rows.push(row)).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            log,
            rows,
            _lock: lock,
        })
    }

    /// Deletes the rows.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn clear(&mut self) -> Result<(), Problem> {
        self.rows.clear();
        self.log
            .clear()
            .map_err(|error| file_error(&self.path, &error))
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn push(&mut self, row: T) -> Result<(), Problem> {
        self.log
            .append(&row)
            .map_err(|error| file_error(&self.path, &error))?;
        self.rows.push(row);
        Ok(())
    }

    /// Returns the rows in the order in which they were written.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }
}

fn file_error(file: &Path, error: &io::Error) -> Problem {
    Problem::new(
        format!("the journal {} cannot be used ({error})", file.display()),
        "check the disk, or delete the file to start over",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_dropped_and_the_journal_continues() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/journal.jsonl");
        let open = || Journal::<String>::open(&path, "work").expect("opened");
        let mut journal = open();
        journal.push("a?".to_owned()).expect("added");
        journal.push("b?".to_owned()).expect("added");
        drop(journal);
        let whole = fs::read(&path).expect("read");
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).expect("cut");
            let mut journal = open();
            let known = whole[..cut]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                .saturating_sub(1);
            assert_eq!(journal.rows().len(), known, "cut at {cut}");
            journal.push("c?".to_owned()).expect("added");
            drop(journal);
            let again = open();
            assert_eq!(
                again.rows().last().map(String::as_str),
                Some("c?"),
                "cut at {cut}"
            );
            assert_eq!(again.rows().len(), known + 1);
        }
    }
}
