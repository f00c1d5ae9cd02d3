//! The index of one folder: the generation in use, its vectors and the lock of the writer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::caches::link_store::LinkStore;
use super::caches::rechunk_cache::RechunkCache;
use super::caches::similarity_cache::SimilarityCache;
use super::draft::Draft;
use super::error::{FileError, IndexError};
use super::generation::Generation;
use super::layout::{Layout, Lock, Pointer};
use super::manifest::{FORMAT, Manifest, Recipe};
use super::names::{FolderPart, Names};
use super::vectors::VectorStore;

use crate::config::demo_corpus;
use crate::corpus::{self, Document, ReadOptions};
use crate::event::{CorpusCard, IndexReport};
use crate::files::{self, FileLock};
use crate::letters;

/// Up to this many vectors of chunks that are gone are not worth a new file.
const MAX_WASTE_ROWS: u32 = if cfg!(test) { 8 } else { 4096 };

/// The result of an update.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The index agrees with the folder.
    Finished(Box<IndexReport>),
    /// The observer stopped it. Everything done so far is kept, and the next update continues from
    /// there.
    Interrupted,
}

/// The index of a folder.
pub struct Index {
    /// The folder as the user named it.
    pub(super) name: String,
    pub(super) canonical: PathBuf,
    /// Whether it is the corpus of the demo.
    pub(super) is_demo: bool,
    pub(super) layout: Layout,
    /// The writer lock; `None` when another process has it.
    pub(super) lock: Option<FileLock>,
    pub(super) pointer: Option<Pointer>,
    /// The generation in use; `None` before the first one.
    pub(super) generation: Option<Generation>,
    pub(super) vectors: Option<VectorStore>,
    pub(super) similarity_cache: RefCell<SimilarityCache>,
    /// Documents that were re-chunked for questions.
    pub(super) rechunked: RefCell<RechunkCache>,
    /// The links in use; `None` until a linker is named.
    pub(super) links: RefCell<Option<LinkStore>>,
    /// Whether its vectors are searched here, and not only sent elsewhere.
    pub(super) is_searched: bool,
    /// Whether it was of an older format and begins again.
    pub(super) was_outdated: bool,
}

/// An index that is open in a corpus, with its names there.
pub(super) struct OpenFolder {
    pub index: Index,
    pub names: Names,
    /// The part that it is of a corpus on other machines.
    pub part: FolderPart,
    /// Whether it was reported that another process writes the index.
    pub is_use_reported: bool,
}

/// Returns the path of a folder without links.
pub(super) fn canonical(folder: &Path) -> Result<PathBuf, IndexError> {
    folder.canonicalize().map_err(|error| {
        IndexError::new(
            format!("cannot open the folder {} ({error})", folder.display()),
            "check the path and its permissions",
        )
    })
}

impl Index {
    /// Opens the index of `folder` under the folder `indexes`: the generation in use is verified
    /// and loaded. Without an index yet, or with one of an older format, nothing is found until the
    /// first [`Self::update`]. Takes the writer lock when it is free, else only reads.
    ///
    /// # Errors
    /// A folder that cannot be opened; an index that is damaged or of a newer format
    /// (rebuilding makes a new one).
    pub fn open(folder: &Path, indexes: &Path) -> Result<Self, IndexError> {
        let mut index = Self::locate(folder, indexes)?;
        match index.refresh() {
            Err(FileError::OtherFormat { found, .. }) if found < FORMAT && index.lock.is_some() => {
                index.clear()?;
                index.was_outdated = true;
            }
            loaded => loaded.map_err(|error| error.for_folder(&index.name))?,
        }
        Ok(index)
    }

    pub(super) fn check_writable(&self) -> Result<(), IndexError> {
        if self.lock.is_some() {
            Ok(())
        } else {
            Err(IndexError::InUse {
                folder: self.name.clone(),
            })
        }
    }

    pub(super) fn clear(&self) -> Result<(), IndexError> {
        self.layout
            .clear()
            .map_err(|error| error.for_folder(&self.name))
    }

