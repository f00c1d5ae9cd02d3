//! The command line, declared once: help, completions and the man page are derived from it.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::engine;
use super::eval::Evaluation;
use super::probe::ProbeCommand;
use super::serve::Serve;
use crate::config::{DocumentFilter, Layers};
use crate::corpus;
use crate::event::Problem;
use crate::llm::isolated;
use crate::llm::rpc::WORKER_PORT;

/// Ask a local model about your documents, and see how it arrives at its answers.
///
/// Without a command the screen opens, on these folders as one corpus when any are given. The network is used
/// only where you ask for it: to download a model, for the servers, workers, databases and receivers of traces
/// that the settings name, and to serve other programs.
#[derive(Debug, Parser)]
#[command(name = "ragscope", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    /// Folders of documents to open on the screen as one corpus
    #[arg(value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Ask line by line, without a screen; chosen for TERM=dumb
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    #[command(subcommand)]
    pub command: Option<Subcommands>,
    #[command(flatten)]
    pub shared: Shared,
}

impl Arguments {
    /// Returns the declaration with the shared flags on every command. (clap's own global flags drop
    /// the value before the command when the flag is repeated after it.)
    #[must_use]
    pub fn declaration() -> clap::Command {
        Self::command().mut_subcommands(with_shared)
    }

    /// Returns whether questions are asked line by line, because a flag says so or the terminal can
    /// show nothing else.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let is_dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        self.plain || (is_dumb() && std::io::stdin().is_terminal() && !self.folders.is_empty())
    }

    /// Parses a command line, program name first.
    ///
    /// # Errors
    /// On wrong usage, and when help or the version is requested.
    pub fn read(
        line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::declaration().try_get_matches_from(line)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        let mut outer = &matches;
        while let Some((_, inner)) = outer.subcommand() {
            arguments
                .shared
                .override_with(Shared::from_arg_matches(inner)?);
            outer = inner;
        }
        Ok(arguments)
    }
}

/// Adds the shared flags to a command and its subcommands.
fn with_shared(command: clap::Command) -> clap::Command {
    let about = command.get_about().cloned().unwrap_or_default();
    Shared::augment_args(command)
        .about(about)
        .mut_subcommands(with_shared)
}

const EXIT_CODES: &str = "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct Shared {
    /// Preset: a built-in one (an unknown name lists them), or a file in your presets folder
    #[arg(long, value_name = "NAME", help_heading = "Settings")]
    pub preset: Option<String>,
    /// Generator: a GGUF file, or a name that `ragscope models` lists
    #[arg(long, value_name = "MODEL", help_heading = "Settings")]
    pub model: Option<String>,
    /// Any setting that `ragscope config` lists, e.g. retriever.k=8; may be repeated
    #[arg(long, value_name = "ROLE.KEY=VALUE", value_parser = assignment, help_heading = "Settings")]
    pub set: Vec<(String, String)>,
    /// Seed of every random choice
    #[arg(long, value_name = "NUMBER", help_heading = "Settings")]
    pub seed: Option<u64>,
    /// Print JSON on stdout: one record per line for runs, otherwise one object
    #[arg(long)]
    pub json: bool,
}

impl Shared {
    /// Returns flag, setting and value of each given flag, in increasing precedence.
    pub(super) fn assignments(&self) -> Vec<(&'static str, &str, String)> {
        let named = [
            ("--preset", "preset", self.preset.clone()),
            ("--model", "generator.model", self.model.clone()),
            ("--seed", "seed", self.seed.map(|seed| seed.to_string())),
        ];
        let named = named
            .into_iter()
            .filter_map(|(flag, key, value)| Some((flag, key, value?)));
        named
            .chain(
                self.set
                    .iter()
                    .map(|(key, value)| ("--set", key.as_str(), value.clone())),
            )
            .collect()
    }

    /// Applies the flags after the command, which override those before it.
    fn override_with(&mut self, later: Self) {
        self.preset = later.preset.or(self.preset.take());
        self.model = later.model.or(self.model.take());
        self.seed = later.seed.or(self.seed);
        self.set.extend(later.set);
        self.json |= later.json;
    }
}

