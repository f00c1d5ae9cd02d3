//! One or several folders as one corpus. Each has an index of its own, with its own generations and
//! lock, so that a folder has one index whether it is open alone or with others.

use std::path::{Path, PathBuf};

use super::caches::link_store::{ChunkLinks, LinkRecipe};
use super::caches::rechunk_cache::Rechunked;
use super::error::IndexError;
use super::folder::{Index, OpenFolder, Update, canonical};
use super::lexical::Lexical;
use super::link_api::LinkedState;
use super::names::{FolderPart, Names};
use super::passage_trace::trace_passage;
use super::progress::Progress;
use super::retrieval::{self, Query};
use super::search::Search;
use super::shared::SharedCorpus;
use crate::config::{Config, CorpusSettings, IndexSettings, RetrieverSettings};
use crate::corpus::{SemanticSplit, TokenCounter};
use crate::event::{
    ChunkText, CorpusCard, Flow, IndexReport, NeighbouringSentences, OmittedFiles, Problem,
    Retrieval, SessionEvent, Source, TracedChunk, is_stop,
};
use crate::llm::{Embedder, LlmError, Random};
use crate::remote::{MAX_PARTS, is_address, with_address};

/// The open folders with their indexes.
pub struct Collection {
    folders: Vec<OpenFolder>,
    covered: Vec<CoveredFolder>,
    /// The corpus of several machines that is searched in the place of the indexes of this one.
    remote: Option<SharedCorpus>,
}

/// A folder that is not indexed by itself, because a folder that is open with it holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredFolder {
    /// The folder as the user named it.
    pub folder: String,
    /// The folder that holds it.
    pub by: String,
}

impl Collection {
    /// Opens these folders, each once and none inside another, in the order in which they are
    /// named.
    fn open_each(
        folders: &[PathBuf],
        open: impl Fn(&Path) -> Result<Index, IndexError>,
    ) -> Result<Self, IndexError> {
        let mut named: Vec<(&PathBuf, PathBuf)> = Vec::new();
        for folder in folders.iter().filter(|folder| !is_address(folder)) {
            let canonical = canonical(folder)?;
            if named.iter().all(|(_, known)| *known != canonical) {
                named.push((folder, canonical));
            }
        }

        let mut covered = Vec::new();
        let mut outer: Vec<(&PathBuf, &Path)> = Vec::new();
        for (folder, path) in &named {
            let holds =
                |(_, other): &&(&PathBuf, PathBuf)| other != path && path.starts_with(other);
            // of several, the outermost is the one that is indexed
            let holder = named.iter().filter(holds);
            match holder.min_by_key(|(_, other)| other.components().count()) {
                Some((by, _)) => covered.push(CoveredFolder {
                    folder: folder.display().to_string(),
                    by: by.display().to_string(),
                }),
                None => outer.push((folder, path)),
            }
        }
        if outer.len() > MAX_PARTS {
            let count = outer.len();
            return Err(IndexError::new(
                format!("{count} folders are more than a corpus can have ({MAX_PARTS})"),
                "open a folder that holds them",
            ));
        }

        let paths: Vec<&Path> = outer.iter().map(|(_, path)| *path).collect();
        let named = outer.iter().zip(Names::for_folders(&paths));
        let folders = named.map(|((folder, _), names)| {
            Ok(OpenFolder {
                index: open(folder)?,
                names,
                part: FolderPart::default(),
                is_use_reported: false,
            })
        });
        Ok(Self {
            folders: folders.collect::<Result<_, IndexError>>()?,
            covered,
            remote: None,
        })
    }

    /// Opens the indexes of these folders under the folder `indexes`, as `Index::open` does. A
    /// folder that is named twice is opened once; one inside another is part of that one's index.
    ///
    /// # Errors
    /// As `Index::open`, for the first folder that fails; more than 256 folders.
    pub fn open(folders: &[PathBuf], indexes: &Path) -> Result<Self, IndexError> {
        Self::open_each(folders, |folder| Index::open(folder, indexes))
    }

