//! Models behind a server: a small server of the test that behaves like each kind, and misbehaves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ragscope::config::{
    Config, EmbedderSettings, GeneratorSettings, Layers, RerankerSettings, ServerSettings,
};
use ragscope::event::{Advice, Flow, StopFlag};
use ragscope::llm::server::{
    Capabilities, Connected, ServerEmbedder, ServerReranker, connect_generator,
};
use ragscope::llm::{
    Decoding, Embedder, End, Generator, HiddenAt, LlmError, LoadedGenerator, Prompt, Reranker,
    Scorer, StopRule, Taps,
};
use serde_json::{Value, json};

use crate::support::environment::{QUESTION, TestEnvironment};

/// A request as it arrived.
#[derive(Debug, Clone)]
struct Asked {
    path: String,
    body: Value,
    key: Option<String>,
    /// Requests for this path before it.
    before: usize,
}

/// The reaction of the server to a request.
#[derive(Debug, Clone)]
enum Answer {
    Json(u16, Value),
    /// Any text as the body.
    Text(u16, String),
    /// Events of a stream, which then ends as it should.
    Events(Vec<Value>),
    /// Events, after which the connection ends in the middle of the body.
    Cut(Vec<Value>),
    /// Events, after which nothing comes until the client is gone.
    Silence(Vec<Value>),
    /// The event again and again, until the client is gone.
    Endless(Value),
}

#[derive(Default)]
struct Seen {
    asked: Mutex<Vec<Asked>>,
    /// Requests in progress, and the most there were.
    now: AtomicUsize,
    most: AtomicUsize,
    /// Connections that the client closed in the middle of an answer.
    closed: AtomicUsize,
    has_ended: AtomicBool,
}

/// A server that answers until it is dropped.
struct Server {
    url: String,
    seen: Arc<Seen>,
}

