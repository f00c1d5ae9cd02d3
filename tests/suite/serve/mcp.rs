//! `ragscope mcp`: the messages of a client over stdin and stdout.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use ragscope::event::{Event, Outcome, RunEvent};
use ragscope::trace::{list_runs, read_run};
use serde_json::{Value, json};

use crate::support::environment::{QUESTION, TestEnvironment};

/// The program as a server, with what it sends.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: u64,
}

impl Client {
    /// Starts the server on the corpus of `program`, without a handshake.
    fn start(test: &TestEnvironment) -> Self {
        let mut child = test
            .command(["mcp", "notes"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("started");
        let (sender, messages) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("UTF-8");
                let message = serde_json::from_str(&line).unwrap_or_else(|error| {
                    panic!("stdout has nothing but JSON: {line} ({error})")
                });
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            messages,
            next_id: 1,
        }
    }

    fn connect(test: &TestEnvironment) -> Self {
        let mut client = Self::start(test);
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let welcome = client.request("initialize", params);
        assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(welcome["result"]["serverInfo"]["name"], "ragscope");
        client.notify("notifications/initialized", json!({}));
        client
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{line}").expect("the server reads");
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request and returns its id.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&request.to_string());
        id
    }

    fn receive(&self) -> Value {
        let message = self.messages.recv_timeout(Duration::from_secs(120));
        message.expect("a message of the server")
    }

    /// Returns the messages up to the answer to a request.
    fn until(&self, id: u64) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            messages.push(self.receive());
            if messages.last().is_some_and(|message| message["id"] == id) {
                return messages;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.until(id).pop().expect("the answer")
    }

