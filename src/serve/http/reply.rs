//! Replies: JSON, and failures in the form that clients of the OpenAI interface read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

use crate::event::{Problem, escape_json};
use crate::serve::queue::{Refusal, RefusalKind};

/// A request that is answered with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpFailure {
    pub status: StatusCode,
    /// A name for programs.
    pub code: &'static str,
    /// A sentence about the failure, and advice.
    pub message: String,
    pub retry_after: Option<Duration>,
}

impl HttpFailure {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A request that says what cannot be done.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// Returns the error as the object that clients expect.
    pub fn to_json(&self) -> serde_json::Value {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": { "message": self.message, "type": kind, "param": null, "code": self.code } })
    }
}

impl From<Refusal> for HttpFailure {
    fn from(Refusal { kind, problem }: Refusal) -> Self {
        let (status, code, retry_after) = match kind {
            RefusalKind::Invalid => (StatusCode::BAD_REQUEST, "invalid_request", None),
            RefusalKind::Missing => (StatusCode::NOT_FOUND, "not_found", None),
            RefusalKind::Unavailable { retry_after } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                Some(retry_after),
            ),
            RefusalKind::Refused => (StatusCode::UNPROCESSABLE_ENTITY, "refused", None),
            // the run was stopped by somebody else than its client, as by the end of the server
            RefusalKind::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, "stopped", None),
            RefusalKind::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "failed", None),
        };

        Self {
            status,
            code,
            message: problem.line(),
            retry_after,
        }
    }
}

impl From<Problem> for HttpFailure {
    fn from(problem: Problem) -> Self {
        Refusal::from(problem).into()
    }
}

impl IntoResponse for HttpFailure {
    fn into_response(self) -> Response {
        let mut response = json_response(escape_json(&self.to_json().to_string()).into_owned());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs()));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110, section 15.5.2: a 401 names the scheme
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Replies with a value as JSON.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn json_reply(value: &impl Serialize) -> Result<Response, HttpFailure> {
    Ok(json_response(json_text(value)?))
}

/// Returns the value as JSON without characters that a terminal acts on; numbers have the digits of
/// their own type.
///
/// # Errors
/// A value that JSON cannot hold.
fn json_text(value: &impl Serialize) -> Result<String, HttpFailure> {
    let text = serde_json::to_string(value).map_err(|error| {
        Problem::without_advice(format!("the result cannot be written ({error})"))
    })?;
    Ok(escape_json(&text).into_owned())
}

/// Returns the value as JSON for an event: one that JSON cannot hold is that failure.
pub fn text_of(value: &impl Serialize) -> String {
    json_text(value).unwrap_or_else(|failure| failure.to_json().to_string())
}

fn json_response(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// Returns the seconds since 1970-01-01 UTC.
pub fn now_s() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |elapsed| elapsed.as_secs())
}
