//! The run in progress, for clients that watch it.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::event::{Event, Record, RunEvent, lock};

/// The run that the engine works on, or the last one.
#[derive(Debug, Default)]
pub struct Live(Mutex<Option<LiveRun>>);

#[derive(Debug)]
struct LiveRun {
    run: String,
    records: Arc<Mutex<Vec<Arc<Record>>>>,
    /// The number of records, and whether the last one is among them.
    count: watch::Sender<Count>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    records: usize,
    is_over: bool,
}

/// Reads the records of a run while they come.
pub struct Follower {
    records: Arc<Mutex<Vec<Arc<Record>>>>,
    count: watch::Receiver<Count>,
    next: usize,
}

impl Live {
    /// Takes in a record of a run.
    pub fn apply(&self, record: &Arc<Record>) {
        let mut live = lock(&self.0);
        let is_other = live.as_ref().is_none_or(|known| known.run != record.run);

        if is_other {
            *live = Some(LiveRun {
                run: record.run.clone(),
                records: Arc::default(),
                count: watch::Sender::default(),
            });
        }

        let Some(live) = live.as_ref() else { return };
        let is_over = matches!(record.event, Event::Run(RunEvent::RunFinished { .. }));
        lock(&live.records).push(Arc::clone(record));

        live.count.send_modify(|count| {
            count.records += 1;
            count.is_over |= is_over;
        });
    }

    /// Returns the records of a run from the first one on, if it is the present one.
    pub fn follow(&self, run: &str) -> Option<Follower> {
        let live = lock(&self.0);
        let live = live.as_ref().filter(|live| live.run == run)?;
        Some(Follower {
            records: Arc::clone(&live.records),
            count: live.count.subscribe(),
            next: 0,
        })
    }
}

impl Follower {
    /// Waits for the next record; `None` after the last one.
    pub async fn next(&mut self) -> Option<Arc<Record>> {
        let next = self.next;
        let ready = self
            .count
            .wait_for(|count| count.records > next || count.is_over);
        // without a sender no more records come
        drop(ready.await);
        let record = lock(&self.records).get(next).cloned();
        self.next += 1;
        record
    }
}