    /// Connects to the index that the settings name, or that an address among `folders` is, and
    /// searches there from now on. The indexes of the folders stay what updates work on.
    ///
    /// # Errors
    /// Settings that cannot be used; an engine that cannot be reached or read.
    pub fn connect(
        mut self,
        settings: &IndexSettings,
        folders: &[PathBuf],
    ) -> Result<Self, IndexError> {
        let addresses = folders.iter().map(PathBuf::as_path);
        let addresses = addresses.filter(|folder| is_address(folder));
        let settings = with_address(settings, addresses)?;
        self.remote = SharedCorpus::connect(&settings)?;

        let is_alone = self.folders.len() == 1;
        for OpenFolder { index, part, .. } in &mut self.folders {
            index.is_searched = self.remote.is_none();
            *part = FolderPart::new(&index.canonical, &settings.part, is_alone);
        }
        self.name_parts();
        Ok(self)
    }

    /// Gives the folders their names in the corpus on other machines.
    fn name_parts(&mut self) {
        let Some(remote) = &self.remote else { return };
        for folder in &mut self.folders {
            if let Some(names) = remote.names_of(&folder.part.name) {
                folder.names = names;
            }
        }
    }

    /// Deletes the indexes of these folders with their vectors, and begins empty ones. Nothing is
    /// deleted unless all can be.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process writes one of them; files that cannot be deleted.
    pub fn rebuild(folders: &[PathBuf], indexes: &Path) -> Result<Self, IndexError> {
        let empty = Self::open_each(folders, |folder| Index::locate(folder, indexes))?;
        for folder in &empty.folders {
            folder.index.check_writable()?;
        }
        for folder in &empty.folders {
            folder.index.clear()?;
        }
        Ok(empty)
    }

    /// Returns the folders that are not indexed by themselves, because another one holds them.
    pub fn covered_folders(&self) -> &[CoveredFolder] {
        &self.covered
    }

    /// Returns the folders whose indexes were of an older format and begin again.
    pub fn outdated_folders(&self) -> impl Iterator<Item = &str> {
        let indexes = self.folders.iter().map(|folder| &folder.index);
        let outdated = indexes.filter(|index| index.was_outdated);
        outdated.map(|index| index.name.as_str())
    }

    /// Returns the canonical paths of the folders.
    pub fn paths(&self) -> Vec<&Path> {
        let paths = self.folders.iter();
        paths
            .map(|folder| folder.index.canonical.as_path())
            .collect()
    }

