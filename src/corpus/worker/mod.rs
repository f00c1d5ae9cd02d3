//! Reading of binary formats in worker processes: this program again, started with a hidden
//! subcommand.
//!
//! A parser of a binary format can panic, abort, hang or allocate without bound. Here that costs
//! the file, with its reason, and never the run: the worker has a limit of memory and one of time
//! per file, and the next file gets another worker. There is at most one per thread that reads,
//! started with the first binary file and ended with the program.

mod message;
mod child;

pub use child::run_reader;

use std::process::ChildStdin;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use std::{io, thread};

use crate::event::lock;
use crate::process::{Cause, Pipes, Process, frame};

use super::formats::{Extract, Format, Input};
use message::{Answer, Request};

/// The hidden subcommand of a worker.
pub const SUBCOMMAND: &str = "__extract";

/// A worker that read a larger file is not used again, so that no memory stays taken.
const MAX_REUSED_BYTES: usize = 16 << 20;
/// Time by the clock per limit of processor time: other programs take their share of the machine,
/// and a reader may wait for a program that it started.
const CLOCK_PER_TIME: u32 = 4;

/// Attempts to start a worker while the system has no room for another process or thread.
const MAX_STARTS: u32 = 6;
/// Before the second attempt; twice as long before each one after it.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Advice about a file that exceeds a limit.
const WAY_OUT: &str = "Split it, or save its text as a .txt file";

/// The workers that wait for a file.
static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

/// The reason why a worker did not answer.
#[derive(Debug)]
enum Ended {
    By(Cause),
    NotStarted(io::Error),
}

/// A process that reads one file at a time.
struct Worker {
    process: Process,
    requests: ChildStdin,
    answers: Receiver<io::Result<Vec<u8>>>,
}

/// Extracts the text of a file in a worker process.
///
/// # Errors
/// The reason for users why it has no text.
pub(super) fn extract(format: &Format, input: &Input<'_>) -> Result<Extract, String> {
    let limits = input.options.limits(input.bytes.len() as u64);
    let request = Request {
        format: format.name.to_owned(),
        path: input.path.to_owned(),
        options: input.options.clone(),
        limits,
    };

    let answer = ask(&request, input.bytes).map_err(|ended| {
        let reader = format!("the {} reader", format.name);
        match ended {
            Ended::By(Cause::Memory) => format!(
                "{reader} ran out of memory on it: it may take {} MiB. {WAY_OUT}",
                limits.memory_bytes >> 20
            ),
            Ended::By(Cause::Time) => {
                let seconds = limits.time.as_secs_f32();
                format!("{reader} did not finish within {seconds:.0} s. {WAY_OUT}")
            }
            Ended::By(Cause::Nesting) => format!("{reader} failed on it: it nests too deeply"),
            Ended::By(Cause::Other) => describe_failure(format),
            Ended::NotStarted(error) => format!("{reader} cannot be started ({error})"),
        }
    })?;
    match answer {
        Answer::Text(extract) => Ok(*extract),
        Answer::Refused(reason) => Err(reason),
        Answer::Failed => Err(describe_failure(format)),
    }
}

fn describe_failure(format: &Format) -> String {
    let name = format.name;
    format!("the {name} reader failed on it: the file may be damaged")
}

/// Asks a worker. One that waited may be gone, or hold memory of the files before: then a new one
/// is asked again.
fn ask(request: &Request, bytes: &[u8]) -> Result<Answer, Ended> {
    let idle = lock(&IDLE).pop();
    if let Some(mut worker) = idle {
        match worker.ask(request, bytes) {
            Ok(answer) => {
                worker.rest(bytes.len());
                return Ok(answer);
            }
            Err(Ended::By(Cause::Time)) => return Err(Ended::By(Cause::Time)),
            Err(Ended::By(_) | Ended::NotStarted(_)) => {}
        }
    }

    let mut worker = retry_start(Worker::start).map_err(Ended::NotStarted)?;
    let answer = worker.ask(request, bytes)?;
    worker.rest(bytes.len());
    Ok(answer)
}

/// Starts something, again after a pause where the system has no room for another process or
/// thread: those of other programs end.
fn retry_start<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..MAX_STARTS {
        match start() {
            Err(error) if is_short_of_room(&error) => thread::sleep(pause),
            ended => return ended,
        }
        pause *= 2;
    }
    start()
}

/// Returns whether the system has no process, thread or memory left for now.
fn is_short_of_room(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory
    )
}

impl Worker {
    fn start() -> io::Result<Self> {
        let (process, Pipes { input, mut output }) = Process::start(SUBCOMMAND)?;
        let (sender, answers) = sync_channel(1);

        thread::Builder::new().spawn(move || {
            loop {
                let answer = frame::read(&mut output);
                let is_last = answer.is_err();
                if sender.send(answer).is_err() || is_last {
                    return;
                }
            }
        })?;

        Ok(Self {
            process,
            requests: input,
            answers,
        })
    }

    fn ask(&mut self, request: &Request, bytes: &[u8]) -> Result<Answer, Ended> {
        let header = serde_json::to_vec(request).map_err(|_| Ended::By(Cause::Other))?;
        let sent = frame::write(&mut self.requests, &header)
            .and_then(|()| frame::write(&mut self.requests, bytes));
        if sent.is_err() {
            return Err(Ended::By(self.process.end().cause()));
        }

        match self
            .answers
            .recv_timeout(request.limits.time * CLOCK_PER_TIME)
        {
            Ok(Ok(answer)) => serde_json::from_slice(&answer).map_err(|_| Ended::By(Cause::Other)),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                Err(Ended::By(self.process.end().cause()))
            }
            Err(RecvTimeoutError::Timeout) => Err(Ended::By(Cause::Time)),
        }
    }

    /// Waits for the next file.
    fn rest(self, file_bytes: usize) {
        if file_bytes <= MAX_REUSED_BYTES {
            lock(&IDLE).push(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_started_again_when_there_was_no_room_for_it() {
        let full = io::ErrorKind::WouldBlock;
        let gone = io::ErrorKind::NotFound;
        /// The ends of the attempts, whether one starts, and how many there are.
        type Case = (&'static [io::ErrorKind], Option<io::ErrorKind>, usize);
        let cases: [Case; 4] = [
            (&[], None, 1),
            (
                &[io::ErrorKind::WouldBlock, io::ErrorKind::OutOfMemory],
                None,
                3,
            ),
            (&[io::ErrorKind::NotFound], Some(gone), 1),
            (
                &[io::ErrorKind::WouldBlock; 9],
                Some(full),
                MAX_STARTS as usize,
            ),
        ];
        for (failures, expected, attempts) in cases {
            let mut made = 0;
            let ended = retry_start(|| {
                made += 1;
                failures
                    .get(made - 1)
                    .map_or(Ok(()), |kind| Err((*kind).into()))
            });
            assert_eq!(
                (ended.err().map(|error| error.kind()), made),
                (expected, attempts)
            );
        }
    }
}
