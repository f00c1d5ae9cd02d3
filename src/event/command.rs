use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::chunks::Hit;
use super::operation::Operation;
use super::os_path;
use super::thread::Ask;

/// A request of the screen to the engine. The answers are records.
///
/// Stopping is not a command: it must overtake the queue, so it travels as a [`super::StopFlag`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Answer a question over the open corpus.
    Ask(Ask),
    /// Open these folders as one corpus: use their indexes and update them.
    Open {
        #[serde(with = "os_path::list")]
        folders: Vec<PathBuf>,
    },
    /// Update the index of the open corpus; `rebuild` deletes the old one first.
    /// `overrides` are the settings of chunking from now on.
    Reindex {
        rebuild: bool,
        overrides: Vec<(String, String)>,
    },
    /// Update the index of the open corpus if its folder changed; nothing is emitted if it did not.
    Refresh,
    /// Read a document of the corpus for the source viewer. `document` is the path inside the
    /// corpus.
    OpenSource {
        document: String,
        first_line: u32,
        last_line: u32,
    },
    /// Search the open corpus as a question would, without generating anything.
    Search {
        query: String,
        overrides: Vec<(String, String)>,
    },
    /// Suggest questions about the open corpus.
    SuggestQuestions,
    /// Measure the utility of a finished run's context. `hits` are its chunks in the order of their
    /// labels; `own` is the answer of the run, used where `overrides` have no reference answer.
    MeasureUtility {
        run: String,
        question: String,
        hits: Vec<Hit>,
        own: String,
        overrides: Vec<(String, String)>,
    },
    /// Search for a phrase among the chunks, and rank its chunks for these queries (step and text).
    /// `overrides` are those of the run.
    TracePassage {
        phrase: String,
        queries: Vec<(u32, String)>,
        overrides: Vec<(String, String)>,
    },
    /// Answer a question to try a change of settings: its run is not recorded.
    Try(Ask),
    /// Search the files of the open folders that are not in the index for a phrase.
    SearchOtherFiles { phrase: String },
    /// Load the models of the configuration with these `key = value` settings on top, without a
    /// question.
    LoadModels { overrides: Vec<(String, String)> },
    /// List the models to choose from.
    ListModels,
    /// Download a model, as `ragscope models pull` names it.
    PullModel { reference: String },
    /// Stop the download that is under way; what came stays.
    StopPull,
    /// List the recorded runs.
    ListSessions,
    /// Name a thread, by the id of its first run, and list the recorded runs again.
    RenameThread { thread: String, name: String },
    /// Send the records of a recorded run.
    OpenRun {
        #[serde(with = "os_path")]
        file: PathBuf,
    },
}

/// The part of a front end's host that carries out a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    Engine,
    /// The thread that reads recorded runs and lists models.
    Library,
    Downloads,
}

impl Command {
    /// Returns what carries the command out, and the operation that it asks for.
    fn route(&self) -> (Destination, Operation) {
        use Destination::{Downloads, Engine, Library};

        match self {
            Self::Ask(_) => (Engine, Operation::Ask),
            Self::Open { .. } => (Engine, Operation::Open),
            Self::Reindex { .. } | Self::Refresh => (Engine, Operation::Index),
            Self::OpenSource { .. } => (Engine, Operation::OpenSource),
            Self::Search { .. } => (Engine, Operation::Search),
            Self::SuggestQuestions => (Engine, Operation::SuggestQuestions),
            Self::MeasureUtility { .. } => (Engine, Operation::MeasureUtility),
            Self::TracePassage { .. } => (Engine, Operation::TracePassage),
            Self::Try(_) | Self::SearchOtherFiles { .. } => (Engine, Operation::Diagnose),
            Self::LoadModels { .. } => (Engine, Operation::LoadModels),
            Self::ListModels => (Library, Operation::ListModels),
            Self::PullModel { .. } | Self::StopPull => (Downloads, Operation::PullModel),
            Self::ListSessions => (Library, Operation::ListSessions),
            Self::RenameThread { .. } => (Library, Operation::RenameThread),
            Self::OpenRun { .. } => (Library, Operation::OpenRun),
        }
    }

    /// Returns what carries the command out.
    pub fn destination(&self) -> Destination {
        self.route().0
    }

    /// Returns the operation that the command asks for.
    pub fn operation(&self) -> Operation {
        self.route().1
    }
}
