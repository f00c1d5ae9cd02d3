//! A collection as a reader sees it: the points of the generations that its parts have now.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::error::RemoteError;
use super::super::store::{Allowed, Head, Nearest, PartCard, StoredDocument, View};
use super::client::Client;
use super::points::{Kind, Point, VECTOR, WORDS, sparse_query};
use crate::event::{ChunkText, Metadata};
use crate::index::fusion::ScoredChunk;

/// A view of a server. A chunk that a writer deletes meanwhile is missing from it.
pub(super) struct Snapshot<'a> {
    client: &'a Client,
    head: Head,
}

impl<'a> Snapshot<'a> {
    pub fn new(client: &'a Client, head: Head) -> Self {
        Self { client, head }
    }

    /// Returns the filter of the visible points of a kind.
    fn visible(&self, kind: Kind) -> Value {
        let parts: Vec<Value> = self.head.parts.iter().map(visible).collect();
        json!({"must": [kind.condition(), {"should": parts}]})
    }

    fn best(
        &self,
        query: Value,
        using: &str,
        limit: usize,
        allowed: Option<&Allowed>,
        parameters: Value,
    ) -> Result<Vec<ScoredChunk>, RemoteError> {
        if self.head.parts.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut filter = self.visible(Kind::Chunk);
        if let Some(allowed) = allowed
            && let Some(must) = filter["must"].as_array_mut()
        {
            must.push(json!({"key": "document", "match": {"any": allowed.documents}}));
        }
        let wanted = json!({
            "query": query,
            "using": using,
            "filter": filter,
            "limit": limit,
            "params": parameters,
            "with_payload": false,
        });
        let found = self
            .client
            .post(&self.client.path("points/query"), wanted)?;
        let found = found.unwrap_or_default();
        let points = found["points"].as_array().into_iter().flatten();
        let mut best: Vec<ScoredChunk> = points
            .map(|point| ScoredChunk {
                chunk: point["id"].as_u64().unwrap_or_default(),
                score: point["score"].as_f64().unwrap_or_default() as f32,
            })
            .collect();
        best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        Ok(best)
    }

    fn points(&self, ids: &[u64], vectors: bool) -> Result<Vec<Point>, RemoteError> {
        if self.head.parts.is_empty() || ids.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = json!({"ids": ids, "with_payload": !vectors, "with_vector": vectors});
        let found = self.client.post(&self.client.path("points"), wanted)?;
        let found = found.unwrap_or_default();
        let points = found.as_array().into_iter().flatten();
        Ok(points.map(|point| Point(point.clone())).collect())
    }
}

/// Returns the condition of the visible points of a part.
pub(super) fn visible(part: &PartCard) -> Value {
    json!({
        "must": [
            {"key": "part", "match": {"value": part.number}},
            {"key": "from", "range": {"lte": part.generation}},
        ],
        "must_not": [{"key": "to", "range": {"lte": part.generation}}],
    })
}

impl View for Snapshot<'_> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn documents(&mut self) -> Result<Vec<StoredDocument>, RemoteError> {
        if self.head.parts.is_empty() {
            return Ok(Vec::new());
        }
        let points = self.client.scroll(&self.visible(Kind::Document), false)?;
        let read = |point: &Point| point.document().map_err(|error| self.client.damaged(error));
        points.iter().map(read).collect()
    }

    fn document(&mut self, part: u64, path: &str) -> Result<Vec<ChunkText>, RemoteError> {
        let mut filter = self.visible(Kind::Document);
        if let Some(must) = filter["must"].as_array_mut() {
            must.push(json!({"key": "part", "match": {"value": part}}));
            must.push(json!({"key": "path", "match": {"value": path}}));
        }
        let found = self.client.scroll(&filter, false)?;
        let Some(document) = found.first() else {
            return Ok(Vec::new());
        };
        let document = document
            .document()
            .map_err(|error| self.client.damaged(error))?;
        let ids: Vec<u64> = document.chunks().collect();
        let mut chunks: Vec<ChunkText> = self
            .chunks(&ids)?
            .into_iter()
            .map(|(chunk, _)| chunk)
            .collect();
        chunks.sort_unstable_by_key(|chunk| chunk.id);
        Ok(chunks)
    }

    fn by_words(
        &mut self,
        words: &[String],
        count: usize,
        allowed: Option<&Allowed>,
    ) -> Result<Vec<ScoredChunk>, RemoteError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.best(sparse_query(words), WORDS, count, allowed, json!({}))
    }

    fn by_vector(
        &mut self,
        vector: &[f32],
        wanted: Nearest<'_>,
    ) -> Result<Vec<ScoredChunk>, RemoteError> {
        let parameters = json!({"hnsw_ef": wanted.ef.max(wanted.count), "exact": wanted.is_exact});
        self.best(
            json!(vector),
            VECTOR,
            wanted.count,
            wanted.allowed,
            parameters,
        )
    }

    fn chunks(&mut self, ids: &[u64]) -> Result<Vec<(ChunkText, Metadata)>, RemoteError> {
        let points = self.points(ids, false)?;
        let read = |point: &Point| point.chunk().map_err(|error| self.client.damaged(error));
        points.iter().map(read).collect()
    }

    fn vectors(&mut self, ids: &[u64]) -> Result<HashMap<u64, Vec<f32>>, RemoteError> {
        let points = self.points(ids, true)?;
        let vector = |point: &Point| Some((point.id(), point.vector()?));
        Ok(points.iter().filter_map(vector).collect())
    }

    fn each_chunk(&mut self, see: &mut dyn FnMut(ChunkText) -> bool) -> Result<(), RemoteError> {
        if self.head.parts.is_empty() {
            return Ok(());
        }
        let mut failed = None;
        let filter = self.visible(Kind::Chunk);
        let collection = &self.client.collection;
        self.client.scroll_pages(
            collection,
            &filter,
            false,
            &mut |point| match point.chunk() {
                Ok((chunk, _)) => see(chunk),
                Err(error) => {
                    failed = Some(self.client.damaged(error));
                    false
                }
            },
        )?;
        failed.map_or(Ok(()), Err)
    }
}
