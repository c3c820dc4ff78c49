//! The way to the peer: which server, which login, which peer. [`allocate`] tries the places where the server may be,
//! [`retry`] tries again what may work later.

mod allocate;
mod alternate;
mod error;
mod link;
mod retry;
mod single_flight;

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use stunner_client::Lost;
use tokio::sync::Semaphore;
use tracing::debug;

pub use error::OpenError;
pub use link::Link;

use self::alternate::LastAlternate;
use self::single_flight::SingleFlight;
use super::outage::Outage;
use super::seldom::Seldom;
use super::statistics::Statistics;
use crate::ends::{PeerEnd, PeerTransport};
use crate::server::{Discovery, Target};

/// Servers hold only so many handshakes of one source at once, and drop the rest: those would wait for a repetition.
const HANDSHAKES: usize = 32;

/// What a route is made of besides its two ends.
#[derive(Debug, Clone)]
pub struct Settings {
    pub sni: Option<String>,
    pub insecure: bool,
    pub connect_timeout: Duration,
    pub reconnect_timeout: Duration,
    /// `None` is never.
    pub idle_timeout: Option<Duration>,
    pub linger: Duration,
    pub max_datagram: Option<usize>,
}

/// The way from here to the peer; one for all sessions.
#[derive(Debug)]
pub struct Route {
    target: RwLock<Target>,
    /// Where the target comes from, if it is a Gateway's.
    discovery: Option<Discovery>,
    rediscovery: SingleFlight,
    alternate: LastAlternate,
    handshakes: Semaphore,
    pub(super) outage: Outage,
    /// Of datagrams that no server takes, such as those that are too large.
    pub(super) unsendable: Seldom,
    pub peer: PeerEnd,
    pub settings: Settings,
    pub statistics: Statistics,
}

impl Route {
    pub fn new(
        target: Target,
        discovery: Option<Discovery>,
        peer: PeerEnd,
        settings: Settings,
    ) -> Route {
        Route {
            target: RwLock::new(target),
            discovery,
            rediscovery: SingleFlight::default(),
            alternate: LastAlternate::default(),
            handshakes: Semaphore::new(HANDSHAKES),
            outage: Outage::default(),
            unsendable: Seldom::default(),
            peer,
            settings,
            statistics: Statistics::default(),
        }
    }

    pub fn target(&self) -> Target {
        let target = self.target.read().unwrap_or_else(PoisonError::into_inner);
        target.clone()
    }

    /// Makes an allocation and ends it, to see whether it would work. The peer is not connected to.
    pub async fn check(&self) -> Result<(), OpenError> {
        let (relay, peer) = self.allocate(None).await?;
        let admitted = relay.permit(&[peer]).await;
        relay.close().await;
        Ok(admitted?)
    }

    /// One attempt to make a way to the peer. `lost` is what ended the one before.
    pub async fn open(&self, lost: Option<&Lost>) -> Result<Link, OpenError> {
        let (relay, peer) = self.allocate(lost).await?;
        let opened = match self.peer.transport {
            PeerTransport::Udp => relay.bind_channel(peer).await.map(|()| None),
            PeerTransport::Tcp => relay.connect(peer).await.map(Some),
        };
        let stream = match opened {
            Ok(stream) => stream,
            Err(error) => {
                relay.close().await;
                return Err(error.into());
            }
        };
        let link = Link {
            counts: self
                .statistics
                .server(&link::server_name(&self.target(), &relay)),
            relay,
            peer,
            stream,
        };
        link.counts.allocated();
        debug!(server = %link.relay.server(), relayed = %link.relay.relayed(), "allocated");
        Ok(link)
    }
}
