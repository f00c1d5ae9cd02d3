//! Writing a part of a collection.

use serde_json::{Value, json};

use super::super::error::RemoteError;
use super::super::store::{
    Change, Claim, FORMAT, NewDocument, PartCard, PartState, StoredDocument, Writer,
};
use super::client::{Client, path_of};
use super::points::{
    Kind, META_POINT, Meta, Point, VECTOR, WORDS, chunk_point, document_point, meta_point,
    part_point,
};

/// Points per request.
const BATCH_POINTS: usize = 500;
/// Documents per condition of a filter.
const FILTER_DOCUMENTS: usize = 1000;

/// A writer of one part. The server has no locks: who writes a part is up to its owner.
pub(super) struct QdrantWriter {
    client: Client,
    /// The collection of the server that is written; not yet the one of the alias where another
    /// embedder replaces all vectors.
    target: String,
    /// The collection that the alias names, if that is another one.
    replaced: Option<String>,
    /// The generation that is being written.
    next: u64,
    mean_words: f32,
}

impl QdrantWriter {
    pub fn new(client: Client) -> Self {
        Self {
            target: String::new(),
            replaced: None,
            next: 1,
            mean_words: 1.0,
            client,
        }
    }

    /// Returns the collection that the alias names.
    fn aliased(&self) -> Result<Option<String>, RemoteError> {
        let aliases = self.client.get("/aliases")?.unwrap_or_default();
        let aliases = aliases["aliases"].as_array().cloned().unwrap_or_default();
        let own = aliases
            .iter()
            .find(|alias| alias["alias_name"] == self.client.collection.as_str());
        let name = own.and_then(|alias| alias["collection_name"].as_str());
        Ok(name.map(str::to_owned))
    }

    /// Creates the collection of the server for a claim, if it is missing.
    fn create(&self, claim: &Claim) -> Result<(), RemoteError> {
        if self.client.get(&path_of(&self.target, ""))?.is_some() {
            return Ok(());
        }
        let mut wanted = json!({"vectors": {}, "sparse_vectors": {WORDS: {"modifier": "idf"}}});
        if claim.width > 0 {
            // the vectors have length 1
            wanted["vectors"][VECTOR] = json!({"size": claim.width, "distance": "Dot"});
        }
        self.put(&path_of(&self.target, ""), wanted)?;
        for (field, kind) in [
            ("kind", "keyword"),
            ("path", "keyword"),
            ("part", "integer"),
            ("document", "integer"),
            ("from", "integer"),
            ("to", "integer"),
        ] {
            let index = json!({"field_name": field, "field_schema": kind});
            self.put(&path_of(&self.target, "index?wait=true"), index)?;
        }
        let meta = Meta {
            format: FORMAT,
            embedder: claim.embedder.clone(),
            width: claim.width,
        };
        self.upsert(vec![meta_point(&meta)])
    }

    fn put(&self, path: &str, body: Value) -> Result<(), RemoteError> {
        let done = self.client.put(path, body)?;
        done.map(|_| ()).ok_or_else(|| self.gone())
    }

    fn post(&self, operation: &str, body: Value) -> Result<Value, RemoteError> {
        let done = self.client.post(&path_of(&self.target, operation), body)?;
        done.ok_or_else(|| self.gone())
    }

    fn gone(&self) -> RemoteError {
        self.client
            .damaged(format!("the collection {} is gone", self.target))
    }

    fn upsert(&self, points: Vec<Value>) -> Result<(), RemoteError> {
        let path = path_of(&self.target, "points?wait=true");
        self.put(&path, json!({"points": points}))
    }

    /// Deletes the points that a filter lets through.
    fn clear(&self, filter: Value) -> Result<(), RemoteError> {
        self.post("points/delete?wait=true", json!({"filter": filter}))
            .map(|_| ())
    }

    fn scroll(&self, filter: &Value) -> Result<Vec<Point>, RemoteError> {
        let mut all = Vec::new();
        self.client
            .scroll_pages(&self.target, filter, false, &mut |point| {
                all.push(point);
                true
            })?;
        Ok(all)
    }

    fn cards(&self) -> Result<Vec<PartCard>, RemoteError> {
        let parts = self.scroll(&json!({"must": [Kind::Part.condition()]}))?;
        let cards: Result<Vec<_>, _> = parts.iter().map(Point::card).collect();
        cards.map_err(|error| self.client.damaged(error))
    }

    fn meta(&self) -> Result<Option<Meta>, RemoteError> {
        let wanted = json!({"ids": [META_POINT], "with_payload": true});
        let found = self.post("points", wanted)?;
        let Some(point) = found.as_array().and_then(|points| points.first()) else {
            return Ok(None);
        };
        let meta: Meta = self.client.read(&point["payload"])?;
        if meta.format == FORMAT {
            Ok(Some(meta))
        } else {
            Err(self.client.other_format(meta.format))
        }
    }

