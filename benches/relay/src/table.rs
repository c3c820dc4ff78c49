//! The result as a table for people.

use std::fmt::Write as _;

use crate::report::{Figure, RelayReport, Report, ServerReport};

/// What the ratio columns compare with.
const BASELINE: &str = "coturn";

impl Report {
    /// Three tables: at fixed rates, as fast as it goes, allocations. Ratios are to coturn.
    pub fn table(&self) -> String {
        let mut text = String::new();
        self.introduction(&mut text);
        self.rated_table(&mut text);
        self.saturated_table(&mut text);
        self.allocation_table(&mut text);
        text
    }

    fn introduction(&self, text: &mut String) {
        let (machine, method) = (&self.machine, &self.method);
        let cores = match (machine.generator_core, machine.server_core) {
            (Some(generator), Some(server)) => {
                format!(
                    "generator on core {generator}, all threads of each server on core {server}"
                )
            }
            _ => "nothing pinned".to_owned(),
        };
        let _ = writeln!(
            text,
            "{} x {}, Linux {}, load average {}; {cores}",
            machine.cores,
            machine.cpu,
            machine.kernel,
            machine.load_average.unwrap_or_default(),
        );
        let _ = writeln!(
            text,
            "{} sessions, direction {}, receivers {}; {} rounds of {} s each, interleaved, medians",
            method.sessions, method.direction, method.receive, method.rounds, method.seconds,
        );
    }

    fn rated_table(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\nat a fixed rate\n{:<17} {:>7} {:>5} {:>5} {:>7} {:>10} {:>6} {:>8} {:>8} {:>6} {:>7}",
            "server",
            "payload",
            "burst",
            "mode",
            "rate",
            "CPU us/pkt",
            "ratio",
            "p50 us",
            "p99 us",
            "loss %",
            "late %"
        );
        for (shape, first) in self.shapes() {
            for rate in 0..first.rated.len() {
                let base = self
                    .baseline()
                    .map(|server| &server.relay[shape].rated[rate]);
                for server in &self.servers {
                    let relay = &server.relay[shape];
                    let rated = &relay.rated[rate];
                    let _ = writeln!(
                        text,
                        "{:<17} {:>7} {:>5} {:>5} {:>7} {:>10} {:>6} {:>8} {:>8} {:>6} {:>7}",
                        server.name,
                        relay.payload,
                        relay.burst,
                        mode(relay),
                        rated.rate,
                        number(&rated.cpu_us_per_packet, 1.0, 2),
                        ratio(
                            &rated.cpu_us_per_packet,
                            base.map(|base| &base.cpu_us_per_packet)
                        ),
                        number(&rated.latency_p50_us, 1.0, 1),
                        number(&rated.latency_p99_us, 1.0, 1),
                        number(&rated.loss, 100.0, 2),
                        number(&rated.skipped, 100.0, 2),
                    );
                }
            }
        }
    }

    fn saturated_table(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\nas fast as it goes, {} packets under way\n{:<17} {:>7} {:>5} {:>5} {:>9} {:>6} {:>10} {:>6} {:>5} {:>6}",
            self.method.window,
            "server",
            "payload",
            "burst",
            "mode",
            "packets/s",
            "ratio",
            "CPU us/pkt",
            "ratio",
            "busy",
            "loss %"
        );
        for (shape, _) in self.shapes() {
            let base = self.baseline().map(|server| &server.relay[shape].saturated);
            for server in &self.servers {
                let relay = &server.relay[shape];
                let saturated = &relay.saturated;
                let _ = writeln!(
                    text,
                    "{:<17} {:>7} {:>5} {:>5} {:>9} {:>6} {:>10} {:>6} {:>5} {:>6}",
                    server.name,
                    relay.payload,
                    relay.burst,
                    mode(relay),
                    number(&saturated.packets_per_second, 1.0, 0),
                    ratio(
                        &saturated.packets_per_second,
                        base.map(|base| &base.packets_per_second)
                    ),
                    number(&saturated.cpu_us_per_packet, 1.0, 2),
                    ratio(
                        &saturated.cpu_us_per_packet,
                        base.map(|base| &base.cpu_us_per_packet)
                    ),
                    number(&saturated.busy, 1.0, 2),
                    number(&saturated.loss, 100.0, 2),
                );
            }
        }
    }

    fn allocation_table(&self, text: &mut String) {
        let measured = || {
            self.servers
                .iter()
                .filter_map(|server| Some((server, server.allocations.as_ref()?)))
        };
        let Some((_, first)) = measured().next() else {
            return;
        };
        let base = self
            .baseline()
            .and_then(|server| server.allocations.as_ref());
        let _ = writeln!(
            text,
            "\n{} allocations with a permission and a channel each\n{:<17} {:>14} {:>6} {:>17} {:>6}",
            first.count, "server", "allocations/s", "ratio", "bytes/allocation", "ratio"
        );
        for (server, allocations) in measured() {
            let _ = writeln!(
                text,
                "{:<17} {:>14} {:>6} {:>17} {:>6}",
                server.name,
                number(&allocations.per_second, 1.0, 0),
                ratio(&allocations.per_second, base.map(|base| &base.per_second)),
                number(&allocations.bytes_each, 1.0, 0),
                ratio(&allocations.bytes_each, base.map(|base| &base.bytes_each)),
            );
        }
    }

    fn shapes(&self) -> impl Iterator<Item = (usize, &RelayReport)> {
        self.servers
            .iter()
            .take(1)
            .flat_map(|server| server.relay.iter().enumerate())
    }

    fn baseline(&self) -> Option<&ServerReport> {
        self.servers.iter().find(|server| server.name == BASELINE)
    }
}

