//! The stages of a run: one file per role, named after it.

pub mod rewriter;
pub mod query_writer;
pub mod link_builder;
pub mod linker;
pub mod filter;
pub mod understanding;
pub mod rechunker;
pub mod refiner;
pub mod gate;
pub mod utility;
