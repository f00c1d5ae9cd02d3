//! Traces of runs: what a receiver of OTLP gets, and one that fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use ragscope::event::{Event, RunEvent};

use super::program::{Program, QUESTION};

/// How the receiver answers.
#[derive(Clone, Copy)]
enum Answer {
    Status(&'static str),
    /// It reads, and says nothing.
    Never,
}

/// A request that the receiver got: its head in lower case, and its body.
type Request = (String, ExportTraceServiceRequest);

/// Starts a receiver on loopback and returns its endpoint.
fn receiver(answer: Answer) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, requests) = channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let request = read(&stream);
            if let Answer::Status(status) = answer {
                let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                stream.write_all(reply.as_bytes()).expect("answered");
            }
            kept.push(stream);
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (endpoint, requests)
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).expect("a head");
    }
    let head = head.to_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length = length
        .and_then(|length| length.parse().ok())
        .expect("a length");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let request = ExportTraceServiceRequest::decode(body.as_slice());
    (head, request.expect("the encoding of the protocol"))
}

fn ask(program: &Program, endpoint: &str, more: &[&str]) -> super::program::Ended {
    let setting = format!("telemetry.otlp_endpoint={endpoint}");
    let arguments = [
        &[
            "ask", "notes", QUESTION, "--preset", "naive", "--set", &setting,
        ],
        more,
    ]
    .concat();
    let mut command = program.command(&arguments);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20a2V5");
    let output = command.output().expect("started");
    super::program::Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Returns the answer of a run that was printed as JSON.
fn answer(ended: &super::program::Ended) -> String {
    match ended.records().pop().map(|record| record.event) {
        Some(Event::Run(RunEvent::RunFinished { answer, .. })) => answer,
        other => panic!("{other:?}"),
    }
}

fn spans(body: &ExportTraceServiceRequest) -> &[Span] {
    &body.resource_spans[0].scope_spans[0].spans
}

#[test]
fn a_run_is_sent_as_a_trace() {
    let program = Program::new();
    let (endpoint, requests) = receiver(Answer::Status("200 OK"));
    let ended = ask(&program, &endpoint, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let (head, body) = requests
        .recv_timeout(Duration::from_secs(30))
        .expect("a trace");
    assert!(head.starts_with("post /v1/traces "), "{head}");
    let encoding = "content-type: application/x-protobuf";
    assert!(head.contains(encoding), "{head}");
    assert!(head.contains("authorization: basic a2v5"), "{head}");
    let names: Vec<&str> = spans(&body).iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names[0], "invoke_agent ragscope");
    assert!(
        names.iter().any(|name| name.starts_with("retrieval ")),
        "{names:?}"
    );
    assert!(names.contains(&"chat ragscope-demo"), "{names:?}");
    let text = format!("{body:?}");
    assert!(
        !text.contains(QUESTION) && !text.contains("Tam Reeve"),
        "no texts: {text}"
    );
    assert!(!text.contains("a2V5"), "no key");

    ask(&program, &endpoint, &["--set", "telemetry.content=true"]);
    let (_, body) = requests
        .recv_timeout(Duration::from_secs(30))
        .expect("a trace");
    assert!(
        format!("{body:?}").contains(QUESTION),
        "with texts: {body:?}"
    );
    assert!(requests.try_recv().is_err(), "one request per run");
}

#[test]
fn a_receiver_that_fails_costs_a_warning() {
    let program = Program::new();
    // nothing listens there
    let gone = "http://127.0.0.1:1".to_owned();
    let (refuses, _refused) = receiver(Answer::Status("503 Service Unavailable"));
    let (silent, _unread) = receiver(Answer::Never);
    let bare = program.run(&["ask", "notes", QUESTION, "--preset", "naive", "--json"]);
    for (endpoint, warning) in [
        (&gone, "was not taken"),
        (&refuses, "status 503"),
        (&silent, ""),
    ] {
        let started = Instant::now();
        let ended = ask(&program, endpoint, &["--json"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(answer(&ended), answer(&bare), "the same answer");
        assert!(
            ended.stderr.contains(warning),
            "{endpoint}: {}",
            ended.stderr
        );
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it does not wait"
        );
    }

    let wrong = ask(&program, "localhost:4318", &[]);
    assert_ne!(wrong.code, Some(0));
    assert!(
        wrong.stderr.contains("telemetry.otlp_endpoint"),
        "{}",
        wrong.stderr
    );
}
