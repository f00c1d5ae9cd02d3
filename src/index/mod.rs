//! Chunks become findable: tantivy (BM25) and hnsw_rs (vectors) over a chunk store, on disk, in generations.
//!
//! A new generation is written beside the old one and made current by one atomic rename; a kill at any moment leaves the old
//! one usable. This module knows nothing of generation of text.
