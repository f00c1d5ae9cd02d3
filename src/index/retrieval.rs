//! Retrieves chunks from one or several indexes as if they were one: BM25 scores with the counts of
//! all of them, and cosine similarities are comparable as they are.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::asked_names::order_by_names;
use super::copies::{Folding, WIDER, are_crowded};
use super::error::IndexError;
use super::filter::Filter;
use super::folder::{Index, OpenFolder};
use super::fusion::{Fused, fuse};
use super::generation::Generation;
use super::lexical::analyser::{self, QueryWord, STOP_MARK};
use super::lexical::{Statistics, chunk_language, weighted_place};
use super::manifest::DocumentEntry;
use super::mentions::{NamingText, naming_texts};
use super::vectors::VectorStore;
use crate::config::RetrieverSettings;
use crate::event::{Filtered, Hit, Retrieval, TracedChunk, WordScore, elapsed_us};
use crate::remote::ScoredId;

/// A query: its text, and its vector with the fingerprint of the embedder that made it.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    pub text: &'a str,
    pub vector: &'a [f32],
    pub embedder: &'a str,
}

/// A corpus as a query searches it.
pub(super) trait Searched {
    type Error;

    /// Returns the `pool` best chunks by the words of the query, and by its vector.
    fn lists(&mut self, pool: usize) -> Result<[Vec<ScoredId>; 2], Self::Error>;

    /// Passes the hits of a fused list on with their documents, until `add` has no more room.
    fn each_hit(
        &mut self,
        fused: &[Fused],
        add: &mut dyn FnMut(Hit, DocumentEntry) -> bool,
    ) -> Result<(), Self::Error>;

    /// Returns the beginnings of the documents that texts of the best hits name and that no hit is
    /// of.
    fn named_elsewhere(
        &mut self,
        hits: &[Hit],
        texts: &[NamingText],
    ) -> Result<Vec<(Hit, DocumentEntry)>, Self::Error>;
}

/// Retrieves the `settings.pool` best chunks by both lists of a query, fused, of which none is a
/// copy of another, with what their documents say of themselves. Neither the filter nor the time is
/// in the result.
pub(super) fn retrieve<S: Searched>(
    corpus: &mut S,
    query: &str,
    settings: &RetrieverSettings,
) -> Result<Retrieval, S::Error> {
    let count = settings.pool as usize;
    let mut pool = count;
    let (lists, hits, mut documents) = loop {
        let lists = corpus.lists(pool)?;
        let [bm25, vector] = &lists;
        let mut folding = Folding::new(query, count);
        let fused = fuse(bm25, vector, settings);
        corpus.each_hit(&fused, &mut |hit, document| folding.add(hit, document))?;
        let (hits, documents) = folding.finish();
        if !are_crowded(&hits, [bm25, vector], pool, settings) {
            break (lists, hits, documents);
        }
        pool *= WIDER;
    };

    let texts = naming_texts(&hits, settings);
    let mut named = Vec::new();
    // the names of all documents are many
    if !texts.is_empty() {
        for (mut hit, DocumentEntry { metadata, .. }) in corpus.named_elsewhere(&hits, &texts)? {
            hit.date.clone_from(&metadata.date);
            documents.insert(hit.chunk.document.clone(), metadata);
            named.push(hit);
        }
    }
    let hits = order_by_names(hits, named, &texts, query, count);
    let is_found = |path: &str| hits.iter().any(|hit| hit.chunk.document == path);
    documents.retain(|path, metadata| !metadata.is_empty() && is_found(path));

    let [bm25_found, vector_found] = lists.map(|list| list.len() as u32);
    Ok(Retrieval {
        query: query.to_owned(),
        documents,
        hits,
        bm25_found,
        vector_found,
        ..Retrieval::default()
    })
}

/// A folder that has a generation, with the filter for it.
struct Part<'a> {
    folder: &'a OpenFolder,
    generation: &'a Generation,
    filter: Option<Filter>,
}

