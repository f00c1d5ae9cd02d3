//! A stage of a run with its time.

/// A stage of a run: a stretch of time in which it did one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStage {
    pub kind: StageKind,
    /// Microseconds since the run started.
    pub start_us: u64,
    pub end_us: u64,
    /// Prompt tokens that were evaluated in it, and tokens that were generated.
    pub read: u64,
    pub written: u64,
}

/// The work of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageKind {
    /// The question is rewritten.
    Rewrite,
    /// The index is searched: the place of the lookup in `Run::lookups`.
    Search { lookup: usize },
    /// Hits are joined with the chunks that they are linked with.
    Link { lookup: usize },
    /// Texts are graded, judged or reranked.
    Grade { lookup: usize },
    /// A context is measured: the place of its round.
    Measure { round: usize },
    /// Sentences are written, or given.
    Write {
        first: u32,
        last: u32,
        /// The number of versions of the sentence before this one.
        version: usize,
    },
    /// The sources are searched for a statement of the answer, before it is written.
    Support,
    /// The verdict on the answer is given.
    Check,
    /// Each source is left out of the prompt in turn.
    Ablate,
    /// The help of the context is measured.
    Weigh,
}

impl StageKind {
    /// Returns the stage of both, where the other one continues this one.
    pub(super) fn join(self, next: Self) -> Option<Self> {
        match (self, next) {
            (
                Self::Write {
                    first, version: 0, ..
                },
                Self::Write {
                    last, version: 0, ..
                },
            ) => Some(Self::Write {
                first,
                last,
                version: 0,
            }),
            (before, next) => (before == next).then_some(next),
        }
    }
}