impl Server {
    fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&server.seen);
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if seen.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || {
                    // a client that is gone ends the exchange
                    if serve(stream, &seen, &*answer).is_err() {
                        seen.closed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        server
    }

    fn asked(&self, path: &str) -> Vec<Asked> {
        let asked = self.seen.asked.lock().expect("no panic");
        asked
            .iter()
            .filter(|one| one.path == path)
            .cloned()
            .collect()
    }

    fn closed(&self) -> usize {
        self.seen.closed.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.seen.has_ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &Seen,
    answer: &(dyn Fn(&Asked) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut key) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "authorization" => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut asked = Asked {
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        path,
        key,
        before: 0,
    };
    {
        let mut all = seen.asked.lock().expect("no panic");
        asked.before = all.iter().filter(|one| one.path == asked.path).count();
        all.push(asked.clone());
    }

    let now = seen.now.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most.fetch_max(now, Ordering::SeqCst);
    let sent = send(&mut stream, &answer(&asked));
    seen.now.fetch_sub(1, Ordering::SeqCst);
    sent
}

fn send(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let whole = |stream: &mut TcpStream, status: u16, body: &str| {
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let events = |stream: &mut TcpStream, events: &[Value]| {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        )?;
        events.iter().try_for_each(|event| chunk(stream, event))
    };
    match answer {
        Answer::Json(status, value) => whole(stream, *status, &value.to_string()),
        Answer::Text(status, text) => whole(stream, *status, text),
        Answer::Events(all) => {
            events(stream, all)?;
            let done = "data: [DONE]\n\n";
            write!(stream, "{:x}\r\n{done}\r\n0\r\n\r\n", done.len())
        }
        Answer::Cut(all) => events(stream, all),
        Answer::Silence(all) => {
            events(stream, all)?;
            // ends when the client closes the connection
            let mut nothing = [0];
            let _closed = stream.read(&mut nothing)? == 0;
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        Answer::Endless(event) => {
            events(stream, &[])?;
            loop {
                chunk(stream, event)?;
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn chunk(stream: &mut TcpStream, event: &Value) -> std::io::Result<()> {
    let text = format!("data: {event}\n\n");
    write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
    stream.flush()
}

/// The probabilities of a token: its own, and those of the most likely ones.
fn likely(token: &str, id: i32, top: &[(&str, i32, f32)]) -> Value {
    let one = |token: &str, id: i32, p: f32| json!({"id": id, "token": token, "bytes": token.as_bytes(), "logprob": p.ln()});
    let own = top.iter().find(|(_, other, _)| *other == id);
    let mut value = one(token, id, own.map_or(0.25, |(_, _, p)| *p));
    value["top_logprobs"] = top
        .iter()
        .map(|(token, id, p)| one(token, *id, *p))
        .collect();
    value
}

/// The words of the answer, as tokens with a space in front.
const WORDS: [&str; 5] = [" Tam", " Reeve", " comes", " from", " Lorbymouth."];

fn word(at: usize) -> Value {
    likely(
        WORDS[at],
        at as i32,
        &[(WORDS[at], at as i32, 0.5), (" other", 99, 0.25)],
    )
}

/// The number of a token: its place in [`WORDS`], or a hash.
fn number(text: &str) -> i32 {
    let known = WORDS.iter().position(|word| *word == text);
    let hash = |text: &str| {
        text.bytes().fold(7_i32, |hash, byte| {
            (hash * 31 + i32::from(byte)) % 1_000_003
        })
    };
    known.map_or_else(|| 100 + hash(text), |at| at as i32)
}

/// Splits a text into words with the space in front of them.
fn tokens(text: &str) -> Vec<i32> {
    let mut starts: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    starts.insert(0, 0);
    starts.push(text.len());
    starts.dedup();
    starts
        .windows(2)
        .map(|pair| number(&text[pair[0]..pair[1]]))
        .collect()
}

/// A server that behaves like llama-server, with a vocabulary of whole words.
fn native(asked: &Asked) -> Answer {
    match asked.path.as_str() {
        "/v1/models" => Answer::Json(
            200,
            json!({"data": [{"id": "words", "owned_by": "llamacpp",
            "meta": {"n_embd": 64, "n_params": 1000, "n_ctx": 4096}}]}),
        ),
        "/props" => Answer::Json(
            200,
            json!({
            "default_generation_settings": {"n_ctx": 4096}, "total_slots": 3, "bos_token": "<s>",
            "model_path": "/models/words.gguf", "model_ftype": "F16", "build_info": "b1"}),
        ),
        "/apply-template" => {
            let mut text = String::new();
            for message in asked.body["messages"].as_array().expect("messages") {
                let (role, content) = (&message["role"], &message["content"]);
                text += &format!(
                    "<{}>{}</>",
                    role.as_str().expect("a role"),
                    content.as_str().expect("a text").trim()
                );
            }
            Answer::Json(200, json!({"prompt": text + "<assistant>"}))
        }
        "/tokenize" => {
            let content = asked.body["content"].as_str().expect("a text");
            let mut tokens = tokens(content);
            if asked.body["add_special"] == json!(true) {
                tokens.insert(0, 1);
            }
            Answer::Json(200, json!({"tokens": tokens}))
        }
        "/completion" => {
            let prompt = asked.body["prompt"].as_array().expect("tokens").len();
            let timings = json!({"cache_n": prompt - 1});
            if let Some(forced) = asked
                .body
                .pointer("/logit_bias/0/0")
                .and_then(Value::as_i64)
            {
                let id = forced as i32;
                return Answer::Json(
                    200,
                    json!({"content": "x", "stop": true, "stop_type": "limit",
                    "completion_probabilities": [likely("x", id, &[])], "timings": timings}),
                );
            }
            if asked.body["stream"] != json!(true) {
                let top = [("yes", number("yes"), 0.6), ("no", number("no"), 0.2)];
                let one = json!({"content": "yes", "stop": true, "stop_type": "limit", "timings": timings,
                    "completion_probabilities": [likely("yes", number("yes"), &top)]});
                return Answer::Json(200, one);
            }
            let most = asked.body["n_predict"].as_u64().expect("a limit") as usize;
            let mut events: Vec<Value> = (0..WORDS.len().min(most))
                .map(|at| json!({"content": WORDS[at], "stop": false, "completion_probabilities": [word(at)]}))
                .collect();
            let kind = if most < WORDS.len() { "limit" } else { "eos" };
            events.push(
                json!({"content": "", "stop": true, "stop_type": kind, "tokens_evaluated": prompt,
                "tokens_predicted": events.len(), "timings": timings}),
            );
            Answer::Events(events)
        }
        _ => Answer::Json(404, json!({"error": {"message": "File Not Found"}})),
    }
}

/// A server with the interface of OpenAI.
fn chat(asked: &Asked) -> Answer {
    match asked.path.as_str() {
        "/v1/models" => Answer::Json(
            200,
            json!({"data": [{"id": "words", "owned_by": "someone"}]}),
        ),
        "/v1/chat/completions" => {
            let usage = json!({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}});
            if asked.body["stream"] != json!(true) {
                let top = [("Yes", 1, 0.6), ("no", 2, 0.2), ("The", 3, 0.1)];
                let one = json!({"message": {"content": "Yes"}, "finish_reason": "length",
                    "logprobs": {"content": [likely("Yes", 1, &top)]}});
                return Answer::Json(200, json!({"choices": [one], "usage": usage}));
            }
            let mut events: Vec<Value> = (0..WORDS.len())
                .map(|at| json!({"choices": [{"delta": {"content": WORDS[at]}, "logprobs": {"content": [word(at)]}}]}))
                .collect();
            events.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
            events.push(json!({"choices": [], "usage": usage}));
            Answer::Events(events)
        }
        _ => Answer::Text(404, "not found".to_owned()),
    }
}

fn settings(url: &str) -> GeneratorSettings {
    GeneratorSettings {
        url: url.to_owned(),
        ..Config::default().generator
    }
}

fn patient(seconds: u32) -> ServerSettings {
    ServerSettings {
        timeout_seconds: seconds,
        ..Config::default().server
    }
}

fn connect(server: &Server) -> Box<dyn LoadedGenerator> {
    connect_with(server, &patient(20), &StopFlag::default())
}

fn connect_with(
    server: &Server,
    patience: &ServerSettings,
    stop: &StopFlag,
) -> Box<dyn LoadedGenerator> {
    let connected = try_connect(&settings(&server.url), patience, stop);
    connected.expect("a generator").generator
}

fn try_connect(
    settings: &GeneratorSettings,
    patience: &ServerSettings,
    stop: &StopFlag,
) -> Result<Connected, LlmError> {
    connect_generator(settings, patience, stop)
}

fn capabilities(server: &Server) -> Capabilities {
    let connected = try_connect(&settings(&server.url), &patient(20), &StopFlag::default());
    connected.expect("a generator").capabilities
}

fn greedy(max_tokens: u32, stops: &[&str]) -> Decoding {
    Decoding {
        stop: StopRule {
            texts: stops.iter().map(|text| (*text).to_owned()).collect(),
        },
        ..Decoding::greedy(max_tokens, 7)
    }
}

const NO_OBSERVER: fn(usize, &ragscope::llm::Token) -> Flow = |_, _| Flow::Continue;

#[test]
fn both_interfaces_give_text_and_the_uncertainty_of_its_tokens() {
    for (kind, answer) in [
        ("llama-server", native as fn(&Asked) -> Answer),
        ("OpenAI", chat),
    ] {
        let server = Server::start(answer);
        let found = capabilities(&server);
        assert!(found.interface.contains(kind));
        let mut generator = connect(&server);
        assert!(generator.can_share_prefixes() && !generator.has_inside());
        assert!(server.url.contains(&generator.card().device));
        assert!(generator.card().server.contains("log-probabilities"));

        for (decoding, text, end) in [
            (
                greedy(20, &[]),
                " Tam Reeve comes from Lorbymouth.",
                End::Turn,
            ),
            (greedy(2, &[]), " Tam Reeve", End::MaxTokens),
            (greedy(20, &[" from"]), " Tam Reeve comes", End::StopRule),
            (
                greedy(20, &["s. Nothing"]),
                " Tam Reeve comes from Lorbymouth.",
                End::Turn,
            ),
            (greedy(0, &[]), "", End::MaxTokens),
        ] {
            let mut shown = String::new();
            let prompt = Prompt::user("Where?");
            let completions = generator
                .complete(&[prompt], &decoding, &mut |_, token| {
                    shown.push_str(&token.text);
                    Flow::Continue
                })
                .expect("a completion");
            let completion = &completions[0];
            assert_eq!((&*completion.text, completion.end), (text, end), "{kind}");
            assert_eq!(shown, text, "{kind}");
            for token in &completion.tokens {
                // 0.5, 0.25, and a rest of 0.25
                assert!((token.entropy - 1.5 * std::f32::consts::LN_2).abs() < 1e-4);
                assert!((token.logprob - 0.5_f32.ln()).abs() < 1e-4);
            }
        }
        let prompts = vec![Prompt::user("Where?"); 5];
        let completions = generator
            .complete(&prompts, &greedy(20, &[]), &mut { NO_OBSERVER })
            .expect("completions");
        assert_eq!(completions.len(), 5);
        assert!(
            completions
                .iter()
                .all(|one| one.text.ends_with("Lorbymouth."))
        );
        assert_eq!(generator.usage().tokens_generated, 25);
        assert!(generator.usage().prompt_tokens_reused > 0);
    }
}

#[test]
fn thoughts_in_front_of_the_text_of_a_chat_are_no_answer() {
    let server = Server::start(|asked| match chat(asked) {
        Answer::Events(events) => {
            let thought = ["<think>", "\nHm", "\n</think>", "\n\n"];
            let event = |text: &&str| {
                let likely = likely(text, 7, &[(text, 7, 0.5)]);
                json!({"choices": [{"delta": {"content": text}, "logprobs": {"content": [likely]}}]})
            };
            Answer::Events(thought.iter().map(event).chain(events).collect())
        }
        other => other,
    });
    let mut generator = connect(&server);

    let prompts = [Prompt::user("Where?")];
    let completions = generator
        .complete(&prompts, &greedy(20, &[]), &mut { NO_OBSERVER })
        .expect("a completion");
    assert_eq!(
        completions[0].text.trim(),
        "Tam Reeve comes from Lorbymouth."
    );
    assert_eq!(completions[0].thoughts.trim(), "Hm");
}

#[test]
fn a_reply_is_continued_and_the_prompt_is_that_of_the_template() {
    let server = Server::start(native);
    let generator = connect(&server);
    let prompt = Prompt {
        system: "Be brief.".to_owned(),
        user: "Where?".to_owned(),
        reply: " Tam".to_owned(),
    };
    let rendered = generator.render(&prompt).expect("a prompt");
    assert_eq!(
        rendered.text,
        "<system>Be brief.</><user>Where?</><assistant> Tam"
    );
    let hostile = Prompt::user("a </> b");
    generator.render(&hostile).expect("a prompt");
    let parsed = |text: &str| {
        let asked = server.asked("/tokenize");
        let found = asked.iter().find(|one| one.body["content"] == json!(text));
        found.map(|one| one.body["parse_special"].clone())
    };
    assert_eq!(
        parsed("a </> b"),
        Some(json!(false)),
        "a document writes no turn mark"
    );
    assert_eq!(parsed("</><assistant>"), Some(json!(true)));

    let server = Server::start(chat);
    let mut generator = connect(&server);
    generator
        .complete(&[prompt], &greedy(20, &[]), &mut { NO_OBSERVER })
        .expect("a completion");
    let asked = server.asked("/v1/chat/completions");
    let messages = &asked.last().expect("a request").body["messages"];
    let roles: Vec<&Value> = messages
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["role"])
        .collect();
    assert_eq!(
        roles,
        [&json!("system"), &json!("user"), &json!("assistant")]
    );
    assert_eq!(messages[2]["content"], json!(" Tam"));
}

#[test]
fn plain_text_ends_where_another_turn_would_begin() {
    for (written, reply) in [
        ([" Tam", " Reeve.", "\n\nContext", ":"], " Tam Reeve."),
        ([" Tam", "\nReeve.", "\n", "Question: Who?"], " Tam\nReeve."),
        (["\n\n", " Tam", ".\n", "Questions"], "\n\n Tam.\nQuestions"),
    ] {
        let server = Server::start(move |asked| {
            if asked.path != "/completion" || asked.body["stream"] != json!(true) {
                return native(asked);
            }
            let token = |text: &str| likely(text, number(text), &[(text, number(text), 0.5)]);
            let event = |text: &str| json!({"content": text, "stop": false, "completion_probabilities": [token(text)]});
            let mut events: Vec<Value> = written.into_iter().map(event).collect();
            events.push(json!({"content": "", "stop": true, "stop_type": "eos"}));
            Answer::Events(events)
        });
        let settings = GeneratorSettings {
            chat_template: "none".to_owned(),
            ..settings(&server.url)
        };
        let connected = try_connect(&settings, &patient(20), &StopFlag::default());
        let mut generator = connected.expect("a generator").generator;
        assert!(generator.card().has_plain_prompts());
        let prompt = Prompt {
            system: "Be brief.".to_owned(),
            user: "Where?".to_owned(),
            reply: "Answer:".to_owned(),
        };
        let rendered = generator.render(&prompt).expect("a prompt");
        assert_eq!(rendered.text, "Be brief.\n\nWhere?\nAnswer:");
        let replies = generator
            .complete(&[prompt], &greedy(20, &[]), &mut { NO_OBSERVER })
            .expect("a completion");
        assert_eq!(replies[0].text, reply);
    }
}

#[test]
fn labels_are_read_from_the_most_likely_tokens() {
    for answer in [native as fn(&Asked) -> Answer, chat] {
        let server = Server::start(answer);
        let labelled = connect(&server)
            .classify(
                &[Prompt::user("Wet?"), Prompt::user("Dry?")],
                &["yes", "no"],
            )
            .expect("labels");
        assert_eq!(labelled.len(), 2);
        for one in labelled {
            assert!((one.shares[0] - 0.75).abs() < 1e-3, "{one:?}");
            assert!((one.mass - 0.8).abs() < 1e-3, "{one:?}");
        }
    }
}

#[test]
fn given_text_is_scored_token_by_token() {
    let server = Server::start(native);
    let mut generator = connect(&server);
    let scores = generator
        .score(&[Prompt::user("Where?")], &["Tam Reeve"])
        .expect("scores");
    assert_eq!(scores, vec![vec![0.25_f32.ln(); 2]]);

    let server = Server::start(chat);
    assert!(!capabilities(&server).given_text);
    let error = connect(&server)
        .score(&[Prompt::user("Where?")], &["Tam"])
        .expect_err("no scores");
    assert!(
        error
            .advice()
            .is_some_and(|advice| advice.contains("utility.kind")),
        "{error}"
    );
}

#[test]
fn what_reads_the_inside_of_a_model_names_the_setting() {
    let server = Server::start(native);
    let mut generator = connect(&server);
    let hidden = Taps {
        hidden: vec![HiddenAt::FirstToken],
        attention: Vec::new(),
    };
    let attention = Taps {
        hidden: Vec::new(),
        attention: vec![vec![0..1]],
    };
    for (taps, setting) in [(hidden, "gate.kind"), (attention, "answer.attribution")] {
        let error = generator
            .complete_tapped(&[Prompt::user("Where?")], &greedy(4, &[]), &taps, &mut {
                NO_OBSERVER
            })
            .expect_err("no inside");
        assert!(error.to_string().starts_with("the model server"), "{error}");
        assert!(
            error
                .advice()
                .is_some_and(|advice| advice.contains(setting)),
            "{error}"
        );
    }
}

/// A server that behaves like `kind` but for streamed completions.
fn with_streams(stream: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Server {
    Server::start(move |asked| {
        let is_first = asked.body["n_predict"] == json!(1);
        if asked.body["stream"] == json!(true) && !is_first {
            stream(asked)
        } else {
            native(asked)
        }
    })
}

#[test]
fn a_server_that_misbehaves_costs_the_call_with_the_reason() {
    let event =
        || json!({"content": WORDS[0], "stop": false, "completion_probabilities": [word(0)]});
    let bare = || json!({"content": " Tam", "stop": false});
    let cases: Vec<(Answer, &str)> = vec![
        (Answer::Cut(vec![event()]), "in the middle of an answer"),
        (Answer::Events(vec![event()]), "in the middle of an answer"),
        (Answer::Silence(vec![event()]), "sent nothing for 1 s"),
        (Answer::Silence(vec![]), "sent nothing for 1 s"),
        (Answer::Events(vec![bare()]), "no log-probabilities"),
        (
            Answer::Events(vec![json!({"error": {"message": "out of memory"}})]),
            "out of memory",
        ),
        (
            Answer::Events(vec![json!({"content": 7})]),
            "cannot be read",
        ),
        (
            Answer::Json(400, json!({"error": {"message": "too long"}})),
            "too long",
        ),
        (Answer::Json(401, json!({})), "refuses the key"),
        (
            Answer::Json(429, json!({})),
            "too busy (HTTP 429, after 4 attempts)",
        ),
        (
            Answer::Json(500, json!({"error": {"message": "slot failed"}})),
            "slot failed",
        ),
        (Answer::Json(503, json!({})), "too busy"),
        (Answer::Text(307, String::new()), "HTTP 307"),
    ];
    for (answer, said) in cases {
        let shown = format!("{answer:?}");
        let server = with_streams(move |_| answer.clone());
        let stop = StopFlag::default();
        let mut generator = connect_with(&server, &patient(1), &stop);
        let error = generator
            .complete(&[Prompt::user("Where?")], &greedy(20, &[]), &mut {
                NO_OBSERVER
            })
            .expect_err(&shown);
        let text = error.to_string();
        assert!(text.contains(said), "{shown}: {text}");
        assert!(
            text.contains(server.url.trim_start_matches("http://")),
            "{text}"
        );
        assert!(error.advice().is_some());
    }
}

#[test]
fn a_server_that_cannot_be_used_is_refused_at_once() {
    type Behaviour = fn(&Asked) -> Answer;
    let web_page: Behaviour = |_| Answer::Text(200, "<html>hello</html>".to_owned());
    let broken: Behaviour = |_| Answer::Text(200, "{\"data\": [".to_owned());
    let keyed: Behaviour = |_| Answer::Json(401, json!({}));
    let silent: Behaviour = |asked| match asked.path.as_str() {
        "/v1/chat/completions" => {
            Answer::Json(200, json!({"choices": [{"message": {"content": "Yes"}}]}))
        }
        _ => chat(asked),
    };
    let strict: Behaviour = |asked| {
        if asked.body["top_logprobs"] == json!(20) {
            Answer::Json(
                400,
                json!({"error": {"message": "top_logprobs must be at most 5"}}),
            )
        } else {
            chat(asked)
        }
    };
    for (behaviour, model, said) in [
        (web_page, "", "a web page"),
        (broken, "", "cannot be read"),
        (keyed, "", "refuses the key"),
        (silent, "", "no log-probabilities"),
        (
            native as Behaviour,
            "other",
            "has no model `other`; it lists words",
        ),
        (strict, "words", ""),
    ] {
        let server = Server::start(behaviour);
        let settings = GeneratorSettings {
            served_model: model.to_owned(),
            ..settings(&server.url)
        };
        let connected = try_connect(&settings, &patient(5), &StopFlag::default());
        match connected.map(|connected| connected.capabilities) {
            Ok(capabilities) => {
                assert!(said.is_empty());
                assert_eq!(
                    capabilities.likely_tokens, 3,
                    "what it gives, whatever was asked for"
                );
            }
            Err(error) => assert!(
                !said.is_empty() && error.to_string().contains(said),
                "{error}"
            ),
        }
    }
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|one| one.local_addr())
        .expect("a port");
    let closed = settings(&format!("http://{port}"));
    let error = try_connect(&closed, &patient(5), &StopFlag::default())
        .err()
        .expect("nobody listens");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    for url in ["127.0.0.1:80", "http://me:pass@127.0.0.1:80"] {
        let error = try_connect(&settings(url), &patient(5), &StopFlag::default())
            .err()
            .expect("no address");
        assert!(matches!(error, LlmError::Failed(_)), "{error}");
    }
}

#[test]
fn a_busy_server_is_asked_again() {
    let server = with_streams(|asked| {
        let refusals = [429, 500, 503];
        // the first completion of all learns how replies begin
        match refusals.get(asked.before.saturating_sub(3)) {
            Some(status) => Answer::Json(*status, json!({})),
            None => native(asked),
        }
    });
    let stop = StopFlag::default();
    let mut generator = connect_with(&server, &patient(20), &stop);
    let before = server.asked("/completion").len();
    let completions = generator
        .complete(&[Prompt::user("Where?")], &greedy(20, &[]), &mut {
            NO_OBSERVER
        })
        .expect("the fourth attempt");
    assert!(completions[0].text.ends_with("Lorbymouth."));
    assert_eq!(server.asked("/completion").len() - before, 4);
}

/// Waits for something that another thread does.
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        thread::yield_now();
    }
}

#[test]
fn a_stop_closes_the_connections() {
    let event = json!({"content": WORDS[0], "stop": false, "completion_probabilities": [word(0)]});
    let endless = event.clone();
    let server = with_streams(move |_| Answer::Endless(endless.clone()));
    let mut generator = connect(&server);
    let mut seen = 0;
    let completions = generator
        .complete(
            &vec![Prompt::user("Where?"); 3],
            &greedy(1_000_000, &[]),
            &mut |_, _| {
                seen += 1;
                if seen == 10 {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            },
        )
        .expect("the text so far");
    assert!(completions.iter().all(|one| one.end == End::Stopped));
    assert_eq!(
        completions
            .iter()
            .map(|one| one.tokens.len())
            .sum::<usize>(),
        10
    );
    // those that asked what the server is are closed later, maybe at once
    wait_for("three closed connections", || server.closed() >= 3);

    // the user's stop, while the server says nothing
    let server = with_streams(move |_| Answer::Silence(vec![event.clone()]));
    let stop = StopFlag::default();
    const PATIENCE_SECONDS: u32 = 600;
    let mut generator = connect_with(&server, &patient(PATIENCE_SECONDS), &stop);
    let started = Instant::now();
    let completions = generator
        .complete(&[Prompt::user("Where?")], &greedy(20, &[]), &mut |_, _| {
            stop.stop();
            Flow::Continue
        })
        .expect("the text so far");
    assert_eq!(
        (&*completions[0].text, completions[0].end),
        (" Tam", End::Stopped)
    );
    let patience = Duration::from_secs(PATIENCE_SECONDS.into());
    assert!(started.elapsed() < patience, "it waited for the server");
    wait_for("a closed connection", || server.closed() >= 1);
}

#[test]
fn requests_run_side_by_side_up_to_the_limit() {
    const PARALLEL: usize = 3;
    // answers only when that many requests are in progress
    let together = Barrier::new(PARALLEL);
    let server = with_streams(move |asked| {
        together.wait();
        native(asked)
    });
    let limited = ServerSettings {
        parallel: PARALLEL as u32,
        ..patient(20)
    };
    let stop = StopFlag::default();
    let mut generator = connect_with(&server, &limited, &stop);
    generator
        .complete(&vec![Prompt::user("Where?"); 12], &greedy(20, &[]), &mut {
            NO_OBSERVER
        })
        .expect("completions");
    assert_eq!(server.seen.most.load(Ordering::SeqCst), PARALLEL);
    let seeds: std::collections::BTreeSet<u64> = server
        .asked("/completion")
        .iter()
        .filter(|asked| asked.body["n_predict"] == json!(20))
        .filter_map(|asked| asked.body["seed"].as_u64())
        .collect();
    assert_eq!(seeds.len(), 12, "each sample has a seed of its own");
}

fn vectors(asked: &Asked) -> Answer {
    match asked.path.as_str() {
        "/v1/models" => Answer::Json(200, json!({"data": [{"id": "nomic-embed-text-v1.5"}]})),
        "/v1/embeddings" => {
            let texts = asked.body["input"].as_array().expect("texts");
            let data: Vec<Value> = texts
                .iter()
                .enumerate()
                .rev()
                .map(|(index, text)| {
                    let length = text.as_str().expect("a text").len() as f32;
                    json!({"index": index, "embedding": [length, 1.0, 0.0]})
                })
                .collect();
            Answer::Json(200, json!({"data": data}))
        }
        "/v1/rerank" => {
            let texts = asked.body["documents"].as_array().expect("texts");
            let results: Vec<Value> = texts
                .iter()
                .enumerate()
                .rev()
                .map(|(index, text)| json!({"index": index, "relevance_score": if text == "good" { 0.9 } else { 0.1 }}))
                .collect();
            Answer::Json(200, json!({"results": results}))
        }
        _ => Answer::Json(404, json!({})),
    }
}

#[test]
fn an_embedder_and_a_reranker_are_asked_in_batches() {
    let server = Server::start(vectors);
    let stop = StopFlag::default();
    let embedder_settings = EmbedderSettings {
        url: format!("{}/v1", server.url),
        ..Config::default().embedder
    };
    let mut embedder =
        ServerEmbedder::connect(&embedder_settings, &patient(20), &stop).expect("an embedder");
    assert_eq!(embedder.card().width, 3);
    assert_eq!(embedder.card().prefixes.query, "search_query: ");
    let texts: Vec<String> = (1..100).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = embedder.embed(&texts).expect("vectors");
    assert_eq!(found.len(), 99);
    for (text, vector) in texts.iter().zip(&found) {
        let length = (text.len() + "search_document: ".len()) as f32;
        assert!((vector[0] / vector[1] - length).abs() < 1e-2, "in order");
        assert!(
            (vector.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5,
            "of length 1"
        );
    }

    let reranker_settings = RerankerSettings {
        url: server.url.clone(),
        ..Config::default().reranker
    };
    let mut reranker =
        ServerReranker::connect(&reranker_settings, &patient(20), &stop).expect("a reranker");
    assert_eq!(
        reranker
            .rerank("which?", &["bad", "good", "bad"])
            .expect("scores"),
        [0.1, 0.9, 0.1]
    );

    let server = Server::start(native);
    let embedder_settings = EmbedderSettings {
        url: server.url.clone(),
        ..embedder_settings
    };
    let error = ServerEmbedder::connect(&embedder_settings, &patient(5), &stop)
        .err()
        .expect("no vectors");
    assert!(error.to_string().contains("gives no vectors"), "{error}");
}

#[test]
fn the_program_answers_by_a_server_and_keeps_its_key_to_itself() {
    let server = Server::start(native);
    let test = TestEnvironment::new();
    let notes = test.corpus();
    let notes = notes.to_str().expect("UTF-8");
    let url = format!("generator.url={}", server.url);
    let run = |arguments: &[&str]| {
        let output = test
            .command(arguments)
            .args(["--set", &url, "--set", "generator.key=env:MODEL_KEY"])
            .env("MODEL_KEY", "s3cret-key")
            .output()
            .expect("started");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };

    let (code, stdout, stderr) = run(&["ask", notes, QUESTION]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains("Tam Reeve comes from Lorbymouth."),
        "{stdout}"
    );
    for attribution in ["answer.attribution=on", "answer.attribution=causal"] {
        let preset = ["--preset", "searag", "--set", attribution];
        let asked = [&["ask", notes, QUESTION, "--json"][..], &preset].concat();
        let (code, stdout, stderr) = run(&asked);
        assert_eq!(code, Some(0), "{stdout} {stderr}");
        for said in [
            "which the model server",
            "answer.attribution is off",
            "Lorbymouth",
            "log-probabilities (100 per token)",
        ] {
            assert!(stdout.contains(said), "{said}: {stdout}");
        }
    }
    let (_, doctor, _) = run(&["doctor"]);
    let line = doctor.lines().find(|line| line.contains("generator"));
    assert!(
        line.is_some_and(|line| line.contains("llama-server b1: log-probabilities")),
        "{doctor}"
    );

    let asked = server.asked("/completion");
    assert!(!asked.is_empty());
    assert!(
        asked
            .iter()
            .all(|one| one.key.as_deref() == Some("Bearer s3cret-key"))
    );
    let mut files = vec![test.folder().to_owned()];
    let mut records = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(&path)
                    .expect("a folder")
                    .map(|entry| entry.expect("an entry").path()),
            );
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file");
        records += usize::from(path.extension().is_some_and(|ending| ending == "jsonl"));
        let has_key = bytes.windows(10).any(|part| part == b"s3cret-key");
        assert!(!has_key, "{}", path.display());
    }
    assert!(records >= 2 && !stdout.contains("s3cret"));

    test.run([
        "ask",
        notes,
        QUESTION,
        "--set",
        "generator.url=http://127.0.0.1:1",
    ])
    .exits(1)
    .reports("cannot be reached");
    let pasted = test
        .run([
            "ask",
            notes,
            QUESTION,
            "--set",
            &url,
            "--set",
            "generator.key=sk-s3cret",
        ])
        .exits(1);
    assert!(
        !pasted.stderr.contains("s3cret") && pasted.stderr.contains("env:NAME"),
        "{}",
        pasted.stderr
    );
}

/// The bundled generator, embedder and reranker behind a real llama-server against the same files
/// in this process. Start three of them with `-m FILE --host 127.0.0.1 --port PORT`, the second
/// with `--embeddings`, the third with `--reranking`, and name them in
/// `RAGSCOPE_LLAMA_SERVERS=URL,URL,URL`.
#[test]
#[ignore = "needs three running llama-servers"]
fn a_real_llama_server_gives_what_this_process_gives() {
    let urls = std::env::var("RAGSCOPE_LLAMA_SERVERS").expect("RAGSCOPE_LLAMA_SERVERS");
    let urls: Vec<&str> = urls.split(',').collect();
    let stop = StopFlag::default();
    let defaults = Layers::defaults().config().expect("defaults");
    let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    let runtime = crate::llm::runtime();
    let mut here = ragscope::llm::load_generator(
        &runtime,
        &models.join(&defaults.generator.model),
        &defaults.generator,
        &stop,
        &mut |_| Flow::Continue,
    )
    .expect("the generator");
    let mut there = try_connect(&settings(urls[0]), &patient(120), &stop)
        .expect("the server")
        .generator;
    println!("{}", there.card().server);
    assert_eq!(there.reply_start(), here.reply_start());
    assert_eq!(there.card().practice, here.card().practice);

    let prompts: Vec<Prompt> = [
        "Context:\n[1] The lighthouse on Sherk Island is 40 metres tall.\n[2] Mara Voss keeps the lighthouse. It was built in 1871.\nAnswer the question step by step, one short sentence at a time, and finish with \"So the answer is\".\nQuestion: Who keeps the lighthouse?",
        "Is <|im_end|> a word? Answer yes or no.",
    ]
    .map(Prompt::user)
    .to_vec();
    for prompt in &prompts {
        assert_eq!(
            there.render(prompt).expect("there"),
            here.render(prompt).expect("here")
        );
    }
    let ours = here
        .complete(&prompts, &greedy(24, &[]), &mut { NO_OBSERVER })
        .expect("here");
    let theirs = there
        .complete(&prompts, &greedy(24, &[]), &mut { NO_OBSERVER })
        .expect("there");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!((&ours.text, ours.end), (&theirs.text, theirs.end));
        for (ours, theirs) in ours.tokens.iter().zip(&theirs.tokens) {
            assert_eq!(ours.id, theirs.id);
            assert!(
                (ours.logprob - theirs.logprob).abs() < 0.05,
                "{ours:?} {theirs:?}"
            );
            // the server gives the most likely tokens alone: its entropy is a lower bound
            let missing = ours.entropy - theirs.entropy;
            assert!(-0.05 < missing && missing < 0.3, "{ours:?} {theirs:?}");
        }
    }
    let ours = here.classify(&prompts, &["yes", "no"]).expect("here");
    let theirs = there.classify(&prompts, &["yes", "no"]).expect("there");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        println!("{ours:?} {theirs:?}");
        assert!(
            (ours.shares[0] - theirs.shares[0]).abs() < 0.05,
            "{ours:?} {theirs:?}"
        );
    }
    let texts = ["Mara Voss", "no"];
    let ours = here.score(&prompts, &texts).expect("here");
    let theirs = there.score(&prompts, &texts).expect("there");
    for (ours, theirs) in ours.iter().flatten().zip(theirs.iter().flatten()) {
        assert!((ours - theirs).abs() < 0.1, "{ours} {theirs}");
    }

    let texts = [
        "Mara Voss keeps the lighthouse.",
        "The ferry leaves at nine.",
    ];
    let mut ours = ragscope::llm::load_embedder(
        &runtime,
        &models.join(&defaults.embedder.model),
        &defaults.embedder,
        &stop,
        &mut |_| Flow::Continue,
    )
    .expect("the embedder");
    let embedder = EmbedderSettings {
        url: urls[1].to_owned(),
        ..defaults.embedder.clone()
    };
    let mut theirs = ServerEmbedder::connect(&embedder, &patient(120), &stop).expect("the server");
    let pairs = ours
        .embed(&texts)
        .expect("here")
        .into_iter()
        .zip(theirs.embed(&texts).expect("there"));
    for (ours, theirs) in pairs {
        let cosine: f32 = ours.iter().zip(&theirs).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{cosine}");
    }

    let reranker = RerankerSettings {
        url: urls[2].to_owned(),
        ..defaults.reranker.clone()
    };
    let load = ragscope::llm::RerankerLoad::new(&defaults, "ragscope-reranker.Q5_0.gguf");
    let mut ours = ragscope::llm::load_reranker(
        &runtime,
        &models.join("ragscope-reranker.Q5_0.gguf"),
        &load,
        &stop,
        &mut |_| Flow::Continue,
    )
    .expect("the reranker");
    let mut theirs = ServerReranker::connect(&reranker, &patient(120), &stop).expect("the server");
    let question = "Who keeps the lighthouse?";
    let ours = ours.rerank(question, &texts).expect("here");
    let theirs = theirs.rerank(question, &texts).expect("there");
    println!("{ours:?} {theirs:?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!((ours - theirs).abs() < 0.05, "{ours} {theirs}");
    }
}
