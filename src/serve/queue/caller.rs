//! The client behind a request.

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

/// The client behind a request: whether it still wants the answer, and the destination of progress.
#[derive(Debug, Clone)]
pub struct Caller {
    wanted: watch::Receiver<()>,
    progress: Option<UnboundedSender<String>>,
}

impl Caller {
    /// Returns a caller that wants the answer, as long as the sender is not dropped, and lines of
    /// progress, if there is a channel for them.
    pub fn new(progress: Option<UnboundedSender<String>>) -> (watch::Sender<()>, Self) {
        let (wanting, wanted) = watch::channel(());
        (wanting, Self { wanted, progress })
    }

    /// Waits until the client no longer wants the answer.
    pub async fn leave(&self) {
        let mut wanted = self.wanted.clone();
        // nothing is sent: the channel ends with its sender
        while wanted.changed().await.is_ok() {}
    }

    /// Reports a line of progress, if the client asked for it.
    pub fn report(&self, line: String) {
        if let Some(progress) = &self.progress {
            // a client that has left needs no progress
            let _ = progress.send(line);
        }
    }
}
