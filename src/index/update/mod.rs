//! Updates an index: changed files are read, split, embedded and written; the rest is shared with
//! the previous generation.

mod reading;
mod plan;
mod batch_embedder;
mod chunking;

use std::time::Instant;

use super::draft::Draft;
use super::error::{FileError, IndexError};
use super::folder::{Index, Update};
use super::manifest::{Manifest, Recipe, SkippedEntry};
use super::progress::{Position, Progress};
use super::vectors::segment::SEGMENT_ROWS;
use super::vectors::{MAX_EXACT_ROWS, VectorStore};
use crate::config::{Config, CorpusSettings};
use crate::corpus::{self, FoundFile, ReadOptions, SplitMethod, TokenCounter, Walked};
use crate::event::{
    Flow, IndexPhase, IndexReport, ModelCard, NeighbouringSentences, NotedFile, OmittedBy,
    OmittedFiles, SessionEvent, SkippedFile, WorkError, elapsed_ms,
};
use crate::index::error::Halt;
use crate::llm::Embedder;
use batch_embedder::BatchEmbedder;
use chunking::Chunker;
use plan::UpdatePlan;
use reading::{ChunkedDocument, FileOutcome, FileToRead, How, ReadAhead};

/// While an update reads, this many segments may be due: questions over the documents come first,
/// and rows without a segment are in memory.
const MAX_DUE_ROWS: u32 = MAX_EXACT_ROWS + SEGMENT_ROWS;

/// A stop takes effect after this many batches of files: a folder of few files is searched whole,
/// and a question about a large one waits a second or two for its beginning.
const MIN_BATCHES: usize = 4;

