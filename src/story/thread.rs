//! Runs grouped into threads.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::event::{RunSummary, Turn};

use super::run::Run;

/// A thread of recorded runs. Every run is in one: a question that continues no other is the first
/// of its thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedThread {
    /// The id of its first run.
    pub id: String,
    /// `None` where it was given none.
    pub name: Option<String>,
    /// Oldest first.
    pub runs: Vec<RunSummary>,
}

impl RecordedThread {
    /// Groups runs, newest first, into threads, the one with the newest run first. `names` are by
    /// id.
    pub fn group(runs: Vec<RunSummary>, names: &BTreeMap<String, String>) -> Vec<Self> {
        let mut threads: Vec<Self> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for run in runs {
            let id = run.thread().to_owned();
            let place = *places.entry(id.clone()).or_insert(threads.len());
            if place == threads.len() {
                threads.push(Self {
                    name: names.get(&id).cloned(),
                    id,
                    runs: Vec::new(),
                });
            }
            threads[place].runs.push(run);
        }

        for thread in &mut threads {
            thread.runs.reverse();
        }
        threads
    }

    /// Returns the name, or else its first question.
    pub fn title(&self) -> &str {
        let first = self.runs.first().map_or("", |run| &run.question);
        self.name.as_deref().unwrap_or(first)
    }
}

/// Number of runs whose turns are passed on with a question, at most.
const MAX_RUNS: usize = 8;

/// Returns the last runs of a thread: those whose turns a follow-up question is rewritten by.
pub fn last_runs<T>(runs: &[T]) -> &[T] {
    &runs[runs.len().saturating_sub(MAX_RUNS)..]
}

/// Returns the turns of these runs of a thread, oldest first. Of a question that was asked several
/// times in succession the last answer counts; a run without an answer is no turn.
pub fn turns<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for turn in runs.into_iter().map(Run::turn) {
        if turn.answer.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(last) if last.question == turn.question => *last = turn,
            Some(_) | None => turns.push(turn),
        }
    }
    turns
}
