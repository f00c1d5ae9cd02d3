//! One question answered, and the thread that does it.
//!
//! | room | what it holds |
//! |---|---|
//! | `error` | the error of a question, a run and a command |
//! | `run` | what every stage works with: the values, the tools, the run itself, the gates |
//! | `stages` | one file per stage, named after it |
//! | `answer` | the pipeline: [`ask`], a lookup, the writing of the answer |
//! | `worker` | the engine thread: [`Worker`] owns the models and the index |
//!
//! A room uses the rooms above it in this table and never one below, and so do the files inside a
//! room. A stage asks by itself whether the settings and the time want it, so no other code does.
//! Only this module emits the events of a run. It does not know who listens, and it is
//! not async.

mod error;
mod run;
mod stages;
mod answer;
mod worker;

pub use crate::methods::ModelCalls;
pub use answer::{ask, without_marks};
pub use error::RunError;
pub use run::{Corpus, Tools, best_first};
pub use worker::{
    Calibration, Inbox, LINKER_ADVICE, Outbox, ProbeQuestion, Publish, SENTENCE_MODEL, Stamp,
    TrainedProbe, Updated, Worker, mailbox,
};
