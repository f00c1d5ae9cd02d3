//! The stages of a run: one file per role, named after it. Each is a function that begins with its
//! own check, so that a role is switched off by one word of configuration.

mod in_turn;
pub mod follow_up;
pub mod rewriter;
pub mod query_writer;
pub mod retriever;
pub mod link_builder;
pub mod linker;
pub mod filter;
pub mod reranker;
pub mod understanding;
mod rechunker;
pub mod refiner;
pub mod gate;
pub mod utility;

pub use follow_up::continues;
pub use in_turn::in_turn;
pub use reranker::{rank, rerank_hits};
