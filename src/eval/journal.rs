//! The rows of an evaluation on disk, one a line, written as each answer is there: a kill loses the question in flight and no other.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::EvalError;
use super::row::Row;

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    rows: Vec<Row>,
}

/// The first line: what the rows belong to.
#[derive(Serialize, Deserialize)]
struct Head {
    evaluation: String,
}

impl Journal {
    /// Open the journal of the evaluation `name`, with the rows that are there. A last line that was cut off is taken away; a journal
    /// of another evaluation begins anew.
    ///
    /// # Errors
    /// A file that cannot be made, read or written; another process that writes it.
    pub fn open(path: &Path, name: &str) -> Result<Self, EvalError> {
        let failed = |error: io::Error| Self::failed(path, &error);
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(EvalError::InUse { file: path.display().to_string() }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut journal = Self { path: path.to_owned(), file, rows: Vec::new() };
        journal.recover(name).map_err(failed)?;
        Ok(journal)
    }

    fn failed(path: &Path, error: &io::Error) -> EvalError {
        EvalError::Journal { file: path.display().to_string(), reason: error.to_string() }
    }

    fn recover(&mut self, name: &str) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n');
        let head =
            lines.next().and_then(|line| serde_json::from_slice::<Head>(line).ok().map(|head| (head, line.len())));
        let mut kept = match head {
            Some((head, length)) if head.evaluation == name => length,
            Some(_) | None => return self.begin(name),
        };
        for line in lines {
            // whatever comes after a damaged line is asked again
            let Ok(row) = serde_json::from_slice(line) else { break };
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
    pub fn clear(&mut self, name: &str) -> Result<(), EvalError> {
        self.rows.clear();
        self.begin(name).map_err(|error| Self::failed(&self.path, &error))
    }

    fn begin(&mut self, name: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.line(&Head { evaluation: name.to_owned() })
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
    pub fn push(&mut self, row: Row) -> Result<(), EvalError> {
        self.line(&row).map_err(|error| Self::failed(&self.path, &error))?;
        self.rows.push(row);
        Ok(())
    }

    /// The rows so far, in the order in which they were written.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
