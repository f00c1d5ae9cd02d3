//! The points of a collection, and their ids.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::store::{Head, NewChunk, PartCard, StoredDocument, Words};
use crate::event::{ChunkText, Metadata};

/// Ids of chunks are below 2^52; those of other points begin with these.
const DOCUMENT_POINTS: u64 = 1 << 60;
const PART_POINTS: u64 = 1 << 61;
pub(super) const META_POINT: u64 = 1 << 62;

/// The names of the vectors of a chunk.
pub(super) const VECTOR: &str = "v";
pub(super) const WORDS: &str = "w";

/// The constants of BM25, as tantivy has them.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// What a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Chunk,
    Document,
    Part,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Document => "document",
            Self::Part => "part",
        }
    }

    /// Returns the condition of a filter.
    pub fn condition(self) -> Value {
        json!({"key": "kind", "match": {"value": self.name()}})
    }
}

/// What is known of the whole collection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Meta {
    pub format: i64,
    pub embedder: String,
    pub width: u32,
}

/// A point as the server returns it.
pub(super) struct Point(pub Value);

impl Point {
    pub fn id(&self) -> u64 {
        self.0["id"].as_u64().unwrap_or_default()
    }

    fn text(&self, key: &str) -> &str {
        self.0["payload"][key].as_str().unwrap_or_default()
    }

    pub fn card(&self) -> Result<PartCard, serde_json::Error> {
        serde_json::from_str(self.text("card"))
    }

    pub fn document(&self) -> Result<StoredDocument, serde_json::Error> {
        let payload = &self.0["payload"];
        Ok(StoredDocument {
            part: payload["part"].as_u64().unwrap_or_default(),
            path: self.text("path").to_owned(),
            key: self.text("key").to_owned(),
            entry: serde_json::from_str(self.text("entry"))?,
            first_chunk: payload["document"].as_u64().unwrap_or_default(),
        })
    }

    /// Returns the generation from which on it is visible.
    pub fn from(&self) -> u64 {
        self.0["payload"]["from"].as_u64().unwrap_or_default()
    }

    pub fn chunk(&self) -> Result<(ChunkText, Metadata), serde_json::Error> {
        let chunk = serde_json::from_str(self.text("body"))?;
        Ok((chunk, serde_json::from_str(self.text("metadata"))?))
    }

    /// Returns the vector by meaning.
    pub fn vector(&self) -> Option<Vec<f32>> {
        Vec::deserialize(&self.0["vector"][VECTOR]).ok()
    }
}

/// Returns what can be searched, of the published parts.
pub(super) fn head_of(meta: Meta, mut parts: Vec<PartCard>) -> Head {
    parts.retain(|part| part.generation > 0);
    parts.sort_by_key(|part| part.number);
    Head {
        embedder: meta.embedder,
        width: meta.width,
        parts,
    }
}

pub(super) fn meta_point(meta: &Meta) -> Value {
    json!({"id": META_POINT, "vector": {}, "payload": meta})
}

pub(super) fn part_point(card: &PartCard) -> Value {
    json!({
        "id": PART_POINTS | card.number,
        "vector": {},
        "payload": {
            "kind": Kind::Part.name(),
            "card": serde_json::to_string(card).unwrap_or_default(),
        },
    })
}

/// Returns the point of a document that is visible from a generation of its part on.
pub(super) fn document_point(document: &StoredDocument, from: u64) -> Value {
    json!({
        "id": DOCUMENT_POINTS | document.first_chunk,
        "vector": {},
        "payload": {
            "kind": Kind::Document.name(),
            "part": document.part,
            "document": document.first_chunk,
            "path": document.path,
            "key": document.key,
            "entry": serde_json::to_string(&document.entry).unwrap_or_default(),
            "from": from,
        },
    })
}

/// Returns the point of a chunk. `mean_words` is the mean number of words of a chunk.
pub(super) fn chunk_point(
    chunk: &NewChunk,
    document: &StoredDocument,
    from: u64,
    mean_words: f32,
) -> Value {
    let mut vectors = json!({WORDS: sparse(&chunk.words, mean_words)});
    if !chunk.vector.is_empty() {
        vectors[VECTOR] = json!(chunk.vector);
    }
    json!({
        "id": chunk.text.id,
        "vector": vectors,
        "payload": {
            "kind": Kind::Chunk.name(),
            "part": document.part,
            "document": document.first_chunk,
            "body": serde_json::to_string(&chunk.text).unwrap_or_default(),
            "metadata": serde_json::to_string(&document.entry.metadata).unwrap_or_default(),
            "from": from,
        },
    })
}

/// Returns the factor of BM25 of each word but its rarity, which the server knows.
fn sparse(words: &Words, mean_words: f32) -> Value {
    use tantivy::fieldnorm::FieldNormReader;

    // rounded as the local index does
    let length = FieldNormReader::fieldnorm_to_id(words.length);
    let length = FieldNormReader::id_to_fieldnorm(length) as f32;
    let norm = K1 * (1.0 - B + B * length / mean_words.max(1.0));
    let mut numbers = std::collections::BTreeMap::new();
    for (word, count) in &words.counts {
        let count = *count as f32;
        *numbers.entry(number(word)).or_insert(0.0) += (K1 + 1.0) * count / (count + norm);
    }
    let indices: Vec<u32> = numbers.keys().copied().collect();
    let values: Vec<f32> = numbers.into_values().collect();
    json!({"indices": indices, "values": values})
}

/// Returns the words of a query as a sparse vector.
pub(super) fn sparse_query(words: &[String]) -> Value {
    let mut indices: Vec<u32> = words.iter().map(|word| number(word)).collect();
    indices.sort_unstable();
    indices.dedup();
    let values = vec![1.0; indices.len()];
    json!({"indices": indices, "values": values})
}

/// Returns the number of a word. Of a million words, about a hundred share theirs with another.
fn number(word: &str) -> u32 {
    let hash = blake3::hash(word.as_bytes());
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&hash.as_bytes()[..4]);
    u32::from_le_bytes(bytes)
}
