//! The state of the served folders, as clients see it.

use serde::Serialize;

use crate::event::{
    CorpusCard, IndexProgress, ModelCard, Operation, Problem, SessionEvent, SkippedFile,
};

/// Maximum number of remembered warnings; the oldest go first.
const MAX_WARNINGS: usize = 20;

/// The state of the server, folded from the records of the session.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Status {
    /// The open corpus; `None` until its index is open.
    pub corpus: Option<CorpusCard>,
    /// Whether the first update of the index is over.
    pub is_settled: bool,
    /// The update of the index that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<IndexProgress>,
    /// The reason why the folders cannot be served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The loaded models.
    pub models: Vec<ModelCard>,
    /// The presets that `ask` accepts.
    pub presets: Vec<String>,
    /// The files that the last update left out.
    pub skipped: Vec<SkippedFile>,
    pub warnings: Vec<Problem>,
    /// The requests that wait for the one in progress.
    pub waiting: usize,
}

impl Status {
    /// Applies an event of the session.
    pub fn apply(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::ModelLoaded { model, .. } => {
                self.models.retain(|known| known.role != model.role);
                self.models.push(model.clone());
            }
            SessionEvent::CorpusOpened { corpus } => self.corpus = Some(corpus.clone()),
            SessionEvent::IndexProgressed { progress } => self.indexing = Some(progress.clone()),
            SessionEvent::IndexFinished { report } => {
                self.settle(None);
                self.skipped.clone_from(&report.skipped);
            }
            SessionEvent::OperationFailed {
                operation: Operation::Open | Operation::Index | Operation::Engine,
                problem,
            } => self.settle(Some(problem.clone())),
            SessionEvent::OperationFailed {
                operation: Operation::LoadModels,
                problem,
            } => self.warn(problem.clone()),
            SessionEvent::OperationStopped {
                operation: Operation::Index,
            } => self.indexing = None,
            SessionEvent::Warned { text, advice } => self.warn(Problem {
                error: text.clone(),
                advice: advice.clone(),
            }),
            _ => {}
        }
    }

    /// Returns the number of documents that can be searched.
    pub fn documents(&self) -> u64 {
        self.corpus.as_ref().map_or(0, |corpus| corpus.documents)
    }

    fn settle(&mut self, problem: Option<Problem>) {
        self.is_settled = true;
        self.indexing = None;
        self.problem = problem;
    }

    fn warn(&mut self, problem: Problem) {
        if self.warnings.contains(&problem) {
            return;
        }
        if self.warnings.len() == MAX_WARNINGS {
            self.warnings.remove(0);
        }
        self.warnings.push(problem);
    }
}
