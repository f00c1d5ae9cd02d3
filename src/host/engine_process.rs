//! The engine behind the screen and the servers, in a process of its own.
//!
//! llama.cpp can end the process that it runs in: on a damaged model, without memory, when a
//! machine that computes some of the layers goes away. Here that costs the run in progress, with
//! its reason. The next command starts the engine again over the same folders, and the
//! conversation, which is in the recorded runs, continues.
//!
//! Commands and stops go in as frames of JSON, in order; records come out. Measured, this costs
//! less than the differences between two runs (`benches/experiments/2026-11-25-figures.md`).

use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use std::{io, thread};

use crate::config::{Layers, Paths};
use crate::event::{Command, Problem, lock};
use crate::process::{Ending, Pipes, Process, frame, group};

use super::message::{EngineReply, EngineRequest, EngineSetup, ProgramVersion};
use super::tee::Tee;

/// The hidden subcommand of the engine's process.
pub const SUBCOMMAND: &str = "__engine";

/// Maximum wait for the engine to end cleanly. An index that is being written survives a kill, so
/// there is no need to wait longer.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Begins the sentence that a crash writes to stderr; see [`crate::llm::contain_crashes`].
const CRASH_MARK: &str = "ragscope stopped: ";

/// The engine of a front end. Dropping all clones ends it.
#[derive(Clone)]
pub struct EngineProcess(Arc<SharedProcess>);

struct SharedProcess {
    setup: EngineSetup,
    tee: Tee,
    state: Mutex<ProcessState>,
}

#[derive(Default)]
struct ProcessState {
    running: Option<Running>,
    /// Number of processes that were started.
    starts: u64,
    /// The commands that a new process gets first: the open folders of the last one, and their
    /// settings of chunking.
    opened: Option<Command>,
    reindexed: Option<Command>,
}

/// A process that takes commands.
struct Running {
    number: u64,
    input: ChildStdin,
    /// The leader of its process group.
    leader: u32,
    /// Disconnected once the process is gone.
    gone: Receiver<()>,
}

impl EngineProcess {
    /// Starts the engine. Its records go to `tee`.
    ///
    /// # Errors
    /// When the system has no room for another process.
    pub fn start(layers: Layers, paths: Paths, tee: Tee) -> Result<Self, Problem> {
        let setup = EngineSetup {
            version: ProgramVersion::own(),
            layers,
            paths,
        };
        let engine = Self(Arc::new(SharedProcess {
            setup,
            tee,
            state: Mutex::default(),
        }));
        engine.start_process(&mut lock(&engine.0.state))?;
        Ok(engine)
    }

    /// Sends a command. An engine that has ended starts again, but for a change in the folder: the
    /// next command finds that as well.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub fn send(&self, command: Command) -> Result<(), Problem> {
        let mut state = lock(&self.0.state);
        if state.running.is_none() && command == Command::Refresh {
            return Ok(());
        }

