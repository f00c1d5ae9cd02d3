use serde::{Deserialize, Serialize};

/// Work outside a run that can fail or be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The engine itself: everything in progress has ended.
    Engine,
    /// Loading the models that the settings name.
    LoadModels,
    /// Asking a question, until its run begins.
    Ask,
    /// Opening the index of a folder.
    Open,
    /// Updating the index.
    Index,
    /// Linking the chunks of the corpus.
    Link,
    /// Reading a document for the source viewer.
    OpenSource,
    /// Searching the corpus, without generating anything.
    Search,
    /// Suggesting questions about the corpus.
    SuggestQuestions,
    /// Measuring the utility of a finished run's context.
    MeasureUtility,
    /// Tracing a passage: searching for a phrase among the chunks.
    TracePassage,
    /// Finding where an answer went wrong.
    Diagnose,
    /// Listing the models to choose from.
    ListModels,
    /// Downloading a model.
    PullModel,
    /// Listing the recorded runs.
    ListSessions,
    /// Renaming a thread.
    RenameThread,
    /// Opening a recorded run.
    OpenRun,

    /// An operation of a newer program.
    #[serde(other)]
    Unknown,
}
