//! Requests to the engine thread, one after the other.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::config::{Layers, Paths, preset_names};
use crate::event::{
    Command, CorpusCard, Event, Operation, Outcome, Problem, Record, RunEvent, RunSummary,
    SessionEvent, StopFlag, lock,
};
use crate::host::{Commands, Hub, progress_line};
use crate::story::text::one_line;

use super::caller::Caller;
use super::refusal::{Refusal, RefusalKind};
use super::status::Status;
use super::turns::TurnQueue;

/// Maximum wait for the first update of the index before a request uses what there is.
const INDEX_PATIENCE: Duration = Duration::from_secs(20);

/// Takes the records of the request in progress.
type Listener = mpsc::UnboundedSender<Arc<Record>>;

/// The engine behind a server.
pub struct SharedEngine {
    pub layers: Layers,
    pub sessions: PathBuf,
    /// The runs of this server, which may be read whatever their corpus.
    own_runs: Mutex<HashSet<String>>,
    commands: Commands,
    stop: StopFlag,
    status: watch::Receiver<Status>,
    listener: Arc<Mutex<Option<Listener>>>,
    queue: TurnQueue,
}

impl SharedEngine {
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
        let mut repeated = Repeated::default();
        let sink = Box::new(move |record: Record| {
            let record = Arc::new(record);
            let is_repeated = repeated.is_next(&record.event);
            if let Event::Session(event) = &record.event {
                sender.send_modify(|status| status.apply(event));
            }
            let taker = lock(&taker);
            if let Some(taker) = taker.as_ref().filter(|_| !is_repeated) {
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
            queue: TurnQueue::new(),
        };
        Ok((hub, engine))
    }

    /// Notes a run of this server.
    pub fn owns(&self, run: &str) {
        let mut own = lock(&self.own_runs);
        own.insert(run.to_owned());
    }

    /// Returns whether clients may read a recorded run: one over the served folders, or one of this
    /// server. Others hold text of folders that are not served.
    pub fn can_read(&self, run: &RunSummary) -> bool {
        let own = lock(&self.own_runs);
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
        Status {
            waiting: self.queue.waiting(),
            ..self.status.borrow().clone()
        }
    }

    /// Waits until the index holds the documents of the folders. After [`INDEX_PATIENCE`] a part of
    /// them will do.
    ///
    /// # Errors
    /// When there is nothing to search.
    pub async fn ready(&self, caller: &Caller) -> Result<(), Refusal> {
        let mut status = self.status.clone();
        let wait = async {
            while !status.borrow_and_update().is_settled {
                let line = status.borrow().indexing.clone().and_then(|progress| {
                    progress_line(&SessionEvent::IndexProgressed { progress })
                });
                if let Some(line) = line {
                    caller.report(one_line(&line));
                }
                if status.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            _ = timeout(INDEX_PATIENCE, wait) => {}
            () = caller.leave() => return Err(Refusal::for_cancellation()),
        }

        let status = self.status();
        if status.documents() > 0 {
            return Ok(());
        }
        let folders = status.corpus.as_ref().map(CorpusCard::arguments);
        let folders = folders.unwrap_or_else(|| "the folder".to_owned());
        let problem = match status.problem {
            Some(problem) => problem,
            None if status.is_settled => Problem::new(
                format!("no readable document in {folders}"),
                "add files that `ragscope formats` lists, or ask with preset closed-book",
            ),
            None => Problem::new(
                format!("{folders} is being indexed for the first time"),
                "the status shows the progress; try again when documents are there",
            ),
        };
        let kind = RefusalKind::Unavailable {
            retry_after: INDEX_PATIENCE,
        };
        Err(Refusal::new(kind, problem))
    }

    /// Sends a command when it is this request's turn, and passes the records of its answer to
    /// `observe`. A request that is cancelled leaves the queue, or stops the command.
    ///
    /// # Errors
    /// The problem that the engine reports; too many requests; a request that was cancelled.
    pub async fn request(
        &self,
        command: Command,
        caller: &Caller,
        mut observe: impl FnMut(&Arc<Record>) + Send,
    ) -> Result<(), Refusal> {
        let _turn = tokio::select! {
            turn = self.queue.turn() => turn?,
            () = caller.leave() => return Err(Refusal::for_cancellation()),
        };

        let operation = command.operation();
        let (listener, mut records) = mpsc::unbounded_channel();
        self.listen(Some(listener));
        let _deaf = Deaf(self);
        self.commands.send(command);

        let mut is_stopped = false;
        loop {
            let record = tokio::select! {
                record = records.recv() => record.ok_or_else(Refusal::for_end)?,
                () = caller.leave(), if !is_stopped => {
                    is_stopped = true;
                    self.stop.stop();
                    continue;
                }
            };
            observe(&record);
            match outcome(&record, operation) {
                None => {}
                Some(_) if is_stopped => {
                    // the stop may have reached the update of the index behind the command
                    self.commands.send(Command::Refresh);
                    return Err(Refusal::for_cancellation());
                }
                Some(outcome) => return outcome,
            }
        }
    }

    /// Sends a command as [`Self::request`] does, and returns the last value that `find` returns
    /// for an event of the session.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub async fn request_value<T: Send>(
        &self,
        command: Command,
        caller: &Caller,
        find: impl Fn(&SessionEvent) -> Option<T> + Send,
    ) -> Result<Option<T>, Refusal> {
        let mut found = None;
        let last = &mut found;
        let observe = move |record: &Arc<Record>| {
            if let Event::Session(event) = &record.event {
                *last = find(event).or(last.take());
            }
        };
        self.request(command, caller, observe).await?;
        Ok(found)
    }

    fn listen(&self, listener: Option<Listener>) {
        *lock(&self.listener) = listener;
    }
}

/// Recognises the end of the engine that a failed run has reported already. It follows the run, and
/// would end the request after it.
#[derive(Default)]
struct Repeated {
    /// The reason why the last run failed.
    reported: Option<Problem>,
}

impl Repeated {
    fn is_next(&mut self, event: &Event) -> bool {
        match event {
            Event::Run(RunEvent::RunFinished {
                outcome: Outcome::Failed(problem),
                ..
            }) => {
                self.reported = Some(problem.clone());
                false
            }
            Event::Session(SessionEvent::OperationFailed {
                operation: Operation::Engine,
                problem,
            }) => self.reported.take().as_ref() == Some(problem),
            Event::Run(_) | Event::Session(_) => false,
        }
    }
}

/// Ends listening when a request is over, however it ends.
struct Deaf<'a>(&'a SharedEngine);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        self.0.listen(None);
    }
}

/// Returns the outcome of the command that asked for `operation`, if this record ends it.
fn outcome(record: &Record, operation: Operation) -> Option<Result<(), Refusal>> {
    match &record.event {
        Event::Run(RunEvent::RunFinished { .. })
        | Event::Session(
            SessionEvent::Searched { .. }
            | SessionEvent::QuestionsSuggested { .. }
            | SessionEvent::SourceOpened { .. }
            | SessionEvent::PassageTraced { .. }
            | SessionEvent::UtilityMeasured { .. },
        ) => Some(Ok(())),
        Event::Session(SessionEvent::OperationFailed {
            operation: failed,
            problem,
        }) if *failed == operation || *failed == Operation::Engine => {
            let kind = match failed {
                Operation::Engine => RefusalKind::Failed,
                _ => RefusalKind::Refused,
            };
            Some(Err(Refusal::new(kind, problem.clone())))
        }
        Event::Session(SessionEvent::OperationStopped { operation: stopped })
            if *stopped == operation =>
        {
            Some(Err(Refusal::for_cancellation()))
        }
        Event::Run(_) | Event::Session(_) => None,
    }
}
