//! Gives chunks their vectors: known texts from the store, new ones from the embedder, which are
//! written as they come.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::reading::{ChunkedDocument, FileToRead};
use crate::event::{ChunkText, Flow, IndexPhase};
use crate::index::error::{FileError, Halt};
use crate::index::progress::{Position, Progress};
use crate::index::vectors::VectorStore;
use crate::index::vectors::rows::Key;
use crate::llm::{Embedder, LlmError};

/// Target time of a call of the embedder on any device: the observer can stop between calls.
const CALL_TIME: Duration = Duration::from_millis(200);
const FIRST_CALL_TOKENS: u32 = 2048;
const CALL_TOKENS: std::ops::RangeInclusive<u32> = 256..=1 << 17;

/// Embeds new texts and counts them.
pub(in crate::index) struct BatchEmbedder<'a> {
    embedder: &'a mut dyn Embedder,
    pub progress: Progress<'a>,
    /// Whether chunks get vectors. Otherwise their rows are empty, and only a chunker embeds.
    pub keeps_vectors: bool,
    /// Maximum number of tokens of one call.
    call_tokens: u32,
    files: Amount,
    bytes: Amount,
    chunks: u64,
    /// Chunks that were embedded, and those whose vector was known.
    pub embedded: u64,
    pub reused: u64,
    worked: Duration,
    started: Instant,
}

/// An amount of work, and how much of it is done.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    done: u64,
    all: u64,
}

/// A text for the embedder.
#[derive(Debug, Clone, Copy)]
pub(in crate::index) struct Text<'a> {
    pub text: &'a str,
    pub tokens: u32,
}

/// Texts without a vector, in the order in which they are embedded, with their keys and documents.
struct NewTexts<'a> {
    texts: Vec<Text<'a>>,
    origins: Vec<Origin<'a>>,
}

/// The key of a text, and the document that it is in.
#[derive(Debug, Clone, Copy)]
struct Origin<'a> {
    key: Key,
    document: &'a str,
}

impl<'a> BatchEmbedder<'a> {
    pub fn new(
        embedder: &'a mut dyn Embedder,
        progress: Progress<'a>,
        candidates: &[FileToRead],
    ) -> Self {
        Self {
            embedder,
            progress,
            keeps_vectors: true,
            call_tokens: FIRST_CALL_TOKENS,
            files: Amount {
                done: 0,
                all: candidates.len() as u64,
            },
            bytes: Amount {
                done: 0,
                all: candidates.iter().map(|one| one.file.bytes).sum(),
            },
            chunks: 0,
            embedded: 0,
            reused: 0,
            worked: Duration::ZERO,
            started: Instant::now(),
        }
    }

    /// Returns the width of a row.
    pub fn width(&self) -> usize {
        if self.keeps_vectors {
            self.embedder.card().width as usize
        } else {
            0
        }
    }

    /// Returns the fingerprint of the model.
    pub fn fingerprint(&self) -> &str {
        &self.embedder.card().fingerprint
    }

    /// Counts a file of this size as done.
    pub fn count_file(&mut self, bytes: u64) {
        self.files.done += 1;
        self.bytes.done += bytes;
    }

    /// Returns the row of the vector of every chunk, by document; `None` where the embedder gave no
    /// vector. Vectors that are not in `vectors` come from `previous` or else from the embedder,
    /// and are on disk before more are computed.
    pub fn rows(
        &mut self,
        documents: &[ChunkedDocument],
        vectors: &mut VectorStore,
        previous: Option<&VectorStore>,
    ) -> Result<Vec<Vec<Option<u32>>>, Halt> {
        let texts: Vec<Vec<String>> = documents.par_iter().map(texts).collect();
        let keys: Vec<Vec<Key>> = texts
            .par_iter()
            .map(|texts| texts.iter().map(|text| vectors.key(text)).collect())
            .collect();
        if let Some(previous) = previous {
            copy_known(keys.iter().flatten(), previous, vectors)?;
        }
        let new = new_texts(documents, &texts, &keys, vectors);

        let chunks = keys.iter().map(Vec::len).sum::<usize>() as u64;
        for document in documents {
            self.count_file(document.entry.bytes);
        }
        self.chunks += chunks;
        if self.keeps_vectors {
            self.reused += chunks - new.texts.len() as u64;
            self.embed(&new, vectors)?;
        } else {
            let rows = new.origins.iter().map(|origin| (origin.key, Vec::new()));
            vectors.append(&rows.collect::<Vec<_>>())?;
        }

        // a stop is noticed by the next step: these documents are done
        let _ = self.report(documents.last().map(|document| document.path.as_str()));
        Ok(keys
            .iter()
            .map(|keys| keys.iter().map(|key| vectors.find(key)).collect())
            .collect())
    }

    fn embed(&mut self, new: &NewTexts<'_>, vectors: &mut VectorStore) -> Result<(), Halt> {
        let mut texts = new.texts.as_slice();
        let mut origins = new.origins.as_slice();
        while let Some(origin) = origins.first() {
            let (found, rest) = self.call(texts, origin.document)?;
            let (called, origins_rest) = origins.split_at(found.len());

            let keys = called.iter().map(|origin| origin.key);
            let new: Vec<(Key, Vec<f32>)> = keys
                .zip(found)
                .filter(|(_, vector)| is_unit_vector(vector))
                .collect();
            vectors.append(&new)?;
            self.embedded += called.len() as u64;

            texts = rest;
            origins = origins_rest;
        }
        Ok(())
    }

