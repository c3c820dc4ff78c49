//! What was tried from here: names, STUN, TURN, certificates, a peer.

use stunner_config::{PeerTransport, Protocol};

use super::Place;
use super::certificate::certificate;
use super::service::{asked, shown};
use crate::commands::doctor::facts::{Asked, Facts, Trial, Tried};
use crate::commands::doctor::finding::{Finding, Hop};

/// The network hops of a Gateway.
pub(super) fn network(facts: &Facts) -> Vec<Finding> {
    if facts.no_network {
        return vec![Finding::skipped(
            Hop::Stun,
            "`--no-network`: nothing is sent from here",
        )];
    }
    if facts.trials.is_empty() {
        return vec![Finding::skipped(
            Hop::Stun,
            "no address to send anything to",
        )];
    }
    let service = facts.service.known().and_then(Option::as_ref);
    let advice = facts.provider.zip(service).and_then(|(provider, service)| {
        let advice = provider.silent(asked(service))?;
        Some(format!("on {}: {advice}", provider.as_str()))
    });
    let is_inside = service
        .and_then(|service| service.spec.as_ref())
        .is_some_and(|spec| spec.type_.as_deref() == Some("ClusterIP"));
    let advice = match is_inside {
        true => Some(
            "the Service is of type ClusterIP: try from inside the cluster, or with `--no-network`"
                .to_owned(),
        ),
        false => advice,
    };
    let way = Way::Cluster {
        advice: advice.as_deref(),
    };
    trials(&facts.trials, facts.now, way)
}

/// What the way to a server leads through, which decides about what to look at.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands::doctor) enum Way<'a> {
    /// A load balancer and pods; with what is known about this one.
    Cluster { advice: Option<&'a str> },
    /// Nothing that is known.
    Unknown,
}

impl Way<'_> {
    /// What to do: with a Gateway in a cluster, or with any server.
    fn hint(self, gateway: &str, server: &str) -> String {
        let hint = match self {
            Way::Cluster { advice } => advice.unwrap_or(gateway),
            Way::Unknown => server,
        };
        hint.to_owned()
    }
}

/// Everything that was tried, by hop.
pub(in crate::commands::doctor) fn trials(all: &[Trial], now: i64, way: Way<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(all.iter().filter_map(|trial| dns(trial, way)));
    findings.extend(all.iter().filter_map(|trial| stun(trial, all, way)));
    findings.extend(all.iter().filter_map(allocate));
    findings.extend(all.iter().flat_map(|trial| shown_certificate(trial, now)));
    findings.extend(all.iter().filter_map(peer));
    findings.dedup();
    findings
}

fn at(trial: &Trial) -> String {
    shown(&Place {
        host: trial.host.clone(),
        port: trial.port,
    })
}

/// UDP or TCP, as firewalls see it.
fn wire(trial: &Trial) -> &'static str {
    trial.protocol.socket().as_str()
}

fn dns(trial: &Trial, way: Way<'_>) -> Option<Finding> {
    let host = &trial.host;
    Some(match &trial.dns {
        Asked::Unasked => return None,
        Asked::Known(addresses) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            Finding::ok(Hop::Dns, format!("{host} is {}", super::listed(&addresses)))
        }
        Asked::Failed(why) => Finding::dead(Hop::Dns, format!("{host} does not resolve"))
            .why(why.clone())
            .hint(match way {
                Way::Cluster { .. } => "create the DNS record for the address of the load balancer (external-dns can do it), or wait: a new load balancer's name takes minutes",
                Way::Unknown => "check the spelling, create the DNS record, or look at the resolver of this machine",
            }),
        other @ Asked::Forbidden { .. } => super::unknown(Hop::Dns, other, host),
    })
}

const NO_ROUTE: &str = "is there a route to the address from here? A private address is reached from its own network only";

