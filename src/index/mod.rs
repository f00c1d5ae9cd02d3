//! Chunks become findable: tantivy (BM25) and hnsw_rs (vectors) over a chunk store, on disk, in generations.
//!
//! In reading order: a folder's index lies in a `layout`; [`Index::update`] plans (`plan`, `update`), reads ahead (`reading`), cuts by
//! meaning what is to be cut so (`cutting`, `cuts`), embeds what is new (`embedding`, `vectors`) and writes a `draft`, which becomes a
//! `generation` by one atomic rename; [`Index::rechunk`] cuts documents again for one question; [`Index::search`] asks the words (`lexical`, `analyser`) and the vectors (`vectors`, `graph`) and fuses both lists
//! (`fusion`). A kill at any moment leaves the generation before usable and no text is embedded twice.
//!
//! This module knows nothing of generation of text.

mod error;
mod layout;
mod manifest;
mod update;
mod plan;
mod reading;
mod similarity_cache;
mod chunking;
mod embedding;
mod progress;
mod vectors;
mod draft;
mod generation;
mod analyser;
mod lexical;
mod graph;
mod fusion;
mod search;
mod rechunk;
mod link_store;
mod link_api;
mod seek;
mod source;
mod health;

pub use analyser::is_content_word;
pub use error::IndexError;
pub use health::{Health, health};
pub use link_api::LinkedState;
pub use link_store::{ChunkLinks, LinkRecipe};
pub use progress::{Position, Progress};
pub use rechunk::Rechunked;
pub use search::Search;

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use draft::Draft;
use error::FileError;
use fusion::Listed;
use generation::Generation;
use layout::{Layout, Lock, Pointer};
use link_store::LinkStore;
use manifest::{Manifest, Recipe};
use rechunk::Kept;
use similarity_cache::SimilarityCache;
use vectors::VectorStore;

use crate::config::RetrieverSettings;
use crate::event::{ChunkText, CorpusCard, Hit, IndexReport, Retrieval};
use crate::llm::Random;

/// So many vectors of chunks that are gone are never worth a new file.
const WASTE_ROWS: u32 = if cfg!(test) { 8 } else { 4096 };

/// How an update ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The index agrees with the folder.
    Finished(IndexReport),
    /// The observer said stop. Everything done so far is kept, and the next update goes on from there.
    Interrupted,
}

/// The index of a folder.
pub struct Index {
    /// The folder as the user named it.
    name: String,
    canonical: PathBuf,
    layout: Layout,
    /// The writer lock; None when another process has it.
    lock: Option<File>,
    pointer: Option<Pointer>,
    /// The generation in use; None before the first one.
    generation: Option<Generation>,
    vectors: Option<VectorStore>,
    similarity_cache: RefCell<SimilarityCache>,
    /// What was re-chunked for questions.
    rechunked: RefCell<Kept>,
    /// The links in use; None until a linker is named.
    links: RefCell<Option<LinkStore>>,
}

impl Index {
    /// Open the index of `folder` under the folder `indexes`: the generation in use is verified and loaded. Without an index yet,
    /// nothing is found until the first [`Self::update`]. Takes the writer lock when it is free, else only reads.
    ///
    /// # Errors
    /// A folder that cannot be opened; an index that is damaged or of another format ([`Self::rebuild`] makes a new one).
    pub fn open(folder: &Path, indexes: &Path) -> Result<Self, IndexError> {
        let mut index = Self::locate(folder, indexes)?;
        index.refresh().map_err(|error| error.of(&index.name))?;
        Ok(index)
    }

    /// Throw the index of `folder` away, vectors included, and begin an empty one. An open [`Index`] of the folder holds the
    /// lock: drop it first.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process writes it; files that cannot be deleted.
    pub fn rebuild(folder: &Path, indexes: &Path) -> Result<Self, IndexError> {
        let index = Self::locate(folder, indexes)?;
        if index.lock.is_none() {
            return Err(IndexError::InUse { folder: index.name });
        }
        index
            .layout
            .clear()
            .map_err(|error| error.of(&index.name))?;
        Ok(index)
    }

