//! Bring an index up to date with its folder: what changed is read, split, embedded and written; what did not is shared.

use std::path::Path;
use std::time::Instant;

use super::draft::Draft;
use super::embedding::Embedding;
use super::error::FileError;
use super::graph::Graph;
use super::manifest::{Manifest, Recipe};
use super::progress::{Position, Progress};
use super::reading::{Candidate, Outcome, ReadDocument, Reader};
use super::vectors::VectorStore;
use super::{Index, IndexError, Update};
use crate::config::Config;
use crate::corpus::{self, CorpusError, TokenCounter, Walked};
use crate::event::{Event, Flow, IndexPhase, IndexReport, SkippedFile};
use crate::llm::{Embedder, LlmError};

/// Rows that no graph covers are searched one by one; when they are more than this, a graph over all rows is built.
///
/// Measured with 384 numbers a row on two cores (`benches/index.rs`): 65,536 rows take 3 ms one by one and 1 ms by the graph,
/// which takes a minute to build.
const EXACT_ROWS: u32 = 65_536;

/// Why an update ended early.
pub(super) enum Halt {
    /// The observer said so.
    Stopped,
    Files(FileError),
    Embedder(LlmError),
}

impl From<FileError> for Halt {
    fn from(error: FileError) -> Self {
        Self::Files(error)
    }
}

impl From<LlmError> for Halt {
    fn from(error: LlmError) -> Self {
        if matches!(error, LlmError::Stopped) { Self::Stopped } else { Self::Embedder(error) }
    }
}

/// What there is to do.
struct Plan {
    candidates: Vec<Candidate>,
    /// Documents whose file is gone.
    removed: Vec<String>,
    unchanged: u64,
    skipped: Vec<SkippedFile>,
}

impl Plan {
    /// Size and time tell whether a file has to be looked into; its checksum will tell whether it changed.
    fn compare(before: Option<&Manifest>, recipe: &Recipe, walked: Walked, indexes: Option<&Path>) -> Self {
        let mut gone = before.map(|before| before.documents.clone()).unwrap_or_default();
        let same = before.is_some_and(|before| before.recipe.as_ref() == Some(recipe));
        let mut plan = Self { candidates: Vec::new(), removed: Vec::new(), unchanged: 0, skipped: walked.skipped };
        // an index that lies inside the corpus is not part of it
        let own = |file: &Path| indexes.is_some_and(|indexes| file.starts_with(indexes));
        for file in walked.files.into_iter().filter(|found| !own(&found.file)) {
            match gone.remove(&file.path).filter(|_| same) {
                Some(entry) if (entry.bytes, entry.modified_ns) == (file.bytes, file.modified_ns) => {
                    plan.unchanged += 1
                }
                Some(entry) if entry.bytes == file.bytes => {
                    plan.candidates.push(Candidate { file, known: Some(entry.blake3) });
                }
                _ => plan.candidates.push(Candidate { file, known: None }),
            }
        }
        plan.removed = gone.into_keys().collect();
        plan
    }
}

impl Index {
    /// Bring the index up to date with the folder. The generation in use answers until the new one is whole. When `publish` answers
    /// [`Flow::Stop`], what is done so far is kept and [`Update::Interrupted`] comes back; the next call goes on from there.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process writes this index; a folder that cannot be walked; what the embedder says;
    /// files of the index that cannot be written (the last finished generation stays in use).
    pub fn update(
        &mut self,
        config: &Config,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
        publish: &mut dyn FnMut(Event) -> Flow,
    ) -> Result<Update, IndexError> {
        let started = Instant::now();
        let recipe = Recipe { chunker: config.chunker.clone(), embedder: embedder.card().fingerprint.clone() };
        self.take_lock(&recipe)?;
        let walked = match corpus::walk(&self.canonical, &config.corpus, publish) {
            Ok(walked) => walked,
            Err(CorpusError::Stopped) => return Ok(Update::Interrupted),
            Err(error) => return Err(error.into()),
        };
        let plan = Plan::compare(self.manifest(), &recipe, walked, self.layout.root.parent());
        let embedding = Embedding::new(embedder, Progress::new(publish), &plan.candidates);
        let mut run = Run { index: self, recipe, counter, embedding, draft: None, report: Counts::default() };
        match run.all(plan) {
            Ok(()) => {}
            Err(Halt::Stopped) => return Ok(Update::Interrupted),
            Err(Halt::Files(error)) => return Err(error.of(&self.name)),
            Err(Halt::Embedder(error)) => return Err(error.into()),
        }
        let report = run.report;
        let (embedded, reused) = run.embedding.counts();
        Ok(Update::Finished(self.report(report, (embedded, reused), started)))
    }

    fn report(&self, counts: Counts, (embedded, reused): (u64, u64), started: Instant) -> IndexReport {
        let Counts { added, changed, unchanged, removed, mut skipped } = counts;
        let documents = self.manifest().into_iter().flat_map(|manifest| &manifest.documents);
        let noted = documents.filter_map(|(path, entry)| entry.note.clone().map(|reason| (path.clone(), reason)));
        skipped.extend(noted.map(|(path, reason)| SkippedFile { path, reason }));
        skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let wall_ms = started.elapsed().as_millis() as u64;
        IndexReport { corpus: self.card(), added, changed, unchanged, removed, embedded, reused, skipped, wall_ms }
    }
}

#[derive(Default)]
struct Counts {
    added: u64,
    changed: u64,
    unchanged: u64,
    removed: u64,
    skipped: Vec<SkippedFile>,
}

/// One update.
struct Run<'a> {
    index: &'a mut Index,
    recipe: Recipe,
    counter: &'a TokenCounter,
    embedding: Embedding<'a>,
    /// Begun with the first change.
    draft: Option<Draft>,
    report: Counts,
}

