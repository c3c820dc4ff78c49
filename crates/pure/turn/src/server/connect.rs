//! TCP allocations: Connect, ConnectionAttempt and ConnectionBind of RFC 6062 §5.2 to §5.4.
//!
//! A connection lives in three steps: being made, waiting for the client's data connection, bound. The first two may
//! take 30 seconds each. Nothing here waits for anything: a slow peer holds up no other.

use std::net::SocketAddr;

use stunner_config::PeerTransport;
use stunner_config::admission::{DenyReason, Verdict};
use stunner_stun::{Message, Method, error_code};

use super::answer::{Asked, Refusal, Signer};
use super::permit::peer_of;
use super::settings::CONNECTION_TIMEOUT_MS;
use super::{ConnectionId, Effect, Server};
use crate::{AllocationId, ClientPath, Now};

/// A connection between a relayed address and a peer.
#[derive(Debug)]
pub(super) struct Connection {
    pub allocation: AllocationId,
    pub peer: SocketAddr,
    pub state: State,
    /// When it is given up; none once bound.
    pub deadline: Option<u64>,
}

#[derive(Debug)]
pub(super) enum State {
    /// A Connect waits for its answer.
    Connecting { asked: Asked, signer: Box<Signer> },
    /// The client knows the id and has not bound it.
    Unbound,
    /// Bytes flow between the peer and this client connection.
    Bound { path: ClientPath },
}

const FAILED: u16 = error_code::CONNECTION_TIMEOUT_OR_FAILURE;

impl Server {
    pub(super) fn connect(
        &mut self,
        now: Now,
        asked: &Asked,
        message: &Message<'_>,
        id: AllocationId,
        signer: Signer,
    ) -> Result<(), Refusal> {
        let allocation = self.allocation(id)?;
        if allocation.transport != PeerTransport::Tcp {
            return Err(Refusal::bad_request("not a TCP allocation"));
        }
        let peer = peer_of(message)?;
        if self.connection_to(id, peer) {
            return Err(Refusal::code(error_code::CONNECTION_ALREADY_EXISTS));
        }
        self.check_peer(id, peer)?;
        let allocation = self.allocation(id)?;
        if allocation.connections.len() >= self.settings.max_connections {
            return Err(Refusal::capacity("Too many connections"));
        }
        let Some(relayed) = allocation.relayed_for(peer.ip()) else {
            return Err(Refusal::code(error_code::PEER_ADDRESS_FAMILY_MISMATCH));
        };
        let state = State::Connecting {
            asked: *asked,
            signer: Box::new(signer),
        };
        let connection = self.add_connection(now, id, peer, state);
        self.effects.push_back(Effect::ConnectPeer {
            allocation: id,
            connection,
            relayed,
            peer,
        });
        Ok(())
    }

    fn connection_to(&self, id: AllocationId, peer: SocketAddr) -> bool {
        let connections = self.allocations.get(id).map(|a| a.connections.as_slice());
        (connections.unwrap_or_default().iter())
            .filter_map(|connection| self.connections.get(connection))
            .any(|connection| connection.peer == peer)
    }

    fn add_connection(
        &mut self,
        now: Now,
        allocation: AllocationId,
        peer: SocketAddr,
        state: State,
    ) -> ConnectionId {
        let deadline = now.millis + CONNECTION_TIMEOUT_MS;
        let id = loop {
            let number = self.random.u64() as u32 & 0x00ff_ffff;
            let id = ConnectionId(u32::from(self.shard) << 24 | number);
            if !self.connections.contains_key(&id) {
                break id;
            }
        };
        self.connections.insert(
            id,
            Connection {
                allocation,
                peer,
                state,
                deadline: Some(deadline),
            },
        );
        if let Some(allocation) = self.allocations.get_mut(allocation) {
            allocation.connections.push(id);
        }
        self.wheel.arm_before(allocation.index, deadline);
        id
    }

