//! Requests to a model server: several side by side, repeated where the server is busy, and ended
//! by closing their connections.

use std::io::{BufRead, BufReader, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

use super::address::Address;
use crate::config::{Secret, ServerSettings};
use crate::event::{StopError, StopFlag, lock};
use crate::llm::error::{LlmError, Result};
use crate::net;

const CONNECTING: Duration = Duration::from_secs(10);
/// Time between two looks at whether the user stopped the call.
const LATENCY: Duration = Duration::from_millis(20);
/// Further attempts where a server is busy or cannot be reached: over two seconds with the pauses
/// between them.
const RETRIES: u32 = 3;
/// Before the second attempt; twice as long before each one after it, and up to half more by
/// chance, so that clients that were refused together do not come back together.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Size of the largest answer, and of the largest line of a streamed one.
const MAX_BYTES: u64 = 256 << 20;
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Bytes that are read of a refusal.
const MAX_REFUSAL_BYTES: u64 = 1 << 16;
/// Length of the reason of a server that is shown.
const MAX_MESSAGE: usize = 300;

/// A request: its path, and its body unless it only reads.
#[derive(Debug, Clone)]
pub(super) struct ServerRequest {
    pub path: &'static str,
    pub body: Option<Value>,
    /// Whether the answer is a stream of events.
    pub is_streamed: bool,
}

impl ServerRequest {
    pub fn get(path: &'static str) -> Self {
        Self {
            path,
            body: None,
            is_streamed: false,
        }
    }

    pub fn post(path: &'static str, body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::get(path)
        }
    }

    pub fn stream(path: &'static str, body: Value) -> Self {
        Self {
            is_streamed: true,
            ..Self::post(path, body)
        }
    }
}

/// The next step for a request after a part of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    More,
    /// This answer is complete.
    Enough,
    /// All requests of the call end.
    Stop,
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    Done,
    /// Stopped by the observer or the user: the connections are closed.
    Stopped,
}

/// Sends requests to one server.
pub(super) struct ServerClient {
    pub address: Address,
    key: Option<Secret>,
    settings: ServerSettings,
    stop: StopFlag,
    agent: Mutex<Agent>,
}

enum ExchangeMessage {
    Data(Value),
    End(Result<(), LlmError>),
}

/// The requests of a call, shared by its threads.
struct RequestQueue<'a> {
    requests: &'a [ServerRequest],
    next: AtomicUsize,
    is_cancelled: AtomicBool,
    enough: Vec<AtomicBool>,
}

impl ServerClient {
    /// Creates a client.
    ///
    /// # Errors
    /// An address or a key that cannot be read.
    pub fn new(url: &str, key: &str, settings: &ServerSettings, stop: &StopFlag) -> Result<Self> {
        let address = Address::read(url)?;
        let agent = agent(&address, settings)?;

        Ok(Self {
            address,
            key: Secret::read(key)?,
            settings: settings.clone(),
            stop: stop.clone(),
            agent: Mutex::new(agent),
        })
    }

    /// Returns whether a key is sent where others can read it.
    pub fn shows_key(&self) -> bool {
        self.key.is_some() && self.address.is_open()
    }

    /// Sends no more requests side by side than the server has slots.
    pub fn limit(&mut self, slots: u32) {
        self.settings.parallel = self.settings.parallel.min(slots.max(1));
    }

    pub fn parallel(&self) -> usize {
        self.settings.parallel.max(1) as usize
    }

    /// Sends a request and returns its answer.
    ///
    /// # Errors
    /// A failure of the server; [`LlmError::Stopped`].
    pub fn json<T: DeserializeOwned>(&self, request: ServerRequest) -> Result<T> {
        let answer = self.all_json(vec![request])?.pop();
        self.read(answer.ok_or_else(|| self.unreadable("it is empty"))?)
    }

    /// Reads an answer, or says why it cannot be read.
    pub fn read<T: DeserializeOwned>(&self, answer: Value) -> Result<T> {
        serde_json::from_value(answer).map_err(|error| self.unreadable(&error.to_string()))
    }

