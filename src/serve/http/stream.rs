//! Replies of server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Events that wait for a slow client.
const MAX_WAITING: usize = 64;
/// A client that reads nothing for this time has left.
const PATIENCE: Duration = Duration::from_secs(60);
/// A client hears something at least this often, so that it and what is between knows that the
/// server works.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Sends the events of a reply.
pub struct Events(mpsc::Sender<String>);

/// The client of a reply no longer reads.
#[derive(Debug)]
pub struct Left;

impl Events {
    /// Sends an event.
    ///
    /// # Errors
    /// When the client has left.
    pub async fn send(&self, data: &str) -> Result<(), Left> {
        self.write(format!("data: {data}\n\n")).await
    }

    /// Waits for work while the client is kept waiting.
    ///
    /// # Errors
    /// When the client has left.
    pub async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Left> {
        let mut work = std::pin::pin!(work);
        loop {
            match timeout(KEEP_ALIVE, &mut work).await {
                Ok(done) => return Ok(done),
                // a line that begins with a colon is a comment, which clients skip (HTML, section
                // 9.2.6)
                Err(_) => self.write(": \n\n".to_owned()).await?,
            }
        }
    }

    async fn write(&self, text: String) -> Result<(), Left> {
        match timeout(PATIENCE, self.0.send(text)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Left),
        }
    }
}

/// The body of a reply: its events, and what is dropped with them.
struct EventBody<H> {
    events: mpsc::Receiver<String>,
    _held: H,
}

impl<H: Unpin> HttpBody for EventBody<H> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = self.events.poll_recv(context);
        event.map(|event| Some(Ok(Frame::data(event?.into()))))
    }
}

/// Opens a reply of events. `held` is dropped when the client has read all of it, or has left.
pub fn open(held: impl Send + Unpin + 'static) -> (Events, Response) {
    let (sender, events) = mpsc::channel(MAX_WAITING);
    let body = EventBody {
        events,
        _held: held,
    };
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // a proxy must not hold events back
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (Events(sender), response)
}
