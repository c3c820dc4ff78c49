use std::sync::Arc;

use super::traffic::{Rows, Table};
use super::{
    ClusterCells, ClusterIndex, Counter, Gauge, LabelledCounter, LabelledGauge, ListenerCells,
    ListenerIndex, LocalCounter, LocalGauge, LocalHistogram, Registry, Totals, names,
};

/// Every series of the dataplane. Cloning gives another handle to the same series.
#[derive(Clone, Debug)]
pub struct Stunnerd {
    registry: Registry,
    listeners: Arc<Table>,
    clusters: Arc<Table>,
    /// 1 while the process drains.
    pub draining: Gauge,
    pub drain_remaining_allocations: Gauge,
    /// Grows by one with every configuration applied.
    pub config_generation: Gauge,
    /// Configurations applied as a whole.
    pub config_applied: Counter,
    /// Configurations refused, the running one left as it was.
    pub config_rejected: Counter,
    pub cds_connected: Gauge,
    allocations_active: Gauge,
}

impl Stunnerd {
    pub fn new(shards: usize, version: &str) -> Self {
        let registry = Registry::new(shards);
        registry.gauge(&names::SHARDS, &[]).set(shards as u64);
        registry.gauge(&names::BUILD_INFO, &[version]).set(1);
        registry
            .gauge(
                &names::TARGET_INFO,
                &[
                    "stunner",
                    "rust",
                    "stunner-telemetry",
                    env!("CARGO_PKG_VERSION"),
                ],
            )
            .set(1);
        Stunnerd {
            listeners: Arc::default(),
            clusters: Arc::default(),
            draining: registry.gauge(&names::DRAINING, &[]),
            drain_remaining_allocations: registry.gauge(&names::DRAIN_REMAINING_ALLOCATIONS, &[]),
            config_generation: registry.gauge(&names::CONFIG_GENERATION, &[]),
            config_applied: registry.counter(&names::CONFIG_RECONCILES, &["applied"]),
            config_rejected: registry.counter(&names::CONFIG_RECONCILES, &["rejected"]),
            cds_connected: registry.gauge(&names::CDS_CONNECTED, &[]),
            allocations_active: registry.gauge(&names::ALLOCATIONS_ACTIVE, &[]),
            registry,
        }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The number to count a listener under; its series exist from now on.
    pub fn listener(&self, name: &str) -> ListenerIndex {
        self.listeners.listener(&self.registry, name)
    }

    /// The number to count a cluster under; its series exist from now on.
    pub fn cluster(&self, name: &str) -> ClusterIndex {
        self.clusters.cluster(&self.registry, name)
    }

    /// What passed through a listener, for the status document.
    pub fn listener_totals(&self, name: &str) -> Totals {
        self.listeners.totals(name).unwrap_or_default()
    }

    /// What passed through a cluster, for the status document.
    pub fn cluster_totals(&self, name: &str) -> Totals {
        self.clusters.totals(name).unwrap_or_default()
    }

    pub fn allocations_active(&self) -> u64 {
        self.allocations_active.value()
    }

    /// The cells of shard `shard`; to be taken once per shard thread.
    pub fn shard(&self, shard: usize) -> ShardMetrics {
        let registry = &self.registry;
        let counter = |family| LabelledCounter::new(registry, family, shard);
        ShardMetrics {
            listeners: Rows::new(Arc::clone(&self.listeners), shard),
            clusters: Rows::new(Arc::clone(&self.clusters), shard),
            allocations: registry.counter(&names::ALLOCATIONS, &[]).writer(shard),
            allocations_active: self.allocations_active.writer(shard),
            allocations_by_transport: LabelledGauge::new(
                registry,
                &names::ALLOCATIONS_BY_TRANSPORT,
                shard,
            ),
            allocation_duration: registry
                .histogram(&names::ALLOCATION_DURATION, &[])
                .writer(shard),
            relay_latency: registry.histogram(&names::RELAY_LATENCY, &[]).writer(shard),
            auth_failures: counter(&names::AUTH_FAILURES),
            challenges: registry.counter(&names::CHALLENGES, &[]).writer(shard),
            denials: counter(&names::DENIALS),
            dropped_packets: counter(&names::DROPPED_PACKETS),
            errors: counter(&names::ERRORS),
            requests: counter(&names::REQUESTS),
            handshake_failures: counter(&names::HANDSHAKE_FAILURES),
        }
    }

    pub fn render(&self) -> String {
        self.registry.render()
    }
}

/// What one shard counts. Belongs to that shard's thread.
#[derive(Debug)]
pub struct ShardMetrics {
    listeners: Rows,
    clusters: Rows,
    pub allocations: LocalCounter,
    pub allocations_active: LocalGauge,
    pub allocations_by_transport: LabelledGauge,
    pub allocation_duration: LocalHistogram,
    pub relay_latency: LocalHistogram,
    pub auth_failures: LabelledCounter,
    /// Requests without credentials that were challenged.
    pub challenges: LocalCounter,
    pub denials: LabelledCounter,
    pub dropped_packets: LabelledCounter,
    pub errors: LabelledCounter,
    pub requests: LabelledCounter,
    pub handshake_failures: LabelledCounter,
}

impl ShardMetrics {
    pub fn listener(&mut self, index: ListenerIndex) -> ListenerCells<'_> {
        self.listeners.listener(index)
    }

    pub fn cluster(&mut self, index: ClusterIndex) -> ClusterCells<'_> {
        self.clusters.cluster(index)
    }
}
