//! Commands that work on a corpus: index, ask, and the demo without a screen.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::config::{FirstAnswer, Layers, Paths, RetrieverKind, Watch};
use crate::corpus::Watcher;
use crate::engine::{
    Calibration, ProbeQuestion, Publish, TrainedProbe, Updated, Worker, WorkerError,
};
use crate::event::{
    Advice as _, Ask, Event, IndexReport, Outcome, RunEvent, SessionEvent, Thread, harmless,
};
use crate::index::{IndexError, is_address};
use crate::story::text::one_line;
use crate::story::words::{self, LOST};
use crate::story::{PassageTrace, Run, TraceRow};

use super::args::Arguments;
use super::failure::{Exit, Failure, Stopped};
use super::interrupt::Interrupt;
use super::observer::Observer;
use super::output::Output;
use super::text::RunText;
use super::threads::NamedThread;

/// Time between two looks at ctrl-c while a folder is watched.
const INTERRUPT_EVERY: Duration = Duration::from_millis(100);

/// Time that a question at a terminal waits for the vectors of a new folder.
const PATIENCE: Duration = Duration::from_secs(2);

/// A question for `ask`.
pub struct Question<'a> {
    pub folders: &'a [PathBuf],
    pub text: &'a str,
    /// The thread that it continues or begins, where one is named.
    pub thread: Option<NamedThread>,
    /// Prints the run when there is no `--json`.
    pub shown: RunText,
}

/// A worker on this thread, and the observer of its records.
pub struct Work<'a> {
    pub(super) layers: Layers,
    pub(super) worker: Worker,
    pub(super) observer: Observer<'a>,
    pub(super) interrupt: Interrupt,
}

impl<'a> Work<'a> {
    /// Prepares a worker that has loaded and opened nothing yet; ctrl-c stops cleanly from now on.
    pub fn new(layers: Layers, paths: &Paths, out: &'a mut Output) -> Result<Self, Stopped> {
        let interrupt = Interrupt::listen()?;
        let config = layers.config()?;
        let sessions = config.record.enabled.then(|| paths.sessions());
        let observer = Observer::new(out, sessions.as_deref(), interrupt.clone());
        Ok(Self {
            worker: Worker::new(layers.clone(), paths.clone(), interrupt.stop_flag()),
            observer,
            layers,
            interrupt,
        })
    }

    /// Updates the indexes of these folders and prints a summary.
    pub fn index(mut self, folders: &[PathBuf], rebuild: bool) -> Result<Exit, Stopped> {
        self.index_once(folders, rebuild)?;
        Ok(Exit::Done)
    }

