//! `eval`: asks every question of a file under each preset, and compares the results.

mod paper;
mod shard;
mod verdicts;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::config::{
    AttributionKind, Config, ConfigError, Layers, Paths, RetrieverKind, assets_folder, demo_corpus,
};
use crate::corpus::{self, Document, FoundFile, ReadOptions};
use crate::engine::{Worker, WorkerError};
use crate::eval::{
    self, Answers, DATASETS, Dataset, Documents, Ended, EvidenceCheck, PaperTable, Plan,
    PresetSummary, Progress, Published, Question, QuestionSet, RepeatSummary, Report, Row,
};
use crate::event::{Ask, Event, Flow, Outcome, Problem, SessionEvent, harmless, saturating_u32};
use crate::files;
use crate::index::IndexError;
use crate::llm;
use crate::story::words;
use crate::trace::Journal;

use crate::cli::args::Shared;
use crate::cli::failure::{Exit, Failure, Stopped};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::Output;
use crate::cli::{check_folder, demo};
use crate::eval::verdicts::VerdictTable;
use shard::Shard;

/// Arguments of `eval`.
#[derive(Debug, Clone, Args)]
pub struct Evaluation {
    /// Question file: JSON lines with `question` and `answers`, or a published dataset, which may be packed with gzip
    #[arg(required_unless_present_any = ["demo", "make_questions"])]
    pub questions: Option<PathBuf>,
    /// Form of the question file; without it, the one that its records look like
    #[arg(long, value_name = "NAME", value_parser = dataset_names())]
    pub dataset: Option<String>,
    /// Folder of documents that contains the answers; without it, the passages of the dataset
    #[arg(long, value_name = "FOLDER")]
    pub corpus: Option<PathBuf>,
    /// Which passages of the dataset are searched
    #[arg(long, value_name = "WHICH", default_value = "asked", conflicts_with_all = ["corpus", "demo"])]
    pub documents: Scope,
    /// Use the bundled corpus with its settings, and its questions unless you pass a file
    #[arg(long, conflicts_with = "corpus")]
    pub demo: bool,
    /// Ask only the questions of this `split`
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Ask at most this number of questions, spread evenly over the file
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Evaluate each preset with each of these values of a setting, e.g. retriever.k=1,3,5; may be repeated
    #[arg(long, value_name = "ROLE.KEY=A,B", value_parser = crate::cli::args::assignment)]
    pub sweep: Vec<(String, String)>,
    /// Set up the rows of a table of a paper, e.g. searag:3, and print its figures beside those measured
    #[arg(long, value_name = "PAPER:TABLE", value_parser = paper::names(), conflicts_with = "sweep")]
    pub paper: Option<String>,
    /// Ask under this number of seeds, and print the mean with its standard deviation
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Score the evidence in the first chunks at these depths
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "1,3,5,10", value_parser = depth)]
    pub at: Vec<usize>,
    /// Sample this number of answers per context, to measure the utility of retrieval and semantic entropy
    #[arg(long, value_name = "NUMBER")]
    pub samples: Option<u32>,
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Instead of evaluating, write questions about a folder with the generator, as JSON lines on stdout
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["questions", "corpus", "demo", "report"])]
    pub make_questions: Option<PathBuf>,
    /// Ask only one of N shares of the questions, e.g. 2/8, so that several processes share an evaluation
    #[arg(long, value_name = "I/N", conflicts_with_all = ["merge", "make_questions"])]
    pub shard: Option<Shard>,
    /// Take the answers from these journals of shards, ask what none of them has, and compare
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "make_questions")]
    pub merge: Vec<PathBuf>,
    /// Start over instead of continuing an interrupted evaluation
    #[arg(long)]
    pub fresh: bool,
}

/// The passages of a dataset that a question is searched in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// Every passage of the file
    All,
    /// The passages of the questions that are asked
    Asked,
    /// Of those, the question's own
    Question,
}

/// Reads a depth of lists of chunks.
fn depth(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(depth @ 1..=1000) => Ok(depth),
        Ok(_) | Err(_) => Err("a depth is a whole number from 1 to 1000".to_owned()),
    }
}

/// Returns the names of the datasets for the command line.
fn dataset_names() -> clap::builder::PossibleValuesParser {
    let named = |set: &Dataset| clap::builder::PossibleValue::new(set.name).help(set.about);
    DATASETS.iter().map(named).collect::<Vec<_>>().into()
}

