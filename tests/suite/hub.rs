//! Between the screen and the engine: recorded runs, and the numbers of the session.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ragscope::event::{
    Ask, Command, Event, Operation, Outcome, Record, RunEvent, SESSION, SessionEvent, StopFlag,
};
use ragscope::host::Hub;
use ragscope::trace::list_runs;

use crate::support::environment::{QUESTION, TestEnvironment, small_settings};
use crate::support::find;

/// Take records until one satisfies `condition`.
fn receive(records: &Receiver<Record>, condition: impl Fn(&Event) -> bool) -> Vec<Record> {
    let mut taken = Vec::new();
    loop {
        taken.push(
            records
                .recv_timeout(Duration::from_secs(60))
                .expect("a record"),
        );
        if taken.last().is_some_and(|record| condition(&record.event)) {
            return taken;
        }
    }
}

#[test]
fn the_hub_answers_about_recorded_runs_and_numbers_the_session() {
    let test = TestEnvironment::new();
    let (sender, records) = channel();
    let sink = Box::new(move |record| sender.send(record).expect("the test listens"));
    let (hub, commands) =
        Hub::start(small_settings(), &test.paths(), &StopFlag::default(), sink).expect("started");
    let ask = |question: &str| Command::Ask(Ask::new(question));

    commands.send(Command::Open {
        folders: vec![test.corpus()],
    });
    let mut session = receive(&records, |event| {
        matches!(event, Event::Session(SessionEvent::IndexFinished { .. }))
    });
    commands.send(ask(QUESTION));
    let mut taken = receive(&records, |event| {
        matches!(event, Event::Run(RunEvent::RunFinished { .. }))
    });
    commands.send(ask(" "));
    taken.extend(receive(&records, |event| {
        matches!(event, Event::Session(SessionEvent::OperationFailed { .. }))
    }));
    commands.send(Command::ListSessions);
    taken.extend(receive(&records, |event| {
        matches!(event, Event::Session(SessionEvent::SessionsListed { .. }))
    }));
    let (run, rest): (Vec<_>, Vec<_>) = taken.into_iter().partition(|record| record.run != SESSION);
    session.extend(rest);
    assert!(
        session
            .iter()
            .map(|record| record.seq)
            .eq(0..session.len() as u64),
        "the session has no gaps"
    );

    let Some(Event::Session(SessionEvent::SessionsListed { runs, .. })) =
        session.last().map(|record| &record.event)
    else {
        panic!()
    };
    let [summary] = runs.as_slice() else {
        panic!("{runs:?}")
    };
    let open = |file: &str| {
        commands.send(Command::OpenRun {
            file: PathBuf::from(file),
        });
    };
    open(&summary.file);
    assert_eq!(
        receive(&records, |event| matches!(
            event,
            Event::Run(RunEvent::RunFinished { .. })
        )),
        run
    );
    let all_here = SessionEvent::RunOpened {
        run: summary.run.clone(),
    };
    receive(&records, |event| *event == Event::Session(all_here.clone()));
    commands.send(Command::RenameThread {
        thread: summary.thread().to_owned(),
        name: "the birthplace".to_owned(),
    });
    let listed = receive(&records, |event| {
        matches!(event, Event::Session(SessionEvent::SessionsListed { .. }))
    });
    let Some(Event::Session(SessionEvent::SessionsListed { names, .. })) =
        listed.last().map(|record| &record.event)
    else {
        panic!("{listed:?}")
    };
    assert_eq!(
        names.get(summary.thread()).map(String::as_str),
        Some("the birthplace")
    );
    open("nothing.jsonl");
    receive(
        &records,
        |event| matches!(event, Event::Session(SessionEvent::OperationFailed { problem, .. }) if problem.error.contains("nothing.jsonl")),
    );
    drop(commands);
    hub.end();
    assert_eq!(
        list_runs(&test.paths().sessions()).expect("a list").len(),
        1,
        "an opened run is not recorded again"
    );
}

