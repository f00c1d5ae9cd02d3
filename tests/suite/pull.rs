//! Downloads from a server on this machine that does everything wrong that a server and a network
//! can do.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ragscope::event::{Advice, Flow, PullPhase, PulledModel};
use ragscope::pull::{PullError, PullSettings, pull};
use ring::digest::{SHA256, digest};
use serde_json::json;

use crate::support::environment::{Arguments, CommandOutput, TestEnvironment};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const LISTING: &str = "/api/models/org/tiny/revision/main?blobs=true";
const MODEL: &str = "org/tiny";
const FILE: &str = "tiny-Q4_K_M.gguf";
const PULL: &str = "models pull org/tiny";

fn file_path() -> String {
    format!("/org/tiny/resolve/{COMMIT}/{FILE}")
}

/// The bytes of the model: more than one chunk of the downloader.
fn weights() -> Vec<u8> {
    let noise = (0_u32..300_001).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
    b"GGUF".iter().copied().chain(noise).collect()
}

fn sha256(bytes: &[u8]) -> String {
    let sum = digest(&SHA256, bytes);
    sum.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A request as it arrived.
#[derive(Debug, Clone)]
struct Asked {
    path: String,
    /// The first byte that it wants.
    from: Option<usize>,
    token: Option<String>,
    /// Requests for this path before it.
    before: usize,
}

/// The reaction of the server to a request.
#[derive(Debug, Clone)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    has_length: bool,
    /// Bytes of the body after which the connection ends.
    cut: Option<usize>,
    /// Bytes of the body after which nothing comes until the server ends.
    stall: Option<usize>,
}

impl Reply {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            has_length: true,
            cut: None,
            stall: None,
        }
    }

    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn cut_at(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    fn stalled_at(mut self, bytes: usize) -> Self {
        self.stall = Some(bytes);
        self
    }

    fn without_length(mut self) -> Self {
        self.has_length = false;
        self
    }

    /// The file, as a server with ranges sends it.
    fn of_file(asked: &Asked, bytes: &[u8]) -> Self {
        match asked.from {
            None => Self::new(200, bytes),
            Some(from) if from >= bytes.len() => Self::new(416, ""),
            Some(from) => Self::new(206, &bytes[from..]).with(
                "content-range",
                format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len()),
            ),
        }
    }

    fn of_listing(files: &[(&str, &[u8])]) -> Self {
        let siblings: Vec<_> = files
            .iter()
            .map(|(name, bytes)| {
                json!({"rfilename": name, "size": bytes.len(), "blobId": "f00",
                       "lfs": {"sha256": sha256(bytes), "size": bytes.len(), "pointerSize": 135}})
            })
            .chain([json!({"rfilename": "README.md", "size": 12, "blobId": "f01"})])
            .collect();
        Self::new(
            200,
            json!({"sha": COMMIT, "siblings": siblings}).to_string(),
        )
    }
}

/// A server that answers until it is dropped.
struct Server {
    address: String,
    seen: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicBool>,
}