/// Evaluates, and prints the tables. `--preset` takes presets separated by commas.
pub fn run(
    what: &Evaluation,
    flags: &Shared,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    if let Some(folder) = &what.make_questions {
        let layers = crate::cli::layers(flags, paths)?;
        return make(folder, what.limit, &layers, paths, out);
    }

    if what.paper.is_some() && flags.preset.is_some() {
        return Err(Failure::usage(
            "--paper has its own presets: those of the table's rows",
            "leave out --preset",
        )
        .into());
    }

    let layers = evaluated_layers(what, flags, paths)?;
    if let Some(table) = what.paper.as_deref().and_then(VerdictTable::find) {
        let questions = what.questions.as_deref();
        return verdicts::run(table, questions, what.limit, &layers, paths, out);
    }

    let interrupt = Interrupt::listen()?;
    let table = what.paper.as_deref().and_then(PaperTable::find);
    let variants = match table {
        Some(table) => {
            let model = layers.config()?.generator.model;
            paper::remark(table, &model, what.dataset.as_deref(), out);
            let rows = paper::variants(table, what.dataset.as_deref(), &layers)?;
            paper::remark_probes(&rows, paths, out)?;
            repeated(what, rows)?
        }
        None => variants(what, flags.preset.as_deref(), &layers)?,
    };
    let asked = Asked::read(what, paths, &variants, out)?;
    let config = layers.config()?;
    let files = asked.files(&config)?;
    let missing = EvidenceCheck::run(&asked.questions, &documents(&files, &config))
        .missing()
        .to_vec();
    warn(out, &asked.remarks, "of the question file");
    warn(out, &missing, "about evidence");

    let name = name(&variants, &asked, &files, paths)?;
    let plan = Plan {
        presets: variants
            .iter()
            .map(|variant| variant.name.clone())
            .collect(),
        questions: what.shard.map_or_else(
            || asked.questions.clone(),
            |shard| shard.of(&asked.questions),
        ),
    };
    let mut journal = open_journal(&name, &plan, what, paths, out)?;
    let setting = Setting {
        asked: &asked,
        paths,
        interrupt: &interrupt,
    };
    if ask(&plan, &variants, &mut journal, &setting, out)? == Ended::Stopped {
        let done = journal.rows().len();
        let total = plan.presets.len() * plan.questions.len();
        out.remark(&format!(
            "stopped after {done} of {total} answers; run the same command again to continue"
        ));
        return Err(Stopped::Interrupted);
    }

    if let Some(shard) = what.shard {
        let file = journal.path().display();
        out.remark(&format!("the journal of shard {shard} is {file}"));
    }
    let mut report = Report::of(&plan.presets, journal.rows(), &what.at);
    report.repeats = repeats(&variants, &report);
    report.published = table.map(|table| {
        let dataset = what.dataset.as_deref();
        Published::new(table, &report.presets, &report.understanding, dataset)
    });
    report.remarks = asked.remarks;
    report.missing_evidence = missing;
    print(&report, &journal, what.report.as_deref(), out)
}

/// What is asked, and where its answers are.
struct Asked {
    questions: Vec<Question>,
    remarks: Vec<String>,
    /// The documents; `None` where no preset searches and there are none.
    folder: Option<PathBuf>,
    /// By question, the documents that its search is limited to.
    limits: HashMap<String, String>,
}

impl Asked {
    /// Reads the questions, and finds their documents: the given folder, the demo's, or the passages
    /// that come with the dataset.
    fn read(
        what: &Evaluation,
        paths: &Paths,
        variants: &[Variant],
        out: &mut Output,
    ) -> Result<Self, Stopped> {
        let file = what.questions.clone().unwrap_or_else(demo::question_file);
        let named = what.dataset.as_deref();
        let dataset = named.and_then(|name| DATASETS.iter().find(|set| set.name == name));
        let mut set = QuestionSet::read(&file, dataset)?;
        let remarks = std::mem::take(&mut set.remarks);
        let questions = chosen(&set.questions, what)?;
        let mut asked = Self {
            questions,
            remarks,
            folder: what.demo.then(demo_corpus).or_else(|| what.corpus.clone()),
            limits: HashMap::new(),
        };
        if let Some(folder) = &asked.folder {
            check_folder(folder)?;
            return Ok(asked);
        }

        let of = match what.documents {
            Scope::All => &set.questions,
            Scope::Asked | Scope::Question => &asked.questions,
        };
        let documents = Documents::of(&set, of);
        if !documents.is_empty() {
            let name = file.file_stem().and_then(|name| name.to_str());
            let folder = documents.write(&paths.datasets(), name.unwrap_or("questions"));
            asked.folder = Some(folder.map_err(|error| {
                Failure::new(
                    format!("cannot write the passages of {} ({error})", file.display()),
                    "make room, or check `ragscope paths`",
                )
            })?);
            let count = words::counted(documents.len() as u64, "document");
            out.remark(&format!("the passages of the questions are {count}"));
            if what.documents == Scope::Question {
                asked.limits = limits(&asked.questions, &documents);
            }
        } else if variants.iter().any(Variant::is_searching) {
            return Err(Failure::usage(
                format!("{} has no passages to search", file.display()),
                "name a folder of documents: --corpus FOLDER",
            )
            .into());
        }
        Ok(asked)
    }

