//! Relay sockets of live allocations, and datagrams that peers send to them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stunner_config::PeerTransport;
use stunner_net::stream::Listener;
use stunner_net::udp::{RecvBatch, SendBatch, UdpSocket};
use stunner_turn::server::{FromPeer, RelayHeader, ToClient};
use stunner_turn::{AllocationId, ClientTransport};

use super::core::Core;
use super::token::{Kind, Token};
use crate::shared::RelayPortPool;

/// Datagrams (or groups of them) read from one relay before the next has its turn.
const PER_RELAY: usize = 16;

/// At most one socket of each address family.
#[derive(Debug)]
pub struct Pair<S> {
    pub v4: Option<S>,
    pub v6: Option<S>,
}

impl<S> Pair<S> {
    /// A pair with one socket.
    pub fn one(socket: S, ipv6: bool) -> Self {
        match ipv6 {
            false => Self {
                v4: Some(socket),
                v6: None,
            },
            true => Self {
                v4: None,
                v6: Some(socket),
            },
        }
    }

    pub fn get(&self, ipv6: bool) -> Option<&S> {
        if ipv6 { &self.v6 } else { &self.v4 }.as_ref()
    }

    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.v4.iter().chain(&self.v6)
    }

    fn take(&mut self, ipv6: bool) -> Option<S> {
        if ipv6 { &mut self.v6 } else { &mut self.v4 }.take()
    }
}

/// The sockets of one allocation: UDP, or the listening sockets of an RFC 6062 allocation.
#[derive(Debug)]
pub enum Relay {
    Udp(Pair<UdpSocket>),
    Tcp(Pair<Listener>),
}

impl Relay {
    pub fn udp(&self, ipv6: bool) -> Option<&UdpSocket> {
        match self {
            Self::Udp(sockets) => sockets.get(ipv6),
            Self::Tcp(_) => None,
        }
    }

    pub fn tcp(&self, ipv6: bool) -> Option<&Listener> {
        match self {
            Self::Tcp(sockets) => sockets.get(ipv6),
            Self::Udp(_) => None,
        }
    }

    /// Closes the socket of one family and gives its port back.
    pub fn close(&mut self, pool: &RelayPortPool, ipv6: bool) {
        let closed = match self {
            Self::Udp(sockets) => {
                let port = sockets.take(ipv6).map(|socket| socket.local_addr().port());
                (PeerTransport::Udp, port)
            }
            Self::Tcp(sockets) => {
                let port = sockets.take(ipv6).map(|socket| socket.local_addr().port());
                (PeerTransport::Tcp, port)
            }
        };
        if let (transport, Some(port)) = closed {
            pool.closed(transport, port);
        }
    }

    pub fn close_all(mut self, pool: &RelayPortPool) {
        self.close(pool, false);
        self.close(pool, true);
    }
}

/// Relays by the index of their allocation.
#[derive(Debug, Default)]
pub struct RelayTable {
    entries: Vec<Option<(AllocationId, Relay)>>,
}

impl RelayTable {
    pub fn insert(&mut self, allocation: AllocationId, relay: Relay) {
        let index = allocation.index as usize;
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some((allocation, relay));
    }

    pub fn at(&self, index: u32) -> Option<(AllocationId, &Relay)> {
        let (allocation, relay) = self.entries.get(index as usize)?.as_ref()?;
        Some((*allocation, relay))
    }

    pub fn get_mut(&mut self, allocation: AllocationId) -> Option<&mut Relay> {
        match self.entries.get_mut(allocation.index as usize)? {
            Some((id, relay)) if *id == allocation => Some(relay),
            _ => None,
        }
    }

    pub fn remove(&mut self, allocation: AllocationId) -> Option<Relay> {
        self.get_mut(allocation)?;
        self.entries[allocation.index as usize]
            .take()
            .map(|(_, relay)| relay)
    }
}

/// Relay sockets with datagrams waiting, in the order they became readable.
#[derive(Debug, Default)]
pub struct ReadyRelays {
    queue: VecDeque<(u32, bool)>,
    /// What the last round read: allocation, first slot, count.
    read: Vec<(AllocationId, usize, usize)>,
}