    /// Updates the indexes of these folders whenever one changes, until ctrl-c, and prints a line for
    /// each change.
    pub fn watch(mut self, folders: &[PathBuf], rebuild: bool) -> Result<Exit, Stopped> {
        let watch = match self.layers.config()?.corpus.watch {
            Watch::Off => Watch::Auto,
            chosen => chosen,
        };
        let (sender, changes) = channel();
        // started first: a change while a folder is being indexed is not lost
        let mut watchers = Vec::new();
        for folder in folders.iter().filter(|folder| !is_address(folder)) {
            let sender = sender.clone();
            watchers.extend(Watcher::start(folder, watch, move || {
                sender.send(()).is_ok()
            })?);
        }
        self.index_once(folders, rebuild)?;
        for problem in watchers
            .iter()
            .filter_map(|watcher| watcher.fallback.as_ref())
        {
            self.observer.out.remark(&problem.to_string());
        }

        while !self.interrupt.is_seen() {
            match changes.recv_timeout(INTERRUPT_EVERY) {
                Ok(()) => self.follow_change()?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(Exit::Interrupted)
    }

    /// Updates the index after a change of its folder. A folder that cannot be read for now (a drive
    /// that went away) is reported; the next change is tried again.
    pub(super) fn follow_change(&mut self) -> Result<(), Stopped> {
        let mut report = None;
        let followed = self.run(|worker, publish| {
            worker.refresh(&mut |record| {
                if let Event::Session(SessionEvent::IndexFinished { report: new }) = &record.event {
                    report = Some(new.clone());
                }
                publish(record)
            })
        });
        match followed {
            Ok(_) => {}
            Err(Stopped::Failure(failure)) => {
                self.observer.out.remark(&failure.problem.to_string());
            }
            Err(stopped @ (Stopped::Interrupted | Stopped::OutputClosed)) => return Err(stopped),
        }

        let change = report.as_ref().and_then(words::index_change);
        if let Some(change) = change.filter(|_| !self.observer.out.json) {
            self.observer.out.text(&harmless(&format!("{change}\n")))?;
        }
        Ok(())
    }

    fn index_once(&mut self, folders: &[PathBuf], rebuild: bool) -> Result<(), Stopped> {
        check_folders(folders)?;
        self.run(|worker, publish| worker.open(folders, rebuild, publish))?;
        let report = self.run(Worker::update)?.ok_or(Stopped::Interrupted)?;
        if !self.observer.out.json {
            self.observer.out.text(&harmless(&summary(&report)))?;
        }
        Ok(())
    }

    /// Updates the index, then answers one question.
    pub fn ask(mut self, question: Question<'_>) -> Result<Exit, Stopped> {
        if question.text.trim().is_empty() {
            return Err(Failure::usage(
                "the question is empty",
                "pass it in quotes after the folder",
            )
            .into());
        }
        check_asked(question.folders, question.text)?;
        self.run(|worker, publish| worker.check_question(question.text, publish))?;
        let config = self.layers.config()?;
        if config.retriever.kind != RetrieverKind::Off {
            let patience = match config.index.first_answer {
                FirstAnswer::Words => Some(Duration::ZERO),
                FirstAnswer::Auto => Some(PATIENCE).filter(|_| self.observer.out.is_terminal()),
                FirstAnswer::Vectors => None,
            };
            self.prepare_within(question.folders, patience)?;
        }
        self.observer.show_as(question.shown);
        let outcome = self.ask_in_thread(question.text, question.thread.as_ref())?;
        self.observer.show_recording()?;
        match outcome {
            Outcome::Completed | Outcome::LimitReached => Ok(Exit::Done),
            Outcome::Stopped => Ok(Exit::Interrupted),
            // the last record holds the error
            Outcome::Failed { .. } if self.observer.out.json => Ok(Exit::Failed),
            Outcome::Failed(problem) => Err(problem.into()),
        }
    }

    /// Asks a question that continues or begins a thread.
    fn ask_in_thread(
        &mut self,
        question: &str,
        thread: Option<&NamedThread>,
    ) -> Result<Outcome, Stopped> {
        let asked = Ask {
            thread: thread.map_or_else(Thread::default, |thread| thread.continued.clone()),
            ..Ask::new(question)
        };
        let new = thread.filter(|thread| thread.continued.id.is_none());
        let mut named = Ok(());
        let outcome = self.run(|worker, publish| {
            worker.ask(&asked, &mut |record| {
                if let Event::Run(RunEvent::RunStarted { .. }) = &record.event {
                    named = new.map_or(Ok(()), |thread| thread.begin(&record.run));
                }
                publish(record)
            })
        });
        if let Err(error) = named {
            let text = format!("the thread has no name: {error}");
            self.observer.out.warning(&text, error.advice().as_deref());
        }
        outcome
    }

    /// Asks a question and returns everything that happened to it.
    pub(super) fn ask_and_follow(&mut self, asked: &Ask) -> Result<(Outcome, Run), Stopped> {
        let mut run = Run::default();
        let outcome = self.run(|worker, publish| {
            worker.ask(asked, &mut |record| {
                if let Event::Run(event) = &record.event {
                    if matches!(event, RunEvent::RunStarted { .. }) {
                        run = Run::new(&record.run);
                    }
                    run.apply(event, record.t_us);
                }
                publish(record)
            })
        })?;
        Ok((outcome, run))
    }

    /// Trains a probe on questions about these folders.
    pub fn train_probe(
        mut self,
        folders: &[PathBuf],
        questions: Vec<ProbeQuestion>,
        file: Option<&Path>,
    ) -> Result<TrainedProbe, Stopped> {
        self.prepare(folders)?;
        self.run(|worker, publish| worker.train_probe(questions, file, publish))
    }

    /// Sets the thresholds of the gate for the generator by its own sentences.
    pub fn calibrate(
        mut self,
        folders: &[PathBuf],
        questions: Vec<ProbeQuestion>,
    ) -> Result<Calibration, Stopped> {
        self.prepare(folders)?;
        self.run(|worker, publish| worker.calibrate(questions, publish))
    }

    /// Asks a question and traces the chunks that contain a phrase.
    pub fn explain(
        mut self,
        folders: &[PathBuf],
        question: &str,
        phrase: &str,
    ) -> Result<Exit, Stopped> {
        if phrase.trim().is_empty() {
            return Err(Failure::usage(
                "the expected text is empty",
                "pass a few words of the missing passage with --expect",
            )
            .into());
        }
        check_asked(folders, question)?;
        self.observer.be_silent();
        self.run(|worker, publish| worker.check_question(question, publish))?;
        self.prepare(folders)?;
        let (_, run) = self.ask_and_follow(&Ask::new(question))?;
        let queries = PassageTrace::queries(&run);
        let lookups =
            self.run(|worker, publish| worker.trace_passage(phrase, &queries, &[], publish))?;
        let trace = PassageTrace::new(&run, phrase, &lookups);

        if self.observer.out.json {
            self.observer.out.json_line(&trace)?;
        } else {
            self.observer
                .out
                .text(&trace_text(&run, &trace, &joined(folders)))?;
        }
        Ok(if trace.is_found() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    /// Opens the folders and updates their indexes, unless another process is writing them.
    pub(super) fn prepare(&mut self, folders: &[PathBuf]) -> Result<(), Stopped> {
        self.prepare_within(folders, None)
    }

    /// Prepares the folders as [`Self::prepare`] does. With `patience`, the vectors of new folders may be missing
    /// in the end.
    fn prepare_within(
        &mut self,
        folders: &[PathBuf],
        patience: Option<Duration>,
    ) -> Result<(), Stopped> {
        self.run(|worker, publish| worker.open(folders, false, publish))?;
        let updated = self.run(|worker, publish| {
            let updated = match patience {
                Some(patience) => worker.update_within(patience, publish),
                None => worker.update(publish).map(|report| match report {
                    Some(report) => Updated::Finished(Box::new(report)),
                    None => Updated::Interrupted,
                }),
            };
            match updated {
                Err(WorkerError::Index(IndexError::InUse { .. })) => Ok(None),
                other => other.map(Some),
            }
        })?;
        let is_in_use = updated.is_none();
        match updated {
            None if self.observer.documents() == 0 => {
                return Err(Failure::new(
                    format!(
                        "another ragscope is making the first index of {}",
                        joined(folders)
                    ),
                    "ask again when it is done",
                )
                .into());
            }
            None => self.observer.out.remark(
                "another ragscope has this index open; answering from its last complete state",
            ),
            Some(Updated::Interrupted) => return Err(Stopped::Interrupted),
            Some(Updated::Finished(report)) => self.report_skipped(&report),
            Some(Updated::WordsOnly) => self.observer.out.remark(&format!(
                "answering from the words alone: the vectors take longer; `ragscope index {}` computes them, and --set index.first_answer=vectors waits for them",
                joined(folders)
            )),
        }
        if self.observer.documents() == 0 && is_in_use {
            return Err(Failure::new(
                format!(
                    "another ragscope is indexing {} for the first time",
                    joined(folders)
                ),
                "wait for it, and run the command again",
            )
            .into());
        }
        if self.observer.documents() == 0 {
            let error = format!("no readable document in {}", joined(folders));
            return Err(Failure::new(
                error,
                "add files that `ragscope formats` lists, or ask with --preset closed-book",
            )
            .into());
        }
        Ok(())
    }

    fn report_skipped(&mut self, report: &IndexReport) {
        let skipped = report.skipped.len();
        if skipped > 0 {
            let files = words::counted(skipped as u64, "file");
            self.observer.out.remark(&format!(
                "skipped {files}; `ragscope index {}` lists the reasons",
                report.corpus.arguments()
            ));
        }
    }

    /// Runs a task of the worker while the observer receives its records.
    pub(super) fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Worker, Publish<'_>) -> Result<T, WorkerError>,
    ) -> Result<T, Stopped> {
        let observer = &mut self.observer;
        let result = work(&mut self.worker, &mut |record| observer.observe(&record));
        observer.finish()?;
        match result {
            Ok(value) => Ok(value),
            Err(_) if self.interrupt.is_seen() => Err(Stopped::Interrupted),
            Err(error) => Err(error.into()),
        }
    }
}

/// Minimum similarity (Jaro-Winkler) of a missing folder's name to a command for the command to be
/// suggested.
const MIN_SIMILARITY: f64 = 0.8;

/// Checks that a folder can be opened, before any model is loaded and before the screen opens.
///
/// # Errors
/// When it is missing or a file; the advice names a command with a similar name.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    if is_address(folder) {
        return Ok(());
    }
    let shown = folder.display();
    match folder.metadata() {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(
            format!("{shown} is a file"),
            "pass the folder that contains it",
        )),
        Err(error) => Err(Failure::new(
            format!("cannot open the folder {shown} ({error})"),
            advice(folder),
        )),
    }
}

