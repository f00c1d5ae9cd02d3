//! The process of the engine: its side of the pipes.

use std::io::{self, BufWriter, Stdin, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::engine::{Outbox, Worker, mailbox};
use crate::event::{Flow, StopFlag};
use crate::process::frame;

use super::message::{EngineReply, EngineRequest, EngineSetup, ProgramVersion};

/// Runs the engine for the program that started it, until that closes the pipe.
///
/// # Errors
/// A pipe that is closed too early; a program of another version.
pub fn run_engine() -> io::Result<()> {
    let mut input = stdin();
    let setup: EngineSetup = frame::read_json(&mut input)?;
    if setup.version != ProgramVersion::own() {
        return Err(io::Error::other(
            "ragscope was updated while it was open: restart it",
        ));
    }

    let stop = StopFlag::default();
    let (commands, inbox) = mailbox(&stop);
    let requests = stop.clone();
    thread::Builder::new()
        .name("requests".to_owned())
        .spawn(move || take_requests(&mut input, &commands, &requests))?;

    let mut out = BufWriter::new(stdout().lock());
    let engine = catch_unwind(AssertUnwindSafe(|| {
        let mut worker = Worker::new(setup.layers, setup.paths, stop.clone());
        worker.serve(&inbox, &mut |record| {
            match frame::write_json(&mut out, &EngineReply::Record(Box::new(record))) {
                Ok(()) => stop.flow(),
                // nobody reads any more
                Err(_) => Flow::Stop,
            }
        });
    }));
    if let Err(panic) = engine {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(panic.downcast_ref::<&str>().copied());
        let message = message.unwrap_or("no message").to_owned();
        frame::write_json(&mut out, &EngineReply::Panicked(message))?;
    }
    Ok(())
}

/// Takes requests until the pipe is closed. A program that stopped its engine first leaves in good
/// order, and the engine has some time to do so, too; one that did not was killed.
fn take_requests(input: &mut Stdin, commands: &Outbox, stop: &StopFlag) {
    let mut is_stopped = false;
    while let Ok(request) = frame::read_json(input) {
        is_stopped = matches!(request, EngineRequest::Stop);
        match request {
            EngineRequest::Obey(command) => {
                commands.send(command);
            }
            EngineRequest::Stop => stop.stop(),
        }
    }

    if !is_stopped {
        std::process::exit(0);
    }
}
