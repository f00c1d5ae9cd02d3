//! `ragscope mcp`: a server of the [Model Context Protocol](https://modelcontextprotocol.io) over stdin and stdout.
//!
//! Other programs, above all agents, search and ask the folders through tools, and read documents and recorded runs as
//! resources. The engine is the one behind the screen ([`Hub`](super::Hub)): one thread that answers one request after the
//! other. Results are the values of the records and of `--json`. Stdout carries nothing but messages of the protocol, one per
//! line; a failure is an error of its request and never the end of the server.

mod caller;
mod lines;
mod tools;
mod resources;
mod server;

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use crate::config::{Layers, Paths};
use crate::event::Problem;

use super::failure::{Exit, Stopped};
use super::service::Engine;
use super::work::check_folders;
use lines::Lines;
pub use server::Server;

/// Serves these folders until stdin ends.
pub fn run(folders: &[PathBuf], layers: Layers, paths: &Paths) -> Result<Exit, Stopped> {
    check_folders(folders)?;
    let (hub, engine) = Engine::start(folders, layers, paths)?;
    let (lines, writer) = Lines::of_process()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;

    runtime.block_on(serve(Server::new(Arc::new(engine)), lines));
    // requests in progress are dropped, and with them what they would send
    drop(runtime);
    hub.end();
    writer.join().map_err(|_| {
        Problem::new(
            "the thread that writes the answers failed",
            "restart the server",
        )
    })?;
    Ok(Exit::Done)
}

/// Serves clients until the input ends. One that begins with something else than the protocol asks for may begin
/// again.
async fn serve(server: Server, lines: Lines) {
    while !lines.is_closed() {
        match server.clone().serve(lines.clone()).await {
            // how a connection ended makes no difference to the next one
            Ok(running) => drop(running.waiting().await),
            Err(ServerInitializeError::ConnectionClosed(_)) => return,
            Err(_) => {}
        }
    }
}
