//! Carrying out what the TURN server wants done.

use std::io;
use std::net::{IpAddr, SocketAddr};

use stunner_config::PeerTransport;
use stunner_net::poll::Interest;
use stunner_turn::server::{Effect, RelayGrant, RelayRefusal, RelayRequest, RequestId};
use stunner_turn::{AllocationId, ClientPath, ClientTransport};

use super::core::Core;
use super::relay::{Pair, Relay, relay_token};
use super::token::{Kind, Token};

impl Core {
    /// Carries out everything that waits.
    pub fn run_effects(&mut self) {
        while let Some(effect) = self.server.next_effect() {
            self.run_effect(effect);
        }
    }

    fn run_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Send { to, bytes } => self.send(&to, &bytes),
            Effect::OpenRelay(request) => {
                let result = self.open_relay(&request);
                self.server.relay_opened(self.now, request.id, result);
            }
            Effect::RelayReady {
                allocation,
                request,
            } => self.relay_ready(allocation, request),
            Effect::AbandonRelay { request, user } => {
                if let Some(relay) = self.pending_relays.remove(&request) {
                    relay.close_all(&self.shared.relay_ports);
                }
                self.shared.quota.release(&user);
            }
            Effect::CloseRelay { allocation, user } => {
                if let Some(relay) = self.relays.remove(allocation) {
                    relay.close_all(&self.shared.relay_ports);
                }
                self.shared.quota.release(&user);
            }
            Effect::CloseRelayAddress {
                allocation,
                relayed,
            } => {
                if let Some(relay) = self.relays.get_mut(allocation) {
                    relay.close(&self.shared.relay_ports, relayed.is_ipv6());
                }
            }
            Effect::ConnectPeer {
                allocation,
                connection,
                peer,
                ..
            } => {
                self.connect_peer(allocation, connection, peer);
            }
            Effect::ClosePeer { connection } => self.close_peer(connection),
            Effect::BindPeer { connection, path } => {
                if let Some(token) = Token::of_link(path.link) {
                    self.bind_peer(connection, token.index);
                }
            }
            Effect::ForwardBind { shard, .. } => self.forward = Some(shard),
            Effect::CloseClient { path } => self.close_client(&path),
            // Where a kernel offload would be told.
            Effect::ChannelBound { .. } | Effect::ChannelUnbound { .. } => {}
            Effect::Started(start) => {
                self.metrics.allocations.add(1);
                self.count_allocation(&start.path, 1);
                if start.path.tuple.transport == ClientTransport::Udp {
                    self.count_udp_session(&start.path, true);
                }
                self.shared.journal.started(self.index, &start);
            }
            Effect::Ended(record) => {
                self.count_allocation(&record.path, -1);
                if record.path.tuple.transport == ClientTransport::Udp {
                    self.count_udp_session(&record.path, false);
                }
                let lived = std::time::Duration::from_millis(record.duration_ms);
                self.metrics.allocation_duration.observe_seconds(lived);
                self.shared.journal.ended(self.index, &record);
            }
            Effect::Denied(denial) => self.shared.journal.denied(&denial),
            Effect::AuthFailed { path, reason } => self.shared.journal.auth_failed(&path, reason),
        }
    }

    fn send(&mut self, to: &ClientPath, bytes: &[u8]) {
        let Some(token) = Token::of_link(to.link) else {
            return;
        };
        self.listener(to.listener).sent(1, bytes.len() as u64);
        match token.kind {
            Kind::Stream => self.queue_for_stream(token.index, &[bytes], false),
            Kind::Dtls => self.send_over_dtls(token.index, &[], bytes, 0),
            _ => self.reply_by_datagram(token, to.tuple.client, to.tuple.local.ip(), bytes),
        }
    }

    fn close_client(&mut self, path: &ClientPath) {
        let Some(token) = Token::of_link(path.link) else {
            return;
        };
        match token.kind {
            Kind::Stream => {
                if let Some(stream) = self.streams.slab.get_mut(token.index as usize) {
                    stream.closing = true;
                    self.mark_dirty(token.index);
                }
            }
            Kind::Dtls => self.close_dtls(token.index),
            _ => {}
        }
    }

    fn count_allocation(&mut self, path: &ClientPath, change: i64) {
        self.metrics.allocations_active.add(change);
        self.metrics
            .allocations_by_transport
            .add(path.tuple.transport.as_str(), change);
    }

    fn count_udp_session(&self, path: &ClientPath, began: bool) {
        let Some(token) = Token::of_link(path.link) else {
            return;
        };
        if began {
            self.ports.session_began(token.index);
        } else {
            self.ports.session_ended(token.index);
        }
    }

    /// Takes the user's quota and opens the sockets, or does neither.
    fn open_relay(&mut self, request: &RelayRequest) -> Result<RelayGrant, RelayRefusal> {
        let quota = &self.shared.quota;
        let is_granted = match request.is_guests {
            true => quota.acquire_for_guest(&request.user),
            false => quota.acquire(&request.user),
        };
        if !is_granted {
            return Err(RelayRefusal::Quota);
        }
        let opened = match (request.transport, request.reservation) {
            (PeerTransport::Udp, Some(token)) => self.open_reserved(request, token),
            (PeerTransport::Udp, None) => self.open_udp(request),
            (PeerTransport::Tcp, _) => self.open_tcp(request),
        };
        match opened {
            Ok((relay, grant)) => {
                self.pending_relays.insert(request.id, relay);
                Ok(grant)
            }
            Err(refusal) => {
                self.shared.quota.release(&request.user);
                Err(refusal)
            }
        }
    }

    fn open_reserved(
        &self,
        request: &RelayRequest,
        token: [u8; 8],
    ) -> Result<(Relay, RelayGrant), RelayRefusal> {
        let socket = self
            .shared
            .relay_ports
            .take_reservation(token, self.now.millis)
            .ok_or(RelayRefusal::BadReservation)?;
        let bound = socket.local_addr();
        let advertised = if bound.is_ipv6() {
            request
                .v6
                .map(|ip| SocketAddr::new(ip.into(), bound.port()))
        } else {
            request
                .v4
                .map(|ip| SocketAddr::new(ip.into(), bound.port()))
        };
        let Some(advertised) = advertised else {
            drop(socket);
            self.shared
                .relay_ports
                .closed(PeerTransport::Udp, bound.port());
            return Err(RelayRefusal::BadReservation);
        };
        let ipv6 = bound.is_ipv6();
        let grant = RelayGrant {
            v4: Some(advertised).filter(|_| !ipv6),
            v6: Some(advertised).filter(|_| ipv6),
            reservation: None,
        };
        Ok((Relay::Udp(Pair::one(socket, ipv6)), grant))
    }

    fn open_udp(&self, request: &RelayRequest) -> Result<(Relay, RelayGrant), RelayRefusal> {
        let mut reservation = None;
        let (sockets, mut grant) = open_pair(request, |address| {
            let (even, next) = (request.even_port, request.reserve_next);
            let opened = self
                .shared
                .relay_ports
                .open_udp(address, even, next, self.now.millis)?;
            reservation = reservation.or(opened.reservation);
            let port = opened.socket.local_addr().port();
            Ok((opened.socket, port))
        })?;
        grant.reservation = reservation;
        Ok((Relay::Udp(sockets), grant))
    }

    fn open_tcp(&self, request: &RelayRequest) -> Result<(Relay, RelayGrant), RelayRefusal> {
        let (sockets, grant) = open_pair(request, |address| {
            let listener = self.shared.relay_ports.open_tcp(address)?;
            let port = listener.local_addr().port();
            Ok((listener, port))
        })?;
        Ok((Relay::Tcp(sockets), grant))
    }

    fn relay_ready(&mut self, allocation: AllocationId, request: RequestId) {
        let Some(relay) = self.pending_relays.remove(&request) else {
            return;
        };
        let watched = match &relay {
            Relay::Udp(sockets) => sockets.iter().try_for_each(|socket| {
                let token = relay_token(allocation, socket.local_addr(), PeerTransport::Udp);
                self.poller
                    .add(socket, token.for_poll(), Interest::Readable)
            }),
            Relay::Tcp(sockets) => sockets.iter().try_for_each(|socket| {
                let token = relay_token(allocation, socket.local_addr(), PeerTransport::Tcp);
                self.poller
                    .add(socket, token.for_poll(), Interest::Readable)
            }),
        };
        self.relays.insert(allocation, relay);
        if let Err(error) = watched {
            tracing::error!(scope = "turn", "cannot watch a relay socket: {error}");
            let why = stunner_turn::server::EndReason::RelayFailed;
            self.server.end_allocation(self.now, allocation, why);
        }
    }
}

