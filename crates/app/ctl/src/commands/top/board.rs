//! From two samples to what a dashboard shows: counters become rates, pods become gateways.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use stunner_cluster::{GatewayStatistics, ListenerStatistics, Volume};

use super::sample::{PodSample, Sample};
use crate::dataplanes::Silence;

/// All gateways, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Board {
    /// Between the two samples; zero where there is only one.
    pub(super) interval: Duration,
    pub(super) gateways: Vec<GatewayLine>,
    /// Dataplanes that did not answer, and why.
    pub(super) silent: Vec<Silence>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct GatewayLine {
    /// `namespace/gateway`.
    pub(super) name: String,
    pub(super) counts: Counts,
    /// By name, counts of all pods together.
    pub(super) listeners: Vec<ListenerLine>,
    /// By name.
    pub(super) pods: Vec<PodLine>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ListenerLine {
    /// `namespace/gateway/listener`.
    pub(super) name: String,
    /// `None` for one that is gone and has sessions still.
    pub(super) protocol: Option<String>,
    pub(super) counts: Counts,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PodLine {
    pub(super) name: String,
    pub(super) state: PodState,
    pub(super) counts: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodState {
    Ready,
    /// It has no configuration yet.
    NotReady,
    /// It waits for this many allocations.
    Draining(u64),
    Silent,
}

/// What the columns show.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) allocations: u64,
    /// Per second; nothing before the second sample.
    pub(super) packets: Option<Flow>,
    pub(super) bits: Option<Flow>,
    pub(super) denials: Tally,
    /// Nothing for listeners, which do not count them.
    pub(super) errors: Option<Tally>,
    pub(super) dropped: Option<Tally>,
}

/// From clients and to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Flow {
    pub(super) received: f64,
    pub(super) sent: f64,
}

impl Flow {
    pub(super) fn both(self) -> f64 {
        self.received + self.sent
    }
}

/// How often something has happened since the process began, and how often since the last sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) total: u64,
    pub(super) fresh: u64,
}

/// Answers that are part of every normal exchange (401, 438) or are counted elsewhere: 403 is a denial, 441 a refused
/// credential, 300 a drain.
const ORDINARY_ERRORS: &[&str] = &["300", "401", "403", "438", "441"];
/// The client repeats its request with the fresh nonce by itself.
const ORDINARY_AUTH_FAILURE: &str = "stale_nonce";

impl Board {
    /// `before` may be missing; rates are then too.
    pub(super) fn of(before: Option<&Sample>, now: &Sample) -> Board {
        let interval = before.map_or(Duration::ZERO, |before| now.at.saturating_sub(before.at));
        let mut lines: BTreeMap<String, GatewayLine> = BTreeMap::new();
        let mut silent = Vec::new();
        for pod in &now.pods {
            match &pod.told {
                Ok(gateways) => {
                    for gateway in gateways {
                        let earlier = before.and_then(|before| before.find(&pod.name, gateway));
                        let line = lines.entry(gateway.gateway.clone()).or_default();
                        add(line, pod, gateway, earlier, interval);
                    }
                }
                Err(silence) => {
                    silent.push(silence.clone());
                    if let Some(gateway) = &pod.gateway {
                        let line = lines.entry(gateway.clone()).or_default();
                        line.pods.push(PodLine {
                            name: pod.name.clone(),
                            state: PodState::Silent,
                            counts: Counts::default(),
                        });
                    }
                }
            }
        }
        let gateways = lines.into_iter().map(|(name, mut line)| {
            line.name = name;
            line.listeners.sort_by(|a, b| a.name.cmp(&b.name));
            line.pods.sort_by(|a, b| a.name.cmp(&b.name));
            line
        });
        Board {
            interval,
            gateways: gateways.collect(),
            silent,
        }
    }

    pub(super) fn total(&self) -> Counts {
        let mut total = Counts::default();
        for gateway in &self.gateways {
            total.add(&gateway.counts);
        }
        total
    }

    pub(super) fn pods(&self) -> usize {
        let pods = self.gateways.iter().flat_map(|gateway| &gateway.pods);
        let named: BTreeSet<&str> = pods.map(|pod| pod.name.as_str()).collect();
        named.len()
    }
}

impl GatewayLine {
    /// `ready`, `2/3 ready` or `draining 5`.
    pub(super) fn state(&self) -> String {
        let draining = self.pods.iter().filter_map(|pod| match pod.state {
            PodState::Draining(remaining) => Some(remaining),
            _ => None,
        });
        let (drains, remaining) = draining.fold((0, 0), |(n, sum), it| (n + 1, sum + it));
        let ready = self.pods.iter().filter(|pod| pod.state == PodState::Ready);
        match (ready.count(), self.pods.len()) {
            (_, 0) => "no pod".to_owned(),
            (ready, all) if ready == all => "ready".to_owned(),
            (_, all) if drains == all => format!("draining {remaining}"),
            (0, 1) => self.pods[0].state.to_string(),
            (ready, all) => format!("{ready}/{all} ready"),
        }
    }