    /// Sends requests side by side and returns their answers, in order.
    ///
    /// # Errors
    /// A failure of the server; [`LlmError::Stopped`].
    pub fn all_json(&self, requests: Vec<ServerRequest>) -> Result<Vec<Value>> {
        let mut answers = vec![Value::Null; requests.len()];
        let called = self.call(&requests, &mut |at, value| {
            answers[at] = value;
            Ok(Wish::More)
        })?;
        match called {
            Called::Done => Ok(answers),
            Called::Stopped => Err(StopError.into()),
        }
    }

    /// Sends requests, as many side by side as the settings allow. `observe` sees each value of
    /// each answer.
    ///
    /// # Errors
    /// The failure of the first that fails; the others are ended. What `observe` returns.
    pub fn call(
        &self,
        requests: &[ServerRequest],
        observe: &mut dyn FnMut(usize, Value) -> Result<Wish>,
    ) -> Result<Called> {
        let queue = RequestQueue {
            requests,
            next: AtomicUsize::new(0),
            is_cancelled: AtomicBool::new(false),
            enough: requests.iter().map(|_| AtomicBool::new(false)).collect(),
        };
        let agent = lock(&self.agent).clone();
        let mut outcome = Ok(Called::Done);
        thread::scope(|scope| {
            let (sender, messages) = channel();
            for _ in 0..self.parallel().min(requests.len()) {
                let sender = sender.clone();
                let agent = agent.clone();
                let queue = &queue;
                scope.spawn(move || self.work(&agent, queue, &sender));
            }
            drop(sender);

            let mut end = |with: Result<Called>| {
                if !queue.is_cancelled.swap(true, Ordering::SeqCst) {
                    outcome = with;
                    self.close();
                }
            };
            loop {
                if self.stop.is_set() {
                    end(Ok(Called::Stopped));
                }
                match messages.recv_timeout(LATENCY) {
                    Ok(_) if queue.is_cancelled.load(Ordering::SeqCst) => {}
                    Ok((at, ExchangeMessage::Data(_))) if queue.has_enough(at) => {}
                    Ok((at, ExchangeMessage::Data(value))) => match observe(at, value) {
                        Ok(Wish::More) => {}
                        Ok(Wish::Enough) => queue.enough[at].store(true, Ordering::SeqCst),
                        Ok(Wish::Stop) => end(Ok(Called::Stopped)),
                        Err(error) => end(Err(error)),
                    },
                    Ok((at, ExchangeMessage::End(Err(error)))) if !queue.has_enough(at) => {
                        end(Err(error));
                    }
                    Ok((_, ExchangeMessage::End(_))) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        outcome
    }

    /// Takes requests until none is left.
    fn work(
        &self,
        agent: &Agent,
        queue: &RequestQueue<'_>,
        sender: &Sender<(usize, ExchangeMessage)>,
    ) {
        loop {
            let at = queue.next.fetch_add(1, Ordering::SeqCst);
            let Some(request) = queue.requests.get(at) else {
                return;
            };
            if queue.is_cancelled.load(Ordering::SeqCst) {
                return;
            }

            let mut data = |value: Value| {
                let is_wanted = !queue.is_over(at);
                is_wanted && sender.send((at, ExchangeMessage::Data(value))).is_ok()
            };

            let ended = self.exchange(agent, request, &|| queue.is_over(at), &mut data);
            if sender.send((at, ExchangeMessage::End(ended))).is_err() {
                return;
            }
        }
    }

    /// Makes a request, again where the server is busy or not there, until it answers or fails in a
    /// way that another attempt would not change.
    fn exchange(
        &self,
        agent: &Agent,
        request: &ServerRequest,
        is_over: &dyn Fn() -> bool,
        data: &mut dyn FnMut(Value) -> bool,
    ) -> Result<(), LlmError> {
        let mut attempts = 0;

        loop {
            attempts += 1;
            let Err(Failed { error, after }) = self.attempt(agent, request, attempts, data) else {
                return Ok(());
            };

            let can_retry = after.is_some() && attempts <= RETRIES;
            let pause = after.unwrap_or_default().max(backoff(attempts));
            if !can_retry || is_over() || !rests(pause.min(LONGEST_PAUSE), is_over) {
                return Err(error);
            }
        }
    }

    fn attempt(
        &self,
        agent: &Agent,
        request: &ServerRequest,
        attempts: u32,
        data: &mut dyn FnMut(Value) -> bool,
    ) -> Result<(), Failed> {
        let url = format!("{}{}", self.address.base, request.path);

        let key = self.key.as_ref();
        let key = key.map(|key| format!("Bearer {}", key.expose()));
        let sent = net::send(
            agent,
            &url,
            &[("authorization", key)],
            request.body.as_ref(),
        );

        let response = sent.map_err(|error| self.not_sent(&error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.read_refusal(response, attempts));
        }

        if request.is_streamed {
            return self.read_events(response, data);
        }
        let text = net::read_body(response, MAX_BYTES).map_err(|error| self.broken(&error))?;
        data(self.parse(&text)?);
        Ok(())
    }

    fn read_events(
        &self,
        response: Response<ureq::Body>,
        data: &mut dyn FnMut(Value) -> bool,
    ) -> Result<(), Failed> {
        let mut body = BufReader::new(response.into_body().into_reader());
        let mut line = Vec::new();

        loop {
            line.clear();
            let length = (&mut body)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)
                .map_err(|error| self.broken(&error))?;

            if length == 0 {
                return Ok(());
            }

            let text = line.trim_ascii();
            let Some(event) = text.strip_prefix(b"data:").map(<[u8]>::trim_ascii) else {
                // some servers send an error as a plain answer
                if text.starts_with(b"{") {
                    self.parse(text)?;
                }
                continue;
            };

            if event == b"[DONE]" || !data(self.parse(event)?) {
                return Ok(());
            }
        }
    }

    /// Parses a value; one that holds an error is that error.
    fn parse(&self, text: &[u8]) -> Result<Value, Failed> {
        let value: Value =
            net::parse_json(text).map_err(|reason| Failed::finally(self.unreadable(&reason)))?;
        match value.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(Failed::finally(LlmError::Rejected {
                host: self.host(),
                status: 200,
                message: message(error),
            })),
            None => Ok(value),
        }
    }

    fn read_refusal(&self, response: Response<ureq::Body>, attempts: u32) -> Failed {
        let status = response.status().as_u16();
        let after = net::header(&response, "retry-after")
            .and_then(|after| after.parse().ok())
            .map_or(Duration::ZERO, Duration::from_secs);

        // the status says enough where the reason cannot be read
        let text = net::read_body(response, MAX_REFUSAL_BYTES).unwrap_or_default();
        self.refusal(status, after, &text, attempts)
    }

    /// Returns the failure of a request that was refused with a status and a text.
    fn refusal(&self, status: u16, after: Duration, text: &[u8], attempts: u32) -> Failed {
        let host = self.host();

        let said = serde_json::from_slice::<Value>(text).ok();
        let said = said
            .as_ref()
            .and_then(|value| value.get("error").or(value.get("detail")));

        match status {
            401 | 403 => Failed::finally(LlmError::new(
                format!("the model server {host} refuses the key (HTTP {status})"),
                "set `key` beside the url, as env:NAME or file:PATH",
            )),
            429 | 500 | 502 | 503 | 504 => Failed {
                error: match said {
                    Some(said) if status == 500 => LlmError::Rejected {
                        host,
                        status,
                        message: message(said),
                    },
                    Some(_) | None => LlmError::new(
                        format!(
                            "the model server {host} is too busy (HTTP {status}, after {attempts} attempts)"
                        ),
                        "try again later, or lower server.parallel",
                    ),
                },
                after: Some(after),
            },
            status => Failed::finally(LlmError::Rejected {
                host,
                status,
                message: said.map_or_else(|| "no reason".to_owned(), message),
            }),
        }
    }

    /// Returns the failure of a request without an answer. A server that does not answer in time
    /// would not be faster the next time.
    fn not_sent(&self, error: &ureq::Error) -> Failed {
        let after = match error {
            ureq::Error::Timeout(ureq::Timeout::Connect) => None,
            ureq::Error::Timeout(_) => return Failed::finally(self.slow()),
            ureq::Error::Io(_) | ureq::Error::ConnectionFailed => Some(Duration::ZERO),
            _ => None,
        };

        Failed {
            error: LlmError::new(
                format!(
                    "the model server {} cannot be reached ({error})",
                    self.host()
                ),
                "start it, or correct the url in the settings; without a url the model runs here",
            ),
            after,
        }
    }

    /// Returns the failure of an answer that ended early.
    fn broken(&self, error: &std::io::Error) -> Failed {
        let is_timeout = matches!(
            error.kind(),
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock
        );
        Failed::finally(if is_timeout || error.to_string().contains("timeout") {
            self.slow()
        } else {
            self.cut()
        })
    }

    fn slow(&self) -> LlmError {
        let (host, seconds) = (self.host(), self.settings.timeout_seconds);
        LlmError::new(
            format!("the model server {host} sent nothing for {seconds} s"),
            "raise server.timeout_seconds, or choose a smaller model there",
        )
    }

    pub fn cut(&self) -> LlmError {
        let host = self.host();
        LlmError::new(
            format!("the connection to the model server {host} ended in the middle of an answer"),
            "ask again; the log of the server may say why it ended",
        )
    }

    pub fn unreadable(&self, reason: &str) -> LlmError {
        LlmError::Unreadable {
            host: self.host(),
            reason: reason.to_owned(),
        }
    }

    /// Returns the error of a server that lacks something that the settings need.
    pub fn lacks(&self, what: &str, advice: &str) -> LlmError {
        LlmError::new(
            format!("the model server {} gives no {what}", self.host()),
            advice,
        )
    }

    /// Returns what it means that the server refuses a sample: it lacks what the sample asks for.
    pub fn explain(&self, refusal: LlmError, what: &str, advice: &str) -> LlmError {
        match refusal {
            LlmError::Rejected { .. } => self.lacks(what, advice),
            other => other,
        }
    }

    pub fn host(&self) -> String {
        self.address.host.clone()
    }

    /// Closes every connection. The next call opens others.
    fn close(&self) {
        let mut current = lock(&self.agent);
        // the certificates were read when the client was created
        if let Ok(fresh) = agent(&self.address, &self.settings) {
            std::mem::replace(&mut *current, fresh).shutdown();
        }
    }
}

impl RequestQueue<'_> {
    fn has_enough(&self, at: usize) -> bool {
        self.enough[at].load(Ordering::SeqCst)
    }

    fn is_over(&self, at: usize) -> bool {
        self.is_cancelled.load(Ordering::SeqCst) || self.has_enough(at)
    }
}

/// A failed attempt, and the least time to wait where another one may succeed.
struct Failed {
    error: LlmError,
    after: Option<Duration>,
}

impl Failed {
    fn finally(error: LlmError) -> Self {
        Self { error, after: None }
    }
}

fn backoff(attempts: u32) -> Duration {
    let pause = FIRST_PAUSE * 2_u32.saturating_pow(attempts.saturating_sub(1).min(6));
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    pause + pause * (nanos / 1000 % 1000) / 2000
}

/// Waits, and returns whether the call continues.
fn rests(pause: Duration, is_over: &dyn Fn() -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < pause {
        if is_over() {
            return false;
        }
        thread::sleep(LATENCY.min(pause));
    }
    true
}

/// Returns the reason in an error of a server.
fn message(error: &Value) -> String {
    let text = error
        .get("message")
        .unwrap_or(error)
        .as_str()
        .map_or_else(|| error.to_string(), str::to_owned);
    text.chars().take(MAX_MESSAGE).collect()
}

fn agent(address: &Address, settings: &ServerSettings) -> Result<Agent> {
    let patience = Duration::from_secs(u64::from(settings.timeout_seconds));
    let mut config = net::config(CONNECTING, patience)?
        .max_idle_connections_per_host(settings.parallel.max(1) as usize);
    if address.is_loopback() {
        config = config.proxy(None);
    }
    Ok(config.build().new_agent())
}
