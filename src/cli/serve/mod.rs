//! `ragscope serve`: the folders over HTTP, for programs that speak the OpenAI interface or the Model Context Protocol.
//!
//! Chat completions, embeddings and searches are requests to the engine behind the screen ([`service`](super::service)). A request is checked before it is read ([`access`]): the host and the
//! origin, so that no page of elsewhere reaches the server through a browser, the token and the rate. One whose client leaves
//! is cancelled.

mod token;
mod reply;
mod body;
mod access;
mod stream;
mod models;
mod chat;
mod embeddings;
mod runs;
mod agents;
mod openapi;
mod connections;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{any, get, post};
use clap::Args;
use serde_json::json;

use crate::config::{Layers, Paths};
use crate::event::{Problem, harmless};

use super::failure::{Exit, Failure as Ended, Stopped};
use super::output::Output;
use super::service::Engine;
use super::work::check_folders;
use access::Access;
use agents::Agents;
use reply::Failure;

/// Maximum wait for tasks when the server ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The arguments of `ragscope serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Folders of documents, served as one corpus
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one. Anything but this machine's loopback is open to the network,
    /// without encryption
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:7411",
        help_heading = "Server"
    )]
    pub listen: String,
    /// Name by which clients reach this machine, besides its addresses and localhost (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub host: Vec<String>,
    /// Origin whose pages may send requests from a browser, e.g. http://localhost:3000 (repeatable)
    #[arg(long, value_name = "ORIGIN", help_heading = "Server")]
    pub origin: Vec<String>,
    /// Accept requests without the token: every program and user that reaches the address may read the folders
    #[arg(long, help_heading = "Server")]
    pub no_token: bool,
    /// Append the cited sources to the text of chat completions, for programs that show nothing else
    #[arg(long, help_heading = "Server")]
    pub sources: bool,
}

/// What the handlers of requests share.
struct Server {
    engine: Arc<Engine>,
    agents: Agents,
    /// Seconds since 1970-01-01 UTC.
    started_at: u64,
    /// Whether the text of an answer ends with its sources.
    lists_sources: bool,
}

/// Serves the folders until ctrl-c.
pub fn run(
    serve: &Serve,
    layers: Layers,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    check_folders(&serve.folders)?;
    let listener = listen(&serve.listen)?;
    let address = listener.local_addr()?;
    let token = if serve.no_token {
        None
    } else {
        Some(token::load_or_generate(&paths.token_file())?)
    };
    let access = Access::new(token.as_deref(), serve.host.clone(), serve.origin.clone());
    let (hub, engine) = Engine::start(&serve.folders, layers, paths)?;
    let engine = Arc::new(engine);
    let server = Arc::new(Server {
        agents: Agents::new(&engine),
        engine,
        started_at: chat::now_s(),
        lists_sources: serve.sources,
    });

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("serve")
        .enable_all()
        .build()?;
    announce(address, token.as_deref(), serve, out)?;
    let router = router(&server, access);
    let exit = runtime.block_on(connections::serve(listener, router));
    // requests in progress are dropped, and with them what they would send
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    hub.end();
    Ok(exit?)
}

fn listen(address: &str) -> Result<TcpListener, Stopped> {
    let resolved: Vec<SocketAddr> = match address.to_socket_addrs() {
        Ok(resolved) => resolved.collect(),
        Err(error) => {
            return Err(Ended::usage(
                format!("{address:?} is no address to listen on ({error})"),
                "write it as 127.0.0.1:7411",
            )
            .into());
        }
    };
    let listener = TcpListener::bind(&*resolved).map_err(|error| {
        Problem::new(
            format!("cannot listen on {address} ({error})"),
            "end the program that listens there, or choose another port with --listen",
        )
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Prints where the server is, and how it is used.
fn announce(
    address: SocketAddr,
    token: Option<&str>,
    serve: &Serve,
    out: &mut Output,
) -> Result<(), Stopped> {
    let is_local = address.ip().is_loopback();
    if !is_local {
        out.remark(
            "the server is open to the network, and nothing is encrypted: put a proxy with TLS in front of it",
        );
    }
    if token.is_none() {
        out.remark(if is_local {
            "without a token, every program and user of this machine may read the folders"
        } else {
            "without a token, every machine that reaches this one may read the folders"
        });
    }

    let base = match serve.host.first() {
        Some(name) => format!("http://{}:{}", harmless(name), address.port()),
        None if address.ip().is_unspecified() => format!("http://localhost:{}", address.port()),
        None => format!("http://{address}"),
    };
    if out.json {
        let announced = json!({
            "address": address.to_string(),
            "openai": format!("{base}/v1"),
            "mcp": format!("{base}/mcp"),
            "token": token,
        });
        return Ok(out.json_line(&announced)?);
    }
    out.text(&format!("OpenAI  {base}/v1\n"))?;
    out.text(&format!("MCP     {base}/mcp\n"))?;
    if let Some(token) = token {
        out.text(&format!("token   {token}\n"))?;
    }
    Ok(out.dim("ctrl-c ends the server\n")?)
}

/// Returns the handlers of all paths.
fn router(server: &Arc<Server>, access: Access) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/search", post(runs::search))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*name}", get(models::show))
        .route("/v1/runs", get(runs::list))
        .route("/v1/runs/{id}", get(runs::show))
        .route("/v1/status", get(runs::status))
        .route("/mcp", any(agents::serve))
        .route("/openapi.json", get(openapi::show))
        .fallback(async || {
            Failure::new(
                StatusCode::NOT_FOUND,
                "not_found",
                "there is nothing at this path: /openapi.json lists the paths",
            )
        })
        .method_not_allowed_fallback(async || {
            Failure::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this path has another method: /openapi.json lists them",
            )
        })
        .with_state(Arc::clone(server))
        .layer(middleware::from_fn_with_state(
            Arc::new(access),
            access::guard,
        ))
}
