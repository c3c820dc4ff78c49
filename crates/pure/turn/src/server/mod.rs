//! The TURN server machine.
//!
//! One [`Server`] belongs to one shard and to one thread. It keeps allocations with their permissions, channels and peer
//! connections, and decides; its caller owns sockets, relay ports and quotas and does what the [`Effect`]s say.
//!
//! **Hand every packet to the machine, forward what it says to relay, and after any call that did not answer `Relay`
//! drain [`Server::next_effect`] until it is empty.**
//!
//! Choices where the RFCs leave room, or where we depart from them:
//!
//! - With authentication `none` there is STUN Binding only; every other request gets 400, as no challenge could be met.
//! - Channel numbers up to 0x7FFF are accepted (RFC 8656 §12 stops at 0x4FFF, RFC 5766 did not).
//! - An Allocate without a family gets the listener's: IPv4 where there is one (RFC 8656 §7.2), else IPv6.
//! - Data on a bound channel reaches the peer while the binding lasts, as RFC 8656 §12.6 has it; towards the client a
//!   permission is needed as well (§11.3). Both need the policy's consent, packet by packet.
//! - Requests on an allocation are proved with the credentials it was made with, expired and replaced ones included.
//! - A [`Guest`]'s allocation ends soon after the guest expires, so its lifetime may be shorter than the ten minutes that
//!   RFC 8656 §7.2 gives everybody.
//! - MOBILITY-TICKET (RFC 8016) is ignored.

mod allocate;
mod allocation;
mod answer;
mod auth;
mod channels;
mod connect;
mod credentials;
mod dispatch;
mod effect;
mod guest;
mod lifecycle;
mod nonce;
mod packets;
mod permissions;
mod permit;
mod policy;
mod queries;
mod random;
mod rate;
mod refresh;
mod relay;
mod session;
mod settings;
mod shared;
mod stats;
mod tuples;
mod verdict;
mod wheel;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use stunner_stun::{Icmp, Method};

use crate::{AllocationId, ClientPath, FiveTuple, ListenerId, Now};
use allocate::Pending;
use allocation::Allocations;
use connect::Connection;
use random::Random;
use tuples::Tuples;
use wheel::Wheel;

pub use credentials::Credentials;
pub use effect::{
    ConnectionId, Denial, Effect, RelayGrant, RelayRefusal, RelayRequest, RequestId, SessionStart,
};
pub use guest::Guest;
pub use policy::{AuthPolicy, Draining, ListenerPolicy, Policy};
pub use relay::{FromClient, FromPeer, RelayHeader, ToClient, ToPeer};
pub use session::{EndReason, SessionRecord, SessionView, Traffic};
pub use settings::Settings;
pub use shared::Shared;
pub use stats::{AuthFailure, DropReason, Stats};

/// See the [module](self).
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    shared: Arc<Shared>,
    policy: Arc<Policy>,
    /// Counts policies: verdicts of another epoch are forgotten. Never 0.
    epoch: u32,
    shard: u8,

    allocations: Allocations,
    tuples: Tuples,
    wheel: Wheel,
    /// Allocates that wait for their sockets.
    pending: HashMap<RequestId, Pending>,
    next_request: u64,
    /// Peer connections of TCP allocations, and which client connections they are bound to.
    connections: HashMap<ConnectionId, Connection>,
    bound: HashMap<FiveTuple, ConnectionId>,

    effects: VecDeque<Effect>,
    random: Random,
    stats: Stats,
}

impl Server {
    /// `seed` has to be random; `shard` is this server's number among `settings.shards`.
    pub fn new(
        settings: Settings,
        shared: Arc<Shared>,
        policy: Arc<Policy>,
        seed: [u8; 32],
        shard: u8,
    ) -> Self {
        let word = |at: usize| {
            seed[at..at + 8]
                .iter()
                .fold(0, |n, b| n << 8 | u64::from(*b))
        };
        Server {
            settings,
            shared,
            policy,
            epoch: 1,
            shard,
            allocations: Allocations::default(),
            tuples: Tuples::new(word(0)),
            wheel: Wheel::new(),
            pending: HashMap::new(),
            next_request: 0,
            connections: HashMap::new(),
            bound: HashMap::new(),
            effects: VecDeque::new(),
            random: Random::new(word(8)),
            stats: Stats::default(),
        }
    }

