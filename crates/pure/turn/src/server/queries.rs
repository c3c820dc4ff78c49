//! Questions that callers ask between packets.

use stunner_config::PeerTransport;
use stunner_config::admission::{ClusterId, Verdict};

use super::{ConnectionId, Server};
use crate::{FiveTuple, ListenerId};

impl Server {
    /// Whether an allocation lives on this 5-tuple.
    pub fn has_allocation(&self, tuple: &FiveTuple) -> bool {
        self.tuples.find(tuple, &self.allocations).is_some()
    }

    /// Whether the policy in force has this listener, be it only for sessions on a port that it left.
    pub fn serves(&self, listener: ListenerId) -> bool {
        self.policy.listeners.contains_key(&listener)
    }

    /// The cluster that admits the peer of a connection, to count its traffic under.
    pub fn connection_cluster(&self, connection: ConnectionId) -> Option<ClusterId> {
        let connection = self.connections.get(&connection)?;
        let allocation = self.allocations.get(connection.allocation)?;
        let admission = self.policy.admission(allocation)?;
        match admission.admit(PeerTransport::Tcp, connection.peer) {
            Verdict::Admitted { cluster, .. } => Some(cluster),
            Verdict::Denied(_) => None,
        }
    }
}