impl Part<'_> {
    /// Names the chunks of a ranked list.
    fn name_chunks(&self, found: Vec<(f32, u64)>) -> Vec<ScoredId> {
        let named = |(score, chunk)| ScoredId {
            chunk: self.folder.names.chunk_id(chunk),
            score,
        };
        found.into_iter().map(named).collect()
    }

    /// Returns a chunk of the fused list with its document; `None` when another part has it.
    fn hit(&self, fused: &Fused) -> Result<Option<(Hit, DocumentEntry)>, IndexError> {
        let OpenFolder { index, names, .. } = self.folder;
        let Some(stored) = self.generation.chunk(names.chunk_id(fused.chunk)) else {
            return Ok(None);
        };
        let chunk = index.check(self.generation.lexical.chunk(stored.address))?;
        let documents = &self.generation.manifest.documents;
        let entry = documents.get(&chunk.document).cloned().unwrap_or_default();
        Ok(Some((fused.to_hit(names.chunk(chunk)), entry)))
    }

    /// Returns the beginning of a document, if the filter lets it through.
    fn beginning(&self, path: &str) -> Result<Option<(Hit, DocumentEntry)>, IndexError> {
        let OpenFolder { index, names, .. } = self.folder;
        let ids = index.check(self.generation.lexical.ids_in(&[path.to_owned()]))?;
        let filter = self.filter.as_ref();
        let first = ids
            .into_iter()
            .min()
            .filter(|id| filter.is_none_or(|filter| filter.chunks.binary_search(id).is_ok()));
        first.map_or(Ok(None), |first| {
            self.hit(&Fused::in_no_list(names.chunk_id(first)))
        })
    }
}

/// A search of the indexes of this machine.
pub(super) struct LocalSearch<'a> {
    parts: Vec<Part<'a>>,
    query: Query<'a>,
    settings: &'a RetrieverSettings,
    /// The words of the query; none where words are not searched.
    words: Vec<QueryWord>,
    statistics: Statistics<'a>,
    /// The spelling of each form in the query.
    spellings: HashMap<String, String>,
}

impl<'a> LocalSearch<'a> {
    fn new(
        parts: Vec<Part<'a>>,
        query: Query<'a>,
        settings: &'a RetrieverSettings,
    ) -> Result<Self, IndexError> {
        let generations = parts.iter().map(|part| part.generation);
        let languages = generations.clone().flat_map(|from| &from.languages);
        let languages: BTreeSet<&str> = languages.map(String::as_str).collect();
        let words = if settings.kind.has_words() {
            analyser::query_words(query.text, &languages)
        } else {
            Vec::new()
        };

        let statistics = Statistics::new(generations.map(|from| &from.lexical), &words);
        let statistics = match parts.first() {
            Some(first) => first.folder.index.check(statistics)?,
            None => Statistics::default(),
        };
        Ok(Self {
            words,
            statistics,
            spellings: analyser::spellings(query.text, &languages),
            parts,
            query,
            settings,
        })
    }

    /// Returns the parts that are searched by vector, with their vectors.
    fn parts_with_vectors(&self) -> impl Iterator<Item = (&Part<'a>, &'a VectorStore)> {
        let has_vectors = self.settings.kind.has_vectors();
        let parts = self.parts.iter().filter(move |_| has_vectors);
        parts.filter_map(|part| {
            let vectors = part.folder.index.comparable_vectors(self.query)?;
            Some((part, vectors))
        })
    }

    /// Returns the `count` best chunks by words.
    fn best_by_words(&self, count: usize) -> Result<Vec<ScoredId>, IndexError> {
        let mut lists = Vec::new();
        for part in &self.parts {
            let lexical = &part.generation.lexical;
            let filter = part.filter.as_ref();
            let found = lexical.search(&self.words, count, filter, &self.statistics);
            lists.push(part.name_chunks(part.folder.index.check(found)?));
        }
        Ok(merge(lists, count))
    }

    /// Gives hits the words that add up to their BM25 scores.
    fn score_words(&self, hits: &mut [Hit]) -> Result<(), IndexError> {
        for part in &self.parts {
            let scored = self.score_words_of(part, hits);
            part.folder.index.check(scored)?;
        }
        Ok(())
    }