    /// Returns the files of the corpus.
    fn files(&self, config: &Config) -> Result<Vec<FoundFile>, Stopped> {
        match &self.folder {
            Some(folder) => files(folder, config),
            None => Ok(Vec::new()),
        }
    }
}

/// Returns by question the filter that lets its own documents through.
fn limits(questions: &[Question], documents: &Documents) -> HashMap<String, String> {
    let limit = |question: &Question| {
        let paths = documents.paths(question);
        (!paths.is_empty()).then(|| (question.id.clone(), paths.join(" ")))
    };
    questions.iter().filter_map(limit).collect()
}

/// A preset with the settings that it is evaluated with.
struct Variant {
    /// The preset, the values of a sweep and the seed of a repetition: one row of the tables.
    name: String,
    /// The name without the seed.
    repeated: String,
    layers: Layers,
}

impl Variant {
    fn is_searching(&self) -> bool {
        let config = self.layers.config();
        config.is_ok_and(|config| config.retriever.kind != RetrieverKind::Off)
    }

    /// Returns the same with another value of a setting.
    fn with(&self, key: &str, value: &str) -> Result<Self, Stopped> {
        let setting = (key.to_owned(), value.to_owned());
        let layers = self.layers.with(&[setting]).map_err(usage)?;
        layers.config().map_err(usage)?;
        let name = format!("{} {key}={value}", self.name);
        Ok(Self {
            repeated: name.clone(),
            name,
            layers,
        })
    }
}

/// Returns the presets, each with every combination of the swept values and under every seed.
fn variants(
    what: &Evaluation,
    names: Option<&str>,
    layers: &Layers,
) -> Result<Vec<Variant>, Stopped> {
    let mut variants = presets(names, layers)?;
    for (key, values) in &what.sweep {
        let mut swept = Vec::new();
        for variant in &variants {
            for value in values.split(',').map(str::trim) {
                swept.push(variant.with(key, value)?);
            }
        }
        variants = swept;
    }
    repeated(what, variants)
}

/// Returns these presets, each under every seed.
fn repeated(what: &Evaluation, mut variants: Vec<Variant>) -> Result<Vec<Variant>, Stopped> {
    if what.repeat > 1 {
        let mut seeded = Vec::new();
        for variant in &variants {
            let first = variant.layers.config()?.seed;
            for number in 0..what.repeat {
                let seed = first.wrapping_add(u64::from(number)).to_string();
                seeded.push(Variant {
                    repeated: variant.name.clone(),
                    ..variant.with("seed", &seed)?
                });
            }
        }
        variants = seeded;
    }
    Ok(variants)
}

/// Returns the mean and the deviation of each preset that was repeated.
fn repeats(variants: &[Variant], report: &Report) -> Vec<RepeatSummary> {
    let mut groups: Vec<(&str, Vec<&PresetSummary>)> = Vec::new();
    for (variant, summary) in variants.iter().zip(&report.presets) {
        match groups.last_mut() {
            Some((name, members)) if *name == variant.repeated => members.push(summary),
            Some(_) | None => groups.push((&variant.repeated, vec![summary])),
        }
    }
    groups
        .into_iter()
        .filter(|(_, members)| members.len() > 1)
        .map(|(name, members)| RepeatSummary::of(name, &members))
        .collect()
}

