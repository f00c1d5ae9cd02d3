//! The program as a server, and clients that write requests by the byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ragscope::event::{Event, Outcome, Record, RunEvent, RunSummary};
use ragscope::trace::{list_runs, read_run};
use serde_json::{Value, json};

use crate::support::environment::{QUESTION, TestEnvironment};

/// Maximum wait for anything.
const PATIENCE: Duration = Duration::from_secs(120);
pub const CHAT: &str = "/v1/chat/completions";

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    /// A request by its method and path.
    pub fn new(line: &str) -> Self {
        Self {
            line: line.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub fn get(path: &str) -> Self {
        Self::new(&format!("GET {path}"))
    }

    pub fn post(path: &str, body: impl ToString) -> Self {
        let mut request = Self::new(&format!("POST {path}"));
        request.body = body.to_string();
        request
    }

    /// Replaces a header of every request, or adds one; an empty value removes it.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves out the token.
    pub fn without_token(self) -> Self {
        self.header("authorization", "")
    }
}

/// The program as a server of its corpus.
pub struct Server<'t> {
    pub test: &'t TestEnvironment,
    pub child: Child,
    /// `ADDRESS:PORT`.
    pub address: String,
    pub token: Option<String>,
}

impl<'t> Server<'t> {
    pub fn start(test: &'t TestEnvironment, flags: &[&str]) -> Self {
        let listen = ["serve", "notes", "--listen", "127.0.0.1:0", "--json"];
        let mut child = test
            .command([&listen, flags].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        let announced: Value = serde_json::from_str(&line).expect("one object");
        let text = |key: &str| announced[key].as_str().map(str::to_owned);
        Self {
            test,
            child,
            address: text("address").expect("an address"),
            token: text("token"),
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// Returns the head of a request.
    pub fn head(&self, request: &Request) -> String {
        let given = |name: &str| request.headers.iter().any(|(other, _)| other == name);
        let mut head = format!("{} HTTP/1.1\r\n", request.line);
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        };
        let token = self.token.iter();
        let bearer: String = token.map(|token| format!("Bearer {token}")).collect();
        for (name, value) in [
            ("host", self.address.as_str()),
            ("connection", "close"),
            ("content-type", "application/json"),
            ("content-length", &request.body.len().to_string()),
            ("authorization", &bearer),
        ] {
            if !given(name) {
                add(name, value);
            }
        }
        for (name, value) in &request.headers {
            add(name, value);
        }
        head + "\r\n"
    }

    /// Sends a request and returns its connection.
    pub fn open(&self, request: &Request) -> TcpStream {
        let mut stream = self.connect();
        let head = self.head(request);
        write!(stream, "{head}{}", request.body).expect("sent");
        stream
    }

    /// Sends a request and returns the reply.
    pub fn send(&self, request: &Request) -> Reply {
        Reply::read(self.open(request))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send(&Request::get(path))
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(&Request::post(path, body))
    }

    /// Returns the JSON of a request that succeeds.
    pub fn done(&self, path: &str, body: &Value) -> Value {
        self.post(path, body).with_status(200).json()
    }

    /// Checks that a search is answered.
    #[track_caller]
    pub fn is_ready(&self) {
        let found = self.done("/v1/search", &search());
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    }

    /// Sends a request for a streamed answer, and returns the connection once the run has begun.
    pub fn begin(&self, preset: &str) -> (BufReader<TcpStream>, String) {
        let request = Request::post(CHAT, ask(preset, true));
        let mut reader = BufReader::new(self.open(&request));
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line of the reply");
            if let Some(data) = line.strip_prefix("data: ") {
                let chunk: Value = serde_json::from_str(data).expect("JSON");
                let run = chunk["ragscope"]["run"].as_str().expect("the run");
                return (reader, run.to_owned());
            }
            assert!(!line.is_empty(), "the reply ended before the run began");
        }
    }

    pub fn runs(&self) -> Vec<RunSummary> {
        list_runs(&self.test.paths().sessions()).expect("a list")
    }

    /// Returns the records of a run, if it is recorded.
    pub fn records(&self, run: &str) -> Option<Vec<Record>> {
        let runs = self.runs();
        let summary = runs.iter().find(|known| known.run == run)?;
        read_run(Path::new(&summary.file)).ok()
    }

    /// Waits until a recorded run is over and returns how it ended.
    pub fn outcome(&self, run: &str) -> Outcome {
        until("the run ends", || {
            let records = self.records(run)?;
            match records.last().map(|record| &record.event) {
                Some(Event::Run(RunEvent::RunFinished { outcome, .. })) => Some(outcome.clone()),
                _ => None,
            }
        })
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reply, read to its end.
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub text: String,
}

impl Reply {
    /// Reads a reply up to the end of the connection.
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // a connection that is reset after the reply has delivered it
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no reply: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let is_chunked = headers.iter().any(|(_, value)| value == "chunked");
        let text = if is_chunked {
            join_chunks(body)
        } else {
            body.to_owned()
        };
        Self {
            status: status.and_then(|code| code.parse().ok()).expect("a status"),
            headers,
            text,
        }
    }

    /// Checks the status.
    #[track_caller]
    pub fn with_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the data of each server-sent event.
    pub fn data(&self) -> Vec<&str> {
        let lines = self.text.lines();
        lines
            .filter_map(|line| line.strip_prefix("data: "))
            .collect()
    }

    /// Returns the server-sent events; the last one is the mark of the end, and left out.
    pub fn events(&self) -> Vec<Value> {
        let data = self.data();
        let (end, events) = data.split_last().expect("events");
        assert_eq!(*end, "[DONE]");
        let events = events.iter();
        events
            .map(|event| serde_json::from_str(event).expect("JSON"))
            .collect()
    }
}

/// Joins the chunks of a body.
fn join_chunks(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        text.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    text
}

/// Waits for a value.
pub fn until<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(started.elapsed() < PATIENCE, "waited too long until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the body of a request to answer the question of the tests.
pub fn ask(preset: &str, stream: bool) -> Value {
    json!({
        "model": format!("ragscope/{preset}"),
        "messages": [{ "role": "user", "content": QUESTION }],
        "stream": stream,
    })
}

/// Returns the body of a search for its best chunk.
pub fn search() -> Value {
    json!({ "query": QUESTION, "limit": 1 })
}
