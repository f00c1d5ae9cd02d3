//! The threads of recorded runs that are too old.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::story::RecordedThread;
use crate::trace::{list_runs, thread_names};

use super::leftovers::DAY;
use crate::event::Problem;

/// A thread that is too old.
#[derive(Debug, Serialize)]
pub(super) struct Outdated {
    #[serde(flatten)]
    pub thread: RecordedThread,
    pub bytes: u64,
}

/// Returns the threads of recorded runs that are too old, the oldest last.
pub(super) fn find_outdated(sessions: &Path, max_days: u32) -> Result<Vec<Outdated>, Problem> {
    let now = SystemTime::now();
    let threads = RecordedThread::group(list_runs(sessions)?, &thread_names(sessions)?);
    let outdated = beyond(threads, max_days, now).into_iter();
    let at_rest = outdated.filter_map(|thread| Outdated::at_rest(thread, now));
    Ok(at_rest.collect())
}

/// Returns the threads that are too old, of threads with the newest first. A thread counts as of
/// its newest run, because a follow-up question needs the runs before it; one with a name was given
/// it to be kept.
fn beyond(threads: Vec<RecordedThread>, max_days: u32, now: SystemTime) -> Vec<RecordedThread> {
    let now_s = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let max_age_s = u64::from(max_days) * DAY.as_secs();

    let mut outdated = threads;
    outdated.retain(|thread| {
        let newest = thread.runs.last().map_or(now_s, |run| run.started_at);
        let is_old = max_days > 0 && now_s.saturating_sub(newest) > max_age_s;
        thread.name.is_none() && is_old
    });
    outdated
}

impl Outdated {
    /// Returns the thread with its size; `None` where one of its files was written within the last
    /// day, or cannot be read, because it may be in use.
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
