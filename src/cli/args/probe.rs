//! The arguments of `probe`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Subcommands of `probe`.
#[derive(Debug, Clone, Subcommand)]
pub enum ProbeCommand {
    /// Train a probe for the generator on questions about a folder
    Train(Training),
    /// Set the gate's thresholds for a generator without a probe, from its own sentences; takes
    /// minutes
    Calibrate(Calibrating),
    /// Describe a weights file and its quality; without a file, every probe found
    Show {
        /// A weights file
        file: Option<PathBuf>,
    },
}

/// Arguments of `probe train`.
#[derive(Debug, Clone, Args)]
pub struct Training {
    /// Folders of documents
    #[arg(value_name = "FOLDER", required_unless_present = "demo")]
    pub folders: Vec<PathBuf>,
    /// Use the bundled corpus with its settings
    #[arg(long, conflicts_with = "folders")]
    pub demo: bool,
    /// Question file as for `eval`, may be repeated; questions of the split `held_out` measure the
    /// probe. Without a file the generator writes the questions
    #[arg(long, value_name = "FILE")]
    pub questions: Vec<PathBuf>,
    /// Weights file to write; by default one in your probes folder
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `probe calibrate`.
#[derive(Debug, Clone, Args)]
pub struct Calibrating {
    /// Folders of documents
    #[arg(value_name = "FOLDER", required_unless_present = "demo")]
    pub folders: Vec<PathBuf>,
    /// Use the bundled corpus with its settings
    #[arg(long, conflicts_with = "folders")]
    pub demo: bool,
    /// Question file as for `eval`, may be repeated. Without a file the generator writes the
    /// questions
    #[arg(long, value_name = "FILE")]
    pub questions: Vec<PathBuf>,
    /// Answer at most this number of questions
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}
