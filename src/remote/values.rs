//! A corpus on other machines as values: its parts, their documents, and what is written.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ids::{MAX_PARTS, part_start};
use crate::event::{ChunkText, Problem, WorkError};

/// Increases when older collections can no longer be read, or would be searched wrongly.
pub const FORMAT: i64 = 2;
/// Maximum number of vectors that are compared one by one; more get a graph.
pub const MAX_EXACT_VECTORS: u64 = 50_000;

/// A part of a collection: the folder that one machine indexes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartCard {
    /// The ids of its chunks begin with it.
    pub number: u64,
    pub name: String,
    /// The machine and the folder that it was indexed from.
    pub owner: String,
    /// Checksum of the manifest of the local generation that it holds.
    pub manifest: String,
    /// 0 before the first is published.
    pub generation: u64,
    /// The id of the next chunk inside the part: an id is never used twice.
    pub next_chunk: u64,
    pub documents: u64,
    pub chunks: u64,
    /// Number of words of all chunks.
    pub words: u64,
    pub languages: Vec<String>,
    pub has_vectors: bool,
}

/// The searchable parts of a corpus at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorpusHead {
    /// Fingerprint of the embedder; empty without vectors.
    pub embedder: String,
    pub width: u32,
    /// The published parts, by number.
    pub parts: Vec<PartCard>,
}

/// A document of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDocument {
    pub part: u64,
    /// Path inside the part.
    pub path: String,
    /// Hash of everything that its chunks depend on.
    pub key: String,
    /// The knowledge of the index of its machine about it, as JSON.
    pub entry: String,
    /// Number of chunks.
    pub count: u32,
    /// The id of its first chunk, which is its own id, too.
    pub first_chunk: u64,
}

impl StoredDocument {
    /// Returns the ids of its chunks.
    pub fn chunks(&self) -> Range<u64> {
        self.first_chunk..self.first_chunk + u64::from(self.count)
    }
}

/// A chunk that a search found, by its id.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredId {
    pub chunk: u64,
    pub score: f32,
}

/// A chunk with the entry of its document, as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkWithEntry {
    pub text: ChunkText,
    pub entry: String,
}

/// The documents that a search is limited to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allowed {
    /// The ids of their chunks, ascending and apart.
    pub chunks: Vec<Range<u64>>,
    /// Number of chunks.
    pub count: u64,
}

impl Allowed {
    pub fn from_documents(mut documents: Vec<StoredDocument>) -> Self {
        documents.sort_unstable_by_key(|document| document.first_chunk);
        let chunks: Vec<Range<u64>> = documents.iter().map(StoredDocument::chunks).collect();
        Self {
            count: chunks.iter().map(|range| range.end - range.start).sum(),
            chunks,
        }
    }

    pub fn contains(&self, chunk: u64) -> bool {
        let after = self.chunks.partition_point(|range| range.start <= chunk);
        after > 0 && self.chunks[after - 1].contains(&chunk)
    }
}

/// The chunks that are wanted of a search by vector.
#[derive(Clone, Copy)]
pub struct Nearest<'a> {
    pub count: usize,
    /// Size of the candidate list of the graph.
    pub ef: usize,
    pub allowed: Option<&'a Allowed>,
    /// Whether every vector is compared.
    pub is_exact: bool,
}

/// A claim of a machine to write a part, with its embedder.
#[derive(Debug, Clone)]
pub struct Claim {
    pub name: String,
    pub owner: String,
    /// Whether the user named the part, which may then be another owner's.
    pub is_named: bool,
    /// Fingerprint of the embedder and the width of its vectors; empty and 0 without vectors.
    pub embedder: String,
    pub width: u32,
}

impl Claim {
    /// Returns the claimed part among those of the collection; `None` where it is new.
    ///
    /// # Errors
    /// The part of another owner, unless the user named it.
    pub fn find_in<'c>(
        &self,
        cards: &'c [PartCard],
        collection: &str,
    ) -> Result<Option<&'c PartCard>, Problem> {
        let known = cards.iter().find(|card| card.name == self.name);

        match known.filter(|card| card.owner != self.owner && !self.is_named) {
            Some(PartCard { name, owner, .. }) => Err(Problem::new(
                format!("the part {name} of the collection {collection} belongs to {owner}"),
                "set index.part to another name; the same name replaces that part",
            )),
            None => Ok(known),
        }
    }

    /// Returns the card of a new part, with a number that none of the others has.
    ///
    /// # Errors
    /// A collection that is full.
    pub fn new_part(&self, cards: &[PartCard], collection: &str) -> Result<PartCard, Problem> {
        let max = MAX_PARTS as u64;
        let number = cards.iter().map(|card| card.number + 1).max().unwrap_or(0);

        if number >= max {
            return Err(Problem::new(
                format!("the collection {collection} has {max} parts, and can have no more"),
                "index several folders as one, or set index.collection to a new name",
            ));
        }

        Ok(PartCard {
            number,
            name: self.name.clone(),
            owner: self.owner.clone(),
            ..PartCard::default()
        })
    }
}

/// A part as its writer finds it.
#[derive(Debug, Default)]
pub struct PartState {
    pub card: PartCard,
    /// The documents that readers see, by path.
    pub live: BTreeMap<String, StoredDocument>,
    /// The documents that an earlier update sent and did not publish.
    pub staged: BTreeMap<String, StoredDocument>,
}

impl PartState {
    /// Takes a document that the engine holds. New chunks get ids after its own.
    pub fn insert(&mut self, document: StoredDocument, is_live: bool) {
        let next = document.chunks().end.max(document.first_chunk + 1);
        let next = next - part_start(self.card.number);
        self.card.next_chunk = self.card.next_chunk.max(next);

        let documents = if is_live {
            &mut self.live
        } else {
            &mut self.staged
        };
        documents.insert(document.path.clone(), document);
    }
}

/// A document with its chunks, which nobody sees before it is published.
pub struct SentDocument {
    pub stored: StoredDocument,
    pub chunks: Vec<SentChunk>,
}

pub struct SentChunk {
    /// Text of the chunk with its id in the collection.
    pub text: ChunkText,
    /// Empty without vectors.
    pub vector: Vec<f32>,
}

/// The words of a chunk: each with the number of times that it occurs, and how many there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChunkWords {
    pub counts: BTreeMap<String, u32>,
    pub length: u32,
}

/// The changes with which a part is published.
pub struct PartChange<'a> {
    /// The part after it.
    pub card: PartCard,
    /// Documents that readers see now and no longer after it.
    pub removed: Vec<StoredDocument>,
    /// Documents that readers see after it, the new ones included.
    pub after: Vec<StoredDocument>,
    /// Staged documents, which become live.
    pub added: Vec<StoredDocument>,
    /// Returns the words of each chunk of a document, in its order.
    pub words: &'a mut dyn FnMut(&StoredDocument) -> Result<Vec<ChunkWords>, WorkError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_chunks_are_found_in_their_ranges() {
        let document = |first_chunk, chunks| StoredDocument {
            part: 0,
            path: "a".into(),
            key: "k".into(),
            entry: String::new(),
            count: chunks,
            first_chunk,
        };
        let allowed = Allowed::from_documents(vec![document(20, 2), document(3, 4)]);
        assert_eq!(allowed.count, 6);
        let found: Vec<u64> = (0..30).filter(|id| allowed.contains(*id)).collect();
        assert_eq!(found, [3, 4, 5, 6, 20, 21]);
        assert!(!Allowed::default().contains(0));
    }
}
