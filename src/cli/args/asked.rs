//! The folders and the question of a command, which are one list of values.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, FromArgMatches};

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
