//! Between the screen and the engine thread.
//!
//! Commands about recorded runs are answered here, the rest goes to the worker. Records go to the screen and, when they belong
//! to a run, to the recorder.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::config::{Layers, Paths};
use crate::engine::{Outbox, Worker, mailbox};
use crate::event::{Command, Event, Record, SESSION, StopFlag};
use crate::trace::{Recorder, list_runs, read_run};

/// How long the screen's end waits for the engine to come to a clean end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Takes records to the screen.
pub type Sink = Box<dyn FnMut(Record) + Send>;

/// The running threads behind a screen.
pub struct Hub {
    stop: StopFlag,
    ended: Receiver<()>,
}

impl Hub {
    /// Start the engine thread and the hub's own. The sender takes the screen's commands; dropping it ends both threads.
    ///
    /// # Errors
    /// Settings that cannot be used, or a system without threads to give.
    pub fn start(
        layers: Layers,
        paths: &Paths,
        stop: &StopFlag,
        sink: Sink,
    ) -> anyhow::Result<(Self, Sender<Command>)> {
        let sessions = paths.sessions();
        let recorder = layers.config()?.record.enabled.then(|| Recorder::new(&sessions));
        let tee = Tee::new(recorder, sink);
        let (outbox, inbox) = mailbox(stop);
        let (commands, from_screen) = channel();
        let (end, ended) = channel();
        let (mut worker, publish, asked) =
            (Worker::new(layers, paths.clone(), stop.clone()), tee.clone(), stop.clone());
        thread::Builder::new().name("engine".to_owned()).spawn(move || {
            worker.serve(&inbox, &mut |record| {
                publish.publish(record);
                asked.flow()
            });
            drop(worker);
            let _ = end.send(());
        })?;
        let listener = stop.clone();
        thread::Builder::new().name("hub".to_owned()).spawn(move || {
            serve(&from_screen, &outbox, &sessions, &tee);
            // the screen is gone: whatever runs has nobody to run for
            listener.stop();
        })?;
        Ok((Self { stop: stop.clone(), ended }, commands))
    }

    /// Stop what runs and wait, within reason, until the engine has let go of its models and its index. An index that is being
    /// written survives a kill, so there is no need to wait longer.
    pub fn end(self) {
        self.stop.stop();
        match self.ended.recv_timeout(PATIENCE) {
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

/// Serve the screen until it is gone.
fn serve(commands: &Receiver<Command>, outbox: &Outbox, sessions: &Path, tee: &Tee) {
    for command in commands {
        match command {
            Command::ListSessions => tee.tell(list(sessions)),
            Command::OpenRun { file } => open(&file, tee),
            Command::Ask { .. } | Command::Open { .. } | Command::Reindex { .. } | Command::OpenSource { .. } => {
                if !outbox.send(command) {
                    tee.tell(failed(
                        "engine",
                        "the engine thread has ended",
                        "start ragscope again; its log may say why",
                    ));
                }
            }
        }
    }
}

fn list(sessions: &Path) -> Event {
    match list_runs(sessions) {
        Ok(runs) => Event::SessionsListed { folder: sessions.display().to_string(), runs },
        Err(error) => trace_failed("list the recorded runs", &error),
    }
}

fn open(file: &Path, tee: &Tee) {
    match read_run(file) {
        Ok(records) => tee.show(records),
        Err(error) => tee.tell(trace_failed("open the recorded run", &error)),
    }
}

fn trace_failed(operation: &str, error: &crate::trace::TraceError) -> Event {
    let failure = super::Failure::from_message(&error.to_string());
    failed(operation, &failure.error, &failure.advice)
}

fn failed(operation: &str, error: &str, advice: &str) -> Event {
    Event::OperationFailed { operation: operation.to_owned(), error: error.to_owned(), advice: advice.to_owned() }
}

/// Where records part: to the recorder and to the screen. Session records come from two threads and are numbered here.
#[derive(Clone)]
struct Tee(Arc<Mutex<Ends>>);

struct Ends {
    recorder: Option<Recorder>,
    sink: Sink,
    started: Instant,
    next_session_seq: u64,
}

impl Tee {
    fn new(recorder: Option<Recorder>, sink: Sink) -> Self {
        Self(Arc::new(Mutex::new(Ends { recorder, sink, started: Instant::now(), next_session_seq: 0 })))
    }

    /// A record of the worker.
    fn publish(&self, record: Record) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = ends.recorder.as_mut().map_or(Ok(()), |recorder| recorder.write(&record));
        if let Err(error) = written {
            ends.tell(Event::Warned { text: format!("this run is not recorded: {error}") });
        }
        ends.pass(record);
    }

    /// An event of the session.
    fn tell(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tell(event);
    }

    /// A recorded run: as it was, all at once, and not recorded again.
    fn show(&self, records: Vec<Record>) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            (ends.sink)(record);
        }
    }
}

impl Ends {
    fn tell(&mut self, event: Event) {
        self.pass(Record { seq: 0, t_us: 0, run: SESSION.to_owned(), event });
    }

    fn pass(&mut self, mut record: Record) {
        if record.run == SESSION {
            record.seq = self.next_session_seq;
            record.t_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.next_session_seq += 1;
        }
        (self.sink)(record);
    }
}
