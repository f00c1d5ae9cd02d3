//! The connection between a front end and the engine.
//!
//! Commands about recorded runs are answered on a thread of their own, the rest goes straight to
//! the engine.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::config::{Layers, Paths, Watch};
use crate::corpus::Watcher;
use crate::event::{Command, Destination, Operation, Problem, SessionEvent, StopFlag, lock};
use crate::remote::is_address;
use crate::trace::Recorder;

use super::downloads::Downloads;
use super::engine_process::EngineProcess;
use super::library;
use super::tee::{Sink, Tee, failure};

/// The running engine behind a screen.
pub struct Hub {
    engine: EngineProcess,
}

/// The sender of the screen's commands.
pub struct Commands {
    engine: EngineProcess,
    library: Sender<Command>,
    downloads: Downloads,
    tee: Tee,
    watch: Watch,
    /// Follow the open folders.
    watchers: Mutex<Vec<Watcher>>,
}

impl Hub {
    /// Starts the engine and the thread that reads recorded runs. `stop` stops the engine from now
    /// on.
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

        let engine = EngineProcess::start(layers, paths.clone(), tee.clone())?;
        stop.relay(engine.stopper());

        let (library, requests) = channel();
        let shown = tee.clone();
        let paths = paths.clone();
        let serve = move || library::answer(&requests, &paths, &shown);
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

    /// Stops the work in progress and waits some seconds until the engine has released its models
    /// and its index.
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

        match command.destination() {
            Destination::Library => {
                // the thread lives as long as this sender
                let _ = self.library.send(command);
            }
            Destination::Downloads => {
                if let Command::PullModel { reference } = command {
                    self.downloads
                        .start(reference, self.library.clone(), self.tee.clone());
                } else {
                    self.downloads.stop();
                }
            }
            Destination::Engine => {
                if let Err(problem) = self.engine.send(command) {
                    self.tee.emit(failure(Operation::Engine, problem));
                }
            }
        }
    }

    /// Has the indexes follow these folders from now on, and no longer those before.
    fn follow(&self, folders: &[PathBuf]) {
        let watched = folders.iter().filter(|folder| !is_address(folder));
        let watchers = watched.filter_map(|folder| self.watcher(folder));
        let watchers = watchers.collect();
        *lock(&self.watchers) = watchers;
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

        if let Some(problem) = problem {
            self.tee.emit(SessionEvent::warning(problem));
        }
        watcher.ok().flatten()
    }
}
