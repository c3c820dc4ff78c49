//! CreatePermission (RFC 8656 §10.2) and ChannelBind (§12.2).

use std::net::{IpAddr, SocketAddr};

use stunner_config::PeerTransport;
use stunner_config::admission::{DenyReason, Verdict};
use stunner_stun::{Message, attr, channel_data, error_code};

use super::allocation::Allocation;
use super::answer::{Asked, Refusal, Signer};
use super::channels::Channel;
use super::settings::{CHANNEL_LIFETIME_MS, PERMISSION_LIFETIME_MS};
use super::verdict::CachedVerdict;
use super::{Denial, Effect, Server};
use crate::{AllocationId, Now};

/// More peers than a request of one Ethernet frame can name. RFC 8656 §10.1 sets no bound.
const MAX_PEERS: usize = 256;

impl Server {
    pub(super) fn create_permission(
        &mut self,
        now: Now,
        asked: &Asked,
        message: &Message<'_>,
        id: AllocationId,
        signer: &Signer,
    ) -> Result<(), Refusal> {
        let peers: Result<Vec<SocketAddr>, _> = message
            .xor_addresses(attr::XOR_PEER_ADDRESS)
            .take(MAX_PEERS + 1)
            .collect();
        let peers = peers.map_err(|_| Refusal::bad_request("XOR-PEER-ADDRESS is malformed"))?;
        if peers.is_empty() {
            return Err(Refusal::bad_request("XOR-PEER-ADDRESS is missing"));
        }
        if peers.len() > MAX_PEERS {
            return Err(Refusal::capacity("Too many peers in one request"));
        }
        // All or nothing: every peer is judged before the first permission is installed.
        let mut new = 0;
        for (at, peer) in peers.iter().enumerate() {
            self.check_permission(id, *peer)?;
            let is_first = peers[..at].iter().all(|other| other.ip() != peer.ip());
            let allocation = self.allocation(id)?;
            if is_first && allocation.permissions.get(peer.ip()).is_none() {
                new += 1;
            }
        }
        self.make_room_for_permissions(now, id, new)?;
        for peer in &peers {
            self.permit(now, id, peer.ip());
        }
        self.succeed(asked, Some(signer), |_| {});
        Ok(())
    }

    pub(super) fn channel_bind(
        &mut self,
        now: Now,
        asked: &Asked,
        message: &Message<'_>,
        id: AllocationId,
        signer: &Signer,
    ) -> Result<(), Refusal> {
        let bad = Refusal::bad_request;
        let number = match message.channel_number() {
            Some(Ok(number)) => number,
            Some(Err(_)) => return Err(bad("CHANNEL-NUMBER is malformed")),
            None => return Err(bad("CHANNEL-NUMBER is missing")),
        };
        let peer = peer_of(message)?;
        if !channel_data::NUMBERS.contains(&number) {
            return Err(bad("channel number out of range"));
        }
        if self.allocation(id)?.transport == PeerTransport::Tcp {
            // RFC 6062 §3: channels are for UDP allocations.
            return Err(bad("no channels in a TCP allocation"));
        }
        if self.allocation(id)?.relayed_for(peer.ip()).is_none() {
            return Err(Refusal::code(error_code::PEER_ADDRESS_FAMILY_MISMATCH));
        }
        self.drop_expired_channels(now, id);

        let allocation = self.allocation_mut(id)?;
        let is_bound = match allocation.channels.by_number(number) {
            Some(channel) if channel.peer != peer => return Err(bad("channel number is in use")),
            Some(_) => true,
            None => false,
        };
        if !is_bound && allocation.channels.by_peer(peer).is_some() {
            return Err(bad("peer has another channel"));
        }
        self.check_peer(id, peer)?;
        let room = self.settings.max_channels;
        let allocation = self.allocation(id)?;
        if !is_bound && allocation.channels.len() >= room {
            return Err(Refusal::capacity("Too many channels"));
        }
        let new = usize::from(allocation.permissions.get(peer.ip()).is_none());
        self.make_room_for_permissions(now, id, new)?;

        let path = self.allocation(id)?.path;
        let expires = now.millis + CHANNEL_LIFETIME_MS;
        let channels = &mut self.allocation_mut(id)?.channels;
        match channels.by_number(number) {
            Some(channel) => channel.expires = expires,
            None => {
                channels.insert(Channel {
                    number,
                    peer,
                    expires,
                    permitted_until: 0,
                    verdict: CachedVerdict::NONE,
                });
                self.effects.push_back(Effect::ChannelBound {
                    allocation: id,
                    number,
                    peer,
                    path,
                });
            }
        }
        // RFC 8656 §12.2: binding a channel also installs or refreshes the permission.
        self.permit(now, id, peer.ip());
        self.wheel.arm_before(id.index, expires);
        self.succeed(asked, Some(signer), |_| {});
        Ok(())
    }

    fn permit(&mut self, now: Now, id: AllocationId, address: IpAddr) {
        let expires = now.millis + PERMISSION_LIFETIME_MS;
        if let Some(allocation) = self.allocations.get_mut(id) {
            allocation.permissions.install(address, expires);
            allocation.channels.permit(address, expires);
            self.wheel.arm_before(id.index, expires);
        }
    }

