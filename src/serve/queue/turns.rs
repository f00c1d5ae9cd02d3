//! The queue in front of the engine: who comes first is served first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::event::Problem;

use super::refusal::{Refusal, RefusalKind};

/// Maximum number of requests that wait.
const MAX_WAITING: usize = 256;
/// The time after which a refused client may try again: room for some searches, or a sentence.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The waiting requests.
#[derive(Debug)]
pub struct TurnQueue {
    engine: Semaphore,
    waiting: AtomicUsize,
}

/// The place of a request that waits.
struct Place<'q>(&'q AtomicUsize);

impl TurnQueue {
    pub fn new() -> Self {
        Self {
            engine: Semaphore::new(1),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for the right to use the engine; the next request gets it when this is dropped. One
    /// that is no longer awaited leaves the queue.
    ///
    /// # Errors
    /// Too many requests wait.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        // the semaphore gives the permit to who waits, if anybody does
        if let Ok(turn) = self.engine.try_acquire() {
            return Ok(turn);
        }
        let _place = self.place()?;
        let turn = self.engine.acquire().await;
        turn.map_err(|_| Refusal::for_end())
    }

    /// Returns the number of requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn place(&self) -> Result<Place<'_>, Refusal> {
        let count = |waiting| (waiting < MAX_WAITING).then_some(waiting + 1);
        let counted = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        counted.map(|_| Place(&self.waiting)).map_err(|_| {
            let problem = Problem::new("too many requests wait", "try again in a while");
            let retry_after = RETRY_AFTER;
            Refusal::new(RefusalKind::Unavailable { retry_after }, problem)
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Turn<'q> = Pin<Box<dyn Future<Output = Result<SemaphorePermit<'q>, Refusal>> + 'q>>;

    /// Lets a request enter the queue, and returns it with its turn where that is now.
    fn enter(queue: &TurnQueue) -> (Turn<'_>, Option<Result<SemaphorePermit<'_>, Refusal>>) {
        let mut turn: Turn<'_> = Box::pin(queue.turn());
        let now = poll(&mut turn);
        (turn, now)
    }

    fn poll<'q>(turn: &mut Turn<'q>) -> Option<Result<SemaphorePermit<'q>, Refusal>> {
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let queue = TurnQueue::new();
        let (_, first) = enter(&queue);
        let [mut second, third, mut fourth] = [0; 3].map(|_| enter(&queue).0);
        assert_eq!(queue.waiting(), 3);
        drop(third);
        assert_eq!(queue.waiting(), 2, "one has left");

        drop(first);
        assert!(poll(&mut fourth).is_none());
        let turn = poll(&mut second).expect("its turn");
        assert_eq!(queue.waiting(), 1);
        drop(turn);
        assert!(poll(&mut fourth).is_some_and(|turn| turn.is_ok()));
        assert_eq!(queue.waiting(), 0);
    }

    #[test]
    fn the_queue_has_an_end() {
        let queue = TurnQueue::new();
        let (_, _first) = enter(&queue);
        let mut kept: Vec<Turn<'_>> = (0..MAX_WAITING).map(|_| enter(&queue).0).collect();
        let refused = enter(&queue).1.and_then(Result::err);
        let full = RefusalKind::Unavailable {
            retry_after: RETRY_AFTER,
        };
        assert_eq!(refused.map(|refusal| refusal.kind), Some(full));
        kept.truncate(10);
        assert!(enter(&queue).1.is_none(), "those that left have made room");
    }
}
