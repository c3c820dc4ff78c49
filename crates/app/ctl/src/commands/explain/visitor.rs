//! What is known about the client beside the question whether its peer is admitted.

use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};
use stunner_cluster::{Cluster, Denial, Kind};

use super::ask::Answers;

#[derive(Debug)]
pub(super) struct Visitor<'a> {
    client: IpAddr,
    sessions: Option<usize>,
    refused: &'a [Denial],
    /// The source ranges of load balancers that leave the client out: gateway and ranges.
    shut_out: Vec<(String, Vec<String>)>,
}

impl<'a> Visitor<'a> {
    pub(super) fn of(
        client: IpAddr,
        answers: &'a Answers,
        shut_out: Vec<(String, Vec<String>)>,
    ) -> Self {
        Visitor {
            client,
            sessions: answers.sessions,
            refused: &answers.refused,
            shut_out,
        }
    }

    pub(super) fn is_let_in(&self) -> bool {
        self.shut_out.is_empty()
    }

    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        for (gateway, ranges) in &self.shut_out {
            lines.push(format!(
                "client {}: the load balancer of {gateway} takes clients from {} only \
                 (stunner.l7mp.io/load-balancer-source-ranges)",
                self.client,
                ranges.join(", ")
            ));
        }
        if let Some(sessions) = self.sessions {
            let live = match sessions {
                0 => "no live session".to_owned(),
                1 => "1 live session".to_owned(),
                n => format!("{n} live sessions"),
            };
            let refused = match self.refused {
                [] => "not refused this peer lately".to_owned(),
                [last, ..] => format!(
                    "refused this peer {} lately, the last time at {} ({})",
                    times(self.refused.len()),
                    last.at,
                    last.reason
                ),
            };
            lines.push(format!("client {}: {live}, {refused}", self.client));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(super) fn value(&self) -> Value {
        let shut_out = self.shut_out.iter();
        let shut_out =
            shut_out.map(|(gateway, ranges)| json!({ "gateway": gateway, "sourceRanges": ranges }));
        json!({
            "address": self.client,
            "sessions": self.sessions,
            "refused": self.refused,
            "shutOut": shut_out.collect::<Vec<_>>(),
        })
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

/// The source ranges of a gateway's load balancer where they leave the client out. A Service that cannot be read
/// says nothing.
pub(super) async fn source_ranges(
    cluster: &Cluster,
    gateway: &str,
    client: IpAddr,
) -> Option<Vec<String>> {
    let (namespace, name) = gateway.split_once('/')?;
    let services = Kind::of::<Service>();
    let found = cluster
        .objects()
        .get(&services, Some(namespace), name)
        .await;
    let service: Service = found.ok().flatten()?;
    let ranges = service.spec?.load_balancer_source_ranges?;
    leaves_out(&ranges, client).then_some(ranges)
}

fn leaves_out(ranges: &[String], client: IpAddr) -> bool {
    let client = client.to_canonical();
    let nets: Vec<IpNet> = ranges
        .iter()
        .filter_map(|range| range.trim().parse().ok())
        .collect();
    !nets.is_empty() && !nets.iter().any(|net| net.contains(&client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_outside_all_source_ranges_is_shut_out() {
        let ranges = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let client: IpAddr = "198.51.100.7".parse().expect("an address");
        assert!(!leaves_out(&ranges(&[]), client));
        assert!(!leaves_out(&ranges(&["nonsense"]), client));
        assert!(!leaves_out(
            &ranges(&["10.0.0.0/8", "198.51.100.0/24"]),
            client
        ));
        assert!(leaves_out(
            &ranges(&["10.0.0.0/8", "2001:db8::/32"]),
            client
        ));
        let mapped: IpAddr = "::ffff:10.1.2.3".parse().expect("an address");
        assert!(!leaves_out(&ranges(&["10.0.0.0/8"]), mapped));
    }
}
