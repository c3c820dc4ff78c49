//! What a dataplane's admin API says, as far as the console shows it.

use stunner_api::NamespacedName;
use stunner_console::{Denial, Session, Volume};
use stunner_translate::overview::{self, BackendAddresses, denial_sentence};

use super::place::Place;

/// A session of a pod.
pub(super) fn session(session: &stunner_cluster::Session, pod: &NamespacedName) -> Session {
    let volume = |volume: stunner_cluster::Volume| Volume {
        packets: volume.packets,
        bytes: volume.bytes,
    };
    Session {
        id: Place::new(pod, &session.id).to_string(),
        user: session.user.clone(),
        listener: session.listener.clone(),
        client: session.client.to_string(),
        transport: session.transport.clone(),
        relayed: session.relayed.iter().map(ToString::to_string).collect(),
        peers: session.peers.iter().map(|peer| peer.peer.clone()).collect(),
        age_seconds: session.age_seconds,
        idle_seconds: session.idle_seconds,
        expires_in_seconds: session.expires_in_seconds,
        to_peers: volume(session.to_peers),
        to_client: volume(session.to_client),
    }
}

/// A denial, with the backend that comes nearest: the dataplane knows rules, not backends.
pub(super) fn denial(denial: &stunner_cluster::Denial, backends: &BackendAddresses) -> Denial {
    let nearest = backends.nearest(denial.peer.ip());
    let sentence = denial_sentence(&overview::Denial {
        listener: &denial.listener,
        client: denial.client,
        peer: denial.peer,
        reason: &denial.reason,
        nearest: nearest.as_ref(),
    });
    let nearest = nearest.map(|backend| backend.to_string());
    Denial {
        at: denial.at.clone(),
        listener: denial.listener.clone(),
        user: denial.user.clone(),
        client: denial.client.to_string(),
        peer: match denial.peer.port() {
            0 => denial.peer.ip().to_string(),
            _ => denial.peer.to_string(),
        },
        reason: denial.reason.clone(),
        nearest: nearest.or_else(|| denial.nearest.clone()),
        sentence,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use stunner_cluster::{Denials, Sessions};
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
        let shown = session(
            &sessions.sessions[0],
            &NamespacedName::new("stunner", "gw-1"),
        );
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
        let shown = denial(&denials.denials[0], &BackendAddresses::default());
        assert_eq!(shown.peer, "10.0.0.7");
        assert_eq!(shown.nearest.as_deref(), Some("media/media 10.0.0.0/30"));
        assert_eq!(
            shown.sentence,
            "client 192.0.2.1:4000 was refused peer 10.0.0.7: not in any route of `stunner/gw/udp`"
        );
    }
}
