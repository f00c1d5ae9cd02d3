//! The stamp of a stream of records: it numbers and times them.

use std::time::Instant;

use crate::event::{Event, Flow, Record, SessionEvent, elapsed_us};

/// Publishes a record; the result says whether to continue.
pub type Publish<'a> = &'a mut dyn FnMut(Record) -> Flow;

/// Emits an event of the session; the result says whether to continue.
pub type Emit<'a> = &'a mut dyn FnMut(SessionEvent) -> Flow;

/// Numbers and times the records of one run or of the session.
#[derive(Debug)]
pub struct Stamp {
    run: String,
    next: u64,
    started: Instant,
}

impl Stamp {
    /// A new stream of records.
    pub fn new(run: impl Into<String>) -> Self {
        Self {
            run: run.into(),
            next: 0,
            started: Instant::now(),
        }
    }

    /// Returns the event with its position in the stream.
    pub fn record(&mut self, event: impl Into<Event>) -> Record {
        let seq = self.next;
        self.next += 1;
        let t_us = elapsed_us(self.started);
        Record {
            seq,
            t_us,
            run: self.run.clone(),
            event: event.into(),
        }
    }
}
