//! The command line as clap declares it: help, completions and the man page come from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::eval::Evaluation;
use super::probe::ProbeCommand;

/// Ask your documents with a local model, and watch why it answers what it answers.
///
/// Without a command the screen opens, on FOLDER when one is given. Only downloading a model uses the network.
#[derive(Debug, Parser)]
#[command(name = "ragscope", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    /// Folder of documents to open on the screen
    pub folder: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Option<Subcommands>,
    #[command(flatten)]
    pub shared: Shared,
}

impl Arguments {
    /// The declaration with the shared flags on every command. (clap's own global flags drop what stands before the command
    /// when the flag is repeated after it.)
    #[must_use]
    pub fn declaration() -> clap::Command {
        Self::command().mut_subcommands(with_shared)
    }

    /// Read a command line, program name first.
    ///
    /// # Errors
    /// Wrong usage, and the request for help or version.
    pub fn read(
        line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::declaration().try_get_matches_from(line)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        let mut outer = &matches;
        while let Some((_, inner)) = outer.subcommand() {
            arguments.shared.lay_over(Shared::from_arg_matches(inner)?);
            outer = inner;
        }
        Ok(arguments)
    }
}

/// The shared flags on a command and on those below it.
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
    /// Preset: a built-in one (an unknown name lists them), or the name of a file in your presets folder
    #[arg(long, value_name = "NAME", help_heading = "Settings")]
    pub preset: Option<String>,
    /// Generator: a GGUF file, or a name that `ragscope models` lists
    #[arg(long, value_name = "MODEL", help_heading = "Settings")]
    pub model: Option<String>,
    /// Any setting of `ragscope config`, e.g. retriever.k=8; may be repeated
    #[arg(long, value_name = "ROLE.KEY=VALUE", value_parser = assignment, help_heading = "Settings")]
    pub set: Vec<(String, String)>,
    /// Seed of every random choice
    #[arg(long, value_name = "NUMBER", help_heading = "Settings")]
    pub seed: Option<u64>,
    /// Print JSON on stdout: records as lines for runs, one object for the rest
    #[arg(long)]
    pub json: bool,
}

impl Shared {
    /// Flag, setting and value of all that was given, weakest first.
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

    /// Flags after the command win over those before it.
    fn lay_over(&mut self, later: Self) {
        self.preset = later.preset.or(self.preset.take());
        self.model = later.model.or(self.model.take());
        self.seed = later.seed.or(self.seed);
        self.set.extend(later.set);
        self.json |= later.json;
    }
}

/// What ragscope can do besides opening the screen.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
    /// Open the bundled corpus with the bundled models; without a terminal, print one run
    Demo,
    /// Bring the index of a folder up to date
    Index {
        /// Folder of documents
        folder: PathBuf,
        /// Throw the old index away first
        #[arg(long)]
        rebuild: bool,
    },
    /// Answer one question over a folder
    Ask {
        /// Folder of documents
        folder: PathBuf,
        /// What you want to know
        question: String,
    },
    /// Tie the chunks of each document together by attention, and show what is tied (--json: every document)
    Links {
        /// Folder of documents
        folder: PathBuf,
        /// Document whose links are printed, by its path inside the folder
        document: Option<String>,
        /// Throw the links away first that this linker made, with whatever model
        #[arg(long)]
        rebuild: bool,
    },
    /// Follow a text that should have been found through every stage of a question
    Explain {
        /// Folder of documents
        folder: PathBuf,
        /// What you want to know
        question: String,
        /// Words of the passage that should have been found, as the document has them
        #[arg(long, value_name = "TEXT")]
        expect: String,
    },
    /// Ask every question of a file under each preset of `--preset a,b`, and compare
    Eval(Evaluation),
    /// Train and look at the probe, which says how unsure the model is of a sentence
    #[command(subcommand)]
    Probe(ProbeCommand),
    /// Show a recorded run again; without a terminal, print it
    Replay {
        /// A file of the sessions folder
        file: PathBuf,
    },
    /// List the models on this machine and what each is for, or get another
    Models {
        #[command(subcommand)]
        command: Option<ModelsCommand>,
    },
    /// Check devices, models, folders and indexes, and say how to mend what is wrong
    Doctor,
    /// Print every folder and file that ragscope uses
    Paths,
    /// Print every setting with its default and what it means
    Config {
        /// Print the values in force instead
        #[arg(long)]
        effective: bool,
    },
    /// Print a completion script, e.g. `ragscope completions bash`
    Completions {
        /// Shell to write it for
        shell: clap_complete::Shell,
    },
    /// Print the manual page, e.g. `ragscope man | man -l -`
    Man,
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

fn assignment(text: &str) -> Result<(String, String), String> {
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
    fn the_declaration_is_sound() {
        Arguments::declaration().debug_assert();
    }

    #[test]
    fn flags_may_stand_before_and_after_the_command() {
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
}
