//! The interface of OpenAI, and what `ragscope serve` adds to it.

use serde_json::{Value, json};

use super::client::{CHAT, Server, ask, search};
use crate::support::environment::{QUESTION, TestEnvironment};

#[test]
fn questions_are_answered_whole_and_as_events() {
    let test = TestEnvironment::new();
    // the smaller generator cites nothing
    let reader = "ragscope-reader.Q5_0.gguf";
    let server = Server::start(&test, &["--sources", "--model", reader]);

    for preset in ["naive", "searag"] {
        let whole = server.done(CHAT, &ask(preset, false));
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
        let reply = server.post(CHAT, &request);
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
    let answer = server.done(CHAT, &follow_up);
    let run = answer["ragscope"]["run"].as_str().expect("an id");
    let records = json!(server.records(run));
    let records = records.as_array().expect("records");
    assert_eq!(records[0]["event"]["question"], "Where was he born?");
    assert_eq!(records[0]["event"]["seed"], 7);
    let rewritten = records
        .iter()
        .find(|record| record["event"]["type"] == "follow_up_rewritten");
    // a bundled generator was not trained to rewrite it
    let rewritten = &rewritten.expect("there is a thread")["event"];
    assert_eq!(rewritten["as_asked"]["why"], "untrained", "{rewritten}");

    let closed_book = server.done(CHAT, &ask("closed-book", false));
    assert_eq!(closed_book["ragscope"]["sources"], json!([]));
}

#[test]
fn a_search_is_that_of_the_command_line() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);

    let mut found = server.done("/v1/search", &search());
    let printed = test.run(["search", "notes", QUESTION, "--limit", "1", "--json"]);
    let mut printed = printed.json();
    for value in [&mut found, &mut printed] {
        value["wall_us"] = Value::Null;
    }
    assert_eq!(found, printed, "the same value as `search --json`");
}

#[test]
fn presets_are_listed_as_models() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let models = server.get("/v1/models").json();
    let names: Vec<&str> = models["data"]
        .as_array()
        .expect("models")
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    assert_eq!(names[0], "ragscope");
    assert!(names.contains(&"ragscope/searag"), "{names:?}");
    assert_eq!(
        server.get("/v1/models/ragscope/naive").json()["id"],
        "ragscope/naive"
    );
    server.get("/v1/models/gpt-4").with_status(404);
}
