//! What happened to sessions, for the log, the admin API and its event stream.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use stunner_config::PeerTransport;
use stunner_config::admission::{ClusterId, Rule};
use stunner_turn::server::{AuthFailure, Denial, Policy, SessionRecord, SessionStart, Traffic};
use stunner_turn::{ClientPath, ClientTransport, ListenerId};
use tokio::sync::broadcast;

use crate::control::Names;
use crate::http::{self, ClientTransportName, DenialRecord, Event, EventKind, RelayTransportName};
use crate::shard::session_id;

/// Denials that the admin API remembers.
const REMEMBERED_DENIALS: usize = 256;
/// Events that a slow reader of the stream may lag behind.
const EVENT_BACKLOG: usize = 1024;

#[derive(Debug, Default)]
struct Denials {
    recent: VecDeque<DenialRecord>,
    counts_by_listener: HashMap<ListenerId, u64>,
}

/// Tells everybody who listens. Only allocations, denials and failures come by here, never packets.
#[derive(Debug)]
pub struct Journal {
    names: Arc<Mutex<Names>>,
    /// What the running policy says, to name the rule that came nearest to admitting a denied peer.
    policy: ArcSwapOption<Policy>,
    denials: Mutex<Denials>,
    events: broadcast::Sender<Event>,
}

impl Journal {
    pub fn new(names: Arc<Mutex<Names>>) -> Self {
        Self {
            names,
            policy: ArcSwapOption::empty(),
            denials: Mutex::default(),
            events: broadcast::channel(EVENT_BACKLOG).0,
        }
    }

    pub fn set_policy(&self, policy: Arc<Policy>) {
        self.policy.store(Some(policy));
    }

