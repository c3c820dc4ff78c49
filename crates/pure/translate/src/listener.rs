//! Listeners of a Gateway: which of them can be served, and how.

use std::collections::BTreeMap;

use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, Listener, RouteGroupKind};
use stunner_api::names;
use stunner_config::{HttpEndpoint, HttpHost, PeerTransport, Protocol};

use crate::attach::{allows_kind, means};
use crate::context::{ListenerPlan, ListenerProblem, StaleCertificate};
use crate::key::RouteKind;
use crate::last_good::Certificate;
use crate::options::ServiceOptions;
use crate::settings::Settings;
use crate::snapshot::Snapshot;
use crate::tls;

const PASSTHROUGH: &str = "Passthrough";

/// One plan per listener, in the order of the spec. `last_good` has certificates by listener name; `health` is where
/// the dataplane answers health checks.
pub(crate) fn listener_plans(
    snapshot: &Snapshot,
    settings: &Settings,
    gateway: &Gateway,
    options: &ServiceOptions,
    last_good: &BTreeMap<String, Certificate>,
    health: Option<&HttpEndpoint>,
) -> Vec<ListenerPlan> {
    let namespace = NamespacedName::of(&gateway.metadata).namespace;
    let mut plans: Vec<ListenerPlan> = Vec::new();
    for listener in &gateway.spec.listeners {
        let mut plan = bare_plan(settings, listener, options);
        if plan.problem.is_none() {
            plan.problem = name_or_port_problem(&plan, &plans, health);
        }
        let earlier = plans.iter().find(|earlier| clashes(earlier, &plan));
        match (plan.problem.is_some(), earlier, plan.protocol) {
            (true, _, _) => {}
            (false, Some(earlier), _) => {
                plan.problem = Some(ListenerProblem::Conflict {
                    with: earlier.name.clone(),
                });
            }
            (false, None, Some(protocol)) if protocol.is_secure() => {
                let good = last_good.get(&listener.name);
                let good = good.filter(|good| tls::serves(good, protocol));
                let found = tls::certificate(
                    snapshot,
                    settings,
                    &namespace,
                    protocol,
                    listener.tls.as_ref(),
                );
                certify(&mut plan, found, good);
            }
            _ => {}
        }
        plans.push(plan);
    }
    plans
}

/// The plan as far as the listener itself decides it.
fn bare_plan(settings: &Settings, listener: &Listener, options: &ServiceOptions) -> ListenerPlan {
    let protocol = listener_protocol(&listener.protocol);
    let spec_port = u16::try_from(listener.port).unwrap_or(0);
    let is_secure = protocol.is_some_and(Protocol::is_secure);
    let mode = listener.tls.as_ref().and_then(|tls| tls.mode.as_deref());
    let is_passthrough = mode.is_some_and(|mode| mode.eq_ignore_ascii_case(PASSTHROUGH));
    let problem = if protocol.is_none() {
        Some(ListenerProblem::UnsupportedProtocol)
    } else if spec_port == 0 {
        Some(ListenerProblem::BadPort)
    } else if is_secure && is_passthrough {
        Some(ListenerProblem::Passthrough)
    } else {
        None
    };
    let target = options.target_ports.get(&listener.name).copied();
    ListenerPlan {
        name: listener.name.clone(),
        protocol,
        spec_port,
        port: target.unwrap_or(spec_port),
        certificate: None,
        problem,
        stale_certificate: None,
        hostname: public_hostname(listener).filter(|_| is_secure),
        route_kinds: route_kinds(settings, listener),
        notices: Vec::new(),
    }
}

/// What keeps a listener from being in one configuration with the others.
fn name_or_port_problem(
    plan: &ListenerPlan,
    earlier: &[ListenerPlan],
    health: Option<&HttpEndpoint>,
) -> Option<ListenerProblem> {
    if earlier.iter().any(|earlier| earlier.name == plan.name) {
        return Some(ListenerProblem::NameTaken);
    }
    // The probes of the pods ask there, so that a listener in its place would keep them from ever being ready.
    health
        .is_some_and(|health| wants_socket_of(plan, health))
        .then_some(ListenerProblem::HealthPort)
}

