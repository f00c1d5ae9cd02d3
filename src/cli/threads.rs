//! Threads of recorded questions: continue, list, show and rename them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::config::{Config, Paths};
use crate::corpus::fold_white_space;
use crate::event::{Problem, Thread};
use crate::story::text::one_line;
use crate::story::{RecordedThread, Run, last_runs, turns, words};
use crate::trace::{list_runs, name_thread, read_run, thread_names};

use super::args::ThreadsCommand;
use super::failure::Stopped;
use super::output::Output;
use super::replay;

/// A thread that a question continues or begins.
pub struct NamedThread {
    name: String,
    sessions: PathBuf,
    /// Without an id where the thread begins.
    pub continued: Thread,
}

impl NamedThread {
    /// Reads the last turns of the thread with this name; a new one has none.
    ///
    /// # Errors
    /// An empty name; recording is off; recorded runs that cannot be read.
    pub fn open(name: &str, config: &Config, paths: &Paths) -> Result<Self, Stopped> {
        if name.trim().is_empty() {
            let advice = "name it with a word or a few";
            return Err(Stopped::usage("the name of the thread is empty", advice));
        }
        if !config.record.enabled {
            return Err(Stopped::usage(
                "a thread consists of recorded runs, and recording is off",
                "set record.enabled=true, or leave out --thread",
            ));
        }

        let sessions = paths.sessions();
        let continued = match find(&list(&sessions)?, name) {
            Some(thread) => read_turns(thread)?,
            None => Thread::default(),
        };
        Ok(Self {
            name: name.to_owned(),
            sessions,
            continued,
        })
    }

    /// Gives the thread that this run begins its name.
    ///
    /// # Errors
    /// A name that cannot be written.
    pub fn begin(&self, run: &str) -> Result<(), Problem> {
        name_thread(&self.sessions, run, &self.name)
    }
}

/// Lists threads, or does what the command says with one.
pub fn run(
    command: Option<&ThreadsCommand>,
    sessions: &Path,
    out: &mut Output,
) -> Result<(), Stopped> {
    let threads = list(sessions)?;
    match command {
        None => {
            let value = serde_json::json!({ "threads": threads });
            out.print(&value, || table(&threads, sessions))?;
        }
        Some(ThreadsCommand::Show { thread }) => {
            for (at, run) in find_or_fail(&threads, thread)?.runs.iter().enumerate() {
                if at > 0 && !out.json {
                    out.text("\n")?;
                }
                replay::print(Path::new(&run.file), out)?;
            }
        }
        Some(ThreadsCommand::Rename { name, .. }) if name.trim().is_empty() => {
            let advice = "pass a word or a few";
            return Err(Stopped::usage("the new name is empty", advice));
        }
        Some(ThreadsCommand::Rename { thread, name }) => {
            name_thread(sessions, &find_or_fail(&threads, thread)?.id, name)?;
        }
    }

    Ok(())
}

fn list(sessions: &Path) -> Result<Vec<RecordedThread>, Stopped> {
    let runs = list_runs(sessions)?;
    Ok(RecordedThread::group(runs, &thread_names(sessions)?))
}

/// Returns the thread with this name, the newest of several, or else with this id.
fn find<'t>(threads: &'t [RecordedThread], name: &str) -> Option<&'t RecordedThread> {
    let name = fold_white_space(name);
    let is_named = |thread: &&RecordedThread| thread.name.as_deref() == Some(&name);
    let has_id = |thread: &&RecordedThread| thread.id == name;
    let named = threads.iter().find(is_named);
    named.or_else(|| threads.iter().find(has_id))
}

fn find_or_fail<'t>(
    threads: &'t [RecordedThread],
    name: &str,
) -> Result<&'t RecordedThread, Stopped> {
    find(threads, name).ok_or_else(|| {
        let error = format!("there is no thread `{name}`");
        Stopped::usage(error, "`ragscope threads` lists them")
    })
}

/// Returns what a question needs of the thread that it continues.
fn read_turns(thread: &RecordedThread) -> Result<Thread, Stopped> {
    let mut runs = Vec::new();
    for summary in last_runs(&thread.runs) {
        runs.push(Run::from_records(&read_run(Path::new(&summary.file))?));
    }

    Ok(Thread {
        id: Some(thread.id.clone()),
        turns: turns(runs.iter()),
    })
}

/// Returns the threads as text, the newest first, each with its questions.
fn table(threads: &[RecordedThread], sessions: &Path) -> String {
    if threads.is_empty() {
        return format!("no run is recorded in {}\n", sessions.display());
    }

    let mut text = String::new();
    for thread in threads {
        let runs = words::quantity(thread.runs.len() as u64, "question");
        let _ = match &thread.name {
            Some(name) => writeln!(text, "{} ({}, {runs})", one_line(name), thread.id),
            None => writeln!(text, "{} ({runs})", thread.id),
        };
        for run in &thread.runs {
            let answer = run.answer.as_deref().unwrap_or("not finished");
            let question = one_line(&run.question);
            let _ = writeln!(text, "  {question}  {}", one_line(answer));
        }
    }
    text
}