        let is_new = state.running.is_none();
        if is_new {
            self.start_process(&mut state)?;
        }
        let request = EngineRequest::Obey(command);
        if state.write(&request).is_err() && !is_new {
            // it ended a moment ago, between two commands
            self.start_process(&mut state)?;
            // a failure is reported by the thread that sees the process end
            let _ = state.write(&request);
        }
        state.remember(request);
        Ok(())
    }

    /// Stops what runs and what waits.
    pub fn stop(&self) {
        // a process that is gone has stopped
        let _ = lock(&self.0.state).write(&EngineRequest::Stop);
    }

    /// Returns what stops this engine, as long as there is one.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + use<> {
        let shared = Arc::downgrade(&self.0);
        move || {
            if let Some(shared) = shared.upgrade() {
                Self(shared).stop();
            }
        }
    }

    /// Ends the engine: what runs is stopped, and the process gets some time to release its models
    /// and its index.
    pub fn end(&self) {
        let mut state = lock(&self.0.state);
        let _ = state.write(&EngineRequest::Stop);
        let Some(running) = state.running.take() else {
            return;
        };
        drop(state);

        drop(running.input);
        if running.gone.recv_timeout(SHUTDOWN_TIMEOUT)
            == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            group::end(running.leader);
        }
    }

    /// Starts a process and opens what the last one had open.
    fn start_process(&self, state: &mut ProcessState) -> Result<(), Problem> {
        let started =
            Process::start(SUBCOMMAND).and_then(|(process, Pipes { mut input, output })| {
                frame::write_json(&mut input, &self.0.setup)?;
                state.starts += 1;
                let (alive, gone) = channel();
                let leader = process.id();
                let watch = ProcessReader {
                    process,
                    output,
                    number: state.starts,
                    engine: Arc::downgrade(&self.0),
                    tee: self.0.tee.clone(),
                    _alive: alive,
                };
                thread::Builder::new()
                    .name("engine".to_owned())
                    .spawn(move || watch.run())?;
                Ok(Running {
                    number: state.starts,
                    input,
                    leader,
                    gone,
                })
            });
        state.running = Some(started.map_err(|error| {
            Problem::new(
                format!("the engine cannot be started ({error})"),
                "end other programs, or raise the limit of processes (`ulimit -u`)",
            )
        })?);

        let earlier = [state.opened.clone(), state.reindexed.clone()];
        for command in earlier.into_iter().flatten() {
            let _ = state.write(&EngineRequest::Obey(command));
        }
        Ok(())
    }
}

impl ProcessState {
    fn write(&mut self, request: &EngineRequest) -> io::Result<()> {
        let running = self.running.as_mut();
        let running = running.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        frame::write_json(&mut running.input, request)
    }

    /// Keeps what a new process has to be given.
    fn remember(&mut self, request: EngineRequest) {
        match request {
            EngineRequest::Obey(command @ Command::Open { .. }) => {
                self.opened = Some(command);
                self.reindexed = None;
            }
            EngineRequest::Obey(Command::Reindex { overrides, .. }) => {
                self.reindexed = Some(Command::Reindex {
                    rebuild: false,
                    overrides,
                });
            }
            EngineRequest::Obey(_) | EngineRequest::Stop => {}
        }
    }
}

/// Reads what a process writes until it ends.
struct ProcessReader {
    process: Process,
    output: ChildStdout,
    number: u64,
    engine: Weak<SharedProcess>,
    tee: Tee,
    /// Dropped with the process.
    _alive: Sender<()>,
}

impl ProcessReader {
    fn run(mut self) {
        let mut panicked = None;
        while let Ok(bytes) = frame::read(&mut self.output) {
            match serde_json::from_slice(&bytes) {
                Ok(EngineReply::Record(record)) => self.tee.publish(*record),
                Ok(EngineReply::Panicked(message)) => panicked = Some(message),
                Err(error) => {
                    panicked = Some(format!("its record cannot be read: {error}"));
                    break;
                }
            }
        }

        let ending = self.process.end();
        let reason = panicked.map_or_else(
            || reason(&ending),
            |message| format!("the engine failed ({message})"),
        );
        // a front end that has left, or has ended the engine, needs no report
        if self.is_current() {
            self.tee.fail(&reason);
        }
    }

    /// Notes that the process is gone. Returns whether commands went to it until now.
    fn is_current(&self) -> bool {
        let Some(engine) = self.engine.upgrade() else {
            return false;
        };
        let mut state = lock(&engine.state);
        let is_current = state
            .running
            .as_ref()
            .is_some_and(|running| running.number == self.number);
        if is_current {
            state.running = None;
        }
        is_current
    }
}

/// Returns for users why a process ended: the sentence of a crash, or the signal.
fn reason(ending: &Ending) -> String {
    let mut lines = ending.stderr.lines().rev();
    if let Some(sentence) = lines.find_map(|line| line.strip_prefix(CRASH_MARK)) {
        return format!("the engine stopped: {sentence}");
    }

    match ending.status.and_then(group::signal) {
        Some("SIGKILL") => {
            "the engine was ended by the system (SIGKILL): there may not be enough memory"
                .to_owned()
        }
        Some(signal) => format!("the engine was ended ({signal})"),
        None => match ending.stderr.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("the engine ended ({line})"),
            None => "the engine ended".to_owned(),
        },
    }
}
