//! `ragscope serve`: clients of the OpenAI interface, of the Model Context Protocol, and what is none, over loopback.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ragscope::event::{Event, Flow, Outcome, Record, RunEvent, RunSummary, StopFlag};
use ragscope::trace::{list_runs, read_run};
use serde_json::{Value, json};

use crate::support::environment::{QUESTION, TestEnvironment};

/// Maximum wait for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program as a server of its corpus.
pub struct Server<'p> {
    pub test: &'p TestEnvironment,
    child: Child,
    /// `ADDRESS:PORT`.
    pub address: String,
    token: Option<String>,
}

/// A reply, read to its end.
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub text: String,
}

impl<'p> Server<'p> {
    pub fn start(test: &'p TestEnvironment, flags: &[&str]) -> Self {
        let listen = ["serve", "notes", "--listen", "127.0.0.1:0", "--json"];
        let mut child = test
            .command(&[&listen, flags].concat())
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

    /// Sends a request as `client` and returns the reply. Headers of the same name replace those of every request.
    pub fn send(
        &self,
        client: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut stream = self.connect();
        stream
            .write_all(
                self.head(client, method, path, headers, body.len())
                    .as_bytes(),
            )
            .expect("sent");
        stream.write_all(body.as_bytes()).expect("sent");
        read_reply(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    pub fn head(
        &self,
        client: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: usize,
    ) -> String {
        let length = length.to_string();
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut all = vec![
            ("host", self.address.as_str()),
            ("user-agent", client),
            ("connection", "close"),
            ("content-type", "application/json"),
            ("content-length", &length),
        ];
        all.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in all
            .iter()
            .chain(headers)
            .filter(|(_, value)| !value.is_empty())
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head + "\r\n"
    }

    /// Ends the server as a crash would.
    pub fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn get(&self, path: &str) -> Reply {
        self.send("test", "GET", path, &[], "")
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("test", "POST", path, &[], &body.to_string())
    }

    /// Returns the JSON of a request that succeeds.
    fn done(&self, path: &str, body: &Value) -> Value {
        let reply = self.post(path, body);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        reply.json()
    }

    /// Sends a request for a streamed answer, and returns the connection once the run has begun.
    fn begin(&self, client: &str, preset: &str) -> (BufReader<TcpStream>, String) {
        let body = ask(preset, true).to_string();
        let mut stream = self.connect();
        let head = self.head(client, "POST", "/v1/chat/completions", &[], body.len());
        write!(stream, "{head}{body}").expect("sent");
        let mut reader = BufReader::new(stream);
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

    fn runs(&self) -> Vec<RunSummary> {
        list_runs(&self.test.paths().sessions()).expect("a list")
    }

    /// Waits until a recorded run is over and returns how it ended.
    fn outcome(&self, run: &str) -> Outcome {
        until("the run ends", || {
            let runs = self.runs();
            let summary = runs.iter().find(|known| known.run == run)?;
            let records = read_run(Path::new(&summary.file)).ok()?;
            match records.last().map(|record| &record.event) {
                Some(Event::Run(RunEvent::RunFinished { outcome, .. })) => Some(outcome.clone()),
                _ => None,
            }
        })
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the data of each server-sent event; the last one is the mark of the end.
    fn events(&self) -> Vec<Value> {
        let data: Vec<&str> = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .collect();
        let (end, events) = data.split_last().expect("events");
        assert_eq!(*end, "[DONE]");
        let events = events.iter();
        events
            .map(|event| serde_json::from_str(event).expect("JSON"))
            .collect()
    }
}

/// Reads a reply up to the end of the connection.
fn read_reply(mut stream: TcpStream) -> Reply {
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
    Reply {
        status: status.and_then(|code| code.parse().ok()).expect("a status"),
        headers,
        text: if is_chunked {
            joined(body)
        } else {
            body.to_owned()
        },
    }
}

/// Joins the chunks of a body.
fn joined(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        text.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    text
}

/// Waits for a value.
fn until<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(started.elapsed() < PATIENCE, "waited too long until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn ask(preset: &str, stream: bool) -> Value {
    json!({
        "model": format!("ragscope/{preset}"),
        "messages": [{ "role": "user", "content": QUESTION }],
        "stream": stream,
    })
}

fn search() -> Value {
    json!({ "query": QUESTION, "limit": 1 })
}

#[test]
fn questions_are_answered_whole_and_as_events() {
    let test = TestEnvironment::new();
    // the smaller generator cites nothing
    let reader = "ragscope-reader.Q5_0.gguf";
    let server = Server::start(&test, &["--sources", "--model", reader]);

    for preset in ["naive", "searag"] {
        let whole = server.done("/v1/chat/completions", &ask(preset, false));
        assert_eq!(whole["object"], "chat.completion");
        assert_eq!(whole["choices"][0]["finish_reason"], "stop", "{whole}");
        let answer = &whole["ragscope"];
        let run = answer["run"].as_str().expect("an id");
        assert_eq!(whole["id"], format!("chatcmpl-{run}"));
        assert!(
            answer["sentences"][0]["uncertainty"]["value"].is_number(),
            "{answer}"
        );
        assert_eq!(answer["sources"][0]["chunk"]["document"], "people.md");
        let usage = &whole["usage"];
        assert!(usage["completion_tokens"].as_u64() > Some(0), "{usage}");
        let content = whole["choices"][0]["message"]["content"]
            .as_str()
            .expect("text");
        let text = answer["text"].as_str().expect("text");
        let cites = answer["citations"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        assert!(cites, "{answer}");
        assert_eq!(
            content,
            format!("{text}\n\nSources:\n[1] people.md:1-3"),
            "{preset}"
        );

        let mut request = ask(preset, true);
        request["stream_options"] = json!({ "include_usage": true });
        let reply = server.post("/v1/chat/completions", &request);
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        let events = reply.events();
        let deltas = events
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
        assert_eq!(deltas.collect::<String>(), content, "{preset}");
        assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
        let streamed = &events[events.len() - 1]["usage"];
        assert_eq!(streamed["total_tokens"], usage["total_tokens"]);
        let finished = &events[events.len() - 2];
        assert_eq!(finished["choices"][0]["finish_reason"], "stop");
        assert_eq!(finished["ragscope"]["answer"], answer["answer"]);
        assert!(events.len() > 4, "the answer comes in parts: {events:?}");
    }

    let follow_up = json!({
        "model": "ragscope/naive",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Who is in the notes?" },
            { "role": "assistant", "content": "Tam Reeve." },
            { "role": "user", "content": [{ "type": "text", "text": "Where was he born?" }] },
        ],
        "ragscope": { "documents": { "only": ["people.md"] } },
        "seed": 7, "temperature": 0.4,
    });
    let answer = server.done("/v1/chat/completions", &follow_up);
    let run = answer["ragscope"]["run"].as_str().expect("an id");
    let records: Vec<Value> = server.get(&format!("/v1/runs/{run}")).events();
    assert_eq!(records[0]["event"]["question"], "Where was he born?");
    assert_eq!(records[0]["event"]["seed"], 7);
    let rewritten = records
        .iter()
        .find(|record| record["event"]["type"] == "follow_up_rewritten");
    // a bundled generator was not trained to rewrite it
    let rewritten = &rewritten.expect("there is a thread")["event"];
    assert_eq!(rewritten["as_asked"]["why"], "untrained", "{rewritten}");

    let closed_book = server.done("/v1/chat/completions", &ask("closed-book", false));
    assert_eq!(closed_book["ragscope"]["sources"], json!([]));
}

#[test]
fn searches_embeddings_models_and_runs() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);

    let mut found = server.done("/v1/search", &search());
    let printed = test.run(&["search", "notes", QUESTION, "--limit", "1", "--json"]);
    let mut printed: Value = serde_json::from_str(&printed.stdout).expect("one object");
    for value in [&mut found, &mut printed] {
        value["wall_us"] = Value::Null;
    }
    assert_eq!(found, printed, "the same value as `search --json`");

    let models = server.get("/v1/models").json();
    let names: Vec<&str> = models["data"]
        .as_array()
        .expect("models")
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    assert_eq!(names[0], "ragscope");
    assert!(names.contains(&"ragscope/searag"), "{names:?}");
    let embedder = *names.last().expect("names");
    assert_eq!(embedder, "all-MiniLM-L6-v2");
    assert_eq!(
        server.get("/v1/models/ragscope/naive").json()["id"],
        "ragscope/naive"
    );
    assert_eq!(server.get("/v1/models/gpt-4").status, 404);

    let embed = |input: Value, more: Value| {
        let mut request = json!({ "model": embedder, "input": input });
        request
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().expect("fields"));
        server.done("/v1/embeddings", &request)
    };
    let texts = json!(["Tam Reeve was born in Lorbymouth.", "The price of bread"]);
    let numbers = embed(
        texts.clone(),
        json!({ "encoding_format": "float", "dimensions": 384 }),
    );
    assert_eq!(numbers["data"][1]["index"], 1);
    assert_eq!(
        numbers["usage"]["prompt_tokens"], 14,
        "{}",
        numbers["usage"]
    );
    let vector = |value: &Value| -> Vec<f32> {
        let numbers = value.as_array().expect("numbers").iter();
        numbers
            .map(|number| number.as_f64().expect("a number") as f32)
            .collect()
    };
    let first = vector(&numbers["data"][0]["embedding"]);
    let second = vector(&numbers["data"][1]["embedding"]);
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    assert!(
        (product(&first, &first) - 1.0).abs() < 1e-4,
        "a unit vector"
    );
    let query = embed(json!(QUESTION), json!({ "ragscope": { "side": "query" } }));
    let query = vector(&query["data"][0]["embedding"]);
    assert!(product(&query, &first) > product(&query, &second) + 0.3);

    let packed = embed(texts, json!({ "encoding_format": "base64" }));
    let packed = packed["data"][0]["embedding"].as_str().expect("base64");
    let bytes = STANDARD.decode(packed).expect("base64");
    let floats = bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four")));
    assert_eq!(floats.collect::<Vec<f32>>(), first);

    assert_eq!(server.get("/v1/runs").json()["data"], json!([]));
    let answer = server.done("/v1/chat/completions", &ask("naive", false));
    let listed = server.get("/v1/runs").json();
    let run = listed["data"][0]["id"].as_str().expect("an id");
    assert_eq!(answer["ragscope"]["run"], run);
    assert_eq!(listed["data"][0]["answer"], answer["ragscope"]["answer"]);
    assert!(!listed.to_string().contains("jsonl"), "no path of a file");
    let recorded = read_run(Path::new(&server.runs()[0].file)).expect("a run");
    let path = format!("/v1/runs/{run}");
    let served: Vec<Record> = server
        .get(&path)
        .events()
        .into_iter()
        .map(|record| serde_json::from_value(record).expect("a record"))
        .collect();
    assert_eq!(served, recorded);
    let last = (recorded.len() - 2).to_string();
    let rest = server.send("test", "GET", &path, &[("last-event-id", &last)], "");
    assert_eq!(rest.events().len(), 1, "{}", rest.text);

    let status = server.get("/v1/status").json();
    assert_eq!(status["corpus"]["documents"], 1, "{status}");
    drop(server);
    let server = Server::start(&test, &[]);
    assert_eq!(
        server.done("/v1/search", &search())["hits"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        server.get(&path).events().len(),
        recorded.len(),
        "read from its file"
    );
}

#[test]
fn a_run_is_watched_while_it_is_in_progress() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.done("/v1/search", &search());
    let (mut asked, run) = server.begin("asks", "dense-rag");
    let path = format!("/v1/runs/{run}");
    let watched = thread::scope(|scope| {
        let watchers = [0, 1].map(|_| scope.spawn(|| server.get(&path).events()));
        let mut rest = String::new();
        asked.read_to_string(&mut rest).expect("the answer");
        assert!(rest.contains("[DONE]"), "{rest}");
        watchers.map(|watcher| watcher.join().expect("records"))
    });
    let recorded = read_run(Path::new(&server.runs()[0].file)).expect("a run");
    for records in watched {
        assert_eq!(records.len(), recorded.len());
        assert_eq!(records[records.len() - 1]["event"]["type"], "run_finished");
    }
}

#[test]
fn what_is_refused_says_why_and_ends_nothing() {
    let test = TestEnvironment::new();
    fs::write(test.path("secret.md"), "# Secret\n").expect("written");
    let server = Server::start(
        &test,
        &["--host", "notes.lan", "--origin", "http://chat.example"],
    );
    server.done("/v1/search", &search());
    let chat = "/v1/chat/completions";
    let question = ask("naive", false).to_string();
    let with = |key: &str, value: Value| {
        let mut request = ask("naive", false);
        request[key] = value;
        request.to_string()
    };
    let embed = |input: Value| json!({ "model": "ragscope", "input": input }).to_string();
    let image = json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "x" } }] }]);
    let huge = format!("\"{}\"", "x".repeat(9 << 20));
    let long = with(
        "messages",
        json!([{ "role": "user", "content": "why ".repeat(5000) }]),
    );
    let other_port = "http://127.0.0.1:1";

    type Case<'a> = (
        &'a str,
        &'a str,
        &'a [(&'a str, &'a str)],
        &'a str,
        u16,
        &'a str,
    );
    let cases: &[Case<'_>] = &[
        (
            "POST",
            chat,
            &[("authorization", "")],
            &question,
            401,
            "invalid_api_key",
        ),
        (
            "POST",
            chat,
            &[("authorization", "Bearer wrong")],
            &question,
            401,
            "invalid_api_key",
        ),
        (
            "GET",
            "/v1/runs",
            &[("authorization", "Basic eA==")],
            "",
            401,
            "invalid_api_key",
        ),
        (
            "POST",
            "/mcp",
            &[("authorization", "")],
            "{}",
            401,
            "invalid_api_key",
        ),
        (
            "GET",
            "/v1/models",
            &[("host", "evil.example")],
            "",
            403,
            "unknown_host",
        ),
        (
            "GET",
            "/",
            &[("host", "evil.example")],
            "",
            403,
            "unknown_host",
        ),
        (
            "POST",
            "/mcp",
            &[("host", "evil.example")],
            "{}",
            403,
            "unknown_host",
        ),
        (
            "POST",
            chat,
            &[("origin", "http://evil.example")],
            &question,
            403,
            "cross_origin",
        ),
        (
            "POST",
            chat,
            &[("origin", other_port)],
            &question,
            403,
            "cross_origin",
        ),
        (
            "POST",
            chat,
            &[("origin", "null")],
            &question,
            403,
            "cross_origin",
        ),
        (
            "GET",
            "/v1/runs",
            &[("sec-fetch-site", "cross-site")],
            "",
            403,
            "cross_origin",
        ),
        (
            "OPTIONS",
            chat,
            &[("origin", "http://evil.example")],
            "",
            403,
            "cross_origin",
        ),
        (
            "GET",
            "/v1/models",
            &[("host", "")],
            "",
            400,
            "invalid_request",
        ),
        ("POST", chat, &[], "{\"model\": ", 400, "invalid_request"),
        ("POST", chat, &[], "[1, 2]", 400, "invalid_request"),
        ("POST", chat, &[], "{}", 400, "invalid_request"),
        ("POST", chat, &[], "\u{1b}[31m", 400, "invalid_request"),
        (
            "POST",
            chat,
            &[("content-type", "text/plain")],
            &question,
            415,
            "unsupported_media_type",
        ),
        ("POST", chat, &[], &huge, 413, "request_too_large"),
        ("POST", chat, &[], &long, 422, "refused"),
        (
            "POST",
            chat,
            &[],
            &with("model", json!("gpt-4")),
            404,
            "model_not_found",
        ),
        (
            "POST",
            chat,
            &[],
            &with("model", json!("ragscope/../naive")),
            404,
            "model_not_found",
        ),
        (
            "POST",
            chat,
            &[],
            &with("messages", json!([])),
            400,
            "invalid_request",
        ),
        (
            "POST",
            chat,
            &[],
            &with("messages", image),
            400,
            "invalid_request",
        ),
        (
            "POST",
            chat,
            &[],
            &with("messages", json!([{ "role": "user", "content": " " }])),
            400,
            "invalid_request",
        ),
        (
            "POST",
            chat,
            &[],
            &with("n", json!(2)),
            400,
            "invalid_request",
        ),
        (
            "POST",
            chat,
            &[],
            &with("max_tokens", json!(0)),
            400,
            "invalid_request",
        ),
        (
            "POST",
            chat,
            &[],
            &with("ragscope", json!({ "generator.model": "/etc/passwd" })),
            400,
            "invalid_request",
        ),
        (
            "POST",
            chat,
            &[],
            &with("ragscope", json!({ "documents": { "only": ["[x"] } })),
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/embeddings",
            &[],
            &embed(json!([])),
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/embeddings",
            &[],
            &embed(json!(["a", " "])),
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/embeddings",
            &[],
            &embed(json!([1, 2])),
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/embeddings",
            &[],
            "{\"model\": \"gpt-4\", \"input\": \"a\"}",
            404,
            "model_not_found",
        ),
        (
            "POST",
            "/v1/embeddings",
            &[],
            "{\"model\": \"ragscope\", \"input\": \"a\", \"dimensions\": 3}",
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/search",
            &[],
            "{\"query\": \" \"}",
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/search",
            &[],
            "{\"query\": \"a\", \"limit\": 5000}",
            400,
            "invalid_request",
        ),
        (
            "POST",
            "/v1/search",
            &[],
            "{\"query\": \"a\", \"moon\": 1}",
            400,
            "invalid_request",
        ),
        (
            "GET",
            "/v1/runs/..%2F..%2Fsecret",
            &[],
            "",
            404,
            "not_found",
        ),
        ("GET", "/v1/runs/../../secret.md", &[], "", 404, "not_found"),
        ("GET", "/../secret.md", &[], "", 404, "not_found"),
        ("GET", "/v2/models", &[], "", 404, "not_found"),
        ("DELETE", chat, &[], "", 405, "method_not_allowed"),
    ];
    for (method, path, headers, body, status, code) in cases {
        let shown = &body[..body.len().min(60)];
        let reply = server.send(&format!("{method} {path}"), method, path, headers, body);
        assert_eq!(
            reply.status, *status,
            "{method} {path} {headers:?} {shown}: {}",
            reply.text
        );
        let error = &reply.json()["error"];
        assert_eq!(error["code"], *code, "{method} {path} {shown}: {error}");
        let message = error["message"].as_str().expect("what happened");
        assert!(message.contains(": "), "and what to do next: {message}");
        assert!(
            reply.text.bytes().all(|byte| byte >= b' '),
            "{}",
            reply.text
        );
    }

    let other = [("origin", "http://chat.example")];
    let preflight = server.send("a", "OPTIONS", chat, &[("authorization", ""), other[0]], "");
    assert_eq!(preflight.status, 204);
    assert!(
        preflight
            .header("access-control-allow-headers")
            .is_some_and(|all| all.contains("authorization"))
    );
    let allowed = server.send("a", "GET", "/v1/models", &other, "");
    assert_eq!(
        allowed.header("access-control-allow-origin"),
        Some("http://chat.example")
    );
    assert_eq!(
        server
            .send("a", "GET", "/v1/models", &[("host", "notes.lan")], "")
            .status,
        200
    );

    // as fast as they can be sent
    let request = |connection| {
        let headers = [("connection", connection)];
        server.head("eager", "GET", "/v1/models", &headers, 0)
    };
    let mut stream = server.connect();
    let requests = request("keep-alive").repeat(599) + &request("close");
    stream.write_all(requests.as_bytes()).expect("sent");
    let mut replies = String::new();
    stream.read_to_string(&mut replies).expect("replies");
    let with = |line: &str| replies.matches(line).count();
    assert!(with("HTTP/1.1 200") >= 200, "one client has room");
    assert!(with("HTTP/1.1 429") > 0, "and a rate");
    assert_eq!(with("retry-after: 1\r\n"), with("HTTP/1.1 429"));
    assert_eq!(
        server.get("/v1/models").status,
        200,
        "another client has its own"
    );

    assert_eq!(server.runs().len(), 0, "nothing was asked");
    assert_eq!(
        server.done("/v1/search", &search())["hits"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_request_ends_when_its_client_leaves() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.done("/v1/search", &search());

    // while the answer is streamed, with one more waiting that leaves before its turn
    let (asked, first) = server.begin("a", "dense-rag");
    let mut waiting = server.connect();
    let body = ask("naive", false).to_string();
    let head = server.head("b", "POST", "/v1/chat/completions", &[], body.len());
    write!(waiting, "{head}{body}").expect("sent");
    let until_waiting = |expected: u64| {
        until("the server knows who waits", || {
            // a client of its own, since a wait takes many requests
            let status = server.send("watcher", "GET", "/v1/status", &[], "").json();
            (status["waiting"] == expected).then_some(())
        });
    };
    until_waiting(1);
    waiting.shutdown(Shutdown::Both).expect("closed");
    drop(waiting);
    until_waiting(0);
    drop(asked);
    assert_eq!(server.outcome(&first), Outcome::Stopped);
    server.done("/v1/search", &search());
    assert_eq!(server.runs().len(), 1, "the other run never began");

    // while the answer is written as a whole
    let mut stream = server.connect();
    let body = ask("dense-rag", false).to_string();
    let head = server.head("c", "POST", "/v1/chat/completions", &[], body.len());
    write!(stream, "{head}{body}").expect("sent");
    let second = until("the run begins", || {
        let runs = server.runs();
        runs.into_iter()
            .map(|run| run.run)
            .find(|run| *run != first)
    });
    drop(stream);
    assert_eq!(server.outcome(&second), Outcome::Stopped);
    server.done("/v1/search", &search());
}

#[test]
fn many_clients_are_served_in_turn() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.done("/v1/search", &search());

    // one client asks five questions, another one asks a single one after them
    let (mut asked, first) = server.begin("eager", "dense-rag");
    let body = ask("closed-book", false).to_string();
    let send = |client: &str| {
        let mut stream = server.connect();
        let head = server.head(client, "POST", "/v1/chat/completions", &[], body.len());
        write!(stream, "{head}{body}").expect("sent");
        stream
    };
    let eager: Vec<TcpStream> = (0..5).map(|_| send("eager")).collect();
    // the server has read the five before it reads this one
    assert_eq!(server.get("/v1/status").status, 200);
    let patient = read_reply(send("patient"));
    assert_eq!(patient.status, 200, "{}", patient.text);
    let patient = patient.json()["ragscope"]["run"].clone();
    let mut rest = String::new();
    asked.read_to_string(&mut rest).expect("the answer");
    for stream in eager {
        assert_eq!(read_reply(stream).status, 200);
    }
    let mut order: Vec<String> = server.runs().into_iter().map(|run| run.run).collect();
    order.sort();
    assert_eq!(order.len(), 7);
    assert_eq!(order[0], first);
    let place = order.iter().position(|run| patient == run.as_str());
    assert!(
        place.is_some_and(|place| place <= 2),
        "served at {place:?} of {order:?}"
    );

    // fifty at once, half of them with questions
    let start = Barrier::new(50);
    let replies: Vec<u16> = thread::scope(|scope| {
        let clients: Vec<_> = (0..50)
            .map(|number| {
                let (server, start) = (&server, &start);
                scope.spawn(move || {
                    start.wait();
                    let (path, body) = if number % 2 == 0 {
                        ("/v1/chat/completions", ask("closed-book", false))
                    } else {
                        ("/v1/search", search())
                    };
                    let client = format!("client {number}");
                    server
                        .send(&client, "POST", path, &[], &body.to_string())
                        .status
                })
            })
            .collect();
        let replies = clients.into_iter();
        replies
            .map(|client| client.join().expect("a reply"))
            .collect()
    });
    assert_eq!(replies, vec![200; 50]);
}

