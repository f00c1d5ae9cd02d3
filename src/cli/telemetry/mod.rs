//! Runs as traces of OpenTelemetry, for the programs that show those (Phoenix, Langfuse, Grafana and others).
//!
//! Off unless `telemetry.otlp_endpoint` names a receiver. A finished run is folded into spans ([`spans`]) and sent over HTTP in
//! the binary encoding of OTLP 1.x, on a thread of its own: a receiver that is slow, gone or refuses costs its traces and a
//! warning, and never a run. Every receiver takes that encoding; Phoenix refuses the JSON one (status 415).

mod spans;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use prost::Message as _;
use ureq::Agent;

use crate::config::Config;
use crate::event::{Event, Problem, Record, RunEvent};
use crate::llm::LlmError;
use crate::llm::server::connection;

use spans::Content;

/// Maximum time of a request to the receiver.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum wait at the end of the program for traces that are being sent.
const LAST_PATIENCE: Duration = Duration::from_secs(3);
/// Finished runs that wait to be sent; more are left out.
const MAX_WAITING: usize = 16;
/// Records of a run that are kept for its trace; of a longer run, the later ones but the last are left out.
const MAX_RECORDS: usize = 100_000;
/// The variable that exporters of OpenTelemetry read headers from, such as a key: `name=value,name=value`.
const HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const PATH: &str = "/v1/traces";

/// Sends finished runs.
pub struct Exporter {
    /// The records of the run in progress.
    open: Vec<Record>,
    runs: Option<SyncSender<Vec<Record>>>,
    /// Why the last run that could not be sent was not.
    failure: Arc<Mutex<Option<Problem>>>,
    sender: Option<JoinHandle<()>>,
}

/// Where traces go, and what they contain.
struct Destination {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
    content: Content,
}

impl Exporter {
    /// Starts the exporter of these settings; `None` where it is off.
    ///
    /// # Errors
    /// An endpoint that is no URL, headers that are none, certificates of `SSL_CERT_FILE` that cannot be
    /// used, a thread that cannot be started.
    pub fn start(config: &Config) -> Result<Option<Self>, Problem> {
        let endpoint = config.telemetry.otlp_endpoint.trim();
        if endpoint.is_empty() {
            return Ok(None);
        }
        let receiver = Destination {
            agent: connection::config(PATIENCE, PATIENCE)
                .map_err(LlmError::from)?
                .timeout_global(Some(PATIENCE))
                .build()
                .new_agent(),
            url: url(endpoint)?,
            headers: headers(&std::env::var(HEADERS_VARIABLE).unwrap_or_default())?,
            content: if config.telemetry.content {
                Content::Included
            } else {
                Content::LeftOut
            },
        };
        let (runs, waiting) = sync_channel(MAX_WAITING);
        let failure: Arc<Mutex<Option<Problem>>> = Arc::default();
        let reported = Arc::clone(&failure);
        let sender = thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || receiver.send_all(&waiting, &reported))
            .map_err(|error| {
                Problem::new(
                    format!("cannot start a thread ({error})"),
                    "end other programs, or raise the limit of processes (`ulimit -u`)",
                )
            })?;
        Ok(Some(Self {
            open: Vec::new(),
            runs: Some(runs),
            failure,
            sender: Some(sender),
        }))
    }

    /// Takes in a record; the last one of a run sends it.
    pub fn observe(&mut self, record: &Record) {
        let Event::Run(event) = &record.event else {
            return;
        };
        if matches!(event, RunEvent::RunStarted { .. }) {
            self.open.clear();
        }
        let is_last = matches!(event, RunEvent::RunFinished { .. });
        if is_last || self.open.len() < MAX_RECORDS {
            self.open.push(record.clone());
        }
        if is_last && let Some(runs) = &self.runs {
            // a receiver that is too slow gets the next runs
            let _ = runs.try_send(std::mem::take(&mut self.open));
        }
    }

    /// Returns why a run could not be sent, once.
    pub fn take_failure(&self) -> Option<Problem> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    /// Waits a little for what is being sent.
    pub fn finish(&mut self) {
        self.runs = None;
        let started = Instant::now();
        let Some(sender) = self.sender.take() else {
            return;
        };
        while !sender.is_finished() && started.elapsed() < LAST_PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Destination {
    fn send_all(&self, runs: &Receiver<Vec<Record>>, failure: &Mutex<Option<Problem>>) {
        for run in runs {
            let sent = self.send(&run);
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = sent.err();
        }
    }

    fn send(&self, run: &[Record]) -> Result<(), Problem> {
        let Some(trace) = spans::trace(run, self.content) else {
            return Ok(());
        };
        let mut request = self
            .agent
            .post(&self.url)
            .header("content-type", "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let failed = |reason: String| {
            Problem::new(
                format!(
                    "the trace of a run was not taken by {} ({reason})",
                    self.url
                ),
                "check telemetry.otlp_endpoint and OTEL_EXPORTER_OTLP_HEADERS",
            )
        };
        match request.send(trace.encode_to_vec()) {
            Ok(reply) if reply.status().is_success() => Ok(()),
            Ok(reply) => Err(failed(format!("status {}", reply.status().as_u16()))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Returns the URL for traces of an endpoint, which may be that already.
fn url(endpoint: &str) -> Result<String, Problem> {
    let rest = ["http://", "https://"]
        .iter()
        .find_map(|scheme| endpoint.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split('/').next());
    if host.is_none_or(|host| host.is_empty() || host.contains('@')) {
        return Err(Problem::new(
            format!("telemetry.otlp_endpoint is no URL: {endpoint:?}"),
            "write it as http://localhost:4318; keys belong into OTEL_EXPORTER_OTLP_HEADERS",
        ));
    }
    if endpoint.ends_with(PATH) {
        return Ok(endpoint.to_owned());
    }
    Ok(format!("{}{PATH}", endpoint.trim_end_matches('/')))
}

/// Reads the headers of the variable, whose values may be escaped as in URLs.
fn headers(text: &str) -> Result<Vec<(String, String)>, Problem> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                // the value may be a key, and is not repeated
                Problem::new(
                    format!("{HEADERS_VARIABLE} has an entry without a value"),
                    "write it as name=value,name=value",
                )
            })?;
            Ok((name.trim().to_owned(), unescaped(value.trim())))
        })
        .collect()
}

/// Returns a text without the escapes of a URL; what is none stays.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escape = after.get(..2).filter(|_| *first == b'%');
        let escaped = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_and_headers_are_read() {
        let cases = [
            (
                "http://localhost:4318",
                Some("http://localhost:4318/v1/traces"),
            ),
            ("https://a.b/otel/", Some("https://a.b/otel/v1/traces")),
            ("http://a/v1/traces", Some("http://a/v1/traces")),
            ("localhost:4318", None),
            ("http://", None),
            ("https://user:key@a.b", None),
        ];
        for (endpoint, expected) in cases {
            assert_eq!(url(endpoint).ok().as_deref(), expected, "{endpoint}");
        }
        let read = headers("Authorization=Basic%20eA==, x-key = 1").expect("headers");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read,
            [pair("Authorization", "Basic eA=="), pair("x-key", "1")]
        );
        assert!(headers("").expect("none").is_empty());
        let problem = headers("secret").expect_err("no value");
        assert!(!problem.error.contains("secret="), "{problem}");
        assert_eq!(unescaped("a%2"), "a%2");
    }
}
