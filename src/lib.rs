//! ragscope: an oscilloscope for retrieval-augmented generation.
//!
//! How a question flows to an answer, in reading order:
//!
//! | module | what it is |
//! |---|---|
//! | [`event`] | the public run format: everything that happens is a typed record |
//! | [`config`] | every setting, merged from its sources and read once |
//! | [`trace`] | records to a file and back |
//! | [`llm`] | the models by role, on llama.cpp |
//! | [`corpus`] | a folder becomes documents, sentences and chunks |
//! | [`index`] | chunks become findable: BM25 and vectors, on disk |
//! | [`methods`] | the five papers and the measures they share |
//! | [`probe`] | a small network that reads hidden states: features, training, weights file |
//! | [`engine`] | the run: `ask()`, straight down the page, and the thread that owns the models |
//! | [`eval`] | question files, figures and tables: which preset is better on which documents |
//! | [`cli`] | subcommands, JSON lines, plain text |
//! | [`tui`] | the screen: a fold over records |
//!
//! From `engine` down everything is synchronous and runs on one engine thread. Front ends see records and send commands.
//! `tests/suite/layers.rs` asserts which module may use which.

pub mod event;
pub mod config;
pub mod trace;
pub mod llm;
pub mod corpus;
pub mod index;
pub mod methods;
pub mod probe;
pub mod engine;
pub mod eval;
pub mod cli;
pub mod tui;