    pub(super) fn connected(&mut self, now: Now, id: ConnectionId, result: Result<(), ()>) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let State::Connecting { asked, signer } =
            std::mem::replace(&mut connection.state, State::Unbound)
        else {
            return;
        };
        match result {
            Ok(()) => {
                let deadline = now.millis + CONNECTION_TIMEOUT_MS;
                connection.deadline = Some(deadline);
                self.wheel.arm_before(connection.allocation.index, deadline);
                self.succeed(&asked, Some(&signer), |writer| {
                    writer.connection_id(id.0);
                });
            }
            Err(()) => {
                self.forget_connection(id);
                self.refuse(&asked, Some(&signer), Refusal::code(FAILED));
            }
        }
    }

    /// RFC 6062 §5.3: a peer needs a permission; here also the consent of the policy.
    pub(super) fn accepted(
        &mut self,
        now: Now,
        id: AllocationId,
        peer: SocketAddr,
    ) -> Option<ConnectionId> {
        let allocation = self.allocations.get(id)?;
        let permission = allocation.permissions.get(peer.ip())?;
        let is_welcome = allocation.expires > now.millis
            && allocation.transport == PeerTransport::Tcp
            && permission.expires > now.millis
            && allocation.connections.len() < self.settings.max_connections;
        let path = allocation.path;
        if !is_welcome || self.check_peer(id, peer).is_err() || self.connection_to(id, peer) {
            return None;
        }
        let connection = self.add_connection(now, id, peer, State::Unbound);
        self.indicate(path, Method::CONNECTION_ATTEMPT, peer, |writer| {
            writer.connection_id(connection.0);
        });
        Some(connection)
    }

    /// The connection that a ConnectionBind names.
    pub(super) fn named_connection(message: &Message<'_>) -> Option<ConnectionId> {
        let id = message.connection_id()?.ok()?;
        Some(ConnectionId(id))
    }

    /// RFC 6062 §5.4. The caller has seen to it that the sender is the user of the connection's allocation.
    pub(super) fn connection_bind(
        &mut self,
        asked: &Asked,
        message: &Message<'_>,
        signer: &Signer,
    ) -> Result<(), Refusal> {
        let bad = Refusal::bad_request;
        let tuple = &asked.path.tuple;
        if !tuple.transport.is_stream() {
            return Err(bad("ConnectionBind needs a TCP client"));
        }
        let id = Self::named_connection(message).ok_or(bad("CONNECTION-ID is missing"))?;
        if self.tuples.find(tuple, &self.allocations).is_some() {
            return Err(bad("this connection has an allocation"));
        }
        if self.bound.contains_key(tuple) {
            return Err(bad("this connection is bound already"));
        }
        let connection = self.connections.get_mut(&id);
        let connection = connection.ok_or(bad("no such connection"))?;
        if !matches!(connection.state, State::Unbound) {
            return Err(bad("connection is not waiting to be bound"));
        }
        connection.state = State::Bound { path: asked.path };
        connection.deadline = None;
        self.bound.insert(*tuple, id);
        self.succeed(asked, Some(signer), |writer| {
            writer.connection_id(id.0);
        });
        self.effects.push_back(Effect::BindPeer {
            connection: id,
            path: asked.path,
        });
        Ok(())
    }

    /// Gives up connections that took too long; says when the next one of this allocation will have.
    pub(super) fn expire_connections(&mut self, now: Now, id: AllocationId) -> Option<u64> {
        let connections = self.allocations.get(id)?.connections.clone();
        let mut next = None;
        for connection in connections {
            match self.connections.get(&connection).and_then(|c| c.deadline) {
                Some(deadline) if deadline <= now.millis => self.close_connection(connection, true),
                Some(deadline) => next = Some(next.map_or(deadline, |n: u64| n.min(deadline))),
                None => {}
            }
        }
        next
    }

    /// Ends a connection: the peer's side and, where bound, the client's. A Connect that waits gets 447.
    pub(super) fn close_connection(&mut self, id: ConnectionId, with_peer: bool) {
        let Some(connection) = self.forget_connection(id) else {
            return;
        };
        if with_peer {
            self.effects.push_back(Effect::ClosePeer { connection: id });
        }
        match connection.state {
            State::Connecting { asked, signer } => {
                self.refuse(&asked, Some(&signer), Refusal::code(FAILED));
            }
            State::Unbound => {}
            State::Bound { path } => self.effects.push_back(Effect::CloseClient { path }),
        }
    }

    /// Nobody is there any more to hear what became of a Connect.
    pub(super) fn leave_unanswered(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id)
            && let State::Connecting { .. } = connection.state
        {
            connection.state = State::Unbound;
        }
    }

    pub(super) fn forget_connection(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.connections.remove(&id)?;
        if let Some(allocation) = self.allocations.get_mut(connection.allocation) {
            allocation.connections.retain(|other| *other != id);
        }
        if let State::Bound { path } = &connection.state {
            self.bound.remove(&path.tuple);
        }
        Some(connection)
    }

    /// Closes the connections that a new policy does not admit: a byte stream has no next packet to ask about.
    pub(super) fn recheck_connections(&mut self) {
        let denied: Vec<(ConnectionId, AllocationId, SocketAddr, DenyReason)> = self
            .connections
            .iter()
            .filter_map(|(id, connection)| {
                let allocation = self.allocations.get(connection.allocation)?;
                let admission = self.policy.admission(allocation);
                match admission.map(|a| a.admit(PeerTransport::Tcp, connection.peer)) {
                    Some(Verdict::Admitted { .. }) => None,
                    Some(Verdict::Denied(why)) => {
                        Some((*id, connection.allocation, connection.peer, why))
                    }
                    None => Some((
                        *id,
                        connection.allocation,
                        connection.peer,
                        DenyReason::NoRoute,
                    )),
                }
            })
            .collect();
        for (connection, allocation, peer, why) in denied {
            self.deny(allocation, peer, why);
            self.close_connection(connection, true);
        }
    }
}
