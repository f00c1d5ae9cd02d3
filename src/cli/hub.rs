//! The connection between the screen and the engine.
//!
//! Commands about recorded runs are answered here, on a thread of their own, the rest goes straight to the engine. Records go to
//! the screen and, when they belong to a run, to the recorder.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::config::{Layers, Paths, Watch};
use crate::corpus::Watcher;
use crate::event::{
    Advice, Command, Event, Operation, Outcome, Problem, Record, RunEvent, RunSummary, RunUsage,
    SESSION, SessionEvent, StopFlag, elapsed_us,
};
use crate::index::is_address;
use crate::trace::{
    Recorder, list_runs, name_thread, newest_runs, read_run, thread_name, thread_names,
};

use super::downloads::Downloads;
use super::engine::Engine;
use super::pull::model_list;

/// Takes records to the screen.
pub type Sink = Box<dyn FnMut(Record) + Send>;

/// The running engine behind a screen.
pub struct Hub {
    engine: Engine,
}

/// The sender of the screen's commands.
pub struct Commands {
    engine: Engine,
    library: Sender<Command>,
    downloads: Downloads,
    tee: Tee,
    watch: Watch,
    /// Follow the open folders.
    watchers: Mutex<Vec<Watcher>>,
}

impl Hub {
    /// Starts the engine and the thread that reads recorded runs. `stop` stops the engine from now on.
    ///
    /// # Errors
    /// When the settings are invalid, or a process or thread cannot be started.
    pub fn start(
        layers: Layers,
        paths: &Paths,
        stop: &StopFlag,
        sink: Sink,
    ) -> Result<(Self, Commands), Problem> {
        let sessions = paths.sessions();
        let config = layers.config()?;
        let recorder = config.record.enabled.then(|| Recorder::new(&sessions));
        let tee = Tee::new(recorder, sink);

        let engine = Engine::start(layers, paths.clone(), tee.clone())?;
        stop.relay(engine.stopper());

        let (library, requests) = channel();
        let shown = tee.clone();
        let paths = paths.clone();
        let serve = move || serve_runs(&requests, &paths, &shown);
        let thread = thread::Builder::new().name("library".to_owned());
        thread.spawn(serve).map_err(|error| {
            Problem::new(
                format!("cannot start a thread ({error})"),
                "end other programs, or raise the limit of processes (`ulimit -u`)",
            )
        })?;

        let commands = Commands {
            engine: engine.clone(),
            library,
            downloads: Downloads::default(),
            tee,
            watch: config.corpus.watch,
            watchers: Mutex::default(),
        };
        Ok((Self { engine }, commands))
    }

    /// Stops the work in progress and waits some seconds until the engine has released its models and
    /// its index.
    pub fn end(self) {
        self.engine.end();
    }
}

impl Commands {
    /// Sends a command. A stop that follows at once reaches it: both go through one pipe.
    pub fn send(&self, command: Command) {
        if let Command::Open { folders } = &command {
            self.follow(folders);
        }
        match command {
            Command::ListSessions
            | Command::OpenRun { .. }
            | Command::RenameThread { .. }
            | Command::ListModels => {
                // the thread lives as long as this sender
                let _ = self.library.send(command);
            }
            Command::PullModel { reference } => {
                self.downloads
                    .start(reference, self.library.clone(), self.tee.clone());
            }
            Command::StopPull => self.downloads.stop(),
            Command::Ask(_)
            | Command::Open { .. }
            | Command::Reindex { .. }
            | Command::Refresh
            | Command::TracePassage { .. }
            | Command::OpenSource { .. }
            | Command::Search { .. }
            | Command::Embed { .. }
            | Command::ListDocuments
            | Command::MeasureUtility { .. }
            | Command::LoadModels { .. } => {
                if let Err(problem) = self.engine.send(command) {
                    self.tee.emit(failed(Operation::Engine, problem));
                }
            }
        }
    }

    /// Has the indexes follow these folders from now on, and no longer those before.
    fn follow(&self, folders: &[PathBuf]) {
        let watched = folders.iter().filter(|folder| !is_address(folder));
        let watchers = watched.filter_map(|folder| self.watcher(folder));
        let watchers = watchers.collect();
        *self.watchers.lock().unwrap_or_else(PoisonError::into_inner) = watchers;
    }

