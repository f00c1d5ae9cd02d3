//! Calls to the process of a generator: a message there, messages back until the call is over.

use std::io;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::message::{CallOutcome, GeneratorReply, GeneratorRequest, Shown};
use crate::event::{Flow, StopFlag};
use crate::process::{Pipes, Process, frame};

/// The hidden subcommand of the process.
pub const SUBCOMMAND: &str = "__generate";

/// Time between two looks at whether the user stopped the call.
const LATENCY: Duration = Duration::from_millis(20);
/// Time that a stopped call has to end. A worker whose machine is gone without a word would keep
/// it.
const ENDING: Duration = Duration::from_secs(10);

/// Sees the steps of a call.
pub(super) type ObserveSteps<'a> = &'a mut dyn FnMut(Shown) -> Flow;

/// The process of a generator, which carries out messages. It ends with the value.
pub(super) struct GeneratorProcess {
    _process: Process,
    input: ChildStdin,
    /// The messages of the process, as a thread of their own reads them.
    replies: Receiver<Vec<u8>>,
}

impl GeneratorProcess {
    /// Starts the process.
    ///
    /// # Errors
    /// When the system has no room for another process or thread.
    pub fn start() -> io::Result<Self> {
        let (process, Pipes { input, mut output }) = Process::start(SUBCOMMAND)?;
        let (sender, replies) = channel();
        std::thread::Builder::new()
            .name("generator".to_owned())
            .spawn(move || {
                while frame::read(&mut output).is_ok_and(|reply| sender.send(reply).is_ok()) {}
            })?;
        Ok(Self {
            _process: process,
            input,
            replies,
        })
    }

    /// Returns whether the process ended between two calls.
    pub fn has_ended(&self) -> bool {
        // between calls the process has nothing to say
        matches!(self.replies.try_recv(), Err(TryRecvError::Disconnected))
    }

    /// Makes a call and waits for its outcome; `None` where the user stopped it and it did not end
    /// in time.
    ///
    /// # Errors
    /// A process that is gone, or sends something else.
    pub fn call<T: DeserializeOwned>(
        &mut self,
        request: &GeneratorRequest,
        observe: ObserveSteps<'_>,
        stop: &StopFlag,
    ) -> io::Result<Option<CallOutcome<T>>> {
        frame::write_json(&mut self.input, request)?;

        let mut interrupted: Option<Instant> = None;
        loop {
            if stop.is_set() && interrupted.is_none() {
                frame::write_json(&mut self.input, &GeneratorRequest::Interrupt)?;
                interrupted = Some(Instant::now());
            }
            if interrupted.is_some_and(|since| since.elapsed() > ENDING) {
                return Ok(None);
            }

            let message = match self.replies.recv_timeout(LATENCY) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::ErrorKind::NotConnected.into());
                }
            };
            match serde_json::from_slice(&message)? {
                GeneratorReply::Done(outcome) => return Ok(Some(outcome)),
                GeneratorReply::Shown(shown) => {
                    let is_loading = matches!(shown, Shown::Loading(_));
                    let continues = observe(shown) == Flow::Continue;
                    if is_loading && !continues {
                        interrupted.get_or_insert_with(Instant::now);
                    }
                    frame::write_json(&mut self.input, &GeneratorRequest::Seen { continues })?;
                }
            }
        }
    }
}