fn stun(trial: &Trial, all: &[Trial], way: Way<'_>) -> Option<Finding> {
    let (name, at, wire) = (&trial.listener, at(trial), wire(trial));
    Some(match &trial.stun {
        Tried::Done(bound) => Finding::ok(
            Hop::Stun,
            format!("`{name}` answers at {at} in {} ms and sees us as {}", bound.rtt.as_millis(), bound.mapped.ip()),
        ),
        Tried::Untried => match trial.dns {
            Asked::Failed(_) => Finding::skipped(Hop::Stun, format!("`{name}`: no address to send to")),
            _ => return None,
        },
        Tried::Closed => Finding::dead(Hop::Stun, format!("{wire} port {} of {} is closed: nobody listens for `{name}`", trial.port, trial.host))
            .why(match way {
                Way::Cluster { .. } => "the host is there and refuses: no pod has the port open, or the load balancer has no target that is well",
                Way::Unknown => "the host is there and refuses",
            })
            .hint(way.hint(
                "look at the endpoints of the Gateway's Service (`kubectl get endpointslices`), and whether the pods' log tells of the listener",
                "see whether the server runs, and listens on that port over that protocol and at an address that is reached from here",
            )),
        Tried::Silent => silent(trial, all, way),
        Tried::Mute => Finding::dead(Hop::Stun, format!("`{name}` at {at} accepts the connection and does not answer"))
            .why("what listens there does not speak TURN, or a load balancer accepts connections that it has no target for")
            .hint(way.hint(
                "check the port and the protocol of the listener, and the health of the load balancer's targets",
                "check the port and the transport: a TLS port is `turns:HOST:PORT?transport=tcp`",
            )),
        Tried::NoTurn(why) => Finding::dead(Hop::Stun, format!("what answers at {at} is not `{name}`"))
            .why(why.clone())
            .hint(way.hint(
                "check the port and the protocol of the listener; a load balancer may end TLS or send the port to something else",
                "check the port and the transport: a TLS port is `turns:HOST:PORT?transport=tcp`, a plain one `turn:HOST:PORT?transport=tcp`",
            )),
        Tried::Handshake(why) => Finding::dead(Hop::Stun, format!("no {} handshake with `{name}` at {at}", secure(trial.protocol)))
            .why(why.clone())
            .hint(match way {
                Way::Cluster { .. } => "does something else end TLS on the way, such as a load balancer with a certificate of its own?",
                Way::Unknown => "is this a port for TLS? A plain one is `turn:HOST:PORT?transport=tcp`",
            }),
        Tried::Unauthorized => Finding::ok(Hop::Stun, format!("`{name}` answers at {at}")),
        Tried::Refused { code, reason } => Finding::warn(Hop::Stun, format!("`{name}` at {at} answers a Binding with {code} {reason}"))
            .hint("is this a TURN server of ours?"),
        Tried::Failed(why) => Finding::dead(Hop::Stun, format!("`{name}` cannot be asked at {at}"))
            .why(why.clone())
            .hint(way.hint(NO_ROUTE, NO_ROUTE)),
    })
}

fn secure(protocol: Protocol) -> &'static str {
    if protocol.socket() == PeerTransport::Udp {
        "DTLS"
    } else {
        "TLS"
    }
}

fn silent(trial: &Trial, all: &[Trial], way: Way<'_>) -> Finding {
    let (name, at, wire) = (&trial.listener, at(trial), wire(trial));
    let answered = all.iter().find(|other| {
        matches!(other.stun, Tried::Done(_))
            && other.host == trial.host
            && other.protocol.socket() != trial.protocol.socket()
    });
    let is_udp = trial.protocol.socket() == PeerTransport::Udp;
    let finding = Finding::dead(
        Hop::Stun,
        format!("no answer from `{name}` at {at} over {wire}"),
    );
    match answered {
        Some(other) if is_udp => finding
            .why(format!("`{}` at the same address answers over TCP, so UDP is blocked on the way or not forwarded", other.listener))
            .hint(way.hint(
                "let UDP pass: the firewall of the network you are in, of the cloud and of the nodes; clients behind the same firewall need a TURN-TCP or TURN-TLS listener",
                "let UDP pass in the firewalls here and at the server; clients behind the same firewall need TURN over TCP or TLS",
            )),
        _ if is_udp => finding
            .why(match way {
                Way::Cluster { .. } => "UDP is dropped on the way, or the load balancer sends it to nobody",
                Way::Unknown => "UDP is dropped on the way, or what listens there is no STUN server",
            })
            .hint(way.hint(
                "let UDP pass to the port: the firewall here, of the cloud and of the nodes; then look at the health checks of the load balancer",
                "let UDP pass to the port in the firewalls here and at the server, and check the port",
            )),
        _ => finding
            .why(match way {
                Way::Cluster { .. } => "the connection is neither accepted nor refused: a firewall drops it, or the load balancer has no target",
                Way::Unknown => "the connection is neither accepted nor refused: a firewall drops it, or the host is down",
            })
            .hint(way.hint(
                "let TCP pass to the port in the firewalls of the cloud and of the nodes",
                "let TCP pass to the port in the firewalls here and at the server",
            )),
    }
}

