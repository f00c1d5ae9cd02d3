//! The generator of another ragscope, which is a process of this program on loopback, against the same model here.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use ragscope::config::{Config, EmbedderSettings, GeneratorSettings, ServerSettings};
use ragscope::event::{Advice, Event, Flow, RunEvent, StopFlag};
use ragscope::llm::isolated::relay;
use ragscope::llm::server::{Connected, ServerEmbedder, connect_generator};
use ragscope::llm::{
    Embedder, End, Generator, Layers, LlmError, LoadedGenerator, Tap, load_generator,
};
use ragscope::process::frame;
use serde_json::{Value, json};

use super::rpc::{Said, assert_same, is_near};
use super::{
    bundled, embedder, exact_file, exact_settings, generator_settings, greedy, median,
    next_command, question, runtime, sampled, tokens_per_second,
};
use crate::program::{Program, QUESTION};
use crate::serve::Server;

/// The same sums in the same order, on both sides.
const ONE_THREAD: &str = "generator.threads=1";

/// The settings of a generator on a server, with its token.
fn of(server: &Server<'_>) -> GeneratorSettings {
    GeneratorSettings {
        url: format!("http://{}/v1", server.address),
        key: key(server),
        ..Config::default().generator
    }
}

fn key(server: &Server<'_>) -> String {
    format!("file:{}", server.program.paths().token_file().display())
}

fn impatient(retries: u32) -> ServerSettings {
    ServerSettings {
        timeout_seconds: 60,
        retries,
        ..Config::default().server
    }
}

fn connect(server: &Server<'_>, stop: &StopFlag) -> Result<Connected, LlmError> {
    connect_generator(&of(server), &impatient(0), stop, &mut |_| Flow::Continue)
}

fn connected(server: &Server<'_>, stop: &StopFlag) -> Box<dyn LoadedGenerator> {
    connect(server, stop).expect("a generator").generator
}

#[test]
fn it_gives_what_this_process_gives() {
    let program = Program::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = exact_file(folder.path());
    let settings = GeneratorSettings {
        threads: 1,
        ..exact_settings(&generator_settings())
    };
    let model = format!("generator.model={}", file.display());
    let mut flags = vec!["--set", &model, "--set", ONE_THREAD];
    flags.extend(["--set", "generator.flash_attention=off"]);
    flags.extend(["--set", "generator.kv_cache_type=f32"]);
    let server = Server::start(&program, &flags);
    let stop = StopFlag::default();
    let mut here = load_generator(&runtime(), &file, &settings, &stop, &mut |_| Flow::Continue)
        .expect("the generator");
    let mut shares = Vec::new();
    let Connected {
        generator: mut there,
        capabilities,
        shows_key,
    } = connect_generator(&of(&server), &impatient(0), &stop, &mut |share| {
        shares.push(share);
        Flow::Continue
    })
    .expect("the generator of the server");

    assert!(capabilities.inside && there.has_inside() && !shows_key);
    assert!(!shares.is_empty(), "the load there is shown");
    let card = there.card().clone();
    assert_eq!(card.device, server.address);
    let said = "log-probabilities (of all tokens)";
    assert!(card.server.contains(said), "{}", card.server);
    let said = "log-probabilities of given text, hidden states and attention";
    assert!(card.server.contains(said), "{}", card.server);
    let own = here.card();
    assert_eq!(
        (
            card.fingerprint,
            card.layers,
            card.width,
            card.context_tokens
        ),
        (
            own.fingerprint.clone(),
            own.layers,
            own.width,
            own.context_tokens
        )
    );
    assert_eq!(there.can_share_prefixes(), here.can_share_prefixes());
    assert_eq!(there.is_attention_cheap(), here.is_attention_cheap());
    assert_eq!(there.reply_start(), here.reply_start());

    let said = Said::by(&mut *there);
    let expected = Said::by(&mut here);
    assert_same(&said.plain, &expected.plain);
    assert_same(&said.tapped, &expected.tapped);
    assert_eq!(said.tapped[0].hidden.len(), 2);
    let tokens = &said.tapped[0].completion.tokens;
    let attended: f32 = tokens[0].attention.iter().sum();
    assert!(attended > 0.1, "{attended}");
    for (there, here) in [
        (&said.labelled, &expected.labelled),
        (&said.scores, &expected.scores),
        (&said.attended, &expected.attended),
    ] {
        assert!(!there.is_empty());
        for (there, here) in there.iter().zip(here) {
            assert!(is_near(there, here, 1e-3), "{there:?} {here:?}");
        }
    }
    assert_eq!(said.rendered, expected.rendered);
    assert!(there.usage().wall_us > 0);

    let samples = vec![question("Who keeps the lighthouse?"); 3];
    let ignore = &mut |_: usize, _: &_| Flow::Continue;
    let theirs = there.complete(&samples, &sampled(12, 5), ignore);
    let ours = here.complete(&samples, &sampled(12, 5), ignore);
    let texts = |completions: Result<Vec<ragscope::llm::Completion>, LlmError>| -> Vec<String> {
        let completions = completions.expect("samples").into_iter();
        completions.map(|one| one.text).collect()
    };
    let theirs = texts(theirs);
    assert_eq!(theirs, texts(ours));
    assert!(
        theirs[0] != theirs[1] || theirs[1] != theirs[2],
        "{theirs:?}"
    );

    let width = usize::try_from(own_width(&here)).expect("a width");
    let vectors: Vec<Vec<f32>> = (0..3)
        .map(|row| (0..width).map(|at| ((row * 7 + at) as f32).sin()).collect())
        .collect();
    let theirs = there.attend_vectors(&vectors, Layers::Last).expect("there");
    let ours = here.attend_vectors(&vectors, Layers::Last).expect("here");
    assert_eq!(theirs.len(), 3);
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert!(is_near(theirs, ours, 1e-3), "{theirs:?} {ours:?}");
    }

    // an error of the model arrives as it is, and the next call is none
    let long = question(&"word ".repeat(100_000));
    for generator in [&mut *there, &mut here as &mut dyn LoadedGenerator] {
        let error = generator.classify(std::slice::from_ref(&long), &["yes"]);
        assert!(
            matches!(error, Err(LlmError::PromptTooLong { .. })),
            "{error:?}"
        );
        let labelled = generator.classify(&[question("Who?")], &["yes", "no"]);
        assert_eq!(labelled.expect("labels").len(), 1);
    }
}