impl Server {
    fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = Self {
            address: format!("http://{}", listener.local_addr().expect("an address")),
            seen: Arc::default(),
            ended: Arc::default(),
        };
        let seen = Arc::clone(&server.seen);
        let ended = Arc::clone(&server.ended);
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (seen, ended, answer) =
                    (Arc::clone(&seen), Arc::clone(&ended), Arc::clone(&answer));
                // a client that is gone ends the exchange
                thread::spawn(move || serve(stream, &seen, &ended, &*answer).ok());
            }
        });
        server
    }

    /// A server of one model, with its own way to send the file.
    fn of_model(file: impl Fn(&Asked, &[u8]) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(move |asked| {
            let weights = weights();
            if asked.path == LISTING {
                Reply::of_listing(&[(FILE, &weights)])
            } else if asked.path == file_path() {
                file(asked, &weights)
            } else {
                Reply::new(404, "")
            }
        })
    }

    fn seen(&self) -> Vec<Asked> {
        self.seen.lock().expect("no panic").clone()
    }

    /// The first bytes that were asked for of the file, in order.
    fn file_requests(&self) -> Vec<Option<usize>> {
        let is_file = |asked: &Asked| asked.path == file_path();
        self.seen()
            .into_iter()
            .filter(is_file)
            .map(|asked| asked.from)
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address.trim_start_matches("http://"));
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Asked>>,
    ended: &AtomicBool,
    answer: &(dyn Fn(&Asked) -> Reply + Send + Sync),
) -> std::io::Result<()> {
    let asked = read_request(&stream, seen)?;
    let reply = answer(&asked);

    let mut head = format!("HTTP/1.1 {} x\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if reply.has_length {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;

    let end = reply.cut.or(reply.stall).unwrap_or(reply.body.len());
    stream.write_all(&reply.body[..end])?;
    stream.flush()?;
    while reply.stall.is_some() && !ended.load(Ordering::Relaxed) {
        // ends with the client: a socket that is closed has something to read
        stream.set_read_timeout(Some(Duration::from_millis(20)))?;
        if matches!(stream.read(&mut [0; 1]), Ok(0)) {
            break;
        }
    }
    Ok(())
}

fn read_request(stream: &TcpStream, seen: &Mutex<Vec<Asked>>) -> std::io::Result<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut asked = Asked {
        path,
        from: None,
        token: None,
        before: 0,
    };
    for line in lines {
        let line = line?;
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("range") => {
                let from = value.trim_start_matches("bytes=").trim_end_matches('-');
                asked.from = from.parse().ok();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                asked.token = Some(value.to_owned());
            }
            Some(_) => {}
            None => break,
        }
    }

    let mut seen = seen.lock().expect("no panic");
    asked.before = seen.iter().filter(|known| known.path == asked.path).count();
    seen.push(asked.clone());
    Ok(asked)
}

/// Settings that leave nothing outside of a folder and wait for nothing.
fn settings(server: &Server, home: &Path) -> PullSettings {
    PullSettings {
        endpoint: server.address.clone(),
        token: None,
        hugging_face: home.join("hub"),
        ollama: home.join("ollama"),
        is_offline: false,
        free_bytes: |_| Ok(u64::MAX),
        retry_pause: Duration::from_millis(1),
        patience: Duration::from_secs(20),
    }
}

fn pull_into(server: &Server, home: &Path) -> Result<PulledModel, PullError> {
    pull_with(MODEL, &settings(server, home))
}

fn pull_with(model: &str, settings: &PullSettings) -> Result<PulledModel, PullError> {
    pull(&model.parse()?, settings, &mut |_| Flow::Continue)
}

fn blobs(home: &Path) -> PathBuf {
    home.join("hub/models--org--tiny/blobs")
}

fn part(home: &Path) -> PathBuf {
    blobs(home).join(format!("{}.incomplete", sha256(&weights())))
}

/// Checks that the cache is as Hugging Face's tools leave it.
fn check_cache(home: &Path, pulled: &PulledModel) {
    let repository = home.join("hub/models--org--tiny");
    let snapshot = repository.join("snapshots").join(COMMIT).join(FILE);
    let blob = blobs(home).join(sha256(&weights()));
    assert_eq!(pulled.name, FILE);
    assert_eq!(Path::new(&pulled.file), snapshot);
    assert_eq!(pulled.bytes, weights().len() as u64);
    assert_eq!(fs::read(&snapshot).expect("the file"), weights());
    assert_eq!(
        fs::canonicalize(&snapshot).expect("a link"),
        fs::canonicalize(&blob).expect("a blob")
    );
    assert_eq!(
        fs::read_to_string(repository.join("refs/main")).expect("a ref"),
        COMMIT
    );
    assert!(!part(home).exists(), "a part is left");
}

/// Pulls the model from a server and checks its cache, or the message.
fn check(name: &str, server: &Server, expected: Result<&[Option<usize>], &str>) {
    let home = tempfile::tempdir().expect("a folder");
    match (pull_into(server, home.path()), expected) {
        (Ok(pulled), Ok(requests)) => {
            check_cache(home.path(), &pulled);
            assert_eq!(server.file_requests(), requests, "{name}");
        }
        (Err(error), Err(part)) => {
            assert!(error.advice().is_some(), "{name}: {error} has no advice");
            let error = error.to_problem().line();
            assert!(error.contains(part), "{name}: {error}");
            let has_file = home.path().join("hub/models--org--tiny/snapshots").exists();
            assert!(!has_file, "{name}: a file in spite of {error}");
        }
        (pulled, _) => panic!("{name}: {pulled:?}"),
    }
}

