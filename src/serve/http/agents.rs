//! The Model Context Protocol over HTTP: the tools of `ragscope mcp` at `/mcp`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::serve::mcp::McpHandler;
use crate::serve::queue::SharedEngine;

use super::body::MAX_BODY_BYTES;
use super::reply::HttpFailure;

/// Maximum number of sessions of clients that have them; one that is at rest ends after five
/// minutes.
const MAX_SESSIONS: usize = 64;

/// The endpoint of the protocol.
pub struct Agents {
    service: StreamableHttpService<McpHandler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

impl Agents {
    pub fn new(engine: &Arc<SharedEngine>) -> Self {
        let sessions: Arc<LocalSessionManager> = Arc::default();
        // hosts and origins are checked before
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_BODY_BYTES);
        let handler = McpHandler::new(Arc::clone(engine));
        let service =
            StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
        Self { service, sessions }
    }

    /// Answers a request of `/mcp`.
    pub async fn answer(&self, request: Request) -> Result<Response, HttpFailure> {
        let headers = request.headers();

        // versions of the protocol without sessions name themselves in each request
        let begins_session = !headers.contains_key("mcp-session-id")
            && !headers.contains_key("mcp-protocol-version");

        if begins_session && self.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            let message = "too many sessions are open: end one, or try again in a few minutes";
            let failure = HttpFailure::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
            return Err(HttpFailure {
                retry_after: Some(std::time::Duration::from_secs(60)),
                ..failure
            });
        }

        let ends_session = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await.map(Body::new);

        if ends_session && response.status() == StatusCode::ACCEPTED {
            // the session is gone, and clients take 202 for a failure
            *response.status_mut() = StatusCode::OK;
        }

        Ok(response)
    }
}