    pub fn policy(&self) -> Option<Arc<Policy>> {
        self.policy.load_full()
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Recent denials, the newest first.
    pub fn denials(&self) -> Vec<DenialRecord> {
        lock(&self.denials).recent.iter().rev().cloned().collect()
    }

    /// How many denials each listener has had since the start.
    pub fn denials_by_listener(&self) -> Vec<(ListenerId, u64)> {
        let denials = lock(&self.denials);
        let counts = denials.counts_by_listener.iter();
        counts
            .map(|(listener, count)| (*listener, *count))
            .collect()
    }

    pub fn tell(&self, kind: EventKind) {
        // Nobody listening is the normal case.
        let _ = self.events.send(Event::now(kind));
    }

    pub fn started(&self, shard: u8, start: &SessionStart) {
        let listener = self.listener_name(start.path.listener);
        tracing::debug!(
            scope = "turn",
            "allocation for {} on listener {listener}: user `{}`, relayed {}",
            start.path.tuple.client,
            start.user,
            join(&start.relayed),
        );
        self.tell(EventKind::SessionStarted {
            id: session_id(shard, start.allocation),
            user: start.user.to_string(),
            listener: listener.to_string(),
            client: start.path.tuple.client,
            transport: start.path.tuple.transport.into(),
            relayed: start.relayed.clone(),
        });
    }

    /// The session record: one line per allocation.
    pub fn ended(&self, shard: u8, record: &SessionRecord) {
        let listener = self.listener_name(record.listener);
        let id = session_id(shard, record.allocation);
        let seconds = record.duration_ms / 1000;
        tracing::info!(
            scope = "turn",
            session = %id,
            "session ended: user `{}` client {} listener {listener} relayed {} why {} after {seconds} s, \
             to peers {} packets {} bytes, to client {} packets {} bytes",
            record.user,
            record.path.tuple.client,
            join(&record.relayed),
            record.why.as_str(),
            record.to_peer.packets,
            record.to_peer.bytes,
            record.to_client.packets,
            record.to_client.bytes,
        );
        self.tell(EventKind::SessionEnded {
            id,
            user: record.user.to_string(),
            listener: listener.to_string(),
            client: record.path.tuple.client,
            transport: record.path.tuple.transport.into(),
            relayed: record.relayed.clone(),
            duration_seconds: seconds,
            to_peers: record.to_peer.into(),
            to_client: record.to_client.into(),
            why: record.why.as_str().to_owned(),
        });
    }

    pub fn denied(&self, denial: &Denial) {
        let listener = self.listener_name(denial.path.listener);
        let nearest = self.nearest(denial);
        tracing::info!(
            scope = %format_args!("listener-{listener}"),
            "client {} (user `{}`) was refused peer {}: {}{}",
            denial.path.tuple.client,
            denial.user,
            denial.peer,
            denial.reason.as_str(),
            nearest.as_ref().map(|rule| format!("; nearest: {rule}")).unwrap_or_default(),
        );
        let record = DenialRecord {
            at: Timestamp::now(),
            listener: listener.to_string(),
            user: denial.user.to_string(),
            client: denial.path.tuple.client,
            peer: denial.peer,
            transport: denial.transport.into(),
            reason: denial.reason.as_str().to_owned(),
            nearest,
        };
        let _ = self.events.send(Event::from(&record));
        let mut denials = lock(&self.denials);
        let count = denials.counts_by_listener.entry(denial.path.listener);
        *count.or_default() += 1;
        if denials.recent.len() == REMEMBERED_DENIALS {
            denials.recent.pop_front();
        }
        denials.recent.push_back(record);
    }

    pub fn auth_failed(&self, path: &ClientPath, reason: AuthFailure) {
        // The client repeats its request with the fresh nonce by itself.
        if reason == AuthFailure::StaleNonce {
            return;
        }
        let listener = self.listener_name(path.listener);
        tracing::info!(
            scope = %format_args!("listener-{listener}"),
            "client {} was refused: {}",
            path.tuple.client,
            reason.as_str(),
        );
        self.tell(EventKind::AuthFailed {
            listener: listener.to_string(),
            client: path.tuple.client,
            reason: reason.as_str().to_owned(),
        });
    }

    fn nearest(&self, denial: &Denial) -> Option<String> {
        let policy = self.policy.load_full()?;
        // A guest is measured by the guest's own rules.
        let mut guests = policy.guests.iter();
        let admission = match guests.find(|guest| **guest.username() == *denial.user) {
            Some(guest) => guest.admission(),
            None => &policy.listeners.get(&denial.path.listener)?.admission,
        };
        let rule = admission.explain(denial.transport, denial.peer).nearest?;
        Some(self.describe(&rule))
    }

    /// A rule in words: cluster, prefix, ports.
    pub fn describe(&self, rule: &Rule) -> String {
        let cluster = self.cluster_name(rule.cluster);
        format!(
            "cluster {cluster}, {} ports {} ({})",
            rule.net, rule.ports, rule.transport
        )
    }

    pub fn cluster_name(&self, id: ClusterId) -> Arc<str> {
        lock(&self.names).cluster_name(id)
    }

    pub fn listener_name(&self, id: ListenerId) -> Arc<str> {
        lock(&self.names).listener_name(id)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn join(addresses: &[SocketAddr]) -> String {
    addresses
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

impl From<Traffic> for http::Traffic {
    fn from(traffic: Traffic) -> Self {
        Self {
            packets: traffic.packets,
            bytes: traffic.bytes,
        }
    }
}

impl From<ClientTransport> for ClientTransportName {
    fn from(transport: ClientTransport) -> Self {
        match transport {
            ClientTransport::Udp => Self::Udp,
            ClientTransport::Tcp => Self::Tcp,
            ClientTransport::Tls => Self::Tls,
            ClientTransport::Dtls => Self::Dtls,
        }
    }
}

impl From<PeerTransport> for RelayTransportName {
    fn from(transport: PeerTransport) -> Self {
        match transport {
            PeerTransport::Udp => Self::Udp,
            PeerTransport::Tcp => Self::Tcp,
        }
    }
}

impl From<RelayTransportName> for PeerTransport {
    fn from(transport: RelayTransportName) -> Self {
        match transport {
            RelayTransportName::Udp => Self::Udp,
            RelayTransportName::Tcp => Self::Tcp,
        }
    }
}