#[test]
fn a_connection_may_break_at_any_byte() {
    let length = weights().len();
    for at in [0, 1, 3, 70_000, 131_072, 262_145, length - 1] {
        for has_length in [true, false] {
            let server = Server::of_model(move |asked, weights| {
                let mut reply = Reply::of_file(asked, weights);
                reply.has_length = has_length;
                if asked.before == 0 {
                    reply.cut_at(at)
                } else {
                    reply
                }
            });
            let second = (at > 0).then_some(at);
            check(&format!("cut at {at}"), &server, Ok(&[None, second]));
        }
    }
}

#[test]
fn what_servers_do_wrong_is_repaired() {
    let cases: [(&str, fn(&Asked, &[u8]) -> Reply, &[Option<usize>]); 8] = [
        (
            "no length",
            |_, weights| Reply::new(200, weights).without_length(),
            &[None],
        ),
        (
            "the whole file in place of a range",
            |asked, weights| {
                let reply = Reply::new(200, weights);
                if asked.before == 0 {
                    reply.cut_at(9)
                } else {
                    reply
                }
            },
            &[None, Some(9)],
        ),
        (
            "another range",
            |asked, weights| match asked.from {
                None if asked.before == 0 => Reply::new(200, weights).cut_at(9),
                None => Reply::new(200, weights),
                Some(from) => Reply::new(206, &weights[from - 3..])
                    .with("content-range", format!("bytes {}-9/10", from - 3)),
            },
            &[None, Some(9), None],
        ),
        (
            "a range without its place",
            |asked, weights| match asked.from {
                None if asked.before == 0 => Reply::new(200, weights).cut_at(9),
                None => Reply::new(200, weights),
                Some(from) => Reply::new(206, &weights[from..]),
            },
            &[None, Some(9), None],
        ),
        (
            "no such range",
            |asked, weights| match asked.from {
                None if asked.before == 0 => Reply::new(200, weights).cut_at(9),
                None => Reply::new(200, weights),
                Some(_) => Reply::new(416, ""),
            },
            &[None, Some(9), None],
        ),
        (
            "overloaded",
            |asked, weights| match asked.before {
                0 => Reply::new(503, "later"),
                1 => Reply::new(429, "slower"),
                _ => Reply::new(200, weights),
            },
            &[None, None, None],
        ),
        (
            "headers of the listed file",
            |_, weights| {
                Reply::new(200, weights)
                    .with("x-linked-etag", format!("\"{}\"", sha256(weights)))
                    .with("x-linked-size", weights.len().to_string())
                    .with("x-repo-commit", COMMIT)
            },
            &[None],
        ),
        (
            "breaks again and again, with progress",
            |asked, weights| {
                Reply::of_file(asked, weights)
                    .cut_at(50_000.min(weights.len() - asked.from.unwrap_or(0)))
            },
            &[
                None,
                Some(50_000),
                Some(100_000),
                Some(150_000),
                Some(200_000),
                Some(250_000),
                Some(300_000),
            ],
        ),
    ];
    for (name, file, requests) in cases {
        check(name, &Server::of_model(file), Ok(requests));
    }
}

/// A listing of files with these sizes.
fn of_sizes(files: &[(&str, u64)]) -> Reply {
    let siblings: Vec<_> = files
        .iter()
        .map(|(name, size)| {
            json!({"rfilename": name, "lfs": {"sha256": sha256(name.as_bytes()), "size": size}})
        })
        .collect();
    let listing = json!({"sha": COMMIT, "siblings": siblings});
    Reply::new(200, listing.to_string())
}

