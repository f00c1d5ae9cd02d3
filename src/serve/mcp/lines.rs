//! The transport: one message of JSON-RPC per line.

use std::io::{self, BufRead, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, service::RxJsonRpcMessage, service::TxJsonRpcMessage};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use crate::event::escape_json;

/// Maximum length of a message. A longer line is read to its end and refused.
const MAX_LINE_BYTES: u64 = 4 << 20;
/// ClientLines that wait to be handled, or to be written, before the sender waits.
const MAX_WAITING: usize = 64;

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
enum ClientLine {
    Text(Vec<u8>),
    TooLong,
}

/// The lines of a client, and those to it. Clones share them.
#[derive(Clone)]
pub struct ClientLines {
    incoming: Arc<Mutex<mpsc::Receiver<ClientLine>>>,
    outgoing: mpsc::Sender<String>,
    closed: Arc<AtomicBool>,
}

impl ClientLines {
    /// Starts the threads that read stdin and write stdout. The second one ends when all clones are
    /// gone.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn for_process() -> io::Result<(Self, JoinHandle<()>)> {
        let (read, incoming) = mpsc::channel(MAX_WAITING);
        let (outgoing, written) = mpsc::channel(MAX_WAITING);

        // never joined: it waits for the client
        thread::Builder::new()
            .name("mcp-in".to_owned())
            .spawn(move || read_lines(&mut io::stdin().lock(), &read))?;

        let writer = thread::Builder::new()
            .name("mcp-out".to_owned())
            .spawn(move || write_lines(written))?;

        let lines = Self {
            incoming: Arc::new(Mutex::new(incoming)),
            outgoing,
            closed: Arc::default(),
        };

        Ok((lines, writer))
    }

    /// Returns whether the client has ended its input.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

impl Transport<RoleServer> for ClientLines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let text = serde_json::to_string(&item)?;
            // a terminal that shows the lines must not obey characters in a document
            let line = escape_json(&text).into_owned();
            let sent = outgoing.send(line).await;
            sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.incoming.lock().await.recv().await;
            let Some(line) = line else {
                self.closed.store(true, Ordering::Relaxed);
                return None;
            };
            match parse(&line) {
                Ok(message) => return Some(message),
                Err(refusal) => self.send(*refusal).await.ok()?,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Returns the message of a line, or the answer to one that holds none.
fn parse(line: &ClientLine) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
    let refusal = |error, id| Box::new(ServerJsonRpcMessage::error(error, id));
    let ClientLine::Text(text) = line else {
        let limit = MAX_LINE_BYTES >> 20;
        let error = format!("a message has at most {limit} MiB: send a shorter one");
        return Err(refusal(ErrorData::invalid_request(error, None), None));
    };
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        let error = format!("the line is not JSON ({error}): send one message per line");
        refusal(ErrorData::parse_error(error, None), None)
    })?;

    let id = value.get("id").map(RequestId::deserialize);
    ClientJsonRpcMessage::deserialize(value).map_err(|error| {
        let error = format!("the line is not a message of JSON-RPC 2.0 ({error})");
        refusal(
            ErrorData::invalid_request(error, None),
            id.and_then(Result::ok),
        )
    })
}

/// Passes lines on until the input or the receiver ends. Empty ones are left out.
fn read_lines(input: &mut dyn BufRead, lines: &mpsc::Sender<ClientLine>) {
    while let Ok(Some(line)) = read_line(input) {
        if line != ClientLine::Text(Vec::new()) && lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Reads a line without its end; `None` at the end of the input.
fn read_line(input: &mut dyn BufRead) -> io::Result<Option<ClientLine>> {
    let mut line = Vec::new();
    input.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;

    if line.is_empty() {
        return Ok(None);
    }

    if line.ends_with(b"\n") {
        return Ok(Some(ClientLine::Text(line.trim_ascii().to_vec())));
    }

    if (line.len() as u64) < MAX_LINE_BYTES {
        // the input ended in the middle of a message
        return Ok(None);
    }

    input.skip_until(b'\n')?;
    Ok(Some(ClientLine::TooLong))
}

/// Writes lines until all senders are gone. After an error of the output they are dropped: the
/// client has left.
fn write_lines(mut lines: mpsc::Receiver<String>) {
    let mut stdout = io::stdout().lock();
    let mut works = true;
    while let Some(line) = lines.blocking_recv() {
        works = works
            && writeln!(stdout, "{line}")
                .and_then(|()| stdout.flush())
                .is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_up_to_a_limit() {
        let long = vec![b'x'; MAX_LINE_BYTES as usize];
        let mut input = &[b"one\r\n\n", &long[..], b"yz\ntwo\nrest"].concat()[..];
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut input).expect("read") {
            lines.push(line);
        }
        let text = |text: &str| ClientLine::Text(text.as_bytes().to_vec());
        assert_eq!(
            lines,
            [text("one"), text(""), ClientLine::TooLong, text("two")]
        );
    }
}
