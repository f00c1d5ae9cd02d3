//! The lexical index and the chunk store in one: tantivy finds chunks by their words (BM25, with
//! positions) and stores each chunk as it is shown.

mod read_only;
mod expressions;
pub(in crate::index) mod stop_words;
pub(in crate::index) mod analyser;
mod passage_language;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::collector::{DocSetCollector, FilterCollector, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::indexer::NoMergePolicy;
use tantivy::postings::Postings as _;
use tantivy::query::{
    Bm25StatisticsProvider, Bm25Weight, BooleanQuery, Occur, PhraseQuery, Query, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
    Value as _,
};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{
    DocAddress, DocSet as _, Index, IndexWriter, ReloadPolicy, Searcher, SegmentMeta, TERMINATED,
    TantivyDocument, TantivyError, Term,
};

use super::error::FileError;
use super::filter::{Filter, Phrase};
use crate::corpus::{Format, split_words};
use crate::event::ChunkText;
use analyser::QueryWord;
pub(in crate::index) use expressions::SIGNS;
use passage_language::passage_words;
use read_only::ReadOnly;

/// Times that a word of the place counts. Chosen among 0 to 3 on questions that name a README, and
/// on SQuAD and Natural Questions, which it leaves as they are.
const PLACE_WEIGHT: usize = 2;
/// Memory for words before they are written.
const WRITER_BYTES: usize = 64 << 20;
/// More segments are merged into one when an update ends: a search reads each segment for each
/// word.
const MAX_SEGMENTS: usize = 8;
/// The segments of more chunks are searched side by side.
const MAX_ONE_THREAD_CHUNKS: u32 = 200_000;

#[derive(Debug, Clone, Copy)]
struct Fields {
    id: Field,
    row: Field,
    document: Field,
    words: Field,
    /// The number of words.
    length: Field,
    chunk: Field,
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    // the analyser runs before tantivy sees the words, so that one field holds every language
    let words =
        TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqsAndPositions);

    let fields = Fields {
        id: schema.add_u64_field("id", FAST),
        row: schema.add_u64_field("row", FAST),
        document: schema.add_text_field("document", STRING),
        words: schema.add_text_field("words", TextOptions::default().set_indexing_options(words)),
        length: schema.add_u64_field("length", FAST),
        chunk: schema.add_text_field("chunk", STORED),
    };

    (schema.build(), fields)
}

/// A chunk as it is stored: its id, the row of its vector, and its address in tantivy.
#[derive(Debug, Clone, Copy)]
pub(in crate::index) struct StoredChunk {
    pub id: u64,
    pub row: u32,
    pub address: DocAddress,
}

/// A form of a word in a chunk.
pub(in crate::index) struct FormScore {
    pub form: String,
    pub score: f32,
    /// Times that the chunk has it, in its text and in its place.
    pub times: u32,
}

/// The chunks of a generation, for reading.
pub(in crate::index) struct Lexical {
    searcher: Searcher,
    fields: Fields,
    /// The number of words of all chunks.
    pub word_count: u64,
}

/// The statistics of BM25 over the chunks of several generations as if they were one.
#[derive(Default)]
pub(in crate::index) struct Statistics<'a> {
    all: Vec<&'a Lexical>,
    /// The number of chunks that a word of the query is in, for each of its forms: a form that is
    /// rare among documents of many languages does not make its word a rare one.
    in_chunks: HashMap<Term, u64>,
}

