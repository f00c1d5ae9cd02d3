//! Calls to a generator elsewhere: a message there, messages back until the call is over.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::message::{Outcome, Reply, Request};
use crate::config::{Config, GeneratorSettings};
use crate::event::{Flow, StopFlag};
use crate::llm::error::LlmError;
use crate::llm::log;
use crate::llm::rpc::RpcWorker;
use crate::llm::values::Token;
use crate::process::{Pipes, Process, frame};

/// The hidden subcommand of the process.
pub const SUBCOMMAND: &str = "__generate";

/// Time between two looks at whether the user stopped the call.
const LATENCY: Duration = Duration::from_millis(20);
/// Time that a stopped call has to end. A worker whose machine is gone without a word would keep it.
const ENDING: Duration = Duration::from_secs(10);

/// Carries messages, each as a whole.
pub trait Channel: Send {
    /// Sends a message.
    ///
    /// # Errors
    /// When the other side is gone.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Waits for a message; `None` when none came in that time.
    ///
    /// # Errors
    /// When the other side is gone, or sends something else.
    fn receive(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>>;
}

/// The process of a generator, which carries out messages.
pub struct GeneratorProcess {
    /// It ends with the value.
    _process: Process,
    input: ChildStdin,
}

impl GeneratorProcess {
    /// Asks the workers of the settings, starts the process and has it load the generator. `log_file` is that of
    /// llama.cpp. `take` gets each message of the process on a thread of its own, and answers whether it wants
    /// more; it is dropped when the process ends.
    ///
    /// # Errors
    /// [`LlmError::Worker`] for a worker that does not answer; [`LlmError::Backend`] when the system has no room for
    /// another process or thread.
    pub fn load(
        file: &Path,
        log_file: Option<PathBuf>,
        settings: &GeneratorSettings,
        take: impl FnMut(Vec<u8>) -> bool + Send + 'static,
    ) -> Result<Self, LlmError> {
        for endpoint in &settings.rpc {
            RpcWorker::ask(endpoint)?;
        }
        let not_started =
            |error: io::Error| LlmError::Backend(format!("no process for the model ({error})"));
        let mut process = Self::start(take).map_err(not_started)?;
        process
            .send_load(file, log_file, settings)
            .map_err(not_started)?;
        Ok(process)
    }

    fn start(mut take: impl FnMut(Vec<u8>) -> bool + Send + 'static) -> io::Result<Self> {
        let (process, Pipes { input, mut output }) = Process::start(SUBCOMMAND)?;
        std::thread::Builder::new()
            .name("generator".to_owned())
            .spawn(move || while frame::read(&mut output).is_ok_and(&mut take) {})?;
        Ok(Self {
            _process: process,
            input,
        })
    }

    fn send_load(
        &mut self,
        file: &Path,
        log_file: Option<PathBuf>,
        settings: &GeneratorSettings,
    ) -> io::Result<()> {
        let config = Config {
            generator: settings.clone(),
            ..Config::default()
        };
        let load = Request::Load {
            file: file.to_owned(),
            log_file,
            settings: serde_json::to_value(config)?,
        };
        self.send(&serde_json::to_vec(&load)?)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When it has ended.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        frame::write(&mut self.input, message)
    }
}

/// The process of a generator as a channel.
pub struct OwnProcess {
    process: GeneratorProcess,
    replies: Receiver<Vec<u8>>,
}

impl OwnProcess {
    /// Loads the generator of the settings in a process.
    ///
    /// # Errors
    /// As [`GeneratorProcess::load`].
    pub fn load(file: &Path, settings: &GeneratorSettings) -> Result<Self, LlmError> {
        let (sender, replies) = channel();
        let take = move |reply| sender.send(reply).is_ok();
        let process = GeneratorProcess::load(file, log::path(), settings, take)?;
        Ok(Self { process, replies })
    }
}

impl Channel for OwnProcess {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.process.send(message)
    }

