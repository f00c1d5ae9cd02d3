//! The way of a record to the front end and, when it belongs to a run, to the recorder.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::event::{
    Event, Operation, Outcome, Problem, Record, RunEvent, RunUsage, SESSION, SessionEvent,
    elapsed_us, lock,
};
use crate::trace::Recorder;

/// Takes records to the screen.
pub type Sink = Box<dyn FnMut(Record) + Send>;

pub(super) fn failure(operation: Operation, problem: Problem) -> SessionEvent {
    SessionEvent::OperationFailed { operation, problem }
}

/// Passes records to the recorder and to the screen. Session records come from two threads and are
/// numbered here.
#[derive(Clone)]
pub(super) struct Tee(Arc<Mutex<Ends>>);

struct Ends {
    recorder: Option<Recorder>,
    sink: Sink,
    started: Instant,
    next_session_seq: u64,
    open: Option<UnfinishedRun>,
}

/// A run that has not finished, with the data that ending it requires.
struct UnfinishedRun {
    /// The last record of the run.
    run: String,
    seq: u64,
    t_us: u64,
    text: String,
}

impl Tee {
    pub fn new(recorder: Option<Recorder>, sink: Sink) -> Self {
        Self(Arc::new(Mutex::new(Ends {
            recorder,
            sink,
            started: Instant::now(),
            next_session_seq: 0,
            open: None,
        })))
    }

    /// Passes on a record of the engine.
    pub fn publish(&self, record: Record) {
        let mut ends = lock(&self.0);
        ends.follow(&record);

        let written = ends
            .recorder
            .as_mut()
            .map_or(Ok(()), |recorder| recorder.write(&record));

        if let Err(error) = written {
            ends.emit(SessionEvent::Warned {
                text: format!("this run is not recorded: {error}"),
                advice: error.advice,
            });
        }

        ends.pass(record);
    }

    /// Ends the open run as failed, because the engine has ended, and reports it.
    pub fn fail(&self, error: &str) {
        let problem = Problem::new(
            error,
            "ask again: the engine starts again with the next command; `ragscope paths` shows where its log is",
        );

        let open = lock(&self.0).open.take();
        if let Some(open) = open {
            let event = RunEvent::RunFinished {
                outcome: Outcome::Failed(problem.clone()),
                text: open.text.trim().to_owned(),
                answer: String::new(),
                citations: Vec::new(),
                usage: RunUsage::default(),
            };
            self.publish(Record {
                seq: open.seq + 1,
                t_us: open.t_us,
                run: open.run,
                event: event.into(),
            });
        }

        self.emit(failure(Operation::Engine, problem));
    }

    /// Emits an event of the session.
    pub fn emit(&self, event: SessionEvent) {
        lock(&self.0).emit(event);
    }

    /// Passes on a recorded run unchanged, all at once, without recording it again.
    pub fn show(&self, records: Vec<Record>) {
        let mut ends = lock(&self.0);
        for record in records {
            (ends.sink)(record);
        }
    }
}

impl Ends {
    /// Keeps track of the open run.
    fn follow(&mut self, record: &Record) {
        let Event::Run(event) = &record.event else {
            return;
        };

        match event {
            RunEvent::RunFinished { .. } => self.open = None,
            RunEvent::RunStarted { .. } => {
                self.open = Some(UnfinishedRun {
                    run: record.run.clone(),
                    seq: 0,
                    t_us: 0,
                    text: String::new(),
                });
            }
            _ => {}
        }

        if let Some(open) = &mut self.open {
            open.seq = record.seq;
            open.t_us = record.t_us;
            if let RunEvent::TokenGenerated { text, .. } = event {
                open.text.push_str(text);
            }
        }
    }

    fn emit(&mut self, event: SessionEvent) {
        self.pass(Record {
            seq: 0,
            t_us: 0,
            run: SESSION.to_owned(),
            event: event.into(),
        });
    }

    fn pass(&mut self, mut record: Record) {
        if record.run == SESSION {
            record.seq = self.next_session_seq;
            record.t_us = elapsed_us(self.started);
            self.next_session_seq += 1;
        }
        (self.sink)(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    use crate::event::FORMAT;
    use crate::trace::read_run;

    #[test]
    fn the_end_of_the_engine_ends_the_open_run_and_is_reported() {
        let home = tempfile::tempdir().expect("a folder");
        let (sender, records) = channel();
        let sink = Box::new(move |record| sender.send(record).expect("the test listens"));
        let tee = Tee::new(Some(Recorder::new(home.path())), sink);
        let record = |seq, event: RunEvent| Record {
            seq,
            t_us: seq,
            run: "r".to_owned(),
            event: event.into(),
        };
        let started = RunEvent::RunStarted {
            format: FORMAT,
            program: String::new(),
            question: "Where?".to_owned(),
            preset: String::new(),
            settings: serde_json::Value::Null,
            models: Vec::new(),
            corpus: None,
            seed: 1,
            started_at: 1,
            confirmed: Vec::new(),
            thread: None,
        };
        tee.publish(record(0, started));
        tee.publish(record(
            1,
            RunEvent::TokenGenerated {
                step: 1,
                text: " Lorby".to_owned(),
                logprob: 0.0,
                entropy: 0.0,
                alternatives: Vec::new(),
            },
        ));
        tee.fail("the engine failed (index out of bounds)");
        drop(tee);
        let seen: Vec<Record> = records.iter().collect();
        let Event::Run(RunEvent::RunFinished {
            outcome: Outcome::Failed(problem),
            text,
            ..
        }) = &seen[2].event
        else {
            panic!("{seen:?}")
        };
        assert!(problem.error.contains("index out of bounds"), "{problem}");
        assert_eq!(
            (text.as_str(), seen[2].seq, seen[2].run.as_str()),
            ("Lorby", 2, "r")
        );
        assert!(matches!(
            &seen[3].event,
            Event::Session(SessionEvent::OperationFailed {
                operation: Operation::Engine,
                ..
            })
        ));
        assert_eq!(
            read_run(&home.path().join("r.jsonl")).expect("recorded"),
            seen[..3]
        );
    }
}
