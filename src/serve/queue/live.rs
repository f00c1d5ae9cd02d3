//! The run in progress, for clients that watch it.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::event::{Event, Record, RunEvent, lock};

/// The run that the engine works on, or the last one.
#[derive(Debug, Default)]
pub struct Live(Mutex<watch::Sender<LiveRun>>);

#[derive(Debug, Default)]
struct LiveRun {
    run: String,
    records: Vec<Arc<Record>>,
    /// Whether the last record is among them.
    is_over: bool,
}

/// Reads the records of a run while they come.
pub struct Follower {
    live: watch::Receiver<LiveRun>,
    next: usize,
}

impl Live {
    /// Takes in a record of a run.
    pub fn apply(&self, record: &Arc<Record>) {
        let mut live = lock(&self.0);
        if live.borrow().run != record.run {
            // who follows the run before hears that its sender is gone
            *live = watch::Sender::new(LiveRun {
                run: record.run.clone(),
                ..LiveRun::default()
            });
        }

        live.send_modify(|live| {
            live.records.push(Arc::clone(record));
            live.is_over |= matches!(record.event, Event::Run(RunEvent::RunFinished { .. }));
        });
    }

    /// Returns the records of a run from the first one on, if it is the present one.
    pub fn follow(&self, run: &str) -> Option<Follower> {
        let live = lock(&self.0);
        let is_present = live.borrow().run == run;
        is_present.then(|| Follower {
            live: live.subscribe(),
            next: 0,
        })
    }
}

impl Follower {
    /// Waits for the next record; `None` after the last one.
    pub async fn next(&mut self) -> Option<Arc<Record>> {
        let next = self.next;
        let has_next = |live: &LiveRun| live.records.len() > next || live.is_over;
        // without a sender no more records come
        drop(self.live.wait_for(has_next).await);
        self.next += 1;
        self.live.borrow().records.get(next).cloned()
    }
}