fn own_width(generator: &dyn Generator) -> u32 {
    generator.card().width
}

/// What the gate, the probe and attention read in a run.
fn readings(program: &Program, arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["ask", "notes", QUESTION, "--json", "--set", ONE_THREAD];
    all.extend(arguments);
    let ended = program.run(&all);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    let read = ended.records().into_iter().filter_map(|record| {
        let Event::Run(event) = record.event else {
            return None;
        };
        match &event {
            RunEvent::GateChosen { .. }
            | RunEvent::StepFinished { .. }
            | RunEvent::StepAttributed { .. }
            | RunEvent::UtilityMeasured { .. } => serde_json::to_value(&event).ok(),
            _ => None,
        }
    });
    read.collect()
}

#[test]
fn the_probe_attribution_and_links_read_there_what_they_read_here() {
    let program = Program::new();
    // before the server, which would index the same folder beside the first question
    let indexed = program.run(&["index", "notes"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    let server = Server::start(&program, &["--set", ONE_THREAD]);
    let url = format!("generator.url=http://{}", server.address);
    let key = format!("generator.key={}", key(&server));
    let there = ["--set", &url, "--set", &key];
    let soft = ["--set", "utility.kind=soft"];
    for (preset, flags, kinds) in [
        (
            "searag",
            &["--set", "answer.attribution=on"][..],
            &["gate_chosen", "step_attributed"][..],
        ),
        ("naive", &soft, &["step_finished", "utility_measured"]),
        (
            "saki-rag",
            &["--set", "linker.kind=tokens"],
            &["step_finished"],
        ),
    ] {
        let mut arguments = vec!["--preset", preset];
        arguments.extend(flags);
        let ours = readings(&program, &arguments);
        arguments.extend(there);
        let theirs = readings(&program, &arguments);
        for kind in kinds {
            let is_there = ours.iter().any(|event| event["type"] == *kind);
            assert!(is_there, "{preset} has no {kind}: {ours:?}");
        }
        assert_eq!(theirs, ours, "{preset}");
    }

    let mut doctor = vec!["doctor"];
    doctor.extend(there);
    let doctor = program.run(&doctor).stdout;
    let line = |name: &str| {
        let mut lines = doctor.lines();
        let found = lines.find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("{doctor}"))
    };
    assert!(
        line("generator").contains("hidden states and attention"),
        "{doctor}"
    );
    assert!(
        line("probe").contains("ragscope-demo.Q8_0.probe"),
        "{doctor}"
    );
}

#[test]
fn an_observer_and_a_stop_end_a_call_where_they_would_here() {
    let program = Program::new();
    let server = Server::start(&program, &[]);
    let stop = StopFlag::default();
    let mut generator = connected(&server, &stop);
    let mut seen = 0;
    let completions = generator
        .complete(&[question("Who?")], &greedy(32), &mut |_, _| {
            seen += 1;
            if seen == 3 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        })
        .expect("the text so far");
    let first = &completions[0];
    assert_eq!((first.tokens.len(), first.end), (3, End::Stopped));

    next_command(&stop);
    let mut seen = 0;
    let started = Instant::now();
    let completions = generator.complete(&[question("Who?")], &greedy(1000), &mut |_, _| {
        seen += 1;
        if seen == 2 {
            stop.stop();
        }
        Flow::Continue
    });
    match completions {
        Ok(completions) => assert_eq!(completions[0].end, End::Stopped),
        Err(error) => assert!(matches!(error, LlmError::Stopped), "{error}"),
    }
    assert!(seen <= 4, "{seen} tokens were shown behind the stop");
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(!generator.is_lost());
    next_command(&stop);
    let again = generator
        .complete(&[question("Who?")], &greedy(4), &mut |_, _| Flow::Continue)
        .expect("the stop is over");
    assert!(!again[0].tokens.is_empty());
}

#[test]
fn a_server_that_ends_costs_the_call_and_a_place_is_freed_by_its_client() {
    let program = Program::new();
    let mut server = Server::start(&program, &["--generators", "1"]);
    let stop = StopFlag::default();
    let mut first = connected(&server, &stop);

    let busy = connect(&server, &stop).err().expect("the place is taken");
    assert!(busy.to_string().contains("too busy"), "{busy}");
    drop(first);
    let patient = impatient(6);
    first = connect_generator(&of(&server), &patient, &stop, &mut |_| Flow::Continue)
        .expect("the place is free")
        .generator;

    let mut seen = 0;
    let error = first
        .complete(&[question("Who?")], &greedy(1000), &mut |_, _| {
            seen += 1;
            if seen == 2 {
                server.end();
            }
            Flow::Continue
        })
        .expect_err("the server is gone");
    assert!(
        error.to_string().contains("in the middle of an answer"),
        "{error}"
    );
    assert!(error.advice().is_some());
    assert!(first.is_lost());
    let error = first.render(&question("Who?")).expect_err("still gone");
    assert!(error.to_string().contains(&server.address), "{error}");
    let error = connect(&server, &stop).err().expect("nobody listens");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[test]
fn a_client_without_the_right_to_it_gets_a_reason() {
    let program = Program::new();
    let server = Server::start(&program, &["--generators", "0"]);
    let wrong = program.home.path().join("wrong");
    std::fs::write(&wrong, "another-token-of-my-own\n").expect("written");
    let refused = |key: String| {
        let settings = GeneratorSettings { key, ..of(&server) };
        let stop = StopFlag::default();
        connect_generator(&settings, &impatient(0), &stop, &mut |_| Flow::Continue)
            .err()
            .expect("refused")
    };
    for (key, said) in [
        (String::new(), "refuses the key (HTTP 401)"),
        (
            format!("file:{}", wrong.display()),
            "refuses the key (HTTP 401)",
        ),
        (
            key(&server),
            "provides its generator to nobody: start it with --generators",
        ),
    ] {
        let error = refused(key);
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.advice().is_some());
    }

    let upgrade: &[(&str, &str)] = &[
        ("connection", "close, upgrade"),
        ("upgrade", relay::PROTOCOL),
    ];
    for (headers, status) in [
        (&[][..], 426),
        (
            &[
                ("connection", "close, upgrade"),
                ("upgrade", "ragscope-generator/0"),
            ],
            426,
        ),
        (
            &[("connection", "close, upgrade"), ("upgrade", "websocket")],
            426,
        ),
        (&[("authorization", "")], 401),
        (&[("host", "evil.example")], 403),
        (&[("origin", "http://evil.example")], 403),
        (upgrade, 422),
    ] {
        let reply = server.send("test", "GET", relay::PATH, headers, "");
        assert_eq!(reply.status, status, "{headers:?} {}", reply.text);
        if status == 426 {
            assert_eq!(reply.header("upgrade"), Some(relay::PROTOCOL));
        }
    }
}

/// Sends bytes on a connection to the generator, and returns what comes back until it is closed, without the load.
fn answer(server: &Server<'_>, bytes: &[u8]) -> Vec<Value> {
    let headers = [("connection", "upgrade"), ("upgrade", relay::PROTOCOL)];
    let head = server.head("raw", "GET", relay::PATH, &headers, 0);
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.extend(byte);
    }
    let head = String::from_utf8(head).expect("UTF-8");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");

    let mut next = || -> Option<Value> {
        let message = frame::read(&mut stream).ok()?;
        Some(serde_json::from_slice(&message).expect("JSON"))
    };
    let loaded = loop {
        let message = next().expect("the load");
        if message.get("Done").is_some() {
            break message;
        }
    };
    assert!(
        loaded.pointer("/Done/result/Ok/Loaded/card").is_some(),
        "{loaded}"
    );
    stream.write_all(bytes).expect("sent");
    let mut all = Vec::new();
    while let Ok(message) = frame::read(&mut stream) {
        all.push(serde_json::from_slice(&message).expect("JSON"));
    }
    all
}

