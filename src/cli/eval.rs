//! `eval`: every question of a file under each of some presets, and what came of it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::config::{Config, ConfigError, Layers, Paths, RetrieverKind, assets_folder};
use crate::corpus::{self, Document, FoundFile};
use crate::engine::{Worker, WorkerError};
use crate::eval::{
    self, Answers, Ended, EvidenceCheck, Plan, Progress, Question, QuestionSet, Report, Row,
};
use crate::event::{Event, Flow, Outcome, Problem, SessionEvent, harmless, saturating_u32};
use crate::index::IndexError;
use crate::llm;
use crate::story::words;
use crate::trace::Journal;

use super::args::Shared;
use super::failure::{Exit, Failure, Stopped};
use super::interrupt::Interrupt;
use super::output::Output;
use super::{check_folder, demo};

/// What to evaluate.
#[derive(Debug, Clone, Args)]
pub struct Evaluation {
    /// Question file: JSON lines with `question` and `answers`, or a file of SQuAD, HotpotQA or NQ-open
    #[arg(required_unless_present_any = ["demo", "make_questions"])]
    pub questions: Option<PathBuf>,
    /// Folder of documents that the answers are in
    #[arg(long, value_name = "FOLDER", required_unless_present_any = ["demo", "make_questions"])]
    pub corpus: Option<PathBuf>,
    /// The bundled corpus with its settings, and its questions unless a file is given
    #[arg(long, conflicts_with = "corpus")]
    pub demo: bool,
    /// Only the questions of this `split`
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
    /// Only so many questions, spread evenly over the file
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Sample so many answers in each context, for the utility of lookups and for the uncertainty of samples
    #[arg(long, value_name = "NUMBER")]
    pub samples: Option<u32>,
    /// Write a page of HTML with plots
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write questions about a folder with the generator, as JSON lines on stdout, and evaluate nothing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["questions", "corpus", "demo", "report"])]
    pub make_questions: Option<PathBuf>,
    /// Begin anew instead of going on with what was interrupted
    #[arg(long)]
    pub fresh: bool,
}

/// Evaluate, and print the tables. `--preset` holds the presets with commas between them.
pub fn run(
    what: &Evaluation,
    flags: &Shared,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    if let Some(folder) = &what.make_questions {
        return make(
            folder,
            what.limit,
            &super::layers(flags, paths)?,
            paths,
            out,
        );
    }
    let interrupt = Interrupt::listen()?;
    let single = Shared {
        preset: None,
        ..flags.clone()
    };
    let mut layers = if what.demo {
        demo::layers(&single, paths)?
    } else {
        super::layers(&single, paths)?
    };
    if let Some(samples) = what.samples {
        layers
            .set("--samples", "utility.samples", &samples.to_string())
            .map_err(usage)?;
        layers
            .set(
                "--samples",
                "utility.kind",
                if samples == 0 { "off" } else { "soft" },
            )
            .map_err(usage)?;
    }
    let presets = presets(flags.preset.as_deref(), &layers)?;
    let folder = what.corpus.clone().unwrap_or_else(demo::corpus);
    check_folder(&folder)?;
    let file = what.questions.clone().unwrap_or_else(demo::question_file);
    let set = QuestionSet::read(&file)?;
    let questions = chosen(set.questions, what)?;
    let files = files(&folder, &layers.config()?)?;
    let missing = EvidenceCheck::run(&questions, &documents(&files))
        .missing()
        .to_vec();
    tell(out, &set.remarks, "of the question file");
    tell(out, &missing, "about evidence");

    let name = name(&presets, &questions, &files, paths)?;
    let names: Vec<String> = presets.iter().map(|(name, _)| name.clone()).collect();
    let plan = Plan {
        presets: names,
        questions,
    };
    let mut journal = Journal::open(&paths.evaluations().join(format!("{name}.jsonl")), &name)?;
    if what.fresh {
        journal.clear()?;
    } else if plan.left(&journal) == 0 {
        out.remark("every question is answered already; --fresh asks them again");
    } else if !journal.rows().is_empty() {
        out.remark(&format!(
            "going on after {} answers; --fresh begins anew",
            journal.rows().len()
        ));
    }
    let ended = ask(
        &plan,
        &presets,
        &mut journal,
        &Setting {
            folder: &folder,
            paths,
            interrupt: &interrupt,
        },
        out,
    )?;
    if ended == Ended::Stopped {
        let (done, total) = (
            journal.rows().len(),
            plan.presets.len() * plan.questions.len(),
        );
        out.remark(&format!(
            "stopped after {done} of {total} answers; the same command goes on from there"
        ));
        return Err(Stopped::Interrupted);
    }
    let report = Report {
        remarks: set.remarks,
        missing_evidence: missing,
        ..Report::of(&plan.presets, journal.rows())
    };
    if let Some(file) = &what.report {
        let page = eval::page(&report, journal.rows());
        std::fs::write(file, page).map_err(|error| {
            Failure::new(
                format!("cannot write {} ({error})", file.display()),
                "check the path",
            )
        })?;
        out.remark(&format!("the page is {}", file.display()));
    }
    if out.json {
        out.json_pretty(&report)?;
    } else {
        out.text(&harmless(&eval::markdown(&report)))?;
    }
    Ok(Exit::Done)
}

