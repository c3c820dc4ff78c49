//! Carrying out what the TURN server wants done.

use std::net::SocketAddr;

use stunner_config::PeerTransport;
use stunner_net::poll::Interest;
use stunner_turn::server::{Effect, RelayGrant, RelayRefusal, RelayRequest, RequestId};
use stunner_turn::{AllocationId, ClientPath, ClientTransport};

use super::core::Core;
use super::relay::{Relay, RelaySockets, relay_token};
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
                if let Some(mut relay) = self.pending_relays.remove(&request) {
                    relay.close(&self.shared.relay_ports, |_| true);
                }
                self.shared.quota.release(&user);
            }
            Effect::CloseRelay { allocation, user } => {
                if let Some(mut relay) = self.relays.remove(allocation) {
                    relay.close(&self.shared.relay_ports, |_| true);
                }
                self.shared.quota.release(&user);
            }
            Effect::CloseRelayAddress {
                allocation,
                relayed,
            } => {
                if let Some(relay) = self.relays.get_mut(allocation) {
                    relay.close(&self.shared.relay_ports, |ipv6| ipv6 == relayed.is_ipv6());
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
        if !self.shared.quota.acquire(&request.user) {
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
        let mut grant = RelayGrant::default();
        let sockets = if bound.is_ipv6() {
            grant.v6 = Some(advertised);
            RelaySockets::Udp {
                v4: None,
                v6: Some(socket),
            }
        } else {
            grant.v4 = Some(advertised);
            RelaySockets::Udp {
                v4: Some(socket),
                v6: None,
            }
        };
        Ok((Relay { sockets }, grant))
    }

    fn open_udp(&self, request: &RelayRequest) -> Result<(Relay, RelayGrant), RelayRefusal> {
        let pool = &self.shared.relay_ports;
        let mut grant = RelayGrant::default();
        let mut failure = None;
        let mut open = |address: Option<std::net::IpAddr>| {
            let address = address?;
            match pool.open_udp(
                address,
                request.even_port,
                request.reserve_next,
                self.now.millis,
            ) {
                Ok(opened) => {
                    grant.reservation = grant.reservation.or(opened.reservation);
                    let advertised = SocketAddr::new(address, opened.socket.local_addr().port());
                    Some((opened.socket, advertised))
                }
                Err(error) => {
                    failure = Some(error);
                    None
                }
            }
        };
        let v4 = open(request.v4.map(Into::into));
        let v6 = open(request.v6.map(Into::into));
        if v4.is_none() && v6.is_none() {
            return Err(refusal(failure));
        }
        grant.v4 = v4.as_ref().map(|(_, advertised)| *advertised);
        grant.v6 = v6.as_ref().map(|(_, advertised)| *advertised);
        let sockets = RelaySockets::Udp {
            v4: v4.map(|(socket, _)| socket),
            v6: v6.map(|(socket, _)| socket),
        };
        Ok((Relay { sockets }, grant))
    }

    fn open_tcp(&self, request: &RelayRequest) -> Result<(Relay, RelayGrant), RelayRefusal> {
        let pool = &self.shared.relay_ports;
        let mut grant = RelayGrant::default();
        let (mut v4, mut v6, mut failure) = (None, None, None);
        if let Some(ip) = request.v4 {
            match pool.open_tcp(ip.into()) {
                Ok(listener) => {
                    grant.v4 = Some(SocketAddr::new(ip.into(), listener.local_addr().port()));
                    v4 = Some(listener);
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(ip) = request.v6 {
            match pool.open_tcp(ip.into()) {
                Ok(listener) => {
                    grant.v6 = Some(SocketAddr::new(ip.into(), listener.local_addr().port()));
                    v6 = Some(listener);
                }
                Err(error) => failure = Some(error),
            }
        }
        if v4.is_none() && v6.is_none() {
            return Err(refusal(failure));
        }
        Ok((
            Relay {
                sockets: RelaySockets::Tcp { v4, v6 },
            },
            grant,
        ))
    }

    fn relay_ready(&mut self, allocation: AllocationId, request: RequestId) {
        let Some(relay) = self.pending_relays.remove(&request) else {
            return;
        };
        let watched = match &relay.sockets {
            RelaySockets::Udp { v4, v6 } => [v4, v6].into_iter().flatten().try_for_each(|socket| {
                let token = relay_token(allocation, socket.local_addr(), PeerTransport::Udp);
                self.poller
                    .add(socket, token.for_poll(), Interest::Readable)
            }),
            RelaySockets::Tcp { v4, v6 } => [v4, v6].into_iter().flatten().try_for_each(|socket| {
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

fn refusal(failure: Option<std::io::Error>) -> RelayRefusal {
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
