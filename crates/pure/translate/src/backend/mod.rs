//! The backends of a route as one cluster: the peers that clients may reach through it.
//!
//! Backends are resolved each by itself: one that is missing or broken takes nothing from the others, and their order
//! matters only where names and addresses meet, since a cluster holds one or the other.

mod ports;
mod problem;
mod service;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use ipnet::IpNet;
use stunner_api::gateway::BackendRef;
use stunner_api::{NamespacedName, names};
use stunner_config::{Cluster, ClusterKind, DnsEndpoint, Endpoint, PeerTransport, PortRange};

use crate::grants::{Permission, Referent, Referrer, permitted};
use crate::key::RouteKind;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

pub(crate) use problem::BackendProblem;

/// A cluster, and what is to be said about its backends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) cluster: Cluster,
    /// In the order of the backends; those without a reason are remarks only.
    pub(crate) problems: Vec<BackendProblem>,
}

/// The object that a backendRef means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BackendTarget {
    Service(NamespacedName),
    StaticService(NamespacedName),
}

impl BackendTarget {
    pub(crate) fn group(&self) -> &'static str {
        match self {
            BackendTarget::Service(_) => "",
            BackendTarget::StaticService(_) => names::GROUP,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            BackendTarget::Service(_) => names::SERVICE_KIND,
            BackendTarget::StaticService(_) => names::STATIC_SERVICE_KIND,
        }
    }

    pub(crate) fn name(&self) -> &NamespacedName {
        match self {
            BackendTarget::Service(name) | BackendTarget::StaticService(name) => name,
        }
    }
}

/// What a backend is, if it is of a kind that can be one. The namespace defaults to the route's.
pub(crate) fn target(route_namespace: &str, backend: &BackendRef) -> Option<BackendTarget> {
    let name = name_of(route_namespace, backend);
    let group = backend.group.as_deref().unwrap_or_default();
    match (group, kind_of(backend)) {
        ("", names::SERVICE_KIND) => Some(BackendTarget::Service(name)),
        (names::GROUP, names::STATIC_SERVICE_KIND) => Some(BackendTarget::StaticService(name)),
        _ => None,
    }
}

pub(crate) fn name_of(route_namespace: &str, backend: &BackendRef) -> NamespacedName {
    let namespace = backend
        .namespace
        .as_deref()
        .filter(|given| !given.is_empty());
    NamespacedName::new(namespace.unwrap_or(route_namespace), &backend.name)
}

fn kind_of(backend: &BackendRef) -> &str {
    let kind = backend.kind.as_deref().filter(|given| !given.is_empty());
    kind.unwrap_or(names::SERVICE_KIND)
}

/// The peers of one backend, before ports.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Peers {
    Addresses {
        nets: Vec<IpNet>,
        /// How many of them are endpoints or prefixes; the others are cluster IPs.
        endpoints: usize,
    },
    Name(String),
}

/// The name of a route's cluster, unique among the clusters of all routes.
///
/// A TCPRoute gives way to a UDPRoute of its name, whose cluster is named as the Go system names it.
pub(crate) fn cluster_name(snapshot: &Snapshot, kind: RouteKind, name: &NamespacedName) -> String {
    let has_udp_namesake = || {
        snapshot.has_route(RouteKind::Udp, name) || snapshot.has_route(RouteKind::OfficialUdp, name)
    };
    if kind == RouteKind::OfficialTcp && has_udp_namesake() {
        format!("{name}:tcp")
    } else {
        name.to_string()
    }
}

/// One backend of a route, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BackendOutcome {
    /// As the backendRef has it, known or not.
    pub(crate) kind: String,
    pub(crate) name: NamespacedName,
    /// `None` where they make no sense.
    pub(crate) ports: Option<PortRange>,
    /// How many endpoints and prefixes it adds to the cluster.
    pub(crate) endpoints: usize,
    /// The domain name that it adds to the cluster.
    pub(crate) domain_name: Option<String>,
    /// Those without a reason are remarks only.
    pub(crate) problems: Vec<BackendProblem>,
}

/// The cluster of a route. A route that does not exist has no peers.
pub(crate) fn cluster(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: RouteKind,
    name: &NamespacedName,
) -> Rendered {
    let mut problems = Vec::new();
    let collected = collect(snapshot, settings, kind, name, |outcome| {
        problems.extend(outcome.problems);
    });
    let protocol = match kind {
        RouteKind::Udp | RouteKind::OfficialUdp => PeerTransport::Udp,
        RouteKind::OfficialTcp => PeerTransport::Tcp,
    };
    Rendered {
        cluster: Cluster {
            name: cluster_name(snapshot, kind, name),
            kind: collected.into_kind(),
            protocol,
        },
        problems,
    }
}

/// The backends of a route, in their order.
pub(crate) fn backends(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: RouteKind,
    name: &NamespacedName,
) -> Vec<BackendOutcome> {
    let mut outcomes = Vec::new();
    collect(snapshot, settings, kind, name, |outcome| {
        outcomes.push(outcome);
    });
    outcomes
}