    fn make_room_for_permissions(
        &mut self,
        now: Now,
        id: AllocationId,
        new: usize,
    ) -> Result<(), Refusal> {
        let room = self.settings.max_permissions;
        let permissions = &mut self.allocation_mut(id)?.permissions;
        if permissions.len() + new > room {
            permissions.retain(|row| row.expires > now.millis);
        }
        match permissions.len() + new > room {
            true => Err(Refusal::capacity("Too many permissions")),
            false => Ok(()),
        }
    }

    /// Whether an address can be relayed to and some port of it is admitted.
    fn check_address(&mut self, id: AllocationId, address: IpAddr) -> Result<(), Refusal> {
        let allocation = self.allocation(id)?;
        if allocation.relayed_for(address).is_none() {
            return Err(Refusal::code(error_code::PEER_ADDRESS_FAMILY_MISMATCH));
        }
        let admission = self.policy.admission(allocation);
        match admission.map(|a| a.admit_address(allocation.transport, address)) {
            Some(Verdict::Admitted { .. }) => Ok(()),
            Some(Verdict::Denied(reason)) => Err(self.deny(id, (address, 0).into(), reason)),
            None => Err(self.deny(id, (address, 0).into(), DenyReason::NoRoute)),
        }
    }

    /// Whether a permission may be given. It holds for all ports (RFC 8656 §9), but a client that names a port it can
    /// never reach learns so at once, and ICE gives up on the candidate. Ports of the gateway's own addresses may
    /// become relays later, and a TCP peer connects from any port.
    fn check_permission(&mut self, id: AllocationId, peer: SocketAddr) -> Result<(), Refusal> {
        self.check_address(id, peer.ip())?;
        let allocation = self.allocation(id)?;
        if peer.port() == 0 || allocation.transport != PeerTransport::Udp {
            return Ok(());
        }
        let admission = self.policy.admission(allocation);
        match admission.map(|a| a.admit(PeerTransport::Udp, peer)) {
            Some(Verdict::Denied(reason)) if reason != DenyReason::OwnAddress => {
                Err(self.deny(id, peer, reason))
            }
            _ => Ok(()),
        }
    }

    /// Whether an address and port can be relayed to and are admitted.
    pub(super) fn check_peer(&mut self, id: AllocationId, peer: SocketAddr) -> Result<(), Refusal> {
        let allocation = self.allocation(id)?;
        if allocation.relayed_for(peer.ip()).is_none() {
            return Err(Refusal::code(error_code::PEER_ADDRESS_FAMILY_MISMATCH));
        }
        let admission = self.policy.admission(allocation);
        match admission.map(|a| a.admit(allocation.transport, peer)) {
            Some(Verdict::Admitted { .. }) => Ok(()),
            Some(Verdict::Denied(reason)) => Err(self.deny(id, peer, reason)),
            None => Err(self.deny(id, peer, DenyReason::NoRoute)),
        }
    }

    /// Notes a denied peer: 403.
    pub(super) fn deny(
        &mut self,
        id: AllocationId,
        peer: SocketAddr,
        reason: DenyReason,
    ) -> Refusal {
        self.note_denial(id, peer, reason, true);
        Refusal::code(error_code::FORBIDDEN)
    }

    /// Counts a denied peer, and reports it where that is due. The farewells of a guest who has been dismissed are
    /// refused like anything else, but nobody needs to look into them.
    pub(super) fn note_denial(
        &mut self,
        id: AllocationId,
        peer: SocketAddr,
        reason: DenyReason,
        report: bool,
    ) {
        let Some(allocation) = self.allocations.get(id) else {
            return;
        };
        if self.policy.has_dismissed(allocation) {
            return;
        }
        self.stats.count_denial(reason);
        if report {
            self.effects.push_back(Effect::Denied(Denial {
                path: allocation.path,
                user: allocation.user.clone(),
                transport: allocation.transport,
                peer,
                reason,
            }));
        }
    }

    pub(super) fn allocation(&self, id: AllocationId) -> Result<&Allocation, Refusal> {
        let allocation = self.allocations.get(id);
        allocation.ok_or(Refusal::code(error_code::ALLOCATION_MISMATCH))
    }

    pub(super) fn allocation_mut(&mut self, id: AllocationId) -> Result<&mut Allocation, Refusal> {
        let allocation = self.allocations.get_mut(id);
        allocation.ok_or(Refusal::code(error_code::ALLOCATION_MISMATCH))
    }
}

/// The one peer of a ChannelBind or Connect.
pub(super) fn peer_of(message: &Message<'_>) -> Result<SocketAddr, Refusal> {
    match message.xor_address(attr::XOR_PEER_ADDRESS) {
        Some(Ok(peer)) => Ok(peer),
        Some(Err(_)) => Err(Refusal::bad_request("XOR-PEER-ADDRESS is malformed")),
        None => Err(Refusal::bad_request("XOR-PEER-ADDRESS is missing")),
    }
}
