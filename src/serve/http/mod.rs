//! A server over HTTP, for programs that speak the OpenAI interface or the Model Context Protocol.
//!
//! Chat completions and searches are requests to the engine behind the
//! [queue](super::queue). A request is checked before it is read ([`access`]): the host and the
//! origin, so that no page of elsewhere reaches the server through a browser, the token and the
//! rate. One whose client leaves is cancelled.

mod token;
mod reply;
mod body;
mod access;
mod stream;
mod agents;
mod state;
mod models;
mod chat;
mod search;
mod connections;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::routing::{any, get, post};
use axum::{Router, middleware};
use tokio::runtime::Runtime;

use crate::config::{Layers, Paths};
use crate::event::Problem;
use crate::host::Hub;
use crate::serve::queue::SharedEngine;
use access::Access;
use connections::cannot_start;
use reply::HttpFailure;
use state::HttpState;

pub use connections::ServerEnd;
pub use token::load_or_generate;

/// Maximum wait for tasks when the server ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The served folders, and the clients that may read them.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The folders, as one corpus.
    pub folders: Vec<PathBuf>,
    /// Token that requests must have; `None` for none.
    pub token: Option<String>,
    /// Names of this machine, besides its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Origins whose pages may send requests from a browser.
    pub origins: Vec<String>,
    /// Whether the text of an answer ends with its sources.
    pub lists_sources: bool,
}

/// A server that has its engine, and has not answered yet.
pub struct HttpServer {
    listener: TcpListener,
    router: Router,
    runtime: Runtime,
    hub: Hub,
}

impl HttpServer {
    /// Starts the engine over the folders. The listener does not block.
    ///
    /// # Errors
    /// When the settings are invalid, or a process or thread cannot be started.
    pub fn start(
        listener: TcpListener,
        options: HttpOptions,
        layers: Layers,
        paths: &Paths,
    ) -> Result<Self, Problem> {
        let access = Access::new(options.token.as_deref(), options.hosts, options.origins);

        let (hub, engine) = SharedEngine::start(&options.folders, layers, paths)?;
        let state = Arc::new(HttpState::new(Arc::new(engine), options.lists_sources));

        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(cannot_start)?;

        Ok(Self {
            listener,
            router: router(&state, access),
            runtime,
            hub,
        })
    }

    /// Answers requests until a signal ends the program.
    ///
    /// # Errors
    /// When the system refuses the listener or the handlers of signals.
    pub fn run(self) -> Result<ServerEnd, Problem> {
        let ended = self
            .runtime
            .block_on(connections::serve(self.listener, self.router));
        // requests in progress are dropped, and with them what they would send
        self.runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        self.hub.end();
        ended
    }
}

/// Returns the handlers of all paths.
fn router(state: &Arc<HttpState>, access: Access) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/search", post(search::search))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*name}", get(models::show))
        .route("/v1/status", get(search::status))
        .route(
            "/mcp",
            any(
                async |State(state): State<Arc<HttpState>>, request: Request| {
                    state.agents.answer(request).await
                },
            ),
        )
        .fallback(async || {
            HttpFailure::new(
                StatusCode::NOT_FOUND,
                "not_found",
                "there is nothing at this path: `ragscope guide serving` lists the paths",
            )
        })
        .method_not_allowed_fallback(async || {
            HttpFailure::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this path has another method: `ragscope guide serving` lists them",
            )
        })
        .with_state(Arc::clone(state))
        .layer(middleware::from_fn_with_state(
            Arc::new(access),
            access::guard,
        ))
}
