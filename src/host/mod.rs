//! The parts that front ends share: the engine in a process of its own, the hub in front of it,
//! downloads, and the settings and lines that every one of them needs.
//!
//! A front end sends commands to a [`Hub`] and gets records back. It never sees a model or an
//! index.

mod overrides;
mod progress;
mod models;
mod tee;
mod downloads;
mod library;
mod message;
mod child;
mod engine_process;
mod hub;

pub use child::run_engine;
pub use engine_process::SUBCOMMAND;
pub use hub::{Commands, Hub};
pub use overrides::{DocumentFlags, search_settings};
pub use progress::progress_line;
pub use tee::Sink;
