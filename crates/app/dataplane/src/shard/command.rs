//! What the controller and other shards may ask of a shard.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use stunner_net::dtls::DtlsContext;
use stunner_net::poll::Waker;
use stunner_net::stream::Listener;
use stunner_net::tls::TlsAcceptor;
use stunner_net::udp::UdpSocket;
use stunner_turn::server::Policy;
use stunner_turn::{AllocationId, ListenerId};
use tokio::sync::oneshot;

use super::stats::Pulse;
use super::stream::Stream;
use crate::http::Session;

/// A listening port of this process, numbered by the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PortId(pub u32);

/// What new clients of a port speak.
#[derive(Debug, Clone)]
pub enum Mode {
    Udp,
    Dtls(Arc<DtlsContext>),
    Tcp,
    Tls(Arc<TlsAcceptor>),
}

/// One shard's sockets of a port, at most one per address family.
#[derive(Debug)]
pub enum Sockets {
    Datagram(Vec<UdpSocket>),
    Stream(Vec<Listener>),
}

/// A port that this shard is to serve from now on.
#[derive(Debug)]
pub struct OpenPort {
    pub id: PortId,
    pub number: u16,
    pub sockets: Sockets,
    /// Where the shard says how many sessions came by this port.
    pub sessions: Arc<AtomicU32>,
}

/// Who owns a port and what it speaks.
#[derive(Debug, Clone)]
pub struct PortState {
    pub id: PortId,
    pub listener: ListenerId,
    /// Whether new clients are welcome; otherwise the port drains.
    pub accepting: bool,
    pub mode: Mode,
}

/// One committed configuration change, as one shard sees it. Applying it cannot fail.
#[derive(Debug)]
pub struct Update {
    pub policy: Arc<Policy>,
    pub open: Vec<OpenPort>,
    pub ports: Vec<PortState>,
    pub close: Vec<PortId>,
    pub end: Vec<ListenerId>,
}

/// What an update did to the sessions of a shard.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionCounts {
    pub live: u64,
    /// Those whose listener the update took away.
    pub ended: u64,
}

impl AddAssign for SessionCounts {
    fn add_assign(&mut self, other: Self) {
        self.live += other.live;
        self.ended += other.ended;
    }
}

#[derive(Debug)]
pub enum Command {
    Update(Box<Update>, oneshot::Sender<SessionCounts>),
    /// A client's stream that belongs to a connection of this shard (RFC 6062 ConnectionBind).
    Adopt(Box<Stream>),
    Sessions(oneshot::Sender<Vec<Session>>),
    /// How many allocations came by each listener; those without any are left out.
    CountByListener(oneshot::Sender<Vec<(ListenerId, u64)>>),
    EndSession(AllocationId, oneshot::Sender<bool>),
    /// How many allocations hold a drain.
    CountActive(oneshot::Sender<usize>),
    Stop,
}

/// The way to a running shard.
#[derive(Debug, Clone)]
pub struct ShardHandle {
    commands: mpsc::Sender<Command>,
    waker: Arc<Waker>,
    pub pulse: Arc<Pulse>,
}

impl ShardHandle {
    pub fn new(commands: mpsc::Sender<Command>, waker: Arc<Waker>, pulse: Arc<Pulse>) -> Self {
        Self {
            commands,
            waker,
            pulse,
        }
    }

    /// Leaves a command. One for a shard that has ended is lost, as are its answers.
    pub fn send(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            self.waker.wake();
        }
    }
}

/// Counts the sessions that came by a port, for the controller to close it after the last.
#[derive(Debug)]
pub struct SessionCount(Arc<AtomicU32>);

impl SessionCount {
    pub fn new(shared: Arc<AtomicU32>) -> Self {
        Self(shared)
    }

    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn remove(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
