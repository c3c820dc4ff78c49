//! Datagrams that clients send to listening ports.

use std::net::{IpAddr, SocketAddr};

use stunner_net::udp::{Outgoing, RecvBatch, SendBatch};
use stunner_turn::server::{FromClient, ToPeer};
use stunner_turn::{ClientPath, ClientTransport, FiveTuple};

use super::command::Mode;
use super::core::Core;
use super::ports::Arrival;
use super::token::{Kind, Token};

/// Reads one batch from a port's socket and handles it. `false` when more may wait.
pub fn read_port(
    core: &mut Core,
    rx: &mut RecvBatch,
    tx: &mut SendBatch,
    port: u32,
    ipv6: bool,
) -> bool {
    let Some(socket) = core.ports.datagram_socket(port, ipv6) else {
        return true;
    };
    let wildcard = socket.local_addr().ip();
    let max = rx.slots();
    let count = match rx.recv(socket, 0, max) {
        Ok(count) => count,
        Err(error) => {
            // The next datagram raises a new edge, so nothing is stuck for good.
            tracing::warn!(
                scope = "listener",
                "cannot read from {}: {error}",
                socket.local_addr()
            );
            return true;
        }
    };
    let Some(arrival) = core.ports.arrival(port) else {
        return true;
    };
    let plain_only = matches!(arrival.mode, Mode::Udp) && !core.dtls.uses_port(port);
    let mut batch = PeerBatch::new(tx);
    for slot in 0..count {
        let received = rx.get(slot);
        let local = SocketAddr::new(received.local_ip.unwrap_or(wildcard), arrival.number);
        let path = path_of(&arrival, port, ipv6, received.from, local);
        for datagram in received.datagrams() {
            if plain_only || core.is_plain_udp(&path, &arrival) {
                core.listener(path.listener)
                    .received(1, datagram.len() as u64);
                from_client(core, &mut batch, &path, datagram);
            } else {
                core.dtls_datagram(port, ipv6, &arrival, &path.tuple, datagram);
            }
        }
    }
    batch.flush(core);
    count < max
}

fn path_of(
    arrival: &Arrival,
    port: u32,
    ipv6: bool,
    client: SocketAddr,
    local: SocketAddr,
) -> ClientPath {
    ClientPath {
        tuple: FiveTuple {
            transport: ClientTransport::Udp,
            client,
            local,
        },
        listener: arrival.listener,
        link: Token::for_family(Kind::Datagram, port, ipv6).link(),
        accepting: arrival.accepting,
    }
}

/// Hands one message of a client to the TURN server and does what it says.
pub fn from_client<'p>(
    core: &mut Core,
    batch: &mut PeerBatch<'_, 'p>,
    path: &ClientPath,
    message: &'p [u8],
) -> Outcome {
    match core.server.from_client(core.now, path, message) {
        FromClient::Relay(to) => batch.push(core, &to),
        FromClient::Handled | FromClient::Dropped(_) => core.run_effects(),
        FromClient::Close => return Outcome::Close,
    }
    Outcome::Continue
}

/// Whether the client's stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Continue,
    Close,
}

/// Payloads for peers, collected while they leave by the same relay socket.
pub struct PeerBatch<'s, 'p> {
    out: Outgoing<'s, 'p>,
    /// Allocation index and family of the socket that `out` is for.
    run: Option<(u32, bool)>,
}

impl<'s, 'p> PeerBatch<'s, 'p> {
    pub fn new(tx: &'s mut SendBatch) -> Self {
        Self {
            out: tx.begin(),
            run: None,
        }
    }

    fn push(&mut self, core: &mut Core, to: &ToPeer<'p>) {
        let run = (to.allocation.index, to.peer.is_ipv6());
        if self.run != Some(run) {
            self.flush(core);
            self.run = Some(run);
        }
        core.cluster(to.cluster).sent(1, to.payload.len() as u64);
        if to.dont_fragment {
            // RFC 8656 §14: the don't-fragment bit is a property of the socket, so this one goes alone.
            self.flush(core);
            core.send_unfragmented(run, to.peer, to.payload);
        } else if self.out.push(to.peer, None, &[], to.payload, 0).is_err() {
            core.tally.too_big += 1;
        }
    }

    pub fn flush(&mut self, core: &mut Core) {
        let Some((index, ipv6)) = self.run.take() else {
            return;
        };
        if let Some((_, relay)) = core.relays.at(index)
            && let Some(socket) = relay.udp(ipv6)
        {
            core.tally.sends += self.out.flush(socket);
        }
    }
}

impl std::fmt::Debug for PeerBatch<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerBatch")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

impl Core {
    /// On a port whose protocol changed between UDP and DTLS, sessions go on as what they were.
    fn is_plain_udp(&self, path: &ClientPath, arrival: &Arrival) -> bool {
        if self.dtls.contains(&path.tuple) {
            return false;
        }
        matches!(arrival.mode, Mode::Udp) || self.server.has_allocation(&path.tuple)
    }

    fn send_unfragmented(&mut self, (index, ipv6): (u32, bool), peer: SocketAddr, payload: &[u8]) {
        let Some((_, relay)) = self.relays.at(index) else {
            return;
        };
        let Some(socket) = relay.udp(ipv6) else {
            return;
        };
        match socket.send_dont_fragment(peer, payload) {
            Ok(()) => self.tally.sends.sent += 1,
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => self.tally.too_big += 1,
            Err(_) => self.tally.sends.failed += 1,
        }
    }

    /// Sends one control message by a port's socket, from the address the client knows.
    pub fn reply_by_datagram(&mut self, token: Token, to: SocketAddr, from: IpAddr, bytes: &[u8]) {
        if let Some(socket) = self.ports.datagram_socket(token.index, token.ipv6) {
            let mut out = self.replies.begin();
            if out.push(to, Some(from), &[], bytes, 0).is_ok() {
                self.tally.sends += out.flush(socket);
            }
        }
    }
}
