//! A folder becomes documents, and documents become sentences and chunks.
//!
//! This module knows nothing of vectors or of generation. Document text is data: it is kept as it is in the file, and made
//! harmless where it is shown.
