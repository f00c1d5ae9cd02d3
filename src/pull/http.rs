//! HTTP requests. Each runs on a thread of its own, so that a stop need not wait for the server.

use std::fmt::Display;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;
use ureq::Agent;
use ureq::http::Response;

use super::error::PullError;
use super::meter::Meter;
use crate::event::Problem;
use crate::net::{self, header, host, origin};

const CONNECTING: Duration = Duration::from_secs(20);
/// Time between two looks at whether the user stopped the pull.
const LATENCY: Duration = Duration::from_millis(50);
const MAX_REDIRECTS: usize = 10;
const CHUNK_BYTES: usize = 128 << 10;
/// Chunks that wait for the disk.
const QUEUE: usize = 8;
/// Size of the largest listing that is read.
const MAX_JSON_BYTES: usize = 64 << 20;

/// A token and the address that it is meant for.
#[derive(Debug, Clone)]
pub(super) struct Login {
    origin: String,
    token: String,
}

impl Login {
    pub fn new(address: &str, token: &str) -> Self {
        Self {
            origin: origin(address).to_owned(),
            token: token.to_owned(),
        }
    }
}

/// Access to a server.
#[derive(Debug, Clone)]
pub(super) enum Access {
    /// The server takes no tokens.
    Public,
    /// The server takes tokens, and the user has none.
    Anonymous,
    Token(Login),
}

/// Sends requests.
pub(super) struct Client {
    agent: Agent,
    pub access: Access,
}

/// A request for a file or a listing.
#[derive(Debug, Clone, Default)]
pub(super) struct FileRequest {
    pub url: String,
    pub accept: Option<&'static str>,
    /// The first byte of the file that is wanted.
    pub from_byte: u64,
}

/// A requested thing, for messages.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub what: &'a str,
    /// The page for people about it.
    pub page: &'a str,
}

/// The headers that matter. Those about the file come from the first response that has them: a
/// redirect leads to a host that does not know the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Headers {
    pub linked_etag: Option<String>,
    pub linked_size: Option<u64>,
    pub error_code: Option<String>,
    pub content_range: Option<String>,
}

/// A response whose body is still arriving.
pub(super) struct FileAnswer {
    url: String,
    pub status: u16,
    pub headers: Headers,
    messages: Receiver<Message>,
}

enum Message {
    Head { status: u16, headers: Headers },
    Body(Vec<u8>),
    Failed(String),
}

