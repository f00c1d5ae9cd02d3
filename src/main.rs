//! The program: parses the arguments, chooses between screen and text, and connects the parts.

use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use ragscope::cli::{self, Arguments, Exit, Output, Shared, Stopped, Subcommands, demo};
use ragscope::config::{Layers, Paths, demo_corpus};
use ragscope::event::{Command, StopFlag};
use ragscope::host::Hub;
use ragscope::{eval, files, guide, index, llm, trace, tui};

fn main() -> ExitCode {
    llm::limit_spinning();
    files::keep_private();
    for folder in Paths::for_user().folders() {
        if folder.is_dir() {
            // what is wrong with a folder is reported where it is used
            let _ = files::private_folder(&folder);
        }
    }

    let arguments = Arguments::read(std::env::args_os());
    let is_worker = |arguments: &Arguments| {
        matches!(
            arguments.command,
            Some(Subcommands::Extract | Subcommands::Template)
        )
    };
    // what ended a worker is seen by the process that started it
    if !arguments.as_ref().is_ok_and(is_worker) {
        llm::contain_crashes();
    }

    let exit = match arguments {
        Ok(arguments) if wants_screen(&arguments) => {
            cli::finish(&mut Output::for_process(false), |_out| show(&arguments))
        }
        Ok(Arguments {
            command: Some(Subcommands::Guide { topic }),
            shared,
            ..
        }) if !shared.json && stdout().is_terminal() => {
            cli::finish(&mut Output::for_process(false), |out| {
                read_guide(topic.as_deref(), out)
            })
        }
        Ok(arguments) => cli::run(&arguments, tui::document::render_for_terminal),
        Err(error) => cli::refuse(&error),
    };
    ExitCode::from(exit.code())
}

/// Returns whether the screen opens: a command that has one, a terminal on both sides, and no
/// `--json`.
fn wants_screen(arguments: &Arguments) -> bool {
    let has_screen = matches!(
        arguments.command,
        None | Some(Subcommands::Demo | Subcommands::Replay { .. })
    );
    has_screen
        && !arguments.is_plain()
        && !arguments.shared.json
        && stdin().is_terminal()
        && stdout().is_terminal()
}

/// Shows a page of the guide, or the list of all, in the user's pager, rendered for the width of
/// the terminal.
fn read_guide(topic: Option<&str>, out: &mut Output) -> Result<Exit, Stopped> {
    let text = guide::unwrap_paragraphs(&cli::guide::markdown(topic)?);
    cli::guide::show_paged(&tui::document::render_for_terminal(&text), out)
}

/// Shows the screen until the user leaves.
fn show(arguments: &Arguments) -> Result<Exit, Stopped> {
    let paths = Paths::for_user();

    let ended = match &arguments.command {
        Some(Subcommands::Replay { file, repeats }) => {
            let records = trace::read_run(file)?;
            let layers = cli::layers(&arguments.shared, &paths)?;
            tui::replay(records, options(&layers, &paths, Vec::new())?, *repeats)?
        }
        Some(Subcommands::Demo) => open_demo(&arguments.shared, &paths)?,
        _ => {
            cli::check_folders(&arguments.folders)?;
            let layers = cli::layers(&arguments.shared, &paths)?;
            match open(layers, &paths, arguments.folders.clone(), Vec::new())? {
                tui::Ended::Demo => open_demo(&arguments.shared, &paths)?,
                ended => ended,
            }
        }
    };

    Ok(match ended {
        tui::Ended::Left | tui::Ended::Demo => Exit::Done,
        tui::Ended::Signal(number) => Exit::Signal(number),
    })
}

/// Opens the screen over the bundled corpus, with its settings and its questions.
fn open_demo(flags: &Shared, paths: &Paths) -> Result<tui::Ended, Stopped> {
    let layers = demo::layers(flags, paths)?;
    let suggestions = demo::questions()?.into_iter().map(suggestion).collect();
    open(layers, paths, vec![demo_corpus()], suggestions)
}

fn suggestion(prepared: demo::Prepared) -> tui::Suggestion {
    tui::Suggestion {
        question: prepared.question,
        preset: Some(prepared.preset),
        shows: prepared.shows,
    }
}

/// Opens the screen over a running engine.
fn open(
    layers: Layers,
    paths: &Paths,
    folders: Vec<PathBuf>,
    suggestions: Vec<tui::Suggestion>,
) -> Result<tui::Ended, Stopped> {
    let options = tui::Options {
        recent_folders: recent_folders(paths),
        opens_folders: !folders.is_empty(),
        ..options(&layers, paths, suggestions)?
    };
    let stop = StopFlag::default();
    let (sender, records) = tokio::sync::mpsc::unbounded_channel();
    // A screen that is closed needs no more records.
    let sink = Box::new(move |record| drop(sender.send(record)));
    let (hub, commands) = Hub::start(layers, paths, &stop, sink)?;
    if !folders.is_empty() {
        commands.send(Command::Open { folders });
    }

    let link = tui::Link {
        commands: Box::new(move |command| commands.send(command)),
        records,
        stop,
    };
    let ended = tui::run(link, options);
    hub.end();
    Ok(ended?)
}

/// Returns the folders of documents that were opened before, without the demo.
fn recent_folders(paths: &Paths) -> Vec<PathBuf> {
    let demo = demo_corpus().canonicalize().unwrap_or_default();
    let mut folders = index::indexed_folders(&paths.indexes());
    folders.retain(|folder| *folder != demo);
    folders
}

fn options(
    layers: &Layers,
    paths: &Paths,
    suggestions: Vec<tui::Suggestion>,
) -> Result<tui::Options, Stopped> {
    let save_folder = std::env::current_dir().unwrap_or_else(|_| paths.state.clone());
    Ok(tui::Options {
        config: layers.config()?,
        sets_chunks: layers.sets("retriever.k")?,
        paths: paths.clone(),
        save_folder,
        recent_folders: Vec::new(),
        opens_folders: false,
        time_zone: jiff::tz::TimeZone::system(),
        has_plain_locale: tui::ascii::has_plain_locale(),
        has_hyperlinks: tui::hyperlinks::has_terminal(),
        diagnose: eval::diagnose,
        suggestions,
    })
}
