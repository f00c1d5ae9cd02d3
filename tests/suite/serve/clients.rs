//! Many clients, slow ones and those that leave; and the end of the engine and of the server.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Barrier;
use std::thread;

use ragscope::event::Outcome;

use super::client::{CHAT, Reply, Request, Server, ask, search, until};
use crate::support::environment::TestEnvironment;

/// Waits until this many requests wait.
fn until_waiting(server: &Server<'_>, expected: u64) {
    until("the server knows who waits", || {
        let status = server.get("/v1/status").json();
        (status["waiting"] == expected).then_some(())
    });
}

#[test]
fn a_request_ends_when_its_client_leaves() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.is_ready();

    // while the answer is streamed, with one more waiting that leaves before its turn
    let (asked, first) = server.begin("dense-rag");
    let request = Request::post(CHAT, ask("naive", false));
    let waiting = server.open(&request);
    until_waiting(&server, 1);
    waiting.shutdown(Shutdown::Both).expect("closed");
    drop(waiting);
    until_waiting(&server, 0);
    drop(asked);
    assert_eq!(server.outcome(&first), Outcome::Stopped);
    server.is_ready();
    assert_eq!(server.runs().len(), 1, "the other run never began");

    // while the answer is written as a whole
    let request = Request::post(CHAT, ask("dense-rag", false));
    let stream = server.open(&request);
    let second = until("the run begins", || {
        let runs = server.runs();
        runs.into_iter()
            .map(|run| run.run)
            .find(|run| *run != first)
    });
    drop(stream);
    assert_eq!(server.outcome(&second), Outcome::Stopped);
    server.is_ready();
}

#[test]
fn requests_are_answered_in_the_order_in_which_they_come() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.is_ready();

    let (mut asked, first) = server.begin("dense-rag");
    let waiting: Vec<TcpStream> = (1..=3)
        .map(|waiting| {
            let stream = server.open(&Request::post(CHAT, ask("closed-book", false)));
            until_waiting(&server, waiting);
            stream
        })
        .collect();
    let mut rest = String::new();
    asked.read_to_string(&mut rest).expect("the answer");
    let mut expected = vec![first];
    for stream in waiting {
        let reply = Reply::read(stream).with_status(200).json();
        let run = reply["ragscope"]["run"].as_str().expect("an id");
        expected.push(run.to_owned());
    }
    let mut order: Vec<String> = server.runs().into_iter().map(|run| run.run).collect();
    // ids begin with the time
    order.sort();
    assert_eq!(order, expected);
}

#[test]
fn fifty_clients_at_once_are_answered() {
    const CLIENTS: usize = 50;
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let start = Barrier::new(CLIENTS);
    let answer = |number: usize| {
        // half of them with questions
        let request = if number.is_multiple_of(2) {
            Request::post(CHAT, ask("closed-book", false))
        } else {
            Request::post("/v1/search", search())
        };
        start.wait();
        let reply = server.send(&request);
        reply.with_status(200);
    };
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let answer = &answer;
            scope.spawn(move || answer(number));
        }
    });
}

#[test]
fn slow_clients_hold_up_nobody() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.is_ready();
    // heads and bodies without end, and an answer that nobody reads
    let search = Request::post("/v1/search", "");
    let begun = server.head(&search.header("content-length", "100")) + "{\"query\"";
    let parts = [
        "POST /v1/chat",
        "POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\n",
        begun.as_str(),
    ];
    let slow = parts.map(|part| {
        let mut stream = server.connect();
        write!(stream, "{part}").expect("sent");
        stream
    });
    let (unread, run) = server.begin("naive");
    server.is_ready();
    assert_eq!(server.outcome(&run), Outcome::Completed);
    drop((slow, unread));
}

#[test]
fn strangers_make_room_for_each_other() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.is_ready();
    // more than the connections that a server has at most
    let mut strangers: Vec<TcpStream> = (0..520)
        .map(|_| {
            let mut stream = server.connect();
            write!(stream, "POST /v1/search HTTP/1.1\r\n").expect("sent");
            stream
        })
        .collect();
    server.post("/v1/search", &search()).with_status(200);

    // the first one was ended for the later ones, long before its time
    let patience = std::time::Duration::from_secs(4);
    strangers[0]
        .set_read_timeout(Some(patience))
        .expect("a limit");
    let ended = strangers[0].read(&mut [0; 1]).map_err(|error| error.kind());
    assert!(
        matches!(ended, Ok(0) | Err(ErrorKind::ConnectionReset)),
        "{ended:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_outlives_its_engine() {
    use nix::sys::signal::{Signal, kill};

    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    server.is_ready();
    let (mut asked, run) = server.begin("dense-rag");
    kill(test.engine(), Signal::SIGKILL).expect("sent");
    let mut rest = String::new();
    asked
        .read_to_string(&mut rest)
        .expect("the rest of the reply");
    assert!(rest.contains("\"type\":\"server_error\""), "{rest}");
    assert!(matches!(server.outcome(&run), Outcome::Failed(_)));
    let whole = server.done(CHAT, &ask("closed-book", false));
    assert_eq!(whole["choices"][0]["finish_reason"], "stop", "{whole}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_server_and_its_run() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let test = TestEnvironment::new();
    let mut server = Server::start(&test, &[]);
    server.is_ready();
    let (_asked, run) = server.begin("dense-rag");
    let process = Pid::from_raw(server.child.id().try_into().expect("a process"));
    kill(process, Signal::SIGINT).expect("sent");
    assert_eq!(server.child.wait().expect("ended").code(), Some(130));
    assert_eq!(server.outcome(&run), Outcome::Stopped);
}
