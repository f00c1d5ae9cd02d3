//! The engine thread: it takes commands, and works in the background between them.

use crate::engine::error::WorkerError;
use crate::event::{Command, Event, Flow, Record};

use super::background::{Chore, Chores, Overrides};
use super::inbox::{Inbox, Next};
use crate::engine::stages::utility::Measured;

use super::operations::Worker;
use super::stamp::Publish;

impl Worker {
    /// Serve commands until the sender is gone. Loading and indexing give way to a command within one batch.
    pub fn serve(&mut self, commands: &Inbox, publish: Publish<'_>) {
        let mut chores = Chores {
            load: true,
            ..Chores::default()
        };
        loop {
            let next = if chores.any() {
                commands.poll()
            } else {
                commands.wait()
            };
            match next {
                Next::Command(command) => {
                    chores.add(self.obey(command, publish));
                    if self.index.is_none() {
                        chores.without_corpus();
                    }
                    commands.settled();
                }
                Next::Nothing => self.work(&mut chores, commands, publish),
                Next::Gone => return,
            }
        }
    }

    /// Carry out one command, and say what is to be done afterwards.
    fn obey(&mut self, command: Command, publish: Publish<'_>) -> Chores {
        let none = Chores::default;
        let update = || Chores {
            update: true,
            ..Chores::default()
        };
        let (operation, result) = match command {
            Command::Ask {
                question,
                confirmed,
                overrides,
            } => {
                let asked = self.ask(&question, &confirmed, &overrides, publish);
                // hits came with the links that were there; the rest of the corpus follows
                let links = self.index.is_some() && self.wants_links(&overrides).unwrap_or(false);
                (
                    "ask",
                    asked.map(|_outcome| Chores {
                        link: links.then_some(overrides),
                        ..none()
                    }),
                )
            }
            Command::Open { folder } => {
                self.cut_with.clear();
                (
                    "open",
                    self.open(&folder, false, publish).map(|()| update()),
                )
            }
            Command::Reindex { rebuild, overrides } => {
                self.cut_with = overrides;
                (
                    "index",
                    self.open_again(rebuild, publish).map(|()| update()),
                )
            }
            Command::OpenSource {
                document,
                first_line,
                last_line,
            } => (
                "open source",
                self.open_source(&document, [first_line, last_line], publish)
                    .map(|()| none()),
            ),
            Command::MeasureUtility {
                run,
                question,
                hits,
                own,
                overrides,
            } => {
                let measured = Measured {
                    run: &run,
                    question: &question,
                    hits: &hits,
                    own: &own,
                };
                (
                    "measure",
                    self.measure(&measured, &overrides, publish)
                        .map(|()| none()),
                )
            }
            Command::Seek {
                phrase,
                queries,
                overrides,
            } => (
                "seek",
                self.seek(&phrase, &queries, &overrides, publish)
                    .map(|_sought| none()),
            ),
            // the recorded runs belong to the front end's side of the channel
            Command::ListSessions | Command::OpenRun { .. } => ("sessions", Ok(none())),
        };
        result.unwrap_or_else(|error| {
            if error.is_stop() {
                self.tell(
                    Event::OperationStopped {
                        operation: operation.to_owned(),
                    },
                    publish,
                );
            } else {
                self.report(operation, &error, publish);
            }
            none()
        })
    }

    /// One piece of background work.
    fn work(&mut self, chores: &mut Chores, commands: &Inbox, publish: Publish<'_>) {
        let Some(chore) = chores.take() else { return };
        let mut publish = |record: Record| match (publish(record), commands.waiting()) {
            (Flow::Continue, false) => Flow::Continue,
            (Flow::Stop, _) | (_, true) => Flow::Stop,
        };
        match self.carry_out(&chore, &mut publish) {
            Err(error) => self.report(chore.name(), &error, &mut publish),
            Ok(false) if commands.waiting() => chores.put_back(chore),
            // a stop without a command is the user's: the rest waits until it is asked for again
            Ok(false) => self.tell(
                Event::OperationStopped {
                    operation: chore.name().to_owned(),
                },
                &mut publish,
            ),
            // what was indexed anew has to be linked anew
            Ok(true) if matches!(chore, Chore::Update) => {
                chores.link = self
                    .wants_links(&[])
                    .unwrap_or(false)
                    .then(Overrides::new)
                    .or(chores.link.take());
            }
            Ok(true) => {}
        }
        commands.settled();
    }

    /// False when it was interrupted.
    fn carry_out(&mut self, chore: &Chore, publish: Publish<'_>) -> Result<bool, WorkerError> {
        match chore {
            Chore::Load => self.load(publish),
            Chore::Update => self.update(publish).map(|done| done.is_some()),
            Chore::Link(overrides) => self
                .link(overrides, false, publish)
                .map(|done| done.is_some()),
        }
    }
}
