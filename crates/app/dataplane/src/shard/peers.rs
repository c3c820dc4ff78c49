//! TCP connections to and from peers (RFC 6062), and the pipes between them and clients.

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};

use slab::Slab;
use stunner_config::admission::ClusterId;
use stunner_net::poll::Interest;
use stunner_net::stream as tcp;
use stunner_turn::AllocationId;
use stunner_turn::server::ConnectionId;

use super::core::{Core, HashMap};
use super::outbox::Outbox;
use super::stream::Role;
use super::token::{Kind, Token};

/// A side that has this much waiting stops the other side's reading: TCP's own flow control does
/// the rest, and nothing is lost.
const PIPE_LIMIT: usize = 256 << 10;
/// Turns of one pipe before other sockets have theirs.
const PUMP_ROUNDS: usize = 16;

/// How far a peer connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    /// Connected, waiting for the client's ConnectionBind. Nothing is read meanwhile.
    Waiting,
    /// Joined to the client stream with this index.
    Bound(u32),
}

#[derive(Debug)]
struct Peer {
    socket: TcpStream,
    connection: ConnectionId,
    cluster: Option<ClusterId>,
    state: State,
    outbox: Outbox,
    readable: bool,
    eof: bool,
    /// Our writing side is shut: the client has closed its side and everything was written.
    shut: bool,
}

/// Peer connections by index and by CONNECTION-ID.
#[derive(Debug, Default)]
pub struct Peers {
    slab: Slab<Peer>,
    index_by_connection: HashMap<ConnectionId, usize>,
}

impl Core {
    /// Starts a connection from the relayed address.
    pub fn connect_peer(
        &mut self,
        allocation: AllocationId,
        connection: ConnectionId,
        peer: SocketAddr,
    ) {
        let local = self
            .relays
            .at(allocation.index)
            .filter(|(id, _)| *id == allocation)
            .and_then(|(_, relay)| relay.tcp(peer.is_ipv6()))
            .map(|listener| listener.local_addr());
        let started = local.map(|local| tcp::connect_from(local, peer));
        match started {
            Some(Ok(socket)) => self.insert_peer(socket, connection, peer, State::Connecting),
            Some(Err(error)) => {
                tracing::debug!(scope = "turn", "cannot connect to peer {peer}: {error}");
                self.server.peer_connected(self.now, connection, Err(()));
            }
            None => self.server.peer_connected(self.now, connection, Err(())),
        }
    }

    /// Accepts peers that connect to a relayed address.
    pub fn accept_peers(&mut self, index: u32, ipv6: bool) {
        loop {
            let Some((allocation, relay)) = self.relays.at(index) else {
                return;
            };
            let Some(listener) = relay.tcp(ipv6) else {
                return;
            };
            match listener.accept() {
                Ok(Some((socket, peer))) => {
                    match self.server.peer_accepted(self.now, allocation, peer) {
                        Some(connection) => {
                            self.insert_peer(socket, connection, peer, State::Waiting)
                        }
                        // RFC 6062 §5.3: without a permission the connection is closed at once.
                        None => tcp::reset_on_close(&socket),
                    }
                    self.run_effects();
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(scope = "turn", "cannot accept peer connections: {error}");
                    return;
                }
            }
        }
    }

    fn insert_peer(
        &mut self,
        socket: TcpStream,
        connection: ConnectionId,
        peer: SocketAddr,
        state: State,
    ) {
        let entry = self.peers.slab.vacant_entry();
        let token = Token::new(Kind::Peer, entry.key() as u32);
        let registered = self.poller.add(&socket, token.for_poll(), Interest::Both);
        self.peers
            .index_by_connection
            .insert(connection, entry.key());
        entry.insert(Peer {
            socket,
            connection,
            cluster: self.server.connection_cluster(connection),
            state,
            outbox: Outbox::default(),
            readable: true,
            eof: false,
            shut: false,
        });
        if let Err(error) = registered {
            tracing::error!(
                scope = "turn",
                "cannot watch the connection to peer {peer}: {error}"
            );
            self.end_peer(connection);
        }
    }

    /// A peer's socket is ready for something.
    pub fn peer_ready(&mut self, index: u32, readable: bool) {
        let Some(peer) = self.peers.slab.get_mut(index as usize) else {
            return;
        };
        peer.readable |= readable;
        let connection = peer.connection;
        match peer.state {
            State::Connecting => match tcp::connect_result(&peer.socket) {
                Ok(false) => {}
                Ok(true) => {
                    peer.state = State::Waiting;
                    self.server.peer_connected(self.now, connection, Ok(()));
                    self.run_effects();
                }
                Err(error) => {
                    tracing::debug!(scope = "turn", "connection to a peer failed: {error}");
                    self.remove_peer(connection);
                    self.server.peer_connected(self.now, connection, Err(()));
                    self.run_effects();
                }
            },
            // The peer's bytes stay in the kernel until somebody wants them.
            State::Waiting => {}
            State::Bound(_) => self.pump(connection),
        }
    }

