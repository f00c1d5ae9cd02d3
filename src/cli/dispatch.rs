//! The way from a command to what carries it out.

use std::path::{Path, PathBuf};

use crate::config::{Layers, LinkerKind, Paths};
use crate::corpus;
use crate::event::Problem;
use crate::host::{self, DocumentFlags};
use crate::llm::{isolated, sandbox};
use crate::serve::mcp;

use super::args::{Arguments, ModelsCommand, Subcommands};
use super::ask::AskedQuestion;
use super::call::CommandCall;
use super::failure::{Exit, Stopped};
use super::folders::check_folders;
use super::output::Output;
use super::text::RunText;
use super::threads::{self, NamedThread};
use super::work::Work;
use super::{
    clean, demo, doctor, eval, formats, guide, inspect, probe, pull, reading, replay, serve, worker,
};

/// The settings of `ask --quotes`: the preset, its prompt whatever the user's settings say, and the
/// generator that loads fastest, since it writes nothing.
const QUOTES: [(&str, &str); 4] = [
    ("preset", "quotes"),
    ("answer.prompt", "quotes"),
    ("generator.model", "ragscope-demo.Q8_0.gguf"),
    ("generator.url", ""),
];

/// Carries out a command that needs no screen.
pub(super) fn dispatch(arguments: &Arguments, out: &mut Output) -> Result<Exit, Stopped> {
    let paths = Paths::for_user();
    let call = CommandCall {
        flags: &arguments.shared,
        paths: &paths,
        out,
    };

    match &arguments.command {
        Some(command) => call.run(command),
        None if arguments.is_plain() => {
            check_folders(&arguments.folders)?;
            let layers = call.layers()?;
            call.work(layers)?.converse(&arguments.folders)
        }
        None => {
            // what is wrong with the settings or a folder is said first: it is wrong in a terminal,
            // too
            check_folders(&arguments.folders)?;
            call.layers()?.config()?;
            Err(Stopped::usage(
                "the screen needs a terminal",
                "use `ragscope ask FOLDER QUESTION`, or add --plain",
            ))
        }
    }
}

impl<'a> CommandCall<'a> {
    fn run(self, command: &Subcommands) -> Result<Exit, Stopped> {
        match command {
            Subcommands::Demo => return demo::print(self),
            Subcommands::Index {
                explain: Some(file),
                ..
            } => reading::explain_file(file, &self.layers()?.config()?.corpus, self.out)?,
            Subcommands::Index {
                folders,
                rebuild,
                watch,
                explain: None,
            } => return self.index(folders, *rebuild, *watch),
            Subcommands::Ask {
                asked,
                thread,
                quotes,
                documents,
            } => {
                let asked = asked.split()?;
                let mut layers = self.limited_layers(documents)?;
                for (key, value) in QUOTES.into_iter().filter(|_| *quotes) {
                    layers.set("--quotes", key, value)?;
                }
                return self.ask(asked, thread.as_deref(), layers);
            }
            Subcommands::Search {
                asked,
                limit,
                documents,
            } => {
                let (folders, question) = asked.split()?;
                let work = self.limited_work(documents)?;
                work.search(&folders, question, *limit)?;
            }
            Subcommands::Explain {
                asked,
                expect,
                documents,
            } => {
                let (folders, question) = asked.split()?;
                let work = self.limited_work(documents)?;
                return work.explain(&folders, question, expect);
            }
            Subcommands::Diagnose {
                asked,
                expect,
                documents,
            } => {
                let (folders, question) = asked.split()?;
                let work = self.limited_work(documents)?;
                work.diagnose(&folders, question, expect.as_deref())?;
            }
            Subcommands::Links { folders, rebuild } => self.links(folders, *rebuild)?,
            Subcommands::Mcp { folders } => {
                check_folders(folders)?;
                mcp::run(folders, self.layers()?, self.paths)?;
            }
            Subcommands::Serve(what) => return serve::run(what, self),
            Subcommands::Worker { listen } => return worker::run(listen, self),
            Subcommands::Eval(what) => return eval::run(what, self),
            Subcommands::Probe(what) => probe::run(what, self)?,
            Subcommands::Replay { file, repeats } => self.replay(file, *repeats)?,
            Subcommands::Threads { command } => {
                threads::run(command.as_ref(), &self.paths.sessions(), self.out)?;
            }
            Subcommands::Clean { dry_run } => clean::run(*dry_run, self)?,
            Subcommands::Models { command } => self.models(command.as_ref())?,
            Subcommands::Guide { topic } => guide::run(topic.as_deref(), self.out)?,
            Subcommands::Formats => formats::run(self.out)?,
            Subcommands::Doctor => return doctor::run(self),
            Subcommands::Paths => inspect::paths(self.paths, self.out)?,
            Subcommands::Config { effective } => inspect::config(*effective, self)?,
            Subcommands::Completions { shell } => inspect::completions(*shell, self.out)?,
            Subcommands::Man => inspect::manual(self.out)?,
            Subcommands::Engine => {
                let ended = host::run_engine();
                ended.map_err(|error| Problem::without_advice(error.to_string()))?;
            }
            // the program that started these is gone: nobody is left to report it to
            Subcommands::Extract => drop(corpus::run_reader()),
            Subcommands::Generate => drop(isolated::run_generator()),
            Subcommands::Template => drop(sandbox::run_template()),
        }
        Ok(Exit::Done)
    }

    /// Returns the settings for a command over some of the documents.
    fn limited_layers(&self, documents: &DocumentFlags) -> Result<Layers, Stopped> {
        let mut layers = self.layers()?;
        documents.limit(&mut layers)?;
        Ok(layers)
    }

    fn limited_work(self, documents: &DocumentFlags) -> Result<Work<'a>, Stopped> {
        let layers = self.limited_layers(documents)?;
        self.work(layers)
    }

    fn index(self, folders: &[PathBuf], rebuild: bool, watches: bool) -> Result<Exit, Stopped> {
        let layers = self.layers()?;
        let mut work = self.work(layers)?;
        if watches {
            return work.watch(folders, rebuild);
        }
        work.index(folders, rebuild)?;
        Ok(Exit::Done)
    }

    fn ask(
        self,
        (folders, text): (Vec<PathBuf>, &str),
        thread: Option<&str>,
        layers: Layers,
    ) -> Result<Exit, Stopped> {
        let thread = match thread {
            Some(name) => Some(NamedThread::open(name, &layers.config()?, self.paths)?),
            None => None,
        };
        self.work(layers)?.ask(AskedQuestion {
            folders: &folders,
            text,
            thread,
            shown: RunText::default(),
        })
    }

    fn links(self, folders: &[PathBuf], rebuild: bool) -> Result<(), Stopped> {
        let mut layers = self.layers()?;
        if layers.config()?.linker.kind == LinkerKind::Off {
            // the command is meaningless without a linker
            layers.set("links", "linker.kind", "sentence")?;
        }
        self.work(layers)?.links(folders, rebuild)
    }

    fn replay(self, file: &Path, repeats: bool) -> Result<(), Stopped> {
        if repeats {
            return Err(Stopped::usage(
                "--loop needs the screen, and the screen a terminal",
                "leave --loop out to print the run",
            ));
        }
        replay::print(file, self.out)
    }

    fn models(self, command: Option<&ModelsCommand>) -> Result<(), Stopped> {
        match command {
            None => inspect::models(&self.layers()?, self.paths, self.out),
            Some(ModelsCommand::Pull { reference }) => pull::pull(reference, self.paths, self.out),
            Some(ModelsCommand::Recommend { memory }) => {
                pull::recommend(*memory, self.paths, self.out)
            }
        }
    }
}
