//! Calls to the process of a generator: a message there, messages back until the call is over.

use std::io;
use std::path::Path;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::message::{CallOutcome, GeneratorReply, GeneratorRequest};
use crate::config::{Config, GeneratorSettings};
use crate::event::{Flow, StopFlag};
use crate::llm::error::{LlmError, Result};
use crate::llm::log;
use crate::llm::rpc::RpcWorker;
use crate::llm::values::Token;
use crate::process::{Pipes, Process, frame};

/// The hidden subcommand of the process.
pub const SUBCOMMAND: &str = "__generate";

/// Time between two looks at whether the user stopped the call.
const LATENCY: Duration = Duration::from_millis(20);
/// Time that a stopped call has to end. A worker whose machine is gone without a word would keep
/// it.
const ENDING: Duration = Duration::from_secs(10);

/// The process of a generator, which carries out messages. It ends with the value.
struct GeneratorProcess {
    _process: Process,
    input: ChildStdin,
    /// The messages of the process, as a thread of their own reads them.
    replies: Receiver<Vec<u8>>,
}

impl GeneratorProcess {
    /// Starts the process and has it load the generator.
    fn load(file: &Path, settings: &GeneratorSettings) -> io::Result<Self> {
        let (process, Pipes { input, mut output }) = Process::start(SUBCOMMAND)?;
        let (sender, replies) = channel();
        std::thread::Builder::new()
            .name("generator".to_owned())
            .spawn(move || {
                while frame::read(&mut output).is_ok_and(|reply| sender.send(reply).is_ok()) {}
            })?;
        let mut process = Self {
            _process: process,
            input,
            replies,
        };

        let config = Config {
            generator: settings.clone(),
            ..Config::default()
        };
        process.send(&GeneratorRequest::Load {
            file: file.to_owned(),
            log_file: log::path(),
            settings: serde_json::to_value(config)?,
        })?;
        Ok(process)
    }

    fn send(&mut self, request: &GeneratorRequest) -> io::Result<()> {
        frame::write(&mut self.input, &serde_json::to_vec(request)?)
    }
}

/// Sees the share of a model that is loaded.
type ObserveLoad<'a> = &'a mut dyn FnMut(f32) -> Flow;
/// Sees the tokens of a call.
pub(super) type ObserveTokens<'a> = &'a mut dyn FnMut(usize, &Token) -> Flow;

/// The outcome of a call; `None` where the user stopped it and it did not end in time. The error
/// says that the process is gone, or sends something else.
type Waited = io::Result<Option<CallOutcome>>;

/// The way to a generator in a process.
pub(super) struct ProcessLink {
    /// `None` once it broke.
    process: Option<GeneratorProcess>,
}

impl ProcessLink {
    /// Asks the workers of the settings, starts the process and has it load the generator.
    ///
    /// # Errors
    /// A worker that does not answer; [`LlmError::Backend`] when the system has no room for another
    /// process or thread.
    pub fn load(file: &Path, settings: &GeneratorSettings) -> Result<Self> {
        for endpoint in &settings.rpc {
            RpcWorker::ask(endpoint)?;
        }
        let process = GeneratorProcess::load(file, settings)
            .map_err(|error| LlmError::Backend(format!("no process for the model ({error})")))?;
        Ok(Self {
            process: Some(process),
        })
    }

    /// Ends the process.
    pub fn end(&mut self) {
        self.process = None;
    }

    /// Returns whether the process ended.
    pub fn is_lost(&mut self) -> bool {
        // between calls the process has nothing to say
        let is_gone = |process: &GeneratorProcess| {
            matches!(process.replies.try_recv(), Err(TryRecvError::Disconnected))
        };
        if self.process.as_ref().is_some_and(is_gone) {
            self.end();
        }
        self.process.is_none()
    }

    /// Sends a request and waits for its outcome.
    pub fn call(
        &mut self,
        request: &GeneratorRequest,
        observe: ObserveTokens<'_>,
        stop: &StopFlag,
    ) -> Waited {
        let process = self.process()?;
        let outcome = process
            .send(request)
            .and_then(|()| finish(process, &mut |_| Flow::Continue, observe, stop));

        if !matches!(outcome, Ok(Some(_))) {
            self.end();
        }

        outcome
    }

    /// Waits for the outcome of the load, which begins by itself.
    pub fn wait_for_load(&mut self, loading: ObserveLoad<'_>, stop: &StopFlag) -> Waited {
        let process = self.process()?;
        finish(process, loading, &mut |_, _| Flow::Continue, stop)
    }

    fn process(&mut self) -> io::Result<&mut GeneratorProcess> {
        let process = self.process.as_mut();
        process.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

/// Waits for the outcome of a call, and passes on what comes before it.
fn finish(
    process: &mut GeneratorProcess,
    loading: ObserveLoad<'_>,
    observe: ObserveTokens<'_>,
    stop: &StopFlag,
) -> Waited {
    let mut interrupted: Option<Instant> = None;
    loop {
        if stop.is_set() && interrupted.is_none() {
            process.send(&GeneratorRequest::Interrupt)?;
            interrupted = Some(Instant::now());
        }
        if interrupted.is_some_and(|since| since.elapsed() > ENDING) {
            return Ok(None);
        }

        let message = match process.replies.recv_timeout(LATENCY) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::ErrorKind::NotConnected.into());
            }
        };
        match serde_json::from_slice(&message)? {
            GeneratorReply::Done(outcome) => return Ok(Some(outcome)),
            GeneratorReply::Loading(share) => {
                if loading(share) == Flow::Stop && interrupted.is_none() {
                    process.send(&GeneratorRequest::Interrupt)?;
                    interrupted = Some(Instant::now());
                }
            }
            GeneratorReply::Token { prompt, token } => {
                let continues = observe(prompt, &token) == Flow::Continue;
                process.send(&GeneratorRequest::Seen { continues })?;
            }
        }
    }
}
