//! A worker on this thread, for the commands that work on a corpus.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Layers, Paths};
use crate::engine::{Publish, RunError, Updated, Worker};
use crate::event::{Advice as _, Ask, Event, Outcome, RunEvent, SessionEvent, harmless};
use crate::index::IndexError;
use crate::story::{Run, words};

use super::failure::Stopped;
use super::folders::{check_asked, join_names};
use super::interrupt::Interrupt;
use super::observer::Observer;
use super::output::Output;

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

    /// Updates the index after a change of its folder. A folder that cannot be read for now (a
    /// drive that went away) is reported; the next change is tried again.
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

    /// Opens the folders and updates their indexes, unless another process is writing them.
    pub(super) fn prepare(&mut self, folders: &[PathBuf]) -> Result<(), Stopped> {
        self.prepare_within(folders, None)
    }

    /// Prepares the folders of a question that is asked to be looked into: its run is not shown.
    pub(super) fn prepare_silently(
        &mut self,
        folders: &[PathBuf],
        question: &str,
    ) -> Result<(), Stopped> {
        check_asked(folders, question)?;
        self.observer.be_silent();
        self.run(|worker, publish| worker.check_question(question, publish))?;
        self.prepare(folders)
    }

    /// Prepares the folders as [`Self::prepare`] does. With `patience`, the vectors of new folders
    /// may be missing in the end.
    pub(super) fn prepare_within(
        &mut self,
        folders: &[PathBuf],
        patience: Option<Duration>,
    ) -> Result<(), Stopped> {
        self.run(|worker, publish| worker.open(folders, false, publish))?;

        let updated = self.run(|worker, publish| {
            let finished = |report| Updated::Finished(Box::new(report));
            let updated = match patience {
                Some(patience) => worker.update_within(patience, publish),
                None => worker
                    .update(publish)
                    .map(|report| report.map_or(Updated::Interrupted, finished)),
            };
            match updated {
                Err(RunError::Index(error)) if error.leaves_index() => Ok(Err(error)),
                other => other.map(Ok),
            }
        })?;

        self.report_update(updated, folders)
    }

    /// Reports what an update leaves to be said, or why the last finished index has to do.
    ///
    /// # Errors
    /// Nothing to search.
    fn report_update(
        &mut self,
        updated: Result<Updated, IndexError>,
        folders: &[PathBuf],
    ) -> Result<(), Stopped> {
        let folders = join_names(folders);
        let has_documents = self.observer.documents() > 0;

        match updated {
            Err(IndexError::InUse { .. }) if !has_documents => {
                return Err(Stopped::failure(
                    format!("another ragscope is making the first index of {folders}"),
                    "ask again when it is done",
                ));
            }
            Err(IndexError::InUse { .. }) => self.observer.out.remark(
                "another ragscope has this index open; answering from its last complete state",
            ),
            Err(error) if !has_documents => return Err(RunError::Index(error).into()),
            Err(error) => {
                let text = format!("{error}; answering from the last finished index");
                self.observer.out.warning(&text, error.advice());
            }
            Ok(Updated::Interrupted) => return Err(Stopped::Interrupted),
            Ok(Updated::Finished(report)) => {
                let (skipped, omitted) = (&report.skipped, &report.omitted);
                let left_out =
                    words::files_not_read(skipped, omitted, &report.corpus.arguments());
                match left_out {
                    Some(left_out) if !has_documents && !omitted.is_empty() => {
                        return Err(Stopped::failure(
                            format!("no readable document in {folders}; {left_out}"),
                            "add files that `ragscope formats` lists, or set what reads these",
                        ));
                    }
                    Some(left_out) => self.observer.out.remark(&left_out),
                    None => {}
                }
            }
            Ok(Updated::WordsOnly) => self.observer.out.remark(&format!(
                "answering from the words alone: the vectors take longer; `ragscope index {folders}` computes them, and --set index.first_answer=vectors waits for them"
            )),
        }

        if has_documents {
            return Ok(());
        }

        Err(Stopped::failure(
            format!("no readable document in {folders}"),
            "add files that `ragscope formats` lists, or ask with --preset closed-book",
        ))
    }

    /// Runs a task of the worker while the observer receives its records.
    pub(super) fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Worker, Publish<'_>) -> Result<T, RunError>,
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