#[test]
fn what_cannot_be_repaired_is_an_error_that_says_what_to_do() {
    let file_cases: [(&str, fn(&Asked, &[u8]) -> Reply, &str); 9] = [
        (
            "a wrong sum",
            |_, weights| {
                let mut wrong = weights.to_vec();
                wrong[77_777] ^= 1;
                Reply::new(200, wrong)
            },
            "tiny-Q4_K_M.gguf arrived damaged",
        ),
        (
            "a wrong sum after a continuation",
            |asked, weights| {
                let mut wrong = weights.to_vec();
                wrong[3] ^= 1;
                Reply::of_file(asked, &wrong)
            },
            "arrived damaged",
        ),
        (
            "another file",
            |_, weights| {
                Reply::new(200, weights).with("x-linked-etag", format!("\"{}\"", "ab".repeat(32)))
            },
            "tiny-Q4_K_M.gguf changed on the server",
        ),
        (
            "another size",
            |_, weights| Reply::new(200, weights).with("x-linked-size", "12"),
            "changed on the server",
        ),
        (
            "more than was listed",
            |_, weights| Reply::new(200, [weights, b"more"].concat()),
            "changed on the server",
        ),
        (
            "no permission",
            |_, _| Reply::new(401, ""),
            "needs an access token in HF_TOKEN",
        ),
        (
            "a licence",
            |_, _| Reply::new(403, "").with("x-error-code", "GatedRepo"),
            "accept its licence on http://127.0.0.1",
        ),
        (
            "not there",
            |_, _| Reply::new(404, ""),
            "has no tiny-Q4_K_M.gguf",
        ),
        (
            "always broken",
            |_, weights| Reply::new(200, weights).cut_at(5),
            "pull again, it continues from here",
        ),
    ];
    for (name, file, message) in file_cases {
        check(name, &Server::of_model(file), Err(message));
    }

    let listing_cases: [(&str, fn() -> Reply, &str); 11] = [
        (
            "a size that no disk has",
            || of_sizes(&[("tiny-Q4_K_M.gguf", u64::MAX)]),
            "18446744073.7 GB are needed",
        ),
        (
            "sizes whose sum is too large to count",
            || {
                of_sizes(&[
                    ("tiny-Q4_K_M-00001-of-00002.gguf", u64::MAX),
                    ("tiny-Q4_K_M-00002-of-00002.gguf", 6_386_305),
                ])
            },
            "18446744073.7 GB are needed",
        ),
        (
            "a first of no pieces",
            || of_sizes(&[("tiny-Q4_K_M-00001-of-00000.gguf", 5)]),
            "lacks a piece of tiny-Q4_K_M-00001-of-00000.gguf",
        ),
        (
            "no permission",
            || Reply::new(401, ""),
            "does not permit repository org/tiny (status 401)",
        ),
        (
            "not there",
            || Reply::new(404, ""),
            "has no repository org/tiny",
        ),
        ("broken", || Reply::new(500, ""), "with status 500"),
        (
            "a login page",
            || Reply::new(200, "\n<html>"),
            "(a web page)",
        ),
        ("no list", || Reply::new(200, "{}"), "with something else"),
        (
            "a commit that is a path",
            || Reply::new(200, r#"{"sha": "../../x", "siblings": []}"#),
            "(no commit)",
        ),
        (
            "paths that leave the cache",
            || {
                Reply::of_listing(&[
                    ("../../../../evil.gguf", b"x"),
                    ("/tmp/evil.gguf", b"x"),
                    ("a\\..\\evil.gguf", b"x"),
                ])
            },
            "org/tiny has no GGUF file",
        ),
        (
            "no connection",
            || Reply::new(200, "{}").cut_at(0),
            "the connection to 127.0.0.1",
        ),
    ];
    for (name, listing, message) in listing_cases {
        check(name, &Server::start(move |_| listing()), Err(message));
    }
}

#[test]
fn the_token_goes_to_its_own_host_alone() {
    let store = Server::start(|_| Reply::new(200, weights()));
    let to = format!("{}/signed?x=1", store.address);
    let hub = Server::of_model(move |asked, _| match asked.before {
        0 => Reply::new(307, "").with("location", format!("{}#again", file_path())),
        _ => Reply::new(302, "")
            .with("location", &*to)
            .with("x-linked-etag", format!("\"{}\"", sha256(&weights()))),
    });
    let home = tempfile::tempdir().expect("a folder");
    let settings = PullSettings {
        token: Some("hf_secret".to_owned()),
        ..settings(&hub, home.path())
    };
    let pulled = pull_with(MODEL, &settings).expect("pulled");
    check_cache(home.path(), &pulled);

    let tokens = |server: &Server| -> Vec<Option<String>> {
        server.seen().into_iter().map(|asked| asked.token).collect()
    };
    assert_eq!(tokens(&hub), vec![Some("Bearer hf_secret".to_owned()); 3]);
    assert_eq!(tokens(&store), [None]);
}

#[test]
fn a_file_that_changed_between_two_pulls_is_fetched_whole() {
    let home = tempfile::tempdir().expect("a folder");
    let old = [weights(), b"old".to_vec()].concat();
    let before = Server::start(move |asked| {
        if asked.path == LISTING {
            Reply::of_listing(&[(FILE, &old)])
        } else {
            Reply::new(200, &*old).cut_at(9)
        }
    });
    pull_into(&before, home.path()).expect_err("always cut");

    let after = Server::of_model(Reply::of_file);
    let pulled = pull_into(&after, home.path()).expect("pulled");
    check_cache(home.path(), &pulled);
    assert_eq!(after.file_requests(), [None]);
}

#[test]
fn what_is_here_is_kept_and_what_is_damaged_is_not() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::of_model(Reply::of_file);

    // the first bytes of the part are wrong, and it is longer than nothing
    fs::create_dir_all(blobs(home.path())).expect("made");
    fs::write(part(home.path()), b"GGUFwrong").expect("written");
    let pulled = pull_into(&server, home.path()).expect("pulled");
    check_cache(home.path(), &pulled);
    assert_eq!(server.file_requests(), [Some(9), None]);

    let pulled = pull_into(&server, home.path()).expect("pulled");
    check_cache(home.path(), &pulled);
    assert_eq!(pulled.received_bytes, 0);

    // a part with more bytes than the file is none of it; a complete one needs no request
    fs::remove_file(blobs(home.path()).join(sha256(&weights()))).expect("removed");
    fs::write(part(home.path()), vec![0; weights().len() + 1]).expect("written");
    pull_into(&server, home.path()).expect("pulled");
    fs::rename(
        blobs(home.path()).join(sha256(&weights())),
        part(home.path()),
    )
    .expect("moved");
    let pulled = pull_into(&server, home.path()).expect("pulled");
    check_cache(home.path(), &pulled);
    assert_eq!(server.file_requests(), [Some(9), None, None]);
}

