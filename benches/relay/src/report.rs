//! The result as values, as JSON (the schema is in README.md) and as a table.

use std::fmt::Write as _;

use serde::Serialize;

use crate::statistics::median;

/// Raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// One measured quantity: a sample per round and their median.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    /// The middle of the samples.
    pub median: Option<f64>,
    /// In the order of the rounds.
    pub samples: Vec<f64>,
}

impl Figure {
    /// Adds the sample of a round.
    pub fn add(&mut self, sample: f64) {
        self.samples.push((sample * 1000.0).round() / 1000.0);
        self.median = median(&self.samples);
    }
}

/// Everything a comparison found out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where it ran.
    pub machine: Machine,
    /// How it ran.
    pub method: Method,
    /// In the order asked for.
    pub servers: Vec<ServerReport>,
}

/// Where a comparison ran.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model name.
    pub cpu: String,
    /// How many of them.
    pub cores: usize,
    /// Release.
    pub kernel: String,
    /// The generator's core; absent when nothing is pinned.
    pub generator_core: Option<usize>,
    /// The core of all threads of each server.
    pub server_core: Option<usize>,
}

/// How a comparison ran.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// Rounds, each with every server.
    pub rounds: usize,
    /// Sessions per server.
    pub sessions: usize,
    /// Packets per second of the CPU and latency figures.
    pub rate: u64,
    /// Packets under way for the packets/s figure.
    pub window: usize,
    /// Seconds per measurement.
    pub seconds: f64,
    /// `both`, `to-peer` or `to-client`.
    pub direction: String,
    /// `plain` or `gro`: whether clients and peer take groups of packets.
    pub receive: String,
}

/// The figures of one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// `stunnerd`, `coturn`, ...
    pub name: String,
    /// How it was started, with the port of the first round.
    pub command: String,
    /// Absent for what is no TURN server.
    pub allocations: Option<AllocationReport>,
    /// One per payload, burst and burst mode.
    pub relay: Vec<RelayReport>,
}

/// Figures of allocations.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AllocationReport {
    /// How many per round.
    pub count: usize,
    /// Allocate exchanges per second.
    pub per_second: Figure,
    /// Resident bytes per allocation with a permission and a channel.
    pub bytes_each: Figure,
}

/// Figures of one shape of traffic.
#[derive(Clone, Debug, Serialize)]
pub struct RelayReport {
    /// Bytes.
    pub payload: usize,
    /// Packets in a row.
    pub burst: usize,
    /// `gso` or `mmsg`; meaningless for a burst of 1.
    pub burst_mode: String,
    /// Server CPU time per relayed packet, at the fixed rate.
    pub cpu_us_per_packet: Figure,
    /// At the fixed rate.
    pub latency_p50_us: Figure,
    /// At the fixed rate.
    pub latency_p99_us: Figure,
    /// Share of packets lost at the fixed rate.
    pub loss: Figure,
    /// Share of packets the generator left out at the fixed rate because it was late itself.
    pub skipped: Figure,
    /// With a full window.
    pub packets_per_second: Figure,
    /// Share of packets lost with a full window.
    pub saturated_loss: Figure,
    /// Share of time the server's threads were on a CPU with a full window: well below 1 means that
    /// the generator was the limit.
    pub saturated_busy: Figure,
}

impl RelayReport {
    /// No samples yet.
    pub fn new(payload: usize, burst: usize, burst_mode: &str) -> Self {
        RelayReport {
            payload,
            burst,
            burst_mode: burst_mode.to_owned(),
            cpu_us_per_packet: Figure::default(),
            latency_p50_us: Figure::default(),
            latency_p99_us: Figure::default(),
            loss: Figure::default(),
            skipped: Figure::default(),
            packets_per_second: Figure::default(),
            saturated_loss: Figure::default(),
            saturated_busy: Figure::default(),
        }
    }
}

