//! An allocation at any of the places that may give one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stunner_client::{ClientError, Connect, Lost, Relay, RelayTransport, ServerTransport, Tls};
use tokio::time::timeout;
use tracing::info;

use super::alternate::Alternate;
use super::{OpenError, Route};
use crate::ends::PeerTransport;
use crate::server::Target;

/// A step may take the whole of the connect timeout; this much longer for all steps together.
const STEPS_MARGIN: Duration = Duration::from_secs(1);
/// RFC 8656 §19: the server has no relay address of the family.
const FAMILY_NOT_SUPPORTED: u16 = 440;

impl Route {
    pub(super) async fn allocate(
        &self,
        lost: Option<&Lost>,
    ) -> Result<(Relay, SocketAddr), OpenError> {
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
                    self.alternate.remember(Some(alternate));
                    return Ok(allocated);
                }
                Err(error) => info!("the alternate server {server} does not take over: {error}"),
            }
        }
        let servers = target.uri.resolve().await?;
        let alternate = self.alternate.recall();
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
                    self.alternate.remember(elsewhere);
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