fn collect(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: RouteKind,
    name: &NamespacedName,
    mut tell: impl FnMut(BackendOutcome),
) -> Collected {
    let backends = snapshot
        .route(kind, name)
        .map(|route| route.backends)
        .unwrap_or_default();
    let mut collected = Collected::Nothing;
    for backend in backends {
        let mut problems = Vec::new();
        let ports = ports::ports(kind, &name.namespace, backend, &mut problems);
        let mut outcome = BackendOutcome {
            kind: kind_of(backend).to_owned(),
            name: name_of(&name.namespace, backend),
            ports,
            endpoints: 0,
            domain_name: None,
            problems: Vec::new(),
        };
        let resolved =
            ports.and_then(|_| resolve(snapshot, settings, kind, name, backend, &mut problems));
        if let Some((target, peers)) = resolved
            && let Some(ports) = ports
        {
            let (endpoints, domain_name) = match &peers {
                Peers::Addresses { endpoints, .. } => (*endpoints, None),
                Peers::Name(name) => (0, Some(name.clone())),
            };
            if collected.add(peers, ports) {
                outcome.endpoints = endpoints;
                outcome.domain_name = domain_name;
            } else {
                problems.push(BackendProblem::Mixed {
                    target,
                    cluster_has_names: matches!(collected, Collected::Names(_)),
                });
            }
        }
        outcome.problems = problems;
        tell(outcome);
    }
    collected
}

/// All addresses of a backend, whoever may use them: its endpoints by either kind of object, and its cluster IPs.
pub(crate) fn addresses_of(snapshot: &Snapshot, target: &BackendTarget) -> Vec<IpNet> {
    match target {
        BackendTarget::Service(name) => service::addresses(snapshot, name),
        BackendTarget::StaticService(name) => match prefixes(snapshot, name, &mut Vec::new()) {
            Some(Peers::Addresses { nets, .. }) => nets,
            Some(Peers::Name(_)) | None => Vec::new(),
        },
    }
}

/// The peers of a backend, or what is wrong with it.
fn resolve(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: RouteKind,
    route: &NamespacedName,
    backend: &BackendRef,
    problems: &mut Vec<BackendProblem>,
) -> Option<(BackendTarget, Peers)> {
    let Some(target) = target(&route.namespace, backend) else {
        problems.push(BackendProblem::InvalidKind {
            group: backend.group.clone().unwrap_or_default(),
            kind: kind_of(backend).to_owned(),
            name: name_of(&route.namespace, backend),
        });
        return None;
    };
    // Asked first: whether a foreign object exists is not for everybody to know.
    match permission(snapshot, settings, kind, route, &target) {
        Permission::Yes => {}
        Permission::OnlyBecauseAllowed => {
            problems.push(BackendProblem::WithoutGrant(target.clone()));
        }
        Permission::No => {
            problems.push(BackendProblem::NotPermitted(target));
            return None;
        }
    }
    let peers = match &target {
        BackendTarget::Service(name) => service::peers(snapshot, settings, name, problems),
        BackendTarget::StaticService(name) => prefixes(snapshot, name, problems),
    };
    match peers {
        Some(peers) => Some((target, peers)),
        None => {
            problems.push(BackendProblem::NotFound(target));
            None
        }
    }
}

fn permission(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: RouteKind,
    route: &NamespacedName,
    target: &BackendTarget,
) -> Permission {
    let from = Referrer {
        group: kind.group(),
        kind: kind.as_str(),
        namespace: &route.namespace,
    };
    let to = Referent {
        group: target.group(),
        kind: target.kind(),
        namespace: &target.name().namespace,
        name: &target.name().name,
    };
    permitted(snapshot, settings, from, to)
}

/// The prefixes of a StaticService; `None` when there is no such object.
fn prefixes(
    snapshot: &Snapshot,
    name: &NamespacedName,
    problems: &mut Vec<BackendProblem>,
) -> Option<Peers> {
    let static_service = snapshot.static_services.get(name)?;
    let mut nets = Vec::new();
    for prefix in &static_service.spec.prefixes {
        // An endpoint may carry ports, a prefix may not: they come from the backendRef.
        match prefix.trim().parse::<Endpoint>() {
            Ok(endpoint) if !prefix.contains('<') => nets.push(endpoint.net),
            _ => problems.push(BackendProblem::BadPrefix {
                static_service: name.clone(),
                prefix: prefix.clone(),
            }),
        }
    }
    Some(Peers::Addresses {
        endpoints: nets.iter().collect::<BTreeSet<_>>().len(),
        nets,
    })
}

/// The endpoints of a cluster so far.
#[derive(Debug)]
enum Collected {
    Nothing,
    Addresses(BTreeSet<Endpoint>),
    Names(BTreeSet<DnsEndpoint>),
}

impl Collected {
    /// False when the peers are not of the cluster's kind, which the first backend decides.
    fn add(&mut self, peers: Peers, ports: PortRange) -> bool {
        if matches!(self, Collected::Nothing) {
            *self = match peers {
                Peers::Addresses { .. } => Collected::Addresses(BTreeSet::new()),
                Peers::Name(_) => Collected::Names(BTreeSet::new()),
            };
        }
        match (self, peers) {
            (Collected::Addresses(endpoints), Peers::Addresses { nets, .. }) => {
                endpoints.extend(nets.into_iter().map(|net| Endpoint { net, ports }));
                true
            }
            (Collected::Names(endpoints), Peers::Name(name)) => {
                endpoints.insert(DnsEndpoint { name, ports });
                true
            }
            _ => false,
        }
    }

    fn into_kind(self) -> ClusterKind {
        match self {
            Collected::Nothing => ClusterKind::Static(Vec::new()),
            Collected::Addresses(endpoints) => ClusterKind::Static(endpoints.into_iter().collect()),
            Collected::Names(endpoints) => ClusterKind::StrictDns(endpoints.into_iter().collect()),
        }
    }
}
