//! Subcommands, JSON lines, plain text.
//!
//! Everything here works without a terminal. Errors say what happened and what to do next; all text of documents, file names
//! and models passes [`harmless`](crate::event::harmless) before it is written.

mod args;
mod failure;
mod output;
mod interrupt;
mod text;
mod threads;
mod clean;
mod observer;
mod work;
mod plain;
mod replay;
mod formats;
mod inspect;
mod links;
mod search;
mod service;
mod mcp;
mod worker;
mod serve;
mod pull;
mod doctor;
pub mod demo;
mod eval;
mod probe;
mod downloads;
mod engine;
mod hub;

pub use args::{Arguments, Shared, Subcommands};
pub use failure::{Exit, Failure, Stopped};
pub use hub::{Commands, Hub, Sink};
pub use interrupt::Interrupt;
pub use output::Output;

use crate::config::{ConfigError, Layers, LinkerKind, Paths};
use crate::corpus;
use crate::event::Problem;
use crate::llm::isolated;
use args::ModelsCommand;
use text::RunText;
use threads::NamedThread;
use work::{Question, Work};
pub use work::{check_folder, check_folders};

/// Runs a command that needs no screen, and reports its failure.
pub fn run(arguments: &Arguments) -> Exit {
    let mut out = Output::of_process(arguments.shared.json);
    finish(&mut out, |out| dispatch(arguments, out))
}

/// Reports a command line that clap rejects, or prints the requested help or version.
pub fn refuse(error: &clap::Error) -> Exit {
    let json = std::env::args_os().any(|argument| argument == "--json");
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let said = text
            .split("\n\nUsage:")
            .next()
            .unwrap_or(&text)
            .trim_start_matches("error: ");
        let line: Vec<&str> = said.split_whitespace().collect();
        let failure = Failure::usage(line.join(" "), "see `ragscope --help`");
        Output::of_process(json).problem(&failure.problem);
        return failure.exit;
    }
    // a closed pipe is not an error
    let _ = error.print();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    }
}

/// Runs `work` and reports its failure.
pub fn finish(out: &mut Output, work: impl FnOnce(&mut Output) -> Result<Exit, Stopped>) -> Exit {
    match work(out) {
        Ok(exit) => exit,
        Err(Stopped::Interrupted) => {
            out.problem(&Problem::without_advice("interrupted"));
            Exit::Interrupted
        }
        // the reader has seen enough, as in `| head`
        Err(Stopped::OutputClosed) => Exit::Done,
        Err(Stopped::Failure(failure)) => {
            out.problem(&failure.problem);
            failure.exit
        }
    }
}