#[test]
fn a_full_disk_is_reported_before_and_during_the_download() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::of_model(Reply::of_file);
    let full = PullSettings {
        free_bytes: |_| Ok(1_000_000),
        ..settings(&server, home.path())
    };
    let error = pull_with(MODEL, &full)
        .expect_err("no space")
        .to_problem()
        .line();
    assert!(error.contains("268.7 MB are needed"), "{error}");
    assert!(
        error.contains("1.0 MB are free: free some space"),
        "{error}"
    );
    assert_eq!(server.file_requests(), []);

    #[cfg(target_os = "linux")]
    {
        // every write to this device fails as on a full disk
        fs::create_dir_all(blobs(home.path())).expect("made");
        std::os::unix::fs::symlink("/dev/full", part(home.path())).expect("linked");
        let error = pull_into(&server, home.path())
            .expect_err("full")
            .to_problem()
            .line();
        assert!(error.contains("became full: free some space"), "{error}");
    }
}

#[test]
fn a_stopped_pull_keeps_what_came_and_continues() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::of_model(|asked, weights| match asked.before {
        0 => Reply::new(200, weights).stalled_at(100_000),
        _ => Reply::of_file(asked, weights),
    });
    let mut observe = |progress: &ragscope::event::PullProgress| {
        let is_stalled = progress.phase == PullPhase::Downloading && progress.done_bytes == 100_000;
        if is_stalled {
            Flow::Stop
        } else {
            Flow::Continue
        }
    };
    let reference = MODEL.parse().expect("a reference");
    let error = pull(&reference, &settings(&server, home.path()), &mut observe);
    assert!(matches!(error, Err(PullError::Stopped(_))), "{error:?}");

    let pulled = pull_into(&server, home.path()).expect("pulled");
    check_cache(home.path(), &pulled);
    assert_eq!(server.file_requests(), [None, Some(100_000)]);
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::of_model(|asked, weights| match asked.before {
        0 => Reply::new(200, weights).stalled_at(10),
        _ => Reply::of_file(asked, weights),
    });
    let hasty = PullSettings {
        patience: Duration::from_millis(300),
        ..settings(&server, home.path())
    };
    let pulled = pull_with(MODEL, &hasty).expect("pulled");
    check_cache(home.path(), &pulled);
    assert_eq!(server.file_requests(), [None, Some(10)]);
}

