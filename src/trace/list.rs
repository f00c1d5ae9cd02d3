//! The list of recorded runs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;

use super::error::unreadable;
use super::read::read_line;
use super::recorder::ENDING;
use super::summaries::{RunFile, Summaries};
use crate::event::{CorpusCard, Event, ModelRole, Problem, Record, RunEvent, RunSummary};
use crate::files::{self, Links};

/// Bytes of a file's end that are read first; they grow until they hold the last line.
const TAIL_BYTES: u64 = 16 << 10;
/// A last line that is longer holds no answer of a run.
const MAX_TAIL_BYTES: u64 = 4 << 20;

/// Digits that the name of a run begins with: the time of its start, in milliseconds.
const TIME_DIGITS: usize = 13;

/// The part of a first record that a summary holds. The settings and models beside it are the
/// larger part of the record, and are passed over unread.
#[derive(Deserialize)]
struct First {
    run: String,
    event: Started,
}

/// The part of [`RunEvent::RunStarted`] that a summary holds.
#[derive(Deserialize)]
struct Started {
    r#type: String,
    question: String,
    preset: String,
    started_at: u64,
    #[serde(default)]
    thread: Option<String>,
    corpus: Option<CorpusCard>,
    #[serde(default)]
    models: Vec<UsedModel>,
}

/// The part of a model's card that a summary holds.
#[derive(Deserialize)]
struct UsedModel {
    role: ModelRole,
    file: String,
}

/// Returns the entries of a folder; a folder that does not exist yet has none.
pub(super) fn entries(folder: &Path) -> Result<impl Iterator<Item = fs::DirEntry>, Problem> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        listed => Some(listed.map_err(|error| unreadable(folder, error))?),
    };
    Ok(listed.into_iter().flatten().flatten())
}

/// Returns the recorded runs of a folder, newest first. Reads the first and the last line of the
/// files that are new or changed since the last list; other files are left out. A folder that does
/// not exist yet has none.
///
/// # Errors
/// When the folder cannot be listed.
pub fn list_runs(folder: &Path) -> Result<Vec<RunSummary>, Problem> {
    let files: Vec<RunFile> = entries(folder)?
        .filter(|entry| entry.path().extension() == Some(OsStr::new(ENDING)))
        .filter_map(|entry| RunFile::from_entry(&entry))
        .collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }

    let number = files.len();
    let summaries = Summaries::open(folder);
    let mut runs = Vec::with_capacity(number);
    let mut unread = Vec::new();
    for file in files {
        match summaries.get(&file) {
            Some(run) => runs.extend(run),
            None => unread.push(file),
        }
    }

    let read = unread.into_par_iter().map(|file| {
        let run = summary(&folder.join(&file.name));
        (file, run)
    });
    let read: Vec<(RunFile, Option<RunSummary>)> = read.collect();
    runs.extend(read.iter().filter_map(|(_, run)| run.clone()));
    summaries.keep(read, number);

    sort(&mut runs);
    Ok(runs)
}

/// Returns the `count` newest runs of a folder by the times in their names, newest first, to be
/// shown while [`list_runs`] reads the list; `None` for a folder that has no more than those. Reads
/// these runs alone, and the names of the others.
///
/// # Errors
/// When the folder cannot be listed.
pub fn newest_runs(folder: &Path, count: usize) -> Result<Option<Vec<RunSummary>>, Problem> {
    let names = entries(folder)?.map(|entry| entry.file_name());
    let mut names: Vec<OsString> = names.filter(|name| is_run(name)).collect();
    if names.len() <= count {
        return Ok(None);
    }

    // a name begins with the time, so that the newest are known without reading any
    names.select_nth_unstable_by(count, |a, b| b.cmp(a));
    names.truncate(count);
    let read = names.par_iter().map(|name| summary(&folder.join(name)));
    let mut runs: Vec<RunSummary> = read.flatten_iter().collect();
    sort(&mut runs);
    Ok(Some(runs))
}

/// Returns whether this is the name of a run with the time of its start.
fn is_run(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let (time, rest) = name.split_at(name.len().min(TIME_DIGITS));
    time.iter().all(u8::is_ascii_digit)
        && rest.first() == Some(&b'-')
        && rest.ends_with(ENDING.as_bytes())
}

/// Sorts runs, the newest first.
fn sort(runs: &mut [RunSummary]) {
    runs.sort_by(|a, b| (b.started_at, &b.run).cmp(&(a.started_at, &a.run)));
}

fn summary(path: &Path) -> Option<RunSummary> {
    let mut file = files::open(path, Links::Followed).ok()?;
    let first = read_line(&mut BufReader::new(&mut file)).ok()??;
    let First { run, event } = serde_json::from_slice(&first).ok()?;

    if event.r#type != "run_started" {
        return None;
    }
    let answer = answer(&mut file).unwrap_or_default();
    let mut models = event.models.into_iter();
    let generator = models.find(|model| model.role == ModelRole::Generator);

    Some(RunSummary {
        file: path.display().to_string(),
        run,
        started_at: event.started_at,
        question: event.question,
        preset: event.preset,
        answer,
        thread: event.thread,
        folders: event.corpus.as_ref().map(CorpusCard::arguments),
        generator: generator.map(|model| model.file),
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
