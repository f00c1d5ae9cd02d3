//! Remembers where documents were chunked by similarity, by their text and the settings: the
//! sentences of a text are embedded once.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::append_log::AppendLog;
use crate::config::MinSimilarity;
use crate::corpus::{Document, SemanticSplit};
use crate::files::{self, Links};
use crate::index::error::FileError;
use crate::llm::dot;

/// Hash of a text, the settings and the embedder, hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::index) struct CacheKey(String);

impl CacheKey {
    pub fn new(document: &Document, split: SemanticSplit, embedder: &str) -> Self {
        let SemanticSplit {
            tokens,
            similarity,
            characters,
            keeps_pronouns,
        } = split;

        let mut hasher = blake3::Hasher::new();
        hasher
            .update(&tokens.to_le_bytes())
            .update(&similarity_bytes(similarity))
            .update(&characters.to_le_bytes())
            .update(&[u8::from(keeps_pronouns)])
            .update(embedder.as_bytes())
            .update(&[0])
            .update(document.text.as_bytes());

        Self(hasher.finalize().to_hex()[..32].to_owned())
    }
}

fn similarity_bytes(similarity: MinSimilarity) -> Vec<u8> {
    match similarity {
        MinSimilarity::Cosine(cosine) => cosine.to_le_bytes().to_vec(),
        MinSimilarity::Percentile(percentile) => String::from(percentile).into_bytes(),
    }
}

/// The first line of the file.
#[derive(Serialize)]
struct Head {
    /// Increases when the same text and settings would give other chunks.
    similarity_cache: u8,
}

const HEAD: Head = Head {
    similarity_cache: 1,
};

/// The ranges of the chunks of a document in its text.
#[derive(Debug, Serialize, Deserialize)]
struct CacheEntry {
    key: CacheKey,
    chunks: Vec<Range<usize>>,
}

/// Chunks by key, in memory and in a file.
#[derive(Debug)]
pub(in crate::index) struct SimilarityCache {
    file: PathBuf,
    /// `None` until it is needed.
    chunks: Option<HashMap<CacheKey, Vec<Range<usize>>>>,
    /// `None` until this process writes.
    log: Option<AppendLog<CacheEntry>>,
}

impl SimilarityCache {
    pub const FILE: &str = "similarity-cache";

    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            chunks: None,
            log: None,
        }
    }

    /// Returns where the chunks of this document are, if it was chunked before.
    pub fn find(
        &mut self,
        key: &CacheKey,
        document: &Document,
    ) -> Result<Option<Vec<Range<usize>>>, FileError> {
        let is_in_text = |chunk: &Range<usize>| document.text.get(chunk.clone()).is_some();
        let found = self.chunks()?.get(key);
        Ok(found
            .filter(|chunks| chunks.iter().all(is_in_text))
            .cloned())
    }

    /// Remembers where the chunks of a document are; on disk too when this process is the writer.
    pub fn insert(
        &mut self,
        key: CacheKey,
        chunks: &[Range<usize>],
        is_writer: bool,
    ) -> Result<(), FileError> {
        let entry = CacheEntry {
            key,
            chunks: chunks.to_vec(),
        };

        if is_writer {
            self.append(&entry)
                .map_err(|error| FileError::write(&self.file, error))?;
        }

        self.chunks()?.insert(entry.key, entry.chunks);
        Ok(())
    }

    fn chunks(&mut self) -> Result<&mut HashMap<CacheKey, Vec<Range<usize>>>, FileError> {
        if self.chunks.is_none() {
            let chunks = self.load();
            self.chunks = Some(chunks.map_err(|error| FileError::read(&self.file, error))?);
        }
        Ok(self.chunks.get_or_insert_default())
    }

    fn load(&self) -> io::Result<HashMap<CacheKey, Vec<Range<usize>>>> {
        let mut chunks = HashMap::new();
        match files::open(&self.file, Links::Followed) {
            Ok(file) => {
                AppendLog::read(&file, &HEAD, |_, entry: CacheEntry| {
                    chunks.insert(entry.key, entry.chunks);
                })?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(chunks)
    }

    fn append(&mut self, entry: &CacheEntry) -> io::Result<()> {
        if self.log.is_none() {
            let file = files::open_or_create(&self.file)?;
            self.log = Some(AppendLog::open(file, &HEAD, |_, _| {})?);
        }
        self.log
            .as_mut()
            .map_or(Ok(()), |log| log.append(entry).map(drop))
    }
}

/// The cosine similarity of each sentence and the one before it, as their vectors come in order.
#[derive(Debug, Default)]
pub(in crate::index) struct Neighbours {
    last: Vec<f32>,
    pub similarities: Vec<f32>,
}

impl Extend<Vec<f32>> for Neighbours {
    /// Adds the vectors of the sentences that come next.
    fn extend<I: IntoIterator<Item = Vec<f32>>>(&mut self, vectors: I) {
        for vector in vectors {
            if !self.last.is_empty() {
                self.similarities.push(dot(&self.last, &vector));
            }
            self.last = vector;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPLIT: SemanticSplit = SemanticSplit {
        tokens: 64,
        similarity: MinSimilarity::Cosine(0.6),
        characters: 0,
        keeps_pronouns: false,
    };

    #[test]
    fn chunks_are_read_back_and_only_a_torn_line_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(SimilarityCache::FILE);
        let document = |text: &str| Document::new("a.txt", text.into()).expect("a document");
        let first = document("Ann sails. Bob sings.");
        let second = document("Cara grows apples.");
        let a = CacheKey::new(&first, SPLIT, "one");
        let b = CacheKey::new(&second, SPLIT, "one");
        let mut cache = SimilarityCache::new(file.clone());
        cache
            .insert(a.clone(), &[0..10, 11..21], true)
            .expect("kept");
        // a kill in the middle of the next line
        let whole = std::fs::read(&file).expect("bytes").len();
        cache
            .insert(b.clone(), std::slice::from_ref(&(0..18)), true)
            .expect("kept");
        let torn = std::fs::read(&file).expect("bytes");
        assert!(whole < torn.len() - 3);
        std::fs::write(&file, &torn[..torn.len() - 3]).expect("torn");
        let mut again = SimilarityCache::new(file.clone());
        assert_eq!(
            again.find(&a, &first).expect("read"),
            Some(vec![0..10, 11..21])
        );
        assert_eq!(again.find(&b, &second).expect("read"), None);
        again
            .insert(b.clone(), std::slice::from_ref(&(0..18)), true)
            .expect("kept");
        let mut third = SimilarityCache::new(file);
        assert_eq!(
            third.find(&a, &first).expect("read"),
            Some(vec![0..10, 11..21])
        );
        assert_eq!(
            third.find(&b, &second).expect("read"),
            Some(std::iter::once(0..18).collect())
        );
        assert_eq!(
            third.find(&a, &second).expect("read"),
            None,
            "chunks beyond the text do not count"
        );
    }

    #[test]
    fn a_key_depends_on_text_settings_and_embedder() {
        let document = |text: &str| Document::new("a.txt", text.into()).expect("a document");
        let key = |text: &str, cut, embedder| CacheKey::new(&document(text), cut, embedder);
        let one = key("Ann sails.", SPLIT, "one");
        assert_eq!(one, key("Ann sails.", SPLIT, "one"));
        assert_ne!(one, key("Ann sings.", SPLIT, "one"));
        assert_ne!(one, key("Ann sails.", SPLIT, "two"));
        assert_ne!(
            one,
            key(
                "Ann sails.",
                SemanticSplit {
                    similarity: 0.8.into(),
                    ..SPLIT
                },
                "one"
            )
        );
    }
}