impl<'a> Statistics<'a> {
    /// Counts the chunks that the words of a query are in.
    pub fn new(
        all: impl Iterator<Item = &'a Lexical>,
        query: &[QueryWord],
    ) -> tantivy::Result<Self> {
        let mut statistics = Self {
            all: all.collect(),
            in_chunks: HashMap::new(),
        };
        let Some(Lexical { fields, .. }) = statistics.all.first() else {
            return Ok(statistics);
        };

        let chunks = statistics.total_num_docs()?;
        for word in query {
            let terms = word
                .iter()
                .map(|form| Term::from_field_text(fields.words, form));
            let terms: Vec<Term> = terms.collect();
            let mut count = 0;
            for term in &terms {
                count += statistics.doc_freq(term)?;
            }
            let counts = terms.into_iter().map(|term| (term, count.min(chunks)));
            statistics.in_chunks.extend(counts);
        }
        Ok(statistics)
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.all.iter().map(|of| of.word_count).sum())
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.all.iter().map(|of| of.searcher.num_docs()).sum())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.in_chunks.get(term) {
            Some(count) => Ok(*count),
            None => self.all.iter().map(|of| of.count_living(term)).sum(),
        }
    }
}

impl Lexical {
    /// Counts the chunks that have a term and were not deleted: tantivy counts the deleted ones
    /// until their segments are merged, so that scores would depend on the history of an index.
    fn count_living(&self, term: &Term) -> tantivy::Result<u64> {
        let mut count = 0;

        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(term.field())?;
            let Some(living) = reader.alive_bitset() else {
                count += u64::from(index.doc_freq(term)?);
                continue;
            };

            let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else {
                continue;
            };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                count += u64::from(living.is_alive(doc));
                doc = postings.advance();
            }
        }

        Ok(count)
    }

    pub fn open(folder: &Path) -> Result<Self, FileError> {
        let open = || {
            let mut index = Index::open(ReadOnly::open(folder)?)?;
            let segments = index.searchable_segment_metas()?;
            if segments.iter().map(SegmentMeta::num_docs).sum::<u32>() > MAX_ONE_THREAD_CHUNKS {
                let threads = std::thread::available_parallelism();
                index
                    .set_multithread_executor(threads.map_or(1, usize::from).min(segments.len()))?;
            }
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()?;
            Ok::<_, TantivyError>((index.schema(), reader.searcher()))
        };

        let (found, searcher) = open().map_err(|error| reading(folder, &error))?;
        let (expected, fields) = schema();
        if found != expected {
            return Err(FileError::for_damage(folder, "it has other fields"));
        }

        let word_count = count_words(&searcher).map_err(|error| reading(folder, &error))?;
        Ok(Self {
            searcher,
            fields,
            word_count,
        })
    }

    /// Returns every chunk that was not deleted, by id.
    pub fn chunks(&self, folder: &Path) -> Result<Vec<StoredChunk>, FileError> {
        let read = || {
            let mut chunks = Vec::with_capacity(self.searcher.num_docs() as usize);
            for (segment, reader) in (0..).zip(self.searcher.segment_readers()) {
                let ids = reader.fast_fields().u64("id")?;
                let rows = reader.fast_fields().u64("row")?;
                for doc in reader.doc_ids_alive() {
                    if let (Some(id), Some(row)) = (ids.first(doc), rows.first(doc)) {
                        chunks.push(StoredChunk {
                            id,
                            row: row as u32,
                            address: DocAddress::new(segment, doc),
                        });
                    }
                }
            }
            chunks.sort_unstable_by_key(|chunk| chunk.id);
            Ok::<_, TantivyError>(chunks)
        };

        read().map_err(|error| reading(folder, &error))
    }

    /// Returns the best chunks for any form of the words, with their BM25 scores by these
    /// statistics, best first; at most `count`.
    pub fn search(
        &self,
        words: &[QueryWord],
        count: usize,
        filter: Option<&Filter>,
        statistics: &Statistics<'_>,
    ) -> tantivy::Result<Vec<(f32, u64)>> {
        if words.is_empty() || count == 0 {
            return Ok(Vec::new());
        }

        let clauses = words.iter().flatten().map(|form| {
            let term = Term::from_field_text(self.fields.words, form);
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(query) as Box<dyn Query>)
        });
        let query = BooleanQuery::new(clauses.collect());
        let best = TopDocs::with_limit(count).order_by_score();
        let searcher = &self.searcher;
        let found = if let Some(filter) = filter {
            let chunks = Arc::clone(&filter.chunks);
            let is_let_through = move |id: u64| chunks.binary_search(&id).is_ok();
            let best = FilterCollector::new("id".to_owned(), is_let_through, best);
            searcher.search_with_statistics_provider(&query, &best, statistics)?
        } else {
            searcher.search_with_statistics_provider(&query, &best, statistics)?
        };

        let mut listed = Vec::with_capacity(found.len());
        for (score, address) in found {
            listed.extend(self.id(address)?.map(|id| (score, id)));
        }
        listed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Ok(listed)
    }

    /// Returns the forms of the words that each of these chunks holds, with their parts of the
    /// score that [`Self::search`] gives it by the same statistics.
    pub fn form_scores(
        &self,
        words: &[QueryWord],
        statistics: &Statistics<'_>,
        chunks: &[DocAddress],
    ) -> tantivy::Result<Vec<Vec<FormScore>>> {
        let field = self.fields.words;
        // a list of postings is read in one direction
        let mut order: Vec<usize> = (0..chunks.len()).collect();
        order.sort_unstable_by_key(|at| chunks[*at]);

        let mut scores: Vec<Vec<FormScore>> = Vec::new();
        scores.resize_with(chunks.len(), Vec::new);
        for form in words.iter().flatten() {
            let term = Term::from_field_text(field, form);
            let weight = Bm25Weight::for_terms(statistics, std::slice::from_ref(&term))?;
            for of_segment in
                order.chunk_by(|one, other| chunks[*one].segment_ord == chunks[*other].segment_ord)
            {
                let Some(first) = of_segment.first() else {
                    continue;
                };
                let reader = self.searcher.segment_reader(chunks[*first].segment_ord);
                let index = reader.inverted_index(field)?;
                let read = index.read_postings(&term, IndexRecordOption::WithFreqs)?;
                let Some(mut postings) = read else {
                    continue;
                };
                let lengths = reader.get_fieldnorms_reader(field)?;

                for at in of_segment {
                    let doc = chunks[*at].doc_id;
                    if postings.doc() < doc {
                        postings.seek(doc);
                    }
                    if postings.doc() == doc {
                        let times = postings.term_freq();
                        scores[*at].push(FormScore {
                            form: form.clone(),
                            score: weight.score(lengths.fieldnorm_id(doc), times),
                            times,
                        });
                    }
                }
            }
        }
        Ok(scores)
    }

    /// Returns the ids of the chunks of these documents.
    pub fn ids_in(&self, documents: &[String]) -> tantivy::Result<Vec<u64>> {
        let field = self.fields.document;
        let terms = documents
            .iter()
            .map(|path| Term::from_field_text(field, path));
        self.ids(&TermSetQuery::new(terms))
    }

    /// Returns the ids of the chunks that hold a phrase in one of its forms.
    pub fn ids_with(&self, phrase: &Phrase) -> tantivy::Result<Vec<u64>> {
        let mut ids = Vec::new();
        for words in phrase {
            let terms = words
                .iter()
                .map(|(at, word)| (*at, Term::from_field_text(self.fields.words, word)));
            let terms: Vec<(usize, Term)> = terms.collect();
            ids.extend(match terms.as_slice() {
                [(_, term)] => self.ids(&TermQuery::new(term.clone(), IndexRecordOption::Basic))?,
                _ => self.ids(&PhraseQuery::new_with_offset(terms))?,
            });
        }
        Ok(ids)
    }

    fn ids(&self, query: &dyn Query) -> tantivy::Result<Vec<u64>> {
        let found = self.searcher.search(query, &DocSetCollector)?;
        let mut ids = Vec::with_capacity(found.len());
        for address in found {
            ids.extend(self.id(address)?);
        }
        Ok(ids)
    }

    fn id(&self, address: DocAddress) -> tantivy::Result<Option<u64>> {
        let reader = self.searcher.segment_reader(address.segment_ord);
        Ok(reader.fast_fields().u64("id")?.first(address.doc_id))
    }

    /// Returns the chunks of a document, by id.
    pub fn document(&self, document: &str) -> tantivy::Result<Vec<ChunkText>> {
        let query = TermQuery::new(
            Term::from_field_text(self.fields.document, document),
            IndexRecordOption::Basic,
        );
        let found = self.searcher.search(&query, &DocSetCollector)?;
        let mut chunks = found
            .into_iter()
            .map(|address| self.chunk(address))
            .collect::<tantivy::Result<Vec<_>>>()?;
        chunks.sort_unstable_by_key(|chunk| chunk.id);
        Ok(chunks)
    }

    /// Returns the chunk at an address.
    pub fn chunk(&self, address: DocAddress) -> tantivy::Result<ChunkText> {
        let stored: TantivyDocument = self.searcher.doc(address)?;
        let text = stored
            .get_first(self.fields.chunk)
            .and_then(|value| value.as_str())
            .unwrap_or_default();
        serde_json::from_str(text).map_err(|error| TantivyError::InternalError(error.to_string()))
    }
}