impl ReadyRelays {
    pub fn push(&mut self, index: u32, ipv6: bool) {
        self.queue.push_back((index, ipv6));
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Reads from waiting relays until the slots are full or nothing waits, then sends it all on.
/// A relay that filled its share stays in the queue: with edge-triggered polling nobody would
/// report it again.
pub fn read_relays(core: &mut Core, rx: &mut RecvBatch, tx: &mut SendBatch) {
    let mut ready = std::mem::take(&mut core.ready_relays);
    ready.read.clear();
    let mut slot = 0;
    while slot + PER_RELAY <= rx.slots() {
        let Some((index, ipv6)) = ready.queue.pop_front() else {
            break;
        };
        let Some((allocation, relay)) = core.relays.at(index) else {
            continue;
        };
        let Some(socket) = relay.udp(ipv6) else {
            continue;
        };
        match rx.recv(socket, slot, PER_RELAY) {
            Ok(count) => {
                ready.read.push((allocation, slot, count));
                slot += count;
                if count == PER_RELAY {
                    ready.queue.push_back((index, ipv6));
                }
            }
            // The next datagram raises a new edge, so nothing is stuck for good.
            Err(error) => tracing::warn!(scope = "turn", "cannot read from a relay: {error}"),
        }
    }
    relay_to_clients(core, rx, tx, &ready.read);
    core.ready_relays = ready;
}

fn relay_to_clients(
    core: &mut Core,
    rx: &RecvBatch,
    tx: &mut SendBatch,
    read: &[(AllocationId, usize, usize)],
) {
    let mut batch = ClientBatch {
        out: tx.begin(),
        run: None,
    };
    for &(allocation, first, count) in read {
        for slot in first..first + count {
            let received = rx.get(slot);
            for datagram in received.datagrams() {
                match core
                    .server
                    .from_peer(core.now, allocation, received.from, datagram.len())
                {
                    FromPeer::Relay(to) => {
                        core.cluster(to.cluster).received(1, datagram.len() as u64);
                        batch.push(core, &to, datagram);
                    }
                    FromPeer::Dropped(_) => core.run_effects(),
                }
            }
        }
    }
    batch.flush(core);
}

/// Datagrams for clients, collected while they leave by the same socket.
struct ClientBatch<'s, 'p> {
    out: stunner_net::udp::Outgoing<'s, 'p>,
    /// Port and family of the socket that `out` is for.
    run: Option<(u32, bool)>,
}

impl<'p> ClientBatch<'_, 'p> {
    fn push(&mut self, core: &mut Core, to: &ToClient, payload: &'p [u8]) {
        let mut prefix = [0; RelayHeader::MAX];
        let tuple = &to.path.tuple;
        // Clients built on pion wait for the padding of ChannelData over DTLS too (RFC 8656 §12.5
        // allows it on any transport), so only plain UDP goes without.
        let padded = tuple.transport != ClientTransport::Udp;
        let (len, pad) = to.header.write(payload.len(), padded, &mut prefix);
        let prefix = &prefix[..len];
        core.listener(to.path.listener)
            .sent(1, (len + payload.len() + pad) as u64);
        let Some(token) = Token::of_link(to.path.link) else {
            return;
        };
        match tuple.transport {
            ClientTransport::Udp => {
                let run = (token.index, token.ipv6);
                if self.run != Some(run) {
                    self.flush(core);
                    self.run = Some(run);
                }
                if self
                    .out
                    .push(tuple.client, Some(tuple.local.ip()), prefix, payload, pad)
                    .is_err()
                {
                    core.tally.too_big += 1;
                }
            }
            ClientTransport::Tcp | ClientTransport::Tls => {
                core.queue_for_stream(token.index, &[prefix, payload, &[0; 3][..pad]], true);
            }
            ClientTransport::Dtls => core.send_over_dtls(token.index, prefix, payload, pad),
        }
    }

    fn flush(&mut self, core: &mut Core) {
        let Some((port, ipv6)) = self.run.take() else {
            return;
        };
        if let Some(socket) = core.ports.datagram_socket(port, ipv6) {
            core.tally.sends += self.out.flush(socket);
        }
    }
}

/// Where a relay's readiness is reported.
pub fn relay_token(
    allocation: AllocationId,
    socket: SocketAddr,
    transport: PeerTransport,
) -> Token {
    let kind = match transport {
        PeerTransport::Udp => Kind::Relay,
        PeerTransport::Tcp => Kind::RelayAccept,
    };
    Token::for_family(kind, allocation.index, socket.is_ipv6())
}