    /// Returns the index that holds a document, with the path of the document inside its folder:
    /// the one of the index where only the forms of its letters differ.
    fn holder<'c>(&'c self, document: &'c str) -> Option<(&'c OpenFolder, &'c str)> {
        let inside = |folder: &'c OpenFolder| {
            let path = folder.names.own_document(document)?;
            if let Some(known) = folder.index.known_path(path) {
                return Some((folder, known));
            }
            // paths of a part without a name of its own begin with anything
            self.remote.is_none().then_some((folder, path))
        };
        self.folders.iter().find_map(inside)
    }

    /// Updates the index of each folder, as `Index::update` does. One that another process writes
    /// is only read, which is reported once.
    ///
    /// # Errors
    /// As `Index::update`; [`IndexError::InUse`] when other processes write all of them.
    pub fn update(
        &mut self,
        config: &Config,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Update, IndexError> {
        let before = self.generation();
        let updated = match self.update_each(config, embedder, counter, publish) {
            Ok(Update::Finished(report)) => self.push(*report, publish),
            updated => updated,
        };

        if !matches!(updated, Ok(Update::Finished(_))) && self.generation() != before {
            // part of the work is published; a second stop changes nothing now
            let corpus = self.card();
            let _ = publish(SessionEvent::CorpusOpened { corpus });
        }
        updated
    }

    /// Sends what changed to the corpus on other machines, if that is what is searched.
    fn push(
        &mut self,
        mut report: IndexReport,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Update, IndexError> {
        if let Some(remote) = &self.remote {
            let mut progress = Progress::new(publish);
            // the index of a folder that another process writes is sent by that process
            let own = self.folders.iter().filter(|one| one.index.lock.is_some());
            for OpenFolder { index, part, .. } in own {
                match remote.push(index, part, &mut progress) {
                    Ok(()) => {}
                    Err(error) if is_stop(&error) => {
                        return Ok(Update::Interrupted);
                    }
                    Err(error) => return Err(error),
                }
            }
            remote.refresh()?;
            self.name_parts();
            report.corpus = self.card();
        }

        Ok(Update::Finished(Box::new(report)))
    }

    fn update_each(
        &mut self,
        config: &Config,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Update, IndexError> {
        let mut reports = Vec::new();
        let mut in_use = Vec::new();
        for (at, folder) in self.folders.iter_mut().enumerate() {
            let names = &folder.names;
            let mut publish = |event| publish(names.event(event));
            match folder.index.update(config, embedder, counter, &mut publish) {
                Ok(Update::Finished(report)) => reports.push(names.report(*report)),
                Ok(Update::Interrupted) => return Ok(Update::Interrupted),
                Err(IndexError::InUse { .. }) => in_use.push(at),
                Err(error) => return Err(error),
            }
        }

        // of a corpus on other machines alone there is nothing to do
        if self.folders.is_empty() && self.remote.is_some() {
            reports.push(IndexReport {
                unchanged: self.card().documents,
                ..IndexReport::default()
            });
        }
        let Some(mut report) = reports.into_iter().reduce(sum) else {
            return Err(IndexError::InUse {
                folder: self.card().folder,
            });
        };
        for at in in_use {
            self.folders[at].report_use(publish);
        }
        report.corpus = self.card();
        Ok(Update::Finished(Box::new(report)))
    }

    /// Returns whether every index agrees with its folder, by the sizes and times of the files.
    ///
    /// # Errors
    /// A folder that cannot be walked.
    pub fn is_current(&self, settings: &CorpusSettings) -> Result<bool, IndexError> {
        for OpenFolder { index, part, .. } in &self.folders {
            let is_sent = self.remote.as_ref().is_none_or(|remote| {
                let manifest = index.pointer.as_ref().map(|pointer| &pointer.manifest);
                manifest.is_some_and(|manifest| remote.holds(&part.name, manifest))
            });
            if !is_sent || !index.is_current(settings)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether any index has no vectors: only its words can be searched.
    pub fn lacks_vectors(&self) -> bool {
        if let Some(remote) = &self.remote {
            return remote.lacks_vectors();
        }
        self.folders
            .iter()
            .any(|folder| folder.index.lacks_vectors())
    }

    /// Returns whether no index has vectors: those of new folders are empty. A corpus on other
    /// machines is sent once, with its vectors.
    pub fn has_no_vectors(&self) -> bool {
        let mut folders = self.folders.iter();
        self.remote.is_none()
            && folders
                .all(|OpenFolder { index, .. }| !index.card().is_indexed() || index.lacks_vectors())
    }

    fn generation(&self) -> u64 {
        if let Some(remote) = &self.remote {
            let [_, _, generations] = remote.counts();
            return generations;
        }
        let generations = self.folders.iter();
        generations
            .map(|folder| folder.index.card().generation)
            .sum()
    }

    /// Returns `count` chunks, chosen at random; all of them when there are no more.
    ///
    /// # Errors
    /// Files of an index that cannot be read.
    pub fn sample(&self, count: usize, random: &mut Random) -> Result<Vec<ChunkText>, IndexError> {
        if let Some(remote) = &self.remote {
            return Ok(remote.sample(count, random)?);
        }
        let mut chunks = Vec::new();
        for folder in &self.folders {
            let generation = folder.index.generation.iter();
            chunks.extend(generation.flat_map(|generation| {
                let stored = generation.chunks.iter();
                stored.map(|chunk| (folder, &generation.lexical, chunk.address))
            }));
        }

        let read = |(folder, lexical, address): (&OpenFolder, &Lexical, _)| {
            let chunk = folder.index.check(lexical.chunk(address))?;
            Ok(folder.names.chunk(chunk))
        };
        random.draw(count, chunks).into_iter().map(read).collect()
    }

    /// Returns the chunks that hold a phrase, with their ranks for a query in the whole BM25 list,
    /// the whole vector list, and the fused list of the best `settings.pool` of each. Case and
    /// white space do not matter; a phrase that two neighbouring chunks share is found in both.
    ///
    /// # Errors
    /// Files of an index that cannot be read.
    pub fn trace_passage(
        &self,
        phrase: &str,
        query: Query<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Vec<TracedChunk>, IndexError> {
        match &self.remote {
            Some(remote) => Ok(remote.trace_passage(phrase, query, settings)?),
            None => trace_passage(&self.folders, phrase, query, settings),
        }
    }

    /// Reads a document, as `Index::source` does.
    ///
    /// # Errors
    /// A path that is not in an index; a file that can no longer be read as text.
    pub fn source(&self, document: &str, lines: [u32; 2]) -> Result<Source, IndexError> {
        let Some((folder, path)) = self.holder(document) else {
            if let Some(remote) = &self.remote {
                return Err(remote.elsewhere(document).into());
            }
            return Err(IndexError::unknown_document(document, &self.card().folder));
        };

        let source = folder.index.source(path, lines)?;
        Ok(Source {
            document: document.to_owned(),
            ..source
        })
    }

    /// Uses the links of this recipe from now on, as `Index::use_links` does.
    ///
    /// # Errors
    /// Files of an index that cannot be read or written.
    pub fn use_links(&mut self, recipe: &LinkRecipe) -> Result<(), IndexError> {
        self.folders
            .iter_mut()
            .try_for_each(|folder| folder.index.use_links(recipe))
    }

    /// Deletes the links that this linker made, whichever model it used.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process writes an index; files that cannot be deleted.
    pub fn forget_links(&mut self, recipe: &LinkRecipe) -> Result<(), IndexError> {
        self.folders
            .iter_mut()
            .try_for_each(|folder| folder.index.forget_links(recipe))
    }

    /// Returns the progress of linking with the links in use. Documents whose links another model
    /// made are not to be linked.
    pub fn link_state(&self) -> LinkedState {
        let mut sum = LinkedState::default();

        for OpenFolder { index, names, .. } in &self.folders {
            let state = index.link_state();
            sum.documents += state.documents;
            sum.chunks += state.chunks;
            if state.other_models.is_empty() {
                let unlinked = state.unlinked.into_iter();
                sum.unlinked
                    .extend(unlinked.map(|(path, chunks)| (names.document(&path), chunks)));
            }
            sum.other_models.extend(state.other_models);
        }

        sum
    }

    /// Rewrites the files without the links of documents that are gone, as `Index::compact_links`
    /// does.
    ///
    /// # Errors
    /// Files of an index that cannot be written.
    pub fn compact_links(&self) -> Result<(), IndexError> {
        self.folders
            .iter()
            .try_for_each(|folder| folder.index.compact_links())
    }
}

impl OpenFolder {
    /// Reports that another process writes the index, once.
    fn report_use(&mut self, publish: &mut dyn FnMut(SessionEvent) -> Flow) {
        if std::mem::replace(&mut self.is_use_reported, true) {
            return;
        }
        let _ = publish(SessionEvent::warning(Problem::new(
            format!(
                "another ragscope has the index of {} open; its last complete state is used",
                self.index.name
            ),
            "index again when it is closed",
        )));
    }
}

/// Adds up the reports of two folders.
fn sum(one: IndexReport, other: IndexReport) -> IndexReport {
    let mut updated = [one.updated, other.updated].concat();
    updated.truncate(IndexReport::MAX_UPDATED);

    IndexReport {
        corpus: one.corpus,
        added: one.added + other.added,
        changed: one.changed + other.changed,
        unchanged: one.unchanged + other.unchanged,
        removed: one.removed + other.removed,
        updated,
        embedded: one.embedded + other.embedded,
        reused: one.reused + other.reused,
        neighbours: match (one.neighbours, other.neighbours) {
            (Some(one), Some(other)) => Some(NeighbouringSentences {
                pairs: one.pairs + other.pairs,
                joined: one.joined + other.joined,
            }),
            (known, None) | (None, known) => known,
        },
        skipped: [one.skipped, other.skipped].concat(),
        omitted: OmittedFiles::merge_lists(one.omitted, other.omitted),
        noted: [one.noted, other.noted].concat(),
        wall_ms: one.wall_ms + other.wall_ms,
    }
}

impl Search for Collection {
    fn search(
        &self,
        query: &str,
        vector: &[f32],
        embedder: &str,
        settings: &RetrieverSettings,
    ) -> Result<Retrieval, IndexError> {
        let query = Query {
            text: query,
            vector,
            embedder,
        };

        match &self.remote {
            Some(remote) => Ok(remote.search(query, settings)?),
            None => retrieval::search(&self.folders, query, settings),
        }
    }

    fn vectors(&self, chunks: &[u64]) -> Result<Vec<Option<Vec<f32>>>, IndexError> {
        if let Some(remote) = &self.remote {
            return Ok(remote.vectors(chunks)?);
        }
        let vector = |chunk: &u64| {
            self.folders.iter().find_map(|folder| {
                let vector = folder.index.vector(folder.names.chunk_id(*chunk))?;
                Some(vector.to_vec())
            })
        };
        Ok(chunks.iter().map(vector).collect())
    }

    fn rechunk(
        &self,
        documents: &[&str],
        split: SemanticSplit,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
    ) -> Result<Vec<Rechunked>, LlmError> {
        let mut rechunked = Vec::new();
        for document in documents {
            rechunked.push(if let Some((folder, path)) = self.holder(document) {
                let of_folder = folder.index.rechunk(path, split, embedder, counter)?;
                folder.names.name_rechunked(of_folder)
            } else {
                let reason = match &self.remote {
                    Some(remote) => remote.elsewhere(document).to_string(),
                    None => "it is in none of the open folders".to_owned(),
                };
                Rechunked::failed(document, reason)
            });
        }
        Ok(rechunked)
    }

    fn document(&self, path: &str) -> Result<Vec<ChunkText>, IndexError> {
        if let Some(remote) = &self.remote {
            return Ok(remote.document(path)?);
        }
        let Some((folder, path)) = self.holder(path) else {
            return Ok(Vec::new());
        };
        let chunks = folder.index.document(path)?.into_iter();
        Ok(chunks.map(|chunk| folder.names.chunk(chunk)).collect())
    }

    fn documents(&self) -> Result<Vec<String>, IndexError> {
        if let Some(remote) = &self.remote {
            return Ok(remote.documents()?);
        }
        let named = |folder: &OpenFolder| {
            let documents = folder.index.documents().into_iter();
            let documents = documents.map(|path| folder.names.document(&path));
            documents.collect::<Vec<_>>()
        };
        Ok(self.folders.iter().flat_map(named).collect())
    }

    fn links(&self, document: &str) -> Result<Option<ChunkLinks>, IndexError> {
        self.holder(document)
            .map_or(Ok(None), |(folder, path)| folder.index.links(path))
    }

    fn keep_links(&self, document: &str, links: &ChunkLinks) -> Result<(), IndexError> {
        self.holder(document).map_or(Ok(()), |(folder, path)| {
            folder.index.keep_links(path, links)
        })
    }

    fn card(&self) -> CorpusCard {
        let cards: Vec<CorpusCard> = self
            .folders
            .iter()
            .map(|folder| folder.index.card())
            .collect();

        let folders: Vec<String> = cards.iter().map(|card| card.folder.clone()).collect();
        let of_folders = CorpusCard {
            folder: folders.join(", "),
            documents: cards.iter().map(|card| card.documents).sum(),
            chunks: cards.iter().map(|card| card.chunks).sum(),
            generation: cards.iter().map(|card| card.generation).sum(),
            read_only: cards.iter().any(|card| card.read_only),
            demo: cards.iter().all(|card| card.demo),
            words_only: cards.iter().any(|card| card.words_only),
            folders: if folders.len() > 1 {
                folders
            } else {
                Vec::new()
            },
        };

        let Some(remote) = &self.remote else {
            return of_folders;
        };
        let [documents, chunks, generation] = remote.counts();
        CorpusCard {
            folder: if cards.is_empty() {
                remote.address().to_owned()
            } else {
                of_folders.folder
            },
            folders: Vec::new(),
            documents,
            chunks,
            generation,
            demo: of_folders.demo && !cards.is_empty(),
            words_only: remote.lacks_vectors(),
            ..of_folders
        }
    }
}
