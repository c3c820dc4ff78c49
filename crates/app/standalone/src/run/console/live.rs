//! What the dataplanes say at this moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_console::{
    Denial, Live, LiveCluster, LiveGateway, LiveListener, Phase, Session, Traffic, Volume,
};
use stunner_dataplane::http::{self, Dataplane, DenialRecord};
use stunner_translate::overview::{self, BackendAddresses};

use crate::local::Member;

/// The page shows no more.
const SESSIONS: usize = 200;
const DENIALS: usize = 200;
/// A shard that takes longer is stuck; the rest is shown without its sessions.
const PATIENCE: Duration = Duration::from_secs(2);

/// `world` are the Gateways there are, whether they run or not.
pub(super) async fn gather<'a>(
    world: impl Iterator<Item = &'a NamespacedName>,
    members: &[Member],
    together: &Arc<dyn Dataplane>,
    backends: &BackendAddresses,
) -> Live {
    let mut gateways: BTreeMap<String, LiveGateway> = BTreeMap::new();
    let mut listeners: BTreeMap<String, Traffic> = BTreeMap::new();
    let mut clusters: BTreeMap<String, Traffic> = BTreeMap::new();
    for member in members {
        let status = member.dataplane.status();
        add_traffic(&mut listeners, &status["listeners"]);
        add_traffic(&mut clusters, &status["clusters"]);
        let live = live_gateway(member, &status);
        gateways
            .entry(live.id.clone())
            .and_modify(|first| first.allocations += live.allocations)
            .or_insert(live);
    }
    for name in world {
        let id = name.to_string();
        gateways.entry(id.clone()).or_insert(LiveGateway {
            id,
            phase: Phase::NotRunning,
            allocations: 0,
            message: Some("Its conditions say why.".to_owned()),
        });
    }
    let sessions = tokio::time::timeout(PATIENCE, together.sessions()).await;
    let mut sessions = sessions.unwrap_or_default();
    let sessions_total = sessions.len() as u64;
    sessions.sort_by_key(|session| session.age_seconds);
    let mut denials = together.denials();
    denials.truncate(DENIALS);
    Live {
        gateways: gateways.into_values().collect(),
        listeners: listeners
            .into_iter()
            .map(|(id, traffic)| LiveListener { id, traffic })
            .collect(),
        clusters: clusters
            .into_iter()
            .map(|(id, traffic)| LiveCluster { id, traffic })
            .collect(),
        denials: denials
            .iter()
            .map(|record| denial(record, backends))
            .collect(),
        denials_by_reason: denials_by_reason(&together.metrics()),
        sessions: sessions.into_iter().take(SESSIONS).map(session).collect(),
        sessions_total,
        can_end_sessions: true,
    }
}

fn live_gateway(member: &Member, status: &Value) -> LiveGateway {
    let is_draining = member.is_leaving || status["status"] == "TERMINATING";
    LiveGateway {
        id: member.gateway.to_string(),
        phase: match is_draining {
            true => Phase::Draining,
            false => Phase::Running,
        },
        allocations: status["allocationCount"].as_u64().unwrap_or(0),
        message: member
            .is_leaving
            .then(|| "The Gateway is removed; its sessions may end in their own time.".to_owned()),
    }
}

/// From the `stats` of listeners or clusters in a status document.
fn add_traffic(traffic_by_name: &mut BTreeMap<String, Traffic>, list: &Value) {
    for entry in list.as_array().into_iter().flatten() {
        let Some(name) = entry["name"].as_str() else {
            continue;
        };
        let count = |direction: &str, what: &str| {
            let number = &entry["stats"][direction][what];
            number.as_u64().unwrap_or(0)
        };
        let traffic = traffic_by_name.entry(name.to_owned()).or_default();
        traffic.rx_packets += count("rx", "pkts");
        traffic.rx_bytes += count("rx", "bytes");
        traffic.tx_packets += count("tx", "pkts");
        traffic.tx_bytes += count("tx", "bytes");
    }
}

fn denial(record: &DenialRecord, backends: &BackendAddresses) -> Denial {
    let nearest = backends.nearest(record.peer.ip());
    let sentence = overview::denial_sentence(&overview::Denial {
        listener: &record.listener,
        client: record.client,
        peer: record.peer,
        reason: &record.reason,
        nearest: nearest.as_ref(),
    });
    Denial {
        at: format!("{:.3}", record.at),
        listener: record.listener.clone(),
        user: record.user.clone(),
        client: record.client.to_string(),
        peer: match record.peer.port() {
            0 => record.peer.ip().to_string(),
            _ => record.peer.to_string(),
        },
        reason: record.reason.clone(),
        nearest: nearest
            .map(|nearest| nearest.to_string())
            .or_else(|| record.nearest.clone()),
        sentence,
    }
}

/// From the metrics, which count also what is not kept as a record any more.
fn denials_by_reason(metrics: &str) -> BTreeMap<String, u64> {
    let mut denials = BTreeMap::new();
    let samples = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("stunner_denials_total{"));
    for sample in samples {
        let Some((labels, value)) = sample.rsplit_once("} ") else {
            continue;
        };
        let reason = labels.split("reason=\"").nth(1);
        let reason = reason.and_then(|rest| rest.split('"').next());
        if let (Some(reason), Ok(value)) = (reason, value.trim().parse::<f64>()) {
            *denials.entry(reason.to_owned()).or_default() += value as u64;
        }
    }
    denials.retain(|_, count| *count > 0);
    denials
}

fn session(session: http::Session) -> Session {
    let volume = |traffic: http::Traffic| Volume {
        packets: traffic.packets,
        bytes: traffic.bytes,
    };
    let transport = match session.transport {
        http::ClientTransportName::Udp => "udp",
        http::ClientTransportName::Tcp => "tcp",
        http::ClientTransportName::Tls => "tls",
        http::ClientTransportName::Dtls => "dtls",
    };
    let relayed = session.relayed.iter();
    Session {
        id: session.id,
        user: session.user,
        listener: session.listener,
        client: session.client.to_string(),
        transport: transport.to_owned(),
        relayed: relayed.map(ToString::to_string).collect(),
        peers: session.peers.into_iter().map(|peer| peer.peer).collect(),
        age_seconds: session.age_seconds,
        idle_seconds: session.idle_seconds,
        expires_in_seconds: session.expires_in_seconds,
        to_peers: volume(session.to_peers),
        to_client: volume(session.to_client),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_was_asked_for_as_a_whole_has_no_port() {
        let shown = |peer: &str| {
            let record: DenialRecord = serde_json::from_value(serde_json::json!({
                "at": "2026-01-01T00:00:00.000Z", "listener": "default/gw/udp", "user": "ann",
                "client": "192.0.2.1:4000", "peer": peer, "transport": "udp", "reason": "no_route",
            }))
            .expect("a denial");
            denial(&record, &BackendAddresses::default()).peer
        };
        assert_eq!(shown("10.0.0.7:0"), "10.0.0.7");
        assert_eq!(shown("10.0.0.7:5000"), "10.0.0.7:5000");
    }
}
