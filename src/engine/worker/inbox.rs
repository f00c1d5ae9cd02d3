//! The way of commands to the engine thread.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use crate::event::{Command, StopFlag};

/// Sends commands to the engine thread. When the last one is gone, the thread ends.
#[derive(Debug, Clone)]
pub struct Outbox {
    commands: Sender<Command>,
    stop: StopFlag,
}

/// Where the engine thread finds its commands.
#[derive(Debug)]
pub struct Inbox {
    commands: Receiver<Command>,
    stop: StopFlag,
    /// What was received while somebody only looked whether anything waits.
    looked: RefCell<Option<Next>>,
}

/// What the inbox holds next.
#[derive(Debug)]
pub enum Next {
    /// A command, taken up now.
    Command(Command),
    /// Nothing at the moment.
    Nothing,
    /// Nothing, and nothing will come: the front end has left.
    Gone,
}

/// A way of commands. `stop` counts them, so that it stops only what was sent before it.
#[must_use]
pub fn mailbox(stop: &StopFlag) -> (Outbox, Inbox) {
    let (sender, receiver) = channel();
    let inbox = Inbox {
        commands: receiver,
        stop: stop.clone(),
        looked: RefCell::new(None),
    };
    (
        Outbox {
            commands: sender,
            stop: stop.clone(),
        },
        inbox,
    )
}

impl Outbox {
    /// Send a command; false when the engine thread has ended.
    pub fn send(&self, command: Command) -> bool {
        self.stop.sent();
        self.commands.send(command).is_ok()
    }
}

impl Inbox {
    /// Wait for the next command.
    pub(super) fn wait(&self) -> Next {
        let next = self
            .looked
            .take()
            .unwrap_or_else(|| self.commands.recv().map_or(Next::Gone, Next::Command));
        self.take_up(next)
    }

    /// The next command, if there is one.
    pub(super) fn poll(&self) -> Next {
        let next = self.looked.take().unwrap_or_else(|| self.look());
        self.take_up(next)
    }

    /// Is there a command, or nobody left to send one? Then background work gives way.
    pub(super) fn waiting(&self) -> bool {
        let mut looked = self.looked.borrow_mut();
        let next = looked.take().unwrap_or_else(|| self.look());
        match next {
            Next::Nothing => false,
            Next::Command(_) | Next::Gone => {
                *looked = Some(next);
                true
            }
        }
    }

    /// What was taken up is done; see [`StopFlag::settled`].
    pub(super) fn settled(&self) {
        self.stop.settled();
    }

    fn look(&self) -> Next {
        match self.commands.try_recv() {
            Ok(command) => Next::Command(command),
            Err(TryRecvError::Empty) => Next::Nothing,
            Err(TryRecvError::Disconnected) => Next::Gone,
        }
    }

    fn take_up(&self, next: Next) -> Next {
        if let Next::Command(_) = next {
            self.stop.taken();
        }
        next
    }
}