/// Questions that are made when nobody says how many.
const QUESTIONS_MADE: usize = 50;

fn make(
    folder: &Path,
    limit: Option<usize>,
    layers: &Layers,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    check_folder(folder)?;
    let (interrupt, config) = (Interrupt::listen()?, layers.config()?);
    let documents = documents(&files(folder, &config)?);
    let mut worker = Worker::new(layers.clone(), paths.clone(), interrupt.stop_flag());
    let wanted = limit.unwrap_or(QUESTIONS_MADE);
    let mut tried = 0;
    let shown = RefCell::new(&mut *out);
    let made = worker.calls(
        &mut |record| {
            shown.borrow_mut().progress(&record.event);
            interrupt.flow()
        },
        |calls| {
            eval::make_questions(calls, &documents, wanted, config.seed, &mut |making| {
                tried = making.tried;
                let line = || {
                    format!(
                        "{} of {} questions kept, {} sentences tried",
                        making.kept, making.wanted, making.tried
                    )
                };
                shown.borrow_mut().progress_line(line);
                interrupt.flow()
            })
        },
    );
    out.clear_progress();
    let made = match made {
        Err(_) if interrupt.seen() => return Err(Stopped::Interrupted),
        made => made?,
    };
    if made.is_empty() && !interrupt.seen() {
        let error = format!(
            "the generator wrote no question that it could answer itself ({tried} sentences tried)"
        );
        return Err(Failure::new(error, "name a larger model with --model").into());
    }
    for question in &made {
        out.json_line(question)?;
    }
    out.remark(&format!("{} questions written", made.len()));
    if interrupt.seen() {
        Err(Stopped::Interrupted)
    } else {
        Ok(Exit::Done)
    }
}

fn usage(error: ConfigError) -> Stopped {
    Failure::from(error).into_usage().into()
}

/// The presets by name, each with the settings in force under it.
fn presets(names: Option<&str>, layers: &Layers) -> Result<Vec<(String, Layers)>, Stopped> {
    let own = layers.config()?.preset;
    let mut presets: Vec<(String, Layers)> = Vec::new();
    for name in names
        .unwrap_or(&own)
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        if !presets.iter().any(|(known, _)| known == name) {
            let layers = layers.with(&[("preset".to_owned(), name.to_owned())])?;
            layers.config().map_err(usage)?;
            presets.push((name.to_owned(), layers));
        }
    }
    if presets.is_empty() {
        return Err(Failure::usage(
            "no preset is named",
            "name some with --preset naive,closed-book",
        )
        .into());
    }
    Ok(presets)
}

/// The questions of the split, as many as wanted, spread evenly.
fn chosen(questions: Vec<Question>, what: &Evaluation) -> Result<Vec<Question>, Failure> {
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
    let all: Vec<Question> = questions.into_iter().filter(in_split).collect();
    let (count, limit) = (all.len(), what.limit.unwrap_or(usize::MAX));
    // files come sorted by kind, so the first ones would all be of one
    let is_drawn = |at: usize| limit >= count || (at + 1) * limit / count > at * limit / count;
    let chosen: Vec<Question> = all
        .into_iter()
        .enumerate()
        .filter(|(at, _)| is_drawn(*at))
        .map(|(_, question)| question)
        .collect();
    if chosen.is_empty() {
        let known = splits.join(", ");
        return Err(Failure::usage(
            "no question is left to ask",
            format!("the splits of this file are: {known}"),
        ));
    }
    Ok(chosen)
}

/// The files of the corpus.
fn files(folder: &Path, config: &Config) -> Result<Vec<FoundFile>, Stopped> {
    let walked = corpus::walk(folder, &config.corpus, &mut |_| Flow::Continue);
    Ok(walked?.files)
}

/// What can be read of them; what cannot, indexing tells.
fn documents(files: &[FoundFile]) -> Vec<Document> {
    files
        .iter()
        .filter_map(|file| corpus::read(file).ok())
        .collect()
}

