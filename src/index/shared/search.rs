//! Searching a collection: the same two lists, the same fusion and the same traces as those of the
//! local index.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::corpus::SharedCorpus;
use crate::config::RetrieverSettings;
use crate::event::{ChunkText, Filtered, Hit, Retrieval, TracedChunk, WorkError, elapsed_us};
use crate::index::filter::lets_through;
use crate::index::fusion::Fused;
use crate::index::generation::EF_SEARCH;
use crate::index::lexical::analyser;
use crate::index::manifest::DocumentEntry;
use crate::index::mentions::{DocumentNames, NamingText};
use crate::index::names::Names;
use crate::index::passage_trace::{Matches, trace};
use crate::index::retrieval::{Query, Searched, retrieve};
use crate::llm::Random;
use crate::remote::{
    Allowed, ChunkWithEntry, CorpusHead, Nearest, ScoredId, Snapshot, StoredDocument, part_of,
};

/// Length of the lists in which a passage is traced: an index of this machine ranks every chunk.
const TRACED_RANKS: usize = 10_000;

impl SharedCorpus {
    /// Retrieves the `settings.pool` best chunks, fused.
    pub fn search(
        &self,
        query: Query<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Retrieval, WorkError> {
        let started = Instant::now();

        self.view(|view| {
            let filter = self.filter(view, settings)?;
            let mut search = RemoteSearch {
                corpus: self,
                view,
                query,
                settings,
                allowed: filter.as_ref().map(|(allowed, _)| allowed),
                is_exact: false,
            };
            let found = retrieve(&mut search, query.text, settings)?;
            Ok(Retrieval {
                filter: filter.map(|(_, filtered)| filtered),
                wall_us: elapsed_us(started),
                ..found
            })
        })
    }

    /// Returns the chunks that hold a phrase, with their ranks in the best [`TRACED_RANKS`] of each
    /// list.
    pub fn trace_passage(
        &self,
        phrase: &str,
        query: Query<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Vec<TracedChunk>, WorkError> {
        self.view(|view| {
            let mut matches = Matches::new(phrase);
            view.each_chunk(|chunk| matches.see(self.with_corpus_path(chunk)))?;

            let mut search = RemoteSearch {
                corpus: self,
                view,
                query,
                settings,
                allowed: None,
                is_exact: true,
            };
            let [bm25, vector] = search.lists(TRACED_RANKS)?;
            Ok(trace(vec![matches], [&bm25, &vector], settings))
        })
    }

    /// Returns the paths of all documents.
    pub fn documents(&self) -> Result<Vec<String>, WorkError> {
        self.view(|view| {
            let documents = view.documents()?;
            let mut paths: Vec<String> = documents.iter().map(|one| self.path(one)).collect();
            paths.sort_unstable();
            Ok(paths)
        })
    }

    /// Returns the chunks of a document, in its order; none for one that is in no part.
    pub fn document(&self, document: &str) -> Result<Vec<ChunkText>, WorkError> {
        self.view(|view| {
            let Some((part, path)) = self.holder(document) else {
                return Ok(Vec::new());
            };
            let chunks = view.document(part.number, path)?.into_iter();
            Ok(chunks.map(|chunk| self.with_corpus_path(chunk)).collect())
        })
    }

    /// Returns the unit vector of each chunk.
    pub fn vectors(&self, chunks: &[u64]) -> Result<Vec<Option<Vec<f32>>>, WorkError> {
        let mut found = self.view(|view| view.vectors(chunks))?;
        Ok(chunks.iter().map(|chunk| found.remove(chunk)).collect())
    }

    /// Returns `count` chunks, chosen at random; all of them when there are no more.
    pub fn sample(&self, count: usize, random: &mut Random) -> Result<Vec<ChunkText>, WorkError> {
        self.view(|view| {
            let documents = view.documents()?;
            let ids: Vec<u64> = documents.iter().flat_map(StoredDocument::chunks).collect();
            let chunks = view.chunks(&random.draw(count, ids))?.into_iter();
            Ok(chunks
                .map(|chunk| self.with_corpus_path(chunk.text))
                .collect())
        })
    }

    /// Finds the documents that the filter of the settings lets through; `None` without a filter.
    fn filter(
        &self,
        view: &mut Snapshot<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Option<(Allowed, Filtered)>, WorkError> {
        if settings.filter.is_empty() {
            return Ok(None);
        }

        if !settings.filter.phrases.is_empty() || !settings.filter.excluded.is_empty() {
            return Err(WorkError::new(
                "a database does not know the order of words",
                "leave phrases, `has:` and `not:` out of the search",
            ));
        }

        let matcher = settings.filter.matcher();
        let documents = view.documents()?;
        let of = documents.len() as u64;
        let mut kept = Vec::new();

        for document in documents {
            let entry = read_entry(view, &document.entry)?;
            if lets_through(&matcher, &self.path(&document), &entry) {
                kept.push(document);
            }
        }

        let filtered = Filtered {
            filter: settings.filter.to_string(),
            documents: kept.len() as u64,
            of,
        };

        Ok(Some((Allowed::from_documents(kept), filtered)))
    }

    /// Returns the path of a document in the corpus.
    fn path(&self, document: &StoredDocument) -> String {
        self.corpus_path(document.part, &document.path)
    }

    /// Returns the path in the corpus of a document of a part.
    fn corpus_path(&self, number: u64, path: &str) -> String {
        let head = self.head.borrow();
        let part = head.parts.iter().find(|part| part.number == number);
        let name = part.map_or("", |part| part.name.as_str());
        self.names(number, name).document(path)
    }

    /// Names the document of a chunk in the corpus; its id is one of the corpus already.
    fn with_corpus_path(&self, chunk: ChunkText) -> ChunkText {
        let document = self.corpus_path(part_of(chunk.id), &chunk.document);
        ChunkText { document, ..chunk }
    }
}

/// A search of a collection.
struct RemoteSearch<'a, 'v> {
    corpus: &'a SharedCorpus,
    view: &'a mut Snapshot<'v>,
    query: Query<'a>,
    settings: &'a RetrieverSettings,
    allowed: Option<&'a Allowed>,
    /// Whether every vector is compared.
    is_exact: bool,
}

impl RemoteSearch<'_, '_> {
    /// Returns the `count` best chunks by words.
    fn by_words(&mut self, count: usize) -> Result<Vec<ScoredId>, WorkError> {
        if !self.settings.kind.has_words() {
            return Ok(Vec::new());
        }

        let parts = self.view.head().parts.iter();
        let languages = parts.flat_map(|part| part.languages.iter().map(String::as_str));
        let languages: BTreeSet<&str> = languages.collect();
        let words = analyser::query_words(self.query.text, &languages);
        self.view.by_words(&words, count, self.allowed)
    }

    /// Returns the best chunks by vector; none where another embedder made those of the collection.
    fn by_vector(&mut self, count: usize) -> Result<Vec<ScoredId>, WorkError> {
        let head = self.view.head();
        let Query {
            vector, embedder, ..
        } = self.query;
        let is_comparable =
            head.embedder == embedder && !vector.is_empty() && head.width as usize == vector.len();
        if !self.settings.kind.has_vectors() || !is_comparable {
            return Ok(Vec::new());
        }

        let wanted = Nearest {
            count,
            ef: EF_SEARCH,
            allowed: self.allowed,
            is_exact: self.is_exact,
        };
        self.view.by_vector(vector, wanted)
    }

    /// Reads the names of all documents, unless they are known.
    fn read_names(
        &mut self,
        known: &mut Option<(CorpusHead, DocumentNames)>,
    ) -> Result<(), WorkError> {
        if known
            .as_ref()
            .is_some_and(|(head, _)| head == self.view.head())
        {
            return Ok(());
        }
        let documents = self.view.documents()?;
        let mut titled = Vec::with_capacity(documents.len());
        for document in &documents {
            let entry = read_entry(self.view, &document.entry)?;
            titled.push((self.corpus.path(document), entry.title));
        }
        let titled = titled
            .iter()
            .map(|(path, title)| (path.as_str(), title.as_deref()));
        *known = Some((self.view.head().clone(), DocumentNames::new(titled)));
        Ok(())
    }
}

impl Searched for RemoteSearch<'_, '_> {
    type Error = WorkError;

    fn lists(&mut self, pool: usize) -> Result<[Vec<ScoredId>; 2], WorkError> {
        Ok([self.by_words(pool)?, self.by_vector(pool)?])
    }

    fn each_hit(
        &mut self,
        fused: &[Fused],
        add: &mut dyn FnMut(Hit, DocumentEntry) -> bool,
    ) -> Result<(), WorkError> {
        let ids: Vec<u64> = fused.iter().map(|one| one.chunk).collect();
        let mut texts: HashMap<u64, (ChunkText, DocumentEntry)> = HashMap::new();
        for ChunkWithEntry { text, entry } in self.view.chunks(&ids)? {
            let entry = read_entry(self.view, &entry)?;
            texts.insert(text.id, (text, entry));
        }

        for one in fused {
            if let Some((chunk, entry)) = texts.remove(&one.chunk)
                && !add(one.to_hit(self.corpus.with_corpus_path(chunk)), entry)
            {
                break;
            }
        }
        Ok(())
    }

    fn named_elsewhere(
        &mut self,
        hits: &[Hit],
        texts: &[NamingText],
    ) -> Result<Vec<(Hit, DocumentEntry)>, WorkError> {
        let mut known = self.corpus.document_names.borrow_mut();
        self.read_names(&mut known)?;
        let Some((_, names)) = known.as_ref() else {
            return Ok(Vec::new());
        };

        let mut first = Vec::new();
        for path in names.missing(hits, texts, &Names::default()) {
            if let Some((part, path)) = self.corpus.holder(path) {
                let chunks = self.view.document(part.number, path)?;
                first.extend(chunks.first().map(|chunk| chunk.id));
            }
        }
        let allowed = self.allowed;
        first.retain(|chunk| allowed.is_none_or(|allowed| allowed.contains(*chunk)));

        let mut beginnings = Vec::new();
        for ChunkWithEntry { text, entry } in self.view.chunks(&first)? {
            let entry = read_entry(self.view, &entry)?;
            let hit = Fused::in_no_list(text.id).to_hit(self.corpus.with_corpus_path(text));
            beginnings.push((hit, entry));
        }
        // a database returns them by id
        beginnings.sort_by_key(|(hit, _)| first.iter().position(|chunk| *chunk == hit.chunk.id));
        Ok(beginnings)
    }
}

/// Reads what the index of its machine knows of a document.
fn read_entry(view: &Snapshot<'_>, entry: &str) -> Result<DocumentEntry, WorkError> {
    serde_json::from_str(entry).map_err(|error| view.damage(error))
}
