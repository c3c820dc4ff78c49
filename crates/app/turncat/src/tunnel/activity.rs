//! When something went last, and how long it has been quiet.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often to look whether a client has taken what it is being given, at most.
const STEP: Duration = Duration::from_millis(10);

/// In microseconds since the session began: an answer and the next question can be close.
#[derive(Debug)]
pub(super) struct Activity {
    begin: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    delivered: AtomicU64,
    delivering: AtomicBool,
}

/// The client is being given an answer for as long as this lives.
#[derive(Debug)]
pub(super) struct Delivery<'a>(&'a Activity);

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        let Activity {
            delivered,
            delivering,
            ..
        } = self.0;
        delivered.store(self.0.now(), Ordering::Relaxed);
        delivering.store(false, Ordering::Relaxed);
    }
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity {
            begin: Instant::now(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            delivering: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Something went to the peer.
    pub(super) fn sent(&self) {
        self.sent.store(self.now(), Ordering::Relaxed);
    }

    /// Something came from the peer.
    pub(super) fn received(&self) {
        self.received.store(self.now(), Ordering::Relaxed);
    }

    /// The client takes its time, and more may wait behind what it is being given: that is no silence of the peer.
    pub(super) fn delivering(&self) -> Delivery<'_> {
        self.delivering.store(true, Ordering::Relaxed);
        Delivery(self)
    }

    /// How long nothing went either way.
    pub(super) fn idle(&self) -> Duration {
        self.since(self.last_sent().max(self.last_received()))
    }

    /// How long until nothing went either way for `patience`, if that is not so already.
    pub(super) fn until_idle(&self, patience: Duration) -> Option<Duration> {
        patience.checked_sub(self.idle())
    }

    /// How long the peer has been silent.
    pub(super) fn silence(&self) -> Duration {
        match self.is_delivering() {
            true => Duration::ZERO,
            false => self.since(self.last_received().max(self.last_delivered())),
        }
    }

    /// Returns once the peer has been silent for `patience` from now on, and the client has all that came before.
    pub(super) async fn silent_for(&self, patience: Duration) {
        let begin = Instant::now();
        loop {
            let quiet = self.silence().min(begin.elapsed());
            if self.is_delivering() {
                sleep(patience.max(STEP)).await;
            } else if quiet < patience {
                sleep(patience - quiet).await;
            } else {
                return;
            }
        }
    }

    /// Whether something went to the peer that nothing came back for.
    pub(super) fn unanswered(&self) -> bool {
        self.last_sent() > self.last_received()
    }

    /// Whether the peer has ever said something.
    pub(super) fn answered(&self) -> bool {
        self.last_received() > 0
    }

    fn since(&self, moment: u64) -> Duration {
        Duration::from_micros(self.now().saturating_sub(moment))
    }

    fn is_delivering(&self) -> bool {
        self.delivering.load(Ordering::Relaxed)
    }

    fn last_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    fn last_received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    fn last_delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn an_idle_client_has_no_time_left_and_a_busy_one_all_of_it() {
        let activity = Activity::new();
        assert_eq!(activity.until_idle(SECOND), Some(SECOND));
        advance(Duration::from_millis(400)).await;
        assert_eq!(activity.until_idle(SECOND), Some(SECOND * 6 / 10));
        advance(SECOND).await;
        assert_eq!(activity.until_idle(SECOND), None);
        activity.received();
        assert_eq!(activity.until_idle(SECOND), Some(SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_makes_no_silence_of_the_peer() {
        let activity = Activity::new();
        activity.received();
        let delivery = activity.delivering();
        advance(60 * SECOND).await;
        assert_eq!(activity.silence(), Duration::ZERO);
        drop(delivery);
        assert_eq!(
            activity.silence(),
            Duration::ZERO,
            "more may wait behind it"
        );
        advance(SECOND).await;
        assert_eq!(activity.silence(), SECOND);
        activity.sent();
        assert!(activity.unanswered(), "a delivery is no answer");
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_silence_ends_after_the_delivery_even_if_it_has_no_length() {
        for patience in [Duration::ZERO, SECOND] {
            let activity = Activity::new();
            let delivery = activity.delivering();
            let (begin, delivering) = (Instant::now(), async {
                sleep(60 * SECOND).await;
                drop(delivery);
            });
            tokio::join!(activity.silent_for(patience), delivering);
            let waited = begin.elapsed();
            assert!(
                (60 * SECOND + patience..63 * SECOND).contains(&waited),
                "{waited:?}"
            );
        }
    }
}
