//! The observer of a worker on the command line: writes records or text, records runs, and returns
//! ctrl-c to the worker.

use std::io;
use std::path::{Path, PathBuf};

use crate::event::{Event, Flow, Record, RunEvent, SessionEvent, harmless};
use crate::trace::Recorder;

use super::failure::Stopped;
use super::interrupt::Interrupt;
use super::output::Output;
use super::text::RunText;

/// The text of a warning, and advice.
type Warning = (String, Option<String>);

/// The observer of one command.
pub struct Observer<'a> {
    pub out: &'a mut Output,
    recorder: Option<Recorder>,
    recorded: Option<PathBuf>,
    interrupt: Interrupt,
    text: RunText,
    documents: u64,
    /// The warnings of the session: a run repeats those about its models, for its record.
    warned: Vec<Warning>,
    /// True once the last record of `--json` was written.
    finished: bool,
    broken: Option<io::Error>,
    /// True when the command itself writes its result.
    silent: bool,
}

impl<'a> Observer<'a> {
    /// Creates an observer; it records runs when a sessions folder is given.
    pub fn new(out: &'a mut Output, sessions: Option<&Path>, interrupt: Interrupt) -> Self {
        Self {
            out,
            recorder: sessions.map(Recorder::new),
            recorded: None,
            interrupt,
            text: RunText::default(),
            documents: 0,
            warned: Vec::new(),
            finished: false,
            broken: None,
            silent: false,
        }
    }

    /// Sets the printer of the next run.
    pub fn show_as(&mut self, text: RunText) {
        self.text = text;
    }

    /// Shows only warnings and progress from now on.
    pub fn be_silent(&mut self) {
        self.silent = true;
    }

    /// Records no run from now on.
    pub fn stop_recording(&mut self) {
        self.recorder = None;
    }

    /// Returns the number of documents in the open corpus.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Handles one record.
    pub fn observe(&mut self, record: &Record) -> Flow {
        self.record(record);
        if let Event::Session(SessionEvent::CorpusOpened { corpus }) = &record.event {
            self.documents = corpus.documents;
        }
        if self.broken.is_none() {
            self.broken = self.write(record).err();
        }
        Flow::stop_if(self.broken.is_some() || self.interrupt.is_seen())
    }

    /// Clears the progress line after a task, and returns the error of an output that was closed.
    pub fn finish(&mut self) -> Result<(), Stopped> {
        self.out.clear_progress();
        self.broken.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Prints the command that replays the recorded run.
    pub fn show_recording(&mut self) -> io::Result<()> {
        match self.recorded.take() {
            Some(file) if !self.out.json => self.out.dim(&harmless(&format!(
                "replay it: ragscope replay {}\n",
                file.display()
            ))),
            Some(_) | None => Ok(()),
        }
    }

    fn record(&mut self, record: &Record) {
        let Some(recorder) = self.recorder.as_mut() else {
            return;
        };
        if let Err(error) = recorder.write(record) {
            let text = format!("this run is not recorded: {error}");
            self.out.warning(&text, error.advice.as_deref());
            self.recorded = None;
        } else if let Some(file) = recorder.file() {
            self.recorded = Some(file.to_owned());
        }
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        if self.out.json && !self.silent {
            if self.finished {
                return Ok(());
            }
            self.finished = matches!(record.event, Event::Run(RunEvent::RunFinished { .. }));
            return self.out.json_line(record);
        }

        match &record.event {
            Event::Session(SessionEvent::Warned { text, advice }) => {
                self.out.warning(text, advice.as_deref());
                self.warned.push((text.clone(), advice.clone()));
            }
            Event::Run(RunEvent::Warned { text, advice }) => {
                let is_known = |known: &Warning| (&known.0, &known.1) == (text, advice);
                if !self.warned.iter().any(is_known) {
                    self.out.warning(text, advice.as_deref());
                }
            }
            _ => {}
        }

        self.out.progress(&record.event);
        if self.silent {
            Ok(())
        } else {
            self.text.show(record, self.out)
        }
    }
}
