//! Verdicts for people: which rule admits a peer, or which one came nearest.

use std::cmp::Reverse;
use std::net::SocketAddr;

use super::special::{RuleNet, Target};
use super::{Admission, Explanation, PeerTransport, Rule, Verdict};

impl Admission {
    /// The verdict with the rule that made it, or the rule that came nearest. Walks all rules: not for the packet path.
    pub fn explain(&self, transport: PeerTransport, peer: SocketAddr) -> Explanation {
        let target = Target::of(peer.ip());
        match self.decide(transport, &target, peer.port()) {
            Ok((order, cacheable)) => {
                let rule = self.rules[order as usize];
                let verdict = Verdict::Admitted {
                    cluster: rule.cluster,
                    cacheable,
                };
                Explanation {
                    verdict,
                    matched: Some((rule.cluster, rule)),
                    nearest: None,
                }
            }
            Err(reason) => Explanation {
                verdict: Verdict::Denied(reason),
                matched: None,
                nearest: self.nearest(transport, &target, peer.port()),
            },
        }
    }

    /// A rule that holds the address, of those the one with the nearest port; else the longest common prefix. Among
    /// equals the same transport wins, then the first in route order.
    fn nearest(&self, transport: PeerTransport, target: &Target, port: u16) -> Option<Rule> {
        let closeness = |rule: &Rule| {
            let net = RuleNet::of(rule.net);
            let common = net.common_prefix(target)?;
            let holds = net.contains(target);
            let away = if holds { distance(rule, port) } else { 0 };
            Some((
                Reverse(holds),
                Reverse(if holds { 0 } else { common }),
                rule.transport != transport,
                away,
            ))
        };
        let near = self
            .rules
            .iter()
            .filter_map(|rule| Some((closeness(rule)?, *rule)));
        near.min_by_key(|(closeness, _)| *closeness)
            .map(|(_, rule)| rule)
    }
}

/// How many ports away the range is.
fn distance(rule: &Rule, port: u16) -> u16 {
    if rule.ports.contains(port) {
        0
    } else {
        rule.ports
            .first
            .abs_diff(port)
            .min(rule.ports.last.abs_diff(port))
    }
}
