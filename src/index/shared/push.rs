//! Sends the index of a folder to a collection: what changed, and nothing twice.
//!
//! The collection says what it has of the part, published or only sent. What is missing is sent in
//! batches, each of which a kill does not lose; the last step publishes all of it at once. So an
//! update that is stopped or killed at any moment continues where it was.

use std::collections::BTreeMap;
use std::time::Instant;

use super::corpus::SharedCorpus;
use crate::corpus::FileTimes;
use crate::event::{ChunkText, Flow, IndexPhase, WorkError, saturating_u32};
use crate::index::error::IndexError;
use crate::index::folder::Index;
use crate::index::generation::Generation;
use crate::index::lexical;
use crate::index::manifest::{DocumentEntry, Manifest, Recipe};
use crate::index::names::FolderPart;
use crate::index::progress::{Position, Progress};
use crate::remote::{
    ChunkWords, Claim, PartCard, PartChange, PartState, PartWriter, SentChunk, SentDocument,
    StoredDocument, part_start, remote_failure,
};

/// Limit of a batch: small enough to be sent in a second, large enough for a fast copy.
const BATCH_CHUNKS: usize = 2000;

impl SharedCorpus {
    /// Makes a part what the index of its folder is. Does nothing where it is already.
    ///
    /// # Errors
    /// [`WorkError::Stopped`]; the failures of the engine; files of the index that cannot be
    /// read.
    pub fn push(
        &self,
        index: &Index,
        part: &FolderPart,
        progress: &mut Progress<'_>,
    ) -> Result<(), IndexError> {
        let (Some(generation), Some(pointer)) = (&index.generation, &index.pointer) else {
            return Ok(());
        };
        let recipe = generation.manifest.recipe.as_ref();

        let mut writer = self.database.writer()?;
        let claim = Claim {
            name: part.name.clone(),
            owner: part.owner.clone(),
            is_named: part.is_named,
            embedder: recipe.map_or_else(String::new, |recipe| recipe.embedder.clone()),
            width: generation.manifest.vectors.width,
        };

        let pushed = writer
            .begin(&claim)
            .map_err(IndexError::from)
            .and_then(|state| {
                let mut push = Push {
                    index,
                    generation,
                    manifest: &pointer.manifest,
                    claim: &claim,
                    writer: &mut writer,
                    progress,
                    started: Instant::now(),
                };
                push.all(state)
            });

        writer.end();
        pushed
    }
}

/// A push that is running.
struct Push<'a, 'p> {
    index: &'a Index,
    generation: &'a Generation,
    /// Checksum of the manifest.
    manifest: &'a str,
    claim: &'a Claim,
    writer: &'a mut PartWriter,
    progress: &'a mut Progress<'p>,
    started: Instant,
}

/// The work on the documents of a part.
#[derive(Default)]
struct PushPlan {
    removed: Vec<StoredDocument>,
    unstaged: Vec<StoredDocument>,
    /// Documents that stay or are sent already, and become or are live.
    after: Vec<StoredDocument>,
    added: Vec<StoredDocument>,
    /// Documents to send: path and key.
    missing: Vec<(String, String)>,
}

impl Push<'_, '_> {
    fn all(&mut self, state: PartState) -> Result<(), IndexError> {
        if state.card.manifest == self.manifest && state.staged.is_empty() {
            return self.optimise();
        }
        let mut card = state.card.clone();
        let mut plan = plan(&self.generation.manifest, state);
        self.writer.unstage(&plan.unstaged)?;
        self.send(&mut plan, &mut card)?;

        let manifest = &self.generation.manifest;
        let card = PartCard {
            owner: self.claim.owner.clone(),
            manifest: self.manifest.to_owned(),
            generation: card.generation + 1,
            documents: manifest.documents.len() as u64,
            chunks: manifest.chunks,
            words: self.generation.lexical.word_count,
            languages: self.generation.languages.iter().cloned().collect(),
            has_vectors: self.claim.width > 0,
            ..card
        };
        let mut words = words_of(self.index, &manifest.documents, self.progress);
        self.writer.publish(PartChange {
            card,
            removed: plan.removed,
            after: plan.after,
            added: plan.added,
            words: &mut words,
        })?;
        drop(words);
        self.optimise()
    }

    /// Builds what makes searches fast, where that is due.
    fn optimise(&mut self) -> Result<(), IndexError> {
        let progress = &mut *self.progress;
        let position = Position::new(IndexPhase::Writing);
        let mut is_stopped = || progress.step(&position) == Flow::Stop;
        Ok(self.writer.optimise(&mut is_stopped)?)
    }

