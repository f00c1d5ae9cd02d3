//! A collection in Qdrant, by its REST interface: chunks, documents and parts are points of one
//! collection of the server, which has the name of ours as an alias.
//!
//! A point is visible from the generation `from` of its part on, and no longer from `to` on. Which
//! generation a part has is in the one point of the part, so that replacing it publishes everything at
//! once. BM25 is a sparse vector: its numbers hold how often a word is in the chunk and the length of
//! the chunk, against the mean of the part when it was sent, and the server multiplies each by how rare
//! the word is (the modifier `idf`), over all points, hidden ones included.
//!
//! Written after the published description of the interface (version 1.15) and tested against a small
//! server that follows it.

mod client;
mod points;
mod read;
mod write;

use serde_json::json;

use super::error::RemoteError;
use super::store::{FORMAT, Head, Store, View, Writer};
use crate::config::IndexSettings;
use client::Client;
use points::{Kind, META_POINT, Meta, Point, head_of};
use read::Snapshot;
use write::QdrantWriter;

/// A collection on a server.
pub(super) struct Qdrant {
    client: Client,
}

impl Qdrant {
    /// Prepares the connection that settings describe; nothing is sent yet.
    ///
    /// # Errors
    /// An address that cannot be used, or that holds a password; a key that cannot be read.
    pub fn new(settings: &IndexSettings) -> Result<Self, RemoteError> {
        Ok(Self {
            client: Client::new(settings)?,
        })
    }
}

impl Store for Qdrant {
    fn view(
        &self,
        look: &mut dyn FnMut(&mut dyn View) -> Result<(), RemoteError>,
    ) -> Result<(), RemoteError> {
        let head = head(&self.client)?;
        look(&mut Snapshot::new(&self.client, head))
    }

    fn writer(&self) -> Result<Box<dyn Writer>, RemoteError> {
        Ok(Box::new(QdrantWriter::new(self.client.clone())))
    }

    fn is_open(&self) -> bool {
        self.client.is_open
    }

    fn version(&self) -> Result<String, RemoteError> {
        let about = self.client.get("/")?.unwrap_or_default();
        Ok(format!(
            "Qdrant {}",
            about["version"].as_str().unwrap_or("?")
        ))
    }
}

/// Reads what can be searched; nothing where there is no collection yet.
fn head(client: &Client) -> Result<Head, RemoteError> {
    let wanted = json!({"ids": [META_POINT], "with_payload": true});
    let Some(found) = client.post(&client.path("points"), wanted)? else {
        return Ok(Head::default());
    };
    let meta = found.as_array().and_then(|points| points.first());
    let Some(meta) = meta else {
        return Ok(Head::default());
    };
    let meta: Meta = client.read(&meta["payload"])?;
    if meta.format != FORMAT {
        return Err(client.other_format(meta.format));
    }
    let parts = client.scroll(&json!({"must": [Kind::Part.condition()]}), false)?;
    let parts: Result<Vec<_>, _> = parts.iter().map(Point::card).collect();
    Ok(head_of(meta, parts.map_err(|error| client.damaged(error))?))
}