    /// Chooses the collection of the server that a claim writes.
    fn choose_target(&mut self, claim: &Claim) -> Result<(), RemoteError> {
        let hash = blake3::hash(format!("{} {}", claim.embedder, claim.width).as_bytes());
        let own = format!("{}_{}", self.client.collection, &hash.to_hex()[..8]);
        let Some(present) = self.aliased()? else {
            self.target = own;
            self.create(claim)?;
            return self.make_current(None);
        };

        self.target.clone_from(&present);
        let meta = self.meta()?.ok_or_else(|| self.gone())?;
        if (meta.embedder.as_str(), meta.width) == (&claim.embedder, claim.width) {
            return Ok(());
        }
        if self.cards()?.iter().any(|card| card.name != claim.name) {
            return Err(RemoteError::OtherEmbedder {
                collection: self.client.collection.clone(),
                known: meta.embedder,
                known_width: meta.width,
                embedder: claim.embedder.clone(),
                width: claim.width,
            });
        }
        self.replaced = Some(present);
        self.target = own;
        self.create(claim)
    }

    /// Has the alias name the collection that is written.
    fn make_current(&self, before: Option<&str>) -> Result<(), RemoteError> {
        let alias = &self.client.collection;
        let mut actions = Vec::new();
        if before.is_some() {
            actions.push(json!({"delete_alias": {"alias_name": alias}}));
        }
        actions.push(json!({
            "create_alias": {"collection_name": self.target, "alias_name": alias}
        }));
        // all actions of a request happen at once
        let done = self
            .client
            .post("/collections/aliases", json!({"actions": actions}))?;
        done.map(|_| ()).ok_or_else(|| self.gone())
    }
}

impl Writer for QdrantWriter {
    fn begin(&mut self, claim: &Claim) -> Result<PartState, RemoteError> {
        self.mean_words = claim.mean_words;
        self.choose_target(claim)?;
        let cards = self.cards()?;
        let collection = &self.client.collection;
        let card = match claim.known(&cards, collection)? {
            Some(card) => card.clone(),
            None => {
                let card = claim.new_part(&cards, collection)?;
                self.upsert(vec![part_point(&card)])?;
                card
            }
        };
        self.next = card.generation + 1;

        // what a publishing that was killed marked or left
        let of_part = json!({"key": "part", "match": {"value": card.number}});
        self.clear(json!({"must": [of_part, {"key": "to", "range": {"lte": card.generation}}]}))?;
        let marked = json!({"must": [of_part, {"key": "to", "range": {"gt": card.generation}}]});
        self.post(
            "points/payload/delete?wait=true",
            json!({"keys": ["to"], "filter": marked}),
        )?;

        let generation = card.generation;
        let mut state = PartState {
            card,
            ..PartState::default()
        };
        let documents = json!({"must": [Kind::Document.condition(), of_part]});
        for point in self.scroll(&documents)? {
            let document = point.document();
            let document = document.map_err(|error| self.client.damaged(error))?;
            state.insert(document, point.from() <= generation);
        }

        // the chunks of a document that was only sent in part
        let staged: Vec<u64> = state.staged.values().map(|one| one.first_chunk).collect();
        self.clear(json!({
            "must": [
                Kind::Chunk.condition(),
                of_part,
                {"key": "from", "range": {"gt": generation}},
            ],
            "must_not": [{"key": "document", "match": {"any": staged}}],
        }))?;
        Ok(state)
    }

    fn stage(&mut self, documents: &[NewDocument]) -> Result<(), RemoteError> {
        // the point of a document comes after its chunks: a document without all of them is sent again
        for document in documents {
            let chunks = document.chunks.chunks(BATCH_POINTS);
            for chunks in chunks {
                let point =
                    |chunk| chunk_point(chunk, &document.stored, self.next, self.mean_words);
                self.upsert(chunks.iter().map(point).collect())?;
            }
        }
        for documents in documents.chunks(BATCH_POINTS) {
            let point = |new: &NewDocument| document_point(&new.stored, self.next);
            self.upsert(documents.iter().map(point).collect())?;
        }
        Ok(())
    }

    fn unstage(&mut self, documents: &[StoredDocument]) -> Result<(), RemoteError> {
        for ids in ids(documents).chunks(FILTER_DOCUMENTS) {
            self.clear(json!({"must": [{"key": "document", "match": {"any": ids}}]}))?;
        }
        Ok(())
    }

    fn publish(&mut self, change: Change<'_>) -> Result<(), RemoteError> {
        for ids in ids(&change.removed).chunks(FILTER_DOCUMENTS) {
            let filter = json!({"must": [{"key": "document", "match": {"any": ids}}]});
            self.post(
                "points/payload?wait=true",
                json!({"payload": {"to": self.next}, "filter": filter}),
            )?;
        }
        // from here on readers see the new generation
        self.upsert(vec![part_point(&change.card)])?;
        if let Some(before) = self.replaced.take() {
            self.make_current(Some(&before))?;
            self.client.delete(&path_of(&before, ""))?;
        }
        self.unstage(&change.removed)
    }

    /// The server builds its graphs by itself.
    fn optimise(&mut self, _is_stopped: &mut dyn FnMut() -> bool) -> Result<(), RemoteError> {
        Ok(())
    }

    fn end(&mut self) {}
}

fn ids(documents: &[StoredDocument]) -> Vec<u64> {
    let ids = documents.iter().map(|document| document.first_chunk);
    ids.collect()
}
