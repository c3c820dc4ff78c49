//! The state of a shard, apart from the packet buffers.
//!
//! Buffers are kept outside so that packets which lie in them can be handled while the state changes.

use std::sync::Arc;

use stunner_config::admission::ClusterId;
use stunner_net::poll::{Interest, Poller};
use stunner_net::udp::SendBatch;
use stunner_telemetry::metrics::{
    ClusterCells, ClusterIndex, ListenerCells, ListenerIndex, ShardMetrics,
};
use stunner_turn::server::{ConnectionId, RequestId, Server};
use stunner_turn::{AllocationId, ListenerId, Now};

use super::command::{Mode, OpenPort, PortState, SessionCounts, Sockets, Update};
use super::dtls::DtlsTable;
use super::peers::Peers;
use super::ports::{Port, Ports};
use super::relay::{ReadyRelays, Relay, RelayTable};
use super::stats::{Pulse, Tally};
use super::streams::Streams;
use super::token::{Kind, Token};
use crate::clock::Clock;
use crate::shared::Shared;

/// Hash maps keyed by what a network peer may choose: seeded at random.
pub type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// Bytes read from a stream in one go.
const SCRATCH: usize = 64 << 10;

/// Everything a shard owns.
#[derive(Debug)]
pub struct Core {
    pub index: u8,
    pub clock: Clock,
    /// The time of this turn of the loop.
    pub now: Now,
    pub server: Server,
    pub poller: Poller,
    pub ports: Ports,
    pub relays: RelayTable,
    /// Sockets of Allocate requests that the server has not answered yet.
    pub pending_relays: HashMap<RequestId, Relay>,
    pub ready_relays: ReadyRelays,
    pub streams: Streams,
    pub dtls: DtlsTable,
    pub peers: Peers,
    /// Pipes that used up their share of turns, or were just made.
    pub pumps: Vec<ConnectionId>,
    /// Ports whose accepting failed for want of resources.
    pub accept_later: Vec<(u32, bool)>,
    /// Set by an effect: the stream whose frame is being handled belongs to this shard.
    pub forward: Option<u8>,
    pub replies: SendBatch,
    pub scratch: Box<[u8]>,
    pub plaintext: Vec<u8>,
    /// One message being put together for encryption.
    pub scratch_message: Vec<u8>,
    pub metrics: ShardMetrics,
    pub tally: Tally,
    /// Datagrams that the kernel dropped at sockets which are closed now.
    closed_kernel_drops: u64,
    pub shared: Arc<Shared>,
    pub pulse: Arc<Pulse>,
}

impl Core {
    pub fn new(
        index: u8,
        clock: Clock,
        server: Server,
        poller: Poller,
        shared: Arc<Shared>,
        metrics: ShardMetrics,
        pulse: Arc<Pulse>,
    ) -> Self {
        Self {
            index,
            clock,
            now: clock.now(),
            server,
            poller,
            ports: Ports::default(),
            relays: RelayTable::default(),
            pending_relays: HashMap::default(),
            ready_relays: ReadyRelays::default(),
            streams: Streams::default(),
            dtls: DtlsTable::default(),
            peers: Peers::default(),
            pumps: Vec::new(),
            accept_later: Vec::new(),
            forward: None,
            replies: SendBatch::new(),
            scratch: vec![0; SCRATCH].into_boxed_slice(),
            plaintext: Vec::new(),
            scratch_message: Vec::new(),
            metrics,
            tally: Tally::default(),
            closed_kernel_drops: 0,
            shared,
            pulse,
        }
    }

    pub fn listener(&mut self, id: ListenerId) -> ListenerCells<'_> {
        self.metrics.listener(ListenerIndex(id.0))
    }

    pub fn cluster(&mut self, id: ClusterId) -> ClusterCells<'_> {
        self.metrics.cluster(ClusterIndex(id.0))
    }

    /// Puts a committed configuration change in force.
    pub fn apply(&mut self, update: Update) -> SessionCounts {
        for port in update.open {
            self.open_port(port);
        }
        self.server.set_policy(self.now, update.policy);
        self.run_effects();
        for state in update.ports {
            self.dtls.port_state(&state);
            self.count_socket(&state);
            self.ports.set_state(state);
        }
        let before = self.server.allocation_count() as u64;
        for listener in update.end {
            self.end_listener(listener);
        }
        let live = self.server.allocation_count() as u64;
        for port in update.close {
            self.closed_kernel_drops += self.ports.get(port.0).map_or(0, kernel_drops);
            self.ports.close(port);
            self.dtls.port_closed(port.0);
        }
        SessionCounts {
            live,
            ended: before.saturating_sub(live),
        }
    }

    /// A UDP listener counts as one connection while it listens, whatever the number of shards.
    fn count_socket(&mut self, state: &PortState) {
        if self.index != 0 {
            return;
        }
        let owner = |state: &PortState| {
            (state.accepting && matches!(state.mode, Mode::Udp)).then_some(state.listener)
        };
        let before = self
            .ports
            .get(state.id.0)
            .and_then(|port| owner(port.state.as_ref()?));
        let after = owner(state);
        if before != after {
            if let Some(listener) = before {
                self.listener(listener).closed();
            }
            if let Some(listener) = after {
                self.listener(listener).opened();
            }
        }
    }

    fn open_port(&mut self, port: OpenPort) {
        let result = match &port.sockets {
            Sockets::Datagram(sockets) => sockets.iter().try_for_each(|socket| {
                let ipv6 = socket.local_addr().is_ipv6();
                let token = Token::for_family(Kind::Datagram, port.id.0, ipv6);
                self.poller
                    .add(socket, token.for_poll(), Interest::Readable)
            }),
            Sockets::Stream(sockets) => sockets.iter().try_for_each(|socket| {
                let ipv6 = socket.local_addr().is_ipv6();
                let token = Token::for_family(Kind::Accept, port.id.0, ipv6);
                self.poller
                    .add(socket, token.for_poll(), Interest::Readable)
            }),
        };
        if let Err(error) = result {
            tracing::error!(
                scope = "listener",
                "cannot watch port {}: {error}",
                port.number
            );
        }
        self.ports.open(port);
    }

    /// Ends all sessions of a listener: allocations, connections and handshakes.
    fn end_listener(&mut self, listener: ListenerId) {
        self.server.end_listener(self.now, listener);
        self.run_effects();
        let streams: Vec<u32> = self
            .streams
            .slab
            .iter()
            .filter(|(_, stream)| stream.path.listener == listener)
            .map(|(index, _)| index as u32)
            .collect();
        for index in streams {
            self.close_stream(index, None);
        }
        for index in self.dtls.of_listener(listener) {
            self.close_dtls(index);
        }
    }

    /// Counts what is too dear to count at every turn of the loop.
    pub fn sweep_stats(&mut self) {
        let live: u64 = self.ports.iter().map(kernel_drops).sum();
        self.tally.kernel_drops = self.closed_kernel_drops + live;
    }

    pub fn end_session(&mut self, id: AllocationId) -> bool {
        let why = stunner_turn::server::EndReason::Killed;
        let ended = self.server.end_allocation(self.now, id, why);
        self.run_effects();
        ended
    }
}

fn kernel_drops(port: &Port) -> u64 {
    match &port.sockets {
        Sockets::Datagram(sockets) => sockets
            .iter()
            .filter_map(|socket| socket.kernel_drops().ok())
            .map(u64::from)
            .sum(),
        Sockets::Stream(_) => 0,
    }
}