/// Returns the settings without a preset: those of the demo when it is evaluated, then the flags.
fn evaluated_layers(what: &Evaluation, flags: &Shared, paths: &Paths) -> Result<Layers, Stopped> {
    let without_preset = Shared {
        preset: None,
        ..flags.clone()
    };
    let mut layers = if what.demo {
        demo::layers(&without_preset, paths)?
    } else {
        crate::cli::layers(&without_preset, paths)?
    };

    if let Some(samples) = what.samples {
        let kind = if samples == 0 { "off" } else { "soft" };
        for (key, value) in [
            ("utility.samples", samples.to_string()),
            ("utility.kind", kind.to_owned()),
        ] {
            layers.set("--samples", key, &value).map_err(usage)?;
        }
    }
    Ok(layers)
}

/// Opens the journal of this evaluation, and reports the answers that it already contains.
fn open_journal(
    name: &str,
    plan: &Plan,
    what: &Evaluation,
    paths: &Paths,
    out: &mut Output,
) -> Result<Journal<Row>, Stopped> {
    let file = what.shard.map_or_else(
        || format!("{name}.jsonl"),
        |shard| format!("{name}.{}.jsonl", shard.file_part()),
    );
    let mut journal = Journal::open(&paths.evaluations().join(file), name)?;
    if what.fresh {
        journal.clear()?;
    }
    shard::merge(&what.merge, name, plan, &mut journal)?;

    if plan.left(&journal) == 0 {
        out.remark("every question is already answered; --fresh asks them again");
    } else if !journal.rows().is_empty() {
        out.remark(&format!(
            "continuing after {} answers; --fresh starts over",
            journal.rows().len()
        ));
    }
    Ok(journal)
}

/// Prints the report, and writes its HTML page to `file`.
fn print(
    report: &Report,
    journal: &Journal<Row>,
    file: Option<&Path>,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    if let Some(file) = file {
        let page = eval::page(report, journal.rows());
        files::save(file, page).map_err(|error| {
            Failure::new(
                format!("cannot write {} ({error})", file.display()),
                "check the path",
            )
        })?;
        out.remark(&format!("wrote {}", file.display()));
    }

    if out.json {
        out.json_pretty(report)?;
    } else {
        out.text(&harmless(&eval::markdown(report)))?;
    }
    Ok(Exit::Done)
}

/// Number of questions that are written without `--limit`.
const DEFAULT_QUESTIONS: usize = 50;

fn make(
    folder: &Path,
    limit: Option<usize>,
    layers: &Layers,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    check_folder(folder)?;
    let interrupt = Interrupt::listen()?;
    let config = layers.config()?;
    let documents = documents(&files(folder, &config)?, &config);
    let mut worker = Worker::new(layers.clone(), paths.clone(), interrupt.stop_flag());
    let wanted = limit.unwrap_or(DEFAULT_QUESTIONS);

    let mut tried = 0;
    let shared_out = RefCell::new(&mut *out);
    let mut load_progress = |record: crate::event::Record| {
        shared_out.borrow_mut().progress(&record.event);
        interrupt.flow()
    };
    let made = worker.calls(&mut load_progress, |calls| {
        eval::make_questions(calls, &documents, wanted, config.seed, &mut |making| {
            tried = making.tried;
            shared_out.borrow_mut().progress_line(|| {
                format!(
                    "{} of {} questions kept, {} sentences tried",
                    making.kept, making.wanted, making.tried
                )
            });
            interrupt.flow()
        })
    });
    out.clear_progress();
    let made = match made {
        Err(_) if interrupt.is_seen() => return Err(Stopped::Interrupted),
        made => made?,
    };

    if made.is_empty() && !interrupt.is_seen() {
        let error = format!(
            "the generator wrote no question that it could answer itself ({tried} sentences tried)"
        );
        return Err(Failure::new(error, "use a larger model: --model NAME").into());
    }
    for question in &made {
        out.json_line(question)?;
    }
    let written = words::counted(made.len() as u64, "question");
    out.remark(&format!("{written} written"));
    if interrupt.is_seen() {
        Err(Stopped::Interrupted)
    } else {
        Ok(Exit::Done)
    }
}

fn usage(error: ConfigError) -> Stopped {
    Failure::from(error).into_usage().into()
}

