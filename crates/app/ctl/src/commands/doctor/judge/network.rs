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
    trials(&facts.trials, facts.now, advice.as_deref())
}

/// Everything that was tried, by hop.
pub(in crate::commands::doctor) fn trials(
    all: &[Trial],
    now: i64,
    advice: Option<&str>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(all.iter().filter_map(dns));
    findings.extend(all.iter().filter_map(|trial| stun(trial, all, advice)));
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

fn dns(trial: &Trial) -> Option<Finding> {
    let host = &trial.host;
    Some(match &trial.dns {
        Asked::Unasked => return None,
        Asked::Known(addresses) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            Finding::ok(Hop::Dns, format!("{host} is {}", super::listed(&addresses)))
        }
        Asked::Failed(why) => Finding::dead(Hop::Dns, format!("{host} does not resolve"))
            .why(why.clone())
            .hint("create the DNS record for the address of the load balancer (external-dns can do it), or wait: a new load balancer's name takes minutes"),
        other @ Asked::Forbidden { .. } => super::unknown(Hop::Dns, other, host),
    })
}

fn stun(trial: &Trial, all: &[Trial], advice: Option<&str>) -> Option<Finding> {
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
            .why("the host is there and refuses: no pod has the port open, or the load balancer has no target that is well")
            .hint(advice.unwrap_or("look at the endpoints of the Gateway's Service (`kubectl get endpointslices`), and whether the pods' log tells of the listener").to_owned()),
        Tried::Silent => silent(trial, all, advice),
        Tried::Mute => Finding::dead(Hop::Stun, format!("`{name}` at {at} accepts the connection and does not answer"))
            .why("what listens there does not speak TURN, or a load balancer accepts connections that it has no target for")
            .hint(advice.unwrap_or("check the port and the protocol of the listener, and the health of the load balancer's targets").to_owned()),
        Tried::Handshake(why) => Finding::dead(Hop::Stun, format!("no {} handshake with `{name}` at {at}", secure(trial.protocol)))
            .why(why.clone())
            .hint("does something else end TLS on the way, such as a load balancer with a certificate of its own?"),
        Tried::Unauthorized => Finding::ok(Hop::Stun, format!("`{name}` answers at {at}")),
        Tried::Refused { code, reason } => Finding::warn(Hop::Stun, format!("`{name}` at {at} answers a Binding with {code} {reason}"))
            .hint("is this a TURN server of ours?"),
        Tried::Failed(why) => Finding::dead(Hop::Stun, format!("`{name}` cannot be asked at {at}"))
            .why(why.clone())
            .hint(advice.unwrap_or("is there a route to the address from here? A private address is reached from its own network only").to_owned()),
    })
}

fn secure(protocol: Protocol) -> &'static str {
    if protocol.socket() == PeerTransport::Udp {
        "DTLS"
    } else {
        "TLS"
    }
}

fn silent(trial: &Trial, all: &[Trial], advice: Option<&str>) -> Finding {
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
            .hint(advice.unwrap_or("let UDP pass: the firewall of the network you are in, of the cloud and of the nodes; clients behind the same firewall need a TURN-TCP or TURN-TLS listener").to_owned()),
        _ if is_udp => finding
            .why("UDP is dropped on the way, or the load balancer sends it to nobody")
            .hint(advice.unwrap_or("let UDP pass to the port: the firewall here, of the cloud and of the nodes; then look at the health checks of the load balancer").to_owned()),
        _ => finding
            .why("the connection is neither accepted nor refused: a firewall drops it, or the load balancer has no target")
            .hint(advice.unwrap_or("let TCP pass to the port in the firewalls of the cloud and of the nodes").to_owned()),
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
        Tried::Handshake(why) | Tried::Failed(why) => {
            Finding::dead(Hop::Allocate, format!("`{name}` could not be asked for an allocation")).why(why.clone())
        }
    })
}

fn shown_certificate(trial: &Trial, now: i64) -> Vec<Finding> {
    match &trial.certificate {
        Tried::Done(shown) => certificate(trial, shown, now),
        Tried::Handshake(why) | Tried::Failed(why) if !is_broken(trial) => {
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
