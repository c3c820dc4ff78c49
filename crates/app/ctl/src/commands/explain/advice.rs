//! Names for clusters and addresses, and what to change so that a peer is admitted.

use std::net::IpAddr;

use stunner_cluster::{Explanation, Grounds};
use stunner_translate::overview::{NearestBackend, Overview, RouteOverview};

use super::question::Question;

/// What the Kubernetes objects say about a listener and a peer; nothing of it where they could not be read.
#[derive(Debug, Default)]
pub(super) struct Known<'a> {
    pub(super) overview: Option<&'a Overview>,
    /// The Service or StaticService that has the peer's address, else one of a route that is close to it.
    pub(super) nearest: Option<NearestBackend>,
}

impl Known<'_> {
    /// The route behind a cluster, `UDPRoute namespace/name`. Clusters are named after their routes.
    pub(super) fn route(&self, cluster: &str) -> Option<&RouteOverview> {
        let mut routes = self.overview?.routes.iter();
        routes.find(|route| route.cluster.as_deref() == Some(cluster))
    }

    /// The backend that has the peer, where it has it and is not merely close.
    pub(super) fn holder(&self) -> Option<&NearestBackend> {
        self.nearest.as_ref().filter(|nearest| nearest.holds)
    }

    fn naming(&self, backend: &NearestBackend) -> Vec<&RouteOverview> {
        let names = |route: &&RouteOverview| {
            route.backends.iter().any(|it| {
                (&it.kind, &it.namespace, &it.name)
                    == (&backend.kind, &backend.namespace, &backend.name)
            })
        };
        let routes = self.overview.map(|overview| &overview.routes);
        routes.into_iter().flatten().filter(names).collect()
    }

    /// The routes of a listener; `None` where that is not known.
    fn routes_of(&self, listener: &str) -> Option<Vec<&RouteOverview>> {
        let overview = self.overview?;
        let mut listeners = overview.gateways.iter().flat_map(|it| &it.listeners);
        let listener = listeners.find(|it| it.id == listener)?;
        let routes = overview.routes.iter();
        Some(
            routes
                .filter(|route| listener.routes.contains(&route.id))
                .collect(),
        )
    }
}

pub(super) fn route_name(route: &RouteOverview) -> String {
    format!("{} {}/{}", route.kind, route.namespace, route.name)
}

/// What to change, for a peer that is refused.
pub(super) fn change(explanation: &Explanation, question: &Question, known: &Known<'_>) -> String {
    let listener = explanation.listener.as_str();
    let reason = explanation.reason.as_deref().unwrap_or_default();
    let grounds = explanation.grounds.as_ref();
    match reason {
        "no_route" => no_route(listener, question, known),
        "port" => port(question, grounds, known),
        "transport" => transport(question, grounds, known),
        "loopback" => by_name(
            question.peer,
            "127.0.0.0/8 or ::1/128",
            "; for tests on one host, `--allow-loopback-peers` lifts the rule",
        ),
        "link_local" => by_name(question.peer, "169.254.0.0/16 or fe80::/10", ""),
        "multicast" => by_name(question.peer, "224.0.0.0/4 or ff00::/8", ""),
        "unspecified" => by_name(question.peer, "0.0.0.0/8 or ::/128", ""),
        "broadcast" => by_name(question.peer, "255.255.255.255/32", ""),
        "own_address" => format!(
            "the address is the gateway's own: ports of live allocations are reached without more; for any other port, \
             add a StaticService with the prefix {} to a route",
            host_prefix(question.peer)
        ),
        "own_listener" => "choose another peer: gateways do not relay to themselves".to_owned(),
        _ => "see docs/reference/metrics.md for the reason".to_owned(),
    }
}

fn no_route(listener: &str, question: &Question, known: &Known<'_>) -> String {
    let peer = question.peer;
    let routes = known.routes_of(listener);
    let attached = routes.as_deref().unwrap_or_default();
    // A route of the other protocol would not help.
    let suitable = attached
        .iter()
        .find(|route| route.kind == kind_for(question));
    let into = match (suitable, &routes) {
        (Some(route), _) => format!("the backendRefs of {}", route_name(route)),
        (None, Some(_)) => format!(
            "a {} whose parentRefs name the gateway of `{listener}`, which has none yet",
            kind_for(question)
        ),
        (None, None) => format!("a route of `{listener}`"),
    };
    let Some(holder) = known.holder() else {
        let no_holder = match known.overview {
            Some(_) => format!("no Service or StaticService has {peer}: "),
            None => String::new(),
        };
        return format!(
            "{no_holder}add the Service that the peer belongs to, or a StaticService with the prefix {}, to {into}",
            host_prefix(peer)
        );
    };
    let naming = known.naming(holder);
    let mut here = naming
        .iter()
        .filter(|route| attached.iter().any(|it| it.id == route.id));
    if let Some(route) = here.next() {
        let backends = route.backends.iter();
        let mut broken = backends.filter(|it| it.name == holder.name && !it.resolved);
        return match broken.next() {
            Some(backend) => format!("{}: {}", route_name(route), backend.message),
            None => format!(
                "{} names {holder} already: the configuration with it has not reached this dataplane; wait, or see \
                 `stunnerctl doctor`",
                route_name(route)
            ),
        };
    }
    match naming.first() {
        Some(route) => format!(
            "{} names {holder}, but is not attached to `{listener}`: add the gateway to its parentRefs, or see its status \
             for why it was not accepted",
            route_name(route)
        ),
        None => format!("add {holder}, which has {peer}, to {into}"),
    }
}

/// The kind of route that makes clusters of the transport.
fn kind_for(question: &Question) -> &'static str {
    match question.transport {
        stunner_config::PeerTransport::Udp => "UDPRoute",
        stunner_config::PeerTransport::Tcp => "TCPRoute",
    }
}

fn route_of(grounds: Option<&Grounds>, known: &Known<'_>) -> String {
    match grounds {
        Some(grounds) => match known.route(&grounds.cluster) {
            Some(route) => route_name(route),
            None => format!("the route of cluster {}", grounds.cluster),
        },
        None => "the route".to_owned(),
    }
}

fn port(question: &Question, grounds: Option<&Grounds>, known: &Known<'_>) -> String {
    let route = route_of(grounds, known);
    let have = match grounds {
        Some(grounds) => format!(" from {}", grounds.ports),
        None => String::new(),
    };
    let reach = match question.port {
        Some(port) => format!("so that they reach {port}"),
        None => "so that they hold a port".to_owned(),
    };
    format!(
        "change `port` and `endPort` of the backendRef in {route}{have} {reach}, or leave both out to admit all ports"
    )
}

fn transport(question: &Question, grounds: Option<&Grounds>, known: &Known<'_>) -> String {
    let route = route_of(grounds, known);
    match question.transport {
        stunner_config::PeerTransport::Udp => {
            format!("{route} admits TCP only: add a UDPRoute with the same backend")
        }
        stunner_config::PeerTransport::Tcp => format!(
            "{route} admits UDP only, which is what most media needs: let the client allocate UDP, or add a TCPRoute with \
             the same backend"
        ),
    }
}

fn by_name(peer: IpAddr, range: &str, more: &str) -> String {
    format!(
        "if clients are really meant to reach it, add a StaticService with the prefix {} (inside {range}) to a \
         route{more}",
        host_prefix(peer)
    )
}

fn host_prefix(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("{address}/32"),
        IpAddr::V6(address) => format!("{address}/128"),
    }
}