/// Whether a listener and a server of the dataplane want the same socket. Listeners take the address of the pod, which
/// a server on the loopback address leaves free.
pub(crate) fn wants_socket_of(plan: &ListenerPlan, server: &HttpEndpoint) -> bool {
    let is_loopback = matches!(server.host, HttpHost::Ip(address) if address.is_loopback());
    let transport = plan.protocol.map(Protocol::socket);
    transport == Some(PeerTransport::Tcp) && plan.port == server.port && !is_loopback
}

/// Two sockets of one transport cannot share a port, neither outside (the Service's) nor inside (the dataplane's).
/// A listener that lacks only its certificate holds its port, so that the certificate's coming pushes nobody out.
fn clashes(earlier: &ListenerPlan, later: &ListenerPlan) -> bool {
    fn socket(plan: &ListenerPlan) -> Option<PeerTransport> {
        match plan.problem {
            None | Some(ListenerProblem::Certificate { .. }) => plan.protocol.map(Protocol::socket),
            _ => None,
        }
    }
    socket(earlier).is_some()
        && socket(earlier) == socket(later)
        && (earlier.spec_port == later.spec_port || earlier.port == later.port)
}

fn certify(
    plan: &mut ListenerPlan,
    found: Result<tls::Usable, tls::Unusable>,
    last_good: Option<&Certificate>,
) {
    match (found, last_good) {
        (Ok(usable), _) => {
            plan.certificate = Some(usable.certificate);
            plan.notices = usable.notices;
        }
        (Err(unusable), Some(good)) => {
            plan.certificate = Some(good.clone());
            plan.stale_certificate = Some(StaleCertificate {
                why: unusable.why,
                not_permitted: unusable.not_permitted,
            });
        }
        (Err(unusable), None) => {
            plan.problem = Some(ListenerProblem::Certificate {
                why: unusable.why,
                not_permitted: unusable.not_permitted,
            });
        }
    }
}

/// The protocol that a listener means. Names as users write them, in any case.
pub fn listener_protocol(text: &str) -> Option<Protocol> {
    match text.trim().to_ascii_uppercase().as_str() {
        "UDP" | "TURN-UDP" => Some(Protocol::TurnUdp),
        "TCP" | "TURN-TCP" => Some(Protocol::TurnTcp),
        "TLS" | "TURN-TLS" => Some(Protocol::TurnTls),
        "DTLS" | "TURN-DTLS" => Some(Protocol::TurnDtls),
        _ => None,
    }
}

/// A wildcard is no name to connect to.
fn public_hostname(listener: &Listener) -> Option<String> {
    let name = listener.hostname.as_deref()?.trim();
    (!name.is_empty() && !name.contains('*')).then(|| name.to_owned())
}

/// The kinds of route that a listener takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RouteKinds {
    /// Ours, cut down to what `allowedRoutes.kinds` lists.
    pub(crate) supported: Vec<RouteGroupKind>,
    /// `allowedRoutes.kinds` lists others too.
    pub(crate) unsupported: Vec<RouteGroupKind>,
}

fn route_kinds(settings: &Settings, listener: &Listener) -> RouteKinds {
    let allowed = listener.allowed_routes.as_ref();
    let listed = allowed.and_then(|allowed| allowed.kinds.as_deref());
    let listed = listed.unwrap_or_default();
    RouteKinds {
        supported: served_kinds(settings)
            .filter(|&kind| allows_kind(listener, kind))
            .map(group_kind)
            .collect(),
        unsupported: listed
            .iter()
            .filter(|entry| !served_kinds(settings).any(|kind| means(entry, kind)))
            .map(|entry| RouteGroupKind {
                group: Some(
                    entry
                        .group
                        .as_deref()
                        .unwrap_or(names::GATEWAY_GROUP)
                        .to_owned(),
                ),
                kind: entry.kind.clone(),
            })
            .collect(),
    }
}

pub(crate) fn known_kinds(settings: &Settings) -> Vec<RouteGroupKind> {
    served_kinds(settings).map(group_kind).collect()
}

fn served_kinds(settings: &Settings) -> impl Iterator<Item = RouteKind> + use<> {
    let tcp = settings
        .gateway_api
        .tcp_routes
        .then_some(RouteKind::OfficialTcp);
    [RouteKind::OfficialUdp, RouteKind::Udp]
        .into_iter()
        .chain(tcp)
}

fn group_kind(kind: RouteKind) -> RouteGroupKind {
    RouteGroupKind {
        group: Some(kind.group().to_owned()),
        kind: kind.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests;
