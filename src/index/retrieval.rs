//! Retrieves chunks from one or several indexes as if they were one: BM25 scores with the counts of
//! all of them, and cosine similarities are comparable as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use super::asked_names::order_by_names;
use super::copies::{Folding, WIDER, are_crowded};
use super::error::IndexError;
use super::filter::Filter;
use super::folder::Index;
use super::fusion::{Fused, ScoredChunk, fuse};
use super::generation::Generation;
use super::lexical::analyser::{self, QueryWord, STOP_MARK};
use super::lexical::{Statistics, place_words};
use super::manifest::DocumentEntry;
use super::mentions::{NamingText, naming_texts};
use super::names::Names;
use super::vectors::VectorStore;
use crate::config::RetrieverSettings;
use crate::event::{Filtered, Hit, Metadata, Retrieval, WordScore, elapsed_us};

/// An index with its names in the corpus.
#[derive(Clone, Copy)]
pub(super) struct NamedIndex<'a> {
    pub index: &'a Index,
    pub names: &'a Names,
}

/// A query: its text, and its vector with the fingerprint of the embedder that made it.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    pub text: &'a str,
    pub vector: &'a [f32],
    pub embedder: &'a str,
}

/// A part that has a generation, with the filter for it.
struct Searched<'a> {
    part: NamedIndex<'a>,
    generation: &'a Generation,
    filter: Option<Filter>,
}

impl<'a> NamedIndex<'a> {
    /// Names the chunks of a ranked list.
    fn name_chunks(self, found: Vec<(f32, u64)>) -> Vec<ScoredChunk> {
        let named = |(score, chunk)| ScoredChunk {
            chunk: self.names.chunk_id(chunk),
            score,
        };
        found.into_iter().map(named).collect()
    }

    /// Returns the generation in use with the filter of the settings.
    fn open(self, settings: &RetrieverSettings) -> Result<Option<Searched<'a>>, IndexError> {
        let Some(generation) = &self.index.generation else {
            return Ok(None);
        };
        let filter = generation
            .filter(self.names, &settings.filter)
            .map_err(|error| self.index.damage_error(error))?;
        Ok(Some(Searched {
            part: self,
            generation,
            filter,
        }))
    }
}

