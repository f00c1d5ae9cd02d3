//! Searches, recorded runs, and the state of the server.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::event::{Record, RunSummary};
use crate::serve::queue::{self, Caller, Client, Follower, Refusal, SearchRequest};

use super::body::read_json;
use super::reply::{HttpFailure, json_reply, text_of};
use super::state::HttpState;
use super::stream::{self, Events, Left};

/// Maximum number of runs that are listed.
const MAX_LISTED: usize = 500;

/// Answers a request of `POST /v1/search`.
pub async fn search(
    State(server): State<Arc<HttpState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpFailure> {
    let request: SearchRequest = read_json(&headers, body).await?;

    let cancelled = CancellationToken::new();
    let _wanted = cancelled.clone().drop_guard();
    let caller = Caller::new(client, cancelled);

    let searched =
        tokio::spawn(async move { queue::search(request, &server.engine, &caller).await });
    let found = searched.await.map_err(|_| Refusal::for_end())??;

    json_reply(&found)
}

/// Answers a request of `GET /v1/status`.
pub async fn status(State(server): State<Arc<HttpState>>) -> Result<Response, HttpFailure> {
    json_reply(&server.engine.status())
}

/// Answers a request of `GET /v1/runs`: the newest runs.
pub async fn list(State(server): State<Arc<HttpState>>) -> Result<Response, HttpFailure> {
    let listed = tokio::task::spawn_blocking(move || queue::list(&server.engine));
    let runs = listed.await.map_err(|_| Refusal::for_end())??;
    let listed = runs.iter().take(MAX_LISTED).map(listed_run);
    json_reply(&json!({
        "object": "list",
        "data": listed.collect::<Vec<_>>(),
        "has_more": runs.len() > MAX_LISTED,
    }))
}

/// Returns a run as the list shows it: the path of its file is no client's concern. The answer is
/// `null` where the run never finished; the thread is that of its first run.
fn listed_run(run: &RunSummary) -> Value {
    json!({
        "id": run.run,
        "object": "run",
        "created": run.started_at,
        "question": run.question,
        "preset": run.preset,
        "answer": run.answer,
        "thread": run.thread(),
    })
}

/// Answers a request of `GET /v1/runs/ID`: the records as server-sent events, while the run is in
/// progress as they come. With `Last-Event-ID`, those after that one.
pub async fn show(
    State(server): State<Arc<HttpState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    // a browser that reconnects names the last event that it got (HTML, section 9.2.4)
    let after = headers.get("last-event-id");
    let after = after.and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let is_wanted = move |record: &Record| after.is_none_or(|after| record.seq > after);

    if let Some(mut live) = server.engine.follow(&id) {
        let (events, response) = stream::open(());
        tokio::spawn(async move {
            // a client that has left needs no more records
            let _ = send_live(&mut live, is_wanted, &events).await;
        });
        return Ok(response);
    }

    let read = tokio::task::spawn_blocking(move || queue::read(&server.engine, &id));
    let records = read.await.map_err(|_| Refusal::for_end())??;
    let (events, response) = stream::open(());
    tokio::spawn(async move {
        for record in records.iter().filter(|record| is_wanted(record)) {
            if send(record, &events).await.is_err() {
                return;
            }
        }
        let _ = events.send("[DONE]").await;
    });
    Ok(response)
}

async fn send_live(
    live: &mut Follower,
    is_wanted: impl Fn(&Record) -> bool,
    events: &Events,
) -> Result<(), Left> {
    while let Some(record) = events.wait(live.next()).await? {
        if is_wanted(&record) {
            send(&record, events).await?;
        }
    }
    events.send("[DONE]").await
}

async fn send(record: &Record, events: &Events) -> Result<(), Left> {
    events.send_numbered(record.seq, &text_of(record)).await
}
