//! Finished pieces of a long work, one line each, written as each is done: a kill loses the piece in flight and no other.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// An open journal of pieces `T`. While it is open no other process writes it.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    file: File,
    rows: Vec<T>,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("the journal {} cannot be used ({source}): check the disk, or delete the file to start over", file.display())]
    Disk { file: PathBuf, source: io::Error },
    #[error("another ragscope writes the journal {}: wait for it, or stop it", file.display())]
    InUse { file: PathBuf },
}

/// The first line: what the rows belong to.
#[derive(Serialize, Deserialize)]
struct Head {
    work: String,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Open the journal of the work `name`, with the rows that are there. A last line that was cut off is taken away; a journal of other
    /// work begins anew.
    ///
    /// # Errors
    /// A file that cannot be made, read or written; another process that writes it.
    pub fn open(path: &Path, name: &str) -> Result<Self, JournalError> {
        let failed = |error: io::Error| failed(path, error);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .map_err(failed)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::InUse {
                    file: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut journal = Self {
            path: path.to_owned(),
            file,
            rows: Vec::new(),
        };
        journal.recover(name).map_err(failed)?;
        Ok(journal)
    }

    fn recover(&mut self, name: &str) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let mut lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n');
        let head = lines.next().and_then(|line| {
            serde_json::from_slice::<Head>(line)
                .ok()
                .map(|head| (head, line.len()))
        });
        let mut kept = match head {
            Some((head, length)) if head.work == name => length,
            Some(_) | None => return self.begin(name),
        };
        for line in lines {
            // whatever comes after a damaged line is done again
            let Ok(row) = serde_json::from_slice(line) else {
                break;
            };
            self.rows.push(row);
            kept += line.len();
        }
        self.file.set_len(kept as u64)?;
        self.file.seek(SeekFrom::End(0)).map(drop)
    }

    /// Throw the rows away.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn clear(&mut self, name: &str) -> Result<(), JournalError> {
        self.rows.clear();
        self.begin(name).map_err(|error| failed(&self.path, error))
    }

    fn begin(&mut self, name: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.line(&Head {
            work: name.to_owned(),
        })
    }

    /// One system call a line: it is there as a whole, or not.
    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }

    /// Add a row.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn push(&mut self, row: T) -> Result<(), JournalError> {
        self.line(&row).map_err(|error| failed(&self.path, error))?;
        self.rows.push(row);
        Ok(())
    }

    /// The rows so far, in the order in which they were written.
    #[must_use]
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn failed(file: &Path, source: io::Error) -> JournalError {
    JournalError::Disk {
        file: file.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_dropped_and_the_rest_goes_on() {
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