#[test]
fn two_pulls_at_once_download_once() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::of_model(Reply::of_file);
    let pulls: Vec<_> = (0..4)
        .map(|_| {
            let settings = settings(&server, home.path());
            thread::spawn(move || pull_with(MODEL, &settings).expect("pulled"))
        })
        .collect();
    for pull in pulls {
        check_cache(home.path(), &pull.join().expect("no panic"));
    }
    assert_eq!(server.file_requests(), [None]);
}

#[test]
fn a_split_model_comes_with_all_its_pieces() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::start(|asked| {
        let first = [weights(), b"1".to_vec()].concat();
        let second = [weights(), b"2".to_vec()].concat();
        let names = ["Q8_0/m-00001-of-00002.gguf", "Q8_0/m-00002-of-00002.gguf"];
        if asked.path == LISTING {
            Reply::of_listing(&[
                (names[1], &second),
                (names[0], &first),
                ("x-F16.gguf", b"x"),
            ])
        } else if asked.path.ends_with(names[0]) {
            Reply::of_file(asked, &first)
        } else {
            Reply::of_file(asked, &second)
        }
    });
    let pulled = pull_with("org/tiny:Q8_0", &settings(&server, home.path())).expect("pulled");
    assert_eq!(pulled.name, "m-00001-of-00002.gguf");
    assert_eq!(pulled.bytes, 2 * (weights().len() as u64 + 1));
    let second = pulled.file.replace("00001-of", "00002-of");
    assert!(fs::read(second).expect("the second piece").ends_with(b"2"));
}

#[test]
fn ollamas_registry_fills_ollamas_store() {
    let config = br#"{"model_format":"gguf"}"#.to_vec();
    let manifest = |digest: &str| {
        let size = weights().len();
        json!({"schemaVersion": 2,
               "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                          "digest": format!("sha256:{}", sha256(br#"{"model_format":"gguf"}"#)), "size": 23},
               "layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": size}]})
        .to_string()
    };
    let good = manifest(&format!("sha256:{}", sha256(&weights())));
    let evil = manifest("sha256:../../../../evil");
    let sent = good.clone();
    let server = Server::start(move |asked| match asked.path.as_str() {
        "/v2/library/tiny/manifests/1b" => Reply::new(200, &*sent),
        "/v2/library/evil/manifests/1b" => Reply::new(200, &*evil),
        "/v2/library/empty/manifests/1b" => {
            Reply::new(200, manifest("").replace("image.model", "image.license"))
        }
        path if path.ends_with(&sha256(&weights())) => Reply::of_file(asked, &weights()),
        path if path.ends_with(&sha256(&config)) => Reply::of_file(asked, &config),
        _ => Reply::new(404, ""),
    });
    let home = tempfile::tempdir().expect("a folder");
    let settings = settings(&server, home.path());
    let name = |model: &str| format!("ollama:{}/library/{model}:1b", server.address);

    let pulled = pull_with(&name("tiny"), &settings).expect("pulled");
    let store = home.path().join("ollama");
    let host = server.address.trim_start_matches("http://");
    let listed = store.join("manifests").join(host).join("library/tiny/1b");
    let blob = store.join(format!("blobs/sha256-{}", sha256(&weights())));
    assert_eq!(pulled.name, "tiny:1b");
    assert_eq!(Path::new(&pulled.file), blob);
    assert_eq!(fs::read(&blob).expect("a blob"), weights());
    assert_eq!(fs::read_to_string(listed).expect("a manifest"), good);

    let cases = [
        ("evil", "the digest `sha256:../../../../evil`"),
        ("empty", "it names no GGUF file"),
        ("missing", "has no model missing:1b"),
    ];
    for (model, message) in cases {
        let error = pull_with(&name(model), &settings)
            .expect_err(model)
            .to_problem()
            .line();
        assert!(error.contains(message), "{error}");
    }
}

/// The command of a user whose caches are all in the working folder.
fn command(
    test: &TestEnvironment,
    server: &Server,
    arguments: impl Arguments,
) -> std::process::Command {
    let mut command = test.command(arguments);
    for name in [
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "HF_TOKEN",
        "HF_HUB_OFFLINE",
        "XDG_CACHE_HOME",
    ] {
        command.env_remove(name);
    }
    command
        .env("HF_ENDPOINT", &server.address)
        .env("HF_HOME", test.path("hf"))
        .env("NO_PROXY", "127.0.0.1");
    command
}

