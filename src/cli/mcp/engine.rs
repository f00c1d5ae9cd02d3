//! Requests to the engine thread, one after the other, in the order in which they came.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::cli::hub::{Commands, Hub};
use crate::cli::output::progress_line;
use crate::config::{Layers, Paths, preset_names};
use crate::event::{
    Command, CorpusCard, Event, Operation, Problem, Record, RunEvent, RunSummary, SessionEvent,
    StopFlag,
};
use crate::story::text::one_line;

use super::status::Status;

/// Maximum number of requests that wait for the engine.
const MAX_WAITING: usize = 64;
/// Maximum wait for the first update of the index before a request uses what there is.
const INDEX_PATIENCE: Duration = Duration::from_secs(20);

/// Takes the records of the request in progress.
type Listener = mpsc::UnboundedSender<Record>;

/// The engine behind a server.
pub struct Engine {
    pub layers: Layers,
    pub sessions: PathBuf,
    /// The runs of this server, which may be read whatever their corpus.
    own_runs: Mutex<HashSet<String>>,
    commands: Commands,
    stop: StopFlag,
    status: watch::Receiver<Status>,
    listener: Arc<Mutex<Option<Listener>>>,
    /// Holds one permit: for the request that the engine works on.
    turn: Semaphore,
    /// Holds a permit for each request that may wait.
    places: Semaphore,
}

impl Engine {
    /// Starts the engine thread and opens the folders.
    ///
    /// # Errors
    /// When the settings are invalid, or a thread cannot be started.
    pub fn start(
        folders: &[PathBuf],
        layers: Layers,
        paths: &Paths,
    ) -> Result<(Hub, Self), Problem> {
        let stop = StopFlag::default();
        let (sender, status) = watch::channel(Status {
            presets: preset_names(&paths.config.join("presets")),
            ..Status::default()
        });
        let listener: Arc<Mutex<Option<Listener>>> = Arc::default();
        let taker = Arc::clone(&listener);
        let sink = Box::new(move |record: Record| {
            sender.send_modify(|status| status.apply(&record));
            let taker = taker.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(taker) = taker.as_ref() {
                // a request that was dropped needs no more records
                let _ = taker.send(record);
            }
        });

        let (hub, commands) = Hub::start(layers.clone(), paths, &stop, sink)?;
        commands.send(Command::Open {
            folders: folders.to_owned(),
        });
        let engine = Self {
            layers,
            sessions: paths.sessions(),
            own_runs: Mutex::default(),
            commands,
            stop,
            status,
            listener,
            turn: Semaphore::new(1),
            places: Semaphore::new(MAX_WAITING),
        };
        Ok((hub, engine))
    }

    /// Notes a run of this server.
    pub fn owns(&self, run: &str) {
        let mut own = self.own_runs.lock().unwrap_or_else(PoisonError::into_inner);
        own.insert(run.to_owned());
    }

    /// Returns whether clients may read a recorded run: one over the served folders, or one of this server. Others hold
    /// text of folders that are not served.
    pub fn can_read(&self, run: &RunSummary) -> bool {
        let own = self.own_runs.lock().unwrap_or_else(PoisonError::into_inner);
        let served = self
            .status
            .borrow()
            .corpus
            .as_ref()
            .map(CorpusCard::arguments);
        own.contains(&run.run) || (run.folders.is_some() && run.folders == served)
    }

