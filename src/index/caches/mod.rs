//! The caches of an index, which outlive its generations: losing one costs time and nothing else.

pub(super) mod extracts;
pub(super) mod similarity_cache;
pub(super) mod rechunk_cache;
pub(super) mod link_store;
