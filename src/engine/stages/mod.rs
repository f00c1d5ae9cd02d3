//! The stages of a run: one file per role, named after it.

mod in_turn;
mod follow_up;
mod rewriter;
mod query_writer;
mod retriever;
pub mod link_builder;
mod linker;
mod filter;
mod reranker;
mod understanding;
mod rechunker;
mod refiner;
pub mod gate;
pub mod utility;
mod limited;
mod select;

pub use follow_up::continues;
pub use reranker::{ranking, rerank_hits};
pub use select::select;