    fn locate(folder: &Path, indexes: &Path) -> Result<Self, IndexError> {
        let name = folder.display().to_string();
        let canonical = folder.canonicalize().map_err(|error| IndexError::Folder {
            folder: name.clone(),
            reason: error.to_string(),
        })?;
        let layout = Layout::of(&canonical, indexes);
        let lock = match layout.lock(&canonical) {
            Lock::Held(lock) => Some(lock),
            Lock::Elsewhere => None,
            // an index on a medium that cannot be written is still good for questions
            Lock::Refused(_) if layout.has_generation() => None,
            Lock::Refused(error) => return Err(error.of(&name)),
        };
        let similarity_cache = SimilarityCache::new(layout.similarity_cache());
        Ok(Self {
            name,
            canonical,
            layout,
            lock,
            pointer: None,
            generation: None,
            vectors: None,
            similarity_cache: RefCell::new(similarity_cache),
            rechunked: RefCell::default(),
            links: RefCell::default(),
        })
    }

    /// Load the generation in use, if it is another than the loaded one.
    fn refresh(&mut self) -> Result<(), FileError> {
        let mut pointer = self.layout.current()?;
        while pointer != self.pointer {
            let Some(current) = pointer.clone() else {
                break;
            };
            match Generation::open(&self.layout, &current) {
                Ok((generation, vectors)) => {
                    (self.generation, self.vectors) = (Some(generation), Some(vectors));
                    self.pointer = pointer;
                    break;
                }
                Err(error) => {
                    // a writer may have published the next one and deleted this one meanwhile
                    pointer = self.layout.current()?;
                    if pointer.as_ref() == Some(&current) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Be the writer, or say who is.
    fn take_lock(&mut self) -> Result<(), IndexError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let lock = match self.layout.lock(&self.canonical) {
            Lock::Held(lock) => Ok(lock),
            Lock::Elsewhere => Err(IndexError::InUse {
                folder: self.name.clone(),
            }),
            Lock::Refused(error) => Err(error.of(&self.name)),
        };
        // the writer before may have published since
        self.refresh().map_err(|error| error.of(&self.name))?;
        self.lock = Some(lock?);
        Ok(())
    }

    fn manifest(&self) -> Option<&Manifest> {
        self.generation
            .as_ref()
            .map(|generation| &generation.manifest)
    }

    /// Are most vectors on disk those of chunks that are gone? Then the next update writes the others to a new file.
    fn is_wasteful(&self) -> bool {
        self.generation.as_ref().is_some_and(|generation| {
            generation.unused_rows() > generation.used_rows() + WASTE_ROWS
        })
    }

    /// Name of the file of vectors that an update with this recipe adds to. It stays the same until a generation is published, so
    /// that work that was stopped is found again.
    fn vectors_name(&self, recipe: &Recipe) -> String {
        let embedder = &blake3::hash(recipe.embedder.as_bytes()).to_hex()[..12];
        match self.manifest() {
            Some(now) if now.embedder() == recipe.embedder && !self.is_wasteful() => {
                now.vectors.file.clone()
            }
            now => format!("vectors-{embedder}-{}", now.map_or(0, |now| now.generation)),
        }
    }

    /// The vectors that an update with this recipe adds to.
    fn take_vectors(&mut self, recipe: &Recipe, width: usize) -> Result<VectorStore, FileError> {
        let name = self.vectors_name(recipe);
        let file = self.layout.root.join(&name);
        let in_use = self
            .manifest()
            .map(|now| now.vectors.clone())
            .filter(|card| card.file == name);
        if let (None, Some(card)) = (&self.vectors, in_use) {
            // the rows in use come first and must all be whole
            self.vectors = Some(VectorStore::read(
                &file,
                &recipe.embedder,
                card.width as usize,
                card.rows,
            )?);
        }
        if let Some(mut vectors) = self.vectors.take_if(|vectors| vectors.file() == file) {
            return match vectors.recover_tail() {
                Ok(()) => Ok(vectors),
                Err(error) => {
                    self.vectors = Some(vectors);
                    Err(error)
                }
            };
        }
        match VectorStore::recover(&file, &recipe.embedder, width) {
            // nothing finished depends on this file
            Err(FileError::Damaged(_)) => VectorStore::create(&file, &recipe.embedder, width),
            recovered => recovered,
        }
    }

    /// Keep the vectors of an update, if they are those of the generation in use. Others are found again on disk.
    fn keep_vectors(&mut self, vectors: VectorStore) {
        let file = vectors
            .file()
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        if self
            .manifest()
            .is_none_or(|now| Some(&now.vectors.file) == file.as_ref())
        {
            self.vectors = Some(vectors);
        }
    }

    /// Make a draft the generation in use. The one before stays on disk for processes that are reading it.
    fn publish(
        &mut self,
        draft: Draft,
        vectors: &VectorStore,
        tidy: bool,
    ) -> Result<(), FileError> {
        let (manifest, pointer) = draft.publish(&self.layout, vectors, tidy)?;
        let folder = self.layout.generation(pointer.generation);
        let (number, file) = (pointer.generation, manifest.vectors.file.clone());
        let generation = Generation::load(&folder, manifest)?;
        self.pointer = Some(pointer);
        let before = self
            .generation
            .replace(generation)
            .map(|before| before.manifest)
            .unwrap_or_default();
        self.layout
            .sweep(&[number, before.generation], &[&file, &before.vectors.file]);
        Ok(())
    }

    /// The corpus and the state of its index.
    #[must_use]
    pub fn card(&self) -> CorpusCard {
        let manifest = self.manifest();
        CorpusCard {
            folder: self.name.clone(),
            documents: manifest.map_or(0, |manifest| manifest.documents.len() as u64),
            chunks: manifest.map_or(0, |manifest| manifest.chunks),
            generation: manifest.map_or(0, |manifest| manifest.generation),
            read_only: self.lock.is_none(),
        }
    }

    /// The chunk store does not hold what it should.
    fn damaged(&self, error: tantivy::TantivyError) -> IndexError {
        FileError::damaged(&self.layout.root, error).of(&self.name)
    }

    /// So many chunks, chosen at random; all of them when there are no more.
    ///
    /// # Errors
    /// Files of the index that cannot be read.
    pub fn sample(&self, count: usize, random: &mut Random) -> Result<Vec<ChunkText>, IndexError> {
        let Some(generation) = &self.generation else {
            return Ok(Vec::new());
        };
        let mut places = generation.places().to_vec();
        for at in 0..count.min(places.len()) {
            let other = at + random.below(places.len() - at);
            places.swap(at, other);
        }
        places.truncate(count);
        places
            .iter()
            .map(|place| {
                generation
                    .lexical
                    .chunk(place.address)
                    .map_err(|error| self.damaged(error))
            })
            .collect()
    }

    /// The `settings.pool` best chunks for a query by its words and by its vector (of length 1), fused. The query is plain text.
    /// `embedder` is the fingerprint of the model that made the vector: when the index holds those of another one, words alone
    /// decide.
    ///
    /// # Errors
    /// Files of the index that cannot be read.
    pub fn search(
        &self,
        query: &str,
        vector: &[f32],
        embedder: &str,
        settings: &RetrieverSettings,
    ) -> Result<Retrieval, IndexError> {
        let started = Instant::now();
        let pool = settings.pool as usize;
        let (mut bm25, mut near, mut hits) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(generation) = &self.generation {
            let damaged = |error| self.damaged(error);
            let words =
                analyser::query_words(query, generation.languages.iter().map(String::as_str));
            bm25 = listed(generation.lexical.search(&words, pool).map_err(damaged)?);
            let comparable = generation.manifest.embedder() == embedder;
            let vectors = self
                .vectors
                .as_ref()
                .filter(|vectors| comparable && vectors.width() == vector.len());
            if let Some(vectors) = vectors {
                near =
                    listed(generation.nearest(vectors, vector, pool, settings.ef_search as usize));
            }
            for fused in fusion::fuse(&bm25, &near, settings).into_iter().take(pool) {
                if let Some(place) = generation.place(fused.chunk) {
                    let chunk = generation.lexical.chunk(place.address).map_err(damaged)?;
                    hits.push(Hit {
                        chunk,
                        bm25: fused.bm25,
                        vector: fused.vector,
                        fused: fused.fused,
                    });
                }
            }
        }
        Ok(Retrieval {
            query: query.to_owned(),
            fusion: settings.fusion,
            hits,
            bm25_found: bm25.len() as u32,
            vector_found: near.len() as u32,
            wall_us: started.elapsed().as_micros() as u64,
        })
    }
}

fn listed(found: Vec<(f32, u64)>) -> Vec<Listed> {
    found
        .into_iter()
        .map(|(score, chunk)| Listed { chunk, score })
        .collect()
}
