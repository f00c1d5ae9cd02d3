//! Records runs.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::unwritable;
use crate::event::{Event, Problem, Record, RunEvent, SESSION, escape_json};

/// File extension of recorded runs.
pub(super) const ENDING: &str = "jsonl";

/// Writes each run into its own file while it happens.
///
/// Records of the session are not recorded, nor is the rest of a run whose file could not be
/// written.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    open: Option<OpenRun>,
}

#[derive(Debug)]
struct OpenRun {
    run: String,
    path: PathBuf,
    file: File,
}

impl Recorder {
    /// Creates a recorder into the sessions folder, which is created when the first run starts.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            open: None,
        }
    }

    /// Writes one record. A run begins with [`RunEvent::RunStarted`] and ends with
    /// [`RunEvent::RunFinished`].
    ///
    /// # Errors
    /// A file that cannot be written, once per run: the rest of that run is not recorded.
    pub fn write(&mut self, record: &Record) -> Result<(), Problem> {
        if record.run == SESSION {
            return Ok(());
        }

        if matches!(record.event, Event::Run(RunEvent::RunStarted { .. })) {
            self.open = Some(OpenRun::create(&self.folder, &record.run)?);
        }
        let Some(open) = self.open.as_mut().filter(|open| open.run == record.run) else {
            return Ok(());
        };

        let written = open.append(record);
        if written.is_err() || matches!(record.event, Event::Run(RunEvent::RunFinished { .. })) {
            self.open = None;
        }
        written
    }

    /// Returns the file of the run that is being recorded.
    pub fn file(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.path.as_path())
    }
}

impl OpenRun {
    fn create(folder: &Path, run: &str) -> Result<Self, Problem> {
        let path = folder.join(format!("{}.{ENDING}", file_stem(run)));
        let file = fs::create_dir_all(folder)
            .and_then(|()| OpenOptions::new().append(true).create_new(true).open(&path))
            .map_err(|error| unwritable(&path, error))?;
        Ok(Self {
            run: run.to_owned(),
            path,
            file,
        })
    }

    /// Writes a record with one system call, so that a line is never written in part.
    fn append(&mut self, record: &Record) -> Result<(), Problem> {
        let line = serde_json::to_string(record).map_err(|error| unwritable(&self.path, error))?;
        // a terminal that shows the file must not obey characters of a document
        let line = format!("{}\n", escape_json(&line));
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| unwritable(&self.path, error))
    }
}

/// Returns the run id as a file name; characters that could name another folder are replaced.
pub(super) fn file_stem(run: &str) -> String {
    let is_unsafe = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    run.replace(is_unsafe, "_")
}
