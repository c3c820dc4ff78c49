//! The sessions of a shard, by index and by client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use slab::Slab;
use stunner_net::dtls::{Datagrams, DtlsContext, DtlsListener, DtlsSession};
use stunner_net::udp::SendBatch;
use stunner_turn::{ClientPath, ClientTransport, FiveTuple, ListenerId};

use super::super::command::{Mode, PortState};
use super::super::core::HashMap;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) dtls: Box<DtlsSession>,
    pub(super) path: ClientPath,
    pub(super) port: u32,
    pub(super) ipv6: bool,
    pub(super) opened_millis: u64,
    pub(super) last_read_millis: u64,
    pub(super) handshake_counted: bool,
    pub(super) quiet: bool,
}

/// Where a datagram of a DTLS session goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) port: u32,
    pub(super) ipv6: bool,
    pub(super) to: SocketAddr,
    pub(super) from: IpAddr,
}

/// Sessions by index and by client.
#[derive(Debug, Default)]
pub struct DtlsTable {
    pub(super) slab: Slab<Session>,
    /// Keyed by the tuple with transport `Dtls`.
    pub(super) index_by_tuple: HashMap<FiveTuple, u32>,
    /// The stateless half of the handshake, by port.
    pub(super) listeners: HashMap<u32, (Arc<DtlsContext>, DtlsListener)>,
    pub(super) sessions_by_port: HashMap<u32, u32>,
    /// Indices of unfinished handshakes.
    pub(super) handshaking: Vec<u32>,
    /// When the earliest flight is to be sent again.
    pub(super) deadline_millis: Option<u64>,
    /// Datagrams to send, and where.
    pub(super) out: Datagrams,
    pub(super) routes: Vec<Route>,
    /// Plaintext of the records of one datagram.
    pub(super) records: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// For payloads that lie in `records`.
    pub(super) tx: SendBatch,
}

pub(super) fn dtls_tuple(tuple: &FiveTuple) -> FiveTuple {
    FiveTuple {
        transport: ClientTransport::Dtls,
        ..*tuple
    }
}

impl DtlsTable {
    /// Whether any session came by this port.
    pub fn uses_port(&self, port: u32) -> bool {
        self.sessions_by_port.contains_key(&port)
    }

    pub fn contains(&self, tuple: &FiveTuple) -> bool {
        self.index_by_tuple.contains_key(&dtls_tuple(tuple))
    }

    /// Follows a port's mode: a new certificate means a new context.
    pub fn port_state(&mut self, state: &PortState) {
        let Mode::Dtls(context) = &state.mode else {
            self.listeners.remove(&state.id.0);
            return;
        };
        let known = self.listeners.get(&state.id.0);
        if known.is_some_and(|(current, _)| Arc::ptr_eq(current, context)) {
            return;
        }
        match DtlsListener::new(context) {
            Ok(listener) => {
                self.listeners
                    .insert(state.id.0, (Arc::clone(context), listener));
            }
            Err(error) => tracing::error!(scope = "listener", "cannot start DTLS: {error}"),
        }
    }

    pub fn port_closed(&mut self, port: u32) {
        self.listeners.remove(&port);
    }

    pub fn of_listener(&self, listener: ListenerId) -> Vec<u32> {
        self.indices(|session| session.path.listener == listener)
    }

    pub(super) fn indices(&self, wanted: impl Fn(&Session) -> bool) -> Vec<u32> {
        self.slab
            .iter()
            .filter(|(_, session)| wanted(session))
            .map(|(index, _)| index as u32)
            .collect()
    }

    /// Notes where the datagrams go that were appended since `before`.
    pub(super) fn route(&mut self, route: Route) {
        self.routes.resize(self.out.len(), route);
    }

    pub(super) fn update_deadline(&mut self, now_millis: u64) {
        self.deadline_millis = self
            .handshaking
            .iter()
            .filter_map(|index| self.slab.get(*index as usize)?.dtls.deadline())
            .min()
            .map(|left| now_millis + left.as_millis() as u64 + 1);
    }
}

impl Session {
    pub(super) fn route(&self) -> Route {
        Route {
            port: self.port,
            ipv6: self.ipv6,
            to: self.path.tuple.client,
            from: self.path.tuple.local.ip(),
        }
    }
}
