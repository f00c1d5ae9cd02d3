//! The bodies of requests, within limits of size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::reply::HttpFailure;

/// Maximum size of a body.
pub const MAX_BODY_BYTES: usize = 8 << 20;
/// A body that is larger is read up to here before it is refused, so that its sender gets to read
/// the reply.
const MAX_DISCARDED_BYTES: usize = 64 << 20;
/// Maximum time in which a body arrives.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a body of JSON.
///
/// # Errors
/// A body of another type, one that is too large or too slow, that is no JSON or lacks what `T`
/// has.
pub async fn read_json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<T, HttpFailure> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    // RFC 9110, section 8.3.1: parameters such as charset follow a semicolon
    let essence = kind.and_then(|kind| kind.split(';').next());
    if !essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json")) {
        return Err(HttpFailure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "the body has no type that is understood: send JSON with `Content-Type: application/json`",
        ));
    }

    let bytes = read(body).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        HttpFailure::invalid(format!(
            "the body does not fit ({error}): send the fields that it names, as OpenAI has them"
        ))
    })
}

async fn read(mut body: Body) -> Result<Vec<u8>, HttpFailure> {
    let mut received = 0;
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, async {
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame =
                frame.map_err(|_| HttpFailure::invalid("the body ends early: send it again"))?;
            // headers behind the body are no part of it
            let Ok(part) = frame.into_data() else {
                continue;
            };
            received += part.len();
            if received <= MAX_BODY_BYTES {
                bytes.extend_from_slice(&part);
            // a client that still writes would see the connection break, not the answer
            } else if received > MAX_DISCARDED_BYTES {
                break;
            }
        }
        Ok::<_, HttpFailure>(())
    });
    read.await.map_err(|_| {
        HttpFailure::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "the body arrives too slowly: send it again",
        )
    })??;

    if received > MAX_BODY_BYTES {
        let limit = MAX_BODY_BYTES >> 20;
        return Err(HttpFailure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "request_too_large",
            format!("a body has at most {limit} MiB: send several requests"),
        ));
    }
    Ok(bytes)
}