    pub(super) fn is_well(&self) -> bool {
        self.pods.iter().all(|pod| pod.state == PodState::Ready)
    }
}

impl std::fmt::Display for PodState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PodState::Ready => f.write_str("ready"),
            PodState::NotReady => f.write_str("not ready"),
            PodState::Draining(remaining) => write!(f, "draining {remaining}"),
            PodState::Silent => f.write_str("no answer"),
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.allocations += other.allocations;
        self.packets = sum(self.packets, other.packets);
        self.bits = sum(self.bits, other.bits);
        self.denials.add(other.denials);
        self.errors = tally_sum(self.errors, other.errors);
        self.dropped = tally_sum(self.dropped, other.dropped);
    }
}

impl Tally {
    fn of(total: u64, before: Option<u64>) -> Tally {
        Tally {
            total,
            // A counter that fell is that of a new process.
            fresh: before.map_or(0, |before| total.checked_sub(before).unwrap_or(total)),
        }
    }

    fn add(&mut self, other: Tally) {
        self.total += other.total;
        self.fresh += other.fresh;
    }
}

fn sum(one: Option<Flow>, other: Option<Flow>) -> Option<Flow> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Flow {
            received: one.received + other.received,
            sent: one.sent + other.sent,
        }),
        (one, other) => one.or(other),
    }
}

fn tally_sum(one: Option<Tally>, other: Option<Tally>) -> Option<Tally> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.add(other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// What one pod says of one gateway goes to the gateway's line.
fn add(
    line: &mut GatewayLine,
    pod: &PodSample,
    now: &GatewayStatistics,
    before: Option<&GatewayStatistics>,
    interval: Duration,
) {
    let mut counts = Counts {
        allocations: now.allocations,
        denials: Tally::of(
            total(&now.denials),
            before.map(|before| total(&before.denials)),
        ),
        errors: Some(Tally::of(errors(now), before.map(errors))),
        dropped: Some(Tally::of(
            total(&now.dropped_packets),
            before.map(|before| total(&before.dropped_packets)),
        )),
        ..Counts::default()
    };
    for listener in &now.listeners {
        let earlier = before.and_then(|before| {
            let mut listeners = before.listeners.iter();
            listeners.find(|earlier| earlier.name == listener.name)
        });
        // A listener that is new since the last sample began at zero.
        let zero = ListenerStatistics::default();
        let earlier = earlier.or(before.map(|_| &zero));
        let of_listener = Counts {
            allocations: listener.allocations,
            packets: flow(listener, earlier, interval, |volume| volume.packets as f64),
            bits: flow(listener, earlier, interval, |volume| {
                volume.bytes as f64 * 8.0
            }),
            denials: Tally::of(listener.denials, earlier.map(|earlier| earlier.denials)),
            ..Counts::default()
        };
        counts.packets = sum(counts.packets, of_listener.packets);
        counts.bits = sum(counts.bits, of_listener.bits);
        let known = line.listeners.iter_mut();
        match known.into_iter().find(|known| known.name == listener.name) {
            Some(known) => known.counts.add(&of_listener),
            None => line.listeners.push(ListenerLine {
                name: listener.name.clone(),
                protocol: listener.protocol.clone(),
                counts: of_listener,
            }),
        }
    }
    line.counts.add(&counts);
    line.pods.push(PodLine {
        name: pod.name.clone(),
        state: match (now.drain_remaining, now.status.as_str()) {
            (Some(remaining), _) => PodState::Draining(remaining),
            (None, "READY") => PodState::Ready,
            (None, "TERMINATING") => PodState::Draining(now.allocations),
            (None, _) => PodState::NotReady,
        },
        counts,
    });
}

fn flow(
    now: &ListenerStatistics,
    before: Option<&ListenerStatistics>,
    interval: Duration,
    of: impl Fn(&Volume) -> f64,
) -> Option<Flow> {
    let seconds = interval.as_secs_f64();
    let before = before.filter(|_| seconds > 0.0)?;
    let rate = |now: &Volume, before: &Volume| {
        let (now, before) = (of(now), of(before));
        // A counter that fell is that of a new process.
        let grown = if now < before { now } else { now - before };
        grown / seconds
    };
    Some(Flow {
        received: rate(&now.from_clients, &before.from_clients),
        sent: rate(&now.to_clients, &before.to_clients),
    })
}

fn total(counts: &BTreeMap<String, u64>) -> u64 {
    counts.values().sum()
}

/// Error responses and refusals that somebody should look at.
fn errors(statistics: &GatewayStatistics) -> u64 {
    let except = |counts: &BTreeMap<String, u64>, ordinary: &[&str]| -> u64 {
        let counts = counts.iter();
        let unusual = counts.filter(|(name, _)| !ordinary.contains(&name.as_str()));
        unusual.map(|(_, count)| count).sum()
    };
    except(&statistics.errors, ORDINARY_ERRORS)
        + except(&statistics.auth_failures, &[ORDINARY_AUTH_FAILURE])
        + total(&statistics.handshake_failures)
}
