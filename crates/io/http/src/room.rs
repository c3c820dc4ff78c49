//! Who leaves when every place is taken: connections that hold one and ask for nothing.
//!
//! Without this, as many clients as there are places could each send half a request and keep everybody else out until
//! their time is up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long the head of a request may take however crowded it is: some round trips, for TLS before it.
const FAIR_WAIT: Duration = Duration::from_millis(250);

/// The connections of a server that wait for the head of a request: new ones, slow ones, idle ones.
#[derive(Debug, Default)]
pub(crate) struct Room {
    queue: Mutex<Queue>,
    /// Somebody began to wait.
    joined: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// In the order in which they began to wait.
    waiting: BTreeMap<u64, Waiting>,
    last_ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    leave: Arc<Notify>,
}

impl Room {
    /// A place for a connection, which begins by waiting.
    pub(crate) fn enter(self: &Arc<Self>) -> Arc<Place> {
        let place = Place {
            room: Arc::clone(self),
            ticket: Mutex::default(),
            is_writing: Arc::default(),
            leave: Arc::default(),
        };
        place.wait();
        Arc::new(place)
    }

    /// Returns once somebody has waited long enough to be sent away.
    pub(crate) async fn somebody_can_leave(&self) {
        loop {
            // Armed before the look, so that nobody who joins after it is missed.
            let joined = self.joined.notified();
            let oldest = self.queue().waiting.values().next().map(|one| one.since);
            match oldest {
                None => joined.await,
                Some(since) if since.elapsed() >= FAIR_WAIT => return,
                // Whoever it is may have been served by then.
                Some(since) => sleep_until(since + FAIR_WAIT).await,
            }
        }
    }

    /// Sends away the one that has waited longest.
    pub(crate) fn send_one_away(&self) {
        if let Some((_, longest)) = self.queue().waiting.pop_first() {
            longest.leave.notify_one();
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    /// Of the present wait; `None` while a request is under way.
    ticket: Mutex<Option<u64>>,
    is_writing: Arc<AtomicBool>,
    leave: Arc<Notify>,
}

impl Place {
    /// The head of a request is to come.
    pub(crate) fn wait(&self) {
        let ticket = {
            let mut queue = self.room.queue();
            queue.last_ticket += 1;
            let ticket = queue.last_ticket;
            let waiting = Waiting {
                since: Instant::now(),
                leave: Arc::clone(&self.leave),
            };
            queue.waiting.insert(ticket, waiting);
            ticket
        };
        let before = self.ticket().replace(ticket);
        self.forget(before);
        self.room.joined.notify_one();
    }

    /// A request is under way; it is over when what is returned is dropped.
    pub(crate) fn work(self: &Arc<Self>) -> Working {
        let before = self.ticket().take();
        self.forget(before);
        Working(Arc::clone(self))
    }

    /// Set while the client is still to take the rest of an answer.
    pub(crate) fn is_writing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_writing)
    }

    /// Returns when this connection is to give up its place.
    pub(crate) async fn sent_away(&self) {
        loop {
            self.leave.notified().await;
            // A request may have come in at the last moment.
            let is_waiting = self.ticket().is_some();
            match self.is_writing.load(Ordering::Relaxed) {
                false if is_waiting => return,
                true if is_waiting => self.wait(),
                _ => {}
            }
        }
    }

    fn ticket(&self) -> MutexGuard<'_, Option<u64>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, ticket: Option<u64>) {
        if let Some(ticket) = ticket {
            self.room.queue().waiting.remove(&ticket);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let ticket = self.ticket().take();
        self.forget(ticket);
    }
}

/// A request under way, up to the end of its answer.
#[derive(Debug)]
pub(crate) struct Working(Arc<Place>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn leaves(place: &Place) -> bool {
        place.sent_away().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waited_longest_leaves_and_workers_stay() {
        let room = Arc::new(Room::default());
        let (first, second, third) = (room.enter(), room.enter(), room.enter());
        let working = first.work();
        room.send_one_away();
        assert!(!leaves(&first) && leaves(&second) && !leaves(&third));
        drop(working);
        room.send_one_away();
        assert!(!leaves(&first) && leaves(&third), "first begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_has_some_time() {
        let room = Arc::new(Room::default());
        let start = Instant::now();
        let place = room.enter();
        room.somebody_can_leave().await;
        assert_eq!(start.elapsed(), FAIR_WAIT);
        let working = place.work();
        assert!(room.somebody_can_leave().now_or_never().is_none());
        drop((place, working));
        assert!(room.queue().waiting.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_of_the_last_moment_and_an_answer_not_taken_yet_are_not_cut() {
        let room = Arc::new(Room::default());
        let place = room.enter();
        room.send_one_away();
        let working = place.work();
        assert!(!leaves(&place));
        drop(working);
        place.is_writing().store(true, Ordering::Relaxed);
        room.send_one_away();
        assert!(!leaves(&place));
        place.is_writing().store(false, Ordering::Relaxed);
        room.send_one_away();
        assert!(leaves(&place), "it waits again");
    }
}