#[test]
fn a_stop_reaches_a_question_however_soon_it_follows() {
    let test = TestEnvironment::new();
    let (sender, records) = channel();
    let sink = Box::new(move |record| sender.send(record).expect("the test listens"));
    let stop = StopFlag::default();
    let (hub, commands) =
        Hub::start(small_settings(), &test.paths(), &stop, sink).expect("started");
    let overrides = vec![("preset".to_owned(), "closed-book".to_owned())];
    for _ in 0..20 {
        // a recorded run that is being looked for must not hold the question up
        commands.send(Command::ListSessions);
        commands.send(Command::Ask(Ask {
            overrides: overrides.clone(),
            ..Ask::new(QUESTION)
        }));
        stop.stop();
        receive(&records, |event| match event {
            Event::Run(RunEvent::RunFinished { outcome, .. }) => {
                assert_eq!(*outcome, Outcome::Stopped);
                true
            }
            Event::Session(SessionEvent::OperationStopped { operation }) => {
                *operation == Operation::Ask
            }
            _ => false,
        });
    }
    drop(commands);
    hub.end();
}

/// llama.cpp ends the process that it runs in; the system does so without memory.
#[cfg(target_os = "linux")]
#[test]
fn an_engine_that_is_gone_costs_the_run_and_starts_again() {
    use nix::sys::signal::{Signal, kill};

    let test = TestEnvironment::new();
    let (sender, records) = channel();
    let sink = Box::new(move |record| sender.send(record).expect("the test listens"));
    let (hub, commands) =
        Hub::start(small_settings(), &test.paths(), &StopFlag::default(), sink).expect("started");
    commands.send(Command::Open {
        folders: vec![test.corpus()],
    });
    receive(&records, |event| {
        matches!(event, Event::Session(SessionEvent::IndexFinished { .. }))
    });

    for (signal, reason) in [
        (Signal::SIGSEGV, "llama.cpp failed while it used"),
        (Signal::SIGABRT, "llama.cpp failed while it used"),
        (Signal::SIGKILL, "there may not be enough memory"),
    ] {
        // at this temperature the model never comes to an end by itself
        let endless = [
            ("generator.temperature", "5"),
            ("answer.max_tokens", "100000"),
            ("answer.max_sentences", "100000"),
        ];
        let overrides = endless.map(|(key, value)| (key.to_owned(), value.to_owned()));
        commands.send(Command::Ask(Ask {
            overrides: overrides.to_vec(),
            ..Ask::new(QUESTION)
        }));
        receive(&records, |event| {
            matches!(event, Event::Run(RunEvent::TokenGenerated { .. }))
        });
        kill(test.engine(), signal).expect("sent");
        let ended = receive(&records, |event| {
            matches!(
                event,
                Event::Session(SessionEvent::OperationFailed {
                    operation: Operation::Engine,
                    ..
                })
            )
        });
        let run = find!(
            ended.iter().map(|record| &record.event),
            Event::Run(RunEvent::RunFinished { outcome, .. }) => outcome
        );
        let Some(Outcome::Failed(problem)) = run else {
            panic!("{signal}: {ended:?}")
        };
        assert!(problem.error.contains(reason), "{signal}: {problem}");

        // the folder is open again, too
        commands.send(Command::Ask(Ask::new(QUESTION)));
        let answered = receive(&records, |event| {
            matches!(event, Event::Run(RunEvent::RunFinished { .. }))
        });
        let has_context = answered.iter().any(|record| {
            matches!(&record.event, Event::Run(RunEvent::ContextBuilt { context, .. }) if !context.chunks.is_empty())
        });
        let outcome = answered.last().map(|record| &record.event);
        assert!(
            matches!(
                outcome,
                Some(Event::Run(RunEvent::RunFinished {
                    outcome: Outcome::Completed,
                    ..
                }))
            ),
            "{signal}: {outcome:?}"
        );
        assert!(has_context, "{signal}: {answered:?}");
    }

    drop(commands);
    hub.end();
}