/// Checks that each of these folders can be opened.
///
/// # Errors
/// As [`check_folder`], for the first that fails.
pub fn check_folders(folders: &[PathBuf]) -> Result<(), Failure> {
    folders.iter().try_for_each(|folder| check_folder(folder))
}

/// Checks the folders of a question, and that the question is not one more folder. The words of a
/// question without quotes are read as folders.
pub(super) fn check_asked(folders: &[PathBuf], question: &str) -> Result<(), Failure> {
    if Path::new(question).is_dir() {
        return Err(Failure::usage(
            format!("{question} is a folder, and the question comes last"),
            "pass your question in quotes after the folders",
        ));
    }

    for (at, folder) in folders.iter().enumerate() {
        if at > 0 && !folder.exists() && !is_address(folder) {
            return Err(Failure::new(
                format!(
                    "cannot open the folder {} (it does not exist)",
                    folder.display()
                ),
                "check the path, or put the question in quotes if this is a word of it",
            ));
        }
        check_folder(folder)?;
    }
    Ok(())
}

/// Returns the folders as they are named on the command line.
pub(super) fn joined(folders: &[PathBuf]) -> String {
    let names = folders.iter().map(|folder| folder.display().to_string());
    names.collect::<Vec<_>>().join(" ")
}

fn advice(missing: &Path) -> String {
    let name = missing.to_string_lossy();
    let similarity = |command: &clap::Command| strsim::jaro_winkler(command.get_name(), &name);
    let declaration = Arguments::declaration();
    match declaration
        .get_subcommands()
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))
    {
        Some(command) if similarity(command) > MIN_SIMILARITY => {
            format!(
                "check the path, or did you mean the command `{}`?",
                command.get_name()
            )
        }
        Some(_) | None => "check the path".to_owned(),
    }
}

