//! The channel that carries commands to the engine thread.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use crate::event::{Command, StopFlag};

/// Sends commands to the engine thread. When the last one is gone, the thread ends.
#[derive(Debug, Clone)]
pub struct Outbox {
    commands: Sender<Command>,
    stop: StopFlag,
}

/// The receiving end of the channel.
#[derive(Debug)]
pub struct Inbox {
    commands: Receiver<Command>,
    stop: StopFlag,
    /// The result of a look at the channel that was not taken up yet.
    seen: RefCell<Option<Next>>,
}

/// The next thing in the inbox.
#[derive(Debug)]
pub enum Next {
    /// A command, now taken up.
    Command(Command),
    /// Nothing at the moment.
    Nothing,
    /// Nothing, and nothing will come: the front end has left.
    Gone,
}

/// Opens a channel of commands. `stop` counts them, so that it stops only commands that were sent
/// before it.
pub fn mailbox(stop: &StopFlag) -> (Outbox, Inbox) {
    let (sender, receiver) = channel();
    let inbox = Inbox {
        commands: receiver,
        stop: stop.clone(),
        seen: RefCell::new(None),
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
    /// Sends a command. Returns `false` if the engine thread has ended.
    pub fn send(&self, command: Command) -> bool {
        self.stop.mark_sent();
        self.commands.send(command).is_ok()
    }
}

impl Inbox {
    /// Waits for the next command.
    pub(super) fn wait(&self) -> Next {
        let receive = || self.commands.recv().map_or(Next::Gone, Next::Command);
        let next = self.seen.take().unwrap_or_else(receive);
        self.take_up(next)
    }

    /// Returns the next command, if there is one.
    pub(super) fn poll(&self) -> Next {
        let next = self.seen.take().unwrap_or_else(|| self.look());
        self.take_up(next)
    }

    /// Returns whether a command waits, or no sender is left: then background work yields.
    pub(super) fn is_waiting(&self) -> bool {
        let next = self.seen.take().unwrap_or_else(|| self.look());
        let is_nothing = matches!(next, Next::Nothing);
        if !is_nothing {
            self.seen.replace(Some(next));
        }
        !is_nothing
    }

    /// Marks the command that was taken up as done; see [`StopFlag::settled`].
    pub(super) fn settle(&self) {
        self.stop.mark_settled();
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
            self.stop.mark_taken();
        }
        next
    }
}
