//! Searches, and the state of the server.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::serve::queue::{self, Caller, Refusal, SearchRequest};

use super::body::read_json;
use super::reply::{HttpFailure, json_reply};
use super::state::HttpState;

/// Answers a request of `POST /v1/search`.
pub async fn search(
    State(server): State<Arc<HttpState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpFailure> {
    let request: SearchRequest = read_json(&headers, body).await?;

    // dropped with this future: the client has left
    let (_wanting, caller) = Caller::new(None);
    let searched =
        tokio::spawn(async move { queue::search(request, &server.engine, &caller).await });
    let found = searched.await.map_err(|_| Refusal::for_end())??;

    json_reply(&found)
}

/// Answers a request of `GET /v1/status`.
pub async fn status(State(server): State<Arc<HttpState>>) -> Result<Response, HttpFailure> {
    json_reply(&server.engine.status())
}
