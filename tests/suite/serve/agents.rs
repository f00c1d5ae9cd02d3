//! The Model Context Protocol over HTTP.

use std::thread;
use std::time::{Duration, Instant};

use ragscope::event::{Flow, Outcome, Record, StopFlag};
use serde_json::{Value, json};

use super::client::{Request, Server, until};
use crate::support::environment::{QUESTION, TestEnvironment, small_settings};

/// A client of the protocol, after its handshake.
struct Agent<'s> {
    server: &'s Server<'s>,
    session: String,
}

impl<'s> Agent<'s> {
    fn connect(server: &'s Server<'s>) -> Self {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let welcome = server.send(&request(hello)).with_status(200);
        let has_name = welcome.text.contains("\"name\":\"ragscope\"");
        assert!(has_name, "{}", welcome.text);
        let session = welcome.header("mcp-session-id").expect("a session");
        let agent = Self {
            server,
            session: session.to_owned(),
        };
        agent.notify("notifications/initialized", Value::Null);
        agent
    }

    /// Sends a message and returns those that come back.
    fn send(&self, message: Value, status: u16) -> Vec<Value> {
        let request = request(message)
            .header("mcp-session-id", &self.session)
            .header("mcp-protocol-version", "2025-06-18");
        let reply = self.server.send(&request).with_status(status);
        let data = reply.data().into_iter();
        data.filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }

    fn notify(&self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message, 202);
    }

    /// Calls a tool and returns its progress and its result.
    fn call(&self, id: u64, name: &str, arguments: Value) -> (Vec<Value>, Value) {
        let params =
            json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": id } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let mut messages = self.send(call, 200);
        let result = messages.pop().map(|mut last| last["result"].take());
        (messages, result.unwrap_or_default())
    }

    fn end(self) {
        let request = Request::new("DELETE /mcp");
        let reply = self
            .server
            .send(&request.header("mcp-session-id", &self.session));
        assert!(reply.status < 300, "{}", reply.text);
    }
}

fn request(message: Value) -> Request {
    Request::post("/mcp", message).header("accept", "application/json, text/event-stream")
}

#[test]
fn agents_are_served_over_http() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let agent = Agent::connect(&server);

    let (_, found) = agent.call(1, "search", json!({ "query": QUESTION }));
    let hit = &found["structuredContent"]["hits"][0];
    assert_eq!(hit["chunk"]["document"], "people.md");

    let question = json!({ "question": QUESTION, "preset": "naive" });
    let (progress, asked) = agent.call(2, "ask", question);
    let answer = &asked["structuredContent"];
    assert_eq!(answer["outcome"]["kind"], "completed", "{answer}");
    let is_progress = |message: &&Value| message["method"] == "notifications/progress";
    assert!(
        progress.iter().filter(is_progress).count() >= 2,
        "{progress:?}"
    );

    let (_, secret) = agent.call(3, "read_source", json!({ "document": "../secret.md" }));
    assert_eq!(secret["isError"], true);
}

#[test]
fn a_request_that_an_agent_cancels_stops_its_run() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.is_ready();
    let agent = Agent::connect(&server);
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let question = json!({ "question": QUESTION, "preset": "dense-rag" });
            agent.call(4, "ask", question)
        });
        let run = until("the run begins", || server.runs().pop());
        agent.notify("notifications/cancelled", json!({ "requestId": 4 }));
        assert_eq!(server.outcome(&run.run), Outcome::Stopped);
        let other = Agent {
            server: &server,
            session: agent.session.clone(),
        };
        other.end();
        asking.join().expect("an end");
    });
    server.is_ready();
}

/// Prints the time that HTTP and the Model Context Protocol add to a search.
#[test]
#[ignore = "measures; the figures are in benches/RESULTS.md"]
fn latency_of_a_search() {
    let test = TestEnvironment::new();
    for number in 0..40 {
        let text = format!("# Note {number}\n\nTam Reeve sold boat {number} in Lorbymouth.\n");
        test.write(format!("notes/note-{number}.md"), text);
    }
    let server = Server::start(&test, &["--set", "corpus.watch=off"]);
    until("the index is complete", || {
        (server.get("/v1/status").json()["is_settled"] == true).then_some(())
    });

    let paths = ragscope::config::Paths::under(test.path("in process"));
    let mut worker = ragscope::engine::Worker::new(small_settings(), paths, StopFlag::default());
    let mut ignore = |_: Record| Flow::Continue;
    worker
        .open(&[test.corpus()], false, &mut ignore)
        .expect("opened");
    worker.update(&mut ignore).expect("indexed");

    let agent = Agent::connect(&server);
    let settings = [("retriever.keep".to_owned(), "10".to_owned())];
    let mut took: [Vec<Duration>; 3] = Default::default();
    for number in 0..100 {
        let query = format!("{QUESTION} {number}");
        let started = Instant::now();
        worker
            .search(&query, &settings, &mut ignore)
            .expect("found");
        took[0].push(started.elapsed());

        let started = Instant::now();
        let found = server.done("/v1/search", &json!({ "query": query }));
        took[1].push(started.elapsed());
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(10));

        let started = Instant::now();
        let (_, found) = agent.call(number + 1, "search", json!({ "query": query }));
        took[2].push(started.elapsed());
        assert!(found["structuredContent"].is_object(), "{found}");
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
