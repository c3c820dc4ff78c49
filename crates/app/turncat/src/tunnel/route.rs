//! The way to the peer: which server, which login, which peer.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stunner_client::{
    ClientError, Connect, Lost, PeerStream, Relay, RelayTransport, ServerTransport, ServerUri, Tls,
};
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::backoff;
use super::outage::Outage;
use super::statistics::{Counts, Statistics};
use crate::ends::{PeerEnd, PeerTransport};
use crate::server::{Discovery, Target};

/// A step may take the whole of the connect timeout; this much longer for all steps together.
const STEPS_MARGIN: Duration = Duration::from_secs(1);
/// Servers hold only so many handshakes of one source at once, and drop the rest: those would wait for a repetition.
const HANDSHAKES: usize = 32;
/// RFC 8656 §19: the server has no relay address of the family.
const FAMILY_NOT_SUPPORTED: u16 = 440;

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

/// Why no allocation could be made.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("no answer from {server} within {} s", .waited.as_secs_f32())]
    Slow { server: String, waited: Duration },
    #[error("cannot resolve the peer `{peer}`")]
    PeerName { peer: String, source: io::Error },
}

impl OpenError {
    pub fn hint(&self) -> String {
        match self {
            OpenError::Client(ClientError::Unauthorized { username: None, .. }) => {
                "write user and password into the server's URI, `turn://USER:PASSWORD@HOST:PORT`, or give `--secret`"
                    .to_owned()
            }
            OpenError::Client(error) => error.hint(),
            OpenError::Slow { .. } => {
                "check the address, port and transport, and that firewalls on the way let it pass".to_owned()
            }
            OpenError::PeerName { .. } => {
                "names of peers are resolved on this host, not by the server: use the peer's IP address".to_owned()
            }
        }
    }

    /// Whether the same attempt would fail again however often it is made.
    fn is_final(&self) -> bool {
        match self {
            OpenError::Client(error) => match error {
                ClientError::Certificate { .. }
                | ClientError::Unauthorized { .. }
                | ClientError::Misuse(_) => true,
                // What is full or starting may change; what is forbidden or unknown does not. A peer that refuses a
                // connection (447) is for the client to try again.
                ClientError::Refused { code, .. } => {
                    *code < 500 && !matches!(code, 437 | 438 | 446 | 486)
                }
                _ => false,
            },
            OpenError::Slow { .. } | OpenError::PeerName { .. } => false,
        }
    }

    /// Whether no server said anything.
    fn is_silence(&self) -> bool {
        match self {
            OpenError::Client(error) => matches!(
                error,
                ClientError::Timeout { .. }
                    | ClientError::NothingListens { .. }
                    | ClientError::Unreachable { .. }
                    | ClientError::Closed { .. }
                    | ClientError::Resolve { .. }
            ),
            OpenError::Slow { .. } => true,
            OpenError::PeerName { .. } => false,
        }
    }
}

/// A server that another one names in its place.
#[derive(Debug, Clone)]
struct Alternate {
    server: SocketAddr,
    /// The name that its certificate is made out to, where it was told.
    domain: Option<String>,
}

/// An allocation that leads to the peer.
#[derive(Debug)]
pub struct Link {
    pub relay: Relay,
    /// The address of the peer that this link leads to.
    pub peer: SocketAddr,
    /// The connection to a TCP peer.
    pub stream: Option<PeerStream>,
    pub counts: Arc<Counts>,
}

impl Link {
    /// Ends the allocation, and counts what it lost.
    pub async fn close(self) {
        self.counts.dropped(self.relay.dropped());
        self.relay.close().await;
    }
}

