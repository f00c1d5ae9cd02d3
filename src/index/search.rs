//! What a question needs of an index.

use super::{ChunkLinks, Index, Rechunked};
use crate::config::RetrieverSettings;
use crate::corpus::{SemanticCut, TokenCounter};
use crate::event::{ChunkText, CorpusCard, Retrieval};
use crate::llm::{Embedder, LlmError};

/// A corpus that can be searched.
pub trait Search {
    /// The chunks nearest to a query, by its words and by its vector. `embedder` is the fingerprint of the model that made the
    /// vector: when the index holds those of another one, words alone decide.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn search(
        &self,
        query: &str,
        vector: &[f32],
        embedder: &str,
        settings: &RetrieverSettings,
    ) -> anyhow::Result<Retrieval>;

    /// The stored unit vector of each chunk; `None` for a chunk that the index does not hold.
    fn vectors(&self, chunks: &[u64]) -> Vec<Option<Vec<f32>>>;

    /// Documents cut again by meaning, one result a document.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; the failures of the embedder.
    fn rechunk(
        &self,
        documents: &[&str],
        cut: SemanticCut,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Vec<Rechunked>, LlmError>;

    /// The chunks of a document, in its order; none for a document that is not in the index.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn document(&self, path: &str) -> anyhow::Result<Vec<ChunkText>>;

    /// The links between the chunks of a document that the linker in use made, by their order; None while there are none.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn links(&self, document: &str) -> anyhow::Result<Option<ChunkLinks>>;

    /// Keep the links of a document.
    ///
    /// # Errors
    /// When the index cannot be written.
    fn keep_links(&self, document: &str, links: &ChunkLinks) -> anyhow::Result<()>;

    /// The corpus and the state of its index.
    fn card(&self) -> CorpusCard;
}

impl Search for Index {
    fn search(
        &self,
        query: &str,
        vector: &[f32],
        embedder: &str,
        settings: &RetrieverSettings,
    ) -> anyhow::Result<Retrieval> {
        Ok(Self::search(self, query, vector, embedder, settings)?)
    }

    fn vectors(&self, chunks: &[u64]) -> Vec<Option<Vec<f32>>> {
        let (generation, vectors) = (self.generation.as_ref(), self.vectors.as_ref());
        let row = |chunk: &u64| Some(vectors?.row(generation?.place(*chunk)?.row).to_vec());
        chunks.iter().map(row).collect()
    }

    fn rechunk(
        &self,
        documents: &[&str],
        cut: SemanticCut,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Vec<Rechunked>, LlmError> {
        Self::rechunk(self, documents, cut, embedder, counter)
    }

    fn document(&self, path: &str) -> anyhow::Result<Vec<ChunkText>> {
        Ok(Self::document(self, path)?)
    }

    fn links(&self, document: &str) -> anyhow::Result<Option<ChunkLinks>> {
        Ok(Self::links(self, document)?)
    }

    fn keep_links(&self, document: &str, links: &ChunkLinks) -> anyhow::Result<()> {
        Ok(Self::keep_links(self, document, links)?)
    }

    fn card(&self) -> CorpusCard {
        Self::card(self)
    }
}