/// The chunks of a new generation, for writing.
pub(in crate::index) struct LexicalWriter {
    writer: IndexWriter,
    fields: Fields,
    folder: PathBuf,
}

impl LexicalWriter {
    /// Continues with the files in `folder`, or begins new ones.
    pub fn open(folder: &Path) -> Result<Self, FileError> {
        let (schema, fields) = schema();
        let open = || {
            let directory = MmapDirectory::open(folder)?;
            // one thread and no merging in the background: the same input gives the same files, and
            // they are complete after a commit
            let writer: IndexWriter = Index::open_or_create(directory, schema)?
                .writer_with_num_threads(1, WRITER_BYTES)?;
            writer.set_merge_policy(Box::new(NoMergePolicy));
            Ok::<_, TantivyError>(writer)
        };

        let writer = std::fs::create_dir_all(folder)
            .map_err(|error| FileError::write(folder, error))
            .and_then(|()| open().map_err(|error| writing(folder, &error)))?;

        Ok(Self {
            writer,
            fields,
            folder: folder.to_owned(),
        })
    }

    /// Removes the chunks of a document that were added before.
    pub fn remove(&mut self, document: &str) {
        self.writer
            .delete_term(Term::from_field_text(self.fields.document, document));
    }

    /// Adds a chunk of a document in a language. Returns its own language.
    pub fn add<'l>(
        &mut self,
        chunk: &ChunkText,
        row: u32,
        of_document: &'l str,
    ) -> Result<&'l str, FileError> {
        let stored =
            serde_json::to_string(chunk).map_err(|error| FileError::write(&self.folder, error))?;
        let (tokens, language) = words(chunk, of_document);

        let mut document = TantivyDocument::default();
        document.add_u64(self.fields.id, chunk.id);
        document.add_u64(self.fields.row, u64::from(row));
        document.add_text(self.fields.document, &chunk.document);
        document.add_u64(self.fields.length, tokens.len() as u64);
        document.add_pre_tokenized_text(
            self.fields.words,
            PreTokenizedString {
                text: String::new(),
                tokens,
            },
        );

        document.add_text(self.fields.chunk, stored);
        self.writer
            .add_document(document)
            .map(|_| language)
            .map_err(|error| writing(&self.folder, &error))
    }

    /// Writes everything that was added and removed. `should_merge` merges segments when there are
    /// many, which takes longer.
    pub fn finish(mut self, should_merge: bool) -> Result<(), FileError> {
        let folder = self.folder;
        let mut finish = || {
            self.writer.commit()?;
            let segments = self.writer.index().searchable_segment_metas()?;
            let is_wasteful = segments
                .iter()
                .any(|segment| segment.num_deleted_docs() * 2 > segment.max_doc());
            if should_merge && (segments.len() > MAX_SEGMENTS || is_wasteful) {
                let ids: Vec<_> = segments.iter().map(SegmentMeta::id).collect();
                self.writer.merge(&ids).wait()?;
            }
            self.writer.garbage_collect_files().wait()?;
            Ok::<_, TantivyError>(())
        };

        finish()
            .and_then(|()| self.writer.wait_merging_threads())
            .map_err(|error| writing(&folder, &error))
    }
}

