//! One client's traffic, over one link after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stunner_client::Lost;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::outlet::Outlet;
use super::route::{OpenError, Route};
use super::{datagrams, stream};

/// What a client may have waiting while its server is away.
const QUEUE: usize = 128;

/// What a client sends, one datagram or one read of a stream at a time. Its end is the end of what the client says.
pub type Inbox = mpsc::Receiver<Vec<u8>>;

/// A queue for one client.
pub fn inbox() -> (mpsc::Sender<Vec<u8>>, Inbox) {
    mpsc::channel(QUEUE)
}

/// What kind of client it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Boundaries are the client's: what does not fit is dropped.
    Datagrams,
    /// A connection; what does not fit is cut.
    Stream,
    /// The same, and the process lives as long as it does.
    Stdio,
}

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The process was told to stop.
    Stopped,
    /// Nothing went either way for too long.
    Idle,
    /// The client has said everything, and no more answers come.
    InputEnded,
    /// The peer has said everything.
    PeerEnded,
    /// The client takes no more answers.
    ClientGone,
}

#[derive(Debug, Error)]
pub enum SessionError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the connection to the peer broke")]
    Broken(#[source] std::io::Error),
    #[error("the way to the peer broke")]
    Lost(#[source] Lost),
}

impl SessionError {
    pub fn hint(&self) -> String {
        match self {
            SessionError::Open(error) => error.hint(),
            SessionError::Broken(_) | SessionError::Lost(_) => {
                "a stream cannot go on at another server: connect again".to_owned()
            }
        }
    }
}

/// One client. Its socket outlives the allocations it gets.
#[derive(Debug)]
pub struct Session {
    pub route: Arc<Route>,
    /// For the log.
    pub client: String,
    pub origin: Origin,
    pub inbox: Inbox,
    pub outlet: Outlet,
}

impl Session {
    /// Carries traffic until the client, the peer or the process ends it.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> Result<End, SessionError> {
        let opening = async {
            match self.origin {
                // Whoever waits at a terminal wants to know at once.
                Origin::Stdio => self.route.open(None).await,
                Origin::Datagrams | Origin::Stream => self.route.reopen(None).await,
            }
        };
        let (client, origin) = (self.client.clone(), self.origin);
        let opened = tokio::select! {
            opened = opening => opened,
            () = stopped(&mut stop) => return Ok(End::Stopped),
        };
        let ended = match opened {
            Ok(link) => {
                info!(%client, relayed = %link.relay.relayed(), "new client");
                match link.stream {
                    None => datagrams::carry(self, link, stop).await,
                    Some(_) => stream::carry(self, link, stop).await,
                }
            }
            Err(error) => Err(error.into()),
        };
        match &ended {
            Ok(end) => info!(%client, "client gone: {end:?}"),
            // The end of standard input's session is the end of the process, which says why.
            Err(error) if origin == Origin::Stdio => debug!("{error}"),
            Err(error) => warn!(%client, "client let go: {error}; {}", error.hint()),
        }
        ended
    }
}

/// Returns once the process is to stop.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Whoever could tell us is gone: so should we be.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// When something went last, in microseconds since the session began: an answer and the next question can be close.
#[derive(Debug)]
pub(super) struct Activity {
    begin: Instant,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity {
            begin: Instant::now(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
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

    /// How long nothing went either way.
    pub(super) fn idle(&self) -> Duration {
        let last = self.last_sent().max(self.last_received());
        Duration::from_micros(self.now().saturating_sub(last))
    }

    /// How long until nothing went either way for `patience`, if that is not so already.
    pub(super) fn until_idle(&self, patience: Duration) -> Option<Duration> {
        patience.checked_sub(self.idle())
    }

    /// How long the peer has been silent.
    pub(super) fn silence(&self) -> Duration {
        Duration::from_micros(self.now().saturating_sub(self.last_received()))
    }

    /// Whether something went to the peer that nothing came back for.
    pub(super) fn unanswered(&self) -> bool {
        self.last_sent() > self.last_received()
    }

    fn last_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    fn last_received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_idle_client_has_no_time_left_and_a_busy_one_all_of_it() {
        let (activity, second) = (Activity::new(), Duration::from_secs(1));
        assert_eq!(activity.until_idle(second), Some(second));
        tokio::time::advance(Duration::from_millis(400)).await;
        assert_eq!(activity.until_idle(second), Some(second * 6 / 10));
        tokio::time::advance(second).await;
        assert_eq!(activity.until_idle(second), None);
        activity.received();
        assert_eq!(activity.until_idle(second), Some(second));
    }
}