    /// One datagram, or one frame of a stream, from a client.
    #[inline]
    pub fn from_client<'p>(
        &mut self,
        now: Now,
        path: &ClientPath,
        bytes: &'p [u8],
    ) -> FromClient<'p> {
        // RFC 8656 §12.4: the first two bits tell STUN (00) from ChannelData (01).
        match bytes.first().map(|first| first >> 6) {
            Some(0b01) => self.channel_data(now, path, bytes),
            _ => self.message(now, path, bytes),
        }
    }

    /// A datagram of `len` bytes that arrived on a relay socket.
    #[inline]
    pub fn from_peer(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
        len: usize,
    ) -> FromPeer {
        self.datagram_from_peer(now, allocation, peer, len)
    }

    /// An ICMP error that arrived for a relay socket (RFC 8656 §11.5): the client learns of it if it may talk to the
    /// peer at all.
    pub fn icmp_from_peer(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
        icmp: Icmp,
    ) {
        let Some(found) = self.allocations.get(allocation) else {
            return;
        };
        let permission = found.permissions.get(peer.ip());
        if permission.is_some_and(|permission| permission.expires > now.millis) {
            let path = found.path;
            self.indicate(path, Method::DATA, peer, |writer| {
                writer.icmp(icmp);
            });
        }
    }

    /// The next thing to do.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Server::on_timeout`] wants to be called, in monotonic milliseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        self.wheel.next_deadline()
    }

    /// Ends what has run out.
    pub fn on_timeout(&mut self, now: Now) {
        while let Some(index) = self.wheel.pop(now.millis) {
            self.expire(now, index);
        }
        self.stats.timer_operations = self.wheel.operations();
    }

    /// Puts another policy in force. Live allocations stay; what it admits counts from the next packet on, and peer
    /// connections that it does not admit are closed.
    pub fn set_policy(&mut self, now: Now, policy: Arc<Policy>) {
        let _ = now;
        self.policy = policy;
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        self.recheck_connections();
    }

    /// The answer to [`Effect::OpenRelay`], now or later.
    pub fn relay_opened(
        &mut self,
        now: Now,
        request: RequestId,
        result: Result<RelayGrant, RelayRefusal>,
    ) {
        self.relay_opened_for(now, request, result);
    }

    /// A client's connection or DTLS session has gone: its allocation ends.
    pub fn client_closed(&mut self, now: Now, tuple: &FiveTuple) {
        self.end_tuple(now, tuple);
    }

    /// A listener was removed: its allocations end.
    pub fn end_listener(&mut self, now: Now, listener: ListenerId) {
        self.end_all_of(now, listener);
    }

    /// Ends one allocation; `false` when there is none of this id.
    pub fn end_allocation(&mut self, now: Now, id: AllocationId, why: EndReason) -> bool {
        let exists = self.allocations.get(id).is_some();
        self.end(now, id, why);
        exists
    }

    /// The answer to [`Effect::ConnectPeer`].
    pub fn peer_connected(&mut self, now: Now, connection: ConnectionId, result: Result<(), ()>) {
        self.connected(now, connection, result);
    }

    /// A peer connected to the relayed address of a TCP allocation; `None` when it is not welcome and has to be closed.
    pub fn peer_accepted(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
    ) -> Option<ConnectionId> {
        self.accepted(now, allocation, peer)
    }

    /// Bytes passed through a bound peer connection.
    pub fn connection_traffic(
        &mut self,
        now: Now,
        connection: ConnectionId,
        to_peer: usize,
        to_client: usize,
    ) {
        let owner = self.connections.get(&connection).map(|c| c.allocation);
        if let Some(allocation) = owner.and_then(|id| self.allocations.get_mut(id)) {
            allocation.last_traffic = now.millis;
            if to_peer > 0 {
                allocation.to_peer.add(to_peer);
            }
            if to_client > 0 {
                allocation.to_client.add(to_client);
            }
        }
    }

    /// A peer connection has closed. The client's data connection, where there is one, is closed too.
    pub fn peer_closed(&mut self, now: Now, connection: ConnectionId) {
        let _ = now;
        self.close_connection(connection, false);
    }

    /// The live allocations.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView<'_>> {
        self.allocations
            .iter()
            .map(|(allocation, inner)| SessionView { allocation, inner })
    }

    pub fn allocation_count(&self) -> usize {
        self.allocations.len()
    }

    /// Allocations with traffic within the last `stale_after_ms`: those that a drain waits for.
    pub fn active_allocation_count(&self, now: Now, stale_after_ms: u64) -> usize {
        let fresh =
            |a: &allocation::Allocation| now.millis.saturating_sub(a.last_traffic) < stale_after_ms;
        self.allocations.iter().filter(|(_, a)| fresh(a)).count()
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