    pub(super) fn locate(folder: &Path, indexes: &Path) -> Result<Self, IndexError> {
        let canonical = canonical(folder)?;
        // "." is another folder elsewhere, and recorded runs keep the name
        let is_named = folder.file_name().is_some();
        let named = if is_named { folder } else { &canonical };
        let name = named.display().to_string();

        let layout = Layout::for_folder(&canonical, indexes);
        let lock = match layout.lock(&canonical) {
            Lock::Held(lock) => Some(lock),
            Lock::Elsewhere => None,
            // an index on a read-only medium still answers questions
            Lock::Refused(_) if layout.has_generation() => None,
            Lock::Refused(error) => return Err(error.for_folder(&name)),
        };

        let demo = demo_corpus().canonicalize();
        let similarity_cache = SimilarityCache::new(layout.similarity_cache());

        Ok(Self {
            is_demo: demo.is_ok_and(|demo| demo == canonical),
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
            is_searched: true,
            was_outdated: false,
        })
    }

    /// Loads the generation in use, unless it is the loaded one.
    pub(super) fn refresh(&mut self) -> Result<(), FileError> {
        let mut pointer = self.layout.current()?;
        while pointer != self.pointer {
            let Some(current) = pointer.clone() else {
                break;
            };

            match Generation::open(&self.layout, &current) {
                Ok((generation, vectors)) => {
                    self.generation = Some(generation);
                    self.vectors = Some(vectors);
                    self.pointer = pointer;
                    break;
                }
                Err(error) => {
                    // a writer may have published the next one and deleted this one in the meantime
                    pointer = self.layout.current()?;
                    if pointer.as_ref() == Some(&current) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the writer lock.
    pub(super) fn take_lock(&mut self) -> Result<(), IndexError> {
        if self.lock.is_some() {
            return Ok(());
        }

        let lock = match self.layout.lock(&self.canonical) {
            Lock::Held(lock) => Ok(lock),
            Lock::Elsewhere => Err(IndexError::InUse {
                folder: self.name.clone(),
            }),
            Lock::Refused(error) => Err(error.for_folder(&self.name)),
        };
        // the previous writer may have published in the meantime
        self.refresh()
            .map_err(|error| error.for_folder(&self.name))?;
        self.lock = Some(lock?);
        Ok(())
    }

    /// Reads a document: a binary one as it was indexed, if that was kept.
    pub(super) fn read_document(&self, path: &str) -> Result<Document, String> {
        let entry = self
            .manifest()
            .and_then(|manifest| manifest.documents.get(path));
        let kept = entry.and_then(|entry| self.layout.extracts().read(path, entry));
        if let Some(document) = kept {
            return Ok(document);
        }
        let file = corpus::locate(&self.canonical, path);
        let bytes = files::read(&file).map_err(|error| error.to_string())?;
        Document::read(path, bytes, &ReadOptions::default())
    }

    /// Returns the path of a document as the index has it, for a path with its letters in any form.
    pub(super) fn known_path(&self, path: &str) -> Option<&str> {
        let documents = &self.manifest()?.documents;
        let known = documents.get_key_value(path).or_else(|| {
            let mut others = documents.iter().filter(|_| !path.is_ascii());
            // file names from macOS are often decomposed, most others composed
            others.find(|(known, _)| letters::are_same(known, path))
        });
        known.map(|(known, _)| known.as_str())
    }

    pub(super) fn manifest(&self) -> Option<&Manifest> {
        self.generation
            .as_ref()
            .map(|generation| &generation.manifest)
    }

    /// Returns whether most vectors on disk belong to chunks that are gone: the next update then
    /// copies the others to a new file.
    pub(super) fn is_wasteful(&self) -> bool {
        self.generation.as_ref().is_some_and(|generation| {
            generation.unused_rows() > generation.used_rows + MAX_WASTE_ROWS
        })
    }

    /// Returns the name of the file of vectors that an update with this recipe appends to. It stays
    /// the same until a generation is published, so that the work of a stopped update is reused.
    pub(super) fn vectors_name(&self, recipe: &Recipe) -> String {
        let embedder = &blake3::hash(recipe.embedder.as_bytes()).to_hex()[..12];
        let start = format!("vectors-{embedder}-");
        let set_aside = self.manifest().and_then(|now| now.set_aside.as_ref());
        match self.manifest() {
            Some(now) if now.embedder() == recipe.embedder && !self.is_wasteful() => {
                now.vectors.file.clone()
            }
            now => match set_aside.filter(|file| file.starts_with(&start)) {
                Some(file) => file.clone(),
                None => format!("{start}{}", now.map_or(0, |now| now.generation)),
            },
        }
    }

    /// Returns the file of vectors that an index with this recipe leaves alone: an index without
    /// vectors keeps those of the one before, so that no text is embedded twice.
    pub(super) fn set_aside(&self, recipe: &Recipe) -> Option<String> {
        let now = self.manifest().filter(|_| !recipe.has_vectors())?;
        match now.vectors.width {
            0 => now.set_aside.clone(),
            _ => Some(now.vectors.file.clone()),
        }
    }

    /// Takes the vectors that an update with this recipe appends to.
    pub(super) fn take_vectors(
        &mut self,
        recipe: &Recipe,
        width: usize,
    ) -> Result<VectorStore, FileError> {
        let name = self.vectors_name(recipe);
        let file = self.layout.root.join(&name);

        let in_use = self
            .manifest()
            .filter(|now| now.vectors.file == name)
            .map(|now| (now.graph_rows, now.vectors.clone()));

        if let (None, Some((covered, card))) = (&self.vectors, in_use) {
            // the rows in use come first, and each must be intact
            self.vectors = Some(VectorStore::read(
                &file,
                &recipe.embedder,
                card.width as usize,
                [covered, card.rows],
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
            // no finished generation depends on this file
            Err(FileError::Damaged(_)) => VectorStore::create(&file, &recipe.embedder, width),
            recovered => recovered,
        }
    }

    /// Keeps the vectors of an update in memory, if they are those of the generation in use. Others
    /// are read from disk when they are needed.
    pub(super) fn keep_vectors(&mut self, vectors: VectorStore) {
        let file = vectors.name();
        if self.manifest().is_none_or(|now| now.vectors.file == file) {
            self.vectors = Some(vectors);
        }
    }

    /// Publishes a draft as the generation in use. The previous one stays on disk for processes
    /// that are reading it.
    pub(super) fn publish(
        &mut self,
        draft: Draft,
        vectors: &VectorStore,
        should_merge: bool,
    ) -> Result<(), FileError> {
        let (manifest, pointer) = draft.publish(&self.layout, vectors, should_merge)?;

        let folder = self.layout.generation(pointer.generation);
        let number = pointer.generation;
        let file = manifest.vectors.file.clone();
        let generation = Generation::load(&folder, manifest)?;
        self.pointer = Some(pointer);

        let before = self
            .generation
            .replace(generation)
            .map(|before| before.manifest)
            .unwrap_or_default();

        let set_aside = self.manifest().and_then(|now| now.set_aside.clone());
        let set_aside = set_aside.unwrap_or_default();

        self.layout.sweep(
            &[number, before.generation],
            &[&file, &before.vectors.file, &set_aside],
        );

        let now = self.manifest().into_iter();
        let documents = now.flat_map(|now| now.documents.values());
        self.layout
            .extracts()
            .sweep(documents.chain(before.documents.values()));
        Ok(())
    }

    /// Returns whether there is an index and it has no vectors: only its words can be searched.
    pub fn lacks_vectors(&self) -> bool {
        self.manifest().is_some_and(|now| {
            now.recipe
                .as_ref()
                .is_some_and(|recipe| !recipe.has_vectors())
        })
    }

    /// Returns the corpus and the state of its index.
    pub fn card(&self) -> CorpusCard {
        let manifest = self.manifest();
        CorpusCard {
            folder: self.name.clone(),
            folders: Vec::new(),
            documents: manifest.map_or(0, |manifest| manifest.documents.len() as u64),
            chunks: manifest.map_or(0, |manifest| manifest.chunks),
            generation: manifest.map_or(0, |manifest| manifest.generation),
            read_only: self.lock.is_none(),
            demo: self.is_demo,
            words_only: self.lacks_vectors(),
        }
    }

    /// Returns what was read of the chunk store, or the error that it is damaged.
    pub(super) fn check<T>(&self, read: tantivy::Result<T>) -> Result<T, IndexError> {
        read.map_err(|error| FileError::for_damage(&self.layout.root, error).for_folder(&self.name))
    }

    /// Returns the stored vector of a chunk; `None` for one that is damaged, too.
    pub(super) fn vector(&self, chunk: u64) -> Option<Cow<'_, [f32]>> {
        let row = self.generation.as_ref()?.chunk(chunk)?.row;
        let vectors = self
            .vectors
            .as_ref()
            .filter(|vectors| vectors.width() > 0)?;
        vectors.row(row).ok()
    }
}
