//! Chunks get their vectors: known texts from the store, new ones from the embedder, written down as they come.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::chunking::ChunkedDocument;
use super::error::FileError;
use super::progress::{Position, Progress};
use super::reading::Candidate;
use super::update::Halt;
use super::vectors::{Key, VectorStore};
use crate::event::{Flow, IndexPhase};
use crate::llm::{Embedder, LlmError};

/// The observer is asked between calls of the embedder, so a call is to take about this long on any device.
const CALL_TIME: Duration = Duration::from_millis(200);
const FIRST_CALL_TOKENS: u32 = 2048;
const CALL_TOKENS: std::ops::RangeInclusive<u32> = 256..=1 << 17;

/// Embeds what is new and keeps count.
pub(super) struct Embedding<'a> {
    embedder: &'a mut dyn Embedder,
    pub progress: Progress<'a>,
    /// Tokens that fit into one call.
    call_tokens: u32,
    files: Share,
    bytes: Share,
    chunks: u64,
    embedded: u64,
    reused: u64,
    worked: Duration,
    started: Instant,
}

/// How much of something is done.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    done: u64,
    all: u64,
}

/// A text for the embedder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    pub text: &'a str,
    pub tokens: u32,
}

/// Texts without a vector, in the order in which they are embedded, with their keys and the documents that they are in.
struct NewTexts<'a> {
    texts: Vec<Text<'a>>,
    of: Vec<(Key, &'a str)>,
}

impl<'a> Embedding<'a> {
    pub fn new(
        embedder: &'a mut dyn Embedder,
        progress: Progress<'a>,
        candidates: &[Candidate],
    ) -> Self {
        Self {
            embedder,
            progress,
            call_tokens: FIRST_CALL_TOKENS,
            files: Share {
                done: 0,
                all: candidates.len() as u64,
            },
            bytes: Share {
                done: 0,
                all: candidates
                    .iter()
                    .map(|candidate| candidate.file.bytes)
                    .sum(),
            },
            chunks: 0,
            embedded: 0,
            reused: 0,
            worked: Duration::ZERO,
            started: Instant::now(),
        }
    }

    /// Numbers in a vector.
    pub fn width(&self) -> usize {
        self.embedder.card().width as usize
    }

    /// Fingerprint of the model.
    pub fn fingerprint(&self) -> &str {
        &self.embedder.card().fingerprint
    }

    /// Chunks that were embedded, and chunks whose vector was known.
    pub fn counts(&self) -> (u64, u64) {
        (self.embedded, self.reused)
    }

    /// A file of so many bytes is done and has nothing to embed.
    pub fn passed(&mut self, bytes: u64) {
        self.files.done += 1;
        self.bytes.done += bytes;
    }

    /// The rows of the vectors of every chunk, by document; None where the embedder gave none. Vectors that are not in `vectors` come from `former` or else from the
    /// embedder, and are on disk before more are asked for.
    pub fn rows(
        &mut self,
        documents: &[ChunkedDocument],
        vectors: &mut VectorStore,
        former: Option<&VectorStore>,
    ) -> Result<Vec<Vec<Option<u32>>>, Halt> {
        let keys: Vec<Vec<Key>> = documents
            .par_iter()
            .map(|document| {
                document
                    .chunks
                    .iter()
                    .map(|chunk| vectors.key(&chunk.text))
                    .collect()
            })
            .collect();
        if let Some(former) = former {
            carry_over(keys.iter().flatten(), former, vectors)?;
        }
        let new = new_texts(documents, &keys, vectors);
        let chunks = keys.iter().map(Vec::len).sum::<usize>() as u64;
        documents
            .iter()
            .for_each(|document| self.passed(document.entry.bytes));
        self.chunks += chunks;
        self.reused += chunks - new.texts.len() as u64;
        self.embed(&new, vectors)?;
        // a stop is heard here too, but these documents are done
        let _ = self.tell(documents.last().map(|document| document.path.as_str()));
        Ok(keys
            .iter()
            .map(|keys| keys.iter().map(|key| vectors.find(key)).collect())
            .collect())
    }

    fn embed(&mut self, new: &NewTexts<'_>, vectors: &mut VectorStore) -> Result<(), Halt> {
        let (mut texts, mut of) = (new.texts.as_slice(), new.of.as_slice());
        while let Some((_, document)) = of.first() {
            let (found, after) = self.call(texts, document)?;
            let (called, of_after) = of.split_at(found.len());
            let new = called
                .iter()
                .map(|(key, _)| *key)
                .zip(found)
                .filter(|(_, vector)| is_direction(vector));
            vectors.append(&new.collect::<Vec<(Key, Vec<f32>)>>())?;
            self.embedded += called.len() as u64;
            (texts, of) = (after, of_after);
        }
        Ok(())
    }