/// Opens a socket for each family that is asked for; one of two is enough (RFC 8656 §7.2).
fn open_pair<S>(
    request: &RelayRequest,
    mut open: impl FnMut(IpAddr) -> io::Result<(S, u16)>,
) -> Result<(Pair<S>, RelayGrant), RelayRefusal> {
    let mut failure = None;
    let mut try_open = |address: Option<IpAddr>| {
        let address = address?;
        match open(address) {
            Ok((socket, port)) => Some((socket, SocketAddr::new(address, port))),
            Err(error) => {
                failure = Some(error);
                None
            }
        }
    };
    let (v4, granted_v4) = try_open(request.v4.map(Into::into)).unzip();
    let (v6, granted_v6) = try_open(request.v6.map(Into::into)).unzip();
    if v4.is_none() && v6.is_none() {
        return Err(refusal(failure));
    }
    let grant = RelayGrant {
        v4: granted_v4,
        v6: granted_v6,
        reservation: None,
    };
    Ok((Pair { v4, v6 }, grant))
}

fn refusal(failure: Option<io::Error>) -> RelayRefusal {
    let Some(error) = failure else {
        return RelayRefusal::FamilyUnsupported;
    };
    if error.raw_os_error() == Some(libc::EAFNOSUPPORT) {
        return RelayRefusal::FamilyUnsupported;
    }
    tracing::warn!(
        scope = "turn",
        "cannot open a relay socket, the client gets 508: {error}; \
         widen --relay-port-range or raise the limit of open files"
    );
    RelayRefusal::NoPort
}
