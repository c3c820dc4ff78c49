//! The Service of a Gateway, and the address that clients are to use.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use stunner_api::gateway::{Gateway, Listener};
use stunner_api::names::{self, annotation, label};
use stunner_config::{PeerTransport, Protocol};
use stunner_translate::listener_protocol;

use super::provider::Asked as AskedOfBalancer;
use super::{unknown, wanted};
use crate::commands::doctor::facts::{Asked, Facts};
use crate::commands::doctor::finding::{Finding, Hop};

/// Where clients are to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands::doctor) struct Place {
    pub(in crate::commands::doctor) host: String,
    pub(in crate::commands::doctor) port: u16,
}

/// Listeners that the operator serves. Those that it does not have been told about.
fn served<'a>(
    facts: &'a Facts,
    gateway: &'a Gateway,
) -> impl Iterator<Item = (&'a Listener, Protocol)> {
    let status = gateway.status.as_ref();
    wanted(facts, gateway).filter_map(move |listener| {
        let statuses = status.map_or(&[] as &[_], |status| &status.listeners);
        let status = statuses.iter().find(|status| status.name == listener.name);
        let is_left_out = status.is_some_and(|status| {
            let programmed = super::find(&status.conditions, names::condition::PROGRAMMED);
            super::is_false(programmed)
                && programmed.is_some_and(|it| it.reason == names::reason::INVALID)
        });
        let protocol = listener_protocol(&listener.protocol)?;
        (!is_left_out).then_some((listener, protocol))
    })
}

pub(super) fn service(facts: &Facts, gateway: &Gateway) -> Vec<Finding> {
    let name = &facts.name;
    let service = match &facts.service {
        Asked::Known(Some(service)) => service,
        Asked::Known(None) if served(facts, gateway).next().is_none() => {
            return vec![Finding::skipped(
                Hop::Service,
                "no listener that would need a Service",
            )];
        }
        Asked::Known(None) => {
            return vec![
                Finding::dead(Hop::Service, format!("Service {name} does not exist"))
                    .why("the operator makes it, and has not, or somebody deleted it")
                    .hint("see whether the operator runs, and what the Gateway's condition Programmed says"),
            ];
        }
        other => return vec![unknown(Hop::Service, other, &format!("Service {name}"))],
    };
    if !belongs(service, facts) {
        return vec![
            Finding::dead(
                Hop::Service,
                format!("Service {name} is not this Gateway's"),
            )
            .why("it was there before, or belongs to somebody else, and is left alone")
            .hint("rename the Gateway, or delete the Service if nobody needs it"),
        ];
    }
    let mut findings: Vec<Finding> = Vec::new();
    let mut carried: Vec<String> = Vec::new();
    for (listener, protocol) in served(facts, gateway) {
        match port_of(service, listener, protocol) {
            Some(port) => carried.push(told(port)),
            None => findings.push(
                Finding::dead(
                    Hop::Service,
                    format!("Service {name} has no {} port {} for listener `{}`", protocol.socket(), listener.port, listener.name),
                )
                .why("packets to the listener are dropped before any pod sees them")
                .hint(format!(
                    "if the Gateway mixes UDP and TCP, set `{}: \"true\"` on it; if somebody edits the Service, let them stop",
                    annotation::ENABLE_MIXED_PROTOCOL_LB
                )),
            ),
        }
    }
    if !carried.is_empty() {
        carried.dedup();
        let what = format!(
            "Service {name} ({}): {}",
            kind_of(service),
            carried.join(", ")
        );
        findings.insert(0, Finding::ok(Hop::Service, what));
    }
    findings
}

fn belongs(service: &Service, facts: &Facts) -> bool {
    let metadata = &service.metadata;
    let owned = metadata.owner_references.iter().flatten();
    let mut owned =
        owned.filter(|owner| owner.kind == names::GATEWAY_KIND && owner.name == facts.name.name);
    let labels = metadata.labels.as_ref();
    let is_labelled = labels.is_some_and(|all| all.contains_key(label::RELATED_GATEWAY_NAME));
    owned.next().is_some() || is_labelled
}

fn kind_of(service: &Service) -> &str {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.type_.as_deref())
        .unwrap_or("ClusterIP")
}

fn port_of<'a>(
    service: &'a Service,
    listener: &Listener,
    protocol: Protocol,
) -> Option<&'a ServicePort> {
    let ports = service.spec.as_ref()?.ports.as_deref()?;
    ports.iter().find(|port| {
        port.port == listener.port
            && port.protocol.as_deref().unwrap_or("TCP") == protocol.socket().as_str()
    })
}

fn told(port: &ServicePort) -> String {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    match port.node_port.filter(|&node_port| node_port > 0) {
        Some(node_port) => format!("{protocol} {} at node port {node_port}", port.port),
        None => format!("{protocol} {}", port.port),
    }
}