fn dispatch(arguments: &Arguments, out: &mut Output) -> Result<Exit, Stopped> {
    let paths = Paths::of_user();
    let layers = || layers(&arguments.shared, &paths);
    match &arguments.command {
        None if arguments.is_plain() => {
            check_folders(&arguments.folders)?;
            Work::new(layers()?, &paths, out)?.converse(&arguments.folders)
        }
        None => {
            // what is wrong with the settings or a folder is said first: it is wrong in a terminal, too
            check_folders(&arguments.folders)?;
            layers()?.config()?;
            Err(Failure::usage(
                "the screen needs a terminal",
                "use `ragscope ask FOLDER QUESTION`, or add --plain",
            )
            .into())
        }
        Some(Subcommands::Replay { repeats: true, .. }) => Err(Failure::usage(
            "--loop needs the screen, and the screen a terminal",
            "leave --loop out to print the run",
        )
        .into()),
        Some(Subcommands::Replay { file, .. }) => replay::print(file, out),
        Some(Subcommands::Models { command: None }) => inspect::models(&layers()?, &paths, out),
        Some(Subcommands::Models {
            command: Some(ModelsCommand::Pull { reference }),
        }) => pull::pull(reference, &paths, out),
        Some(Subcommands::Models {
            command: Some(ModelsCommand::Recommend { memory }),
        }) => pull::recommend(*memory, &paths, out),
        Some(Subcommands::Threads { command }) => {
            threads::run(command.as_ref(), &paths.sessions(), out)
        }
        Some(Subcommands::Clean { dry_run }) => {
            let cleaning = if *dry_run {
                clean::Cleaning::Listed
            } else {
                clean::Cleaning::Removed
            };
            clean::run(cleaning, &layers()?.config()?, &paths, out)
        }
        Some(Subcommands::Formats) => formats::run(out),
        Some(Subcommands::Paths) => inspect::paths(&paths, out),
        Some(Subcommands::Config { effective }) => inspect::config(*effective, layers, out),
        Some(Subcommands::Completions { shell }) => inspect::completions(*shell, out),
        Some(Subcommands::Index {
            folders,
            rebuild,
            watch,
        }) => {
            let work = Work::new(layers()?, &paths, out)?;
            if *watch {
                work.watch(folders, *rebuild)
            } else {
                work.index(folders, *rebuild)
            }
        }
        Some(Subcommands::Ask {
            asked,
            thread,
            documents,
        }) => {
            let mut layers = layers()?;
            documents.limit(&mut layers)?;
            let thread = thread
                .as_deref()
                .map(|name| NamedThread::open(name, &layers.config()?, &paths))
                .transpose()?;
            Work::new(layers, &paths, out)?.ask(Question {
                folders: &asked.folders,
                text: &asked.question,
                thread,
                shown: RunText::default(),
            })
        }
        Some(Subcommands::Links { folders, rebuild }) => {
            let mut layers = layers()?;
            if layers.config()?.linker.kind == LinkerKind::Off {
                // the command is meaningless without a linker
                layers.set("links", "linker.kind", "sentence")?;
            }
            Work::new(layers, &paths, out)?.links(folders, *rebuild)
        }
        Some(Subcommands::Explain {
            asked,
            expect,
            documents,
        }) => {
            let mut layers = layers()?;
            documents.limit(&mut layers)?;
            Work::new(layers, &paths, out)?.explain(&asked.folders, &asked.question, expect)
        }
        Some(Subcommands::Search {
            asked,
            limit,
            documents,
        }) => {
            let mut layers = layers()?;
            documents.limit(&mut layers)?;
            Work::new(layers, &paths, out)?.search(&asked.folders, &asked.question, *limit)
        }
        Some(Subcommands::Mcp { folders }) => mcp::run(folders, layers()?, &paths),
        Some(Subcommands::Worker { listen }) => {
            worker::run(listen, &layers()?.config()?, &paths, out)
        }
        Some(Subcommands::Serve(what)) => serve::run(what, layers()?, &paths, out),
        Some(Subcommands::Eval(what)) => eval::run(what, &arguments.shared, &paths, out),
        Some(Subcommands::Probe(what)) => probe::run(what, &arguments.shared, &paths, out),
        Some(Subcommands::Demo) => demo::print(&arguments.shared, &paths, out),
        Some(Subcommands::Doctor) => doctor::run(layers(), &paths, out),
        Some(Subcommands::Man) => inspect::manual(out),
        Some(Subcommands::Extract) => {
            // the program that started it is gone: nobody is left to report it to
            let _ = corpus::serve();
            Ok(Exit::Done)
        }
        Some(Subcommands::Engine) => match engine::serve() {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Err(Problem::without_advice(error.to_string()).into()),
        },
        Some(Subcommands::Generate) => {
            let _ = isolated::serve_generator();
            Ok(Exit::Done)
        }
    }
}

/// Returns the settings of the user with the flags on top, validated as a whole.
///
/// # Errors
/// On unknown names and values; those of flags are wrong usage.
pub fn layers(flags: &Shared, paths: &Paths) -> Result<Layers, Stopped> {
    with_flags(Layers::load(paths)?, flags)
}

fn with_flags(mut layers: Layers, flags: &Shared) -> Result<Layers, Stopped> {
    // an error in the files is not wrong usage
    if let Err(error @ (ConfigError::BadValue { .. } | ConfigError::Unreadable { .. })) =
        layers.config()
    {
        return Err(error.into());
    }
    let wrong_usage = |error: ConfigError| Failure::from(error).into_usage();
    let assignments = flags.assignments();
    for (flag, key, value) in &assignments {
        layers.set(flag, key, value).map_err(wrong_usage)?;
    }
    match layers.config() {
        Ok(_) => Ok(layers),
        Err(error) if assignments.is_empty() => Err(error.into()),
        Err(error) => Err(wrong_usage(error).into()),
    }
}
