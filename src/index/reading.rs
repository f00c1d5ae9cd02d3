//! Documents are read, split and counted ahead of the embedder, on other threads and in bounded batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::prelude::*;

use super::manifest::DocumentEntry;
use crate::corpus::{
    self, Chunk, Cutting, Document, FoundFile, SemanticCut, Sentences, TokenCounter,
};
use crate::event::SkippedFile;

/// A batch ends with whichever comes first. Three of them are in memory at a time: one being read, one waiting, one embedded.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_FILES: usize = 256;

/// A file to look into.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub file: FoundFile,
    /// Checksum of the file when it was indexed with the same recipe.
    pub known: Option<String>,
}

/// What became of it.
pub(super) enum Outcome {
    /// Its content is what was indexed; only its time changed.
    Same(FoundFile),
    Document(Box<ReadDocument>),
    /// It could not be read now; perhaps it can the next time.
    Unreadable(SkippedFile),
    /// It is not text, for this reason.
    NoText(FoundFile, String),
}

pub(super) struct ReadDocument {
    pub path: String,
    pub entry: DocumentEntry,
    pub body: Body,
}

/// A document as far as it can be taken apart without an embedder.
pub(super) enum Body {
    Chunks(Vec<Chunk>),
    /// To be joined by their vectors.
    Sentences(Box<Document>, Sentences, SemanticCut),
}

/// Batches of outcomes, in the order of the candidates. Dropping it ends the reading.
pub(super) struct Reader {
    batches: Receiver<Vec<Outcome>>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    pub fn start(candidates: Vec<Candidate>, cutting: Cutting, counter: TokenCounter) -> Self {
        let (sender, batches) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        // not scoped: an update that was stopped does not wait for the long document that is being read
        std::thread::spawn(move || {
            for batch in batches_of(&candidates) {
                let one = |candidate: &Candidate| {
                    (!stopped.load(Ordering::Relaxed))
                        .then(|| outcome(candidate, cutting, &counter))
                };
                let Some(outcomes) = batch.par_iter().map(one).collect::<Option<Vec<Outcome>>>()
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

impl Iterator for Reader {
    type Item = Vec<Outcome>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn batches_of(candidates: &[Candidate]) -> impl Iterator<Item = &[Candidate]> {
    let mut rest = candidates;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |candidate: &&Candidate| {
            let first = bytes == 0;
            bytes += candidate.file.bytes.max(1);
            first || bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(BATCH_FILES).take_while(fits).count();
        let (batch, after) = rest.split_at(count);
        rest = after;
        (count > 0).then_some(batch)
    })
}

fn outcome(candidate: &Candidate, cutting: Cutting, counter: &TokenCounter) -> Outcome {
    // a fault in a parser costs one document, not the run
    let read = catch_unwind(AssertUnwindSafe(|| read(candidate, cutting, counter)));
    read.unwrap_or_else(|_| {
        let reason = "ragscope failed on it: please report this file".to_owned();
        Ok(Outcome::Unreadable(SkippedFile {
            path: candidate.file.path.clone(),
            reason,
        }))
    })
    .unwrap_or_else(Outcome::Unreadable)
}

fn read(
    candidate: &Candidate,
    cutting: Cutting,
    counter: &TokenCounter,
) -> Result<Outcome, SkippedFile> {
    let file = &candidate.file;
    let Ok(bytes) = std::fs::read(&file.file) else {
        // reads again, for the reason; should it succeed now, the missing checksum has the file indexed again next time
        let document = corpus::read(file)?;
        return Ok(cut(file, document, String::new(), (cutting, counter)));
    };
    let blake3 = blake3::hash(&bytes).to_hex().to_string();
    if candidate.known.as_ref() == Some(&blake3) {
        return Ok(Outcome::Same(file.clone()));
    }
    Ok(match Document::new(&file.path, bytes) {
        Ok(document) => cut(file, document, blake3, (cutting, counter)),
        Err(reason) => Outcome::NoText(file.clone(), reason),
    })
}

fn cut(
    file: &FoundFile,
    document: Document,
    blake3: String,
    (cutting, counter): (Cutting, &TokenCounter),
) -> Outcome {
    let entry = DocumentEntry {
        bytes: file.bytes,
        modified_ns: file.modified_ns,
        blake3,
        language: document.language.to_owned(),
        chunks: 0,
        note: document.note.clone(),
    };
    let body = match cutting {
        Cutting::Fixed(cut) => Body::Chunks(corpus::cut(&document, cut, counter)),
        Cutting::Semantic(cut) => {
            let sentences = Sentences::of(&document, cut, counter);
            Body::Sentences(Box::new(document), sentences, cut)
        }
    };
    Outcome::Document(Box::new(ReadDocument {
        path: file.path.clone(),
        entry,
        body,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_by_bytes_and_by_files() {
        let candidates = |sizes: &[u64]| -> Vec<Candidate> {
            let file = |bytes: &u64| FoundFile {
                path: "a".into(),
                file: "a".into(),
                bytes: *bytes,
                modified_ns: 0,
            };
            sizes
                .iter()
                .map(|bytes| Candidate {
                    file: file(bytes),
                    known: None,
                })
                .collect()
        };
        let cases: [(&[u64], &[usize]); 4] = [
            (&[], &[]),
            (&[0; 300], &[256, 44]),
            (&[BATCH_BYTES * 9, 1, BATCH_BYTES, 1], &[1, 1, 1, 1]),
            (&[BATCH_BYTES / 2, BATCH_BYTES / 2, 1], &[2, 1]),
        ];
        for (sizes, expected) in cases {
            let sizes = candidates(sizes);
            let found: Vec<usize> = batches_of(&sizes).map(<[Candidate]>::len).collect();
            assert_eq!(found, expected);
        }
    }
}
