//! `clean`: removes the recorded runs beyond the limits of `record`.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::config::{Paths, RecordSettings};
use crate::event::harmless;
use crate::story::text::one_line;
use crate::story::{RecordedThread, words};
use crate::trace::{list_runs, thread_names};

use super::failure::{Exit, Failure, Stopped};
use super::output::Output;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens to the runs beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    Listed,
    Removed,
}

/// A thread beyond the limits.
#[derive(Debug, Serialize)]
struct Outdated {
    #[serde(flatten)]
    thread: RecordedThread,
    bytes: u64,
}

/// Lists or removes the threads of recorded runs beyond the limits, the oldest last.
///
/// # Errors
/// A sessions folder that cannot be listed; a file that cannot be removed.
pub fn run(
    cleaning: Cleaning,
    limits: &RecordSettings,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    let sessions = paths.sessions();
    let now = SystemTime::now();
    let threads = RecordedThread::group(&list_runs(&sessions)?, &thread_names(&sessions)?);
    let outdated = beyond(threads, limits, now)
        .into_iter()
        .filter_map(|thread| Outdated::at_rest(thread, now));
    let outdated: Vec<Outdated> = outdated.collect();

    if cleaning == Cleaning::Removed {
        for run in outdated.iter().flat_map(|outdated| &outdated.thread.runs) {
            remove(Path::new(&run.file))?;
        }
    }

    if out.json {
        let is_removed = cleaning == Cleaning::Removed;
        out.json_pretty(&serde_json::json!({ "removed": is_removed, "threads": outdated }))?;
    } else {
        out.text(&harmless(&report(&outdated, cleaning)))?;
    }
    Ok(Exit::Done)
}

/// Returns the threads beyond the limits, of threads with the newest first. A thread counts as of its newest
/// run, because a follow-up question needs the runs before it; one with a name was given it to be kept.
fn beyond(
    threads: Vec<RecordedThread>,
    limits: &RecordSettings,
    now: SystemTime,
) -> Vec<RecordedThread> {
    let now_s = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let max_age_s = u64::from(limits.max_days) * DAY.as_secs();
    let mut runs = 0;

    let mut outdated = threads;
    outdated.retain(|thread| {
        runs += thread.runs.len() as u64;
        let newest = thread.runs.last().map_or(now_s, |run| run.started_at);
        let is_old = limits.max_days > 0 && now_s.saturating_sub(newest) > max_age_s;
        let is_too_many = limits.max_runs > 0 && runs > u64::from(limits.max_runs);
        thread.name.is_none() && (is_old || is_too_many)
    });
    outdated
}

impl Outdated {
    /// Returns the thread with its size; `None` where one of its files was written within the last day, or
    /// cannot be read, because it may be in use.
    fn at_rest(thread: RecordedThread, now: SystemTime) -> Option<Self> {
        let mut bytes = 0;
        for run in &thread.runs {
            let file = fs::symlink_metadata(&run.file).ok()?;
            let age = now.duration_since(file.modified().ok()?).ok()?;
            if age < DAY {
                return None;
            }
            bytes += file.len();
        }
        Some(Self { thread, bytes })
    }
}

/// Removes a file; one that another process removed first is no error.
fn remove(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::new(
            format!("cannot remove {} ({error})", file.display()),
            "check who may write in its folder, then clean again",
        )),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the threads with their sizes as text, and the sum.
fn report(outdated: &[Outdated], cleaning: Cleaning) -> String {
    let mut text = String::new();
    for Outdated { thread, bytes } in outdated {
        let runs = words::counted(thread.runs.len() as u64, "run");
        let size = words::bytes(*bytes);
        text += &format!("{} ({runs}, {size})\n", one_line(thread.title()));
    }

    let runs: usize = outdated.iter().map(|of| of.thread.runs.len()).sum();
    let bytes = outdated.iter().map(|of| of.bytes).sum();
    let sum = match (runs, cleaning) {
        (0, _) => "no recorded run is beyond record.max_runs and record.max_days".to_owned(),
        (_, Cleaning::Listed) => format!(
            "{} ({}) would be removed; run it without --dry-run to remove them",
            words::counted(runs as u64, "run"),
            words::bytes(bytes)
        ),
        (_, Cleaning::Removed) => format!(
            "removed {} ({})",
            words::counted(runs as u64, "run"),
            words::bytes(bytes)
        ),
    };
    text + &sum + "\n"
}
