//! Refusals of the server: it says why and what to do next, and nothing ends.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::client::{CHAT, Request, Server, ask};
use crate::support::environment::TestEnvironment;

/// Checks that requests are refused with a status and the code of a reason, and that nothing was
/// asked.
#[track_caller]
fn check_refused(server: &Server<'_>, status: u16, code: &str, requests: &[Request]) {
    for request in requests {
        let reply = server.send(request);
        let error = &reply.json()["error"];
        assert_eq!(reply.status, status, "{request:?}: {error}");
        assert_eq!(error["code"], code, "{request:?}: {error}");
        let message = error["message"].as_str().expect("what happened");
        assert!(message.contains(": "), "and what to do next: {message}");
        let has_control = reply.text.bytes().any(|byte| byte < b' ');
        assert!(!has_control, "{}", reply.text);
    }
    assert_eq!(server.runs().len(), 0, "nothing was asked");
    server.is_ready();
}

/// Returns a question with a field of its request replaced.
fn ask_with(key: &str, value: Value) -> Request {
    let mut body = ask("naive", false);
    body[key] = value;
    Request::post(CHAT, body)
}

fn question() -> Request {
    Request::post(CHAT, ask("naive", false))
}

#[test]
fn who_has_no_token_is_refused() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let requests = [
        question().without_token(),
        question().header("authorization", "Bearer wrong"),
        Request::get("/v1/status").header("authorization", "Basic eA=="),
        Request::post("/mcp", "{}").without_token(),
    ];
    check_refused(&server, 401, "invalid_api_key", &requests);
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let test = TestEnvironment::new();
    let origin = "http://chat.example";
    let server = Server::start(&test, &["--host", "notes.lan", "--origin", origin]);
    let requests = [
        Request::get("/v1/models").header("host", "evil.example"),
        Request::get("/").header("host", "evil.example"),
        Request::post("/mcp", "{}").header("host", "evil.example"),
    ];
    check_refused(&server, 403, "unknown_host", &requests);
    let evil = "http://evil.example";
    let requests = [
        question().header("origin", evil),
        question().header("origin", "http://127.0.0.1:1"),
        question().header("origin", "null"),
        Request::get("/v1/status").header("sec-fetch-site", "cross-site"),
        Request::new(&format!("OPTIONS {CHAT}")).header("origin", evil),
    ];
    check_refused(&server, 403, "cross_origin", &requests);

    let preflight = Request::new(&format!("OPTIONS {CHAT}")).without_token();
    let preflight = server.send(&preflight.header("origin", origin));
    let preflight = preflight.with_status(204);
    let allowed = preflight.header("access-control-allow-headers");
    assert!(allowed.is_some_and(|all| all.contains("authorization")));
    let models = Request::get("/v1/models");
    let allowed = server.send(&models.clone().header("origin", origin));
    assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
    server
        .send(&models.header("host", "notes.lan"))
        .with_status(200);
}

#[test]
fn requests_that_are_none_are_refused() {
    let test = TestEnvironment::new();
    test.write("secret.md", "# Secret\n");
    let server = Server::start(&test, &[]);
    let requests = [
        Request::get("/v1/models").header("host", ""),
        Request::post(CHAT, "{\"model\": "),
        Request::post(CHAT, "[1, 2]"),
        Request::post(CHAT, "{}"),
        Request::post(CHAT, "\u{1b}[31m"),
    ];
    check_refused(&server, 400, "invalid_request", &requests);
    let plain = [question().header("content-type", "text/plain")];
    check_refused(&server, 415, "unsupported_media_type", &plain);
    let huge = [Request::post(CHAT, format!("\"{}\"", "x".repeat(9 << 20)))];
    check_refused(&server, 413, "request_too_large", &huge);
    let deleted = [Request::new(&format!("DELETE {CHAT}"))];
    check_refused(&server, 405, "method_not_allowed", &deleted);

    let paths = [
        "/v1/..%2F..%2Fsecret",
        "/v1/../../secret.md",
        "/../secret.md",
        "/v2/models",
    ];
    check_refused(&server, 404, "not_found", &paths.map(Request::get));
}

#[test]
fn fields_out_of_their_range_are_refused() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let message = |content: Value| json!([{ "role": "user", "content": content }]);
    let image = json!([{ "type": "image_url", "image_url": { "url": "x" } }]);
    let search = |body: Value| Request::post("/v1/search", body);
    let requests = [
        ask_with("messages", json!([])),
        ask_with("messages", message(image)),
        ask_with("messages", message(json!(" "))),
        ask_with("n", json!(2)),
        ask_with("max_tokens", json!(0)),
        ask_with("ragscope", json!({ "generator.model": "/etc/passwd" })),
        ask_with("ragscope", json!({ "documents": { "only": ["[x"] } })),
        search(json!({ "query": " " })),
        search(json!({ "query": "a", "limit": 5000 })),
        search(json!({ "query": "a", "moon": 1 })),
    ];
    check_refused(&server, 400, "invalid_request", &requests);
    let requests = [
        ask_with("model", json!("gpt-4")),
        ask_with("model", json!("ragscope/../naive")),
    ];
    check_refused(&server, 404, "model_not_found", &requests);
    let long = [ask_with("messages", message(json!("why ".repeat(5000))))];
    check_refused(&server, 422, "refused", &long);
}

#[test]
fn a_machine_has_a_rate_whatever_its_programs_are() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    // as fast as they can be sent
    let request = |number: u32, connection: &str| {
        let request = Request::get("/v1/models").header("user-agent", &format!("eager {number}"));
        server.head(&request.header("connection", connection))
    };
    let mut stream = server.connect();
    let requests: String = (1..600)
        .map(|number| request(number, "keep-alive"))
        .collect();
    let requests = requests + &request(600, "close");
    stream.write_all(requests.as_bytes()).expect("sent");
    let mut replies = String::new();
    stream.read_to_string(&mut replies).expect("replies");
    let with = |line: &str| replies.matches(line).count();
    assert!(with("HTTP/1.1 200") >= 200, "one machine has room");
    assert!(with("HTTP/1.1 429") > 0, "and a rate");
    assert_eq!(with("retry-after: 1\r\n"), with("HTTP/1.1 429"));
}

#[test]
fn the_token_is_kept_and_may_be_left_out() {
    let test = TestEnvironment::new();
    let first = Server::start(&test, &[]);
    let token = first.token.clone().expect("a token");
    let file = test.paths().token_file();
    assert_eq!(std::fs::read_to_string(&file).expect("kept").trim(), token);
    assert!(ragscope::files::is_private(&file).expect("a file"));
    drop(first);
    assert_eq!(Server::start(&test, &[]).token, Some(token));

    let open = Server::start(&test, &["--no-token"]);
    assert_eq!(open.token, None);
    open.get("/v1/models").with_status(200);
    let other = Request::get("/v1/models").header("origin", "http://evil.example");
    open.send(&other).with_status(403);

    test.run(["serve", "notes", "--listen", &open.address])
        .exits(1)
        .reports("cannot listen on");
    test.run("serve missing --listen 127.0.0.1:0")
        .reports("cannot open missing: there is no such folder");
    test.run("serve notes --listen nowhere").exits(2);
}