impl Report {
    /// The table a person reads.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let machine = &self.machine;
        let method = &self.method;
        let _ = writeln!(
            text,
            "{} x {}, Linux {}; {}; {} rounds of {} s, interleaved, medians",
            machine.cores,
            machine.cpu,
            machine.kernel,
            match (machine.generator_core, machine.server_core) {
                (Some(generator), Some(server)) => format!(
                    "generator on core {generator}, all threads of each server on core {server}"
                ),
                _ => "nothing pinned".to_owned(),
            },
            method.rounds,
            method.seconds,
        );
        let _ = writeln!(
            text,
            "{} sessions, direction {}, receivers {}; CPU and latency at {} packets/s, packets/s with {} under way",
            method.sessions, method.direction, method.receive, method.rate, method.window,
        );
        self.relay_table(&mut text);
        self.allocation_table(&mut text);
        text
    }

    fn relay_table(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{:<17} {:>7} {:>5} {:>5} {:>10} {:>6} {:>9} {:>5} {:>8} {:>8} {:>7}",
            "server",
            "payload",
            "burst",
            "mode",
            "CPU us/pkt",
            "ratio",
            "packets/s",
            "busy",
            "p50 us",
            "p99 us",
            "loss %"
        );
        let shapes = self.servers.first().map_or(0, |server| server.relay.len());
        for shape in 0..shapes {
            let base = self.baseline(shape);
            for server in &self.servers {
                let Some(relay) = server.relay.get(shape) else {
                    continue;
                };
                let ratio = match (relay.cpu_us_per_packet.median, base) {
                    (Some(own), Some(base)) if base > 0.0 => format!("{:.2}", own / base),
                    _ => "-".to_owned(),
                };
                let worst_loss = [&relay.loss, &relay.saturated_loss]
                    .into_iter()
                    .filter_map(|figure| figure.median)
                    .reduce(f64::max);
                let _ = writeln!(
                    text,
                    "{:<17} {:>7} {:>5} {:>5} {:>10} {:>6} {:>9} {:>5} {:>8} {:>8} {:>7}",
                    server.name,
                    relay.payload,
                    relay.burst,
                    if relay.burst == 1 {
                        "-"
                    } else {
                        &relay.burst_mode
                    },
                    number(relay.cpu_us_per_packet.median, 2),
                    ratio,
                    number(relay.packets_per_second.median, 0),
                    number(relay.saturated_busy.median, 2),
                    number(relay.latency_p50_us.median, 1),
                    number(relay.latency_p99_us.median, 1),
                    number(worst_loss.map(|loss| loss * 100.0), 2),
                );
            }
        }
    }

    /// coturn's CPU per packet, which the ratio column is about.
    fn baseline(&self, shape: usize) -> Option<f64> {
        let coturn = self.servers.iter().find(|server| server.name == "coturn")?;
        coturn.relay.get(shape)?.cpu_us_per_packet.median
    }

    fn allocation_table(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{:<17} {:>12} {:>14} {:>18}",
            "server", "allocations", "allocations/s", "bytes/allocation"
        );
        for server in &self.servers {
            let Some(allocations) = &server.allocations else {
                continue;
            };
            let _ = writeln!(
                text,
                "{:<17} {:>12} {:>14} {:>18}",
                server.name,
                allocations.count,
                number(allocations.per_second.median, 0),
                number(allocations.bytes_each.median, 0),
            );
        }
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, cpu: f64) -> ServerReport {
        let mut relay = RelayReport::new(200, 4, "gso");
        relay.cpu_us_per_packet.add(cpu);
        ServerReport {
            name: name.to_owned(),
            command: String::new(),
            allocations: None,
            relay: vec![relay],
        }
    }

    fn report() -> Report {
        Report {
            schema: SCHEMA,
            machine: Machine {
                cpu: "Example".to_owned(),
                cores: 2,
                kernel: "6.1".to_owned(),
                generator_core: Some(0),
                server_core: Some(1),
            },
            method: Method {
                rounds: 1,
                sessions: 50,
                rate: 20_000,
                window: 128,
                seconds: 2.0,
                direction: "both".to_owned(),
                receive: "plain".to_owned(),
            },
            servers: vec![server("stunnerd", 3.0), server("coturn", 6.0)],
        }
    }

    #[test]
    fn the_ratio_is_taken_against_coturn() {
        let table = report().table();
        let row = table
            .lines()
            .find(|line| line.starts_with("stunnerd"))
            .unwrap();
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words[..6], ["stunnerd", "200", "4", "gso", "3.00", "0.50"]);
    }

    #[test]
    fn json_has_the_documented_names() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["schema"], 1);
        let relay = &json["servers"][0]["relay"][0];
        assert_eq!(relay["cpu_us_per_packet"]["median"], 3.0);
        assert_eq!(relay["cpu_us_per_packet"]["samples"][0], 3.0);
        assert!(relay["packets_per_second"]["median"].is_null());
    }
}