impl Index {
    /// Updates the index. The generation in use answers until the new one is complete. When
    /// `publish` returns [`Flow::Stop`], what is done so far is kept and [`Update::Interrupted`] is
    /// returned; the next call continues from there.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process writes this index; a folder that cannot be
    /// walked; failures of the embedder; files of the index that cannot be written (the last
    /// finished generation stays in use).
    pub fn update(
        &mut self,
        config: &Config,
        embedder: &mut dyn Embedder,
        counter: &TokenCounter,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Update, IndexError> {
        let started = Instant::now();
        self.take_lock()?;
        let recipe = self.recipe(config, embedder.card())?;

        let plan = match self.plan(&recipe, config, publish) {
            Ok(plan) => plan,
            Err(WorkError::Stopped(_)) => return Ok(Update::Interrupted),
            Err(error) => return Err(error.into()),
        };

        let mut embedding = BatchEmbedder::new(embedder, Progress::new(publish), &plan.candidates);
        embedding.keeps_vectors = recipe.has_vectors();
        let mut run = UpdateRun {
            index: self,
            recipe,
            options: ReadOptions::from(&config.corpus),
            counter,
            embedding,
            draft: None,
            report: IndexReport::default(),
        };

        match run.all(plan) {
            Ok(()) => {}
            Err(Halt::Stopped) => return Ok(Update::Interrupted),
            Err(Halt::Files(error)) => return Err(error.for_folder(&self.name)),
            Err(Halt::Embedder(error)) => return Err(error.into()),
        }

        let mut report = run.report;
        report.embedded = run.embedding.embedded;
        report.reused = run.embedding.reused;
        Ok(Update::Finished(Box::new(self.report(report, started))))
    }

    /// Returns the recipe of these settings. BM25 search leaves an index with vectors as it is
    /// while the folder does not change.
    fn recipe(&self, config: &Config, embedder: &ModelCard) -> Result<Recipe, IndexError> {
        let chunker = SplitMethod::for_index(&config.chunker);
        if config.retriever.kind.has_vectors() {
            let embedder = embedder.fingerprint.clone();
            return Ok(Recipe { chunker, embedder });
        }

        let present = self.manifest().and_then(|now| now.recipe.clone());
        match present.filter(|present| present.chunker == chunker) {
            Some(present) if self.is_current(&config.corpus)? => Ok(present),
            Some(_) | None => Ok(Recipe {
                chunker,
                embedder: String::new(),
            }),
        }
    }

    /// Returns whether the index agrees with its folder, by the sizes and times of the files.
    ///
    /// # Errors
    /// A folder that cannot be walked.
    pub fn is_current(&self, settings: &CorpusSettings) -> Result<bool, IndexError> {
        if self
            .manifest()
            .is_none_or(|manifest| manifest.recipe.is_none())
        {
            return Ok(false);
        }
        let walked = corpus::walk(&self.canonical, settings, &mut |_| Flow::Continue)?;
        let options = ReadOptions::from(settings);
        Ok(self.compare(true, walked, &options).is_empty())
    }

    /// Walks the folder, compares it with the index and counts what settings leave out.
    fn plan(
        &self,
        recipe: &Recipe,
        config: &Config,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<UpdatePlan, WorkError> {
        let walked = corpus::walk(&self.canonical, &config.corpus, publish)?;
        let omitted = corpus::count_omitted(&self.canonical, &config.corpus, &walked);
        let options = ReadOptions::from(&config.corpus);
        Ok(UpdatePlan {
            omitted,
            ..self.compare(self.can_extend(recipe), walked, &options)
        })
    }

    fn compare(&self, can_extend: bool, walked: Walked, options: &ReadOptions) -> UpdatePlan {
        let indexes = self.layout.root.parent();
        let indexes = indexes.and_then(|indexes| indexes.canonicalize().ok());
        UpdatePlan::compare(
            self.manifest(),
            can_extend,
            walked,
            indexes.as_deref(),
            options,
        )
    }

    /// Returns whether the next generation can share files with the one in use.
    fn can_extend(&self, recipe: &Recipe) -> bool {
        self.manifest()
            .is_some_and(|manifest| manifest.recipe.as_ref() == Some(recipe))
            && !self.is_wasteful()
    }

    /// Returns the report of an update with what it has of the whole index.
    fn report(&self, mut report: IndexReport, started: Instant) -> IndexReport {
        let documents = self
            .manifest()
            .into_iter()
            .flat_map(|manifest| &manifest.documents);
        let mut pictures = OmittedFiles::new(OmittedBy::Pictures);
        for (path, entry) in documents.clone().filter(|(_, entry)| entry.pictures > 0) {
            pictures.add(entry.pictures.into(), path.clone());
        }
        if pictures.files > 0 {
            report.omitted = OmittedFiles::merge_lists(report.omitted, vec![pictures]);
        }
        let noted = documents.filter_map(|(path, entry)| {
            Some(NotedFile {
                path: path.clone(),
                note: entry.note.clone()?,
            })
        });
        report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        IndexReport {
            corpus: self.card(),
            neighbours: self.manifest().and_then(neighbours),
            noted: noted.collect(),
            wall_ms: elapsed_ms(started),
            ..report
        }
    }
}

/// Counts the neighbouring sentences of the documents that are chunked by meaning; `None` without
/// any.
fn neighbours(manifest: &Manifest) -> Option<NeighbouringSentences> {
    let mut neighbours = NeighbouringSentences::default();
    for entry in manifest.documents.values() {
        let sentences = u64::from(entry.sentences);
        neighbours.pairs += sentences.saturating_sub(1);
        neighbours.joined += sentences.saturating_sub(u64::from(entry.chunks));
    }
    (neighbours.pairs > 0).then_some(neighbours)
}

/// An update that is running.
struct UpdateRun<'a> {
    index: &'a mut Index,
    recipe: Recipe,
    options: ReadOptions,
    counter: &'a TokenCounter,
    embedding: BatchEmbedder<'a>,
    /// Begun with the first change.
    draft: Option<Draft>,
    /// The counts so far.
    report: IndexReport,
}

impl UpdateRun<'_> {
    /// Carries out a plan and publishes the result.
    fn all(&mut self, mut plan: UpdatePlan) -> Result<(), Halt> {
        self.report.unchanged = plan.unchanged;
        self.report.skipped = std::mem::take(&mut plan.skipped);
        self.report.omitted = std::mem::take(&mut plan.omitted);
        if !plan.is_empty() || self.is_new() || self.is_segment_due() {
            let mut vectors = self
                .index
                .take_vectors(&self.recipe, self.embedding.width())?;
            let done = self.change(plan, &mut vectors);

            self.index.keep_vectors(vectors);
            if let Some(unfinished) = self.draft.take() {
                unfinished.discard();
            }
            done?;
        }
        Ok(())
    }