    /// Returns the state of the served folders.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Waits until the index holds the documents of the folders. After [`INDEX_PATIENCE`] a part of them will
    /// do.
    ///
    /// # Errors
    /// When there is nothing to search.
    pub async fn ready(&self, caller: &mut Caller) -> Result<(), Problem> {
        let mut status = self.status.clone();
        let cancellation = caller.context.ct.clone();
        let wait = async {
            while !status.borrow_and_update().is_settled {
                let line = status.borrow().indexing.clone().and_then(|progress| {
                    progress_line(&SessionEvent::IndexProgressed { progress })
                });
                if let Some(line) = line {
                    caller.report(&line).await;
                }
                if status.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            _ = timeout(INDEX_PATIENCE, wait) => {}
            () = cancellation.cancelled() => return Err(cancelled()),
        }

        let status = self.status();
        if status.documents() > 0 {
            return Ok(());
        }
        let folders = status.corpus.as_ref().map(CorpusCard::arguments);
        let folders = folders.unwrap_or_else(|| "the folder".to_owned());
        Err(match status.problem {
            Some(problem) => problem,
            None if status.is_settled => Problem::new(
                format!("no readable document in {folders}"),
                "add text, Markdown or HTML files, or ask with preset closed-book",
            ),
            None => Problem::new(
                format!("{folders} is being indexed for the first time"),
                "`status` shows the progress; try again when documents are there",
            ),
        })
    }

    /// Sends a command and passes the records of its answer to `observe`, whose text, if any, is reported as progress.
    /// A request that the client cancels stops the command.
    ///
    /// # Errors
    /// The problem that the engine reports; too many requests; a request that was cancelled.
    pub async fn request(
        &self,
        command: Command,
        caller: &mut Caller,
        mut observe: impl FnMut(Record) -> Option<String> + Send,
    ) -> Result<(), Problem> {
        let busy = |_| {
            Problem::new(
                "too many requests wait",
                "wait for an answer, then try again",
            )
        };
        let _place = self.places.try_acquire().map_err(busy)?;
        let _turn = tokio::select! {
            turn = self.turn.acquire() => turn.map_err(|_| ended())?,
            () = caller.context.ct.cancelled() => return Err(cancelled()),
        };

        let operation = command.operation();
        let (listener, mut records) = mpsc::unbounded_channel();
        self.listen(Some(listener));
        let _deaf = Deaf(self);
        self.commands.send(command);

        let mut is_stopped = false;
        loop {
            let record = tokio::select! {
                record = records.recv() => record.ok_or_else(ended)?,
                () = caller.context.ct.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.stop.stop();
                    continue;
                }
            };
            let end = End::of(&record, operation);
            if let Some(text) = observe(record) {
                caller.report(&text).await;
            }
            match end {
                None => {}
                Some(_) if is_stopped => {
                    // the stop may have reached the update of the index behind the command
                    self.commands.send(Command::Refresh);
                    return Err(cancelled());
                }
                Some(End::Done) => return Ok(()),
                Some(End::Failed(problem)) => return Err(problem),
            }
        }
    }

    fn listen(&self, listener: Option<Listener>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }
}

/// Ends listening when a request is over, however it ends.
struct Deaf<'a>(&'a Engine);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        self.0.listen(None);
    }
}

/// How a command ended.
enum End {
    Done,
    Failed(Problem),
}

impl End {
    /// Returns the end of the command that asked for `operation`, if this record is that.
    fn of(record: &Record, operation: Operation) -> Option<Self> {
        match &record.event {
            Event::Run(RunEvent::RunFinished { .. })
            | Event::Session(
                SessionEvent::Searched { .. }
                | SessionEvent::DocumentsListed { .. }
                | SessionEvent::SourceOpened { .. }
                | SessionEvent::PassageTraced { .. }
                | SessionEvent::UtilityMeasured { .. },
            ) => Some(Self::Done),
            Event::Session(SessionEvent::OperationFailed {
                operation: failed,
                problem,
            }) if *failed == operation || *failed == Operation::Engine => {
                Some(Self::Failed(problem.clone()))
            }
            Event::Session(SessionEvent::OperationStopped { operation: stopped })
                if *stopped == operation =>
            {
                Some(Self::Failed(cancelled()))
            }
            Event::Run(_) | Event::Session(_) => None,
        }
    }
}

fn ended() -> Problem {
    Problem::new("the engine has ended", "restart the server")
}

fn cancelled() -> Problem {
    Problem::without_advice("the request was cancelled")
}

/// The client behind a request.
pub struct Caller {
    context: RequestContext<RoleServer>,
    /// Number of lines of progress that were reported.
    reported: u32,
}

impl Caller {
    pub fn new(context: RequestContext<RoleServer>) -> Self {
        Self {
            context,
            reported: 0,
        }
    }

    /// Reports a line of progress, if the client asked for it.
    async fn report(&mut self, text: &str) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        self.reported += 1;
        let progress = ProgressNotificationParam::new(token, f64::from(self.reported))
            .with_message(one_line(text));
        // a client that has left needs no progress
        let _ = self.context.peer.notify_progress(progress).await;
    }
}