    /// Embeds as many texts from the front as go into one call, and returns their vectors and the
    /// texts that are left. Reports the progress first.
    pub fn call<'t>(
        &mut self,
        texts: &'t [Text<'t>],
        document: &str,
    ) -> Result<(Vec<Vec<f32>>, &'t [Text<'t>]), Halt> {
        self.report(Some(document))?;

        let (call, rest) = texts.split_at(self.call_texts(texts));
        let call: Vec<&str> = call.iter().map(|text| text.text).collect();

        let started = Instant::now();
        let found = self.embedder.embed(&call)?;
        self.adapt(started.elapsed());

        if found.len() != call.len() {
            let counts = format!("{} vectors for {} texts", found.len(), call.len());
            return Err(LlmError::Backend(counts).into());
        }
        Ok((found, rest))
    }

    /// Returns how many texts from the front go into one call.
    fn call_texts(&self, rest: &[Text<'_>]) -> usize {
        let mut tokens = 0_u32;
        let fits = |text: &&Text<'_>| {
            tokens = tokens.saturating_add(text.tokens.max(1));
            tokens <= self.call_tokens
        };
        rest.iter().take_while(fits).count().max(1)
    }

    /// Changes the size of a call so that it takes about [`CALL_TIME`].
    fn adapt(&mut self, took: Duration) {
        self.worked += took;
        let call_tokens = if took < CALL_TIME / 2 {
            self.call_tokens * 2
        } else if took > CALL_TIME * 2 {
            self.call_tokens / 2
        } else {
            self.call_tokens
        };
        self.call_tokens = call_tokens.clamp(*CALL_TOKENS.start(), *CALL_TOKENS.end());
    }

    fn report(&mut self, file: Option<&str>) -> Result<(), Halt> {
        let is_reading = !self.keeps_vectors || self.embedded == 0 && self.chunks == self.reused;
        let position = if is_reading {
            Position {
                phase: IndexPhase::Reading,
                done: self.files.done,
                total: Some(self.files.all),
                file,
                units: self.files.done,
                time: self.started.elapsed(),
            }
        } else {
            Position {
                phase: IndexPhase::Embedding,
                done: self.embedded + self.reused,
                total: Some(self.expected_chunks()),
                file,
                units: self.embedded,
                time: self.worked,
            }
        };

        match self.progress.step(&position) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Halt::Stopped),
        }
    }

    /// Estimates the number of all chunks, from the share of the bytes that were read.
    fn expected_chunks(&self) -> u64 {
        let Amount { done, all } = self.bytes;
        if done == 0 {
            self.chunks
        } else {
            (self.chunks as f64 * (all as f64 / done as f64).max(1.0)) as u64
        }
    }
}

/// Returns whether a vector has length 1, as an embedder promises. A text on which the embedder
/// failed has none, which costs its chunk, not the update.
fn is_unit_vector(vector: &[f32]) -> bool {
    let length = vector
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    (length - 1.0).abs() < 0.05
}

/// Copies the vectors that only the previous file has.
fn copy_known<'a>(
    keys: impl Iterator<Item = &'a Key>,
    previous: &VectorStore,
    vectors: &mut VectorStore,
) -> Result<(), FileError> {
    let mut seen = HashSet::new();
    let missing = keys.filter(|key| vectors.find(key).is_none() && seen.insert(**key));
    let known = missing.filter_map(|key| Some((*key, previous.find(key)?)));
    let copies = known.map(|(key, row)| Ok((key, previous.row(row)?.into_owned())));
    let copies: Vec<(Key, Vec<f32>)> = copies.collect::<Result<_, FileError>>()?;
    vectors.append(&copies)
}

/// Returns the texts of a document's chunks as the embedder reads them.
fn texts(document: &ChunkedDocument) -> Vec<String> {
    let chunks = document.chunks.iter();
    chunks.map(ChunkText::embedded_text).collect()
}

/// Returns every text without a vector, once, the longest first: a batch of texts of equal length
/// wastes least.
fn new_texts<'a>(
    documents: &'a [ChunkedDocument],
    texts: &'a [Vec<String>],
    keys: &[Vec<Key>],
    vectors: &VectorStore,
) -> NewTexts<'a> {
    let mut seen = HashSet::new();
    let mut new = Vec::new();
    for ((document, texts), keys) in documents.iter().zip(texts).zip(keys) {
        for ((chunk, text), key) in document.chunks.iter().zip(texts).zip(keys) {
            if vectors.find(key).is_none() && seen.insert(*key) {
                let text = Text {
                    text,
                    tokens: chunk.tokens,
                };
                let origin = Origin {
                    key: *key,
                    document: &document.path,
                };
                new.push((text, origin));
            }
        }
    }
    new.sort_by_key(|(text, _)| std::cmp::Reverse(text.tokens));

    let (texts, origins) = new.into_iter().unzip();
    NewTexts { texts, origins }
}
