//! The parts that the protocols share: the engine behind a queue, the requests, their refusals, and
//! the recorded runs that clients may read.
//!
//! The engine is the one behind the screen ([`Hub`](crate::host::Hub)): one thread, which works on
//! one request after the other. Results are the values of the records and of `--json`.

mod status;
mod refusal;
mod caller;
mod turns;
mod engine;
mod runs;
mod requests;

pub use caller::Caller;
pub use engine::SharedEngine;
pub use refusal::{Refusal, RefusalKind};
pub use requests::{QuestionRequest, SearchRequest, answer, ask, search, to_json};
pub use runs::{is_step, read};
pub use status::Status;
