//! One allocation and the table that holds them all.

use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;

use stunner_config::PeerTransport;
use stunner_stun::{Family, TransactionId};

use super::channels::Channels;
use super::permissions::Permissions;
use super::{ConnectionId, Credentials, Traffic};
use crate::{AllocationId, ClientPath};

/// The state of one allocation. Kept small: a shard may hold 100,000.
#[derive(Debug)]
pub(super) struct Allocation {
    pub path: ClientPath,
    /// User id: whose quota it counts against.
    pub user: Arc<str>,
    /// What proves that a request is the owner's, whatever the policy says by now.
    pub username: Arc<str>,
    pub realm: Arc<str>,
    pub credentials: Arc<Credentials>,

    pub transport: PeerTransport,
    pub relayed_v4: Option<SocketAddrV4>,
    pub relayed_v6: Option<Box<SocketAddrV6>>,

    /// Times in monotonic milliseconds.
    pub created: u64,
    pub expires: u64,
    pub last_traffic: u64,
    pub to_peer: Traffic,
    pub to_client: Traffic,

    pub permissions: Permissions,
    pub channels: Channels,
    /// Peer connections of a TCP allocation.
    pub connections: Vec<ConnectionId>,
    /// What it takes to repeat the answer to the Allocate.
    pub answer: AllocateAnswer,
}

/// The answer to an Allocate, in case the request is repeated (RFC 8656 §7.2).
#[derive(Debug, Clone, Copy)]
pub(super) struct AllocateAnswer {
    pub transaction: TransactionId,
    pub lifetime: u32,
    pub reservation: Option<[u8; 8]>,
    /// The family of a dual allocation that could not be had, and the error code why.
    pub missing: Option<(Family, u16)>,
}

impl Allocation {
    pub(super) fn relayed(&self) -> impl Iterator<Item = SocketAddr> + use<> {
        let v4 = self.relayed_v4.map(SocketAddr::V4);
        let v6 = self.relayed_v6.as_deref().copied().map(SocketAddr::V6);
        v4.into_iter().chain(v6)
    }

    /// The relayed address that reaches peers of this family.
    pub(super) fn relayed_for(&self, peer: IpAddr) -> Option<SocketAddr> {
        match peer {
            IpAddr::V4(_) => self.relayed_v4.map(SocketAddr::V4),
            IpAddr::V6(_) => self.relayed_v6.as_deref().copied().map(SocketAddr::V6),
        }
    }

    /// The first thing to happen without anybody's doing, connections left aside.
    pub(super) fn deadline(&self) -> u64 {
        let permissions = self.permissions.iter().map(|p| p.expires);
        let channels = self.channels.iter().map(|c| c.expires);
        permissions.chain(channels).fold(self.expires, u64::min)
    }
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    allocation: Option<Box<Allocation>>,
}

/// Allocations by place. An id of an allocation that has ended finds nothing, even when its place is taken again.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Allocations {
    pub(super) fn insert(&mut self, allocation: Allocation) -> AllocationId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                allocation: None,
            });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.allocation = Some(Box::new(allocation));
        AllocationId {
            index,
            generation: slot.generation,
        }
    }

    pub(super) fn remove(&mut self, id: AllocationId) -> Option<Box<Allocation>> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        let allocation = slot.allocation.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index);
        Some(allocation)
    }

    pub(super) fn get(&self, id: AllocationId) -> Option<&Allocation> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then_some(slot.allocation.as_deref()?)
    }

    pub(super) fn get_mut(&mut self, id: AllocationId) -> Option<&mut Allocation> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        slot.allocation.as_deref_mut()
    }

    /// The allocation at a place, whatever its generation.
    pub(super) fn at(&self, index: u32) -> Option<(AllocationId, &Allocation)> {
        let slot = self.slots.get(index as usize)?;
        let generation = slot.generation;
        Some((
            AllocationId { index, generation },
            slot.allocation.as_deref()?,
        ))
    }

    /// The same, to be changed.
    pub(super) fn at_mut(&mut self, index: u32) -> Option<(AllocationId, &mut Allocation)> {
        let slot = self.slots.get_mut(index as usize)?;
        let generation = slot.generation;
        Some((
            AllocationId { index, generation },
            slot.allocation.as_deref_mut()?,
        ))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (AllocationId, &Allocation)> {
        (0..self.slots.len() as u32).filter_map(|index| self.at(index))
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use super::*;
    use crate::server::channels::Channel;
    use crate::server::permissions::Permission;

    #[test]
    fn an_allocation_with_a_permission_and_a_channel_takes_less_than_a_kilobyte() {
        let strings = 2 * (16 + 32);
        let wheel_and_table = 24 + 8;
        let total = size_of::<Slot>()
            + size_of::<Allocation>()
            + size_of::<Permission>()
            + size_of::<Channel>()
            + strings
            + wheel_and_table;
        assert!(total < 768, "{total} bytes");
    }
}
