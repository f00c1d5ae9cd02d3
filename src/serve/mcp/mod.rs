//! A server of the [Model Context Protocol](https://modelcontextprotocol.io) over stdin and stdout.
//!
//! Other programs, above all agents, search, ask and read the folders through tools. Stdout carries
//! nothing but messages of the protocol, one per line; a failure is an error of its request and
//! never the end of the server.

mod caller;
mod lines;
mod tools;
mod handler;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use crate::config::{Layers, Paths};
use crate::event::Problem;

use crate::serve::queue::SharedEngine;
use lines::ClientLines;

pub use handler::McpHandler;

/// Serves these folders until stdin ends.
///
/// # Errors
/// When the settings are invalid, or a process or thread cannot be started.
pub fn run(folders: &[PathBuf], layers: Layers, paths: &Paths) -> Result<(), Problem> {
    let cannot_start = |error: io::Error| {
        Problem::new(
            format!("the server cannot start ({error})"),
            "end other programs, or raise the limit of processes (`ulimit -u`)",
        )
    };
    let (hub, engine) = SharedEngine::start(folders, layers, paths)?;
    let (lines, writer) = ClientLines::for_process().map_err(cannot_start)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(cannot_start)?;

    runtime.block_on(serve(McpHandler::new(Arc::new(engine)), lines));
    // requests in progress are dropped, and with them what they would send
    drop(runtime);
    hub.end();
    writer.join().map_err(|_| {
        Problem::new(
            "the thread that writes the answers failed",
            "restart the server",
        )
    })
}

/// Serves clients until the input ends. One that begins with something else than the protocol asks
/// for may begin again.
async fn serve(server: McpHandler, lines: ClientLines) {
    while !lines.is_closed() {
        match server.clone().serve(lines.clone()).await {
            // how a connection ended makes no difference to the next one
            Ok(running) => drop(running.waiting().await),
            Err(ServerInitializeError::ConnectionClosed(_)) => return,
            Err(_) => {}
        }
    }
}