impl Client {
    /// Creates a client.
    ///
    /// # Errors
    /// When `SSL_CERT_FILE` names a file that holds no certificates.
    pub fn new(access: Access, patience: Duration) -> Result<Self, PullError> {
        let agent = net::config(CONNECTING, patience)?.build().new_agent();
        Ok(Self { agent, access })
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// [`PullError::Connection`], [`PullError::Stopped`].
    pub fn send(&self, request: &FileRequest, meter: &mut Meter) -> Result<FileAnswer, PullError> {
        let (sender, messages) = sync_channel(QUEUE);
        let exchange = Exchange {
            agent: self.agent.clone(),
            access: self.access.clone(),
            request: request.clone(),
            sender,
        };
        let url = request.url.clone();
        let thread = thread::Builder::new().name("download".to_owned());
        thread
            .spawn(move || exchange.run())
            .map_err(|error| PullError::for_connection(&url, error))?;

        match next(&messages, meter)? {
            Some(Message::Head { status, headers }) => Ok(FileAnswer {
                url,
                status,
                headers,
                messages,
            }),
            Some(Message::Failed(reason)) => Err(PullError::for_connection(&url, reason)),
            Some(Message::Body(_)) | None => Err(PullError::for_connection(&url, "no answer")),
        }
    }

    /// Reads a listing.
    ///
    /// # Errors
    /// As [`Client::send`]; what a status other than 200 means; a body that
    /// is too long.
    pub fn text(
        &self,
        url: &str,
        accept: &'static str,
        about: Subject<'_>,
        meter: &mut Meter,
    ) -> Result<Vec<u8>, PullError> {
        let request = FileRequest {
            url: url.to_owned(),
            accept: Some(accept),
            from_byte: 0,
        };
        let answer = self.send(&request, meter)?;
        if answer.status != 200 {
            return Err(answer.refusal(about, &self.access).into());
        }

        let mut text = Vec::new();
        while let Some(bytes) = answer.next(meter)? {
            text.extend(bytes);
            if text.len() > MAX_JSON_BYTES {
                return Err(unreadable(url, about.what, "it is too long").into());
            }
        }
        Ok(text)
    }
}

/// Reads JSON.
///
/// # Errors
/// A text that is something else.
pub(super) fn json<T: DeserializeOwned>(text: &[u8], url: &str, what: &str) -> Result<T, Problem> {
    net::parse_json(text).map_err(|reason| unreadable(url, what, reason))
}

pub(super) fn unreadable(url: &str, what: &str, reason: impl Display) -> Problem {
    let host = host(url);
    Problem::new(
        format!("{host} answered the request for {what} with something else ({reason})"),
        "check the address, and whether a proxy or a login page is between",
    )
}

impl FileAnswer {
    /// Waits for the next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// [`PullError::Connection`] when it broke before the end; [`PullError::Stopped`].
    pub fn next(&self, meter: &mut Meter) -> Result<Option<Vec<u8>>, PullError> {
        match next(&self.messages, meter)? {
            Some(Message::Body(bytes)) => Ok(Some(bytes)),
            Some(Message::Failed(reason)) => Err(PullError::for_connection(&self.url, reason)),
            Some(Message::Head { .. }) | None => Ok(None),
        }
    }

