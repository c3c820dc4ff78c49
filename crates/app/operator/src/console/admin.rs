//! What a dataplane's admin API says, as far as the console shows it.

use std::net::SocketAddr;

use serde::Deserialize;
use stunner_api::NamespacedName;
use stunner_console::{Denial, Session, Volume};
use stunner_translate::overview::{self, BackendAddresses, denial_sentence};

use super::place::Place;

/// `GET /api/v1/sessions`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Sessions {
    pub(super) total: u64,
    pub(super) sessions: Vec<SessionRecord>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SessionRecord {
    id: String,
    user: String,
    pub(super) listener: String,
    client: String,
    transport: String,
    relayed: Vec<String>,
    #[serde(default)]
    peers: Vec<PeerRecord>,
    age_seconds: u64,
    idle_seconds: u64,
    expires_in_seconds: u64,
    to_peers: Volume,
    to_client: Volume,
}

#[derive(Debug, Deserialize)]
struct PeerRecord {
    peer: String,
}

impl SessionRecord {
    pub(super) fn shown(&self, pod: &NamespacedName) -> Session {
        Session {
            id: Place::new(pod, &self.id).to_string(),
            user: self.user.clone(),
            listener: self.listener.clone(),
            client: self.client.clone(),
            transport: self.transport.clone(),
            relayed: self.relayed.clone(),
            peers: self.peers.iter().map(|peer| peer.peer.clone()).collect(),
            age_seconds: self.age_seconds,
            idle_seconds: self.idle_seconds,
            expires_in_seconds: self.expires_in_seconds,
            to_peers: self.to_peers,
            to_client: self.to_client,
        }
    }
}

/// `GET /api/v1/denials`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Denials {
    pub(super) denials: Vec<DenialRecord>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DenialRecord {
    at: String,
    pub(super) listener: String,
    user: String,
    client: SocketAddr,
    /// With port 0 where the client asked for an address as a whole.
    peer: SocketAddr,
    reason: String,
    /// The dataplane knows rules, not backends.
    #[serde(default)]
    nearest: Option<String>,
}

impl DenialRecord {
    pub(super) fn shown(&self, backends: &BackendAddresses) -> Denial {
        let nearest = backends.nearest(self.peer.ip());
        let sentence = denial_sentence(&overview::Denial {
            listener: &self.listener,
            client: self.client,
            peer: self.peer,
            reason: &self.reason,
            nearest: nearest.as_ref(),
        });
        let nearest = nearest.map(|backend| backend.to_string());
        Denial {
            at: self.at.clone(),
            listener: self.listener.clone(),
            user: self.user.clone(),
            client: self.client.to_string(),
            peer: match self.peer.port() {
                0 => self.peer.ip().to_string(),
                _ => self.peer.to_string(),
            },
            reason: self.reason.clone(),
            nearest: nearest.or_else(|| self.nearest.clone()),
            sentence,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use stunner_translate::overview::{GatewayOverview, ListenerOverview};

    use super::*;

    pub(in super::super) fn gateway(id: &str, listener: &str) -> GatewayOverview {
        let (namespace, name) = id.split_once('/').expect("namespace/name");
        GatewayOverview {
            id: id.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            class: "stunner".to_owned(),
            conditions: Vec::new(),
            addresses: Vec::new(),
            listeners: vec![ListenerOverview {
                id: format!("{id}/{listener}"),
                name: listener.to_owned(),
                protocol: "TURN-UDP".to_owned(),
                port: 3478,
                public_address: None,
                public_port: None,
                uri: None,
                served: true,
                conditions: Vec::new(),
                attached_routes: 0,
                routes: Vec::new(),
            }],
        }
    }

    #[test]
    fn sessions_are_read_as_the_admin_api_writes_them() {
        let text = r#"{"total": 1, "sessions": [{"id": "0-1", "user": "ann", "listener": "stunner/gw/udp",
            "client": "192.0.2.1:4000", "transport": "udp", "relayed": ["10.0.0.1:5000"], "relay_transport": "udp",
            "peers": [{"peer": "10.0.0.7", "expires_in_seconds": 5}], "age_seconds": 1, "idle_seconds": 2,
            "expires_in_seconds": 3, "to_peers": {"packets": 4, "bytes": 5}, "to_client": {"packets": 6, "bytes": 7}}]}"#;
        let sessions: Sessions = serde_json::from_str(text).expect("sessions");
        let shown = sessions.sessions[0].shown(&NamespacedName::new("stunner", "gw-1"));
        assert_eq!(shown.id, "stunner~gw-1~0-1");
        assert_eq!(shown.peers, ["10.0.0.7"]);
        assert_eq!(shown.to_client.bytes, 7);
    }

    #[test]
    fn denials_are_put_in_words() {
        let text = r#"{"total": 1, "denials": [{"at": "2026-01-01T00:00:00.000Z", "listener": "stunner/gw/udp", "user": "ann",
            "client": "192.0.2.1:4000", "peer": "10.0.0.7:0", "transport": "udp", "reason": "no_route",
            "nearest": "media/media 10.0.0.0/30"}]}"#;
        let denials: Denials = serde_json::from_str(text).expect("denials");
        let shown = denials.denials[0].shown(&BackendAddresses::default());
        assert_eq!(shown.peer, "10.0.0.7");
        assert_eq!(shown.nearest.as_deref(), Some("media/media 10.0.0.0/30"));
        assert_eq!(
            shown.sentence,
            "client 192.0.2.1:4000 was refused peer 10.0.0.7: not in any route of `stunner/gw/udp`"
        );
    }
}