#[test]
fn messages_that_are_none_end_their_connection_alone() {
    let program = Program::new();
    let server = Server::start(&program, &["--generators", "8"]);
    let stop = StopFlag::default();
    let other = connected(&server, &stop);
    let message = |value: Value| frame::encode(value.to_string().as_bytes());
    let load = message(json!({"Load": {"file": "/etc/passwd", "log_file": null, "settings": {}}}));
    let parts = message(json!({"Attend": {"text": "a", "layers": "All",
        "parts": [{"start": 0, "end": 9}]}}));
    let mut huge = b"rsx1".to_vec();
    huge.extend((relay::MAX_REQUEST_BYTES + 1).to_le_bytes());
    let seen = message(json!({"Seen": {"continues": true}}));
    for (bytes, said) in [
        (load, Some("chooses its model itself")),
        (parts, Some("is no part of the text")),
        (
            message(json!({"Run": "rm"})),
            Some("cannot read the message"),
        ),
        (huge, None),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), None),
        (seen, None),
    ] {
        let answers = answer(&server, &bytes);
        match said {
            None => assert_eq!(answers, Vec::<Value>::new()),
            Some(said) => {
                assert_eq!(answers.len(), 1, "{answers:?}");
                let text = answers[0].to_string();
                assert!(text.contains(said), "{text}");
            }
        }
    }
    let rendered = other
        .render(&question("Who?"))
        .expect("the other connection");
    assert!(!rendered.tokens.is_empty());
    drop(other);
}