    fn receive(&mut self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        match self.replies.recv_timeout(patience) {
            Ok(reply) => Ok(Some(reply)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// What a call does with what is shown on the way.
pub(super) struct Observers<'a> {
    pub loading: &'a mut dyn FnMut(f32) -> Flow,
    pub token: &'a mut dyn FnMut(usize, &Token) -> Flow,
}

/// Why a call has no outcome.
pub(super) enum Broken {
    /// The other side is gone.
    Gone,
    /// The other side sent what is no message of this version.
    Unreadable(String),
    /// Nothing came for this time.
    Silent(Duration),
    /// The user stopped the call, and it did not end in time.
    Stuck,
}

/// The way to a generator elsewhere.
pub(super) struct Link {
    /// `None` once it broke.
    channel: Option<Box<dyn Channel>>,
    /// The other side is gone when it sends nothing for this time during a call; `None` for a process, whose
    /// end is noticed.
    silence: Option<Duration>,
}

impl Link {
    pub fn new(channel: Box<dyn Channel>, silence: Option<Duration>) -> Self {
        Self {
            channel: Some(channel),
            silence,
        }
    }

    /// Ends it: the process, or the connection.
    pub fn end(&mut self) {
        self.channel = None;
    }

    /// Returns whether it ended.
    pub fn is_lost(&mut self) -> bool {
        // between calls the other side has nothing to say
        let is_gone = |channel: &mut Box<dyn Channel>| channel.receive(Duration::ZERO).is_err();
        if self.channel.as_mut().is_some_and(is_gone) {
            self.end();
        }
        self.channel.is_none()
    }

    /// Sends a request and waits for its outcome.
    pub fn call(
        &mut self,
        request: &Request,
        observers: &mut Observers<'_>,
        stop: &StopFlag,
    ) -> Result<Outcome, Broken> {
        let channel = self.channel.as_mut().ok_or(Broken::Gone)?;
        let outcome = send(&mut **channel, request)
            .and_then(|()| finish(&mut **channel, self.silence, observers, stop));
        if outcome.is_err() {
            self.end();
        }
        outcome
    }

    /// Waits for the outcome of the load, which begins by itself.
    pub fn loaded(
        &mut self,
        observers: &mut Observers<'_>,
        stop: &StopFlag,
    ) -> Result<Outcome, Broken> {
        let channel = self.channel.as_mut().ok_or(Broken::Gone)?;
        finish(&mut **channel, self.silence, observers, stop)
    }
}

/// Waits for the outcome of a call, and passes on what comes before it.
fn finish(
    channel: &mut dyn Channel,
    silence: Option<Duration>,
    observers: &mut Observers<'_>,
    stop: &StopFlag,
) -> Result<Outcome, Broken> {
    let mut heard = Instant::now();
    let mut interrupted: Option<Instant> = None;
    loop {
        if stop.is_set() && interrupted.is_none() {
            send(channel, &Request::Interrupt)?;
            interrupted = Some(Instant::now());
        }
        if interrupted.is_some_and(|since| since.elapsed() > ENDING) {
            return Err(Broken::Stuck);
        }

        let Some(message) = channel.receive(LATENCY).map_err(Broken::of)? else {
            if let Some(silence) = silence.filter(|silence| heard.elapsed() > *silence) {
                return Err(Broken::Silent(silence));
            }
            continue;
        };
        heard = Instant::now();
        let reply = serde_json::from_slice(&message)
            .map_err(|error| Broken::Unreadable(error.to_string()))?;
        match reply {
            Reply::Done(outcome) => return Ok(outcome),
            Reply::Alive => {}
            Reply::Loading(share) => {
                if (observers.loading)(share) == Flow::Stop && interrupted.is_none() {
                    send(channel, &Request::Interrupt)?;
                    interrupted = Some(Instant::now());
                }
            }
            Reply::Token { prompt, token } => {
                let continues = (observers.token)(prompt, &token) == Flow::Continue;
                send(channel, &Request::Seen { continues })?;
            }
        }
    }
}

fn send(channel: &mut dyn Channel, request: &Request) -> Result<(), Broken> {
    let message = serde_json::to_vec(request).map_err(|_| Broken::Gone)?;
    channel.send(&message).map_err(Broken::of)
}

impl Broken {
    fn of(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData {
            Self::Unreadable(error.to_string())
        } else {
            Self::Gone
        }
    }
}