#[test]
fn slow_clients_hold_up_nobody() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.done("/v1/search", &search());
    // heads and bodies without end, and an answer that nobody reads
    let mut slow = Vec::new();
    for part in [
        "POST /v1/chat",
        "POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\n",
    ] {
        let mut stream = server.connect();
        write!(stream, "{part}").expect("sent");
        slow.push(stream);
    }
    let mut stream = server.connect();
    write!(
        stream,
        "{}{{\"query\"",
        server.head("slow", "POST", "/v1/search", &[], 100)
    )
    .expect("sent");
    slow.push(stream);
    let (unread, run) = server.begin("slow", "naive");
    assert_eq!(
        server.done("/v1/search", &search())["hits"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(server.outcome(&run), Outcome::Completed);
    drop((slow, unread));
}

#[test]
fn agents_are_served_over_http() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let accept = ("accept", "application/json, text/event-stream");
    let call = |session: &str, message: Value| {
        let headers = [
            accept,
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        let reply = server.send("agent", "POST", "/mcp", &headers, &message.to_string());
        assert!(
            reply.status == 200 || reply.status == 202,
            "{}: {}",
            reply.status,
            reply.text
        );
        let messages: Vec<Value> = reply
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str(data).ok())
            .collect();
        messages
    };

    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let welcome = server.send("agent", "POST", "/mcp", &[accept], &hello.to_string());
    assert_eq!(welcome.status, 200, "{}", welcome.text);
    let session = welcome.header("mcp-session-id").expect("a session");
    assert!(
        welcome.text.contains("\"name\":\"ragscope\""),
        "{}",
        welcome.text
    );
    call(
        session,
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    );

    let tool = |id: u64, name: &str, arguments: Value| {
        let params =
            json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": id } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let found = call(session, tool(1, "search", json!({ "query": QUESTION })));
    let found = &found.last().expect("the result")["result"]["structuredContent"];
    assert_eq!(found["hits"][0]["chunk"]["document"], "people.md");
    let question = json!({ "question": QUESTION, "preset": "naive" });
    let asked = call(session, tool(2, "ask", question));
    let answer = &asked.last().expect("the result")["result"]["structuredContent"];
    assert_eq!(answer["outcome"]["kind"], "completed", "{answer}");
    let is_progress = |message: &Value| message["method"] == "notifications/progress";
    assert!(
        asked.iter().filter(|message| is_progress(message)).count() >= 2,
        "{asked:?}"
    );
    let secret = call(
        session,
        tool(3, "read_source", json!({ "document": "../secret.md" })),
    );
    assert_eq!(
        secret.last().expect("the result")["result"]["isError"],
        true
    );

    // a cancelled request stops its run
    let stopped = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let question = json!({ "question": QUESTION, "preset": "dense-rag" });
            call(session, tool(4, "ask", question))
        });
        let run = until("the run begins", || {
            let mut runs = server.runs().into_iter().map(|run| run.run);
            runs.find(|run| answer["run"] != run.as_str())
        });
        let params = json!({ "requestId": 4 });
        call(
            session,
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        );
        let outcome = server.outcome(&run);
        let end = [("mcp-session-id", session)];
        assert!(server.send("agent", "DELETE", "/mcp", &end, "").status < 300);
        asking.join().expect("an end");
        outcome
    });
    assert_eq!(stopped, Outcome::Stopped);
    server.done("/v1/search", &search());
}

