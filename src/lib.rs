//! ragscope: an oscilloscope for retrieval-augmented generation (RAG).
//!
//! It answers questions over a folder of documents with a local model and shows, while it happens,
//! how the answer comes about. This page is the map of the code.
//!
//! # What flows where
//!
//! ```text
//!   front end                      engine thread
//!  ┌──────────────┐   Command    ┌──────────────────────────────────┐
//!  │ tui cli serve│ ───────────▶ │ Worker: index, models, settings  │
//!  │              │ ◀─────────── │   ask ─▶ stages ─▶ llm, index    │
//!  └──────────────┘   Record     └──────────────────────────────────┘
//! ```
//!
//! A front end sends a [`event::Command`] and receives [`event::Record`]s; nothing else crosses. A
//! record is an event with its run and its time: in the past tense, self-contained and
//! serialisable. The screen, `--json`, the recorder and the replay read the same records, so that a
//! recorded run replays into the same screens.
//!
//! # How a question becomes an answer
//!
//! [`engine::ask`] is the whole pipeline. It rewrites the question, writes a query, retrieves
//! chunks by BM25 and by vectors, adds linked chunks, filters and reranks them, measures whether
//! the model understands them and repairs the context, and then writes the answer sentence by
//! sentence. A gate judges each sentence; an uncertain one is regenerated after another retrieval.
//! Each of these stages is a role: a trait whose implementation the settings choose, and whose
//! `Off` does nothing. The methods come from five papers, one file each in [`methods`].
//!
//! # Why one thread owns the models
//!
//! A llama.cpp context may be used by one thread at a time, and evaluating a batch takes all cores
//! anyway. So everything from `engine` down is synchronous and runs on one thread, without locks.
//! The screen never waits for it. A stop travels as a flag beside the commands
//! ([`event::StopFlag`]), and publishing an event returns whether to continue ([`event::Flow`]): a
//! stopped call ends within one decode step.
//!
//! # What a generation is
//!
//! The index of a folder is written in generations: complete, immutable states. An update writes a
//! new one beside the current and makes it current by one atomic rename. A kill at any moment
//! leaves the previous generation usable, and what was embedded is not embedded again.
//!
//! # Modules, in reading order
//!
//! | module | what it is |
//! |---|---|
//! | [`letters`] | the letters of a text in one form, by which texts are compared |
//! | [`event`] | the public run format: everything that happens is a typed record |
//! | [`files`] | how a file is opened, kept private, or saved for the user |
//! | [`config`] | every setting, merged from its sources and read once |
//! | [`process`] | this program again, as another process that is spoken with over pipes |
//! | [`net`] | connections to other machines: certificates, time-outs, addresses |
//! | [`guide`] | the pages for users, embedded |
//! | [`append_log`] | a file of records that only grows, for journals and caches |
//! | [`trace`] | records to a file and back |
//! | [`story`] | what the records of a run say: folded once, worded once |
//! | [`llm`] | the models by role, on llama.cpp |
//! | [`pull`] | downloads models into the caches of other tools |
//! | [`corpus`] | a folder becomes documents, sentences and chunks |
//! | [`remote`] | a corpus of several machines in PostgreSQL |
//! | [`index`] | search over chunks: BM25 and vectors, on disk |
//! | [`methods`] | the five papers and the measures they share |
//! | [`probe`] | a small network that reads hidden states: features, training, weights file |
//! | [`engine`] | the run, and the thread that owns the models |
//! | [`eval`] | question files, metrics and tables: which preset is better on which documents |
//! | [`host`] | what front ends share: the hub, the engine process, downloads |
//! | [`serve`] | the folders for other programs, over HTTP and by the Model Context Protocol |
//! | [`cli`] | the command line: subcommands, JSON lines, plain text |
//! | [`tui`] | the screen: a fold over records |
//!
//! `tests/suite/layers.rs` holds the modules that each module may use, and asserts it.

pub mod letters;
pub mod event;
pub mod files;
pub mod config;
pub mod guide;
pub mod append_log;
pub mod process;
pub mod net;
pub mod trace;
pub mod story;
pub mod llm;
pub mod pull;
pub mod corpus;
pub mod remote;
pub mod index;
pub mod methods;
pub mod probe;
pub mod engine;
pub mod eval;
pub mod host;
pub mod serve;
pub mod cli;
pub mod tui;