    /// Starts to watch a folder; `None` where that is off or fails, which is reported.
    fn watcher(&self, folder: &Path) -> Option<Watcher> {
        let engine = self.engine.clone();
        let watcher = Watcher::start(folder, self.watch, move || {
            engine.send(Command::Refresh).is_ok()
        });
        let problem = match &watcher {
            Ok(watcher) => watcher
                .as_ref()
                .and_then(|watcher| watcher.fallback.clone()),
            Err(error) => Some(Problem::new(
                format!("{} is not watched ({error})", folder.display()),
                "index it again after a change",
            )),
        };
        if let Some(Problem { error, advice }) = problem {
            self.tee.emit(SessionEvent::Warned {
                text: error,
                advice,
            });
        }
        watcher.ok().flatten()
    }
}

/// Number of runs that are listed before the others are read.
const FIRST_LISTED: usize = 300;

/// Reads recorded runs for the screen until it closes.
fn serve_runs(requests: &Receiver<Command>, paths: &Paths, tee: &Tee) {
    let sessions = &paths.sessions();
    for request in requests {
        match request {
            Command::ListSessions => {
                if let Some(newest) = list_newest(sessions) {
                    tee.emit(newest);
                }
                tee.emit(list(sessions));
            }
            Command::OpenRun { file } => open(&file, tee),
            Command::RenameThread { thread, name } => match name_thread(sessions, &thread, &name) {
                Ok(()) => tee.emit(list(sessions)),
                Err(error) => tee.emit(failed(Operation::RenameThread, error.into())),
            },
            Command::ListModels => tee.emit(list_models(paths)),
            Command::Ask(_)
            | Command::Open { .. }
            | Command::Reindex { .. }
            | Command::Refresh
            | Command::TracePassage { .. }
            | Command::OpenSource { .. }
            | Command::Search { .. }
            | Command::Embed { .. }
            | Command::ListDocuments
            | Command::MeasureUtility { .. }
            | Command::LoadModels { .. }
            | Command::PullModel { .. }
            | Command::StopPull => {}
        }
    }
}

/// Returns the newest runs of a folder in which reading all takes a while.
fn list_newest(sessions: &Path) -> Option<SessionEvent> {
    let runs = newest_runs(sessions, FIRST_LISTED).ok()??;
    let threads = runs.iter().map(RunSummary::thread);
    let names =
        threads.filter_map(|thread| Some((thread.to_owned(), thread_name(sessions, thread)?)));
    Some(SessionEvent::SessionsListed {
        folder: sessions.display().to_string(),
        names: names.collect(),
        runs,
        more: true,
    })
}

fn list(sessions: &Path) -> SessionEvent {
    let listed = list_runs(sessions).and_then(|runs| Ok((runs, thread_names(sessions)?)));
    match listed {
        Ok((runs, names)) => SessionEvent::SessionsListed {
            folder: sessions.display().to_string(),
            runs,
            names,
            more: false,
        },
        Err(error) => failed(Operation::ListSessions, error.into()),
    }
}

fn open(file: &Path, tee: &Tee) {
    match read_run(file) {
        Ok(records) => {
            let run = records.last().map(|record| record.run.clone());
            tee.show(records);
            if let Some(run) = run {
                tee.emit(SessionEvent::RunOpened { run });
            }
        }
        Err(error) => tee.emit(failed(Operation::OpenRun, error.into())),
    }
}

/// Returns the models of this machine and those to download.
fn list_models(paths: &Paths) -> SessionEvent {
    match model_list(paths) {
        Ok(list) => SessionEvent::ModelsListed { list },
        Err(problem) => failed(Operation::ListModels, problem),
    }
}

pub(super) fn failed(operation: Operation, problem: Problem) -> SessionEvent {
    SessionEvent::OperationFailed { operation, problem }
}

/// Passes records to the recorder and to the screen. Session records come from two threads and are
/// numbered here.
#[derive(Clone)]
pub(super) struct Tee(Arc<Mutex<Ends>>);

struct Ends {
    recorder: Option<Recorder>,
    sink: Sink,
    started: Instant,
    next_session_seq: u64,
    open: Option<OpenRun>,
}

/// A run that has not finished, with the data that ending it requires.
struct OpenRun {
    /// The last record of the run.
    run: String,
    seq: u64,
    t_us: u64,
    text: String,
}

impl Tee {
    fn new(recorder: Option<Recorder>, sink: Sink) -> Self {
        Self(Arc::new(Mutex::new(Ends {
            recorder,
            sink,
            started: Instant::now(),
            next_session_seq: 0,
            open: None,
        })))
    }