/// The way from here to the peer; one for all sessions.
#[derive(Debug)]
pub struct Route {
    target: RwLock<Target>,
    /// Where the target comes from, if it is a Gateway's.
    discovery: Option<Discovery>,
    /// Where a server that drains sent us last: the place to go once nothing is left of it.
    alternate: Mutex<Option<Alternate>>,
    handshakes: Semaphore,
    pub(super) outage: Outage,
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
            alternate: Mutex::default(),
            handshakes: Semaphore::new(HANDSHAKES),
            outage: Outage::default(),
            peer,
            settings,
            statistics: Statistics::default(),
        }
    }

    pub fn target(&self) -> Target {
        let target = self.target.read().unwrap_or_else(PoisonError::into_inner);
        target.clone()
    }

    /// Looks whether a Gateway has moved or changed its credentials.
    async fn rediscover(&self) {
        let Some(discovery) = &self.discovery else {
            return;
        };
        match timeout(self.settings.connect_timeout, discovery.target()).await {
            Ok(Ok(target)) => {
                *self.target.write().unwrap_or_else(PoisonError::into_inner) = target;
            }
            Ok(Err(error)) => info!("config discovery tells nothing new: {error}"),
            Err(_) => info!("config discovery does not answer"),
        }
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
            counts: self.statistics.server(&name(&self.target(), &relay)),
            relay,
            peer,
            stream,
        };
        link.counts.allocated();
        debug!(server = %link.relay.server(), relayed = %link.relay.relayed(), "allocated");
        Ok(link)
    }

    async fn allocate(&self, lost: Option<&Lost>) -> Result<(Relay, SocketAddr), OpenError> {
        let target = self.target();
        // Never closed. Waiting for one's turn is not waiting for the server.
        let _turn = match target.uri.transport {
            ServerTransport::Tls | ServerTransport::Dtls => self.handshakes.acquire().await.ok(),
            ServerTransport::Udp | ServerTransport::Tcp => None,
        };
        let whole = self.settings.connect_timeout + STEPS_MARGIN;
        let allocated = timeout(whole, self.allocate_at_any(&target, lost)).await;
        allocated.unwrap_or_else(|_| {
            Err(OpenError::Slow {
                server: target.uri.to_string(),
                waited: whole,
            })
        })
    }

    /// Tries the server that a drained one names, then each address of the target, then where that sent us before.
    async fn allocate_at_any(
        &self,
        target: &Target,
        lost: Option<&Lost>,
    ) -> Result<(Relay, SocketAddr), OpenError> {
        let peers = self.peers().await?;
        if let Some(Lost::Draining {
            alternate: Some(server),
            domain,
        }) = lost
        {
            let (server, domain) = (*server, domain.clone());
            let alternate = Alternate { server, domain };
            let connect = self.connect(target, server, alternate.domain.as_deref());
            match self.allocate_at(target, connect, &peers).await {
                Ok(allocated) => {
                    self.remember(Some(alternate));
                    return Ok(allocated);
                }
                Err(error) => info!("the alternate server {server} does not take over: {error}"),
            }
        }
        let servers = target.uri.resolve().await?;
        let alternate = self.alternate();
        let places = servers.len() + usize::from(alternate.is_some());
        let share = u32::try_from(places).unwrap_or(u32::MAX);
        let mut failure = None;
        for server in &servers {
            let mut connect = self.connect(target, *server, None);
            connect.timeout /= share;
            match self.allocate_at(target, connect, &peers).await {
                Ok((relay, peer)) => {
                    let elsewhere = (relay.server() != *server).then(|| Alternate {
                        server: relay.server(),
                        domain: relay.server_name().map(str::to_owned),
                    });
                    self.remember(elsewhere);
                    return Ok((relay, peer));
                }
                Err(error) if error.is_final() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if let Some(Alternate { server, domain }) = alternate {
            let mut connect = self.connect(target, server, domain.as_deref());
            connect.timeout /= share;
            match self.allocate_at(target, connect, &peers).await {
                Ok(allocated) => return Ok(allocated),
                Err(error) => info!("the alternate server {server} does not take over: {error}"),
            }
        }
        Err(failure.unwrap_or_else(|| nothing_there(target)))
    }

    fn alternate(&self) -> Option<Alternate> {
        let alternate = self.alternate.lock();
        alternate.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, alternate: Option<Alternate>) {
        *self
            .alternate
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = alternate;
    }

    async fn allocate_at(
        &self,
        target: &Target,
        connect: Connect,
        peers: &[SocketAddr],
    ) -> Result<(Relay, SocketAddr), OpenError> {
        let transport = match self.peer.transport {
            PeerTransport::Udp => RelayTransport::Udp,
            PeerTransport::Tcp => RelayTransport::Tcp,
        };
        let mut refused = None;
        for peer in peers {
            let options = connect.options_for(*peer, transport);
            match Relay::allocate(connect.clone(), options).await {
                Ok(relay) => return Ok((relay, *peer)),
                // Another address of the peer may be of the family that the server has.
                Err(
                    error @ ClientError::Refused {
                        code: FAMILY_NOT_SUPPORTED,
                        ..
                    },
                ) => {
                    refused = refused.or(Some(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused.map_or_else(|| nothing_there(target), OpenError::from))
    }

    /// How to connect to one address; `domain` is the name that an alternate server's certificate is made out to.
    fn connect(&self, target: &Target, server: SocketAddr, domain: Option<&str>) -> Connect {
        let named = |host: &str| host.parse::<IpAddr>().is_err().then(|| host.to_owned());
        let sni = self.settings.sni.clone();
        let mut connect = Connect::new(server, target.uri.transport);
        connect.tls = Tls {
            sni: sni.or_else(|| named(domain.unwrap_or(&target.uri.host))),
            insecure: self.settings.insecure,
            ..Tls::default()
        };
        connect.credentials = target.login.credentials(unix_time());
        connect.timeout = self.settings.connect_timeout;
        connect
    }

    async fn peers(&self) -> Result<Vec<SocketAddr>, OpenError> {
        let resolved = self.peer.place.resolve().await;
        let mut peers = resolved.map_err(|source| OpenError::PeerName {
            peer: self.peer.place.host.clone(),
            source,
        })?;
        // One of each family is enough: the server decides by family.
        let mut seen = [false; 2];
        peers.retain(|peer| !std::mem::replace(&mut seen[usize::from(peer.is_ipv6())], true));
        Ok(peers)
    }

    /// Attempts until one works, one fails for good, or the time is up.
    pub async fn reopen(&self, lost: Option<&Lost>) -> Result<Link, OpenError> {
        let deadline = tokio::time::Instant::now() + self.settings.reconnect_timeout;
        let mut attempt = 0;
        loop {
            let error = match self.open(lost).await {
                Ok(link) => {
                    self.outage.ends(link.relay.server());
                    return Ok(link);
                }
                Err(error) => error,
            };
            let wait = backoff::delay(attempt, rand::random());
            let known = self.target();
            self.rediscover().await;
            let is_final = error.is_final() && known == self.target();
            if is_final || tokio::time::Instant::now() + wait > deadline {
                return Err(error);
            }
            match error.is_silence() {
                true => self.outage.begins(&error),
                false if attempt == 0 => warn!("{error}; trying again"),
                false => {}
            }
            info!("trying again in {wait:?}: {error}");
            sleep(wait).await;
            attempt += 1;
        }
    }
}

/// As a URI; by its address where a server named another one.
fn name(target: &Target, relay: &Relay) -> String {
    let server = relay.server();
    let itself = match target.uri.host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, target.uri.port) == server,
        Err(_) => target.uri.port == server.port(),
    };
    match itself {
        true => target.uri.to_string(),
        false => ServerUri {
            host: server.ip().to_string(),
            port: server.port(),
            ..target.uri.clone()
        }
        .to_string(),
    }
}

fn nothing_there(target: &Target) -> OpenError {
    OpenError::Client(ClientError::Resolve {
        host: target.uri.host.clone(),
        source: io::Error::new(io::ErrorKind::NotFound, "the name has no address"),
    })
}

fn unix_time() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
