//! Allocations as seen from outside.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_config::PeerTransport;

use super::allocation::Allocation;
use crate::{AllocationId, ClientPath, ListenerId};

/// Packets and payload bytes of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    pub packets: u64,
    pub bytes: u64,
}

impl Traffic {
    pub(super) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// Why an allocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// Its lifetime ran out.
    Expired,
    /// The client asked for it (Refresh with lifetime 0).
    Deleted,
    /// The client's connection or session closed.
    ClientClosed,
    /// Its listener was removed.
    ListenerRemoved,
    /// An operator ended it.
    Killed,
    /// The process stops.
    Shutdown,
    /// Its relay sockets failed.
    RelayFailed,
}

impl EndReason {
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Expired => "expired",
            EndReason::Deleted => "deleted",
            EndReason::ClientClosed => "client_closed",
            EndReason::ListenerRemoved => "listener_removed",
            EndReason::Killed => "killed",
            EndReason::Shutdown => "shutdown",
            EndReason::RelayFailed => "relay_failed",
        }
    }
}

/// What is left to say when an allocation ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    pub allocation: AllocationId,
    pub user: Arc<str>,
    pub username: Arc<str>,
    pub path: ClientPath,
    pub listener: ListenerId,
    pub transport: PeerTransport,
    pub relayed: Vec<SocketAddr>,
    pub duration_ms: u64,
    pub to_peer: Traffic,
    pub to_client: Traffic,
    pub why: EndReason,
}

/// A live allocation.
#[derive(Debug, Clone, Copy)]
pub struct SessionView<'s> {
    pub allocation: AllocationId,
    pub(super) inner: &'s Allocation,
}

impl<'s> SessionView<'s> {
    /// The user id that quotas count.
    pub fn user(&self) -> &'s Arc<str> {
        &self.inner.user
    }

    pub fn username(&self) -> &'s Arc<str> {
        &self.inner.username
    }

    pub fn path(&self) -> &'s ClientPath {
        &self.inner.path
    }

    pub fn transport(&self) -> PeerTransport {
        self.inner.transport
    }

    pub fn relayed(&self) -> impl Iterator<Item = SocketAddr> + use<> {
        self.inner.relayed()
    }

    /// When it was made, in monotonic milliseconds.
    pub fn created(&self) -> u64 {
        self.inner.created
    }

    /// When it ends unless refreshed, in monotonic milliseconds.
    pub fn expires(&self) -> u64 {
        self.inner.expires
    }

    /// When the last application data passed, in monotonic milliseconds; the start where none did.
    pub fn last_traffic(&self) -> u64 {
        self.inner.last_traffic
    }

    pub fn to_peer(&self) -> Traffic {
        self.inner.to_peer
    }

    pub fn to_client(&self) -> Traffic {
        self.inner.to_client
    }

    /// Addresses with a permission, and when it ends.
    pub fn permissions(&self) -> impl Iterator<Item = (IpAddr, u64)> + use<'s> {
        self.inner
            .permissions
            .iter()
            .map(|p| (p.address, p.expires))
    }

    /// Bound channels: number, peer, and when the binding ends.
    pub fn channels(&self) -> impl Iterator<Item = (u16, SocketAddr, u64)> + use<'s> {
        self.inner
            .channels
            .iter()
            .map(|c| (c.number, c.peer, c.expires))
    }
}
