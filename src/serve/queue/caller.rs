//! The client behind a request.

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// The client behind a request: whether it still wants the answer, and the destination of progress.
#[derive(Debug, Clone)]
pub struct Caller {
    pub cancelled: CancellationToken,
    progress: Option<UnboundedSender<String>>,
}

impl Caller {
    /// A caller that wants the answer alone.
    pub fn new(cancelled: CancellationToken) -> Self {
        Self {
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
