//! The queue in front of the engine: clients take turns, and the requests of one client keep their
//! order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::event::{Problem, lock};

use super::caller::Client;
use super::refusal::{Refusal, RefusalKind};

/// Maximum number of requests that wait, of all clients together.
const MAX_WAITING: usize = 256;
/// Maximum number of requests of one client that wait.
const MAX_OF_CLIENT: usize = 64;
/// The time after which a refused client may try again: room for some searches, or a sentence.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The waiting requests. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TurnQueue(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    is_busy: bool,
    /// Clients in the order of their turns, each with its requests, oldest first. No list is empty.
    clients: VecDeque<(Client, VecDeque<oneshot::Sender<EngineTurn>>)>,
}

/// The right to use the engine. The next request gets it when this is dropped.
#[derive(Debug)]
pub struct EngineTurn(Option<TurnQueue>);

impl TurnQueue {
    /// Waits for a turn. One that is no longer awaited leaves the queue.
    ///
    /// # Errors
    /// Too many requests wait, of this client or in all.
    pub async fn turn(&self, client: &Client) -> Result<EngineTurn, Refusal> {
        let turn = self.enter(client)?;
        turn.await.map_err(|_| Refusal::for_end())
    }

    /// Returns the number of requests that wait.
    pub fn waiting(&self) -> usize {
        let mut waiting = lock(&self.0);
        waiting.leave_out_cancelled();
        waiting.count()
    }

    fn enter(&self, client: &Client) -> Result<oneshot::Receiver<EngineTurn>, Refusal> {
        let (sender, turn) = oneshot::channel();
        let mut waiting = lock(&self.0);
        if !waiting.is_busy {
            waiting.is_busy = true;
            // the receiver is here
            let _ = sender.send(EngineTurn(Some(self.clone())));
            return Ok(turn);
        }
        waiting.leave_out_cancelled();

        let retry_after = RETRY_AFTER;
        if waiting.count() >= MAX_WAITING {
            let problem = Problem::new("too many requests wait", "try again in a while");
            let kind = RefusalKind::Unavailable { retry_after };
            return Err(Refusal::new(kind, problem));
        }
        let own = waiting
            .clients
            .iter_mut()
            .find(|(known, _)| known == client);
        match own {
            Some((_, own)) if own.len() >= MAX_OF_CLIENT => {
                let problem = Problem::new(
                    format!("{MAX_OF_CLIENT} requests of this client wait"),
                    "wait for an answer, then try again",
                );
                Err(Refusal::new(RefusalKind::TooMany { retry_after }, problem))
            }
            Some((_, own)) => {
                own.push_back(sender);
                Ok(turn)
            }
            None => {
                let own = VecDeque::from([sender]);
                waiting.clients.push_back((client.clone(), own));
                Ok(turn)
            }
        }
    }

    /// Gives the turn to the next client that still waits.
    fn pass_on(&self) {
        loop {
            let Some(next) = lock(&self.0).next() else {
                return;
            };
            match next.send(EngineTurn(Some(self.clone()))) {
                Ok(()) => return,
                // nobody waits for it
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

impl Waiting {
    /// Takes the oldest request of the client whose turn it is, who then waits behind all others.
    fn next(&mut self) -> Option<oneshot::Sender<EngineTurn>> {
        let Some((client, mut own)) = self.clients.pop_front() else {
            self.is_busy = false;
            return None;
        };
        let next = own.pop_front();
        if !own.is_empty() {
            // clients take turns, however many requests each has
            self.clients.push_back((client, own));
        }
        next
    }

    fn count(&self) -> usize {
        self.clients.iter().map(|(_, own)| own.len()).sum()
    }

    fn leave_out_cancelled(&mut self) {
        for (_, own) in &mut self.clients {
            own.retain(|sender| !sender.is_closed());
        }
        self.clients.retain(|(_, own)| !own.is_empty());
    }
}

impl Drop for EngineTurn {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> Client {
        Client(name.to_owned())
    }

    /// Ends turns one after the other, and returns whose they were.
    fn order(first: EngineTurn, waiting: Vec<(&str, oneshot::Receiver<EngineTurn>)>) -> String {
        let mut served = String::new();
        let mut waiting = waiting;
        drop(first);
        loop {
            let next = waiting
                .iter_mut()
                .find_map(|(name, turn)| Some((*name, turn.try_recv().ok()?)));
            let Some((name, turn)) = next else {
                return served;
            };
            served.push_str(name);
            drop(turn);
        }
    }

    #[test]
    fn clients_take_turns_and_keep_their_own_order() {
        let queue = TurnQueue::default();
        let first = queue.enter(&client("a")).expect("room").try_recv();
        let enter = |name| (name, queue.enter(&client(name)).expect("room"));
        let mut waiting: Vec<_> = ["a", "a", "a", "b", "c", "c"].map(enter).into();
        assert_eq!(order(first.expect("free"), waiting), "abcaca");

        let first = queue.enter(&client("a")).expect("room").try_recv();
        waiting = ["a", "b", "a", "c"].map(enter).into();
        assert_eq!(queue.waiting(), 4);
        // the second client has left
        waiting.remove(1);
        assert_eq!(queue.waiting(), 3);
        assert_eq!(order(first.expect("free"), waiting), "aca");
        assert!(!lock(&queue.0).is_busy);
    }

    #[test]
    fn the_queue_has_room_for_each_client_and_an_end() {
        let queue = TurnQueue::default();
        let _first = queue.enter(&client("a")).expect("room");
        let mut kept = Vec::new();
        for _ in 0..MAX_OF_CLIENT {
            kept.push(queue.enter(&client("a")).expect("room"));
        }
        let kind = |name: &str| queue.enter(&client(name)).map_err(|refusal| refusal.kind);
        let retry_after = RETRY_AFTER;
        assert_eq!(kind("a").err(), Some(RefusalKind::TooMany { retry_after }));
        for number in kept.len()..MAX_WAITING {
            kept.push(queue.enter(&client(&number.to_string())).expect("room"));
        }
        let full = RefusalKind::Unavailable { retry_after };
        assert_eq!(kind("b").err(), Some(full));
        kept.truncate(10);
        assert!(kind("b").is_ok(), "those that left have made room");
    }
}
