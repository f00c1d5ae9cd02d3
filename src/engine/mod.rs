//! The run: [`ask`], straight down the page, and the [`Worker`] thread that owns the models and the index.
//!
//! `ask` puts the roles of a preset in a row; each role is a small trait whose `Off` does nothing, so nobody asks whether a role
//! is enabled. Only this module emits events. It does not know who listens, and it is not async.

mod error;
mod run;
mod stages;
mod answer;
mod worker;

pub use answer::ask;
pub use error::{AskError, WorkerError};
pub use run::{Corpus, Tools};
pub use worker::{Inbox, Outbox, ProbeQuestion, Publish, Stamp, TrainedProbe, Worker, mailbox};
