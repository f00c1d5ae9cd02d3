//! The run: [`ask`], straight down the page, and the [`Worker`] thread that owns the models and the index.
//!
//! `ask` puts the roles of a preset in a row; each role is a small trait whose `Off` does nothing, so nobody asks whether a role
//! is enabled. Only this module emits events. It does not know who listens, and it is not async.

mod run;
mod stages;
mod answer;
mod worker;

pub use answer::ask::{AskError, ask};
pub use run::state::{Corpus, Tools};
pub use worker::inbox::{Inbox, Outbox, mailbox};
pub use worker::probing::{ProbeQuestion, TrainedProbe};
pub use worker::thread::{Publish, Stamp, Worker, WorkerError};