#[test]
fn the_interface_is_described_without_a_token() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let described = server
        .send("tool", "GET", "/openapi.json", &[("authorization", "")], "")
        .json();
    assert_eq!(described["openapi"], "3.1.0");
    assert!(described["paths"]["/v1/chat/completions"]["post"].is_object());
}

#[test]
fn the_token_is_kept_and_may_be_left_out() {
    let test = TestEnvironment::new();
    let first = Server::start(&test, &[]);
    let token = first.token.clone().expect("a token");
    let file = test.paths().token_file();
    assert_eq!(fs::read_to_string(&file).expect("kept").trim(), token);
    assert!(ragscope::files::is_private(&file).expect("a file"));
    drop(first);
    assert_eq!(Server::start(&test, &[]).token, Some(token));

    let open = Server::start(&test, &["--no-token"]);
    assert_eq!(open.token, None);
    assert_eq!(open.get("/v1/models").status, 200);
    assert_eq!(
        open.send(
            "a",
            "GET",
            "/v1/models",
            &[("origin", "http://evil.example")],
            ""
        )
        .status,
        403
    );

    let taken = test.run(&["serve", "notes", "--listen", &open.address]);
    assert_eq!(taken.code, Some(1));
    assert!(
        taken.stderr.contains("cannot listen on"),
        "{}",
        taken.stderr
    );
    let missing = test.run(&["serve", "missing", "--listen", "127.0.0.1:0"]);
    assert!(
        missing.stderr.contains("cannot open the folder missing"),
        "{}",
        missing.stderr
    );
    assert_eq!(
        test.run(&["serve", "notes", "--listen", "nowhere"]).code,
        Some(2)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_outlives_its_engine() {
    use nix::sys::signal::{Signal, kill};

    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.done("/v1/search", &search());
    let (mut asked, run) = server.begin("a", "dense-rag");
    kill(test.engine(), Signal::SIGKILL).expect("sent");
    let mut rest = String::new();
    asked
        .read_to_string(&mut rest)
        .expect("the rest of the reply");
    assert!(rest.contains("\"type\":\"server_error\""), "{rest}");
    assert!(matches!(server.outcome(&run), Outcome::Failed(_)));
    let whole = server.done("/v1/chat/completions", &ask("closed-book", false));
    assert_eq!(whole["choices"][0]["finish_reason"], "stop", "{whole}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_server_and_its_run() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let test = TestEnvironment::new();
    let mut server = Server::start(&test, &[]);
    server.done("/v1/search", &search());
    let (_asked, run) = server.begin("a", "dense-rag");
    let process = Pid::from_raw(server.child.id().try_into().expect("a process"));
    kill(process, Signal::SIGINT).expect("sent");
    assert_eq!(server.child.wait().expect("ended").code(), Some(130));
    assert_eq!(server.outcome(&run), Outcome::Stopped);
}

/// Prints the time that HTTP and the Model Context Protocol add to a search.
#[test]
#[ignore = "measures; the figures are in benches/RESULTS.md"]
fn latency_of_a_search() {
    let test = TestEnvironment::new();
    for number in 0..40 {
        let file = test.corpus().join(format!("note-{number}.md"));
        let text = format!("# Note {number}\n\nTam Reeve sold boat {number} in Lorbymouth.\n");
        fs::write(file, text).expect("written");
    }
    let server = Server::start(&test, &["--set", "corpus.watch=off"]);
    until("the index is complete", || {
        (server.get("/v1/status").json()["is_settled"] == true).then_some(())
    });

    let paths = ragscope::config::Paths::under(test.path("in process"));
    let mut worker = ragscope::engine::Worker::new(
        crate::support::environment::small_settings(),
        paths,
        StopFlag::default(),
    );
    let mut ignore = |_: Record| Flow::Continue;
    worker
        .open(&[test.corpus()], false, &mut ignore)
        .expect("opened");
    worker.update(&mut ignore).expect("indexed");

    let accept = ("accept", "application/json, text/event-stream");
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let welcome = server.send("agent", "POST", "/mcp", &[accept], &hello.to_string());
    let session = welcome.header("mcp-session-id").expect("a session");
    let headers = [
        accept,
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert_eq!(
        server
            .send("agent", "POST", "/mcp", &headers, &ready)
            .status,
        202
    );

    let settings = [("retriever.keep".to_owned(), "10".to_owned())];
    let mut took: [Vec<Duration>; 3] = Default::default();
    for number in 0..100 {
        let query = format!("{QUESTION} {number}");
        let started = Instant::now();
        worker
            .search(&query, &settings, &mut ignore)
            .expect("found");
        took[0].push(started.elapsed());

        let body = json!({ "query": query }).to_string();
        let started = Instant::now();
        let found = server.send("test", "POST", "/v1/search", &[], &body);
        took[1].push(started.elapsed());
        assert_eq!(found.json()["hits"].as_array().map(Vec::len), Some(10));

        let params = json!({ "name": "search", "arguments": { "query": query } });
        let call =
            json!({ "jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params });
        let started = Instant::now();
        let found = server.send("agent", "POST", "/mcp", &headers, &call.to_string());
        took[2].push(started.elapsed());
        assert!(found.text.contains("structuredContent"), "{}", found.text);
    }
    for (name, mut took) in ["in process", "HTTP", "MCP over HTTP"]
        .into_iter()
        .zip(took)
    {
        took.sort();
        let [median, late] = [50, 95].map(|at| took[at].as_secs_f64() * 1e3);
        println!("{name}: median {median:.2} ms, 95th percentile {late:.2} ms");
    }
}
