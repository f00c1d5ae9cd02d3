//! Requests to a Qdrant server.

use std::net::IpAddr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::Agent;

use super::super::error::RemoteError;
use super::super::store::FORMAT;
use super::points::Point;
use crate::config::{IndexSettings, Secret};
use crate::llm::server::connection;

const CONNECTING: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(120);
/// Size of the largest answer.
const MAX_BYTES: u64 = 256 << 20;
/// Points per page of a scroll.
const PAGE_POINTS: usize = 1000;

/// Sends requests about one collection.
#[derive(Clone)]
pub(super) struct Client {
    agent: Agent,
    base: String,
    key: Option<Secret>,
    /// The alias.
    pub collection: String,
    /// Host and port, for messages.
    place: String,
    /// Whether what is sent can be read on the way.
    pub is_open: bool,
}

impl Client {
    pub fn new(settings: &IndexSettings) -> Result<Self, RemoteError> {
        let url = settings.url.trim_end_matches('/');
        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"));
        let place = rest.filter(|rest| {
            let is_strange = |c: char| c.is_whitespace() || "@?#/".contains(c);
            !rest.is_empty() && !rest.contains(is_strange)
        });
        let Some(place) = place else {
            return Err(RemoteError::settings(
                "index.url is no address of a Qdrant server",
                "write it as http://HOST:6333 or https://HOST, and set index.key to env:NAME or file:PATH for the key",
            ));
        };

        let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback =
            host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let config = connection::config(CONNECTING, PATIENCE).map_err(|error| {
            RemoteError::settings(
                format!(
                    "the certificates in {} cannot be used",
                    error.file.display()
                ),
                "correct SSL_CERT_FILE, or unset it",
            )
        })?;
        Ok(Self {
            agent: config.build().into(),
            base: url.to_owned(),
            key: Secret::read(&settings.key).map_err(RemoteError::Settings)?,
            collection: settings.collection.clone(),
            place: place.to_owned(),
            is_open: !is_loopback && url.starts_with("http://"),
        })
    }

    /// Returns the path of an operation on the collection.
    pub fn path(&self, operation: &str) -> String {
        path_of(&self.collection, operation)
    }

    pub fn get(&self, path: &str) -> Result<Option<Value>, RemoteError> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("api-key", key.expose());
        }
        self.answer(request.call())
    }

    pub fn post(&self, path: &str, body: Value) -> Result<Option<Value>, RemoteError> {
        self.send(self.agent.post(format!("{}{path}", self.base)), &body)
    }

    pub fn put(&self, path: &str, body: Value) -> Result<Option<Value>, RemoteError> {
        self.send(self.agent.put(format!("{}{path}", self.base)), &body)
    }

    pub fn delete(&self, path: &str) -> Result<Option<Value>, RemoteError> {
        let mut request = self.agent.delete(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("api-key", key.expose());
        }
        self.answer(request.call())
    }

    fn send(
        &self,
        mut request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        body: &Value,
    ) -> Result<Option<Value>, RemoteError> {
        if let Some(key) = &self.key {
            request = request.header("api-key", key.expose());
        }
        let request = request.header("content-type", "application/json");
        self.answer(request.send(body.to_string()))
    }

    /// Reads the result of an answer; `None` where the collection does not exist.
    fn answer(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Option<Value>, RemoteError> {
        let mut answer = answer.map_err(|error| self.unreachable(error))?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(MAX_BYTES);
        let text = text
            .read_to_string()
            .map_err(|error| self.unreachable(error))?;
        if status == 404 {
            return Ok(None);
        }
        let value: Result<Value, _> = serde_json::from_str(&text);
        if status == 401 || status == 403 {
            return Err(RemoteError::Denied {
                place: self.place.clone(),
                reason: format!("HTTP {status}"),
            });
        }
        if status != 200 {
            let said = value.unwrap_or_default();
            let said = said["status"]["error"].as_str().unwrap_or_default();
            let said: String = said.chars().take(300).collect();
            return Err(RemoteError::Failed {
                place: self.place.clone(),
                reason: format!("HTTP {status}: {said}"),
            });
        }
        let mut value = value.map_err(|error| self.damaged(error))?;
        // the root path has no result
        Ok(Some(match value.get_mut("result") {
            Some(result) => result.take(),
            None => value,
        }))
    }

    /// Returns every point that a filter lets through, by id.
    pub fn scroll(&self, filter: &Value, has_vectors: bool) -> Result<Vec<Point>, RemoteError> {
        let mut all = Vec::new();
        self.scroll_pages(&self.collection, filter, has_vectors, &mut |point| {
            all.push(point);
            true
        })?;
        Ok(all)
    }

    /// Shows every point that a filter lets through, by id, until `see` returns `false`.
    pub fn scroll_pages(
        &self,
        collection: &str,
        filter: &Value,
        has_vectors: bool,
        see: &mut dyn FnMut(Point) -> bool,
    ) -> Result<(), RemoteError> {
        let mut offset = Value::Null;
        loop {
            let mut wanted = json!({
                "filter": filter,
                "limit": PAGE_POINTS,
                "with_payload": true,
                "with_vector": has_vectors,
            });
            if !offset.is_null() {
                wanted["offset"] = offset;
            }
            let Some(page) = self.post(&path_of(collection, "points/scroll"), wanted)? else {
                return Ok(());
            };
            for point in page["points"].as_array().into_iter().flatten() {
                if !see(Point(point.clone())) {
                    return Ok(());
                }
            }
            offset = page["next_page_offset"].clone();
            if offset.is_null() {
                return Ok(());
            }
        }
    }

    /// Reads a value that this program wrote.
    pub fn read<T: DeserializeOwned>(&self, value: &Value) -> Result<T, RemoteError> {
        T::deserialize(value).map_err(|error| self.damaged(error))
    }

    pub fn damaged(&self, reason: impl ToString) -> RemoteError {
        RemoteError::Damaged {
            place: self.place.clone(),
            reason: reason.to_string(),
        }
    }

    pub fn other_format(&self, found: i64) -> RemoteError {
        RemoteError::OtherFormat {
            collection: self.collection.clone(),
            place: self.place.clone(),
            found,
            expected: FORMAT,
        }
    }

    fn unreachable(&self, reason: impl ToString) -> RemoteError {
        RemoteError::Unreachable {
            place: self.place.clone(),
            reason: reason.to_string(),
        }
    }
}

/// Returns the path of an operation on a collection of the server.
pub(super) fn path_of(collection: &str, operation: &str) -> String {
    let slash = if operation.is_empty() { "" } else { "/" };
    format!("/collections/{collection}{slash}{operation}")
}
