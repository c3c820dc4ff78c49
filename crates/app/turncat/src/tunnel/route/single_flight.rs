//! One question on behalf of all who would ask it at the same time.

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Whoever asks while somebody else does waits for that one's answer.
#[derive(Debug, Default)]
pub(super) struct SingleFlight {
    /// When the last question was asked that got to its end.
    asked: Mutex<Option<Instant>>,
}

impl SingleFlight {
    /// Asks, unless somebody did after `since`. Safe to cancel: then the next in line asks.
    pub(super) async fn ask(&self, since: Instant, question: impl Future<Output = ()>) {
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|at| at >= since) {
            return;
        }
        let now = Instant::now();
        question.await;
        *asked = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use tokio::task::JoinSet;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_asks_for_all_who_need_the_answer_by_then() {
        let (flight, asked) = (Arc::new(SingleFlight::default()), Arc::default());
        let mut askers = JoinSet::new();
        for client in 0..1000 {
            let (flight, asked): (_, Arc<AtomicU32>) = (Arc::clone(&flight), Arc::clone(&asked));
            askers.spawn(async move {
                // A question takes a second; these begin in the course of two.
                sleep(Duration::from_millis(2 * client)).await;
                let question = async {
                    asked.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_secs(1)).await;
                };
                flight.ask(Instant::now(), question).await;
            });
        }
        askers.join_all().await;
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_may_be_outdated_is_not_taken() {
        let flight = SingleFlight::default();
        flight.ask(Instant::now(), async {}).await;
        sleep(Duration::from_secs(1)).await;
        let mut asked = false;
        flight.ask(Instant::now(), async { asked = true }).await;
        assert!(asked);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_was_called_off_is_asked_by_the_next() {
        let (flight, begin) = (SingleFlight::default(), Instant::now());
        let endless = flight.ask(begin, std::future::pending());
        let _ = tokio::time::timeout(Duration::from_secs(1), endless).await;
        let mut asked = false;
        flight.ask(begin, async { asked = true }).await;
        assert!(asked);
    }
}
