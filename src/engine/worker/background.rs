//! What the engine thread does while nobody asks for anything: one piece at a time, giving way to a command within one batch.

use crate::event::{Event, Flow, Record};

use super::inbox::Inbox;
use super::thread::{Publish, Worker, WorkerError};

/// `key = value` settings on top of the configuration.
pub type Overrides = Vec<(String, String)>;

/// What is to be done.
#[derive(Debug, Default)]
pub struct Chores {
    /// Load the models, so that the first question does not wait for them.
    pub load: bool,
    /// Bring the index up to date.
    pub update: bool,
    /// Link what has no links, with these settings.
    pub link: Option<Overrides>,
}

/// A piece of work, in the order of need.
#[derive(Debug)]
enum Chore {
    Load,
    Update,
    Link(Overrides),
}

impl Chores {
    pub fn any(&self) -> bool {
        self.load || self.update || self.link.is_some()
    }

    /// Take on what a command asks for.
    pub fn add(&mut self, asked: Self) {
        self.load |= asked.load;
        self.update |= asked.update;
        self.link = asked.link.or(self.link.take());
    }

    /// A corpus that could not be opened has nothing to bring up to date.
    pub fn without_corpus(&mut self) {
        (self.update, self.link) = (false, None);
    }

    fn take(&mut self) -> Option<Chore> {
        if std::mem::take(&mut self.load) {
            Some(Chore::Load)
        } else if std::mem::take(&mut self.update) {
            Some(Chore::Update)
        } else {
            self.link.take().map(Chore::Link)
        }
    }

    fn put_back(&mut self, chore: Chore) {
        match chore {
            Chore::Load => self.load = true,
            Chore::Update => self.update = true,
            Chore::Link(overrides) => self.link = Some(overrides),
        }
    }
}

impl Chore {
    fn name(&self) -> &'static str {
        match self {
            Self::Load => "load models",
            Self::Update => "index",
            Self::Link(_) => "link",
        }
    }

    /// False when it was interrupted.
    fn run(&self, worker: &mut Worker, publish: Publish<'_>) -> Result<bool, WorkerError> {
        match self {
            Self::Load => worker.load(publish),
            Self::Update => worker.update(publish).map(|done| done.is_some()),
            Self::Link(overrides) => worker
                .link(overrides, false, publish)
                .map(|done| done.is_some()),
        }
    }
}

/// One piece of background work.
pub fn work(worker: &mut Worker, chores: &mut Chores, commands: &Inbox, publish: Publish<'_>) {
    let Some(chore) = chores.take() else { return };
    let mut publish = |record: Record| match (publish(record), commands.waiting()) {
        (Flow::Continue, false) => Flow::Continue,
        (Flow::Stop, _) | (_, true) => Flow::Stop,
    };
    match chore.run(worker, &mut publish) {
        Err(error) => worker.report(chore.name(), &error, &mut publish),
        Ok(false) if commands.waiting() => chores.put_back(chore),
        // a stop without a command is the user's: the rest waits until it is asked for again
        Ok(false) => worker.tell(
            Event::OperationStopped {
                operation: chore.name().to_owned(),
            },
            &mut publish,
        ),
        // what was indexed anew has to be linked anew
        Ok(true) if matches!(chore, Chore::Update) => {
            chores.link = worker
                .wants_links(&[])
                .unwrap_or(false)
                .then(Overrides::new)
                .or(chores.link.take());
        }
        Ok(true) => {}
    }
    commands.settled();
}
