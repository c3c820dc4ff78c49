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
//! - MOBILITY-TICKET (RFC 8016) is ignored.

mod allocation;
mod channels;
mod credentials;
mod effect;
mod nonce;
mod permissions;
mod policy;
mod rate;
mod relay;
mod session;
mod settings;
mod shared;
mod stats;
mod verdict;
mod wheel;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use stunner_stun::Icmp;

use crate::{AllocationId, ClientPath, FiveTuple, ListenerId, Now};

pub use credentials::Credentials;
pub use effect::{
    ConnectionId, Denial, Effect, RelayGrant, RelayRefusal, RelayRequest, RequestId, SessionStart,
};
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
    shard: u8,
    allocations: allocation::Allocations,
    effects: VecDeque<Effect>,
    wheel: wheel::Wheel,
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
        let _ = seed;
        Server {
            settings,
            shared,
            policy,
            shard,
            allocations: Default::default(),
            effects: VecDeque::new(),
            wheel: wheel::Wheel::new(),
            stats: Stats::default(),
        }
    }

    /// One datagram, or one frame of a stream, from a client.
    pub fn from_client<'p>(
        &mut self,
        now: Now,
        path: &ClientPath,
        bytes: &'p [u8],
    ) -> FromClient<'p> {
        let _ = (now, path, bytes);
        FromClient::Handled
    }

    /// A datagram of `len` bytes that arrived on a relay socket.
    pub fn from_peer(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
        len: usize,
    ) -> FromPeer {
        let _ = (now, allocation, peer, len);
        FromPeer::Dropped(DropReason::NoAllocation)
    }

    /// An ICMP error that arrived for a relay socket (RFC 8656 §11.5).
    pub fn icmp_from_peer(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
        icmp: Icmp,
    ) {
        let _ = (now, allocation, peer, icmp);
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
        let _ = now;
    }

    /// Puts another policy in force. Live allocations stay.
    pub fn set_policy(&mut self, now: Now, policy: Arc<Policy>) {
        let _ = now;
        self.policy = policy;
    }

    /// The answer to [`Effect::OpenRelay`], now or later.
    pub fn relay_opened(
        &mut self,
        now: Now,
        request: RequestId,
        result: Result<RelayGrant, RelayRefusal>,
    ) {
        let _ = (now, request, result);
    }

    /// A client's connection or DTLS session has gone.
    pub fn client_closed(&mut self, now: Now, tuple: &FiveTuple) {
        let _ = (now, tuple);
    }

    /// A listener was removed: its allocations end.
    pub fn end_listener(&mut self, now: Now, listener: ListenerId) {
        let _ = (now, listener);
    }

    /// Ends one allocation; `false` when there is none of this id.
    pub fn end_allocation(&mut self, now: Now, id: AllocationId, why: EndReason) -> bool {
        let _ = (now, id, why);
        false
    }

    /// The answer to [`Effect::ConnectPeer`].
    pub fn peer_connected(&mut self, now: Now, connection: ConnectionId, result: Result<(), ()>) {
        let _ = (now, connection, result);
    }

    /// A peer connected to the relayed address of a TCP allocation; `None` when it is not welcome and has to be closed.
    pub fn peer_accepted(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
    ) -> Option<ConnectionId> {
        let _ = (now, allocation, peer);
        None
    }

    /// Bytes passed through a bound peer connection.
    pub fn connection_traffic(
        &mut self,
        now: Now,
        connection: ConnectionId,
        to_peer: usize,
        to_client: usize,
    ) {
        let _ = (now, connection, to_peer, to_client);
    }

    /// A peer connection, or the client's data connection bound to it, has closed.
    pub fn peer_closed(&mut self, now: Now, connection: ConnectionId) {
        let _ = (now, connection);
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
