//! The side of the worker process: reads a file, answers with its text.

use std::io::{self, Read, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};

use super::message::{Answer, Request};
use crate::corpus::formats::{Format, Input};
use crate::process::{frame, limit};

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
        limit::memory(base_bytes, request.limits.memory_bytes);
        limit::time(request.limits.time);
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
    match catch_unwind(AssertUnwindSafe(|| format.extract_with_pictures(&input))) {
        Ok(Ok(mut extract)) => {
            extract.shorten();
            Answer::Text(Box::new(extract))
        }
        Ok(Err(reason)) => Answer::Refused(reason),
        Err(_) => Answer::Failed,
    }
}