/// The folders and the question of a command: every value before the last is a folder.
#[derive(Debug, Clone)]
pub struct Asked {
    pub folders: Vec<PathBuf>,
    pub question: String,
}

impl Asked {
    /// The values in the command line. They are one argument, so that a flag can be anywhere among
    /// them.
    const VALUES: &'static str = "asked";
}

impl Args for Asked {
    fn augment_args(command: clap::Command) -> clap::Command {
        let values = Arg::new(Self::VALUES)
            .value_name("FOLDER")
            .value_parser(ValueParser::os_string())
            .num_args(1..)
            .required(true)
            .help("Folders of documents, searched as one corpus, and last your question or query");
        command.arg(values)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Asked {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = matches.get_many::<OsString>(Self::VALUES);
        let mut values: Vec<OsString> = values.into_iter().flatten().cloned().collect();

        let question = values.pop().filter(|_| !values.is_empty()).ok_or_else(|| {
            clap::Error::raw(
                ErrorKind::MissingRequiredArgument,
                "the following required arguments were not provided:\n  <QUESTION>\n\nUsage: ragscope <COMMAND> [OPTIONS] <FOLDER>... <QUESTION>\n\nFor more information, try '--help'.\n",
            )
        })?;
        let question = question
            .into_string()
            .map_err(|_| clap::Error::raw(ErrorKind::InvalidUtf8, "the question is not UTF-8\n"))?;
        Ok(Self {
            folders: values.into_iter().map(PathBuf::from).collect(),
            question,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The documents to retrieve from.
#[derive(Debug, Clone, Default, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub struct DocumentFlags {
    /// Retrieve from these paths only, e.g. `reports/**` (repeatable)
    #[arg(long, value_name = "GLOB", help_heading = "Documents")]
    pub only: Vec<String>,
    /// Retrieve from documents of this format or extension only, e.g. pdf (repeatable)
    #[arg(long = "type", value_name = "NAME", help_heading = "Documents")]
    pub types: Vec<String>,
    /// Retrieve from documents of this day or later, e.g. 2024-01-31 or 2024
    #[arg(long, value_name = "DATE", help_heading = "Documents")]
    pub after: Option<String>,
    /// Retrieve from documents up to this day, month or year
    #[arg(long, value_name = "DATE", help_heading = "Documents")]
    pub before: Option<String>,
}

impl DocumentFlags {
    /// Returns the terms of `retriever.filter`; `None` when there are no flags.
    fn terms(&self) -> Option<String> {
        let term = |name: &str, value: &String| format!("\"{name}:{value}\"");
        let only = self.only.iter().map(|glob| term("only", glob));
        let types = self.types.iter().map(|name| term("type", name));
        let after = self.after.iter().map(|day| term("after", day));
        let before = self.before.iter().map(|day| term("before", day));
        let terms: Vec<String> = only.chain(types).chain(after).chain(before).collect();
        (!terms.is_empty()).then(|| terms.join(" "))
    }

    /// Sets the filter of a configuration, if there are any flags.
    ///
    /// # Errors
    /// A glob or a date that is none.
    pub fn limit(&self, layers: &mut Layers) -> Result<(), Problem> {
        if let Some((key, value)) = self.setting()? {
            layers.set("flags", &key, &value)?;
        }
        Ok(())
    }

    /// Returns the flags as a `key = value` setting; `None` when there are none.
    ///
    /// # Errors
    /// As [`DocumentFlags::limit`].
    pub fn setting(&self) -> Result<Option<(String, String)>, Problem> {
        let Some(filter) = self.terms() else {
            return Ok(None);
        };
        let parsed = filter.parse::<DocumentFilter>();
        let parsed = parsed
            .map_err(|error| Problem::new(error, "see `ragscope ask --help` for examples"))?;
        let value = toml::Value::from(parsed.to_string()).to_string();
        Ok(Some(("retriever.filter".to_owned(), value)))
    }
}

/// The commands of ragscope.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
    /// Open the bundled corpus with the bundled models; without a terminal, print one run
    Demo,
    /// Update the index of folders (`ragscope formats` lists the files that are read)
    Index {
        /// Folders of documents, each with an index of its own
        #[arg(value_name = "FOLDER", required = true)]
        folders: Vec<PathBuf>,
        /// Delete the old index first
        #[arg(long)]
        rebuild: bool,
        /// Keep updating the index when the folder changes, until ctrl-c
        #[arg(long)]
        watch: bool,
    },
    /// Answer one question over a folder
    #[command(override_usage = "ragscope ask [OPTIONS] <FOLDER>... <QUESTION>")]
    Ask {
        #[command(flatten)]
        asked: Asked,
        /// Continue the thread of this name, or begin it: a follow-up question is rewritten to stand alone
        #[arg(long, value_name = "NAME")]
        thread: Option<String>,
        #[command(flatten)]
        documents: DocumentFlags,
    },
    /// Print the chunks that match a query, with the scores that ranked them; nothing is generated
    #[command(override_usage = "ragscope search [OPTIONS] <FOLDER>... <QUERY>")]
    Search {
        #[command(flatten)]
        asked: Asked,
        /// Number of chunks
        #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        documents: DocumentFlags,
    },
    /// Serve folders to other programs as a server of the Model Context Protocol, over stdin and stdout
    Mcp {
        /// Folders of documents, served as one corpus
        #[arg(value_name = "FOLDER", required = true)]
        folders: Vec<PathBuf>,
    },
    /// Serve the devices of this machine to programs on others, which spread a model over them (generator.rpc)
    ///
    /// It serves the device in generator.device; with auto every GPU, or else the CPU. The protocol has no
    /// authentication: an address that others reach lets them run code here. `ssh -L 50052:127.0.0.1:50052
    /// HOST` reaches a worker that listens on 127.0.0.1 of another machine.
    Worker {
        /// Address to listen on
        #[arg(long, value_name = "HOST:PORT", default_value_t = format!("127.0.0.1:{WORKER_PORT}"))]
        listen: String,
    },
    /// Serve folders over HTTP: to programs that speak the OpenAI interface, and to agents
    Serve(Serve),
    /// Link related chunks within each document by attention, and print the links (--json: of every document)
    #[command(override_usage = "ragscope links [OPTIONS] <FOLDER>... [DOCUMENT]")]
    Links {
        /// Folders of documents, and last, if wanted, the document whose links are printed, by its path in the corpus
        #[arg(value_name = "FOLDER", required = true)]
        folders: Vec<PathBuf>,
        /// Delete this linker's links first, whichever model made them
        #[arg(long)]
        rebuild: bool,
    },
    /// Trace a passage that should have been found through every stage of a question
    #[command(override_usage = "ragscope explain [OPTIONS] --expect <TEXT> <FOLDER>... <QUESTION>")]
    Explain {
        #[command(flatten)]
        asked: Asked,
        /// Words of the expected passage, exactly as in the document
        #[arg(long, value_name = "TEXT")]
        expect: String,
        #[command(flatten)]
        documents: DocumentFlags,
    },
    /// Evaluate presets (`--preset a,b`) on a file of questions, and compare them
    Eval(Evaluation),
    /// Train and inspect the uncertainty probe
    #[command(subcommand)]
    Probe(ProbeCommand),
    /// Replay a recorded run; without a terminal, print it
    Replay {
        /// Recorded run, a file in the sessions folder (`ragscope paths`)
        file: PathBuf,
        /// Play it again and again on the screen
        #[arg(long = "loop")]
        repeats: bool,
    },
    /// List the threads of recorded questions, or show or rename one
    Threads {
        #[command(subcommand)]
        command: Option<ThreadsCommand>,
    },
    /// Remove the oldest recorded runs, evaluations and caches, those beyond the limits of [record] and
    /// [clean]
    Clean {
        /// List what would be removed, with sizes, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// List the models on this machine and their roles, or get another
    Models {
        #[command(subcommand)]
        command: Option<ModelsCommand>,
    },
    /// List the file formats that are read, and the way out for the others
    Formats,
    /// Check devices, models, folders and indexes, and report how to fix problems
    Doctor,
    /// Print every folder and file that ragscope uses
    Paths,
    /// Print every setting with its default and its meaning
    Config {
        /// Print the effective values instead
        #[arg(long)]
        effective: bool,
    },
    /// Print a completion script, e.g. `ragscope completions bash`
    Completions {
        /// Target shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, e.g. `ragscope man | man -l -`
    Man,
    /// Extract the text of binary files for the program that starts it
    #[command(name = corpus::SUBCOMMAND, hide = true)]
    Extract,
    /// Run the engine for the program that starts it
    #[command(name = engine::SUBCOMMAND, hide = true)]
    Engine,
    /// Run a generator for the program that starts it
    #[command(name = isolated::SUBCOMMAND, hide = true)]
    Generate,
}

/// What `threads` can do besides listing them.
#[derive(Debug, Subcommand)]
pub enum ThreadsCommand {
    /// Print the questions and answers of a thread
    Show {
        /// Name of the thread, or the id of its first run
        #[arg(value_name = "NAME")]
        thread: String,
    },
    /// Rename a thread
    Rename {
        /// Name of the thread, or the id of its first run
        #[arg(value_name = "NAME")]
        thread: String,
        /// Its new name
        #[arg(value_name = "NEW")]
        name: String,
    },
}

/// What `models` can do besides listing them.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Download a model into the cache that the tools of Hugging Face and llama.cpp share, or into Ollama's
    ///
    /// A download that was interrupted continues where it ended. The variables HF_TOKEN, HF_ENDPOINT, HF_HOME,
    /// HF_HUB_CACHE and OLLAMA_MODELS mean what they mean for those tools.
    Pull {
        /// ORG/NAME on Hugging Face, ORG/NAME:QUANT, ORG/NAME:FILE, or ollama:NAME:TAG
        #[arg(value_name = "MODEL")]
        reference: String,
    },
    /// List models to download, with size and licence, and mark those that suit the memory of this machine
    Recommend {
        /// Memory to plan for in GiB, in place of what is free
        #[arg(long, value_name = "GIB", value_parser = gibibytes)]
        memory: Option<u64>,
    },
}

/// Reads GiB as bytes.
fn gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(gib) if gib > 0.0 && gib <= 1e6 => Ok((gib * f64::from(1 << 30)) as u64),
        Ok(_) | Err(_) => Err("write a number of GiB, e.g. 16".to_owned()),
    }
}

pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        Some(_) | None => Err("write it as role.key=value, e.g. retriever.k=8".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_valid() {
        Arguments::declaration().debug_assert();
    }

    #[test]
    fn flags_are_read_before_and_after_the_command() {
        let line =
            "ragscope --set retriever.k=8 --seed 3 ask notes Why? --set seed=2 --json --seed 4";
        let arguments = Arguments::read(line.split(' ')).expect("valid");
        let set: Vec<(&str, &str)> = arguments
            .shared
            .set
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .collect();
        assert_eq!(set, [("retriever.k", "8"), ("seed", "2")]);
        assert_eq!(
            (arguments.shared.json, arguments.shared.seed),
            (true, Some(4))
        );
        assert!(matches!(arguments.command, Some(Subcommands::Ask { .. })));
    }

    #[test]
    fn every_value_before_the_question_is_a_folder() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["notes", "Why?"], &["notes"]),
            (&["notes", "--json", "Why?"], &["notes"]),
            (&["a", "b", "Why?", "--seed", "4"], &["a", "b"]),
            (&["--seed", "4", "a", "--json", "b", "Why?"], &["a", "b"]),
        ];
        for (values, folders) in cases {
            let line = ["ragscope", "ask"].iter().chain(values);
            let arguments = Arguments::read(line).expect("valid");
            let Some(Subcommands::Ask { asked, .. }) = arguments.command else {
                panic!("{values:?}")
            };
            let expected: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            assert_eq!((asked.folders, &*asked.question), (expected, "Why?"));
        }
        assert!(Arguments::read(["ragscope", "ask", "notes", "--json"]).is_err());
    }
}
