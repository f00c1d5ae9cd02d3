//! Commands that work on a corpus: index, ask, and the demo without a screen.

use std::path::Path;

use crate::config::{Layers, Paths, RetrieverKind};
use crate::engine::{ProbeQuestion, Publish, TrainedProbe, Worker, WorkerError};
use crate::event::{Event, IndexReport, Outcome, harmless};
use crate::index::IndexError;
use crate::story::text::one_line;
use crate::story::words::{self, LOST};
use crate::story::{PassageTrace, Run, TraceRow};

use super::args::Arguments;
use super::failure::{Exit, Failure, Stopped};
use super::interrupt::Interrupt;
use super::observer::Observer;
use super::output::Output;
use super::text::RunText;

/// What a question is asked with.
pub struct Question<'a> {
    pub folder: &'a Path,
    pub text: &'a str,
    /// How the run is written without `--json`.
    pub shown: RunText,
}

/// A worker on this thread, and whoever watches it.
pub struct Work<'a> {
    pub(super) layers: Layers,
    pub(super) worker: Worker,
    pub(super) observer: Observer<'a>,
    interrupt: Interrupt,
}

impl<'a> Work<'a> {
    /// Nothing is loaded or opened yet; ctrl-c stops cleanly from now on.
    pub fn new(layers: Layers, paths: &Paths, out: &'a mut Output) -> Result<Self, Stopped> {
        let interrupt = Interrupt::listen()?;
        let sessions = layers.config()?.record.enabled.then(|| paths.sessions());
        Ok(Self {
            worker: Worker::new(layers.clone(), paths.clone(), interrupt.stop_flag()),
            observer: Observer::new(out, sessions.as_deref(), interrupt.clone()),
            layers,
            interrupt,
        })
    }

    /// Bring the index of a folder up to date and say what was done.
    pub fn index(mut self, folder: &Path, rebuild: bool) -> Result<Exit, Stopped> {
        check_folder(folder)?;
        self.run(|worker, publish| worker.open(folder, rebuild, publish))?;
        let report = self.run(Worker::update)?.ok_or(Stopped::Interrupted)?;
        if !self.observer.out.json {
            self.observer
                .out
                .text(&harmless(&summary(folder, &report)))?;
        }
        Ok(Exit::Done)
    }

    /// Answer one question, over an index that is brought up to date first.
    pub fn ask(mut self, question: Question<'_>) -> Result<Exit, Stopped> {
        if question.text.trim().is_empty() {
            return Err(
                Failure::usage("the question is empty", "type what you want to know").into(),
            );
        }
        check_folder(question.folder)?;
        self.run(|worker, publish| worker.check_question(question.text, publish))?;
        if self.layers.config()?.retriever.kind != RetrieverKind::Off {
            self.prepare(question.folder)?;
        }
        self.observer.show_as(question.shown);
        let outcome = self.run(|worker, publish| worker.ask(question.text, &[], &[], publish))?;
        self.observer.tell_recording()?;
        match outcome {
            Outcome::Completed | Outcome::LimitReached => Ok(Exit::Done),
            Outcome::Stopped => Ok(Exit::Interrupted),
            // the last record said it already
            Outcome::Failed { .. } if self.observer.out.json => Ok(Exit::Failed),
            Outcome::Failed(problem) => Err(problem.into()),
        }
    }

    /// Train a probe on questions about a folder.
    pub fn train_probe(
        mut self,
        folder: &Path,
        questions: Vec<ProbeQuestion>,
        file: Option<&Path>,
    ) -> Result<TrainedProbe, Stopped> {
        self.prepare(folder)?;
        self.run(|worker, publish| worker.train_probe(questions, file, publish))
    }

    /// Ask a question and follow the chunks that hold a phrase.
    pub fn explain(mut self, folder: &Path, question: &str, phrase: &str) -> Result<Exit, Stopped> {
        if phrase.trim().is_empty() {
            return Err(Failure::usage(
                "the text to expect is empty",
                "give words of the passage that you miss",
            )
            .into());
        }
        check_folder(folder)?;
        self.observer.be_silent();
        self.run(|worker, publish| worker.check_question(question, publish))?;
        self.prepare(folder)?;
        let mut run = Run::default();
        self.run(|worker, publish| {
            worker.ask(question, &[], &[], &mut |record| {
                if let Event::Run(event) = &record.event {
                    run.apply(event, record.t_us);
                }
                publish(record)
            })
        })?;
        let queries = PassageTrace::queries(&run);
        let lookups =
            self.run(|worker, publish| worker.trace_passage(phrase, &queries, &[], publish))?;
        let trace = PassageTrace::new(&run, phrase, &lookups);

        if self.observer.out.json {
            self.observer.out.json_line(&trace)?;
        } else {
            self.observer.out.text(&trace_text(&run, &trace, folder))?;
        }
        Ok(Exit::Done)
    }

