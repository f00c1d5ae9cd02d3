//! The folders for other programs: over HTTP, and by the Model Context Protocol.
//!
//! Both protocols put their requests into one queue in front of the engine, and give the values of
//! the records and of `--json`.

pub mod queue;
pub mod mcp;
pub mod http;
