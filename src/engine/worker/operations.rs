//! The worker: it alone owns the models and the index, and carries out the operations on them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::config::{ChunkerKind, Config, Layers, Paths, RetrieverKind};
use crate::engine::answer::examples;
use crate::engine::error::RunError;
use crate::engine::run::query_vectors;
use crate::engine::stages::rank;
use crate::event::{
    Advice as _, ChunkText, Flow, Hit, IndexReport, Link, Problem, Retrieval, SESSION,
    SessionEvent, StopFlag,
};
use crate::index::{Collection, CoveredFolder, IndexError, Search, Update};
use crate::llm::{LlmError, Reranker};

use super::loader::LoadedEmbedder;
use super::models::Models;
use super::stamp::{Publish, Stamp};

/// Maximum number of documents whose headings are read for questions: the screen waits for them.
const MAX_READ_FOR_QUESTIONS: usize = 64;

/// The end of an update for a question that waits.
#[derive(Debug)]
pub enum Updated {
    Finished(Box<IndexReport>),
    /// The words are up to date, and vectors are missing.
    WordsOnly,
    Interrupted,
}

/// The owner of the models and of the index.
pub struct Worker {
    pub(super) layers: Layers,
    pub(super) paths: Paths,
    pub(super) session: Stamp,
    pub(super) models: Models,
    pub(super) index: Option<Collection>,
    /// Settings of the index, on top of those of the start.
    pub(super) index_overrides: Vec<(String, String)>,
    /// The open folders; empty before the first.
    pub(super) folders: Vec<PathBuf>,
    /// Whether the words of the open folders are indexed and its vectors follow.
    pub(super) are_vectors_due: bool,
    /// The report of the words that were indexed before their vectors.
    words_report: Option<IndexReport>,
    /// Documents that were read for their words before a question interrupted that.
    words_read: u64,
}

impl Worker {
    /// A worker that has loaded nothing yet.
    pub fn new(layers: Layers, paths: Paths, stop: StopFlag) -> Self {
        Self {
            layers,
            models: Models::new(paths.clone(), stop),
            paths,
            session: Stamp::new(SESSION),
            index: None,
            index_overrides: Vec::new(),
            folders: Vec::new(),
            are_vectors_due: false,
            words_report: None,
            words_read: 0,
        }
    }

    /// Emits an event of the session.
    pub(super) fn emit(&mut self, event: SessionEvent, publish: Publish<'_>) {
        let _ = publish(self.session.record(event));
    }

    fn warn(&mut self, problem: Problem, publish: Publish<'_>) {
        self.emit(SessionEvent::warning(problem), publish);
    }

    /// Opens the indexes of these folders; `rebuild` deletes them first. Questions can be asked
    /// about what they hold; [`Worker::update`] updates them.
    ///
    /// # Errors
    /// No such folder; a damaged index; a rebuild while another process writes the index.
    pub fn open(
        &mut self,
        folders: &[PathBuf],
        rebuild: bool,
        publish: Publish<'_>,
    ) -> Result<(), RunError> {
        // remembered before it can fail, so that a damaged index can be rebuilt
        self.folders = folders.to_owned();
        // dropped first: it holds the writers' locks
        self.index = None;
        self.words_report = None;
        self.words_read = 0;

        let indexes = self.paths.indexes();
        let settings = self.layers.with(&self.index_overrides)?.config()?.index;
        let index = if rebuild {
            Collection::rebuild(folders, &indexes).inspect_err(|_| {
                let before = Collection::open(folders, &indexes);
                let before = before.and_then(|before| before.connect(&settings, folders));
                self.index = before.ok();
            })?
        } else {
            Collection::open(folders, &indexes)?
        };
        let index = index.connect(&settings, folders)?;
        for CoveredFolder { folder, by } in index.covered_folders() {
            let text = format!("{folder} is inside {by} and is indexed once, as a part of it");
            let advice = format!("open {folder} alone to read files that {by} leaves out");
            self.warn(Problem::new(text, advice), publish);
        }
        for folder in index.outdated_folders() {
            let text = format!("the index of {folder} is of an older version and is built again");
            self.warn(Problem::without_advice(text), publish);
        }
        let corpus = index.card();
        self.index = Some(index);
        self.emit(SessionEvent::CorpusOpened { corpus }, publish);
        Ok(())
    }

    /// Opens the indexes of the open folders again, if that is needed.
    pub(super) fn reopen(&mut self, rebuild: bool, publish: Publish<'_>) -> Result<(), RunError> {
        if self.folders.is_empty() {
            return Err(RunError::no_corpus());
        }
        if rebuild || self.index.is_none() {
            self.open(&self.folders.clone(), rebuild, publish)?;
        }
        Ok(())
    }

