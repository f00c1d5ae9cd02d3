//! The arguments of `eval`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::shared::assignment;
use crate::eval::verdicts::VerdictTable;
use crate::eval::{DATASETS, Dataset, PaperTable};

/// Arguments of `eval`.
#[derive(Debug, Clone, Args)]
pub struct Evaluation {
    /// Question file: JSON lines with `question` and `answers`, or a published dataset, which may
    /// be packed with gzip
    #[arg(required_unless_present_any = ["demo", "make_questions"])]
    pub questions: Option<PathBuf>,
    /// Form of the question file; without it, the one that its records look like
    #[arg(long, value_name = "NAME", value_parser = dataset_names())]
    pub dataset: Option<String>,
    /// Folder of documents that contains the answers; without it, the passages of the dataset
    #[arg(long, value_name = "FOLDER")]
    pub corpus: Option<PathBuf>,
    /// Passages of the dataset that are searched
    #[arg(long, value_name = "WHICH", default_value = "asked", conflicts_with_all = ["corpus", "demo"])]
    pub documents: PassageScope,
    /// Use the bundled corpus with its settings, and its questions unless you pass a file
    #[arg(long, conflicts_with = "corpus")]
    pub demo: bool,
    /// Ask only the questions of this `split`
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Ask at most this number of questions, spread evenly over the file
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Evaluate each preset with each of these values of a setting, e.g. retriever.k=1,3,5; may be
    /// repeated
    #[arg(long, value_name = "ROLE.KEY=A,B", value_parser = assignment)]
    pub sweep: Vec<(String, String)>,
    /// Set up the rows of a table of a paper, e.g. searag:3, and print its figures beside those
    /// measured
    #[arg(long, value_name = "PAPER:TABLE", value_parser = paper_names(), conflicts_with = "sweep")]
    pub paper: Option<String>,
    /// Score the evidence in the first chunks at these depths
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "1,3,5,10", value_parser = depth)]
    pub at: Vec<usize>,
    /// Search for every question, and write no answer: no generator is loaded
    #[arg(long, conflicts_with_all = ["paper", "samples", "make_questions"])]
    pub retrieval_only: bool,
    /// Fail with exit status 1 when the share of the evidence in the chunks down to the last depth
    /// of --at is lower than this, under any preset
    #[arg(long, value_name = "SHARE", requires = "retrieval_only", value_parser = share)]
    pub min_recall: Option<f64>,
    /// Find where each wrong answer went wrong, with up to two further answers each: a table, and
    /// bars on the page of --report
    #[arg(long, conflicts_with_all = ["retrieval_only", "make_questions"])]
    pub diagnose: bool,
    /// Ask each question again with the chunks of its answer reversed, with the evidence in the
    /// middle, behind a distractor, and without the evidence: how many answers change
    #[arg(long, conflicts_with_all = ["retrieval_only", "make_questions"])]
    pub stress: bool,
    /// Fit the probability of the verdict to these answers of this model over this folder, and use
    /// it from now on where it predicts answers that it has not seen better than the shipped one
    #[arg(long, conflicts_with_all = ["retrieval_only", "make_questions"])]
    pub fit_verdict: bool,
    /// Sample this number of answers per context, to measure the utility of retrieval and semantic
    /// entropy
    #[arg(long, value_name = "NUMBER")]
    pub samples: Option<u32>,
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Instead of evaluating, write questions about a folder with the generator, as JSON lines on
    /// stdout
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["questions", "corpus", "demo", "report"])]
    pub make_questions: Option<PathBuf>,
    /// Start over instead of continuing an interrupted evaluation
    #[arg(long)]
    pub fresh: bool,
}

/// The passages of a dataset that a question is searched in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PassageScope {
    /// Every passage of the file
    All,
    /// The passages of the questions that are asked
    Asked,
    /// The question's own passages of those
    Question,
}

/// Reads a depth of lists of chunks.
fn depth(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(depth @ 1..=1000) => Ok(depth),
        Ok(_) | Err(_) => Err("a depth is a whole number from 1 to 1000".to_owned()),
    }
}

/// Reads a share.
fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(share @ 0.0..=1.0) => Ok(share),
        Ok(_) | Err(_) => Err("a share is a number from 0 to 1, e.g. 0.8".to_owned()),
    }
}

/// Returns the names of the datasets for the command line.
fn dataset_names() -> PossibleValuesParser {
    let named = |set: &Dataset| PossibleValue::new(set.name).help(set.about);
    DATASETS.iter().map(named).collect::<Vec<_>>().into()
}

/// Returns the tables for the command line.
fn paper_names() -> PossibleValuesParser {
    let named = |table: &'static PaperTable| {
        PossibleValue::new(table.name.as_str()).help(table.title.as_str())
    };
    let verdicts = VerdictTable::get();
    let of_verdicts =
        verdicts.map(|table| PossibleValue::new(table.name.as_str()).help(table.title.as_str()));
    let tables = PaperTable::all().iter().map(named);
    Vec::from_iter(tables.chain(of_verdicts)).into()
}