fn mode(relay: &RelayReport) -> &str {
    if relay.burst == 1 {
        "-"
    } else {
        &relay.burst_mode
    }
}

fn number(figure: &Figure, scale: f64, digits: usize) -> String {
    figure.median.map_or("-".to_owned(), |value| {
        format!("{:.digits$}", value * scale)
    })
}

fn ratio(own: &Figure, base: Option<&Figure>) -> String {
    match (own.median, base.and_then(|base| base.median)) {
        (Some(own), Some(base)) if base > 0.0 => format!("{:.2}", own / base),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Machine, Method, RelayReport, Report, SCHEMA, ServerReport};

    fn server(name: &str, cpu: f64, packets: f64) -> ServerReport {
        let mut relay = RelayReport::new(200, 4, "gso", &[20_000]);
        relay.rated[0].cpu_us_per_packet.add(cpu);
        relay.saturated.packets_per_second.add(packets);
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
                load_average: Some(0.5),
                generator_core: Some(0),
                server_core: Some(1),
            },
            method: Method {
                rounds: 1,
                sessions: 50,
                rates: vec![20_000],
                window: 128,
                seconds: 2.0,
                direction: "both".to_owned(),
                receive: "plain".to_owned(),
            },
            servers: vec![
                server("stunnerd", 3.0, 300_000.0),
                server("coturn", 6.0, 200_000.0),
            ],
        }
    }

    #[test]
    fn ratios_are_taken_against_coturn() {
        let table = report().table();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .filter(|line| line.starts_with("stunnerd"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            rows[0][..7],
            ["stunnerd", "200", "4", "gso", "20000", "3.00", "0.50"]
        );
        assert_eq!(
            rows[1][..6],
            ["stunnerd", "200", "4", "gso", "300000", "1.50"]
        );
    }

    #[test]
    fn json_has_the_documented_names() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["schema"], 1);
        let relay = &json["servers"][0]["relay"][0];
        assert_eq!(relay["rated"][0]["cpu_us_per_packet"]["median"], 3.0);
        assert_eq!(relay["rated"][0]["cpu_us_per_packet"]["samples"][0], 3.0);
        assert_eq!(
            relay["saturated"]["packets_per_second"]["median"],
            300_000.0
        );
        assert!(relay["saturated"]["busy"]["median"].is_null());
    }
}
