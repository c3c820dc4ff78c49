//! Listening ports: which are open, who owns them, and when a drained one may close.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stunner_config::PeerTransport;
use stunner_net::stream::{self, ListenOptions};
use stunner_net::udp::{UdpOptions, UdpSocket};
use stunner_turn::ListenerId;

use crate::embed::Claim;
use crate::shard::{Mode, OpenPort, PortId, PortState, Sockets};

/// A port this process listens on, with one set of sockets per shard.
///
/// The sockets of all shards open and close together: the kernel spreads clients over a
/// SO_REUSEPORT group by its size, so a group that lost one socket would move clients between shards.
#[derive(Debug)]
pub struct Port {
    pub transport: PeerTransport,
    pub number: u16,
    /// The listener that new clients belong to; a port without one drains.
    pub owner: Option<ListenerId>,
    /// The last owner.
    pub listener: ListenerId,
    pub mode: Mode,
    sessions: Vec<Arc<AtomicU32>>,
    /// Keeps other dataplanes of this process away.
    _claim: Claim,
}

impl Port {
    /// Sessions that came by this port and live.
    pub fn sessions(&self) -> u32 {
        self.sessions
            .iter()
            .map(|shard| shard.load(Ordering::Relaxed))
            .sum()
    }
}

/// Sockets that are bound but not yet served: dropping them undoes the binding.
#[derive(Debug)]
pub struct BoundPort {
    claim: Claim,
    by_shard: Vec<Sockets>,
}

impl BoundPort {
    /// Binds a port on these local addresses, else on all of both families, once per shard.
    pub fn bind(claim: Claim, addresses: &[IpAddr], shards: usize) -> io::Result<Self> {
        let transport = claim.transport();
        let addresses = match addresses {
            [] => probe(transport, claim.number(), &WILDCARDS)?,
            addresses => probe(transport, claim.number(), addresses)?,
        };
        let by_shard = (0..shards)
            .map(|_| bind_set(transport, &addresses))
            .collect::<io::Result<_>>()?;
        Ok(Self { claim, by_shard })
    }
}

/// All open ports, by number.
#[derive(Debug, Default)]
pub struct PortTable {
    ports: BTreeMap<u32, Port>,
    next: u32,
}

impl PortTable {
    pub fn find(&self, transport: PeerTransport, number: u16) -> Option<PortId> {
        self.ports
            .iter()
            .find(|(_, port)| port.transport == transport && port.number == number)
            .map(|(id, _)| PortId(*id))
    }

