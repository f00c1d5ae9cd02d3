//! The manifest of a generation: its files and its documents. Its own checksum is in the `current`
//! pointer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::FileError;
use crate::corpus::{FileTimes, SplitMethod};
use crate::event::{Metadata, is_zero};
use crate::files;

/// Increases when older files can no longer be read, or would be searched wrongly (the analyser
/// counts, and what the embedder reads).
pub(super) const FORMAT: u32 = 20;

/// The manifest of a generation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: u32,
    pub generation: u64,
    /// `None` only in the empty manifest of an index that was never written.
    pub recipe: Option<Recipe>,
    /// The id of the next chunk: an id is never used twice.
    pub next_chunk: u64,
    /// Number of chunks.
    pub chunks: u64,
    pub vectors: VectorsCard,
    /// The file of the vectors that an index without vectors had before.
    #[serde(default)]
    pub set_aside: Option<String>,
    /// Number of rows that have segments: the first ones.
    pub graph_rows: u32,
    /// Every other file of the generation.
    pub files: Vec<StoredFile>,
    /// The documents by path inside the corpus.
    pub documents: BTreeMap<String, DocumentEntry>,
    /// Files without text, by path: they are not read again until they change.
    #[serde(default)]
    pub skipped: BTreeMap<String, SkippedEntry>,
    /// Version of the program that skipped them; another version may read more.
    #[serde(default)]
    pub program: String,
}

/// A file without text, with its size and times when it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SkippedEntry {
    pub bytes: u64,
    #[serde(flatten)]
    pub times: FileTimes,
    pub reason: String,
    /// The settings of reading it; with others it may have text.
    #[serde(default)]
    pub reading: String,
}

/// The chunker and the embedder of an index. Another recipe makes other chunks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recipe {
    pub chunker: SplitMethod,
    /// Fingerprint of the embedder; empty for an index without vectors.
    pub embedder: String,
}

impl Recipe {
    /// Returns whether each chunk has a vector.
    pub fn has_vectors(&self) -> bool {
        !self.embedder.is_empty()
    }
}

/// The part of a vector file that a generation uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct VectorsCard {
    /// Name in the folder of the index; empty before the first generation.
    pub file: String,
    pub rows: u32,
    pub width: u32,
}

/// A file of a generation, by its path inside the generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredFile {
    pub name: String,
    pub bytes: u64,
    pub blake3: String,
}

/// A document, with its size and times when it was indexed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct DocumentEntry {
    pub bytes: u64,
    #[serde(flatten)]
    pub times: FileTimes,
    /// Hash of the file's bytes, hex.
    pub blake3: String,
    pub language: String,
    /// The languages of the chunks that are in another.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub other_languages: BTreeSet<String>,
    pub chunks: u32,
    /// Number of sentences that its chunks were joined from; 0 for chunks of a fixed size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sentences: u32,
    /// The title, by which other documents name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Name of its format.
    #[serde(default)]
    pub format: String,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// A remark on how the file was read: faults, a guessed encoding.
    pub note: Option<String>,
    /// The number of pictures in it whose text is not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pictures: u32,
    /// The library and the settings that read a binary file; empty for text.
    #[serde(default)]
    pub reading: String,
}

impl Manifest {
    pub const FILE: &str = "manifest.json";
    pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

    /// Returns the fingerprint of the embedder that made the vectors.
    pub fn embedder(&self) -> &str {
        self.recipe.as_ref().map_or("", |recipe| &recipe.embedder)
    }

    /// Writes the manifest into the folder of a generation and returns its checksum.
    pub fn write(&self, generation: &Path) -> Result<String, FileError> {
        let file = generation.join(Self::FILE);
        let text = serde_json::to_vec(self).map_err(|error| FileError::write(&file, error))?;
        files::replace(&file, &text).map_err(|error| FileError::write(&file, error))?;
        Ok(blake3::hash(&text).to_hex().to_string())
    }

    /// Reads a manifest and verifies it against the checksum of the pointer.
    pub fn read(generation: &Path, checksum: &str) -> Result<Self, FileError> {
        let file = generation.join(Self::FILE);
        let text =
            files::read(&file).map_err(|error| FileError::missing_or_unreadable(&file, &error))?;

        if blake3::hash(&text).to_hex().as_str() != checksum {
            return Err(FileError::for_damage(&file, "its checksum is wrong"));
        }

        let Header { format: found } = parse(&file, &text)?;
        match found {
            FORMAT => parse(&file, &text),
            found => Err(FileError::OtherFormat {
                found,
                expected: FORMAT,
            }),
        }
    }
}

#[derive(Deserialize)]
struct Header {
    format: u32,
}

fn parse<'a, T: Deserialize<'a>>(file: &Path, text: &'a [u8]) -> Result<T, FileError> {
    serde_json::from_slice(text).map_err(|error| FileError::for_damage(file, error))
}

impl StoredFile {
    /// Measures a file of a generation.
    pub fn for_file(generation: &Path, name: &str) -> Result<Self, FileError> {
        let (bytes, blake3) = checksum(&generation.join(name))?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            blake3,
        })
    }

    /// Checks that the file is what it was when it was written.
    pub fn verify(&self, generation: &Path) -> Result<(), FileError> {
        let file = generation.join(&self.name);
        let (bytes, blake3) = checksum(&file)?;
        if bytes != self.bytes {
            return Err(FileError::for_damage(
                &file,
                format_args!("it has {bytes} bytes instead of {}", self.bytes),
            ));
        }
        if blake3 != self.blake3 {
            return Err(FileError::for_damage(&file, "its checksum is wrong"));
        }
        Ok(())
    }
}

fn checksum(file: &Path) -> Result<(u64, String), FileError> {
    let mut hasher = blake3::Hasher::new();
    // a pipe in the place of a file would be waited for without end
    files::open(file, files::Links::Followed)
        .and_then(|_| hasher.update_mmap_rayon(file).map(|_| ()))
        .map_err(|error| FileError::missing_or_unreadable(file, &error))?;
    Ok((hasher.count(), hasher.finalize().to_hex().to_string()))
}