    /// Open the folder and bring its index up to date, as far as this process may write it.
    pub(super) fn prepare(&mut self, folder: &Path) -> Result<(), Stopped> {
        self.run(|worker, publish| worker.open(folder, false, publish))?;
        let updated = self.run(|worker, publish| match worker.update(publish) {
            Err(WorkerError::Index(IndexError::InUse { .. })) => Ok(None),
            other => other.map(Some),
        })?;
        match updated {
            None => self
                .observer
                .out
                .remark("another ragscope writes this index; answering from what is there"),
            Some(None) => return Err(Stopped::Interrupted),
            Some(Some(report)) => self.tell_skipped(folder, &report),
        }
        if self.observer.documents() == 0 {
            let error = format!("no document that can be read in {}", folder.display());
            return Err(Failure::new(
                error,
                "add text, Markdown or HTML files, or ask with --preset closed-book",
            )
            .into());
        }
        Ok(())
    }

    fn tell_skipped(&mut self, folder: &Path, report: &IndexReport) {
        let skipped = report.skipped.len();
        if skipped > 0 {
            let (files, folder) = (
                if skipped == 1 {
                    "file was"
                } else {
                    "files were"
                },
                folder.display(),
            );
            self.observer.out.remark(&format!(
                "{skipped} {files} skipped; `ragscope index {folder}` says why"
            ));
        }
    }

    /// Let the worker do something while the observer watches.
    pub(super) fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Worker, Publish<'_>) -> Result<T, WorkerError>,
    ) -> Result<T, Stopped> {
        let observer = &mut self.observer;
        let result = work(&mut self.worker, &mut |record| observer.observe(&record));
        observer.finish()?;
        match result {
            Ok(value) => Ok(value),
            Err(_) if self.interrupt.seen() => Err(Stopped::Interrupted),
            Err(error) => Err(error.into()),
        }
    }
}

/// A command that the name of a missing folder looks like; nothing below this likeness is offered.
const LIKENESS: f64 = 0.8;

/// Is there such a folder? Asked before any model is loaded and before the screen opens.
///
/// # Errors
/// What is there instead, and the command that was perhaps meant.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    match folder.metadata() {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(
            format!("{shown} is a file"),
            "name the folder that it is in",
        )),
        Err(error) => Err(Failure::new(
            format!("cannot open the folder {shown} ({error})"),
            advice(folder),
        )),
    }
}

fn advice(missing: &Path) -> String {
    let name = missing.to_string_lossy();
    let alike = |command: &clap::Command| strsim::jaro_winkler(command.get_name(), &name);
    let declaration = Arguments::declaration();
    match declaration
        .get_subcommands()
        .max_by(|a, b| alike(a).total_cmp(&alike(b)))
    {
        Some(command) if alike(command) > LIKENESS => {
            format!(
                "check the path, or did you mean the command `{}`?",
                command.get_name()
            )
        }
        Some(_) | None => "check the path".to_owned(),
    }
}

/// The trace of a passage for a terminal.
fn trace_text(run: &Run, trace: &PassageTrace<'_>, folder: &Path) -> String {
    let mut text = String::new();
    if let Some(rewritten) = &run.rewritten {
        let used = if rewritten.used { "" } else { " (not used)" };
        text.push_str(&format!("rewritten: {}{used}\n", rewritten.text));
    }

    let rows = trace.rows();
    if rows.is_empty() {
        text.push_str(&format!(
            "nothing was retrieved: preset {} answers without documents\n",
            run.preset
        ));
    }
    for row in rows {
        match row {
            TraceRow::Query {
                step: 0,
                text: query,
            } => text.push_str(&format!("query: {query}\n")),
            TraceRow::Query { step, text: query } => {
                text.push_str(&format!("sentence {step}: query: {query}\n"));
            }
            TraceRow::Missing(says) => text.push_str(&format!(
                "  {LOST} {says} `ragscope index {}` lists the files that were skipped.\n",
                folder.display()
            )),
            TraceRow::Chunk(location) => text.push_str(&format!("  {location}\n")),
            TraceRow::Fact {
                name,
                text: fact,
                is_loss,
            } => {
                let sign = if is_loss { LOST } else { " " };
                text.push_str(&format!("  {sign} {name:<11} {fact}\n"));
            }
        }
    }
    harmless(&text).into_owned()
}

fn summary(folder: &Path, report: &IndexReport) -> String {
    let mut text = format!(
        "{}: {} documents, {} chunks in {}\n{} added, {} changed, {} removed, {} unchanged; {} chunks embedded, {} known\n",
        folder.display(),
        report.corpus.documents,
        report.corpus.chunks,
        words::duration(report.wall_ms),
        report.added,
        report.changed,
        report.removed,
        report.unchanged,
        report.embedded,
        report.reused,
    );
    if !report.skipped.is_empty() {
        text.push_str(&format!("{} skipped:\n", report.skipped.len()));
    }
    for file in &report.skipped {
        text.push_str(&format!("  {}: {}\n", one_line(&file.path), file.reason));
    }
    text
}
