//! What a dataplane has counted, put together from its metrics, its journal and its shards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stunner_config::Listener;
use stunner_telemetry::metrics::{Family, Totals, names};

use super::State;
use crate::http::{ClusterStatistics, GatewayStatistics, ListenerStatistics, Traffic};
use crate::shard::Command;

impl State {
    pub(super) async fn count(&self) -> GatewayStatistics {
        let config = self.config.load_full();
        let by_listener = self.ask_all(Command::CountByListener).await;
        let named = |counts: Vec<(stunner_turn::ListenerId, u64)>| {
            let mut by_name: BTreeMap<Arc<str>, u64> = BTreeMap::new();
            for (listener, count) in counts {
                let name = self.shared.journal.listener_name(listener);
                *by_name.entry(name).or_default() += count;
            }
            by_name
        };
        let allocations = named(by_listener.into_iter().flatten().collect());
        let denials = named(self.shared.journal.denials_by_listener());
        let configured = config.listeners.iter().map(|it| it.name.as_str());
        // A listener that was removed has its sessions still.
        let listeners: BTreeSet<&str> = configured
            .chain(allocations.keys().map(|name| &**name))
            .collect();
        let listeners = listeners.into_iter().map(|name| {
            let (from_clients, to_clients) = both_ways(self.metrics.listener_totals(name));
            let configured = config.listener(name);
            ListenerStatistics {
                name: name.to_owned(),
                protocol: configured.map(|it| it.protocol.to_string()),
                uri: configured.map(Listener::turn_uri),
                allocations: allocations.get(name).copied().unwrap_or(0),
                denials: denials.get(name).copied().unwrap_or(0),
                from_clients,
                to_clients,
            }
        });
        let clusters: BTreeSet<&str> = config.clusters.iter().map(|it| it.name.as_str()).collect();
        let clusters = clusters.into_iter().map(|name| {
            let (from_peers, to_peers) = both_ways(self.metrics.cluster_totals(name));
            ClusterStatistics {
                name: name.to_owned(),
                from_peers,
                to_peers,
            }
        });
        let metrics = &self.metrics;
        let is_draining = metrics.draining.value() > 0;
        GatewayStatistics {
            gateway: config.admin.name.clone(),
            status: self.phase().as_str().to_owned(),
            generation: metrics.config_generation.value(),
            uptime_seconds: self.clock.millis() / 1000,
            allocations: metrics.allocations_active(),
            allocations_total: self.by_label(&names::ALLOCATIONS).values().sum(),
            drain_remaining: is_draining.then(|| metrics.drain_remaining_allocations.value()),
            denials: self.by_label(&names::DENIALS),
            auth_failures: self.by_label(&names::AUTH_FAILURES),
            errors: self.by_label(&names::ERRORS),
            dropped_packets: self.by_label(&names::DROPPED_PACKETS),
            handshake_failures: self.by_label(&names::HANDSHAKE_FAILURES),
            listeners: listeners.collect(),
            clusters: clusters.collect(),
        }
    }

    /// The counts of a family with at most one label, without those at zero.
    fn by_label(&self, family: &Family) -> BTreeMap<String, u64> {
        let values = self.metrics.registry().values(family).into_iter();
        values
            .filter(|(_, count)| *count > 0)
            .map(|(labels, count)| (labels.concat(), count))
            .collect()
    }
}

fn both_ways(totals: Totals) -> (Traffic, Traffic) {
    let received = Traffic {
        packets: totals.rx_packets,
        bytes: totals.rx_bytes,
    };
    let sent = Traffic {
        packets: totals.tx_packets,
        bytes: totals.tx_bytes,
    };
    (received, sent)
}
