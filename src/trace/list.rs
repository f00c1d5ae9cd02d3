//! The list of recorded runs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::read::read_line;
use super::{ENDING, TraceError};
use crate::event::{Event, Record, RunEvent, RunSummary};
use crate::files::{self, Links};

/// Bytes of a file's end that are read first; they grow until they hold the last line.
const TAIL_BYTES: u64 = 16 << 10;
/// A last line that is longer holds no answer of a run.
const MAX_TAIL_BYTES: u64 = 4 << 20;

/// Returns the recorded runs of a folder, newest first. Reads the first and the last line of each
/// file only; other files are left out. A folder that does not exist yet has none.
///
/// # Errors
/// [`TraceError::Unreadable`] when the folder cannot be listed.
pub fn list_runs(folder: &Path) -> Result<Vec<RunSummary>, TraceError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(TraceError::unreadable(folder, error)),
    };
    let mut runs: Vec<RunSummary> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some(OsStr::new(ENDING)))
        .filter_map(|path| summary(&path))
        .collect();
    runs.sort_by(|a, b| (b.started_at, &b.run).cmp(&(a.started_at, &a.run)));
    Ok(runs)
}

fn summary(path: &Path) -> Option<RunSummary> {
    let mut file = files::open(path, Links::Followed).ok()?;
    let first = read_line(&mut BufReader::new(&mut file)).ok()??;
    let Record {
        run,
        event:
            Event::Run(RunEvent::RunStarted {
                question,
                preset,
                started_at,
                thread,
                ..
            }),
        ..
    } = serde_json::from_slice(&first).ok()?
    else {
        return None;
    };
    let answer = answer(&mut file).unwrap_or_default();
    Some(RunSummary {
        file: path.display().to_string(),
        run,
        started_at,
        question,
        preset,
        answer,
        thread,
    })
}

/// Returns the answer of a run that finished.
fn answer(file: &mut File) -> io::Result<Option<String>> {
    let line = last_line(file)?;
    Ok(match serde_json::from_slice(&line) {
        Ok(Record {
            event: Event::Run(RunEvent::RunFinished { answer, .. }),
            ..
        }) => Some(answer),
        _ => None,
    })
}

fn last_line(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut window = TAIL_BYTES;
    loop {
        let from = length.saturating_sub(window);
        file.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        file.take(window).read_to_end(&mut tail)?;
        let body = tail.strip_suffix(b"\n").unwrap_or(&tail);
        match body.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => return Ok(body[at + 1..].to_vec()),
            None if from == 0 => return Ok(body.to_vec()),
            None if window >= MAX_TAIL_BYTES => return Ok(Vec::new()),
            None => window *= 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_read_up_to_a_limit() {
        for (bytes, is_read) in [(10, true), (100_000, true), (64 << 20, false)] {
            let mut file = tempfile::tempfile().expect("a file");
            let line = vec![b'x'; bytes];
            io::Write::write_all(&mut file, &[b"first\n", &line[..]].concat()).expect("written");
            let last = last_line(&mut file).expect("read");
            assert_eq!(last == line, is_read, "{bytes}");
            assert_eq!(last.is_empty(), !is_read, "{bytes}");
        }
    }
}