    fn score_words_of(&self, part: &Part<'_>, hits: &mut [Hit]) -> tantivy::Result<()> {
        let generation = part.generation;
        let names = &part.folder.names;
        let mut own: Vec<&mut Hit> = Vec::new();
        let mut addresses = Vec::new();
        for hit in hits.iter_mut().filter(|hit| hit.bm25.is_some()) {
            if let Some(stored) = generation.chunk(names.chunk_id(hit.chunk.id)) {
                own.push(hit);
                addresses.push(stored.address);
            }
        }

        let lexical = &generation.lexical;
        let scores = lexical.form_scores(&self.words, &self.statistics, &addresses)?;
        for (hit, scores) in own.into_iter().zip(scores) {
            let document = names.own_document(&hit.chunk.document).unwrap_or_default();
            let entry = generation.manifest.documents.get(document);
            let language = match entry {
                Some(entry) if entry.other_languages.is_empty() => &entry.language,
                Some(entry) => chunk_language(&hit.chunk, &entry.language),
                None => "",
            };
            let place = weighted_place(document, &hit.chunk.headings, language);
            for score in scores {
                let in_place = place.iter().filter(|word| word.text == score.form).count();
                let form = score.form.trim_start_matches(STOP_MARK);
                let of_form = WordScore {
                    word: self
                        .spellings
                        .get(form)
                        .map_or(form, String::as_str)
                        .to_owned(),
                    score: score.score,
                    place_alone: in_place >= score.times as usize,
                    stop_word: score.form.starts_with(STOP_MARK),
                };
                add_score(&mut hit.words, of_form);
            }
            hit.words
                .sort_by(|one, other| other.score.total_cmp(&one.score));
        }
        Ok(())
    }

    /// Returns what the filter of the settings left; `None` without a filter.
    fn count_filtered(&self) -> Option<Filtered> {
        let left = self.parts.iter().filter_map(|part| {
            let documents = part.filter.as_ref()?.documents.len();
            Some([documents, part.generation.manifest.documents.len()])
        });
        let filtered = left.reduce(|sum, more| [sum[0] + more[0], sum[1] + more[1]]);
        filtered.map(|[documents, of]| Filtered {
            filter: self.settings.filter.to_string(),
            documents: documents as u64,
            of: of as u64,
        })
    }
}