    /// Passes on a record of the engine.
    pub(super) fn publish(&self, record: Record) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.follow(&record);
        let written = ends
            .recorder
            .as_mut()
            .map_or(Ok(()), |recorder| recorder.write(&record));
        if let Err(error) = written {
            ends.emit(SessionEvent::Warned {
                text: format!("this run is not recorded: {error}"),
                advice: error.to_problem().advice,
            });
        }
        ends.pass(record);
    }

    /// Ends the open run as failed, because the engine has ended, and reports it.
    pub(super) fn fail(&self, error: &str) {
        let problem = Problem::new(
            error,
            "ask again: the engine starts again with the next command; `ragscope paths` shows where its log is",
        );
        let open = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .open
            .take();
        if let Some(OpenRun {
            run,
            seq,
            t_us,
            text,
        }) = open
        {
            let outcome = Outcome::Failed(problem.clone());
            let (answer, citations, usage) = (String::new(), Vec::new(), RunUsage::default());
            let event = RunEvent::RunFinished {
                outcome,
                text: text.trim().to_owned(),
                answer,
                citations,
                usage,
            };
            self.publish(Record {
                seq: seq + 1,
                t_us,
                run,
                event: event.into(),
            });
        }
        self.emit(failed(Operation::Engine, problem));
    }

    /// Emits an event of the session.
    pub(super) fn emit(&self, event: SessionEvent) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .emit(event);
    }

    /// Passes on a recorded run unchanged, all at once, without recording it again.
    fn show(&self, records: Vec<Record>) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            (ends.sink)(record);
        }
    }
}

impl Ends {
    /// Keeps track of the open run.
    fn follow(&mut self, record: &Record) {
        let Event::Run(event) = &record.event else {
            return;
        };
        match event {
            RunEvent::RunFinished { .. } => self.open = None,
            RunEvent::RunStarted { .. } => {
                self.open = Some(OpenRun {
                    run: record.run.clone(),
                    seq: 0,
                    t_us: 0,
                    text: String::new(),
                });
            }
            _ => {}
        }
        if let Some(open) = &mut self.open {
            open.seq = record.seq;
            open.t_us = record.t_us;
            if let RunEvent::TokenGenerated { text, .. } = event {
                open.text.push_str(text);
            }
        }
    }

    fn emit(&mut self, event: SessionEvent) {
        self.pass(Record {
            seq: 0,
            t_us: 0,
            run: SESSION.to_owned(),
            event: event.into(),
        });
    }

    fn pass(&mut self, mut record: Record) {
        if record.run == SESSION {
            record.seq = self.next_session_seq;
            record.t_us = elapsed_us(self.started);
            self.next_session_seq += 1;
        }
        (self.sink)(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FORMAT;

    #[test]
    fn the_end_of_the_engine_ends_the_open_run_and_is_reported() {
        let home = tempfile::tempdir().expect("a folder");
        let (sender, records) = channel();
        let sink = Box::new(move |record| sender.send(record).expect("the test listens"));
        let tee = Tee::new(Some(Recorder::new(home.path())), sink);
        let record = |seq, event: RunEvent| Record {
            seq,
            t_us: seq,
            run: "r".to_owned(),
            event: event.into(),
        };
        let started = RunEvent::RunStarted {
            format: FORMAT,
            program: String::new(),
            question: "Where?".to_owned(),
            preset: String::new(),
            settings: serde_json::Value::Null,
            models: Vec::new(),
            corpus: None,
            seed: 1,
            started_at: 1,
            confirmed: Vec::new(),
            thread: None,
        };
        tee.publish(record(0, started));
        tee.publish(record(
            1,
            RunEvent::TokenGenerated {
                step: 1,
                text: " Lorby".to_owned(),
                logprob: 0.0,
                entropy: 0.0,
                alternatives: Vec::new(),
            },
        ));
        tee.fail("the engine failed (index out of bounds)");
        drop(tee);
        let seen: Vec<Record> = records.iter().collect();
        let Event::Run(RunEvent::RunFinished {
            outcome: Outcome::Failed(problem),
            text,
            ..
        }) = &seen[2].event
        else {
            panic!("{seen:?}")
        };
        assert!(problem.error.contains("index out of bounds"), "{problem}");
        assert_eq!(
            (text.as_str(), seen[2].seq, seen[2].run.as_str()),
            ("Lorby", 2, "r")
        );
        assert!(matches!(
            &seen[3].event,
            Event::Session(SessionEvent::OperationFailed {
                operation: Operation::Engine,
                ..
            })
        ));
        assert_eq!(
            read_run(&home.path().join("r.jsonl")).expect("recorded"),
            seen[..3]
        );
    }
}
