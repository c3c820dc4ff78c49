//! Application data: ChannelData, Send and Data (RFC 8656 §11 and §12). No allocation of memory in here.

use std::net::SocketAddr;

use stunner_config::PeerTransport;
use stunner_config::admission::ClusterId;
use stunner_stun::{Message, attr, channel_data};

use super::settings::MAX_PEER_DATAGRAM;
use super::verdict::{CachedVerdict, Decision};
use super::{DropReason, FromClient, FromPeer, RelayHeader, Server, ToClient, ToPeer};
use crate::{AllocationId, ClientPath, Now};

impl Server {
    /// ChannelData from a client: one hash lookup.
    #[inline]
    pub(super) fn channel_data<'p>(
        &mut self,
        now: Now,
        path: &ClientPath,
        bytes: &'p [u8],
    ) -> FromClient<'p> {
        let Ok(data) = channel_data::parse(bytes) else {
            return self.dropped(DropReason::Malformed);
        };
        let Some(index) = self.tuples.find(&path.tuple, &self.allocations) else {
            return self.dropped(DropReason::NoAllocation);
        };
        let epoch = self.epoch;
        let Some((id, allocation)) = self.allocations.at_mut(index) else {
            return self.dropped(DropReason::NoAllocation);
        };
        if allocation.expires <= now.millis {
            return self.dropped(DropReason::NoAllocation);
        }
        let channel = allocation.channels.by_number(data.number);
        let Some(channel) = channel.filter(|channel| channel.expires > now.millis) else {
            return self.dropped(DropReason::NoChannel);
        };
        let peer = channel.peer;
        if let Some(Decision { answer, .. }) = channel.verdict.lookup(epoch, peer.port())
            && let Ok(cluster) = answer
            && data.payload.len() <= MAX_PEER_DATAGRAM
        {
            allocation.to_peer.add(data.payload.len());
            allocation.last_traffic = now.millis;
            return FromClient::Relay(ToPeer {
                allocation: id,
                peer,
                payload: data.payload,
                cluster,
                dont_fragment: false,
            });
        }
        self.send_to_peer(
            now,
            id,
            Found::Channel(data.number),
            peer,
            data.payload,
            false,
        )
    }

    /// A Send indication (RFC 8656 §11.2).
    pub(super) fn send_indication<'p>(
        &mut self,
        now: Now,
        path: &ClientPath,
        message: &Message<'p>,
    ) -> FromClient<'p> {
        let unknown = message.unknown_required(super::dispatch::is_known);
        if !unknown.is_empty() {
            return self.dropped(DropReason::UnknownAttribute);
        }
        let peer = message.xor_address(attr::XOR_PEER_ADDRESS);
        let (Some(Ok(peer)), Some(payload)) = (peer, message.data()) else {
            return self.dropped(DropReason::Malformed);
        };
        let Some(index) = self.tuples.find(&path.tuple, &self.allocations) else {
            return self.dropped(DropReason::NoAllocation);
        };
        let Some((id, allocation)) = self.allocations.at_mut(index) else {
            return self.dropped(DropReason::NoAllocation);
        };
        if allocation.expires <= now.millis {
            return self.dropped(DropReason::NoAllocation);
        }
        if allocation.transport != PeerTransport::Udp {
            return self.dropped(DropReason::WrongTransport);
        }
        let permission = allocation.permissions.get(peer.ip());
        if permission.is_none_or(|permission| permission.expires <= now.millis) {
            return self.dropped(DropReason::NoPermission);
        }
        let dont_fragment = message.dont_fragment();
        self.send_to_peer(now, id, Found::Permission, peer, payload, dont_fragment)
    }

    /// The part of sending that may have to ask the policy.
    fn send_to_peer<'p>(
        &mut self,
        now: Now,
        id: AllocationId,
        found: Found,
        peer: SocketAddr,
        payload: &'p [u8],
        dont_fragment: bool,
    ) -> FromClient<'p> {
        if payload.len() > MAX_PEER_DATAGRAM {
            return self.dropped(DropReason::TooBig);
        }
        let Some(cluster) = self.decide(id, found, peer) else {
            return self.dropped(DropReason::Denied);
        };
        if let Some(allocation) = self.allocations.get_mut(id) {
            allocation.to_peer.add(payload.len());
            allocation.last_traffic = now.millis;
        }
        FromClient::Relay(ToPeer {
            allocation: id,
            peer,
            payload,
            cluster,
            dont_fragment,
        })
    }

    /// A datagram from a peer: no hash lookup for up to eight channels (RFC 8656 §11.3, §12.7).
    #[inline]
    pub(super) fn datagram_from_peer(
        &mut self,
        now: Now,
        id: AllocationId,
        peer: SocketAddr,
        len: usize,
    ) -> FromPeer {
        let peer = plain(peer);
        let epoch = self.epoch;
        let Some(allocation) = self.allocations.get_mut(id) else {
            return self.dropped_from_peer(DropReason::NoAllocation);
        };
        if allocation.expires <= now.millis || allocation.transport != PeerTransport::Udp {
            return self.dropped_from_peer(DropReason::NoAllocation);
        }
        let channel = allocation.channels.by_peer(peer);
        let (header, found, known) = match channel.filter(|channel| channel.expires > now.millis) {
            Some(channel) if channel.permitted_until > now.millis => (
                RelayHeader::Channel(channel.number),
                Found::Channel(channel.number),
                channel.verdict.lookup(epoch, peer.port()),
            ),
            Some(_) => return self.dropped_from_peer(DropReason::NoPermission),
            None => match allocation.permissions.get(peer.ip()) {
                Some(permission) if permission.expires > now.millis => {
                    let transaction = self.random.transaction();
                    (
                        RelayHeader::Data { peer, transaction },
                        Found::Permission,
                        permission.verdict.lookup(epoch, peer.port()),
                    )
                }
                _ => return self.dropped_from_peer(DropReason::NoPermission),
            },
        };
        let transport = allocation.path.tuple.transport;
        if header.message_len(len, transport.is_stream()) > transport.max_message() {
            return self.dropped_from_peer(DropReason::TooBig);
        }
        let cluster = match known {
            Some(Decision {
                answer: Ok(cluster),
                ..
            }) => cluster,
            _ => match self.decide(id, found, peer) {
                Some(cluster) => cluster,
                None => return self.dropped_from_peer(DropReason::Denied),
            },
        };
        let Some(allocation) = self.allocations.get_mut(id) else {
            return self.dropped_from_peer(DropReason::NoAllocation);
        };
        allocation.to_client.add(len);
        allocation.last_traffic = now.millis;
        FromPeer::Relay(ToClient {
            allocation: id,
            path: allocation.path,
            cluster,
            header,
        })
    }

    /// What the policy says about a peer now, from memory where it can be; denials are counted and reported.
    fn decide(&mut self, id: AllocationId, found: Found, peer: SocketAddr) -> Option<ClusterId> {
        let epoch = self.epoch;
        let policy = &self.policy;
        let allocation = self.allocations.get_mut(id)?;
        let known = match found {
            Found::Channel(number) => allocation.channels.by_number(number)?.verdict,
            Found::Permission => allocation.permissions.get(peer.ip())?.verdict,
        };
        let decision = match known.lookup(epoch, peer.port()) {
            Some(decision) => decision,
            None => {
                let admission = policy.admission(allocation);
                let transport = allocation.transport;
                let cached: &mut CachedVerdict = match found {
                    Found::Channel(number) => &mut allocation.channels.by_number(number)?.verdict,
                    Found::Permission => &mut allocation.permissions.get_mut(peer.ip())?.verdict,
                };
                cached.ask(epoch, admission, transport, peer)
            }
        };
        match decision.answer {
            Ok(cluster) => Some(cluster),
            Err(reason) => {
                self.note_denial(id, peer, reason, decision.report);
                None
            }
        }
    }

    pub(super) fn dropped(&mut self, reason: DropReason) -> FromClient<'static> {
        self.stats.count_drop(reason);
        FromClient::Dropped(reason)
    }

    fn dropped_from_peer(&mut self, reason: DropReason) -> FromPeer {
        self.stats.count_drop(reason);
        FromPeer::Dropped(reason)
    }
}

/// A peer as messages name it: without flow label and scope.
#[inline]
fn plain(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V6(v6) if v6.flowinfo() != 0 || v6.scope_id() != 0 => {
            SocketAddr::new(peer.ip(), peer.port())
        }
        _ => peer,
    }
}

/// What lets a packet pass, and remembers the verdict about its peer.
#[derive(Debug, Clone, Copy)]
enum Found {
    Channel(u16),
    Permission,
}
