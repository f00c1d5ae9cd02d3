//! Makes chunks findable: tantivy (BM25) and hnsw_rs (vectors) over a chunk store, on disk, in
//! generations.
//!
//! In reading order: a generation has a `manifest`, `vectors` (with a graph over many of them) and
//! a `lexical` index, which is the chunk store too. `caches` outlive generations. The `layout` is
//! where all of them are on disk, and a `draft` becomes a `generation` by one atomic rename. An
//! `Index` is the open index of a `folder`. `Index::update` plans, reads ahead, chunks, embeds
//! what is new and writes a draft; `Index::rechunk` re-chunks documents for one question;
//! `retrieval` searches the words and the vectors and fuses both lists (`fusion`). A kill at any
//! moment leaves the previous generation usable, and no text is embedded twice.
//!
//! A [`Collection`] is one or several folders as one corpus. Each has its own index, as if it were
//! open alone; `names` makes the ids of chunks and the paths of documents unique among them.
//!
//! Where the settings name a database, a [`Collection`] sends the indexes of its folders there and
//! searches there (`shared`).
//!
//! This module knows nothing of generation of text.

mod error;
mod progress;
mod manifest;
mod vectors;
mod filter;
mod lexical;
mod caches;
mod layout;
mod names;
mod fusion;
mod copies;
mod mentions;
mod asked_names;
mod generation;
mod draft;
mod folder;
mod update;
mod rechunk;
mod link_api;
mod source;
mod retrieval;
mod search;
mod passage_trace;
mod shared;
mod collection;
mod health;
mod abandoned;

pub use abandoned::{AbandonedIndex, find_abandoned, indexed_folders};
pub use asked_names::AskedNames;
pub use caches::link_store::{ChunkLinks, LinkRecipe};
pub use caches::rechunk_cache::Rechunked;
pub use collection::{Collection, CoveredFolder};
pub use copies::{compare_versions, has_versions};
pub use error::IndexError;
pub use folder::Update;
pub use health::{Health, health};
pub use lexical::analyser::{content_words, date_words, is_content_word};
pub use lexical::path_words;
pub use lexical::stop_words::{language_name, short_text_language};
pub use link_api::LinkedState;
pub use progress::{Position, Progress};
pub use retrieval::Query;
pub use search::Search;