/// Counts the words of the chunks that were not deleted.
fn count_words(searcher: &Searcher) -> tantivy::Result<u64> {
    let mut words = 0;
    for reader in searcher.segment_readers() {
        let lengths = reader.fast_fields().u64("length")?;
        let of_chunk = |doc| lengths.first(doc).unwrap_or(0);
        words += reader.doc_ids_alive().map(of_chunk).sum::<u64>();
    }
    Ok(words)
}

/// Returns the words by which a chunk is found: those of its text, then those of its file's path
/// and of its headings, since a section seldom repeats the name that stands above it. A word that
/// is in both counts for both: the chunk that says it stays ahead of its neighbours below the same
/// heading. All are in the language of the text, which is returned, too.
pub(in crate::index) fn words<'l>(
    chunk: &ChunkText,
    of_document: &'l str,
) -> (Vec<Token>, &'l str) {
    let (mut words, language) = passage_words(&chunk.text, of_document);
    let after = words.last().map_or(0, |word| word.position + 1);

    let place = weighted_place(&chunk.document, &chunk.headings, language);
    words.extend(place.into_iter().map(|word| Token {
        position: word.position + after,
        ..word
    }));
    (words, language)
}

/// Returns the language in which the words of a chunk are.
pub(in crate::index) fn chunk_language<'l>(chunk: &ChunkText, of_document: &'l str) -> &'l str {
    let (_, language) = passage_words(&chunk.text, of_document);
    language
}

