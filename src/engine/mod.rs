//! The run: [`ask`], straight down the page, and the [`Worker`] thread that owns the models and the index.
//!
//! `ask` puts the roles of a preset in a row; each role is a small trait whose `Off` does nothing, so nobody asks whether a role
//! is enabled. Only this module emits events. It does not know who listens, and it is not async.

mod adaptive;
mod answer;
mod ask;
mod attribution;
mod by_hand;
mod calls;
mod chores;
mod citations;
mod doubt;
mod gate;
mod filter;
mod inbox;
mod linker;
mod linking;
mod models;
mod passages;
mod probing;
mod queries;
mod refiner;
mod rewriter;
mod roles;
mod run;
mod steps;
mod understanding;
mod utility;
mod worker;

pub use ask::{AskError, ask};
pub use inbox::{Inbox, Outbox, mailbox};
pub use probing::{ProbeQuestion, TrainedProbe};
pub use run::{Corpus, Tools};
pub use worker::{Publish, Stamp, Worker, WorkerError};