/// Returns the trace of a passage as text.
fn trace_text(run: &Run, trace: &PassageTrace<'_>, folders: &str) -> String {
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
                "  {LOST} {says} `ragscope index {folders}` lists the files that were skipped.\n"
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

fn summary(report: &IndexReport) -> String {
    let mut text = format!(
        "{}: {}, {} in {}\n{} added, {} changed, {} removed, {} unchanged; {} embedded, {} reused\n",
        report.corpus.folder,
        words::counted(report.corpus.documents, "document"),
        words::counted(report.corpus.chunks, "chunk"),
        words::duration(report.wall_ms),
        report.added,
        report.changed,
        report.removed,
        report.unchanged,
        words::counted(report.embedded, "chunk"),
        report.reused,
    );
    if let Some(neighbours) = report.neighbours {
        text.push_str(&format!("{}\n", words::joined(neighbours)));
    }
    if !report.skipped.is_empty() {
        text.push_str(&format!("{} skipped:\n", report.skipped.len()));
    }
    for file in &report.skipped {
        text.push_str(&format!("  {}: {}\n", one_line(&file.path), file.reason));
    }
    if !report.noted.is_empty() {
        text.push_str(&format!("{} read with a remark:\n", report.noted.len()));
    }
    for file in &report.noted {
        text.push_str(&format!("  {}: {}\n", one_line(&file.path), file.note));
    }
    text
}
