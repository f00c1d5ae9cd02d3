//! The client behind a request.

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// A client as the queue counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Client(pub String);

/// The client of a request, whether the answer is still wanted, and the destination of progress.
#[derive(Debug, Clone)]
pub struct Caller {
    pub client: Client,
    pub cancelled: CancellationToken,
    progress: Option<UnboundedSender<String>>,
}

impl Caller {
    /// A caller that wants the answer alone.
    pub fn new(client: Client, cancelled: CancellationToken) -> Self {
        Self {
            client,
            cancelled,
            progress: None,
        }
    }

    /// Has lines of progress sent to `progress`.
    pub fn with_progress(self, progress: UnboundedSender<String>) -> Self {
        Self {
            progress: Some(progress),
            ..self
        }
    }

    /// Reports a line of progress, if the client asked for it.
    pub fn report(&self, line: String) {
        if let Some(progress) = &self.progress {
            // a client that has left needs no progress
            let _ = progress.send(line);
        }
    }
}
