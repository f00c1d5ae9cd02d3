//! The command line, declared once: help, completions and the man page are derived from it.

mod shared;
mod asked;
mod evaluation;
mod probe;
mod serve;

pub use asked::Asked;
pub use evaluation::{Evaluation, PassageScope};
pub use probe::{Calibrating, ProbeCommand, Training};
pub use serve::Serve;
pub use shared::Shared;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args as _, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::corpus;
use crate::host::{self, DocumentFlags};
use crate::llm::rpc::WORKER_PORT;
use crate::llm::{isolated, sandbox};

/// Ask a local model about your documents, and see how it arrives at its answers.
///
/// Without a command the screen opens, on these folders as one corpus when any are given. The
/// network is used only where you ask for it: to download a model, for the servers, workers and
/// databases that the settings name, and to serve other programs.
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
    /// Returns the declaration with the shared flags on every command. (clap's own global flags
    /// drop the value before the command when the flag is repeated after it.)
    pub fn declaration() -> clap::Command {
        Self::command().mut_subcommands(with_shared)
    }

    /// Returns whether questions are asked line by line, because a flag says so or the terminal can
    /// show nothing else.
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

/// The commands of ragscope.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
    /// Open the bundled corpus with the bundled models; without a terminal, print one run
    Demo,
    /// Update the index of folders (`ragscope formats` lists the files that are read)
    Index {
        /// Folders of documents, each with an index of its own
        #[arg(value_name = "FOLDER", required_unless_present = "explain")]
        folders: Vec<PathBuf>,
        /// Delete the old index first
        #[arg(long)]
        rebuild: bool,
        /// Keep updating the index when the folder changes, until ctrl-c
        #[arg(long)]
        watch: bool,
        /// Print what is read of one file instead: its text with places, headings, rows of tables,
        /// and what is left out
        #[arg(long, value_name = "FILE", conflicts_with_all = ["folders", "rebuild", "watch"])]
        explain: Option<PathBuf>,
    },
    /// Answer one question over a folder
    #[command(override_usage = "ragscope ask [OPTIONS] <FOLDER>... <QUESTION>")]
    Ask {
        #[command(flatten)]
        asked: Asked,
        /// Continue the thread of this name, or begin it: a follow-up question is rewritten to
        /// stand alone
        #[arg(long, value_name = "NAME")]
        thread: Option<String>,
        /// Answer with sentences of the documents, word for word: the best three, or none where
        /// nothing fits. No model writes
        #[arg(long)]
        quotes: bool,
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
    /// Serve folders to other programs as a server of the Model Context Protocol, over stdin and
    /// stdout
    Mcp {
        /// Folders of documents, served as one corpus
        #[arg(value_name = "FOLDER", required = true)]
        folders: Vec<PathBuf>,
    },
    /// Serve the devices of this machine to programs on others, which spread a model over them
    /// (generator.rpc)
    ///
    /// It serves the device in generator.device; with auto every GPU, or else the CPU. The protocol
    /// has no authentication: an address that others reach lets them run code here. `ssh -L
    /// 50052:127.0.0.1:50052 HOST` reaches a worker that listens on 127.0.0.1 of another machine.
    Worker {
        /// Address to listen on
        #[arg(long, value_name = "HOST:PORT", default_value_t = format!("127.0.0.1:{WORKER_PORT}"))]
        listen: String,
    },
    /// Serve folders over HTTP: to programs that speak the OpenAI interface, and to agents
    Serve(Serve),
    /// Link related chunks within each document by attention, and print the links (--json: of every
    /// document)
    #[command(override_usage = "ragscope links [OPTIONS] <FOLDER>... [DOCUMENT]")]
    Links {
        /// Folders of documents, and last, if wanted, the document whose links are printed, by its
        /// path in the corpus
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
    /// Find out where the answer to a question went wrong, and try what changes it
    ///
    /// It asks the question, follows the expected passage from its file into the answer, names the
    /// first broken link, and asks again with one to three changes of settings, with the passage
    /// alone and without documents.
    #[command(override_usage = "ragscope diagnose [OPTIONS] <FOLDER>... <QUESTION>")]
    Diagnose {
        #[command(flatten)]
        asked: Asked,
        /// The right answer, or words of the passage that holds it; without it, the passage is
        /// searched
        #[arg(long, value_name = "TEXT")]
        expect: Option<String>,
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
    /// Remove the oldest recorded runs, evaluations and caches, those beyond the limits of [record]
    /// and [clean]
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
    /// Print a page of the guide, or list its pages
    Guide {
        /// Name of a page
        topic: Option<String>,
    },
    /// List the file formats that are read, and how to convert the others
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
    #[command(name = host::SUBCOMMAND, hide = true)]
    Engine,
    /// Run a generator for the program that starts it
    #[command(name = isolated::SUBCOMMAND, hide = true)]
    Generate,
    /// Render a chat template for the program that starts it
    #[command(name = sandbox::SUBCOMMAND, hide = true)]
    Template,
}

/// Actions of `threads` besides listing them.
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
        /// The new name
        #[arg(value_name = "NEW")]
        name: String,
    },
}

/// Actions of `models` besides listing them.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Download a model into the cache that the tools of Hugging Face and llama.cpp share, or into
    /// Ollama's
    ///
    /// A download that was interrupted continues where it ended. The variables HF_TOKEN,
    /// HF_ENDPOINT, HF_HOME, HF_HUB_CACHE and OLLAMA_MODELS mean what they mean for those tools.
    Pull {
        /// ORG/NAME on Hugging Face, ORG/NAME:QUANT, ORG/NAME:FILE, or ollama:NAME:TAG
        #[arg(value_name = "MODEL")]
        reference: String,
    },
    /// List models to download, with size and licence, and mark those that suit the memory of this
    /// machine
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
        let read = |values: &[&str]| {
            let line = ["ragscope", "ask"].iter().chain(values);
            match Arguments::read(line).expect("valid").command {
                Some(Subcommands::Ask { asked, .. }) => asked,
                _ => panic!("{values:?}"),
            }
        };
        let cases: [(&[&str], &[&str]); 4] = [
            (&["notes", "Why?"], &["notes"]),
            (&["notes", "--json", "Why?"], &["notes"]),
            (&["a", "b", "Why?", "--seed", "4"], &["a", "b"]),
            (&["--seed", "4", "a", "--json", "b", "Why?"], &["a", "b"]),
        ];
        for (values, folders) in cases {
            let asked = read(values);
            let expected: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            assert_eq!(asked.split().expect("a question"), (expected, "Why?"));
        }
        assert!(read(&["notes", "--json"]).split().is_err());
    }
}
