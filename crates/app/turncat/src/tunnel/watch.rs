//! Asking the server whether it is still there, and still knows the allocation.

use std::time::Duration;

use stunner_client::{ClientError, Relay};
use tokio::time::{Instant, sleep};

use super::activity::Activity;
use super::route::Route;

/// A server that lost the allocation drops datagrams without a word (RFC 8656 §11.2): ask it, first after this long
/// without an answer of the peer, then more and more seldom, for peers that never answer.
const FIRST_PROBE: Duration = Duration::from_secs(2);
/// Also what keeps the bindings of NATs on the way to the server.
const PROBE_EVERY: Duration = Duration::from_secs(25);
/// A question that is this long without an answer is told, while the answer is still awaited.
const WORTH_TELLING: Duration = Duration::from_secs(5);

/// When to ask next.
#[derive(Debug)]
pub(super) struct Watch {
    patience: Duration,
    probed: Instant,
}

impl Watch {
    pub(super) fn new() -> Watch {
        Watch {
            patience: FIRST_PROBE,
            probed: Instant::now(),
        }
    }

    /// Asks if it is time to.
    pub(super) async fn look(
        &mut self,
        route: &Route,
        relay: &Relay,
        activity: &Activity,
    ) -> Result<(), ClientError> {
        if !activity.unanswered() {
            self.patience = FIRST_PROBE;
        }
        let since = self.probed.elapsed();
        let doubtful = activity.unanswered() && activity.silence() >= self.patience;
        if since < PROBE_EVERY && !(doubtful && since >= self.patience) {
            return Ok(());
        }
        let asked = ask(route, relay).await;
        self.probed = Instant::now();
        self.patience = (self.patience * 2).min(PROBE_EVERY);
        asked
    }
}

/// One question, and a word at the terminal when the answer takes long.
async fn ask(route: &Route, relay: &Relay) -> Result<(), ClientError> {
    let asking = relay.refresh();
    tokio::pin!(asking);
    let answer = tokio::select! {
        answer = &mut asking => answer,
        () = sleep(WORTH_TELLING) => {
            let (server, waited) = (relay.server(), WORTH_TELLING.as_secs());
            route.outage.begins(format_args!("{server} does not answer for {waited} s"));
            asking.await
        }
    };
    if answer.is_ok() {
        route.outage.ends(relay.server());
    }
    answer
}