/// Returns the words of the place of a chunk, as often as they count.
pub(in crate::index) fn weighted_place(
    document: &str,
    headings: &[String],
    language: &str,
) -> Vec<Token> {
    let place = place_words(document, headings, language);
    // no phrase reaches from one time into the next
    let length = place.last().map_or(0, |word| word.position + 2);
    let times = (0..PLACE_WEIGHT).flat_map(|time| {
        let words = place.iter().cloned();
        words.map(move |word| Token {
            position: word.position + time * length,
            ..word
        })
    });
    times.collect()
}

/// Returns the words of a place: of the path of a file without the extension, and of headings.
fn place_words(document: &str, headings: &[String], language: &str) -> Vec<Token> {
    let mut path = PathBuf::from(document);
    if !Format::for_path(document).is_source_code() {
        path.set_extension("");
    }
    let path = &path.to_string_lossy();
    let place = format!(
        "{path} {} {} {}",
        plain_numbers(path),
        analyser::dates(path).join(" "),
        headings.join(" ")
    );
    analyser::chunk_words(&place, language)
}

/// Returns the words of the path of a document without stop words, as it is searched by them.
pub fn path_words(document: &str, language: &str) -> Vec<String> {
    analyser::without_stop_words(place_words(document, &[], language))
}

/// Returns the numbers of a path without the zeros in front, which questions leave out:
/// `chapter-03`.
fn plain_numbers(path: &str) -> String {
    let padded = split_words(path).filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let plain = padded.filter_map(|word| {
        let plain = word.trim_start_matches('0');
        (plain != word && !plain.is_empty()).then_some(plain)
    });
    plain.collect::<Vec<_>>().join(" ")
}

/// Returns the error of reading files whose checksums were right.
fn reading(folder: &Path, error: &TantivyError) -> FileError {
    match error {
        TantivyError::IoError(error) => FileError::read(folder, error),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
            FileError::read(&folder.join(filepath), io_error)
        }
        error => FileError::for_damage(folder, error),
    }
}

fn writing(folder: &Path, error: &TantivyError) -> FileError {
    match error {
        TantivyError::OpenDirectoryError(OpenDirectoryError::IoError {
            io_error,
            directory_path,
        }) => FileError::write(directory_path, io_error),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
            FileError::write(&folder.join(filepath), io_error)
        }
        TantivyError::IoError(error) => FileError::write(folder, error),
        error => FileError::write(folder, error),
    }
}