    /// Updates the index with these settings.
    fn update_index(&mut self, config: &Config, publish: Publish<'_>) -> Result<Update, RunError> {
        let index = self.index.as_mut().ok_or_else(RunError::no_corpus)?;
        let mut emit = |event| publish(self.session.record(event));
        let LoadedEmbedder { model, counter } = match self.models.embedder(config, &mut emit) {
            // a question overtook it: the update is as unfinished as one that is stopped later
            Err(LlmError::Stopped(_)) => return Ok(Update::Interrupted),
            embedder => embedder?,
        };
        Ok(index.update(config, &mut **model, counter, &mut emit)?)
    }

    /// Updates the index of the open corpus. Returns `None` when it was interrupted; the
    /// next call continues from there.
    ///
    /// # Errors
    /// No corpus is open; a model or the index fails.
    pub fn update(&mut self, publish: Publish<'_>) -> Result<Option<IndexReport>, RunError> {
        let config = self.layers.with(&self.index_overrides)?.config()?;
        let mut report = match self.update_index(&config, publish)? {
            Update::Interrupted => return Ok(None),
            Update::Finished(report) => *report,
        };
        self.are_vectors_due = false;
        if let Some(of_words) = self.words_report.take() {
            count_words(&mut report, &of_words);
        }
        let read = std::mem::take(&mut self.words_read).min(report.unchanged);
        report.unchanged -= read;
        report.added += read;
        let corpus = report.corpus.clone();
        let finished = report.clone();
        self.emit(SessionEvent::IndexFinished { report: finished }, publish);
        self.emit(SessionEvent::CorpusOpened { corpus }, publish);
        Ok(Some(report))
    }

    /// Indexes the words of the open corpus where the vectors that the settings want are not there
    /// yet: they take a part of the time, and questions can use them until the vectors follow with
    /// [`Worker::update`]. Returns `false` when it was interrupted.
    ///
    /// # Errors
    /// As [`Worker::update`].
    pub(super) fn update_words(&mut self, publish: Publish<'_>) -> Result<bool, RunError> {
        let mut config = self.layers.with(&self.index_overrides)?.config()?;
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;
        // chunks of semantic chunking are made of vectors
        let can_wait = config.chunker.kind != ChunkerKind::Semantic;
        let wants_vectors = config.retriever.kind.has_vectors();
        self.are_vectors_due = index.has_no_vectors() && can_wait && wants_vectors;
        if !self.are_vectors_due {
            return Ok(true);
        }

        let before = index.card().documents;
        config.retriever.kind = RetrieverKind::Bm25;
        match self.update_index(&config, publish)? {
            Update::Interrupted => {
                let index = self.index.as_ref();
                let read = index.map_or(0, |index| index.card().documents);
                self.words_read += read.saturating_sub(before);
                Ok(false)
            }
            Update::Finished(mut report) => {
                let corpus = report.corpus.clone();
                // a question came between the words and their vectors
                if let Some(of_words) = self.words_report.take() {
                    count_words(&mut report, &of_words);
                }
                self.words_report = Some(*report);
                let opened = SessionEvent::CorpusOpened { corpus };
                Ok(publish(self.session.record(opened)) == Flow::Continue)
            }
        }
    }

    /// Updates the index of the open corpus for a question that waits. Where there are no vectors
    /// yet, its words come first, and the vectors follow as far as `patience` allows: what is
    /// computed by then is kept.
    ///
    /// # Errors
    /// As [`Worker::update`].
    pub fn update_within(
        &mut self,
        patience: Duration,
        publish: Publish<'_>,
    ) -> Result<Updated, RunError> {
        let deadline = Instant::now() + patience;
        if !self.update_words(publish)? {
            return Ok(Updated::Interrupted);
        }
        let is_late = || Instant::now() >= deadline;
        if self.are_vectors_due && is_late() {
            return Ok(Updated::WordsOnly);
        }

        let can_be_late = self.are_vectors_due;
        let mut is_stopped = false;
        let updated = self.update(&mut |record| {
            is_stopped |= publish(record) == Flow::Stop;
            Flow::stop_if(is_stopped || (can_be_late && is_late()))
        })?;
        Ok(match updated {
            Some(report) => Updated::Finished(Box::new(report)),
            None if can_be_late && !is_stopped && is_late() => Updated::WordsOnly,
            None => Updated::Interrupted,
        })
    }

