//! A connection that HTTP begins and frames continue, both ways at once.
//!
//! ureq opens it, with the certificates and the proxy of every other request, and hands it over before it
//! sends anything.

use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport, TransportAdapter, time,
};

use crate::llm::isolated::Channel;
use crate::llm::isolated::relay;
use crate::process::frame::{self, Decoder};

/// Maximum time for a message to leave, while the server reads nothing.
const SENDING: Duration = Duration::from_secs(30);
/// Bytes that are read at once.
const PART_BYTES: usize = 64 << 10;
/// Maximum size of the head of a reply, and of what is read of the body of a refusal.
const MAX_HEAD_BYTES: usize = 16 << 10;
const MAX_BODY_BYTES: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A connection to a server.
pub(super) struct Socket {
    stream: TransportAdapter,
    frames: Decoder,
}

/// The reply to the request that begins a connection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub status: u16,
    /// The protocol that follows, or those that the server has.
    pub upgrade: String,
    /// Seconds after which to try again.
    pub retry_after: Option<u64>,
    length: usize,
}

/// Keeps the connection that ureq opened.
#[derive(Debug, Clone, Default)]
struct Keep(Arc<Mutex<Option<Box<dyn Transport>>>>);

impl Connector<Box<dyn Transport>> for Keep {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        _details: &ConnectionDetails<'_>,
        opened: Option<Box<dyn Transport>>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = opened;
        Err(ureq::Error::ConnectionFailed)
    }
}

impl Socket {
    /// Opens a connection to the server of a url.
    ///
    /// # Errors
    /// A server that cannot be reached.
    pub fn open(url: &str, config: Config) -> Result<Self, ureq::Error> {
        let keep = Keep::default();
        let connector = DefaultConnector::new().chain(keep.clone());
        let agent = Agent::with_parts(config, connector, DefaultResolver::default());
        let failed = agent.get(url).call().err();
        let opened = keep.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match opened {
            Some(opened) => Ok(Self {
                stream: TransportAdapter::new(opened, Arc::new(time::Instant::now)),
                frames: Decoder::new(relay::MAX_REPLY_BYTES),
            }),
            None => Err(failed.unwrap_or(ureq::Error::ConnectionFailed)),
        }
    }

    /// Sends the head of a request.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.set_timeout(after(SENDING));
        self.stream.write_all(bytes)
    }

    /// Reads the head of the reply, and of a refusal its body. What follows the head of an agreement are
    /// frames. `None` when `is_over` says so before.
    ///
    /// # Errors
    /// When the server is gone, sends something else, or nothing in this time.
    pub fn read_head(
        &mut self,
        patience: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<Option<(Head, Vec<u8>)>> {
        let started = Instant::now();
        let mut read = Vec::new();
        let mut known: Option<(Head, usize)> = None;
        loop {
            if let Some((head, end)) = &known {
                let has_all = read.len() - end >= head.length.min(MAX_BODY_BYTES);
                if head.status == 101 || has_all {
                    break;
                }
            }
            if is_over() {
                return Ok(None);
            }
            if started.elapsed() > patience {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let slice = Duration::from_millis(20);
            let Some(part) = self.read_part(slice)? else {
                continue;
            };
            read.extend(part);
            if known.is_none() {
                let end = read.windows(HEAD_END.len()).position(|at| at == HEAD_END);
                known = match end {
                    Some(end) => Some((Head::read(&read[..end])?, end + HEAD_END.len())),
                    None if read.len() > MAX_HEAD_BYTES => return Err(not_http()),
                    None => None,
                };
            }
        }

        let (head, end) = known.unwrap_or_default();
        let rest = read.split_off(end);
        if head.status == 101 {
            self.frames.push(&rest);
            return Ok(Some((head, Vec::new())));
        }
        Ok(Some((head, rest)))
    }

    /// Reads what is there; `None` when nothing came in this time.
    fn read_part(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        // no time at all would be over before anything is read
        self.stream
            .set_timeout(after(patience.max(Duration::from_millis(1))));
        let mut part = vec![0; PART_BYTES];
        match self.stream.read(&mut part) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                part.truncate(length);
                Ok(Some(part))
            }
            Err(error) => match ureq::Error::from(error) {
                ureq::Error::Timeout(_) => Ok(None),
                other => Err(other.into_io()),
            },
        }
    }
}

fn after(patience: Duration) -> NextTimeout {
    NextTimeout {
        after: time::Duration::Exact(patience),
        ..NextTimeout::default()
    }
}

impl Channel for Socket {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.write(&frame::encode(message))
    }

    fn receive(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        let until = Instant::now() + patience;
        loop {
            if let Some(message) = self.frames.take()? {
                return Ok(Some(message));
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.read_part(left)? {
                Some(part) => self.frames.push(&part),
                None => return Ok(None),
            }
        }
    }
}

impl Head {
    /// Reads the lines of a head.
    fn read(bytes: &[u8]) -> io::Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1."))
            .and_then(|line| line.split(' ').nth(1)?.parse().ok())
            .ok_or_else(not_http)?;
        let mut head = Self {
            status,
            ..Self::default()
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "upgrade" => value.clone_into(&mut head.upgrade),
                "retry-after" => head.retry_after = value.parse().ok(),
                "content-length" => head.length = value.parse().unwrap_or(0),
                // the rest is for others
                _ => {}
            }
        }
        Ok(head)
    }
}

fn not_http() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no reply of HTTP")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_reply_is_read() {
        let head = |text: &str| Head::read(text.as_bytes()).ok();
        let expected = Head {
            status: 503,
            upgrade: "a/1".to_owned(),
            retry_after: Some(7),
            length: 12,
        };
        let text =
            "HTTP/1.1 503 Busy\r\nUPGRADE: a/1\r\nretry-after:7\r\nContent-Length: 12\r\nx: y";
        assert_eq!(head(text), Some(expected));
        assert_eq!(head("HTTP/1.0 200").map(|head| head.status), Some(200));
        for other in ["", "HTTP/2 200", "SSH-2.0-x", "HTTP/1.1 x"] {
            assert_eq!(head(other), None, "{other}");
        }
    }
}
