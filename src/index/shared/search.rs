//! Searching a collection: the same two lists, the same fusion and the same traces as those of the
//! local index.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use super::corpus::SharedCorpus;
use crate::config::{FilteredDocument, RetrieverSettings};
use crate::event::{
    ChunkText, Filtered, Hit, Metadata, Problem, Retrieval, TracedChunk, elapsed_us,
};
use crate::index::asked_names::order_by_names;
use crate::index::copies::{Folding, WIDER, are_crowded};
use crate::index::filter::date;
use crate::index::fusion::{Fused, ScoredChunk, fuse};
use crate::index::generation::EF_SEARCH;
use crate::index::lexical::analyser;
use crate::index::manifest::DocumentEntry;
use crate::index::mentions::{DocumentNames, NamingText, naming_texts};
use crate::index::names::Names;
use crate::index::passage_trace::{Matches, trace};
use crate::index::retrieval::Query;
use crate::llm::Random;
use crate::remote::{
    Allowed, ChunkWithEntry, Nearest, RemoteError, ScoredId, Snapshot, StoredDocument, part_of,
};

/// Length of the lists in which a passage is traced: an index of this machine ranks every chunk.
const TRACED_RANKS: usize = 10_000;

impl SharedCorpus {
    /// Retrieves the `settings.pool` best chunks, fused.
    pub fn search(
        &self,
        query: Query<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Retrieval, RemoteError> {
        let started = Instant::now();

        self.view(|view| {
            let filter = self.filter(view, settings)?;
            let allowed = filter.as_ref().map(|(allowed, _)| allowed);
            let mut pool = settings.pool as usize;

            let (bm25, vector, found) = loop {
                let wanted = Nearest {
                    count: pool,
                    ef: EF_SEARCH,
                    allowed,
                    is_exact: false,
                };
                let bm25 = by_words(view, query, settings, pool, allowed)?;
                let vector = by_vector(view, query, settings, wanted)?;
                let found = self.fold(view, query, &fuse(&bm25, &vector, settings), settings)?;
                if !are_crowded(&found.hits, [&bm25, &vector], pool, settings) {
                    break (bm25, vector, found);
                }
                pool *= WIDER;
            };

            let texts = naming_texts(&found.hits, settings);
            let named = self.named_elsewhere(view, &found.hits, &texts, allowed)?;
            let Folded { hits, documents } =
                found.with_named(named, &texts, query.text, settings.pool as usize);
            Ok(Retrieval {
                query: query.text.to_owned(),
                documents,
                hits,
                bm25_found: bm25.len() as u32,
                vector_found: vector.len() as u32,
                filter: filter.map(|(_, filtered)| filtered),
                wall_us: elapsed_us(started),
            })
        })
    }

    /// Returns the `settings.pool` best hits of a fused list, of which none is a copy of another,
    /// with what their documents say of themselves.
    fn fold(
        &self,
        view: &mut Snapshot<'_>,
        query: Query<'_>,
        fused: &[Fused],
        settings: &RetrieverSettings,
    ) -> Result<Folded, RemoteError> {
        let ids: Vec<u64> = fused.iter().map(|one| one.chunk).collect();
        let mut texts: HashMap<u64, (ChunkText, DocumentEntry)> = HashMap::new();
        for ChunkWithEntry { text, entry } in view.chunks(&ids)? {
            let entry = read_entry(view, &entry)?;
            texts.insert(text.id, (text, entry));
        }

        let mut folding = Folding::new(query.text, settings.pool as usize);
        let mut documents = BTreeMap::new();
        for one in fused {
            let Some((chunk, entry)) = texts.remove(&one.chunk) else {
                continue;
            };
            let chunk = self.with_corpus_path(chunk);
            let path = chunk.document.clone();
            if !folding.add(one.to_hit(chunk), &entry) {
                break;
            }
            if !entry.metadata.is_empty() {
                documents.insert(path, entry.metadata);
            }
        }
        let hits = folding.finish();
        Ok(Folded { hits, documents })
    }

    /// Returns the beginnings of the documents that texts of the best hits name and that no hit is
    /// of, with what their documents say of themselves.
    fn named_elsewhere(
        &self,
        view: &mut Snapshot<'_>,
        hits: &[Hit],
        texts: &[NamingText],
        allowed: Option<&Allowed>,
    ) -> Result<Vec<(Hit, Metadata)>, RemoteError> {
        // the names of all documents are many
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = self.document_names.borrow_mut();
        if known.as_ref().is_none_or(|(head, _)| head != view.head()) {
            let documents = view.documents()?;
            let mut titled = Vec::with_capacity(documents.len());
            for document in &documents {
                let entry = read_entry(view, &document.entry)?;
                titled.push((self.path(document), entry.title));
            }
            let titled = titled
                .iter()
                .map(|(path, title)| (path.as_str(), title.as_deref()));
            *known = Some((view.head().clone(), DocumentNames::new(titled)));
        }
        let Some((_, names)) = known.as_ref() else {
            return Ok(Vec::new());
        };

        let mut first = Vec::new();
        for path in names.missing(hits, texts, &Names::default()) {
            if let Some((part, path)) = self.holder(path) {
                let chunks = view.document(part.number, path)?;
                first.extend(chunks.first().map(|chunk| chunk.id));
            }
        }
        first.retain(|chunk| allowed.is_none_or(|allowed| allowed.contains(*chunk)));

        let mut beginnings = Vec::new();
        for ChunkWithEntry { text, entry } in view.chunks(&first)? {
            let metadata = read_entry(view, &entry)?.metadata;
            let hit = Fused::in_no_list(text.id).to_hit(self.with_corpus_path(text));
            let date = metadata.date.clone();
            beginnings.push((Hit { date, ..hit }, metadata));
        }
        // a database returns them by id
        beginnings.sort_by_key(|(hit, _)| first.iter().position(|chunk| *chunk == hit.chunk.id));
        Ok(beginnings)
    }

    /// Returns the chunks that hold a phrase, with their ranks in the best [`TRACED_RANKS`] of each
    /// list.
    pub fn trace_passage(
        &self,
        phrase: &str,
        query: Query<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Vec<TracedChunk>, RemoteError> {
        self.view(|view| {
            let mut matches = Matches::new(phrase);
            view.each_chunk(|chunk| matches.see(self.with_corpus_path(chunk)))?;

            let wanted = Nearest {
                count: TRACED_RANKS,
                ef: EF_SEARCH,
                allowed: None,
                is_exact: true,
            };

            let bm25 = by_words(view, query, settings, TRACED_RANKS, None)?;
            let vector = by_vector(view, query, settings, wanted)?;
            Ok(trace(vec![matches], [&bm25, &vector], settings))
        })
    }

    /// Returns the paths of all documents.
    pub fn documents(&self) -> Result<Vec<String>, RemoteError> {
        self.view(|view| {
            let documents = view.documents()?;
            let mut paths: Vec<String> = documents.iter().map(|one| self.path(one)).collect();
            paths.sort_unstable();
            Ok(paths)
        })
    }

    /// Returns the chunks of a document, in its order; none for one that is in no part.
    pub fn document(&self, document: &str) -> Result<Vec<ChunkText>, RemoteError> {
        self.view(|view| {
            let Some((part, path)) = self.holder(document) else {
                return Ok(Vec::new());
            };
            let chunks = view.document(part.number, path)?.into_iter();
            Ok(chunks.map(|chunk| self.with_corpus_path(chunk)).collect())
        })
    }

    /// Returns the unit vector of each chunk.
    pub fn vectors(&self, chunks: &[u64]) -> Result<Vec<Option<Vec<f32>>>, RemoteError> {
        let mut found = self.view(|view| view.vectors(chunks))?;
        Ok(chunks.iter().map(|chunk| found.remove(chunk)).collect())
    }

    /// Returns `count` chunks, chosen at random; all of them when there are no more.
    pub fn sample(&self, count: usize, random: &mut Random) -> Result<Vec<ChunkText>, RemoteError> {
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
    ) -> Result<Option<(Allowed, Filtered)>, RemoteError> {
        if settings.filter.is_empty() {
            return Ok(None);
        }

        if !settings.filter.phrases.is_empty() || !settings.filter.excluded.is_empty() {
            return Err(RemoteError::Settings(Problem::new(
                "a database does not know the order of words",
                "leave phrases, `has:` and `not:` out of the search",
            )));
        }

        let matcher = settings.filter.matcher();
        let documents = view.documents()?;
        let of = documents.len() as u64;
        let mut kept = Vec::new();

        for document in documents {
            let entry = read_entry(view, &document.entry)?;
            let lets_through = matcher.lets_through(FilteredDocument {
                path: &self.path(&document),
                format: &entry.format,
                date: &date(&entry),
            });
            if lets_through {
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

/// The hits of a search, with what their documents say of themselves, by path.
struct Folded {
    hits: Vec<Hit>,
    documents: BTreeMap<String, Metadata>,
}

impl Folded {
    /// Adds the beginnings of documents that hits name.
    fn with_named(
        mut self,
        named: Vec<(Hit, Metadata)>,
        texts: &[NamingText],
        query: &str,
        count: usize,
    ) -> Self {
        let (named, metadata): (Vec<Hit>, Vec<Metadata>) = named.into_iter().unzip();
        let given = named.iter().map(|hit| hit.chunk.document.clone());
        let given = given.zip(metadata).filter(|(_, of)| !of.is_empty());
        self.documents.extend(given);
        let hits = order_by_names(self.hits, named, texts, query, count);
        let is_found = |path: &String| hits.iter().any(|hit| hit.chunk.document == *path);
        self.documents.retain(|path, _| is_found(path));
        Self { hits, ..self }
    }
}

/// Returns the `count` best chunks by words.
fn by_words(
    view: &mut Snapshot<'_>,
    query: Query<'_>,
    settings: &RetrieverSettings,
    count: usize,
    allowed: Option<&Allowed>,
) -> Result<Vec<ScoredChunk>, RemoteError> {
    if !settings.kind.has_words() {
        return Ok(Vec::new());
    }

    let parts = view.head().parts.iter();
    let languages = parts.flat_map(|part| part.languages.iter().map(String::as_str));
    let languages: BTreeSet<&str> = languages.collect();
    let words = analyser::query_words(query.text, &languages);
    Ok(to_scored(view.by_words(&words, count, allowed)?))
}

/// Returns the best chunks by vector; none where another embedder made those of the collection.
fn by_vector(
    view: &mut Snapshot<'_>,
    query: Query<'_>,
    settings: &RetrieverSettings,
    wanted: Nearest<'_>,
) -> Result<Vec<ScoredChunk>, RemoteError> {
    let head = view.head();
    let is_comparable = head.embedder == query.embedder
        && !query.vector.is_empty()
        && head.width as usize == query.vector.len();

    if !settings.kind.has_vectors() || !is_comparable {
        return Ok(Vec::new());
    }

    Ok(to_scored(view.by_vector(query.vector, wanted)?))
}

fn to_scored(found: Vec<ScoredId>) -> Vec<ScoredChunk> {
    let found = found.into_iter();
    found
        .map(|ScoredId { chunk, score }| ScoredChunk { chunk, score })
        .collect()
}

/// Reads what the index of its machine knows of a document.
fn read_entry(view: &Snapshot<'_>, entry: &str) -> Result<DocumentEntry, RemoteError> {
    serde_json::from_str(entry).map_err(|error| view.damage(error))
}