    /// Joins a client stream and a peer connection.
    pub fn bind_peer(&mut self, connection: ConnectionId, stream_index: u32) {
        let Some(&index) = self.peers.index_by_connection.get(&connection) else {
            return;
        };
        let Some(stream) = self.streams.slab.get_mut(stream_index as usize) else {
            return;
        };
        stream.role = Role::Data(connection);
        self.peers.slab[index].state = State::Bound(stream_index);
        self.pumps.push(connection);
    }

    /// Moves bytes both ways until neither side makes progress.
    pub fn pump(&mut self, connection: ConnectionId) {
        for _ in 0..PUMP_ROUNDS {
            match self.pump_once(connection) {
                Ok(true) => {}
                Ok(false) => return,
                Err(()) => return self.end_peer(connection),
            }
        }
        self.pumps.push(connection);
    }

    /// One turn each way; whether anything moved. An error ends both connections.
    fn pump_once(&mut self, connection: ConnectionId) -> Result<bool, ()> {
        let Some(&index) = self.peers.index_by_connection.get(&connection) else {
            return Ok(false);
        };
        let State::Bound(stream_index) = self.peers.slab[index].state else {
            return Ok(false);
        };
        let now = self.now.millis;
        let (Some(peer), Some(stream)) = (
            self.peers.slab.get_mut(index),
            self.streams.slab.get_mut(stream_index as usize),
        ) else {
            return Err(());
        };
        let mut moved = false;

        // What came with the ConnectionBind belongs to the peer already.
        if !stream.inbox.is_empty() {
            peer.outbox.push(&std::mem::take(&mut stream.inbox));
            moved = true;
        }
        if stream.readable && !stream.eof && peer.outbox.len() < PIPE_LIMIT {
            self.plaintext.clear();
            stream
                .read(&mut self.scratch, &mut self.plaintext, now)
                .map_err(drop)?;
            moved |= stream.readable || !self.plaintext.is_empty();
            peer.outbox.push(&self.plaintext);
        }
        let written = peer.outbox.flush(&peer.socket).map_err(drop)?;
        moved |= written > 0;

        let mut read = 0;
        if peer.readable && !peer.eof && stream.backlog() < PIPE_LIMIT {
            match (&peer.socket).read(&mut self.scratch) {
                Ok(0) => peer.eof = true,
                Ok(count) => {
                    read = count;
                    stream
                        .queue(&[&self.scratch[..count]], false)
                        .map_err(drop)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => peer.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(()),
            }
            moved |= read > 0;
        }
        // Room made counts as progress: sockets report readiness once, so a peer that was left unread for want of room
        // is read again now or never.
        moved |= stream.flush(now).map_err(drop)? > 0;

        let (cluster, listener) = (peer.cluster, stream.path.listener);
        let finished = self.half_close(index, stream_index);
        if written + read > 0 {
            self.server
                .connection_traffic(self.now, connection, written, read);
        }
        if let Some(cluster) = cluster {
            if written > 0 {
                self.cluster(cluster).sent(1, written as u64);
                self.listener(listener).received(1, written as u64);
            }
            if read > 0 {
                self.cluster(cluster).received(1, read as u64);
                self.listener(listener).sent(1, read as u64);
            }
        }
        if finished { Err(()) } else { Ok(moved) }
    }

    /// Passes an end of stream on once everything before it is written; whether both are through.
    fn half_close(&mut self, index: usize, stream_index: u32) -> bool {
        let (Some(peer), Some(stream)) = (
            self.peers.slab.get_mut(index),
            self.streams.slab.get_mut(stream_index as usize),
        ) else {
            return true;
        };
        if stream.eof && peer.outbox.is_empty() && !peer.shut {
            let _ = peer.socket.shutdown(Shutdown::Write);
            peer.shut = true;
        }
        let client_done = stream.eof && peer.outbox.is_empty();
        let peer_done = peer.eof && stream.backlog() == 0;
        // RFC 6062 §4.5: when one side closes, the other is closed after its data went out.
        peer_done || (client_done && peer.eof)
    }

    /// The client's side of a pipe is gone.
    pub fn pipe_closed(&mut self, connection: ConnectionId) {
        self.remove_peer(connection);
        self.server.peer_closed(self.now, connection);
    }

    /// Closes a peer connection and the client stream that is bound to it.
    pub fn end_peer(&mut self, connection: ConnectionId) {
        let stream = self.remove_peer(connection);
        self.server.peer_closed(self.now, connection);
        if let Some(stream) = stream {
            self.close_stream(stream, None);
        }
        self.run_effects();
    }

    /// Closes a peer connection because the TURN server says so; it knows already.
    pub fn close_peer(&mut self, connection: ConnectionId) {
        if let Some(stream) = self.remove_peer(connection) {
            self.close_stream(stream, None);
        }
    }

    /// Forgets a peer connection; gives the client stream it was bound to.
    fn remove_peer(&mut self, connection: ConnectionId) -> Option<u32> {
        let index = self.peers.index_by_connection.remove(&connection)?;
        let peer = self.peers.slab.remove(index);
        let _ = self.poller.remove(&peer.socket);
        match peer.state {
            State::Bound(stream) => {
                if let Some(stream) = self.streams.slab.get_mut(stream as usize) {
                    stream.role = Role::Control;
                    stream.closing = true;
                }
                Some(stream)
            }
            State::Connecting | State::Waiting => None,
        }
    }
}
