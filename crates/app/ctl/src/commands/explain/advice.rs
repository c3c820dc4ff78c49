//! Names for clusters and addresses, and what to change so that a peer is admitted.

use std::net::{IpAddr, Ipv4Addr};

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
    if let Some(closed) = stays_closed(question, reason, known) {
        return closed;
    }
    match reason {
        NO_RELAY => "ask for the peer's address of the other family, or give the gateway one of this family: dual-stack pods and \
             Services, or an `address` of both families in a config of your own"
            .to_owned(),
        "no_route" => no_route(listener, question, known),
        "port" => port(question, grounds, known),
        "transport" => transport(question, grounds, known),
        "loopback" => by_name(
            question.peer,
            "127.0.0.0/8 or ::1/128",
            "; for tests on one host, `--allow-loopback-peers` lifts the rule",
        ),
        "own_address" => "the address is the gateway's own: ports of live allocations are reached without more, and its other \
             ports should stay closed to clients"
            .to_owned(),
        _ => "see docs/reference/metrics.md for the reason".to_owned(),
    }
}

/// The routes admit the peer, and no relay could send to it.
pub(super) const NO_RELAY: &str = "address_family";

pub(super) fn no_relay(explanation: &Explanation, question: &Question) -> String {
    let family = match question.peer.to_canonical() {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    };
    let relays: Vec<String> = explanation.relays.iter().map(ToString::to_string).collect();
    format!(
        "the routes admit it, but the gateway has no {family} relay address, only {}",
        relays.join(" and ")
    )
}

/// Why nobody should open the way to this peer, where that is so. What a rule has already by name is not asked about.
fn stays_closed(question: &Question, reason: &str, known: &Known<'_>) -> Option<String> {
    if ["port", "transport", NO_RELAY].contains(&reason) {
        return None;
    }
    let peer = question.peer.to_canonical();
    let why = match peer {
        _ if reason == "own_listener" || is_listener(question, known) => {
            "it is a listener of the gateway itself, which is never a peer: gateways do not relay to themselves; give the \
             address of what clients are to talk to"
        }
        _ if METADATA.iter().any(|it| it.parse() == Ok(peer)) => {
            "leave it closed: it is where clouds hand out the credentials of their machines, and every client could ask for \
             them"
        }
        // By the address and not by the reason: where no route comes near, that is the first thing to be said.
        _ if is_unspecified(peer) => "it is no address of a host: give the peer's own",
        _ if peer.is_multicast() || peer == IpAddr::V4(Ipv4Addr::BROADCAST) => {
            "it is never a peer: it is the address of many hosts, and TURN relays between two"
        }
        _ if is_link_local(peer) => {
            "leave it closed: it is reached on one link only, and what is there, such as a cloud's metadata service, trusts \
             everybody"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// All of 0.0.0.0/8 is "this network" (RFC 1122 §3.2.1.3).
fn is_unspecified(peer: IpAddr) -> bool {
    match peer {
        IpAddr::V4(peer) => peer.octets()[0] == 0,
        IpAddr::V6(peer) => peer.is_unspecified(),
    }
}

fn is_link_local(peer: IpAddr) -> bool {
    match peer {
        IpAddr::V4(peer) => peer.is_link_local(),
        IpAddr::V6(peer) => peer.is_unicast_link_local(),
    }
}

/// Where clouds tell their machines who they are; not all of it is link-local.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
];

/// Whether the peer is where clients find one of the gateways.
fn is_listener(question: &Question, known: &Known<'_>) -> bool {
    let gateways = known.overview.map(|overview| &overview.gateways);
    let listeners = gateways.into_iter().flatten().flat_map(|it| &it.listeners);
    let peer = question.peer.to_canonical().to_string();
    let mut public = listeners.filter(|it| it.public_address.as_deref() == Some(&peer));
    public.any(|it| question.port.is_none() || it.public_port == question.port)
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