    pub fn get(&self, id: PortId) -> Option<&Port> {
        self.ports.get(&id.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (PortId, &Port)> {
        self.ports.iter().map(|(id, port)| (PortId(*id), port))
    }

    /// Takes a bound port in; the result has what each shard is to open.
    pub fn open(&mut self, bound: BoundPort, listener: ListenerId, mode: Mode) -> Vec<OpenPort> {
        let id = PortId(self.next);
        self.next += 1;
        let sessions: Vec<Arc<AtomicU32>> = bound.by_shard.iter().map(|_| Arc::default()).collect();
        let opened = bound
            .by_shard
            .into_iter()
            .zip(&sessions)
            .map(|(sockets, sessions)| OpenPort {
                id,
                number: bound.claim.number(),
                sockets,
                sessions: Arc::clone(sessions),
            })
            .collect();
        self.ports.insert(
            id.0,
            Port {
                transport: bound.claim.transport(),
                number: bound.claim.number(),
                owner: Some(listener),
                listener,
                mode,
                sessions,
                _claim: bound.claim,
            },
        );
        opened
    }

    /// Gives an open port to a listener, or to nobody.
    pub fn assign(&mut self, id: PortId, owner: Option<(ListenerId, Mode)>) {
        let Some(port) = self.ports.get_mut(&id.0) else {
            return;
        };
        port.owner = owner.as_ref().map(|(listener, _)| *listener);
        if let Some((listener, mode)) = owner {
            port.listener = listener;
            port.mode = mode;
        }
    }

    /// Takes out the ports that nobody owns and nobody uses. They are to be closed before they are dropped: then
    /// another dataplane may have them.
    pub fn take_drained(&mut self) -> Vec<(PortId, Port)> {
        let drained: Vec<u32> = self
            .ports
            .iter()
            .filter(|(_, port)| port.owner.is_none() && port.sessions() == 0)
            .map(|(id, _)| *id)
            .collect();
        drained
            .into_iter()
            .filter_map(|id| Some((PortId(id), self.ports.remove(&id)?)))
            .collect()
    }

    pub fn states(&self) -> Vec<PortState> {
        self.iter()
            .map(|(id, port)| PortState {
                id,
                listener: port.listener,
                accepting: port.owner.is_some(),
                mode: port.mode.clone(),
            })
            .collect()
    }
}

const WILDCARDS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    IpAddr::V6(Ipv6Addr::UNSPECIFIED),
];

/// Which of the addresses can be bound. SO_REUSEPORT would let us share a port with another
/// process of ours without a word, so each is bound without it first.
fn probe(
    transport: PeerTransport,
    number: u16,
    addresses: &[IpAddr],
) -> io::Result<Vec<SocketAddr>> {
    let mut free = Vec::with_capacity(addresses.len());
    let mut absent = None;
    for address in addresses {
        let address = SocketAddr::new(*address, number);
        let bound = match transport {
            PeerTransport::Udp => {
                let options = UdpOptions {
                    reuse_port: false,
                    ..UdpOptions::listener()
                };
                UdpSocket::bind(address, &options).map(drop)
            }
            PeerTransport::Tcp => {
                let options = ListenOptions {
                    reuse_port: false,
                    ..ListenOptions::default()
                };
                stream::listen(address, &options).map(drop)
            }
        };
        match bound {
            Ok(()) => free.push(address),
            Err(error) if is_family_absent(&error) => absent = Some(error),
            Err(error) => return Err(error),
        }
    }
    match absent {
        Some(error) if free.is_empty() => Err(error),
        _ => Ok(free),
    }
}

/// Hosts without IPv6 (or without IPv4) serve the family they have.
fn is_family_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

fn bind_set(transport: PeerTransport, addresses: &[SocketAddr]) -> io::Result<Sockets> {
    Ok(match transport {
        PeerTransport::Udp => Sockets::Datagram(
            addresses
                .iter()
                .map(|address| UdpSocket::bind(*address, &UdpOptions::listener()))
                .collect::<io::Result<_>>()?,
        ),
        PeerTransport::Tcp => Sockets::Stream(
            addresses
                .iter()
                .map(|address| stream::listen(*address, &ListenOptions::default()))
                .collect::<io::Result<_>>()?,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Host;

    fn bind(transport: PeerTransport, number: u16) -> io::Result<BoundPort> {
        let claim = Host::with_open_files(1000)
            .join("test")
            .claim(transport, number);
        BoundPort::bind(claim.expect("a host of its own"), &[], 2)
    }

    #[test]
    fn a_port_that_somebody_has_is_not_shared_though_its_sockets_could_be() {
        for transport in [PeerTransport::Udp, PeerTransport::Tcp] {
            let (number, held) = (20_000..30_000)
                .find_map(|number| Some((number, bind(transport, number).ok()?)))
                .unwrap();
            let error = bind(transport, number).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
            drop(held);
            bind(transport, number).unwrap();
        }
    }

    #[test]
    fn a_port_drains_without_an_owner_and_goes_after_its_last_session() {
        let (number, bound) = (20_000..30_000)
            .find_map(|n| Some((n, bind(PeerTransport::Udp, n).ok()?)))
            .unwrap();
        let mut table = PortTable::default();
        let opened = table.open(bound, ListenerId(1), Mode::Udp);
        let id = opened[0].id;
        opened[1].sessions.fetch_add(1, Ordering::Relaxed);
        assert_eq!(table.find(PeerTransport::Udp, number), Some(id));

        table.assign(id, None);
        assert!(table.take_drained().is_empty(), "a session is left");
        opened[1].sessions.fetch_sub(1, Ordering::Relaxed);
        let drained = table.take_drained();
        assert_eq!(drained.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [id]);
        assert_eq!(table.find(PeerTransport::Udp, number), None);
    }
}