    fn change(&mut self, plan: UpdatePlan, vectors: &mut VectorStore) -> Result<(), Halt> {
        self.report.removed = plan.removed.len() as u64;
        for path in plan.removed {
            self.report.note_updated(&path);
            self.draft()?.remove(&path);
        }
        for path in plan.forgotten {
            self.draft()?.manifest.skipped.remove(&path);
        }

        let read = self.read(plan.candidates, vectors);
        if matches!(read, Err(Halt::Stopped)) && self.can_publish_part() {
            self.publish(vectors, false)?;
        }
        read?;

        // a folder without documents has an index, too: an empty one
        if self.is_new() {
            self.draft()?;
        }
        let writing = Position::new(IndexPhase::Writing);
        let is_stopped =
            self.draft.is_some() && self.embedding.progress.step(&writing) == Flow::Stop;
        self.publish(vectors, !is_stopped)?;
        if is_stopped {
            Err(Halt::Stopped)
        } else {
            self.build_segments(vectors)
        }
    }

    fn read(&mut self, candidates: Vec<FileToRead>, vectors: &mut VectorStore) -> Result<(), Halt> {
        let candidates = self.skip_crashes(candidates)?;
        let mut left = candidates.len();
        let how = How {
            options: self.options.clone(),
            method: self.recipe.chunker,
            counter: self.counter.clone(),
            extracts: self.index.layout.extracts(),
            crashes: self.index.layout.crashes_file(),
        };
        for (at, batch) in ReadAhead::start(candidates, how).enumerate() {
            if at >= MIN_BATCHES && self.embedding.progress.is_stopped {
                return Err(Halt::Stopped);
            }
            left -= batch.len();
            let mut documents = Vec::new();
            for outcome in batch {
                match outcome {
                    FileOutcome::Unchanged(file) => {
                        self.report.unchanged += 1;
                        self.embedding.count_file(file.bytes);
                        self.draft()?.touch(&file);
                    }
                    FileOutcome::Unreadable(skipped) => self.skip(skipped)?,
                    FileOutcome::NotText(file, reason) => {
                        self.skip_until_it_changes(&file, reason)?;
                    }
                    FileOutcome::Document(document) => documents.push(*document),
                }
            }

            let mut chunker = Chunker {
                embedding: &mut self.embedding,
                cache: self.index.similarity_cache.get_mut(),
                counter: self.counter,
            };
            let documents = chunker.chunk(documents)?;
            let rows = self
                .embedding
                .rows(&documents, vectors, self.index.vectors.as_ref())?;
            for (document, rows) in documents.into_iter().zip(rows) {
                self.put(document, &rows)?;
            }
            if vectors.rows() - vectors.covered_rows() > MAX_DUE_ROWS {
                self.build_due(vectors)?;
            }
        }
        if left > 0 {
            let reason = format!("reading ended with {left} files left");
            return Err(FileError::read(&self.index.canonical, reason).into());
        }
        Ok(())
    }

