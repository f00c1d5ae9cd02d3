//! A diagnosis in progress: the method asks for one thing after the other, and begins again with
//! what is known whenever the engine has answered.

use crate::event::{Command, Event, Operation, OtherFiles, SessionEvent, TracedLookup};
use crate::story::{Diagnosis, Expected, Inquiry, Run, Settings};

use super::trial::{self, End, is_stopped};

/// Names the first broken link of a run, and tries what changes it.
pub type Diagnose =
    fn(&Run, Option<Expected>, &mut dyn Inquiry<Error = Wanted>) -> Result<Diagnosis, Wanted>;

/// A thing that a diagnosis needs of the engine to continue.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    Run(Settings),
    Ranks {
        phrase: String,
        queries: Vec<(u32, String)>,
    },
    OtherFiles(String),
}

/// The things that the engine has answered so far.
#[derive(Debug, Clone, Default)]
struct Known {
    runs: Vec<(Settings, Run)>,
    ranks: Vec<(String, Vec<TracedLookup>)>,
    files: Vec<(String, OtherFiles)>,
    so_far: Option<Diagnosis>,
    /// The change that is being tried.
    change: String,
}

/// A diagnosis of a run.
#[derive(Debug, Clone, Default)]
pub struct Diagnosing {
    run: Run,
    expected: Option<Expected>,
    known: Known,
    /// `None` once it has ended.
    wanted: Option<Wanted>,
    trial: Run,
    /// `None` while it has not ended.
    pub end: Option<End>,
}

impl Diagnosing {
    /// Begins the diagnosis of a run; without `expected`, a passage is searched that answers the
    /// question.
    pub fn new(run: &Run, expected: Option<Expected>) -> Self {
        Self {
            run: run.clone(),
            expected,
            ..Self::default()
        }
    }

    /// Returns the run that is diagnosed.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the chain and the changes so far.
    pub fn so_far(&self) -> Option<&Diagnosis> {
        self.known.so_far.as_ref()
    }

    /// Returns what is being done; empty once it has ended.
    pub fn activity(&self) -> String {
        let change = &self.known.change;
        match &self.wanted {
            None => String::new(),
            Some(Wanted::Ranks { .. }) => "finding the passage in the index".to_owned(),
            Some(Wanted::OtherFiles(_)) => "searching the files that are not indexed".to_owned(),
            Some(Wanted::Run(_)) if change.is_empty() => {
                "searching a passage that answers the question".to_owned()
            }
            Some(Wanted::Run(_)) => format!("trying {change}: {}", self.trial.activity()),
        }
    }

    /// Continues with what is known, and returns the command for what it needs next.
    pub fn next_command(&mut self, diagnose: Diagnose) -> Option<Command> {
        match diagnose(&self.run, self.expected.clone(), &mut self.known) {
            Ok(diagnosis) => {
                self.known.so_far = Some(diagnosis);
                self.finish(End::Finished);
                None
            }
            Err(wanted) => {
                let command = self.command(&wanted);
                self.wanted = Some(wanted);
                Some(command)
            }
        }
    }

    /// Takes in an event of the engine. Returns whether something was answered that it waits for.
    pub fn receive(&mut self, event: &Event) -> bool {
        let Event::Session(event) = event else {
            return false;
        };
        let Some(wanted) = self.wanted.clone() else {
            return false;
        };
        if let Some(end) = End::from_event(event, &[Operation::Diagnose, Operation::TracePassage]) {
            self.finish(end);
            return false;
        }
        match (event, wanted) {
            (SessionEvent::TrialProgressed { .. }, Wanted::Run(settings)) => {
                let Some(run) = trial::receive(&mut self.trial, event) else {
                    return false;
                };
                if is_stopped(&run) {
                    self.finish(End::Stopped);
                    return false;
                }
                self.known.runs.push((settings, run));
            }
            (SessionEvent::PassageTraced { phrase, lookups }, Wanted::Ranks { .. }) => {
                self.known.ranks.push((phrase.clone(), lookups.clone()));
            }
            (SessionEvent::OtherFilesSearched { phrase, files }, Wanted::OtherFiles(_)) => {
                self.known.files.push((phrase.clone(), files.clone()));
            }
            _ => return false,
        }
        true
    }

    fn finish(&mut self, end: End) {
        self.wanted = None;
        self.end = Some(end);
    }

    fn command(&self, wanted: &Wanted) -> Command {
        match wanted {
            Wanted::Run(settings) => trial::command(&self.run, settings),
            Wanted::Ranks { phrase, queries } => {
                trial::trace_command(&self.run, phrase, queries.clone())
            }
            Wanted::OtherFiles(phrase) => Command::SearchOtherFiles {
                phrase: phrase.clone(),
            },
        }
    }
}

impl Inquiry for Known {
    type Error = Wanted;

    fn ask(&mut self, settings: &Settings) -> Result<Run, Wanted> {
        find(&self.runs, settings).ok_or_else(|| Wanted::Run(settings.clone()))
    }

    fn trace(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
    ) -> Result<Vec<TracedLookup>, Wanted> {
        find(&self.ranks, phrase).ok_or_else(|| Wanted::Ranks {
            phrase: phrase.to_owned(),
            queries: queries.to_vec(),
        })
    }

    fn search_other_files(&mut self, phrase: &str) -> Result<OtherFiles, Wanted> {
        find(&self.files, phrase).ok_or_else(|| Wanted::OtherFiles(phrase.to_owned()))
    }

    fn show(&mut self, so_far: &Diagnosis, change: &str) {
        self.so_far = Some(so_far.clone());
        change.clone_into(&mut self.change);
    }
}

/// Returns the answer to a question.
fn find<K: PartialEq<Q>, Q: ?Sized, V: Clone>(known: &[(K, V)], asked: &Q) -> Option<V> {
    let mut known = known.iter();
    let (_, answer) = known.find(|(question, _)| question == asked)?;
    Some(answer.clone())
}
