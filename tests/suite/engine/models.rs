//! Choosing models: what is larger than the memory, what goes away, what is downloaded behind the
//! screen.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use ragscope::config::GeneratorSettings;
use ragscope::engine::{Updated, Worker};
use ragscope::event::{
    Ask, Command, Event, Flow, ModelRole, Operation, Outcome, Record, RunEvent, SessionEvent,
    StopFlag,
};
use ragscope::host::Hub;
use ragscope::llm::memory::shortage;
use ragscope::llm::{Runtime, discover};

use crate::support::environment::{QUESTION, SMALL_GENERATOR, TestEnvironment, small_settings};

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("assets/models")
        .join(name)
}

/// A copy of the small generator in the models folder of the program.
fn own_model(test: &TestEnvironment, name: &str) -> PathBuf {
    let folder = test.paths().models();
    fs::create_dir_all(&folder).expect("made");
    fs::copy(bundled(SMALL_GENERATOR), folder.join(name)).expect("copied");
    folder.join(name)
}

/// A model of 4 TiB, nearly all of it a hole in the file.
fn huge_model(test: &TestEnvironment) -> PathBuf {
    let file = own_model(test, "huge.gguf");
    let opened = OpenOptions::new().write(true).open(&file).expect("opened");
    opened.set_len(4 << 40).expect("a file with a hole");
    file
}

struct Session {
    records: Receiver<Record>,
    commands: ragscope::host::Commands,
    hub: Hub,
}

impl Session {
    fn start(test: &TestEnvironment, model: &str) -> Self {
        let mut layers = small_settings();
        layers
            .set("test", "generator.model", model)
            .expect("a known key");
        let (sender, records) = channel();
        let sink = Box::new(move |record| drop(sender.send(record)));
        let (hub, commands) =
            Hub::start(layers, &test.paths(), &StopFlag::default(), sink).expect("started");
        Self {
            records,
            commands,
            hub,
        }
    }

    /// Takes records until one is what is waited for.
    fn wait<T>(&self, is_it: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let record = self.records.recv_timeout(Duration::from_secs(60));
            if let Some(found) = is_it(&record.expect("a record").event) {
                return found;
            }
        }
    }

    fn ask(&self) -> Outcome {
        self.commands.send(Command::Ask(Ask {
            overrides: vec![("preset".to_owned(), "closed-book".to_owned())],
            ..Ask::new(QUESTION)
        }));
        self.wait(|event| match event {
            Event::Run(RunEvent::RunFinished { outcome, .. }) => Some(outcome.clone()),
            _ => None,
        })
    }

    fn load(&self, key: &str, value: &str) {
        self.commands.send(Command::LoadModels {
            overrides: vec![(key.to_owned(), value.to_owned())],
        });
    }

    fn failure(&self, operation: Operation) -> (String, String) {
        self.wait(|event| match event {
            Event::Session(SessionEvent::OperationFailed {
                operation: failed,
                problem,
            }) if *failed == operation => Some((
                problem.error.clone(),
                problem.advice.clone().unwrap_or_default(),
            )),
            _ => None,
        })
    }
}

/// Returns whether the model wrote an answer, however long.
fn has_ended_well(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Completed | Outcome::LimitReached)
}

#[test]
fn a_model_that_is_removed_serves_until_it_is_loaded_again() {
    let test = TestEnvironment::new();
    let file = own_model(&test, "mine.gguf");
    let session = Session::start(&test, "mine.gguf");
    assert!(has_ended_well(&session.ask()));

    fs::remove_file(&file).expect("removed");
    assert!(has_ended_well(&session.ask()), "it is mapped");

    session.load("generator.context_tokens", "512");
    let (error, advice) = session.failure(Operation::LoadModels);
    assert!(error.contains("no model named `mine.gguf`"), "{error}");
    assert!(advice.contains("ragscope models"), "{advice}");

    session.load("generator.model", SMALL_GENERATOR);
    let loaded = session.wait(|event| match event {
        Event::Session(SessionEvent::ModelLoaded { model, .. })
            if model.role == ModelRole::Generator =>
        {
            Some(model.file.clone())
        }
        _ => None,
    });
    assert_eq!(loaded, SMALL_GENERATOR);
    session.hub.end();
}