impl Run<'_> {
    fn all(&mut self, plan: Plan) -> Result<(), Halt> {
        self.report.unchanged = plan.unchanged;
        self.report.skipped = plan.skipped;
        let nothing = plan.candidates.is_empty() && plan.removed.is_empty();
        if !nothing || self.is_new() || self.graph_is_due() {
            let mut vectors = self.index.take_vectors(&self.recipe, self.embedding.width())?;
            let done = self.change(plan.candidates, plan.removed, &mut vectors);
            // vectors of another embedder belong to a generation that is not published yet; they are found again on disk
            if self.index.manifest().is_none_or(|now| now.embedder() == self.recipe.embedder) {
                self.index.vectors = Some(vectors);
            }
            done?;
        }
        Ok(())
    }

    fn change(
        &mut self,
        candidates: Vec<Candidate>,
        removed: Vec<String>,
        vectors: &mut VectorStore,
    ) -> Result<(), Halt> {
        self.report.removed = removed.len() as u64;
        for path in removed {
            self.draft()?.remove(&path);
        }
        let read = self.read(candidates, vectors);
        if matches!(read, Err(Halt::Stopped)) && self.goes_on() {
            self.publish(vectors, false)?;
        }
        read?;
        if self.is_new() {
            self.draft()?; // a folder without documents has an index too: an empty one
        }
        let writing = Position::of(IndexPhase::Writing);
        let stopped = self.draft.is_some() && self.embedding.progress.step(&writing) == Flow::Stop;
        self.publish(vectors, !stopped)?;
        if stopped { Err(Halt::Stopped) } else { self.link(vectors) }
    }

    fn read(&mut self, candidates: Vec<Candidate>, vectors: &mut VectorStore) -> Result<(), Halt> {
        let mut left = candidates.len();
        for batch in Reader::start(candidates, self.recipe.chunker.clone(), self.counter.clone()) {
            left -= batch.len();
            let mut documents = Vec::new();
            for outcome in batch {
                match outcome {
                    Outcome::Same(file) => {
                        self.report.unchanged += 1;
                        self.embedding.passed(file.bytes);
                        self.draft()?.touch(&file);
                    }
                    Outcome::Skipped(skipped) => self.skip(skipped)?,
                    Outcome::Document(document) => documents.push(*document),
                }
            }
            let rows = self.embedding.rows(&documents, vectors)?;
            for (document, rows) in documents.into_iter().zip(rows) {
                self.put(document, &rows)?;
            }
        }
        if left > 0 {
            let reason = format!("reading ended with {left} files left");
            return Err(FileError::read(&self.index.canonical, reason).into());
        }
        Ok(())
    }

    fn skip(&mut self, skipped: SkippedFile) -> Result<(), Halt> {
        if self.index.manifest().is_some_and(|manifest| manifest.documents.contains_key(&skipped.path)) {
            self.report.removed += 1;
            self.draft()?.remove(&skipped.path);
        }
        self.report.skipped.push(skipped);
        Ok(())
    }

    fn put(&mut self, document: ReadDocument, rows: &[u32]) -> Result<(), Halt> {
        let known = self.index.manifest().is_some_and(|manifest| manifest.documents.contains_key(&document.path));
        *(if known { &mut self.report.changed } else { &mut self.report.added }) += 1;
        Ok(self.draft()?.put(&document.path, document.entry, document.chunks, rows)?)
    }

    /// Is there no generation of this recipe?
    fn is_new(&self) -> bool {
        self.index.manifest().is_none_or(|manifest| manifest.recipe.as_ref() != Some(&self.recipe))
    }

    /// May the work so far be published before all of it is done? Not when it is to replace an index made with another recipe,
    /// which holds all documents.
    fn goes_on(&self) -> bool {
        self.index.manifest().is_none() || !self.is_new()
    }

    fn draft(&mut self) -> Result<&mut Draft, FileError> {
        if self.draft.is_none() {
            let before = self.index.manifest();
            let base = before.filter(|_| self.goes_on());
            let number = before.map_or(0, |before| before.generation) + 1;
            let next_chunk = before.map_or(0, |before| before.next_chunk);
            let mut draft = Draft::begin(&self.index.layout, number, self.recipe.clone(), base)?;
            draft.manifest.next_chunk = next_chunk;
            self.draft = Some(draft);
        }
        self.draft.as_mut().ok_or_else(|| FileError::write(&self.index.layout.root, "no generation was begun"))
    }

    fn publish(&mut self, vectors: &VectorStore, tidy: bool) -> Result<(), Halt> {
        match self.draft.take() {
            Some(draft) => Ok(self.index.publish(draft, vectors, tidy)?),
            None => Ok(()),
        }
    }

    fn graph_is_due(&self) -> bool {
        self.index.manifest().is_some_and(|now| now.vectors.rows - now.graph_rows > EXACT_ROWS)
    }

    /// Build the graph when it is due. The documents are published by then: questions and kills cost nothing but the graph.
    fn link(&mut self, vectors: &VectorStore) -> Result<(), Halt> {
        if !self.graph_is_due() {
            return Ok(());
        }
        let (started, total) = (Instant::now(), u64::from(vectors.rows()));
        let progress = &mut self.embedding.progress;
        let graph = Graph::build(vectors, &mut |rows| {
            let done = u64::from(rows);
            let worked = (done, started.elapsed());
            progress.step(&Position { done, total: Some(total), worked, ..Position::of(IndexPhase::Writing) })
        });
        self.draft()?.set_graph(&graph.ok_or(Halt::Stopped)?)?;
        self.publish(vectors, false)
    }
}
