//! The links of an index: the documents that have them, and the links of one document.

use std::collections::HashSet;

use super::caches::link_store::{ChunkLinks, DocumentKey, LinkRecipe, LinkStore, document_key};
use super::error::IndexError;
use super::folder::Index;
use super::manifest::DocumentEntry;
use crate::event::ChunkText;

/// The progress of linking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkedState {
    /// Documents with links, and their chunks.
    pub documents: u64,
    pub chunks: u64,
    /// Documents without links yet: path and number of chunks, in the order of their paths.
    pub unlinked: Vec<(String, u32)>,
    /// Recipes of the same linker with another model, where this one has made no links: theirs do
    /// not count, and stay until [`Index::forget_links`].
    pub other_models: Vec<LinkRecipe>,
}

impl Index {
    /// Uses the links of this recipe from now on. A process that may not write the index keeps new
    /// ones in memory.
    ///
    /// # Errors
    /// Files of the index that cannot be read or written.
    pub fn use_links(&mut self, recipe: &LinkRecipe) -> Result<(), IndexError> {
        let is_writable = self.lock.is_some();
        let is_open = self
            .links
            .borrow()
            .as_ref()
            .is_some_and(|links| links.recipe == *recipe && links.is_writable == is_writable);
        if !is_open {
            let links = LinkStore::open(&self.layout.root, recipe, is_writable)
                .map_err(|error| error.for_folder(&self.name))?;
            self.links.replace(Some(links));
        }
        Ok(())
    }

    /// Deletes the links that this linker made, whichever model it used.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process writes the index; files that cannot be deleted.
    pub fn forget_links(&mut self, recipe: &LinkRecipe) -> Result<(), IndexError> {
        self.take_lock()?;
        self.links.replace(None);
        LinkStore::forget(&self.layout.root, recipe).map_err(|error| error.for_folder(&self.name))
    }

    /// Returns the progress of linking with the links in use.
    pub fn link_state(&self) -> LinkedState {
        let mut state = LinkedState::default();
        let links = self.links.borrow();
        let (Some(links), Some(manifest)) = (links.as_ref(), self.manifest()) else {
            return state;
        };

        if links.is_empty() {
            state.other_models = LinkStore::other_models(&self.layout.root, &links.recipe);
        }

        for (path, entry) in &manifest.documents {
            if self.key_of(entry).is_some_and(|key| links.contains(&key)) {
                state.documents += 1;
                state.chunks += u64::from(entry.chunks);
            } else {
                state.unlinked.push((path.clone(), entry.chunks));
            }
        }

        state
    }

    /// Rewrites the file without the links of documents that are gone, when those are the greater
    /// part.
    ///
    /// # Errors
    /// Files of the index that cannot be written.
    pub fn compact_links(&self) -> Result<(), IndexError> {
        let entries = self
            .manifest()
            .into_iter()
            .flat_map(|manifest| manifest.documents.values());
        let alive: HashSet<DocumentKey> = entries.filter_map(|entry| self.key_of(entry)).collect();
        let mut links = self.links.borrow_mut();
        links
            .as_mut()
            .map_or(Ok(()), |links| links.compact(&alive))
            .map_err(|error| error.for_folder(&self.name))
    }

    /// Returns the documents, by path.
    pub fn documents(&self) -> Vec<String> {
        self.manifest()
            .map(|manifest| manifest.documents.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns the chunks of a document, in its order; none for a document that is not in the
    /// index.
    ///
    /// # Errors
    /// Files of the index that cannot be read.
    pub fn document(&self, path: &str) -> Result<Vec<ChunkText>, IndexError> {
        let Some(generation) = &self.generation else {
            return Ok(Vec::new());
        };
        self.check(generation.lexical.document(path))
    }

    /// Returns the links between the chunks of a document, by their order; `None` before it is
    /// linked.
    ///
    /// # Errors
    /// Files of the index that cannot be read.
    pub fn links(&self, document: &str) -> Result<Option<ChunkLinks>, IndexError> {
        let (mut links, Some(key)) = (self.links.borrow_mut(), self.key(document)) else {
            return Ok(None);
        };
        links
            .as_mut()
            .map_or(Ok(None), |links| links.get(&key))
            .map_err(|error| error.for_folder(&self.name))
    }

    /// Stores the links of a document. When this returns, a kill no longer loses them.
    ///
    /// # Errors
    /// Files of the index that cannot be written.
    pub fn keep_links(&self, document: &str, made: &ChunkLinks) -> Result<(), IndexError> {
        let (mut links, Some(key)) = (self.links.borrow_mut(), self.key(document)) else {
            return Ok(());
        };
        links
            .as_mut()
            .map_or(Ok(()), |links| links.put(key, made))
            .map_err(|error| error.for_folder(&self.name))
    }

    fn key(&self, document: &str) -> Option<DocumentKey> {
        self.key_of(self.manifest()?.documents.get(document)?)
    }

    fn key_of(&self, entry: &DocumentEntry) -> Option<DocumentKey> {
        // chunks by similarity depend on the embedder, too
        let recipe = serde_json::to_string(self.manifest()?.recipe.as_ref()?).ok()?;
        Some(document_key(&entry.blake3, &recipe, entry.chunks))
    }
}