    /// The vectors of as many texts from the front as go into one call, and the texts that are left. The observer hears of it first.
    pub fn call<'t>(
        &mut self,
        texts: &'t [Text<'t>],
        document: &str,
    ) -> Result<(Vec<Vec<f32>>, &'t [Text<'t>]), Halt> {
        self.tell(Some(document))?;
        let (call, after) = texts.split_at(self.call_texts(texts));
        let call: Vec<&str> = call.iter().map(|text| text.text).collect();
        let started = Instant::now();
        let found = self.embedder.embed(&call)?;
        self.adapt(started.elapsed());
        if found.len() != call.len() {
            let reason = format!("it gave {} vectors for {} texts", found.len(), call.len());
            return Err(LlmError::Backend(format!("the embedder failed: {reason}")).into());
        }
        Ok((found, after))
    }

    /// How many texts from the front go into one call.
    fn call_texts(&self, rest: &[Text<'_>]) -> usize {
        let mut tokens = 0_u32;
        let fits = |text: &&Text<'_>| {
            tokens = tokens.saturating_add(text.tokens.max(1));
            tokens <= self.call_tokens
        };
        rest.iter().take_while(fits).count().max(1)
    }

    fn adapt(&mut self, took: Duration) {
        self.worked += took;
        let better = if took < CALL_TIME / 2 {
            self.call_tokens * 2
        } else if took > CALL_TIME * 2 {
            self.call_tokens / 2
        } else {
            self.call_tokens
        };
        self.call_tokens = better.clamp(*CALL_TOKENS.start(), *CALL_TOKENS.end());
    }

    fn tell(&mut self, file: Option<&str>) -> Result<(), Halt> {
        let position = if self.embedded == 0 && self.chunks == self.reused {
            let worked = (self.files.done, self.started.elapsed());
            let total = Some(self.files.all);
            Position {
                phase: IndexPhase::Reading,
                done: self.files.done,
                total,
                file,
                worked,
            }
        } else {
            let worked = (self.embedded, self.worked);
            let (done, total) = (self.embedded + self.reused, Some(self.all_chunks()));
            Position {
                phase: IndexPhase::Embedding,
                done,
                total,
                file,
                worked,
            }
        };
        if self.progress.step(&position) == Flow::Stop {
            Err(Halt::Stopped)
        } else {
            Ok(())
        }
    }

    /// As many chunks as the bytes that were not read yet will give, if they are like those that were.
    fn all_chunks(&self) -> u64 {
        let Share { done, all } = self.bytes;
        if done == 0 {
            self.chunks
        } else {
            (self.chunks as f64 * (all as f64 / done as f64).max(1.0)) as u64
        }
    }
}

/// Is it what an embedder promises, a vector of length 1? A text on which it failed has none, and costs its chunk, not the run.
fn is_direction(vector: &[f32]) -> bool {
    let length = vector
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    (length - 1.0).abs() < 0.05
}

/// Copy the vectors that only the former file has.
fn carry_over<'a>(
    keys: impl Iterator<Item = &'a Key>,
    former: &VectorStore,
    vectors: &mut VectorStore,
) -> Result<(), FileError> {
    let mut seen = HashSet::new();
    let known = keys.filter(|key| vectors.find(key).is_none() && seen.insert(**key));
    let copies: Vec<(Key, Vec<f32>)> = known
        .filter_map(|key| former.find(key).map(|row| (*key, former.row(row).to_vec())))
        .collect();
    vectors.append(&copies)
}

/// Every text without a vector, once, long ones together with long ones: a batch of equal lengths wastes least.
fn new_texts<'a>(
    documents: &'a [ChunkedDocument],
    keys: &[Vec<Key>],
    vectors: &VectorStore,
) -> NewTexts<'a> {
    let mut seen = HashSet::new();
    let mut new = Vec::new();
    for (document, keys) in documents.iter().zip(keys) {
        for (chunk, key) in document.chunks.iter().zip(keys) {
            if vectors.find(key).is_none() && seen.insert(*key) {
                new.push((
                    Text {
                        text: &chunk.text,
                        tokens: chunk.tokens,
                    },
                    (*key, document.path.as_str()),
                ));
            }
        }
    }
    new.sort_by_key(|(text, _)| std::cmp::Reverse(text.tokens));
    let (texts, of) = new.into_iter().unzip();
    NewTexts { texts, of }
}
