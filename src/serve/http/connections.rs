//! The connections of clients, within limits of number and time. One that has not shown the token
//! yet is a stranger: strangers are few, and have little time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::access::Admission;
use crate::event::Problem;

/// Maximum number of connections; more wait until one ends.
const MAX_CONNECTIONS: usize = 512;
/// Maximum number of strangers: the next one takes the place of the oldest.
const MAX_STRANGERS: usize = 64;
/// Maximum time of a stranger.
const STRANGER_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time in which the head of a request arrives. A connection that is kept for the next one
/// ends after it.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// Maximum size of a head.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// Wait after a connection could not be accepted, as when the process has too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The reason that a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEnd {
    Interrupted,
    Terminated,
}

/// Returns the problem of a server that the system refuses.
pub fn cannot_start(error: std::io::Error) -> Problem {
    let advice = "end other programs, or raise the limit of open files (`ulimit -n`)";
    Problem::new(format!("the server cannot start ({error})"), advice)
}

/// Serves connections until a signal ends the program.
///
/// # Errors
/// When the system refuses the listener or the handlers of signals.
pub async fn serve(listener: TcpListener, router: Router) -> Result<ServerEnd, Problem> {
    let listener = tokio::net::TcpListener::from_std(listener).map_err(cannot_start)?;
    tokio::select! {
        never = accept(&listener, &router) => match never {},
        ended = wait_for_signal() => ended.map_err(cannot_start),
    }
}

/// The connections that have not shown the token, the oldest one first.
#[derive(Default)]
struct Strangers(VecDeque<Stranger>);

struct Stranger {
    admission: Admission,
    task: AbortHandle,
}

impl Strangers {
    fn add(&mut self, stranger: Stranger) {
        self.0
            .retain(|other| !other.admission.is_given() && !other.task.is_finished());
        if self.0.len() >= MAX_STRANGERS
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.task.abort();
        }
        self.0.push_back(stranger);
    }
}

async fn accept(listener: &tokio::net::TcpListener, router: &Router) -> Infallible {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut strangers = Strangers::default();

    loop {
        // nobody closes the semaphore
        let place = Arc::clone(&places).acquire_owned().await.ok();
        match listener.accept().await {
            Ok((stream, peer)) => {
                let router = router.clone();
                let admission = Admission::default();
                let given = admission.clone();
                let task = tokio::spawn(async move {
                    serve_connection(stream, peer, given, router).await;
                    drop(place);
                });
                strangers.add(Stranger {
                    admission,
                    task: task.abort_handle(),
                });
            }
            // out of descriptors, accept fails at once: without a pause this would spin
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Serves a connection until it ends. The handler of a request is dropped when its client leaves.
async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    admission: Admission,
    router: Router,
) {
    // events are small, and wanted at once
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let given = admission.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(given.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_header_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);

    // a connection that fails is the client's to open again
    let first = timeout(STRANGER_PATIENCE, connection.as_mut()).await;
    if first.is_err() && admission.is_given() {
        let _ = connection.await;
    }
}

/// Waits for the signal that ends the program.
#[cfg(unix)]
async fn wait_for_signal() -> std::io::Result<ServerEnd> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => Ok(ServerEnd::Interrupted),
        _ = terminate.recv() => Ok(ServerEnd::Terminated),
    }
}

/// Waits for ctrl-c.
#[cfg(not(unix))]
async fn wait_for_signal() -> std::io::Result<ServerEnd> {
    tokio::signal::ctrl_c().await?;
    Ok(ServerEnd::Interrupted)
}