    /// Returns the error that a status means.
    pub fn refusal(&self, about: Subject<'_>, access: &Access) -> Problem {
        let Subject { what, page } = about;
        let host = host(&self.url);
        let status = self.status;
        if status == 404 {
            let advice = format!("check the spelling on its page {page}");
            return Problem::new(format!("{host} has no {what}"), advice);
        }
        if status != 401 && status != 403 {
            let error = format!("{host} answered the request for {what} with status {status}");
            return Problem::new(error, "try again later");
        }

        let advice = match (access, self.headers.is_gated()) {
            (Access::Public, _) => {
                "check its name; only public models can be pulled from a registry".to_owned()
            }
            (Access::Token(_), true) => {
                format!("accept its licence on {page} with the account of your token")
            }
            (Access::Anonymous, true) => format!(
                "accept its licence on {page} and set HF_TOKEN to an access token of that account"
            ),
            // the server hides whether a private repository exists
            (Access::Token(_), false) => {
                "check its name, and whether your token is valid and may read it".to_owned()
            }
            (Access::Anonymous, false) => {
                "check its name; a private or gated one needs an access token in HF_TOKEN"
                    .to_owned()
            }
        };
        let error = format!("{host} does not permit {what} (status {status})");
        Problem::new(error, advice)
    }
}

fn next(messages: &Receiver<Message>, meter: &mut Meter) -> Result<Option<Message>, PullError> {
    loop {
        meter.tick()?;
        match messages.recv_timeout(LATENCY) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// A request on its thread. It ends when nobody receives its messages any more.
struct Exchange {
    agent: Agent,
    access: Access,
    request: FileRequest,
    sender: SyncSender<Message>,
}

impl Exchange {
    fn run(self) {
        if let Err(reason) = self.exchange() {
            let _ = self.sender.send(Message::Failed(reason));
        }
    }

    fn exchange(&self) -> Result<(), String> {
        let mut url = self.request.url.clone();
        let mut headers = Headers::default();

        for _ in 0..=MAX_REDIRECTS {
            let response = self.get(&url)?;
            headers.read(&response);
            let status = response.status().as_u16();
            let location = header(&response, "location");

            if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) {
                url = redirect(&url, &location)?;
            } else {
                return self.receive(status, headers, response);
            }
        }

        Err(format!("more than {MAX_REDIRECTS} redirects"))
    }

    fn get(&self, url: &str) -> Result<Response<ureq::Body>, String> {
        let FileRequest {
            accept, from_byte, ..
        } = self.request;
        let authorization = match &self.access {
            // a redirect leads to the servers of files, which must not see the token
            Access::Token(login) if login.origin == origin(url) => {
                Some(format!("Bearer {}", login.token))
            }
            Access::Token(_) | Access::Anonymous | Access::Public => None,
        };
        let headers = [
            ("accept", accept.map(str::to_owned)),
            // RFC 9110, section 14.1.2: from this byte to the end of the file
            (
                "range",
                (from_byte > 0).then(|| format!("bytes={from_byte}-")),
            ),
            ("authorization", authorization),
        ];

        net::send(&self.agent, url, &headers, None).map_err(|error| error.to_string())
    }

    fn receive(
        &self,
        status: u16,
        headers: Headers,
        response: Response<ureq::Body>,
    ) -> Result<(), String> {
        let mut is_wanted = self.sender.send(Message::Head { status, headers }).is_ok();
        let mut body = response.into_body().into_reader();
        let mut chunk = vec![0; CHUNK_BYTES];

        while is_wanted {
            let length = body.read(&mut chunk).map_err(|error| error.to_string())?;
            if length == 0 {
                break;
            }

            let message = Message::Body(chunk[..length].to_vec());
            is_wanted = self.sender.send(message).is_ok();
        }
        Ok(())
    }
}

impl Headers {
    /// Returns whether the server says that a licence has to be accepted.
    fn is_gated(&self) -> bool {
        self.error_code.as_deref() == Some("GatedRepo")
    }

    /// Takes in the headers of a response; the first response that has one wins, except where the
    /// last one knows.
    fn read(&mut self, response: &Response<ureq::Body>) {
        let unquoted = |value: String| {
            // RFC 9110, section 8.8.3: an entity tag is quoted, and a weak one begins with W/
            let value = value.trim_start_matches("W/").trim_matches('"');
            value.to_owned()
        };

        let known = std::mem::take(self);
        *self = Self {
            linked_etag: known
                .linked_etag
                .or_else(|| header(response, "x-linked-etag").map(unquoted)),
            linked_size: known
                .linked_size
                .or_else(|| header(response, "x-linked-size")?.parse().ok()),
            error_code: header(response, "x-error-code"),
            content_range: header(response, "content-range"),
        };
    }
}

/// Returns the address that a redirect leads to.
fn redirect(from: &str, location: &str) -> Result<String, String> {
    let (scheme, _) = from.split_once("://").unwrap_or(("https", from));

    let to = if location.contains("://") {
        location.to_owned()
    } else if let Some(rest) = location.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if location.starts_with('/') {
        format!("{}{location}", origin(from))
    } else {
        let path = from.split(['?', '#']).next().unwrap_or(from);
        let folder = path.rfind('/').map_or(path, |at| &path[..at]);
        format!("{folder}/{location}")
    };

    if scheme == "https" && !to.starts_with("https://") {
        return Err(format!("a redirect without encryption to {}", host(&to)));
    }

    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_where_browsers_go() {
        let from = "https://hub.co/a/b?c=d/e";
        let cases = [
            ("https://cdn.co/x?y=1", Ok("https://cdn.co/x?y=1")),
            ("//cdn.co/x", Ok("https://cdn.co/x")),
            ("/x/y", Ok("https://hub.co/x/y")),
            ("z", Ok("https://hub.co/a/z")),
            ("http://cdn.co/x", Err("without encryption")),
        ];
        for (location, expected) in cases {
            match (redirect(from, location), expected) {
                (Ok(to), Ok(expected)) => assert_eq!(to, expected),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (to, _) => panic!("{location}: {to:?}"),
            }
        }
    }
}
