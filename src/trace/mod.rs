//! Recorded runs, written as JSON lines while they happen and read back, and journals of long
//! operations, which survive a kill; the speed at which models read here, and the calibration of
//! their verdicts.
//!
//! One run, one file: `<run id>.jsonl` in the sessions folder, each line a
//! [`Record`](crate::event::Record). A line is complete before the next one begins, so a kill costs
//! at most the last line. A run says which thread it continues; the name of a thread is a file of
//! one line beside its first run, `<run id>.name`. This module does not know who listens.

mod error;
mod journal;
mod read;
mod recorder;
mod summaries;
mod list;
mod threads;
mod kept;
mod reading_rates;
mod verdict_fits;

pub use journal::Journal;
pub use list::{list_runs, newest_runs};
pub use read::read_run;
pub use reading_rates::ReadingRates;
pub use recorder::Recorder;
pub use threads::{name_thread, thread_name, thread_names};
pub use verdict_fits::VerdictFits;
