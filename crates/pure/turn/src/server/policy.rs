//! What the configuration says, as an immutable snapshot that replaces the one before.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use stunner_config::RelayAddresses;
use stunner_config::admission::Admission;

use super::allocation::Allocation;
use super::{Credentials, Guest, guest};
use crate::ListenerId;

/// Everything a server takes from the configuration.
#[derive(Debug, Clone)]
pub struct Policy {
    /// A number for logs that grows with every change. The server counts the swaps itself.
    pub generation: u64,
    pub auth: AuthPolicy,
    /// Every listener with live sessions, those that drain on a former port included. A session whose listener is not
    /// in here reaches no peer.
    pub listeners: HashMap<ListenerId, ListenerPolicy>,
    /// Users besides those of the configuration. The allocation of a guest who is not in here any more reaches no peer.
    pub guests: Vec<Guest>,
    /// The process drains: new allocations are refused.
    pub draining: Option<Draining>,
}

impl Policy {
    /// Which peers an allocation may reach: what its listener's routes admit, for a guest's only what the guest's own
    /// rules do. `None` where listener or guest have left the policy.
    pub(super) fn admission(&self, allocation: &Allocation) -> Option<&Admission> {
        let admission = match allocation.credentials.is_guests() {
            false => &self.listeners.get(&allocation.path.listener)?.admission,
            true => guest::by_name(&self.guests, &allocation.username)?.admission(),
        };
        Some(admission)
    }

    /// Whether an allocation is that of a guest who has left.
    pub(super) fn has_dismissed(&self, allocation: &Allocation) -> bool {
        allocation.credentials.is_guests()
            && guest::by_name(&self.guests, &allocation.username).is_none()
    }
}

/// Who may allocate.
#[derive(Debug, Clone)]
pub struct AuthPolicy {
    pub current: Arc<Credentials>,
    /// The credentials before the last change, and until when (monotonic milliseconds) new allocations may use them.
    pub previous: Option<(Arc<Credentials>, u64)>,
}

impl AuthPolicy {
    pub fn new(current: Credentials) -> Self {
        AuthPolicy {
            current: Arc::new(current),
            previous: None,
        }
    }
}

/// One listener.
#[derive(Debug, Clone)]
pub struct ListenerPolicy {
    pub name: Arc<str>,
    /// Which peers its clients may reach.
    pub admission: Arc<Admission>,
    /// Which relayed addresses its allocations advertise.
    pub addresses: RelayAddresses,
}

/// How new allocations are refused while the process drains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draining {
    /// Where clients of the same address family are sent (300, RFC 8489 §10); others get 508.
    pub alternate_server: Option<SocketAddr>,
}
