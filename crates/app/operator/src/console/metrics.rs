//! What a dataplane's metrics say, as far as the console shows it.

use std::collections::BTreeMap;

use stunner_cluster::metrics::{Sample, samples};
use stunner_console::Traffic;

/// What the pages of some dataplanes say, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) allocations: u64,
    /// At least one dataplane drains.
    pub(super) draining: bool,
    /// By `namespace/gateway/listener`.
    pub(super) listeners: BTreeMap<String, Traffic>,
    /// By the cluster's name.
    pub(super) clusters: BTreeMap<String, Traffic>,
    /// By reason.
    pub(super) denials: BTreeMap<String, u64>,
}

impl Counters {
    pub(super) fn read(page: &str) -> Self {
        let mut counters = Counters::default();
        for sample in samples(page) {
            // What is no count is none of these.
            if let Some(value) = sample.count() {
                counters.take(&sample, value);
            }
        }
        counters
    }

    fn take(&mut self, sample: &Sample<'_>, value: u64) {
        match sample.name {
            "stunner_allocations_active" => {
                self.allocations = self.allocations.saturating_add(value);
            }
            "stunner_draining" => self.draining |= value > 0,
            "stunner_denials_total" => {
                if let Some(reason) = sample.label("reason") {
                    add(self.denials.entry(reason).or_default(), value);
                }
            }
            "stunner_listener_packets_total" | "stunner_listener_bytes_total" => {
                count(&mut self.listeners, sample, value);
            }
            "stunner_cluster_packets_total" | "stunner_cluster_bytes_total" => {
                count(&mut self.clusters, sample, value);
            }
            _ => {}
        }
    }

    pub(super) fn add(&mut self, other: &Counters) {
        self.allocations = self.allocations.saturating_add(other.allocations);
        self.draining |= other.draining;
        for (name, traffic) in &other.listeners {
            add_traffic(self.listeners.entry(name.clone()).or_default(), traffic);
        }
        for (name, traffic) in &other.clusters {
            add_traffic(self.clusters.entry(name.clone()).or_default(), traffic);
        }
        for (reason, number) in &other.denials {
            add(self.denials.entry(reason.clone()).or_default(), *number);
        }
    }
}

fn count(traffic_by_name: &mut BTreeMap<String, Traffic>, sample: &Sample<'_>, value: u64) {
    let (Some(name), Some(direction)) = (sample.label("name"), sample.label("direction")) else {
        return;
    };
    let traffic = traffic_by_name.entry(name).or_default();
    let is_bytes = sample.name.ends_with("_bytes_total");
    let counter = match (direction.as_str(), is_bytes) {
        ("rx", false) => &mut traffic.rx_packets,
        ("rx", true) => &mut traffic.rx_bytes,
        ("tx", false) => &mut traffic.tx_packets,
        ("tx", true) => &mut traffic.tx_bytes,
        _ => return,
    };
    add(counter, value);
}

fn add(counter: &mut u64, more: u64) {
    *counter = counter.saturating_add(more);
}

fn add_traffic(traffic: &mut Traffic, more: &Traffic) {
    add(&mut traffic.rx_packets, more.rx_packets);
    add(&mut traffic.rx_bytes, more.rx_bytes);
    add(&mut traffic.tx_packets, more.tx_packets);
    add(&mut traffic.tx_bytes, more.tx_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP stunner_allocations_active Live allocations.
# TYPE stunner_allocations_active gauge
stunner_allocations_active 3
stunner_draining 1
stunner_listener_packets_total{direction="rx",name="default/udp-gateway/udp"} 7
stunner_listener_packets_total{name="default/udp-gateway/udp",direction="tx"} 5 1700000000000
stunner_listener_bytes_total{direction="rx",name="default/udp-gateway/udp"} 700
stunner_cluster_bytes_total{direction="tx",name="media/media"} 1e3
stunner_denials_total{reason="no_route"} 2
stunner_denials_total{reason="port"} 0
odd{name="a } \" \\ b"} 1
stunner_allocations_total NaN
"#;

    #[test]
    fn what_the_console_shows_is_found() {
        let counters = Counters::read(PAGE);
        assert_eq!(counters.allocations, 3);
        assert!(counters.draining);
        assert_eq!(
            counters.listeners["default/udp-gateway/udp"],
            Traffic {
                rx_packets: 7,
                rx_bytes: 700,
                tx_packets: 5,
                tx_bytes: 0,
            }
        );
        assert_eq!(counters.clusters["media/media"].tx_bytes, 1000);
        assert_eq!(counters.denials["no_route"], 2);
    }

    #[test]
    fn pages_add_up() {
        let mut sum = Counters::read(PAGE);
        sum.add(&Counters::read(PAGE));
        assert_eq!(sum.allocations, 6);
        assert_eq!(sum.denials["no_route"], 4);
        assert_eq!(sum.listeners["default/udp-gateway/udp"].rx_bytes, 1400);
    }

    #[test]
    fn nonsense_is_passed_over() {
        assert_eq!(Counters::read("a{=\"\"} 1\n\"}{\"= 1"), Counters::default());
    }
}