    /// Updates the index of the open corpus if its folder changed since; emits nothing if it did
    /// not. Returns `false` when it was interrupted.
    ///
    /// # Errors
    /// As [`Worker::update`]. Another process that writes the index is none: its update serves as
    /// well. Nor is an index that cannot be written, which is reported as a warning.
    pub fn refresh(&mut self, publish: Publish<'_>) -> Result<bool, RunError> {
        let config = self.layers.with(&self.index_overrides)?.config()?;
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;

        if index.is_current(&config.corpus)? {
            return Ok(true);
        }

        match self.update(publish) {
            Err(RunError::Index(IndexError::InUse { .. })) => Ok(true),
            Err(RunError::Index(error)) if error.leaves_index() => {
                self.warn(error.to_problem(), publish);
                Ok(true)
            }
            updated => Ok(updated?.is_some()),
        }
    }

    /// Returns the paths of the documents of the open corpus.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn documents(&self) -> Result<Vec<String>, RunError> {
        let index = self.index.as_ref();
        index.map_or_else(|| Ok(Vec::new()), |index| Ok(index.documents()?))
    }

    /// Returns questions about the open corpus, from the headings of documents all over it.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(super) fn example_questions(&self) -> Result<Vec<String>, RunError> {
        let documents = self.documents()?;
        let Some(index) = &self.index else {
            return Ok(Vec::new());
        };
        let step = documents.len().div_ceil(MAX_READ_FOR_QUESTIONS).max(1);
        let headings = documents.iter().step_by(step).map(|document| {
            let chunks = index.document(document)?.into_iter();
            let headings = chunks.filter_map(|chunk| chunk.headings.last().cloned());
            Ok(headings.collect())
        });
        let headings: Vec<Vec<String>> = headings.collect::<Result<_, IndexError>>()?;
        Ok(if documents.is_empty() {
            Vec::new()
        } else {
            examples(&headings)
        })
    }

    /// Returns the chunks of a document with their links; without any while the document is not
    /// linked.
    ///
    /// # Errors
    /// No corpus is open; the index cannot be read.
    pub fn document_links(&self, document: &str) -> Result<Vec<(ChunkText, Vec<Link>)>, RunError> {
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;
        let chunks = index.document(document)?;
        let links = index
            .links(document)?
            .unwrap_or_else(|| vec![Vec::new(); chunks.len()]);
        Ok(chunks.into_iter().zip(links).collect())
    }

    /// Searches the open corpus as a question with these `overrides` would, and returns the fused
    /// hits, best first, in the order of the reranker where there is one.
    ///
    /// # Errors
    /// No corpus is open; settings; the embedder, the reranker or the index fails.
    pub fn search(
        &mut self,
        query: &str,
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<Retrieval, RunError> {
        let config = self.layers.with(overrides)?.config()?;
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;
        let mut emit = |event| publish(self.session.record(event));
        let embedder = self.models.embedder(&config, &mut emit)?;
        let kind = config.retriever.kind;
        let vectors = query_vectors(&mut *embedder.model, kind, &[query])?;
        let vector = vectors.first().map(Vec::as_slice).unwrap_or_default();
        let fingerprint = &embedder.model.card().fingerprint;
        let mut found = index.search(query, vector, fingerprint, &config.retriever)?;
        if let Some(reranker) = self.models.reranker(&config, &mut emit)? {
            let kept = config.retriever.max_hits();
            rerank(&mut found.hits, kept, query, reranker)?;
        }
        Ok(found)
    }

    pub(super) fn open_source(
        &mut self,
        document: &str,
        lines: [u32; 2],
        publish: Publish<'_>,
    ) -> Result<(), RunError> {
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;
        let source = index.source(document, lines)?;
        self.emit(SessionEvent::SourceOpened { source }, publish);
        Ok(())
    }
}

/// Counts the documents whose words were indexed before their vectors as what they were then.
fn count_words(report: &mut IndexReport, of_words: &IndexReport) {
    let known = of_words.added + of_words.changed;
    report.unchanged = report.unchanged.saturating_sub(known);
    report.added += of_words.added;
    report.changed += of_words.changed;
    report.removed += of_words.removed;
}

/// Orders the best hits by a reranker, as many as a run keeps; the others stay behind them.
fn rerank(
    hits: &mut Vec<Hit>,
    kept: usize,
    query: &str,
    reranker: &mut dyn Reranker,
) -> Result<(), LlmError> {
    let below = hits.split_off(kept.min(hits.len()));
    let ranking = rank(query, hits, |query, texts| reranker.rerank(query, texts))?;

    *hits = ranking.iter().map(|(at, _)| hits[*at].clone()).collect();
    hits.extend(below);
    for (rank, hit) in (1..).zip(hits) {
        hit.fused.rank = rank;
    }
    Ok(())
}