#[test]
fn an_embedder_there_is_the_same_model_as_here() {
    let program = Program::new();
    let server = Server::start(&program, &[]);
    let settings = EmbedderSettings {
        url: format!("http://{}", server.address),
        key: key(&server),
        ..Config::default().embedder
    };
    let mut there = ServerEmbedder::connect(&settings, &impatient(2), &StopFlag::default())
        .expect("the embedder");
    let mut here = embedder();
    assert_eq!(there.card().fingerprint, here.card().fingerprint);
    assert_eq!(there.card().name, here.card().name);
    assert_eq!(there.card().device, server.address);
    let texts = [
        "Mara Voss keeps the lighthouse.",
        "The ferry leaves at nine.",
        "",
    ];
    for (theirs, ours) in [
        (there.embed(&texts), here.embed(&texts)),
        (there.embed_queries(&texts), here.embed_queries(&texts)),
    ] {
        let theirs = theirs.expect("there");
        let pairs = theirs.iter().zip(ours.expect("here"));
        for (theirs, ours) in pairs.take(2) {
            assert!(super::dot(theirs, &ours) > 0.9999);
        }
    }

    let url = format!("embedder.url=http://{}", server.address);
    let key = format!("embedder.key={}", key(&server));
    let asked = ["ask", "notes", QUESTION, "--json"];
    let ended = program.run(&[&asked[..], &["--set", &url, "--set", &key]].concat());
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("vectors of 384 numbers"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("people.md"), "{}", ended.stdout);
}

/// The cost of the connection: tokens per second behind a server on loopback and in this process, in turns, and the
/// time of a call that evaluates nothing: `cargo test --test suite -- --ignored --nocapture measures_a_served_generator`.
#[test]
#[ignore = "measures"]
fn measures_a_served_generator() {
    let program = Program::new();
    let server = Server::start(&program, &["--model", "ragscope-reader.Q5_0.gguf"]);
    let file = bundled("ragscope-reader.Q5_0.gguf");
    let stop = StopFlag::default();
    let settings = generator_settings();
    let mut here = load_generator(&runtime(), &file, &settings, &stop, &mut |_| Flow::Continue)
        .expect("the generator");
    let mut there = connected(&server, &stop);
    let prompt = question("Describe the lighthouse, its keeper and the island.");
    let render = |generator: &dyn LoadedGenerator| {
        let started = Instant::now();
        generator.render(&prompt).expect("a prompt");
        started.elapsed().as_secs_f64() * 1e3
    };
    let mut figures = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..7 {
        figures[0].push(tokens_per_second(&mut here, &prompt));
        figures[1].push(tokens_per_second(&mut *there, &prompt));
        figures[2].push(render(&here));
        figures[3].push(render(&*there));
    }
    let [here, there, render_here, render_there] = figures.map(median);
    println!(
        "{here:.1} tokens/s here, {there:.1} there, {:.0} %; a prompt in {render_here:.2} ms here, {render_there:.2} ms there",
        100.0 * there / here
    );
}
