//! Live sessions as the admin API shows them.

use std::collections::HashMap;

use stunner_turn::server::SessionView;
use stunner_turn::{AllocationId, ListenerId};

use super::core::Core;
use crate::http::{Session, SessionPeer};

impl Core {
    pub fn sessions(&self) -> Vec<Session> {
        self.server
            .sessions()
            .map(|view| self.session(&view))
            .collect()
    }

    pub fn sessions_by_listener(&self) -> Vec<(ListenerId, u64)> {
        let mut counts: HashMap<ListenerId, u64> = HashMap::new();
        for view in self.server.sessions() {
            *counts.entry(view.path().listener).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    fn session(&self, view: &SessionView<'_>) -> Session {
        let now = self.now.millis;
        let since = |at: u64| now.saturating_sub(at) / 1000;
        let until = |at: u64| at.saturating_sub(now) / 1000;
        let permissions = view.permissions().map(|(address, expires)| SessionPeer {
            peer: address.to_string(),
            channel: None,
            expires_in_seconds: until(expires),
        });
        let channels = view.channels().map(|(number, peer, expires)| SessionPeer {
            peer: peer.to_string(),
            channel: Some(number),
            expires_in_seconds: until(expires),
        });
        let path = view.path();
        Session {
            id: session_id(self.index, view.allocation),
            user: view.user().to_string(),
            listener: self.shared.journal.listener_name(path.listener).to_string(),
            client: path.tuple.client,
            transport: path.tuple.transport.into(),
            relayed: view.relayed().collect(),
            relay_transport: view.transport().into(),
            peers: permissions.chain(channels).collect(),
            age_seconds: since(view.created()),
            idle_seconds: since(view.last_traffic()),
            expires_in_seconds: until(view.expires()),
            to_peers: view.to_peer().into(),
            to_client: view.to_client().into(),
        }
    }
}

/// The id of a session for people and programs: shard, place and generation.
pub fn session_id(shard: u8, allocation: AllocationId) -> String {
    format!("{shard}-{}-{}", allocation.index, allocation.generation)
}

/// The inverse of `session_id`.
pub fn parse_session_id(id: &str) -> Option<(u8, AllocationId)> {
    let mut parts = id.splitn(3, '-');
    let shard = parts.next()?.parse().ok()?;
    let index = parts.next()?.parse().ok()?;
    let generation = parts.next()?.parse().ok()?;
    Some((shard, AllocationId { index, generation }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_one_session_and_nonsense_names_none() {
        let allocation = AllocationId {
            index: 7,
            generation: 3,
        };
        assert_eq!(
            parse_session_id(&session_id(2, allocation)),
            Some((2, allocation))
        );
        for id in ["", "1", "1-2", "a-b-c", "1-2-3-4", "300-1-1"] {
            assert_eq!(parse_session_id(id), None, "{id}");
        }
    }
}