#[test]
fn a_model_larger_than_the_memory_is_reported_before_it_is_loaded() {
    let test = TestEnvironment::new();
    let file = huge_model(&test);
    let paths = test.paths();
    let runtime = Runtime::start(&paths.log_file()).expect("started");
    let mut settings = GeneratorSettings {
        model: "huge.gguf".to_owned(),
        context_tokens: 2048,
        ..small_settings().config().expect("the defaults").generator
    };
    let (need, free_bytes) = shortage(&runtime, &file, &settings)
        .expect("a model")
        .expect("it does not fit");
    assert_eq!(need.file_bytes, 4 << 40);
    assert!(
        need.cache_bytes > 0 && free_bytes < need.file_bytes,
        "{need:?}"
    );

    let one = need.cache_bytes;
    settings.context_tokens *= 2;
    let (need, _) = shortage(&runtime, &file, &settings)
        .expect("a model")
        .expect("it does not fit");
    assert_eq!(
        need.cache_bytes,
        2 * one,
        "the cache grows with the context"
    );

    let fits = shortage(&runtime, &bundled(SMALL_GENERATOR), &settings);
    assert_eq!(fits.expect("a model"), None);

    // the warning comes before the first byte is read, and can stop the load
    let mut layers = small_settings();
    layers
        .set("test", "generator.model", "huge.gguf")
        .expect("a known key");
    let mut worker = Worker::new(layers, paths.clone(), StopFlag::default());
    let mut seen = Vec::new();
    let stopped = worker.check_question(QUESTION, &mut |record| {
        seen.push(record.event);
        Flow::Stop
    });
    assert!(stopped.is_err(), "nothing was loaded");
    let [Event::Session(SessionEvent::Warned { text, .. })] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert!(
        text.contains("huge.gguf needs 4398.") && text.contains("are free"),
        "{text}"
    );

    let listed = discover(&paths);
    let huge = listed.iter().find(|model| model.name == "huge.gguf");
    assert!(huge.is_some_and(|model| model.need.is_some_and(|need| need.bytes() > 4 << 40)));
}

#[test]
fn a_question_that_does_not_wait_for_all_vectors_keeps_those_that_are_there() {
    let test = TestEnvironment::new();
    for number in 0..40 {
        let text = format!("Ship {number} waits for the tide at quay {number}. ").repeat(16);
        let file = test.corpus().join(format!("ship-{number}.md"));
        std::fs::write(file, text).expect("written");
    }
    let mut worker = Worker::new(small_settings(), test.paths(), StopFlag::default());
    let folders = [test.corpus()];
    let mut publish = |_: Record| Flow::Continue;
    worker.open(&folders, false, &mut publish).expect("opened");

    let at_once = worker.update_within(Duration::ZERO, &mut publish);
    assert!(matches!(at_once, Ok(Updated::WordsOnly)), "{at_once:?}");
    let mut stop = |_: Record| Flow::Stop;
    let stopped = worker.update_within(Duration::from_secs(600), &mut stop);
    assert!(matches!(stopped, Ok(Updated::Interrupted)), "{stopped:?}");

    // each question adds vectors to those of the questions before
    for _ in 0..40 {
        let patience = Duration::from_millis(700);
        match worker.update_within(patience, &mut publish) {
            Ok(Updated::WordsOnly) => {}
            Ok(Updated::Finished(report)) => {
                assert!(!report.corpus.words_only && report.corpus.documents == 41);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("no vector was kept");
}

#[test]
fn the_list_of_models_names_what_is_here_and_what_is_not() {
    let test = TestEnvironment::new();
    own_model(&test, "mine.gguf");
    // a bundled model has this name already: the setting must be the path
    let twin = own_model(&test, SMALL_GENERATOR);
    let session = Session::start(&test, SMALL_GENERATOR);
    session.commands.send(Command::ListModels);
    let list = session.wait(|event| match event {
        Event::Session(SessionEvent::ModelsListed { list }) => Some(list.clone()),
        _ => None,
    });
    let setting = |file: &Path| {
        let found = list
            .local
            .iter()
            .find(|model| Path::new(&model.file) == file);
        found.map(|model| model.setting.clone()).expect("listed")
    };
    assert_eq!(
        setting(&test.paths().models().join("mine.gguf")),
        "mine.gguf"
    );
    assert_eq!(setting(&bundled(SMALL_GENERATOR)), SMALL_GENERATOR);
    assert_eq!(setting(&twin), twin.display().to_string());
    assert!(list.offered.len() > 8, "{:?}", list.offered);
    session.hub.end();
}

#[test]
fn a_download_behind_the_screen_ends_with_an_event() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let reference = format!(
        "ollama:http://{}/library/tiny:1b",
        listener.local_addr().expect("an address")
    );
    // the first request is refused, the second is never answered
    let server = thread::spawn(move || {
        let mut open = Vec::new();
        for (number, stream) in listener.incoming().take(2).flatten().enumerate() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 1024]);
            if number == 0 {
                let _ = stream.write_all(b"HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n");
            }
            open.push(stream);
        }
        open
    });

    let test = TestEnvironment::new();
    let session = Session::start(&test, SMALL_GENERATOR);
    let pull = |reference: &str| {
        session.commands.send(Command::PullModel {
            reference: reference.to_owned(),
        });
    };
    pull(&reference);
    let (error, advice) = session.failure(Operation::PullModel);
    assert!(error.contains("has no model tiny:1b"), "{error}");
    assert!(advice.contains("check the spelling"), "{advice}");
    session.wait(|event| {
        matches!(event, Event::Session(SessionEvent::ModelsListed { .. })).then_some(())
    });

    pull(&reference);
    session.wait(|event| {
        matches!(event, Event::Session(SessionEvent::PullProgressed { .. })).then_some(())
    });
    pull(&reference);
    let (error, _) = session.failure(Operation::PullModel);
    assert!(error.contains("another model"), "{error}");
    session.commands.send(Command::StopPull);
    session.wait(|event| {
        matches!(event, Event::Session(SessionEvent::OperationStopped { operation }) if *operation == Operation::PullModel)
            .then_some(())
    });
    session.hub.end();
    drop(server.join().expect("no panic"));
}