    /// Skips the files that ended the program as they were read, and returns the others.
    fn skip_crashes(&mut self, candidates: Vec<FileToRead>) -> Result<Vec<FileToRead>, Halt> {
        let crashes = self.index.layout.crashes();
        let (failed, others): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|candidate| crashes.contains(&candidate.file.path));
        for FileToRead { file, .. } in failed {
            let reason = "ragscope stopped while it read it: please report this file";
            self.skip_until_it_changes(&file, reason.to_owned())?;
        }
        Ok(others)
    }

    fn skip(&mut self, skipped: SkippedFile) -> Result<(), Halt> {
        if self
            .index
            .manifest()
            .is_some_and(|manifest| manifest.documents.contains_key(&skipped.path))
        {
            self.report.removed += 1;
            self.report.note_updated(&skipped.path);
            self.draft()?.remove(&skipped.path);
        }
        self.report.skipped.push(skipped);
        Ok(())
    }

    fn skip_until_it_changes(&mut self, file: &FoundFile, reason: String) -> Result<(), Halt> {
        let entry = SkippedEntry {
            bytes: file.bytes,
            times: file.times,
            reason: reason.clone(),
            reading: self.options.key(),
        };

        self.embedding.count_file(file.bytes);
        self.draft()?
            .manifest
            .skipped
            .insert(file.path.clone(), entry);
        self.skip(SkippedFile::new(&file.path, reason))
    }

    fn put(&mut self, document: ChunkedDocument, rows: &[Option<u32>]) -> Result<(), Halt> {
        let ChunkedDocument {
            path,
            entry,
            chunks,
        } = document;

        let before = self.index.manifest();
        match before.and_then(|before| before.documents.get(&path)) {
            // other settings or another embedder make other chunks of the same document
            Some(known) if known.blake3 == entry.blake3 && known.reading == entry.reading => {
                self.report.unchanged += 1;
            }
            known => {
                *match known {
                    Some(_) => &mut self.report.changed,
                    None => &mut self.report.added,
                } += 1;
                self.report.note_updated(&path);
            }
        }
        Ok(self.draft()?.put(&path, entry, chunks, rows)?)
    }

    /// Returns whether the generation shares nothing with the one in use.
    fn is_new(&self) -> bool {
        !self.index.can_extend(&self.recipe)
    }

    /// Returns whether the work so far can be published before all of it is done: not when it would
    /// replace an index of all documents.
    fn can_publish_part(&self) -> bool {
        self.index.manifest().is_none() || !self.is_new()
    }

    /// Returns the draft, which the first change begins.
    fn draft(&mut self) -> Result<&mut Draft, FileError> {
        let draft = match self.draft.take() {
            Some(draft) => draft,
            None => self.new_draft()?,
        };
        Ok(self.draft.insert(draft))
    }

    fn new_draft(&self) -> Result<Draft, FileError> {
        let layout = &self.index.layout;
        let before = self.index.manifest();
        let base = before.filter(|_| !self.is_new());
        let number = layout.next_generation(before.map_or(0, |before| before.generation))?;

        let mut draft = Draft::begin(layout, number, self.recipe.clone(), base)?;
        draft.manifest.next_chunk = before.map_or(0, |before| before.next_chunk);
        draft.manifest.set_aside = self.index.set_aside(&self.recipe);
        Ok(draft)
    }

    fn publish(&mut self, vectors: &VectorStore, should_merge: bool) -> Result<(), Halt> {
        if let Some(draft) = self.draft.take() {
            self.index.publish(draft, vectors, should_merge)?;
            self.index.layout.forget_crashes();
        }
        Ok(())
    }

    /// Returns whether segments are to be built: not of vectors that are only sent elsewhere.
    fn is_due(&self, vectors: &VectorStore) -> bool {
        self.index.is_searched && vectors.is_segment_due()
    }

    fn is_segment_due(&self) -> bool {
        self.index
            .vectors
            .as_ref()
            .is_some_and(|vectors| self.is_due(vectors))
    }

    /// Builds the segments that are due, and publishes them. The documents are published by then: a
    /// stop or a kill costs only the segment that is being built.
    fn build_segments(&mut self, vectors: &mut VectorStore) -> Result<(), Halt> {
        self.build_due(vectors)?;
        let published = self.index.manifest().map_or(0, |now| now.graph_rows);
        if published == vectors.covered_rows() {
            return Ok(());
        }
        self.draft()?;
        self.publish(vectors, false)
    }

    /// Builds the segments that are due.
    fn build_due(&mut self, vectors: &mut VectorStore) -> Result<(), Halt> {
        let started = Instant::now();
        let before = vectors.covered_rows();
        let total = Some(u64::from(vectors.rows()));

        while self.is_due(vectors) {
            let progress = &mut self.embedding.progress;
            let is_built = vectors.build_segment(&mut |rows| {
                progress.step(&Position {
                    done: u64::from(rows),
                    total,
                    units: u64::from(rows - before),
                    time: started.elapsed(),
                    ..Position::new(IndexPhase::Writing)
                })
            })?;
            if !is_built {
                return Err(Halt::Stopped);
            }
        }

        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::{BufRead as _, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::SystemTime;

    use super::*;
    use crate::config::Layers;
    use crate::event::ModelCard;
    use crate::llm::LlmError;

    /// An embedder that gives each text a direction of its own.
    struct Directions {
        card: ModelCard,
        calls: usize,
        /// Number of texts after which it prints [`WAITING`] and waits for ever.
        max_calls: usize,
    }

    const WAITING: &str = "waiting to be killed";

    impl Embedder for Directions {
        #[expect(
            clippy::print_stdout,
            reason = "the process that waits for it reads it"
        )]
        fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
            self.calls += texts.len();
            if self.calls > self.max_calls {
                println!("{WAITING}");
                loop {
                    std::thread::park();
                }
            }
            Ok(texts.iter().map(|text| direction(text)).collect())
        }

        fn card(&self) -> &ModelCard {
            &self.card
        }
    }

    fn direction(text: &str) -> Vec<f32> {
        let raw: Vec<f32> = blake3::hash(text.trim().as_bytes())
            .as_bytes()
            .iter()
            .map(|b| f32::from(*b) - 127.5)
            .collect();
        let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt();
        raw.into_iter().map(|number| number / length).collect()
    }

    fn embedder() -> Directions {
        let role = crate::event::ModelRole::Embedder;
        let text = || "directions".to_owned();
        let card = ModelCard {
            name: text(),
            file: text(),
            fingerprint: text(),
            architecture: text(),
            quantisation: text(),
            device: text(),
            width: 32,
            context_tokens: 512,
            chat_template: text(),
            template_fallback: text(),
            server: text(),
            ..ModelCard::unknown(role)
        };
        Directions {
            card,
            calls: 0,
            max_calls: usize::MAX,
        }
    }

    /// Makes a folder, and in it one with these documents and the name of one for indexes.
    fn folders(numbers: std::ops::Range<u32>) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().expect("a folder");
        let docs = home.path().join("docs");
        let indexes = home.path().join("indexes");
        write(&docs, numbers);
        (home, docs, indexes)
    }

    fn write(folder: &Path, numbers: std::ops::Range<u32>) {
        fs::create_dir_all(folder).expect("a folder");
        for i in numbers {
            fs::write(
                folder.join(format!("{i}.txt")),
                format!("Number {i} is here"),
            )
            .expect("written");
        }
    }

    /// Updates the index and returns whether that finished.
    fn update(
        index: &mut Index,
        embedder: &mut Directions,
        flow: impl Fn(&SessionEvent) -> Flow,
    ) -> bool {
        let config = Layers::defaults().config().expect("the defaults");
        let vocabulary =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/all-MiniLM-L6-v2.Q8_0.gguf");
        let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/llama-unit.log");
        let runtime = crate::llm::Runtime::start(&log).expect("llama.cpp starts");
        let counter = TokenCounter::from_gguf(&vocabulary, &runtime).expect("a vocabulary");
        let done = index
            .update(&config, embedder, &counter, &mut |event| flow(&event))
            .expect("an update");
        matches!(done, Update::Finished(_))
    }

    /// Returns the document nearest to the direction of document `i`.
    fn nearest(index: &Index, i: u32) -> String {
        let generation = index.generation.as_ref().expect("a generation");
        let vectors = index.vectors.as_ref().expect("vectors");
        let query = direction(&format!("{i}: Number {i} is here"));
        let found = generation.nearest(vectors, &query, 1, None).expect("found");
        let stored = generation.chunk(found[0].1).expect("a chunk");
        let chunk = generation.lexical.chunk(stored.address).expect("a text");
        chunk.document
    }

    #[test]
    fn segments_are_built_when_too_many_rows_have_none_and_are_shared() {
        let home = tempfile::tempdir().expect("a folder");
        let docs = home.path().join("docs");
        let indexes = home.path().join("indexes");
        let mut embedder = embedder();
        write(&docs, 0..30);
        let mut index = Index::open(&docs, &indexes).expect("an index");
        // (documents by then, rows that have segments, generation)
        for (count, graph_rows, generation) in [(30, 0, 1), (60, 60, 3), (90, 80, 5), (110, 100, 7)]
        {
            write(&docs, 0..count);
            assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
            let manifest = index.manifest().expect("a generation");
            assert_eq!(
                (manifest.graph_rows, manifest.generation),
                (graph_rows, generation),
                "{count} documents"
            );
            drop(index);
            index = Index::open(&docs, &indexes).expect("an index");
            for i in [0, count / 2, count - 1] {
                assert_eq!(nearest(&index, i), format!("{i}.txt"), "{count} documents");
            }
        }
        fs::remove_file(docs.join("7.txt")).expect("removed");
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        assert_ne!(
            nearest(&index, 7),
            "7.txt",
            "a segment steps over unused rows"
        );
        assert_eq!(embedder.calls, 110);
    }

    #[test]
    fn a_stop_while_a_segment_is_built_costs_only_the_segment() {
        let (_home, docs, indexes) = folders(0..60);
        let mut index = Index::open(&docs, &indexes).expect("an index");
        let mut embedder = embedder();
        let stop_while_linking = |event: &SessionEvent| match event {
            SessionEvent::IndexProgressed { progress } if progress.phase == IndexPhase::Writing => {
                Flow::Stop
            }
            _ => Flow::Continue,
        };
        while !update(&mut index, &mut embedder, stop_while_linking) {
            if index.card().documents == 60 {
                break;
            }
        }
        assert_eq!(nearest(&index, 33), "33.txt");
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        assert_eq!(
            index.manifest().map(|manifest| manifest.graph_rows),
            Some(60)
        );
        assert_eq!(embedder.calls, 60);
    }

    const CHILD_HOME: &str = "RAGSCOPE_TEST_HOME";

    /// Indexes 400 documents, and waits to be killed when the embedder is asked for the last ones.
    fn index_until_killed(home: &Path) {
        let mut index = Index::open(&home.join("docs"), &home.join("indexes")).expect("an index");
        let mut embedder = embedder();
        embedder.max_calls = 300;
        update(&mut index, &mut embedder, |_| Flow::Continue);
    }

    /// Returns the segments on disk with the times at which they were written.
    fn segments(indexes: &Path) -> BTreeMap<PathBuf, SystemTime> {
        let roots = fs::read_dir(indexes).expect("a list").flatten();
        let files = roots.flat_map(|root| fs::read_dir(root.path()).expect("a list").flatten());
        let segments =
            files.filter(|file| file.file_name().to_string_lossy().contains(".segment-"));
        segments
            .map(|file| {
                let about = file.metadata().expect("a time");
                (file.path(), about.modified().expect("a time"))
            })
            .collect()
    }

    #[test]
    fn segments_that_are_complete_when_the_process_is_killed_are_not_built_again() {
        const NAME: &str = "index::update::tests::\
            segments_that_are_complete_when_the_process_is_killed_are_not_built_again";
        // the child runs this test again
        if let Some(home) = std::env::var_os(CHILD_HOME) {
            return index_until_killed(Path::new(&home));
        }

        let (home, docs, indexes) = folders(0..400);
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([NAME, "--exact", "--nocapture"])
            .env(CHILD_HOME, home.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut lines = output.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains(WAITING)));
        child.kill().expect("killed"); // SIGKILL
        child.wait().expect("its end");

        let before = segments(&indexes);
        assert!(before.len() >= 5, "{before:?}");
        // the segment that was being written
        let torn = before.keys().last().expect("a segment");
        fs::write(torn.with_extension("draft"), "RAGSSEG1").expect("written");

        let mut index = Index::open(&docs, &indexes).expect("an index");
        let mut embedder = embedder();
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        assert!(embedder.calls <= 400 - 250, "{}", embedder.calls);
        let after = segments(&indexes);
        assert_eq!(after.len(), 20);
        for (file, written) in &before {
            assert_eq!(after.get(file), Some(written), "{}", file.display());
        }
        drop(index);
        let index = Index::open(&docs, &indexes).expect("an index");
        for i in [0, 19, 20, 150, 399] {
            assert_eq!(nearest(&index, i), format!("{i}.txt"));
        }
    }

    #[test]
    fn vectors_of_deleted_documents_are_dropped_in_the_end() {
        let (_home, docs, indexes) = folders(0..30);
        let mut index = Index::open(&docs, &indexes).expect("an index");
        let mut embedder = embedder();
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        (5..30).for_each(|i| fs::remove_file(docs.join(format!("{i}.txt"))).expect("removed"));
        let rows = |index: &Index| index.manifest().map(|manifest| manifest.vectors.rows);
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        assert_eq!(rows(&index), Some(30));
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        assert_eq!(
            (rows(&index), nearest(&index, 3).as_str()),
            (Some(5), "3.txt")
        );
        drop(index);
        let mut index = Index::open(&docs, &indexes).expect("an index");
        assert!(update(&mut index, &mut embedder, |_| Flow::Continue));
        assert_eq!(
            (rows(&index), index.card().documents, embedder.calls),
            (Some(5), 5, 30)
        );
    }
}