fn allocate(trial: &Trial) -> Option<Finding> {
    let name = &trial.listener;
    if let Some(why) = trial.no_allocate {
        return matches!(trial.stun, Tried::Done(_))
            .then(|| Finding::skipped(Hop::Allocate, format!("`{name}`: {why}")));
    }
    Some(match &trial.allocate {
        Tried::Done(relayed) => Finding::ok(Hop::Allocate, format!("`{name}` relays from {relayed}")),
        Tried::Untried => return None,
        Tried::Unauthorized => Finding::dead(Hop::Allocate, format!("`{name}` refuses the credentials (401)"))
            .why("the server runs with others than those that were given or that the configuration has")
            .hint("after a change of the Secret clients need new credentials; if a pod never took the change, see its log; for a shared secret, compare the clocks too"),
        Tried::Refused { code: 486, reason } => Finding::dead(Hop::Allocate, format!("`{name}` refuses: 486 {reason}"))
            .why("the user has as many allocations as `userQuota` allows")
            .hint("end sessions (`stunnerctl sessions`), or raise `userQuota` in the GatewayConfig"),
        Tried::Refused { code: 508, reason } if reason.to_ascii_lowercase().contains("drain") => Finding::dead(Hop::Allocate, format!("`{name}` refuses: 508 {reason}"))
            .why("the server is being drained: sessions go on, and new ones are for its successor")
            .hint("wait until the rollout is done and try again; if it stays, the load balancer still sends clients to a pod that is to end"),
        Tried::Refused { code: 508, reason } => Finding::dead(Hop::Allocate, format!("`{name}` refuses: 508 {reason}"))
            .why("the server has no relay port left")
            .hint("see `stunnerctl status`; widen the relay port range or add replicas"),
        Tried::Refused { code, reason } => Finding::dead(Hop::Allocate, format!("`{name}` refuses an allocation: {code} {reason}"))
            .hint("the log of the pod says more"),
        Tried::Closed | Tried::Silent | Tried::Mute => Finding::dead(Hop::Allocate, format!("`{name}` answers a Binding and not an Allocate"))
            .why("several servers may answer at this address, or a device on the way filters TURN")
            .hint("try again; if it stays, check that all targets of the load balancer are pods of this Gateway"),
        Tried::Handshake(why) | Tried::NoTurn(why) | Tried::Failed(why) => {
            Finding::dead(Hop::Allocate, format!("`{name}` could not be asked for an allocation")).why(why.clone())
        }
    })
}

fn shown_certificate(trial: &Trial, now: i64) -> Vec<Finding> {
    match &trial.certificate {
        Tried::Done(shown) => certificate(trial, shown, now),
        Tried::Handshake(why) | Tried::NoTurn(why) | Tried::Failed(why) if !is_broken(trial) => {
            let what = format!("`{}` showed no certificate", trial.listener);
            vec![Finding::skipped(Hop::Certificate, what).why(why.clone())]
        }
        _ => Vec::new(),
    }
}

fn is_broken(trial: &Trial) -> bool {
    !matches!(trial.stun, Tried::Done(_))
}

fn peer(trial: &Trial) -> Option<Finding> {
    let name = &trial.listener;
    let (peer, tried) = trial.peer.as_ref()?;
    let peer = peer.ip();
    Some(match tried {
        Tried::Done(()) => Finding::ok(Hop::Peer, format!("`{name}` admits clients to {peer}")),
        Tried::Untried => return None,
        Tried::Refused { code: 403, .. } => Finding::dead(Hop::Peer, format!("`{name}` refuses clients {peer}, an endpoint of its routes"))
            .why("the pod that answered runs another configuration, or the address is one that it never relays to")
            .hint(format!("`stunnerctl explain` says which rule refuses {peer}")),
        Tried::Refused { code, reason } => Finding::warn(Hop::Peer, format!("`{name}` refuses a permission for {peer}: {code} {reason}")),
        other => Finding::warn(Hop::Peer, format!("`{name}` gave no answer about {peer}")).why(match other {
            Tried::Failed(why) => why.clone(),
            _ => String::new(),
        }),
    })
}