/// Returns the presets by name, each with its effective settings.
fn presets(names: Option<&str>, layers: &Layers) -> Result<Vec<Variant>, Stopped> {
    let own = layers.config()?.preset;
    let mut presets: Vec<Variant> = Vec::new();
    for name in names
        .unwrap_or(&own)
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        if !presets.iter().any(|known| known.name == name) {
            let mut layers = layers.with(&[("preset".to_owned(), name.to_owned())])?;
            let config = layers.config().map_err(usage)?;
            // no table shows it
            if config.answer.attribution == AttributionKind::Auto {
                layers = layers.with(&[("answer.attribution".to_owned(), "off".to_owned())])?;
            }
            presets.push(Variant {
                name: name.to_owned(),
                repeated: name.to_owned(),
                layers,
            });
        }
    }
    if presets.is_empty() {
        return Err(Failure::usage(
            "--preset names no preset",
            "separate presets with commas, e.g. --preset naive,closed-book",
        )
        .into());
    }
    Ok(presets)
}

/// Returns the questions of the split, at most `--limit`, spread evenly.
fn chosen(questions: &[Question], what: &Evaluation) -> Result<Vec<Question>, Failure> {
    let in_split = |question: &Question| {
        what.split
            .as_ref()
            .is_none_or(|split| question.split == *split)
    };
    let mut splits: Vec<String> = questions
        .iter()
        .map(|question| question.split.clone())
        .collect();
    splits.sort();
    splits.dedup();
    let all: Vec<&Question> = questions
        .iter()
        .filter(|question| in_split(question))
        .collect();
    let count = all.len();
    let limit = what.limit.unwrap_or(usize::MAX);
    // files are often sorted by kind, so the first questions would all be of one kind
    let is_drawn = |at: usize| limit >= count || (at + 1) * limit / count > at * limit / count;
    let chosen: Vec<Question> = all
        .into_iter()
        .enumerate()
        .filter(|(at, _)| is_drawn(*at))
        .map(|(_, question)| question.clone())
        .collect();
    if chosen.is_empty() {
        let known = splits.join(", ");
        return Err(Failure::usage(
            "no question matches --split and --limit",
            format!("this file has the splits: {known}"),
        ));
    }
    Ok(chosen)
}

/// Returns the files of the corpus.
fn files(folder: &Path, config: &Config) -> Result<Vec<FoundFile>, Stopped> {
    let walked = corpus::walk(folder, &config.corpus, &mut |_| Flow::Continue);
    Ok(walked?.files)
}

/// Returns the readable documents; indexing reports the others.
fn documents(files: &[FoundFile], config: &Config) -> Vec<Document> {
    let options = ReadOptions::from(&config.corpus);
    files
        .iter()
        .filter_map(|file| corpus::read(file, &options).ok())
        .collect()
}

/// Returns the name of this evaluation: a hash of the settings, the questions, the documents, and the
/// files that an answer depends on (models, prompts, probes and the program).
fn name(
    variants: &[Variant],
    asked: &Asked,
    files: &[FoundFile],
    paths: &Paths,
) -> Result<String, Stopped> {
    let mut hasher = blake3::Hasher::new();
    let mut dependencies = program_files(paths);
    for variant in variants {
        let config = variant.layers.config()?;
        let settings = serde_json::to_string(&config).unwrap_or_default();
        hasher.update(settings.as_bytes());
        dependencies.extend(model_files(&config, paths));
    }

    dependencies.sort();
    dependencies.dedup();
    for file in dependencies {
        if let Ok(about) = file.metadata() {
            let modified = about.modified().ok();
            let stamp = format!("{} {} {modified:?}", file.display(), about.len());
            hasher.update(stamp.as_bytes());
        }
    }
    for question in &asked.questions {
        let limit = asked.limits.get(&question.id);
        hasher.update(format!("{question:?} {limit:?}").as_bytes());
    }
    for file in files {
        hasher.update(format!("{} {} {}", file.path, file.bytes, file.modified_ns).as_bytes());
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// Returns the program with the prompts and probes that it may read.
fn program_files(paths: &Paths) -> Vec<PathBuf> {
    let folders = [
        paths.config.join("prompts"),
        paths.probes(),
        assets_folder().join("probes"),
    ];
    let entries = folders
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    std::env::current_exe()
        .into_iter()
        .chain(entries.map(|entry| entry.path()))
        .collect()
}

/// Returns the files of the models that a configuration names.
fn model_files(config: &Config, paths: &Paths) -> Vec<PathBuf> {
    let models = [
        Some(config.generator.model.as_str()),
        Some(config.embedder.model.as_str()),
        config.linker.model.file(),
        config.reranker.model.file(),
        config.judge.model.file(),
    ];
    // a model that cannot be found is reported where it is loaded
    let found = models.into_iter().flatten();
    found
        .filter_map(|model| llm::resolve(model, paths).ok())
        .collect()
}

/// Prints the first remarks on standard error, and the number of the others.
fn warn(out: &mut Output, remarks: &[String], what: &str) {
    const MAX_SHOWN: usize = 5;
    for remark in remarks.iter().take(MAX_SHOWN) {
        out.remark(&format!("warning: {remark}"));
    }
    if remarks.len() > MAX_SHOWN {
        out.remark(&format!(
            "warning: {} more {what}; --json and --report list them all",
            remarks.len() - MAX_SHOWN
        ));
    }
}

/// The environment of an evaluation.
struct Setting<'a> {
    asked: &'a Asked,
    paths: &'a Paths,
    interrupt: &'a Interrupt,
}

fn ask(
    plan: &Plan,
    variants: &[Variant],
    journal: &mut Journal<Row>,
    setting: &Setting<'_>,
    out: &mut Output,
) -> Result<Ended, Stopped> {
    let out = RefCell::new(out);
    let report = |event: &Event| {
        let mut out = out.borrow_mut();
        if let Event::Session(SessionEvent::Warned { text, advice }) = event {
            out.warning(text, advice.as_deref());
        }
        out.progress(event);
        setting.interrupt.flow()
    };
    let mut open = |name: &str| -> Result<Box<dyn Answers + '_>, Stopped> {
        let known = variants.iter().find(|variant| variant.name == name);
        let variant = known.ok_or_else(|| {
            Failure::new(format!("unknown preset {name}"), "run the command again")
        })?;
        Ok(Box::new(UnderPreset::open(
            variant.layers.clone(),
            setting,
            &report,
        )?))
    };
    let ended = eval::run(plan, journal, &mut open, &mut |progress: &Progress| {
        out.borrow_mut().progress_line(|| line(progress));
        setting.interrupt.flow()
    });
    out.borrow_mut().clear_progress();
    ended
}

