//! Parses, chooses, wires.

use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use ragscope::cli::{self, Arguments, Exit, Hub, Output, Stopped, Subcommands, demo};
use ragscope::config::{Layers, Paths};
use ragscope::event::{Command, StopFlag};
use ragscope::{trace, tui};

fn main() -> ExitCode {
    let exit = match Arguments::read(std::env::args_os()) {
        Ok(arguments) if wants_screen(&arguments) => {
            cli::finish(&mut Output::of_process(false), |_out| show(&arguments))
        }
        Ok(arguments) => cli::run(&arguments),
        Err(error) => cli::refuse(&error),
    };
    ExitCode::from(exit.code())
}

/// The screen opens where there is a terminal on both sides and nobody asked for JSON.
fn wants_screen(arguments: &Arguments) -> bool {
    let has_screen = matches!(
        arguments.command,
        None | Some(Subcommands::Demo | Subcommands::Replay { .. })
    );
    has_screen && !arguments.shared.json && stdin().is_terminal() && stdout().is_terminal()
}

fn show(arguments: &Arguments) -> Result<Exit, Stopped> {
    let paths = Paths::of_user();
    let ended = match &arguments.command {
        Some(Subcommands::Replay { file }) => {
            let records = trace::read_run(file)?;
            tui::replay(
                records,
                options(&cli::layers(&arguments.shared, &paths)?, &paths, Vec::new())?,
            )?
        }
        Some(Subcommands::Demo) => {
            let layers = demo::layers(&arguments.shared, &paths)?;
            let suggestions = demo::questions()?.into_iter().map(suggestion).collect();
            open(layers, &paths, Some(demo::corpus()), suggestions)?
        }
        _ => {
            arguments
                .folder
                .as_deref()
                .map_or(Ok(()), cli::check_folder)?;
            open(
                cli::layers(&arguments.shared, &paths)?,
                &paths,
                arguments.folder.clone(),
                Vec::new(),
            )?
        }
    };
    Ok(match ended {
        tui::Ended::Left => Exit::Done,
        tui::Ended::Signal(number) => Exit::Signal(number),
    })
}

fn suggestion(prepared: demo::Prepared) -> tui::Suggestion {
    tui::Suggestion {
        question: prepared.question,
        preset: prepared.preset,
        shows: prepared.shows,
    }
}

/// The screen over a running engine.
fn open(
    layers: Layers,
    paths: &Paths,
    folder: Option<PathBuf>,
    suggestions: Vec<tui::Suggestion>,
) -> Result<tui::Ended, Stopped> {
    let options = options(&layers, paths, suggestions)?;
    let stop = StopFlag::default();
    let (sender, records) = tokio::sync::mpsc::unbounded_channel();
    // a screen that is gone needs no more records
    let sink = Box::new(move |record| drop(sender.send(record)));
    let (hub, commands) = Hub::start(layers, paths, &stop, sink)?;
    if let Some(folder) = folder {
        commands.send(Command::Open { folder });
    }
    let commands = Box::new(move |command| commands.send(command));
    let shown = tui::run(
        tui::Link {
            commands,
            records,
            stop,
        },
        options,
    );
    hub.end();
    Ok(shown?)
}

fn options(
    layers: &Layers,
    paths: &Paths,
    suggestions: Vec<tui::Suggestion>,
) -> Result<tui::Options, Stopped> {
    let save_folder = std::env::current_dir().unwrap_or_else(|_| paths.state.clone());
    Ok(tui::Options {
        config: layers.config()?,
        paths: paths.clone(),
        save_folder,
        suggestions,
    })
}