    /// Calls a tool and returns its structured result, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (Value, bool) {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().expect("text");
        let value: Value = serde_json::from_str(text).expect("the structured result as text");
        assert_eq!(value, result["structuredContent"], "{tool}");
        (value, result["isError"] == true)
    }

    /// Calls a tool that succeeds.
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let (value, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {value}");
        value
    }

    /// Ends the input and checks that the server ends well.
    fn leave(mut self) {
        self.input = None;
        assert_eq!(self.child.wait().expect("ended").code(), Some(0));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // a test that failed leaves no process
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn tools_search_ask_and_read() {
    let test = TestEnvironment::new();
    let mut client = Client::connect(&test);

    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let expected = [
        "status",
        "search",
        "ask",
        "explain",
        "measure",
        "read_source",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }

    let mut found = client.done("search", json!({ "query": QUESTION, "limit": 1 }));
    let printed = test.run(["search", "notes", QUESTION, "--limit", "1", "--json"]);
    let mut printed: Value = serde_json::from_str(&printed.stdout).expect("one object");
    for value in [&mut found, &mut printed] {
        value["wall_us"] = Value::Null;
    }
    assert_eq!(found, printed, "the same value as `search --json`");
    let only = json!({ "query": QUESTION, "documents": { "only": ["ships.md"] } });
    assert_eq!(client.done("search", only)["hits"], json!([]));

    let status = client.done("status", json!({}));
    assert_eq!(status["corpus"]["documents"], 1, "{status}");
    assert_eq!(status["is_settled"], true);

    let token = json!({ "progressToken": "t" });
    let arguments = json!({ "question": QUESTION, "preset": "naive" });
    let params = json!({ "name": "ask", "arguments": arguments, "_meta": token });
    let asked = client.send("tools/call", params);
    let mut messages = client.until(asked);
    let answer = messages.pop().expect("the answer")["result"]["structuredContent"].clone();
    assert_eq!(answer["outcome"]["kind"], "completed", "{answer}");
    assert!(
        answer["sentences"][0]["uncertainty"].is_object(),
        "{answer}"
    );
    assert_eq!(answer["sources"][0]["chunk"]["document"], "people.md");
    let progress: Vec<&str> = messages
        .iter()
        .filter(|message| message["params"]["progressToken"] == "t")
        .filter_map(|message| message["params"]["message"].as_str())
        .collect();
    assert!(progress[0].contains(QUESTION), "{progress:?}");
    let sentence = answer["sentences"][0]["text"].as_str().expect("text");
    assert!(progress.contains(&sentence), "{progress:?}");

    let run = answer["run"].as_str().expect("an id");
    let explained = client.done("explain", json!({ "run": run }));
    let last = explained["records"].as_array().and_then(|all| all.last());
    assert_eq!(last.expect("records")["event"]["type"], "run_finished");
    let expect = json!({ "run": run, "expect": "Lorbymouth" });
    let traced = client.done("explain", expect);
    assert_eq!(traced["lookups"][0]["query"], QUESTION, "{traced}");

    let references = json!({ "run": run, "references": ["Lorbymouth"] });
    let measured = client.done("measure", references);
    assert!(measured["delta"].is_number(), "{measured}");
    assert_eq!(measured["hits"].as_array().map(Vec::len), Some(1));

    let lines = json!({ "document": "people.md", "first_line": 1, "last_line": 1 });
    let read = client.done("read_source", lines);
    assert_eq!(read["lines"], json!(["# People"]));
    assert_eq!(read["more_lines"], true);
    client.leave();
}

#[test]
fn a_cancelled_request_stops_the_run() {
    let test = TestEnvironment::new();
    let mut client = Client::connect(&test);
    client.done("search", json!({ "query": QUESTION }));

    let token = json!({ "progressToken": 7 });
    let arguments = json!({ "question": QUESTION, "preset": "dense-rag" });
    let params = json!({ "name": "ask", "arguments": arguments, "_meta": token });
    let asked = client.send("tools/call", params);
    while client.receive()["params"]["progressToken"] != 7 {}
    client.notify("notifications/cancelled", json!({ "requestId": asked }));

    let next = client.send(
        "tools/call",
        json!({ "name": "search", "arguments": { "query": QUESTION } }),
    );
    let messages = client.until(next);
    assert!(
        messages.iter().all(|message| message["id"] != asked),
        "{messages:?}"
    );
    let runs = list_runs(&test.paths().sessions()).expect("a list");
    let records = read_run(Path::new(&runs[0].file)).expect("a run");
    let last = records.last().map(|record| &record.event);
    assert!(
        matches!(
            last,
            Some(Event::Run(RunEvent::RunFinished {
                outcome: Outcome::Stopped,
                ..
            }))
        ),
        "{last:?}"
    );
    client.leave();
}

#[test]
fn bad_input_is_answered_and_ends_nothing() {
    let test = TestEnvironment::new();
    fs::write(test.path("secret.md"), "# Secret\n").expect("written");
    let mut client = Client::start(&test);
    // before the handshake
    client.notify("notifications/progress", json!({}));
    assert!(client.request("tools/list", json!({}))["error"].is_object());
    drop(client);

    let mut client = Client::connect(&test);
    let huge = format!("\"{}\"", "x".repeat(5 << 20));
    let lines = [
        ("{\"jsonrpc\": \"2.0\", ", -32700),
        ("\u{1b}[31m", -32700),
        ("[1, 2]", -32600),
        ("{\"id\": 5}", -32600),
        (&huge, -32600),
    ];
    for (line, code) in lines {
        let shown = &line[..line.len().min(40)];
        client.write(line);
        let answer = client.receive();
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    }

    let requests = [
        ("moon/rise", json!({}), -32601),
        ("tools/call", json!({ "name": "delete" }), -32602),
    ];
    for (method, params, code) in requests {
        let answer = client.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }

    let calls = [
        ("search", json!({}), "query"),
        ("search", json!({ "query": 3 }), "the arguments of `search`"),
        ("search", json!({ "query": " " }), "the query is empty"),
        (
            "search",
            json!({ "query": "a", "limit": 5000 }),
            "retriever.keep",
        ),
        ("ask", json!({ "question": " " }), "the question is empty"),
        ("ask", json!({ "question": "a", "preset": "naiv" }), "naiv"),
        ("ask", json!({ "question": "a", "moon": 1 }), "moon"),
        ("explain", json!({ "run": "../x" }), "no run"),
        ("measure", json!({ "run": "nothing" }), "no run"),
        (
            "read_source",
            json!({ "document": "../secret.md" }),
            "secret.md",
        ),
        (
            "read_source",
            json!({ "document": "/etc/passwd" }),
            "passwd",
        ),
        (
            "read_source",
            json!({ "document": "people.md", "first_line": 3, "last_line": 2 }),
            "before",
        ),
    ];
    for (tool, arguments, part) in calls {
        let (problem, is_error) = client.call(tool, arguments);
        assert!(is_error, "{tool}: {problem}");
        let error = problem["error"].as_str().expect("what happened");
        assert!(error.contains(part), "{tool}: {error}");
        assert!(problem["advice"].is_string(), "{tool}: {problem}");
    }
    let found = client.done("search", json!({ "query": QUESTION }));
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    client.leave();
}

#[test]
fn folders_are_checked_before_the_protocol_begins() {
    let test = TestEnvironment::new();
    let ended = test.run(["mcp", "missing"]).exits(1);
    assert_eq!(ended.stdout, "");
    assert!(
        ended
            .stderr
            .contains("cannot open missing: there is no such folder")
    );
}

#[test]
fn runs_over_other_folders_are_not_served() {
    let test = TestEnvironment::new();
    let other = test.path("other");
    fs::create_dir(&other).expect("made");
    fs::write(
        other.join("secret.md"),
        "# Secret\n\nTam Reeve has a boat.\n",
    )
    .expect("written");
    assert_eq!(test.run(["ask", "other", QUESTION]).code, Some(0));
    let runs = list_runs(&test.paths().sessions()).expect("a list");

    let mut client = Client::connect(&test);
    let (problem, is_error) = client.call("explain", json!({ "run": runs[0].run }));
    assert!(is_error, "{problem}");
    client.leave();
}
