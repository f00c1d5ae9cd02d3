//! The engine thread, which alone owns the models and the index.

mod stamp;
mod inbox;
mod background;
mod models;
mod operations;
mod probing;
mod thread;

pub use inbox::{Inbox, Outbox, mailbox};
pub use operations::Worker;
pub use probing::{ProbeQuestion, TrainedProbe};
pub use stamp::{Publish, Stamp};