impl Searched<'_> {
    /// Returns a chunk of the fused list with its document; `None` when another part has it.
    fn hit(&self, fused: &Fused) -> Result<Option<(Hit, DocumentEntry)>, IndexError> {
        let id = self.part.names.chunk_id(fused.chunk);
        let Some(stored) = self.generation.chunk(id) else {
            return Ok(None);
        };
        let chunk = self.generation.lexical.chunk(stored.address);
        let chunk = chunk.map_err(|error| self.part.index.damage_error(error))?;
        let documents = &self.generation.manifest.documents;
        let entry = documents.get(&chunk.document).cloned().unwrap_or_default();
        let hit = fused.to_hit(self.part.names.chunk(chunk));
        Ok(Some((hit, entry)))
    }

    /// Returns the beginnings of the documents that texts of the best hits name and that no hit is
    /// of.
    fn named_elsewhere(&self, hits: &[Hit], texts: &[NamingText]) -> Result<Vec<Hit>, IndexError> {
        let Self {
            part, generation, ..
        } = self;
        let mut beginnings = Vec::new();
        let names = generation.document_names();
        for path in names.missing(hits, texts, part.names) {
            let ids = generation.lexical.ids_in(&[path.to_owned()]);
            let ids = ids.map_err(|error| part.index.damage_error(error))?;
            let filter = self.filter.as_ref();
            let first = ids
                .into_iter()
                .min()
                .filter(|id| filter.is_none_or(|filter| filter.chunks.binary_search(id).is_ok()));
            if let Some(first) = first
                && let Some((hit, entry)) =
                    self.hit(&Fused::in_no_list(part.names.chunk_id(first)))?
            {
                let date = entry.metadata.date;
                beginnings.push(Hit { date, ..hit });
            }
        }
        Ok(beginnings)
    }

    /// Gives the hits of this part the words that add up to their BM25 scores.
    fn score_words(&self, words: &QueryWords<'_>, hits: &mut [Hit]) -> tantivy::Result<()> {
        let generation = self.generation;
        let names = self.part.names;
        let mut own: Vec<&mut Hit> = Vec::new();
        let mut addresses = Vec::new();
        for hit in hits.iter_mut().filter(|hit| hit.bm25.is_some()) {
            if let Some(stored) = generation.chunk(names.chunk_id(hit.chunk.id)) {
                own.push(hit);
                addresses.push(stored.address);
            }
        }

        let QueryWords {
            words,
            statistics,
            spellings,
        } = words;
        let lexical = &generation.lexical;
        let scores = lexical.form_scores(words, statistics, &addresses)?;
        for (hit, scores) in own.into_iter().zip(scores) {
            let document = names.own_document(&hit.chunk.document).unwrap_or_default();
            let entry = generation.manifest.documents.get(document);
            let language = entry.map_or("", |entry| entry.language.as_str());
            let place = place_words(document, &hit.chunk.headings, language);
            for score in scores {
                let in_place = place.iter().filter(|word| word.text == score.form).count();
                let form = score.form.trim_start_matches(STOP_MARK);
                let of_form = WordScore {
                    word: spellings.get(form).map_or(form, String::as_str).to_owned(),
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

    /// Returns what the document of a hit says of itself, by its path.
    fn metadata(&self, hit: &Hit) -> Option<(String, Metadata)> {
        let path = self.part.names.own_document(&hit.chunk.document)?;
        let entry = self.generation.manifest.documents.get(path)?;
        let has_some = !entry.metadata.is_empty();
        has_some.then(|| (hit.chunk.document.clone(), entry.metadata.clone()))
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

/// Retrieves the `settings.pool` best chunks of the parts by the words and by the vector of a query
/// (of length 1), fused. A part with the vectors of another embedder is searched by words alone.
///
/// # Errors
/// Files of an index that cannot be read.
pub(super) fn search(
    parts: &[NamedIndex<'_>],
    query: Query<'_>,
    settings: &RetrieverSettings,
) -> Result<Retrieval, IndexError> {
    let started = Instant::now();
    let mut searched = Vec::new();
    for part in parts {
        searched.extend(part.open(settings)?);
    }

    let words = QueryWords::new(&searched, query, settings)?;
    let mut pool = settings.pool as usize;
    let (bm25, vector, hits) = loop {
        let [bm25, vector] = best_lists(&searched, query, &words, settings, pool)?;
        let hits = fold(&searched, query, &fuse(&bm25, &vector, settings), settings)?;
        if !are_crowded(&hits, [&bm25, &vector], pool, settings) {
            break (bm25, vector, hits);
        }
        pool *= WIDER;
    };

    let texts = naming_texts(&hits, settings);
    let mut named = Vec::new();
    for part in searched.iter().filter(|_| !texts.is_empty()) {
        named.extend(part.named_elsewhere(&hits, &texts)?);
    }
    let mut hits = order_by_names(hits, named, &texts, query.text, settings.pool as usize);

    for part in &searched {
        part.score_words(&words, &mut hits)
            .map_err(|error| part.part.index.damage_error(error))?;
    }

    let metadata = |hit| searched.iter().find_map(|part| part.metadata(hit));
    Ok(Retrieval {
        query: query.text.to_owned(),
        documents: hits.iter().filter_map(metadata).collect::<BTreeMap<_, _>>(),
        hits,
        bm25_found: bm25.len() as u32,
        vector_found: vector.len() as u32,
        filter: count_filtered(&searched, settings),
        wall_us: elapsed_us(started),
    })
}

/// Returns the `settings.pool` best hits of a fused list, of which none is a copy of another.
fn fold(
    searched: &[Searched<'_>],
    query: Query<'_>,
    fused: &[Fused],
    settings: &RetrieverSettings,
) -> Result<Vec<Hit>, IndexError> {
    let mut folding = Folding::new(query.text, settings.pool as usize);

    'fused: for fused in fused {
        for part in searched {
            if let Some((hit, entry)) = part.hit(fused)?
                && !folding.add(hit, &entry)
            {
                break 'fused;
            }
        }
    }

    Ok(folding.finish())
}

/// Both ranked lists of a query: every chunk that it finds.
pub(super) fn whole_lists(
    parts: &[NamedIndex<'_>],
    query: Query<'_>,
    settings: &RetrieverSettings,
) -> Result<[Vec<ScoredChunk>; 2], IndexError> {
    let generations = parts.iter().filter_map(|part| {
        Some(Searched {
            part: *part,
            generation: part.index.generation.as_ref()?,
            filter: None,
        })
    });
    let searched: Vec<Searched<'_>> = generations.collect();

    let chunks = |part: &Searched<'_>| part.generation.manifest.chunks as usize;
    let all = searched.iter().map(chunks).sum::<usize>().max(1);
    let words = QueryWords::new(&searched, query, settings)?;
    let bm25 = words.best(&searched, all)?;
    let mut vector = Vec::new();
    for Searched {
        part, generation, ..
    } in searched.iter().filter(|_| settings.kind.has_vectors())
    {
        if let Some(vectors) = part.index.comparable_vectors(query) {
            let found = generation.all_nearest(vectors, query.vector);
            vector
                .push(part.name_chunks(found.map_err(|error| error.for_folder(&part.index.name))?));
        }
    }
    Ok([bm25, merge(vector, all)])
}

/// The words of a query with their statistics; none where words are not searched.
struct QueryWords<'a> {
    words: Vec<QueryWord>,
    statistics: Statistics<'a>,
    /// The spelling of each form in the query.
    spellings: HashMap<String, String>,
}

impl<'a> QueryWords<'a> {
    fn new(
        searched: &[Searched<'a>],
        query: Query<'_>,
        settings: &RetrieverSettings,
    ) -> Result<Self, IndexError> {
        let generations = searched.iter().map(|part| part.generation);
        let languages = generations.clone().flat_map(|from| &from.languages);
        let languages: BTreeSet<&str> = languages.map(String::as_str).collect();
        let words = if settings.kind.has_words() {
            analyser::query_words(query.text, &languages)
        } else {
            Vec::new()
        };

        let statistics = Statistics::new(generations.map(|from| &from.lexical), &words);
        let statistics = match (statistics, searched.first()) {
            (Err(error), Some(first)) => return Err(first.part.index.damage_error(error)),
            (statistics, _) => statistics.unwrap_or_default(),
        };
        Ok(Self {
            words,
            statistics,
            spellings: analyser::spellings(query.text, &languages),
        })
    }

    /// Returns the `count` best chunks by words.
    fn best(
        &self,
        searched: &[Searched<'_>],
        count: usize,
    ) -> Result<Vec<ScoredChunk>, IndexError> {
        let mut lists = Vec::new();
        for Searched {
            part,
            generation,
            filter,
        } in searched
        {
            let lexical = &generation.lexical;
            let found = lexical.search(&self.words, count, filter.as_ref(), &self.statistics);
            lists.push(part.name_chunks(found.map_err(|error| part.index.damage_error(error))?));
        }
        Ok(merge(lists, count))
    }
}

/// Returns the `pool` best chunks by words, and by vector. The vectors are searched on another
/// thread meanwhile.
fn best_lists(
    searched: &[Searched<'_>],
    query: Query<'_>,
    words: &QueryWords<'_>,
    settings: &RetrieverSettings,
    pool: usize,
) -> Result<[Vec<ScoredChunk>; 2], IndexError> {
    let with_vectors = searched.iter().filter(|_| settings.kind.has_vectors());
    let (parts, searches): (Vec<NamedIndex<'_>>, Vec<_>) = with_vectors
        .filter_map(|of| {
            // the index itself cannot go to another thread
            let (generation, filter) = (of.generation, of.filter.as_ref());
            let vectors = of.part.index.comparable_vectors(query)?;
            let search = move || generation.nearest(vectors, query.vector, pool, filter);
            Some((of.part, search))
        })
        .unzip();

    let mut by_words_found = Ok(Vec::new());
    let mut found = Vec::new();
    // the vectors on another thread, the words on this one: neither waits for the other
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| found.extend(searches.iter().map(|search| search())));
        by_words_found = words.best(searched, pool);
    });

    let mut lists = Vec::new();
    for (part, found) in parts.into_iter().zip(found) {
        lists.push(part.name_chunks(found.map_err(|error| error.for_folder(&part.index.name))?));
    }
    Ok([by_words_found?, merge(lists, pool)])
}

/// Merges ranked lists, best first. Equal scores stay in the order of the lists.
fn merge(lists: Vec<Vec<ScoredChunk>>, count: usize) -> Vec<ScoredChunk> {
    let mut all = lists.concat();
    all.sort_by(|one, other| other.score.total_cmp(&one.score));
    all.truncate(count);
    all
}

/// Returns what the filter of the settings left; `None` without a filter.
fn count_filtered(searched: &[Searched<'_>], settings: &RetrieverSettings) -> Option<Filtered> {
    let left = searched.iter().filter_map(|part| {
        let documents = part.filter.as_ref()?.documents.len();
        Some([documents, part.generation.manifest.documents.len()])
    });
    let filtered = left.reduce(|sum, more| [sum[0] + more[0], sum[1] + more[1]]);
    filtered.map(|[documents, of]| Filtered {
        filter: settings.filter.to_string(),
        documents: documents as u64,
        of: of as u64,
    })
}
