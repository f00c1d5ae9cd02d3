//! Subcommands, JSON lines, plain text.
//!
//! Everything here works without a terminal. Errors say what happened and what to do next; all text
//! of documents, file names and models passes [`harmless`](crate::event::harmless) before it is
//! written.

mod failure;
mod output;
mod interrupt;
mod args;
mod settings;
mod folders;
mod text;
mod replay;
mod threads;
mod observer;
mod work;
mod call;
mod ask;
pub mod demo;
mod index;
mod plain;
mod search;
mod links;
mod explain;
mod formats;
mod reading;
pub mod guide;
mod inspect;
mod pull;
mod clean;
mod doctor;
mod worker;
mod serve;
mod probe;
mod eval;
mod diagnose;
mod dispatch;

pub use args::{Arguments, Shared, Subcommands};
pub use failure::{Exit, Failure, Stopped};
pub use folders::{check_folder, check_folders};
pub use interrupt::Interrupt;
pub use output::{Output, Renderer};
pub use settings::layers;

use crate::event::Problem;
use crate::story::text::join;
use dispatch::dispatch;

/// The signal that ends a program whose reader has left; Windows has none.
const SIGPIPE: u8 = 13;

/// Runs a command that needs no screen, and reports its failure. Answers on a terminal are
/// rendered.
pub fn run(arguments: &Arguments, renderer: Renderer) -> Exit {
    let mut out = Output::for_process(arguments.shared.json).with_renderer(renderer);
    finish(&mut out, |out| dispatch(arguments, out))
}

/// Reports a command line that clap rejects, or prints the requested help or version.
pub fn refuse(error: &clap::Error) -> Exit {
    let json = std::env::args_os().any(|argument| argument == "--json");
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let said = text.split("\n\nUsage:").next().unwrap_or(&text);
        let words = said.trim_start_matches("error: ").split_whitespace();
        let failure = Failure::usage(join(words, " "), "see `ragscope --help`");
        Output::for_process(json).problem(&failure.problem);
        return failure.exit;
    }
    let printed = error.print().map_err(Stopped::from);
    if error.use_stderr() {
        return Exit::Usage;
    }
    let mut out = Output::for_process(json);
    finish(&mut out, |_| printed.map(|()| Exit::Done))
}

/// Runs `work` and reports its failure.
pub fn finish(out: &mut Output, work: impl FnOnce(&mut Output) -> Result<Exit, Stopped>) -> Exit {
    match work(out) {
        Ok(exit) => exit,
        Err(Stopped::Interrupted) => {
            out.problem(&Problem::without_advice("interrupted"));
            Exit::Interrupted
        }
        // the reader has seen enough, as in `| head`: a shell sees what it sees of other programs
        Err(Stopped::OutputClosed) => Exit::Signal(SIGPIPE),
        Err(Stopped::Failure(failure)) => {
            out.problem(&failure.problem);
            failure.exit
        }
    }
}