impl Searched for LocalSearch<'_> {
    type Error = IndexError;

    /// Searches the vectors on another thread meanwhile.
    fn lists(&mut self, pool: usize) -> Result<[Vec<ScoredId>; 2], IndexError> {
        let vector = self.query.vector;
        let (parts, searches): (Vec<&Part<'_>>, Vec<_>) = self
            .parts_with_vectors()
            .map(|(part, vectors)| {
                // the index itself cannot go to another thread
                let (generation, filter) = (part.generation, part.filter.as_ref());
                (part, move || {
                    generation.nearest(vectors, vector, pool, filter)
                })
            })
            .unzip();

        let mut by_words = Ok(Vec::new());
        let mut found = Vec::new();
        // the vectors on another thread, the words on this one: neither waits for the other
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| found.extend(searches.iter().map(|search| search())));
            by_words = self.best_by_words(pool);
        });

        let mut lists = Vec::new();
        for (part, found) in parts.into_iter().zip(found) {
            let found = found.map_err(|error| error.for_folder(&part.folder.index.name))?;
            lists.push(part.name_chunks(found));
        }
        Ok([by_words?, merge(lists, pool)])
    }

    fn each_hit(
        &mut self,
        fused: &[Fused],
        add: &mut dyn FnMut(Hit, DocumentEntry) -> bool,
    ) -> Result<(), IndexError> {
        for fused in fused {
            for part in &self.parts {
                if let Some((hit, entry)) = part.hit(fused)?
                    && !add(hit, entry)
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn named_elsewhere(
        &mut self,
        hits: &[Hit],
        texts: &[NamingText],
    ) -> Result<Vec<(Hit, DocumentEntry)>, IndexError> {
        let mut beginnings = Vec::new();
        for part in &self.parts {
            let names = part.generation.document_names();
            for path in names.missing(hits, texts, &part.folder.names) {
                beginnings.extend(part.beginning(path)?);
            }
        }
        Ok(beginnings)
    }
}

/// Adds the score of a form to that of its word.
fn add_score(words: &mut Vec<WordScore>, of_form: WordScore) {
    match words.iter_mut().find(|known| known.word == of_form.word) {
        Some(known) => {
            known.score += of_form.score;
            known.place_alone &= of_form.place_alone;
            known.stop_word &= of_form.stop_word;
        }
        None => words.push(of_form),
    }
}

impl Index {
    /// Returns the vectors, if the same embedder made them and the vector of the query.
    fn comparable_vectors(&self, query: Query<'_>) -> Option<&VectorStore> {
        let has_same_embedder = self.manifest()?.embedder() == query.embedder;
        let vectors = self.vectors.as_ref().filter(|_| has_same_embedder)?;
        let is_comparable = vectors.width() == query.vector.len() && !query.vector.is_empty();
        is_comparable.then_some(vectors)
    }
}

/// Retrieves the `settings.pool` best chunks of the folders by the words and by the vector of a
/// query (of length 1), fused. A folder with the vectors of another embedder is searched by words
/// alone.
///
/// # Errors
/// Files of an index that cannot be read.
pub(super) fn search(
    folders: &[OpenFolder],
    query: Query<'_>,
    settings: &RetrieverSettings,
) -> Result<Retrieval, IndexError> {
    let started = Instant::now();
    let mut parts = Vec::new();
    for folder in folders {
        if let Some(generation) = &folder.index.generation {
            let filter = generation.filter(&folder.names, &settings.filter);
            parts.push(Part {
                folder,
                generation,
                filter: folder.index.check(filter)?,
            });
        }
    }

    let mut search = LocalSearch::new(parts, query, settings)?;
    let mut found = retrieve(&mut search, query.text, settings)?;
    search.score_words(&mut found.hits)?;
    Ok(Retrieval {
        filter: search.count_filtered(),
        wall_us: elapsed_us(started),
        ..found
    })
}

impl LocalSearch<'_> {
    /// Returns both ranked lists of the query: every chunk that it finds.
    pub(super) fn whole_lists(&self) -> Result<[Vec<ScoredId>; 2], IndexError> {
        let chunks = |part: &Part<'_>| part.generation.manifest.chunks as usize;
        let all = self.parts.iter().map(chunks).sum::<usize>().max(1);
        let bm25 = self.best_by_words(all)?;
        let mut vector = Vec::new();
        for (part, vectors) in self.parts_with_vectors() {
            let found = part.generation.all_nearest(vectors, self.query.vector);
            let found = found.map_err(|error| error.for_folder(&part.folder.index.name))?;
            vector.push(part.name_chunks(found));
        }
        Ok([bm25, merge(vector, all)])
    }

    /// Gives traced chunks the words that add up to their BM25 scores.
    pub(super) fn score_traced(&self, traced: &mut [TracedChunk]) -> Result<(), IndexError> {
        let hits = traced.iter().map(|traced| Hit {
            bm25: traced.bm25,
            ..Hit::with_rank(traced.chunk.clone(), 0)
        });
        let mut hits: Vec<Hit> = hits.collect();
        self.score_words(&mut hits)?;
        for (traced, hit) in traced.iter_mut().zip(hits) {
            traced.words = hit.words;
        }
        Ok(())
    }
}

/// Opens a search of all documents, whatever the filter.
pub(super) fn whole_search<'a>(
    folders: &'a [OpenFolder],
    query: Query<'a>,
    settings: &'a RetrieverSettings,
) -> Result<LocalSearch<'a>, IndexError> {
    let parts = folders.iter().filter_map(|folder| {
        Some(Part {
            folder,
            generation: folder.index.generation.as_ref()?,
            filter: None,
        })
    });
    LocalSearch::new(parts.collect(), query, settings)
}

/// Merges ranked lists, best first. Equal scores stay in the order of the lists.
fn merge(lists: Vec<Vec<ScoredId>>, count: usize) -> Vec<ScoredId> {
    let mut all = lists.concat();
    all.sort_by(|one, other| other.score.total_cmp(&one.score));
    all.truncate(count);
    all
}