/// Runs the program with these caches.
fn run(test: &TestEnvironment, server: &Server, arguments: impl Arguments) -> CommandOutput {
    CommandOutput::from_command(&mut command(test, server, arguments))
}

#[test]
fn a_pull_survives_a_kill_at_any_byte() {
    for at in [1_usize, 65_536, 200_000, weights().len() - 1] {
        let test = TestEnvironment::new();
        let server = Server::of_model(move |asked, weights| match asked.before {
            0 => Reply::new(200, weights).stalled_at(at),
            _ => Reply::of_file(asked, weights),
        });
        let repository = test.path("hf/hub/models--org--tiny");
        let part = repository.join(format!("blobs/{}.incomplete", sha256(&weights())));

        let mut child = command(&test, &server, PULL)
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started");
        let started = Instant::now();
        while fs::metadata(&part).map_or(0, |about| about.len()) < at as u64 {
            assert!(started.elapsed() < Duration::from_secs(60), "no part");
            thread::yield_now();
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!repository.join("snapshots").exists());

        let output = run(&test, &server, "models pull org/tiny --json").json();
        let pulled: PulledModel = serde_json::from_value(output).expect("a model");
        assert_eq!(fs::read(&pulled.file).expect("the file"), weights());
        assert_eq!(pulled.received_bytes, (weights().len() - at) as u64);
        assert_eq!(server.file_requests(), [None, Some(at)]);
    }
}

#[test]
fn a_pulled_model_is_found_and_named_with_its_use() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    let real = fs::read(assets.join("ragscope-reranker.Q5_0.gguf")).expect("a bundled model");
    let test = TestEnvironment::new();
    let server = Server::start(move |asked| {
        if asked.path == LISTING {
            Reply::of_listing(&[("ranker-Q5_0.gguf", &real)])
        } else {
            Reply::of_file(asked, &real)
        }
    });
    let token = test.write("token", "hf_of_file\n");
    let mut pull = command(&test, &server, PULL);
    CommandOutput::from_command(pull.env("HF_TOKEN_PATH", token))
        .prints("--set reranker.model=ranker-Q5_0.gguf")
        .reports("asking for the files of org/tiny");
    for asked in server.seen() {
        assert_eq!(asked.token.as_deref(), Some("Bearer hf_of_file"));
    }

    let listed = run(&test, &server, "models").stdout;
    let mut lines = listed.lines();
    let line = lines.find(|line| line.contains("ranker-Q5_0.gguf"));
    let line = line.expect("the model is listed");
    assert!(line.contains("reranker"), "{line}");
    assert!(line.contains("Hugging Face"), "{line}");
}

#[test]
fn errors_of_the_command_line_have_advice() {
    let test = TestEnvironment::new();
    let server = Server::start(|_| Reply::new(404, ""));
    run(&test, &server, "models pull nonsense")
        .exits(2)
        .reports("names no model");
    run(&test, &server, PULL)
        .exits(1)
        .reports("check the spelling on its page");
    run(&test, &server, "models pull ollama:a/b/c/d")
        .exits(2)
        .reports("write ORG/NAME");
    let mut offline = command(&test, &server, PULL);
    CommandOutput::from_command(offline.env("HF_HUB_OFFLINE", "1"))
        .reports("HF_HUB_OFFLINE is set");
}

#[test]
fn recommendations_follow_the_memory() {
    let test = TestEnvironment::new();
    let best = |memory: &str| -> Vec<String> {
        let arguments = ["models", "recommend", "--memory", memory, "--json"];
        let object = test.run(arguments).json();
        let models = object["models"].as_array().expect("a list").iter();
        models
            .filter(|model| model["is_best"] == true)
            .map(|model| model["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let large = best("64");
    assert_eq!(large.len(), 3, "{large:?}");
    assert_ne!(best("4"), large);

    test.run("models recommend")
        .prints("generator")
        .prints("reranker")
        .prints("Apache-2.0")
        .prints("ragscope models pull ")
        .prints("for models");
    test.run("models recommend --memory much")
        .exits(2)
        .reports("a number of GiB");
}
