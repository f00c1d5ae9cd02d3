//! The engine thread: it alone owns the models and the index, takes commands and publishes records.

mod stamp;
mod inbox;
mod background;
mod loader;
mod models;
mod link_corpus;
mod operations;
mod other_files;
mod ask;
mod probe_questions;
mod probing;
mod calibration;
mod thread;

pub use calibration::Calibration;
pub use inbox::{Inbox, Outbox, mailbox};
pub use models::{LINKER_ADVICE, SENTENCE_MODEL};
pub use operations::{Updated, Worker};
pub use probe_questions::ProbeQuestion;
pub use probing::TrainedProbe;
pub use stamp::{Publish, Stamp};
