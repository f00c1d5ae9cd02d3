//! The side of the worker process: reads a file, answers with its text.

use std::io::{self, Read, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};

use super::message::{Answer, Request};
use crate::corpus::formats::{Format, Input};
use crate::process::frame;

/// Answers requests on stdin until it is closed. A worker never outlives the program that started
/// it.
///
/// # Errors
/// Stdout that is closed.
pub fn run_reader() -> io::Result<()> {
    // the message of a panic becomes the reason that the user reads
    std::panic::set_hook(Box::new(|_| {}));
    let requests = requests();
    let base_bytes = limit::mapped_bytes();
    let mut out = stdout().lock();
    for (request, bytes) in requests {
        limit::memory(base_bytes, request.memory_bytes);
        limit::time(request.time);
        let answer = serde_json::to_vec(&answer(&request, &bytes))?;
        frame::write(&mut out, &answer)?;
    }
    Ok(())
}

/// Reads requests ahead on a thread of its own, which ends the process when the program is gone.
fn requests() -> Receiver<(Request, Vec<u8>)> {
    let (sender, receiver) = sync_channel(0);
    std::thread::spawn(move || {
        let mut input = stdin().lock();
        while let Ok(request) = read(&mut input) {
            if sender.send(request).is_err() {
                break;
            }
        }
        limit::end_group();
    });
    receiver
}

fn read(input: &mut impl Read) -> io::Result<(Request, Vec<u8>)> {
    let request = serde_json::from_slice(&frame::read(input)?)?;
    Ok((request, frame::read(input)?))
}

fn answer(request: &Request, bytes: &[u8]) -> Answer {
    let Some(format) = Format::from_name(&request.format) else {
        return Answer::Failed;
    };
    let input = Input::new(&request.path, bytes, &request.options);
    match catch_unwind(AssertUnwindSafe(|| format.extract_binary(&input))) {
        Ok(Ok(mut extract)) => {
            extract.shorten();
            Answer::Text(Box::new(extract))
        }
        Ok(Err(reason)) => Answer::Refused(reason),
        Err(_) => Answer::Failed,
    }
}

#[cfg(target_os = "linux")]
mod limit {
    use std::time::Duration;

    use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};

    /// Returns the address space that the process has mapped: with libraries for a GPU this is more
    /// than the largest limit.
    pub fn mapped_bytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let size = status
            .lines()
            .find_map(|line| line.strip_prefix("VmSize:"))
            .and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok());
        size.map_or(0, |kib| kib << 10)
    }

    /// Limits the memory of the process. Only the soft limit changes, so the next file may have
    /// more.
    pub fn memory(base_bytes: u64, bytes: u64) {
        if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_AS) {
            let _ = setrlimit(Resource::RLIMIT_AS, (base_bytes + bytes).min(hard), hard);
        }
        // a file that ends the worker leaves no core dump
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    }

    /// Limits the processor time of the process from now on.
    pub fn time(time: Duration) {
        let (Ok(used), Ok((_, hard))) = (
            getrusage(UsageWho::RUSAGE_SELF),
            getrlimit(Resource::RLIMIT_CPU),
        ) else {
            return;
        };
        let used_s = used.user_time().tv_sec() + used.system_time().tv_sec();
        // the limit counts whole seconds, and those used are rounded down
        let until_s = u64::try_from(used_s).unwrap_or(0) + time.as_secs() + 2;
        let _ = setrlimit(Resource::RLIMIT_CPU, until_s.min(hard), hard);
    }

    /// Ends this process and the programs that it started.
    pub fn end_group() {
        crate::process::group::end(std::process::id());
        std::process::exit(0);
    }
}

#[cfg(not(target_os = "linux"))]
mod limit {
    pub fn mapped_bytes() -> u64 {
        0
    }

    /// Does nothing: macOS does not enforce the limit, and Windows has none for a process alone.
    pub fn memory(_base_bytes: u64, _bytes: u64) {}

    /// Does nothing: the program ends the worker by the clock.
    pub fn time(_time: std::time::Duration) {}

    pub fn end_group() {
        crate::process::group::end(std::process::id());
        std::process::exit(0);
    }
}