/// A name for this evaluation: the same questions under the same settings, of the same documents, by the same models, prompts, probes
/// and program.
fn name(
    presets: &[(String, Layers)],
    questions: &[Question],
    files: &[FoundFile],
    paths: &Paths,
) -> Result<String, Stopped> {
    let mut hasher = blake3::Hasher::new();
    let mut parts: Vec<PathBuf> = std::env::current_exe().into_iter().collect();
    for folder in [
        paths.config.join("prompts"),
        paths.probes(),
        assets_folder().join("probes"),
    ] {
        parts.extend(
            std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path()),
        );
    }
    for (_, layers) in presets {
        let config = layers.config()?;
        hasher.update(
            serde_json::to_string(&config)
                .unwrap_or_default()
                .as_bytes(),
        );
        let models = [
            Some(config.generator.model.as_str()),
            Some(config.embedder.model.as_str()),
            config.linker.model.file(),
            config.reranker.model.file(),
            config.judge.model.file(),
        ];
        // a model that cannot be found is reported where it is loaded
        let found = models.into_iter().flatten();
        parts.extend(found.filter_map(|model| llm::resolve(model, paths).ok()));
    }
    parts.sort();
    parts.dedup();
    for part in parts {
        if let Ok(about) = part.metadata() {
            hasher.update(
                format!(
                    "{} {} {:?}",
                    part.display(),
                    about.len(),
                    about.modified().ok()
                )
                .as_bytes(),
            );
        }
    }
    for question in questions {
        hasher.update(format!("{question:?}").as_bytes());
    }
    for file in files {
        hasher.update(format!("{} {} {}", file.path, file.bytes, file.modified_ns).as_bytes());
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// Remarks on standard error: the first few, and how many there are.
fn tell(out: &mut Output, remarks: &[String], what: &str) {
    const SHOWN: usize = 5;
    for remark in remarks.iter().take(SHOWN) {
        out.remark(&format!("warning: {remark}"));
    }
    if remarks.len() > SHOWN {
        out.remark(&format!(
            "warning: {} more {what}; --json and --report list them all",
            remarks.len() - SHOWN
        ));
    }
}

/// Where questions are asked.
struct Setting<'a> {
    folder: &'a Path,
    paths: &'a Paths,
    interrupt: &'a Interrupt,
}

fn ask(
    plan: &Plan,
    presets: &[(String, Layers)],
    journal: &mut Journal<Row>,
    setting: &Setting<'_>,
    out: &mut Output,
) -> Result<Ended, Stopped> {
    let out = RefCell::new(out);
    let tell = |event: &Event| {
        let mut out = out.borrow_mut();
        if let Event::Session(SessionEvent::Warned { text, advice }) = event {
            out.warning(text, advice.as_deref());
        }
        out.progress(event);
        setting.interrupt.flow()
    };
    let mut open = |name: &str| -> Result<Box<dyn Answers + '_>, Stopped> {
        let layers = presets
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, layers)| layers.clone());
        let layers =
            layers.ok_or_else(|| Failure::new(format!("preset {name} is gone"), "start again"))?;
        Ok(Box::new(UnderPreset::open(layers, setting, &tell)?))
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

/// A worker whose settings are those of one preset.
struct UnderPreset {
    worker: Worker,
}

impl UnderPreset {
    fn open(
        layers: Layers,
        setting: &Setting<'_>,
        tell: &dyn Fn(&Event) -> Flow,
    ) -> Result<Self, Stopped> {
        let searches = layers.config()?.retriever.kind != RetrieverKind::Off;
        let mut worker = Worker::new(layers, setting.paths.clone(), setting.interrupt.stop_flag());
        if searches {
            let mut publish = |record: crate::event::Record| tell(&record.event);
            let stopped = |error: WorkerError| {
                if setting.interrupt.seen() {
                    Stopped::Interrupted
                } else {
                    error.into()
                }
            };
            worker
                .open(setting.folder, false, &mut publish)
                .map_err(stopped)?;
            match worker.update(&mut publish) {
                Ok(Some(_)) | Err(WorkerError::Index(IndexError::InUse { .. })) => {}
                Ok(None) => return Err(Stopped::Interrupted),
                Err(error) => return Err(stopped(error)),
            }
        }
        Ok(Self { worker })
    }
}

impl Answers for UnderPreset {
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem> {
        let references = toml::Value::from(question.answers.clone()).to_string();
        let overrides = [("utility.references".to_owned(), references)];
        let outcome = self
            .worker
            .ask(&question.question, &[], &overrides, &mut |record| {
                publish(&record.event)
            })?;
        match outcome {
            Outcome::Completed | Outcome::LimitReached | Outcome::Stopped => Ok(()),
            Outcome::Failed(problem) => Err(problem),
        }
    }
}
