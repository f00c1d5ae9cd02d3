//! Reads, splits and counts documents ahead of the embedder, on other threads and in bounded
//! batches.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::prelude::*;

use crate::corpus::{
    self, Document, FoundFile, ReadOptions, SemanticSplit, Sentences, SplitMethod, TokenCounter,
};
use crate::event::{ChunkText, SkippedFile, harmless};
use crate::index::caches::extracts::Extracts;
use crate::index::manifest::DocumentEntry;
use crate::llm::CrashName;

/// Limits of a batch. Three batches are in memory at a time: one is read, one waits, one is
/// embedded.
const MAX_BATCH_BYTES: u64 = 1 << 20;
const MAX_BATCH_FILES: usize = 256;

/// A file to read.
#[derive(Debug, Clone)]
pub(in crate::index) struct FileToRead {
    pub file: FoundFile,
    /// Checksum of the file when it was indexed with the same recipe.
    pub indexed_blake3: Option<String>,
}

/// Options by which files are read and split.
#[derive(Clone)]
pub(in crate::index) struct How {
    pub options: ReadOptions,
    pub method: SplitMethod,
    pub counter: TokenCounter,
    /// Keeps the texts of binary documents.
    pub extracts: Extracts,
    /// The file in which a crash notes the document that was read.
    pub crashes: PathBuf,
}

/// The result of reading a candidate.
pub(in crate::index) enum FileOutcome {
    /// Indexed content of which only the time changed.
    Unchanged(FoundFile),
    Document(Box<ReadDocument>),
    /// A file that could not be read now; the next update tries again.
    Unreadable(SkippedFile),
    /// A file that is not text, for this reason.
    NotText(FoundFile, String),
}

pub(in crate::index) struct ReadDocument {
    pub path: String,
    pub entry: DocumentEntry,
    pub body: Body,
}

/// A document, split as far as that needs no embedder.
pub(in crate::index) enum Body {
    Chunks(Vec<ChunkText>),
    /// Sentences that are joined by the similarity of their vectors.
    Sentences(Box<Document>, Sentences, SemanticSplit),
}

/// Batches of outcomes, in the order of the candidates. Dropping it stops the threads.
pub(in crate::index) struct ReadAhead {
    batches: Receiver<Vec<FileOutcome>>,
    stop: Arc<AtomicBool>,
}

impl ReadAhead {
    /// Starts to read.
    pub fn start(candidates: Vec<FileToRead>, how: How) -> Self {
        let (sender, batches) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);

        // not scoped: a stopped update does not wait for the long document that is being read
        std::thread::spawn(move || {
            for batch in batches_of(&candidates) {
                let outcome = |candidate: &FileToRead| {
                    (!is_stopped.load(Ordering::Relaxed)).then(|| outcome(candidate, &how))
                };
                let Some(outcomes) = batch
                    .par_iter()
                    .map(outcome)
                    .collect::<Option<Vec<FileOutcome>>>()
                else {
                    return;
                };
                if sender.send(outcomes).is_err() {
                    return;
                }
            }
        });
        Self { batches, stop }
    }
}

impl Iterator for ReadAhead {
    type Item = Vec<FileOutcome>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn batches_of(candidates: &[FileToRead]) -> impl Iterator<Item = &[FileToRead]> {
    let mut rest = candidates;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |candidate: &&FileToRead| {
            let first = bytes == 0;
            bytes += candidate.file.bytes.max(1);
            first || bytes <= MAX_BATCH_BYTES
        };

        let count = rest.iter().take(MAX_BATCH_FILES).take_while(fits).count();
        let (batch, after) = rest.split_at(count);
        rest = after;
        (count > 0).then_some(batch)
    })
}

fn outcome(candidate: &FileToRead, how: &How) -> FileOutcome {
    let path = &candidate.file.path;
    let sentence = format!(
        "it failed while it read {}. From now on this file is skipped until it changes: please report it.",
        harmless(path)
    );
    let note = [path.as_bytes(), &[0]].concat();
    let _name = CrashName::new(&sentence, &how.crashes, note);

    // a fault in a parser costs one document, not the run
    let read = catch_unwind(AssertUnwindSafe(|| read(candidate, how)));
    let read =
        read.unwrap_or_else(|_| Err("ragscope failed on it: please report this file".into()));
    read.unwrap_or_else(|reason| FileOutcome::Unreadable(SkippedFile::new(path, reason)))
}

/// Reads a file; the error is the reason why it is skipped.
fn read(candidate: &FileToRead, how: &How) -> Result<FileOutcome, String> {
    let file = &candidate.file;
    let bytes = how.options.bytes(&file.file)?;
    let blake3 = blake3::hash(&bytes).to_hex().to_string();
    if candidate.indexed_blake3.as_ref() == Some(&blake3) {
        return Ok(FileOutcome::Unchanged(file.clone()));
    }

    Ok(match Document::read(&file.path, bytes, &how.options) {
        Ok(document) => split(file, document, blake3, how),
        Err(reason) => FileOutcome::NotText(file.clone(), reason),
    })
}

/// Splits a document into chunks, or into the sentences that become chunks.
fn split(file: &FoundFile, document: Document, blake3: String, how: &How) -> FileOutcome {
    let entry = DocumentEntry {
        bytes: file.bytes,
        times: file.times,
        blake3,
        language: document.language.to_owned(),
        other_languages: BTreeSet::new(),
        chunks: 0,
        sentences: 0,
        title: document.title().map(str::to_owned),
        format: document.format.name.to_owned(),
        metadata: document.metadata.clone(),
        note: document.note.clone(),
        pictures: document.pictures,
        reading: document.format.reading(&how.options),
    };
    // what is not kept is read from the file again
    let _ = how.extracts.write(&entry, &document);

    let counter = &how.counter;
    let body = match how.method {
        SplitMethod::Fixed(split) => Body::Chunks(corpus::fixed_chunks(&document, split, counter)),
        SplitMethod::Semantic(split) => {
            let sentences = Sentences::new(&document, split, counter);
            Body::Sentences(Box::new(document), sentences, split)
        }
    };
    FileOutcome::Document(Box::new(ReadDocument {
        path: file.path.clone(),
        entry,
        body,
    }))
}

/// A document with its chunks.
pub(in crate::index) struct ChunkedDocument {
    pub path: String,
    pub entry: DocumentEntry,
    pub chunks: Vec<ChunkText>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::FileTimes;

    #[test]
    fn batches_are_bounded_by_bytes_and_by_files() {
        let candidates = |sizes: &[u64]| -> Vec<FileToRead> {
            let file = |bytes: &u64| FoundFile {
                path: "a".into(),
                file: "a".into(),
                bytes: *bytes,
                times: FileTimes::default(),
            };
            sizes
                .iter()
                .map(|bytes| FileToRead {
                    file: file(bytes),
                    indexed_blake3: None,
                })
                .collect()
        };
        let cases: [(&[u64], &[usize]); 4] = [
            (&[], &[]),
            (&[0; 300], &[256, 44]),
            (&[MAX_BATCH_BYTES * 9, 1, MAX_BATCH_BYTES, 1], &[1, 1, 1, 1]),
            (&[MAX_BATCH_BYTES / 2, MAX_BATCH_BYTES / 2, 1], &[2, 1]),
        ];
        for (sizes, expected) in cases {
            let sizes = candidates(sizes);
            let found: Vec<usize> = batches_of(&sizes).map(<[FileToRead]>::len).collect();
            assert_eq!(found, expected);
        }
    }
}