fn line(progress: &Progress) -> String {
    let mut line = format!(
        "{}: {} of {} answers",
        progress.preset, progress.done, progress.total
    );
    if let Some(each) = progress.each {
        let left = each * saturating_u32(progress.total - progress.done);
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        line.push_str(&format!(
            ", {:.1} s each, {}",
            each.as_secs_f64(),
            words::time_left(left_ms)
        ));
    }
    line
}

/// A worker with the settings of one preset.
struct UnderPreset<'a> {
    worker: Worker,
    asked: &'a Asked,
}

impl<'a> UnderPreset<'a> {
    fn open(
        layers: Layers,
        setting: &Setting<'a>,
        report: &dyn Fn(&Event) -> Flow,
    ) -> Result<Self, Stopped> {
        let searches = layers.config()?.retriever.kind != RetrieverKind::Off;
        let mut worker = Worker::new(layers, setting.paths.clone(), setting.interrupt.stop_flag());
        if let Some(folder) = setting.asked.folder.as_ref().filter(|_| searches) {
            let mut publish = |record: crate::event::Record| report(&record.event);
            let stopped = |error: WorkerError| {
                if setting.interrupt.is_seen() {
                    Stopped::Interrupted
                } else {
                    error.into()
                }
            };
            worker
                .open(std::slice::from_ref(folder), false, &mut publish)
                .map_err(stopped)?;
            match worker.update(&mut publish) {
                Ok(Some(_)) => {}
                Err(WorkerError::Index(IndexError::InUse { .. }))
                    if worker.documents().is_ok_and(|all| !all.is_empty()) => {}
                Ok(None) => return Err(Stopped::Interrupted),
                Err(error) => return Err(stopped(error)),
            }
        }
        Ok(Self {
            worker,
            asked: setting.asked,
        })
    }
}

impl Answers for UnderPreset<'_> {
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem> {
        let references = toml::Value::from(question.answers.clone()).to_string();
        let mut overrides = vec![("utility.references".to_owned(), references)];
        if let Some(limit) = self.asked.limits.get(&question.id) {
            overrides.push(("retriever.filter".to_owned(), limit.clone()));
        }
        let asked = Ask {
            overrides,
            ..Ask::new(&question.question)
        };
        let outcome = self
            .worker
            .ask(&asked, &mut |record| publish(&record.event))?;
        match outcome {
            Outcome::Completed | Outcome::LimitReached | Outcome::Stopped => Ok(()),
            Outcome::Failed(problem) => Err(problem),
        }
    }
}
