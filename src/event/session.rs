use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answer::RunSummary;
use super::chunks::Retrieval;
use super::documents::{CorpusCard, IndexProgress, IndexReport, OtherFiles, Source};
use super::models::{ModelCard, ModelList, ModelRole, PullProgress, PulledModel};
use super::operation::Operation;
use super::probe::{ProbeCard, ProbeProgress};
use super::problem::Problem;
use super::run::RunEvent;
use super::stages::{LinkReport, TracedLookup};
use super::utility::Utility;

/// Everything that can happen outside a run: loading, indexing, reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A model file is being read. `fraction` is in 0..=1.
    ModelLoadProgressed {
        role: ModelRole,
        file: String,
        fraction: f32,
    },
    /// A model is ready.
    ModelLoaded { model: ModelCard, wall_ms: u64 },
    /// A corpus is open for questions (again, after its index changed).
    CorpusOpened { corpus: CorpusCard },
    /// Indexing progressed.
    IndexProgressed { progress: IndexProgress },
    /// The index agrees with the folder again.
    IndexFinished { report: IndexReport },
    /// The user stopped something that is not a run: loading models, indexing (what is done stays,
    /// and the next update continues from there), a question before it began.
    OperationStopped { operation: Operation },
    /// The chunks of every document are linked, as far as that was possible.
    LinksFinished { report: LinkReport },
    /// The text of a document was read for the source viewer.
    SourceOpened { source: Source },
    /// The open corpus was searched on request, outside any run.
    Searched { retrieval: Retrieval },
    /// Questions that headings of the open corpus ask, or that the text below them answers.
    QuestionsSuggested { questions: Vec<String> },
    /// A phrase was searched for among the chunks, and its chunks ranked for the queries of a run.
    PassageTraced {
        phrase: String,
        lookups: Vec<TracedLookup>,
    },
    /// A run that tries a change of settings progressed.
    TrialProgressed { event: Box<RunEvent> },
    /// The files that are not in the index were searched for a phrase.
    OtherFilesSearched { phrase: String, files: OtherFiles },
    /// Texts that a measurement on request writes: `begun` are begun; `total` is 0 while no text
    /// is.
    MeasurementProgressed {
        purpose: String,
        begun: u32,
        total: u32,
    },
    /// The help of the context for a finished run, as far as it is measured.
    UtilityProgressed { run: String, utility: Utility },
    /// The help of the context for a finished run, measured on request.
    UtilityMeasured { run: String, utility: Utility },
    /// The recorded runs, newest first.
    SessionsListed {
        folder: String,
        runs: Vec<RunSummary>,
        /// The names of threads, by id.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        names: BTreeMap<String, String>,
        /// Whether these are the newest ones alone, and the whole list follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// Every record of a recorded run was passed on.
    RunOpened { run: String },
    /// Something failed outside a run.
    OperationFailed {
        operation: Operation,
        #[serde(flatten)]
        problem: Problem,
    },
    /// Something was refused, fell back or was left out; the program continues.
    Warned {
        text: String,
        /// Advice about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advice: Option<String>,
    },
    /// The training of a probe progressed.
    ProbeProgressed { progress: ProbeProgress },
    /// The models to choose from.
    ModelsListed { list: ModelList },
    /// A download of a model progressed.
    PullProgressed { progress: PullProgress },
    /// A model was downloaded.
    ModelPulled { model: PulledModel },
    /// A probe was trained and written to `file`.
    ProbeTrained {
        probe: ProbeCard,
        file: String,
        wall_ms: u64,
    },

    /// Written by a newer program, and skipped.
    #[serde(other)]
    Unknown,
}

impl SessionEvent {
    /// Returns the event of a warning.
    pub fn warning(Problem { error, advice }: Problem) -> Self {
        Self::Warned {
            text: error,
            advice,
        }
    }
}
