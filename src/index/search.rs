//! The operations that a question needs of an index.

use super::caches::link_store::ChunkLinks;
use super::caches::rechunk_cache::Rechunked;
use super::error::IndexError;
use crate::config::RetrieverSettings;
use crate::corpus::{SemanticSplit, TokenCounter};
use crate::event::{ChunkText, CorpusCard, Retrieval};
use crate::llm::{Embedder, LlmError};

/// A corpus that can be searched.
pub trait Search {
    /// Retrieves the best chunks for a query, by its words and by its vector. `embedder` is the
    /// fingerprint of the model that made the vector: when the index has the vectors of another
    /// one, only the words count.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn search(
        &self,
        query: &str,
        vector: &[f32],
        embedder: &str,
        settings: &RetrieverSettings,
    ) -> Result<Retrieval, IndexError>;

    /// Returns the stored unit vector of each chunk; `None` for a chunk that is not in the index.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn vectors(&self, chunks: &[u64]) -> Result<Vec<Option<Vec<f32>>>, IndexError>;

    /// Re-chunks documents by meaning and returns one result per document.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; the failures of the embedder.
    fn rechunk(
        &self,
        documents: &[&str],
        split: SemanticSplit,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Vec<Rechunked>, LlmError>;

    /// Returns the chunks of a document, in its order; none for a document that is not in the
    /// index.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn document(&self, path: &str) -> Result<Vec<ChunkText>, IndexError>;

    /// Returns the paths of all documents.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn documents(&self) -> Result<Vec<String>, IndexError>;

    /// Returns the links that the linker in use made between the chunks of a document, by their
    /// order; `None` before it is linked.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn links(&self, document: &str) -> Result<Option<ChunkLinks>, IndexError>;

    /// Stores the links of a document.
    ///
    /// # Errors
    /// When the index cannot be written.
    fn keep_links(&self, document: &str, links: &ChunkLinks) -> Result<(), IndexError>;

    /// Returns the corpus and the state of its index.
    fn card(&self) -> CorpusCard;
}