    /// Sends the missing documents in batches.
    fn send(&mut self, plan: &mut PushPlan, card: &mut PartCard) -> Result<(), IndexError> {
        let total = plan.missing.len() as u64;
        let mut batch = Vec::new();
        let mut chunks = 0;
        for (done, (path, key)) in (0..).zip(std::mem::take(&mut plan.missing)) {
            let flow = self.progress.step(&Position {
                phase: IndexPhase::Writing,
                done,
                total: Some(total),
                file: Some(&path),
                units: done,
                time: self.started.elapsed(),
            });
            flow.check().map_err(WorkError::from)?;

            let document = self.document(path, key, card)?;
            chunks += document.chunks.len();
            plan.after.push(document.stored.clone());
            plan.added.push(document.stored.clone());
            batch.push(document);
            if chunks >= BATCH_CHUNKS {
                self.writer.stage(&batch)?;
                batch.clear();
                chunks = 0;
            }
        }
        if !batch.is_empty() {
            self.writer.stage(&batch)?;
        }
        Ok(())
    }

    /// Reads a document from the index, and gives its chunks ids in the collection.
    fn document(
        &self,
        path: String,
        key: String,
        card: &mut PartCard,
    ) -> Result<SentDocument, IndexError> {
        let entry = self.generation.manifest.documents.get(&path);
        let entry = entry.cloned().unwrap_or_default();
        let first_chunk = part_start(card.number) + card.next_chunk;
        // an id of its own for a document without chunks, too
        card.next_chunk += u64::from(entry.chunks.max(1));

        let mut chunks = Vec::with_capacity(entry.chunks as usize);
        for (id, text) in (first_chunk..).zip(self.index.document(&path)?) {
            let vector = self.index.vector(text.id).unwrap_or_default().to_vec();
            chunks.push(SentChunk {
                vector,
                text: ChunkText { id, ..text },
            });
        }
        Ok(SentDocument {
            stored: StoredDocument {
                part: card.number,
                path,
                key,
                count: entry.chunks,
                entry: serde_json::to_string(&entry).unwrap_or_default(),
                first_chunk,
            },
            chunks,
        })
    }
}

/// Returns what gives the words of the chunks of a document, and ends when the observer stops.
fn words_of(
    index: &Index,
    documents: &BTreeMap<String, DocumentEntry>,
    progress: &mut Progress<'_>,
) -> impl FnMut(&StoredDocument) -> Result<Vec<ChunkWords>, WorkError> {
    move |document| {
        let position = Position {
            file: Some(&document.path),
            ..Position::new(IndexPhase::Writing)
        };
        progress.step(&position).check()?;

        let chunks = index.document(&document.path);
        let chunks = chunks.map_err(|error| remote_failure("this machine", error))?;

        let entry = documents.get(&document.path);
        let language = entry.map_or("", |entry| &entry.language);
        Ok(chunks.iter().map(|chunk| words(chunk, language)).collect())
    }
}

/// Compares the index of the folder with its part.
fn plan(manifest: &Manifest, state: PartState) -> PushPlan {
    let PartState {
        mut live,
        mut staged,
        ..
    } = state;

    let mut plan = PushPlan::default();

    for (path, entry) in &manifest.documents {
        let key = key(entry, manifest.recipe.as_ref());
        let is_same = |known: &StoredDocument| known.key == key;
        if let Some(known) = take(&mut live, path, is_same) {
            plan.after.push(known);
        } else if let Some(sent) = take(&mut staged, path, is_same) {
            plan.after.push(sent.clone());
            plan.added.push(sent);
        } else {
            plan.missing.push((path.clone(), key));
        }
    }

    plan.removed = live.into_values().collect();
    plan.unstaged = staged.into_values().collect();
    plan
}

/// Takes the document at a path if it fits.
fn take(
    documents: &mut BTreeMap<String, StoredDocument>,
    path: &str,
    fits: impl Fn(&StoredDocument) -> bool,
) -> Option<StoredDocument> {
    let is_fit = documents.get(path).is_some_and(fits);
    is_fit.then(|| documents.remove(path)).flatten()
}

/// Returns the hash of everything that the chunks of a document depend on.
fn key(entry: &DocumentEntry, recipe: Option<&Recipe>) -> String {
    // the times of a file say nothing about its text
    let entry = DocumentEntry {
        times: FileTimes::default(),
        ..entry.clone()
    };
    let text = serde_json::to_string(&(entry, recipe)).unwrap_or_default();
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Returns the words of a chunk, as the local index has them.
fn words(chunk: &ChunkText, language: &str) -> ChunkWords {
    let (tokens, _) = lexical::words(chunk, language);
    let mut words = ChunkWords {
        length: saturating_u32(tokens.len()),
        ..ChunkWords::default()
    };
    for token in tokens {
        *words.counts.entry(token.text).or_default() += 1;
    }
    words
}