/// Where clients are to go for a listener: what they are told, else what follows from the objects.
pub(in crate::commands::doctor) fn place(
    facts: &Facts,
    gateway: &Gateway,
    listener: &Listener,
) -> Option<Place> {
    let id = format!("{}/{}", facts.name, listener.name);
    let config = facts.served.known().and_then(Option::as_ref);
    let told = config.and_then(|config| config.listener(&id));
    if let Some(told) = told.filter(|told| !told.public_address.is_empty()) {
        return Some(Place {
            host: told.public_address.clone(),
            port: Some(told.public_port)
                .filter(|&port| port > 0)
                .unwrap_or(told.port),
        });
    }
    // Config discovery knows best. Where it cannot be asked:
    if config.is_some() {
        return None;
    }
    let port = u16::try_from(listener.port).ok()?;
    let requested = gateway.spec.addresses.first();
    let requested = requested.and_then(|address| address.value.clone());
    let balanced = || facts.service.known()?.as_ref().and_then(ingress);
    let host = requested.filter(|host| !host.is_empty()).or_else(balanced);
    if let Some(host) = host {
        return Some(Place { host, port });
    }
    let status = gateway.status.as_ref()?.addresses.first()?;
    let service = facts.service.known()?.as_ref()?;
    let protocol = listener_protocol(&listener.protocol)?;
    let node_port = port_of(service, listener, protocol)?.node_port;
    let port = node_port
        .and_then(|port| u16::try_from(port).ok())
        .filter(|&it| it > 0);
    let port = port
        .filter(|_| kind_of(service) != "ClusterIP")
        .unwrap_or(u16::try_from(listener.port).ok()?);
    Some(Place {
        host: status.value.clone(),
        port,
    })
}

fn ingress(service: &Service) -> Option<String> {
    let ingress = service
        .status
        .as_ref()?
        .load_balancer
        .as_ref()?
        .ingress
        .as_deref()?;
    ingress
        .iter()
        .find_map(|it| it.ip.clone().or_else(|| it.hostname.clone()))
        .filter(|host| !host.is_empty())
}

pub(super) fn addresses(facts: &Facts, gateway: &Gateway) -> Vec<Finding> {
    let service = facts.service.known().and_then(Option::as_ref);
    let mut findings = Vec::new();
    let mut without: Vec<String> = Vec::new();
    for (listener, _) in served(facts, gateway) {
        match place(facts, gateway, listener) {
            Some(place) => findings.push(found(&listener.name, &place, service)),
            None => without.push(format!("`{}`", listener.name)),
        }
    }
    if !without.is_empty() {
        findings.push(match service {
            Some(service) => pending(facts, service, &without),
            None => Finding::skipped(Hop::Address, "no Service that would have one"),
        });
    }
    if findings.is_empty() {
        findings.push(Finding::skipped(
            Hop::Address,
            "no listener that would need one",
        ));
    }
    findings
}

fn found(listener: &str, place: &Place, service: Option<&Service>) -> Finding {
    let what = format!("listener `{listener}` is at {}", shown(place));
    let waits =
        |service: &&Service| kind_of(service) == "LoadBalancer" && ingress(service).is_none();
    match service.filter(waits) {
        Some(_) => Finding::ok(
            Hop::Address,
            format!("{what}; the load balancer has given none"),
        ),
        None => Finding::ok(Hop::Address, what),
    }
}

pub(super) fn shown(place: &Place) -> String {
    match place.host.contains(':') {
        true => format!("[{}]:{}", place.host, place.port),
        false => format!("{}:{}", place.host, place.port),
    }
}

fn pending(facts: &Facts, service: &Service, listeners: &[String]) -> Finding {
    let name = &facts.name;
    let kind = kind_of(service);
    let finding = match kind {
        "LoadBalancer" => Finding::dead(
            Hop::Address,
            format!(
                "the load balancer of Service {name} has given no address{}",
                since(facts, service)
            ),
        ),
        _ => Finding::dead(
            Hop::Address,
            format!(
                "no address for {} by Service {name} ({kind})",
                super::listed(listeners)
            ),
        ),
    };
    let finding = match facts.events.last() {
        Some(event) => finding.why(format!("Kubernetes says about the Service: {event}")),
        None if kind == "LoadBalancer" => {
            finding.why("nothing in the cluster has answered the request for a load balancer")
        }
        None => finding.why("no node has an external address, and the Gateway asks for none"),
    };
    let hint = match (facts.provider, kind) {
        (Some(provider), "LoadBalancer") => format!(
            "on {}: {}",
            provider.as_str(),
            provider.pending(asked(service))
        ),
        (None, "LoadBalancer") => format!(
            "without a cloud's load balancers install MetalLB, or set `{}: NodePort` or an address in `spec.addresses` of the Gateway",
            annotation::SERVICE_TYPE
        ),
        _ => "name an address that reaches the nodes in `spec.addresses` of the Gateway".to_owned(),
    };
    finding.hint(hint)
}

fn since(facts: &Facts, service: &Service) -> String {
    let created = service.metadata.creation_timestamp.as_ref();
    let seconds = created.map(|created| facts.now - created.0.as_second());
    match seconds {
        Some(seconds) if seconds >= 120 => format!(" for {} minutes", seconds / 60),
        _ => String::new(),
    }
}

/// What the Service asks of its load balancer.
pub(super) fn asked(service: &Service) -> AskedOfBalancer<'_> {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    let spec = service.spec.as_ref();
    let ports = spec
        .and_then(|spec| spec.ports.as_deref())
        .unwrap_or_default();
    let has = |transport: PeerTransport| {
        ports.iter().any(|port| {
            port.protocol.as_deref().unwrap_or("TCP") == transport.as_str()
                && port.name.as_deref() != Some(names::HEALTH_CHECK_PORT_NAME)
        })
    };
    AskedOfBalancer {
        annotations: service.metadata.annotations.as_ref().unwrap_or(&NONE),
        has_class: spec.is_some_and(|spec| spec.load_balancer_class.is_some()),
        udp: has(PeerTransport::Udp),
        tcp: has(PeerTransport::Tcp),
    }
}
