//! Where clients reach the listeners of a Gateway.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{LoadBalancerIngress, Node, Service, ServicePort, ServiceSpec};
use stunner_api::gateway::Gateway;
use stunner_api::names::{GATEWAY_KIND, annotation, label};

use crate::context::{GatewayContext, ListenerPlan, PublicAddress};
use crate::metadata;
use crate::options::ServiceType;
use crate::service;

/// The first of `spec.addresses`, if it has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestedAddress {
    Ip(String),
    Hostname(String),
    /// Neither an IP address nor a host name; `type_` and `value` as written.
    Unusable {
        type_: String,
        value: String,
    },
}

pub(crate) fn requested_address(gateway: &Gateway) -> Option<RequestedAddress> {
    let first = gateway.spec.addresses.first()?;
    let value = first.value.clone().filter(|value| !value.is_empty())?;
    Some(match first.type_.as_deref().unwrap_or("IPAddress") {
        "IPAddress" if value.parse::<IpAddr>().is_ok() => RequestedAddress::Ip(value),
        "Hostname" => RequestedAddress::Hostname(value),
        type_ => RequestedAddress::Unusable {
            type_: type_.to_owned(),
            value,
        },
    })
}

/// Where each listener is reached, one entry per listener.
///
/// In this order: what the Gateway asks for, the load balancer, a node, and inside the cluster for a Gateway that is
/// not to be reached from elsewhere.
pub(crate) fn public_addresses(context: &GatewayContext<'_>) -> Vec<Option<PublicAddress>> {
    let requested = match requested_address(context.gateway) {
        Some(RequestedAddress::Ip(address)) => Some((address, false)),
        Some(RequestedAddress::Hostname(address)) => Some((address, true)),
        Some(RequestedAddress::Unusable { .. }) | None => None,
    };
    let live = live_service(context);
    let exposed = service::exposed(context.options, context.listeners);
    context
        .listeners
        .iter()
        .zip(exposed)
        .map(|(listener, exposed)| {
            if !listener.is_served() {
                return None;
            }
            if let Some((address, hostname)) = &requested {
                return Some(PublicAddress {
                    address: address.clone(),
                    port: listener.spec_port,
                    hostname: *hostname,
                });
            }
            service_address(context, live.filter(|_| exposed)?, listener)
        })
        .collect()
}

/// The Service named like the Gateway, if it was made for it: a Gateway that was deleted and made anew, or a stranger
/// of the same name, must not lend its address.
pub(crate) fn live_service<'a>(context: &GatewayContext<'a>) -> Option<&'a Service> {
    let service: &'a Service = context.snapshot.services.get(context.name)?;
    let metadata = &service.metadata;
    let uid = context.gateway.metadata.uid.as_deref();
    let owned = metadata.owner_references.iter().flatten().any(|owner| {
        owner.kind == GATEWAY_KIND
            && owner.name == context.name.name
            && Some(owner.uid.as_str()) == uid
    });
    let annotated = metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(annotation::RELATED_GATEWAY))
        .is_some_and(|gateway| *gateway == context.name.to_string());
    let labelled = || {
        let labels = metadata.labels.as_ref();
        let value = |key: &str| labels.and_then(|labels| labels.get(key));
        value(label::RELATED_GATEWAY_NAME)
            == Some(&metadata::gateway_label_value(&context.name.name))
            && value(label::RELATED_GATEWAY_NAMESPACE) == Some(&context.name.namespace)
    };
    (owned && (annotated || labelled())).then_some(service)
}

fn service_address(
    context: &GatewayContext<'_>,
    service: &Service,
    listener: &ListenerPlan,
) -> Option<PublicAddress> {
    let spec = service.spec.as_ref()?;
    let transport = service::transport(listener)?.as_str();
    let port = spec.ports.iter().flatten().find(|port| {
        port.port == i32::from(listener.spec_port)
            // UDP or TCP; the API server writes TCP where nothing was said.
            && port.protocol.as_deref().unwrap_or("TCP").eq_ignore_ascii_case(transport)
    })?;
    let is = |service_type: ServiceType| spec.type_.as_deref() == Some(service_type.as_str());
    if is(ServiceType::LoadBalancer)
        && let Some(address) = balanced_address(service, listener, transport)
    {
        return Some(address);
    }
    if let Some(address) = node_port_address(context, port) {
        return Some(address);
    }
    if is(ServiceType::ClusterIp) && context.options.service_type == ServiceType::ClusterIp {
        return cluster_address(spec, listener);
    }
    None
}

/// A load balancer may have an address per port. Where it does not say, the first address is that of all ports.
fn balanced_address(
    service: &Service,
    listener: &ListenerPlan,
    transport: &str,
) -> Option<PublicAddress> {
    let ingress: Vec<&LoadBalancerIngress> = service
        .status
        .as_ref()?
        .load_balancer
        .as_ref()?
        .ingress
        .iter()
        .flatten()
        .filter(|ingress| ingress_address(ingress).is_some())
        .collect();
    let of_port = ingress.iter().find(|ingress| {
        ingress.ports.iter().flatten().any(|port| {
            port.port == i32::from(listener.spec_port)
                && port.protocol.eq_ignore_ascii_case(transport)
                && port.error.is_none()
        })
    });
    let (address, hostname) = ingress_address(of_port.or(ingress.first())?)?;
    Some(PublicAddress {
        address: address.to_owned(),
        port: listener.spec_port,
        hostname,
    })
}

fn ingress_address(ingress: &LoadBalancerIngress) -> Option<(&str, bool)> {
    let ip = ingress.ip.as_deref().filter(|ip| !ip.is_empty());
    let hostname = || ingress.hostname.as_deref().filter(|name| !name.is_empty());
    ip.map(|ip| (ip, false))
        .or_else(|| hostname().map(|name| (name, true)))
}

fn node_port_address(context: &GatewayContext<'_>, port: &ServicePort) -> Option<PublicAddress> {
    let port = u16::try_from(port.node_port?)
        .ok()
        .filter(|&port| port > 0)?;
    let node = chosen_node(context)?;
    Some(PublicAddress {
        address: node.address,
        port,
        hostname: node.hostname,
    })
}

/// Any node forwards the port, so that the choice is free, and it has to stay the same from one translation to the
/// next: the first by name that has an IP address, else the first that has a host name.
fn chosen_node(context: &GatewayContext<'_>) -> Option<NodeAddress> {
    let mut named = None;
    for address in context
        .snapshot
        .nodes
        .values()
        .filter_map(|n| node_address(n))
    {
        if !address.hostname {
            return Some(address);
        }
        named.get_or_insert(address);
    }
    named
}

fn cluster_address(spec: &ServiceSpec, listener: &ListenerPlan) -> Option<PublicAddress> {
    let address = spec
        .cluster_ip
        .as_deref()
        .filter(|ip| !ip.is_empty() && *ip != "None")?;
    Some(PublicAddress {
        address: address.to_owned(),
        port: listener.spec_port,
        hostname: false,
    })
}

/// An address of a node that is reachable from outside the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeAddress {
    pub(crate) address: String,
    /// A host name, not an IP address.
    pub(crate) hostname: bool,
}

/// The first `ExternalIP` of a node, else the first `ExternalDNS`.
pub(crate) fn node_address(node: &Node) -> Option<NodeAddress> {
    let addresses = node.status.as_ref()?.addresses.as_deref()?;
    let of_type = |type_: &str| {
        addresses
            .iter()
            .find(|address| address.type_ == type_ && !address.address.is_empty())
            .map(|address| address.address.clone())
    };
    let ip = of_type("ExternalIP").map(|address| NodeAddress {
        address,
        hostname: false,
    });
    ip.or_else(|| {
        of_type("ExternalDNS").map(|address| NodeAddress {
            address,
            hostname: true,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use serde_json::{Value, json};

    /// Addresses as `address:port`, with a `!` where it is a host name.
    fn addresses(world: &World) -> Vec<String> {
        world
            .translated(public_addresses)
            .into_iter()
            .map(|address| match address {
                None => "-".to_owned(),
                Some(address) => format!(
                    "{}{}:{}",
                    if address.hostname { "!" } else { "" },
                    address.address,
                    address.port
                ),
            })
            .collect()
    }

    fn two() -> World {
        World::with_listeners(&["a UDP 1", "b UDP 2"])
    }

    fn ports() -> Value {
        json!([
            {"name": "a", "port": 1, "protocol": "UDP", "nodePort": 30001},
            {"name": "b", "port": 2, "protocol": "UDP", "nodePort": 30002},
        ])
    }

    fn balanced(ingress: Value) -> World {
        two().with_service(json!({
            "spec": {"type": "LoadBalancer", "ports": ports()},
            "status": {"loadBalancer": {"ingress": ingress}},
        }))
    }

    #[test]
    fn u127_to_u129_a_load_balancer_gives_its_address_to_all_ports() {
        let with_ports = json!([{"ip": "1.2.3.4", "ports": [
            {"port": 1, "protocol": "UDP"}, {"port": 2, "protocol": "UDP"},
        ]}]);
        assert_eq!(addresses(&balanced(with_ports)), ["1.2.3.4:1", "1.2.3.4:2"]);
        let named = json!([{"hostname": "lb.example.test"}]);
        assert_eq!(
            addresses(&balanced(named)),
            ["!lb.example.test:1", "!lb.example.test:2"]
        );
        let both = json!([{}, {"ip": "2001:db8::1", "hostname": "lb.example.test"}]);
        assert_eq!(
            addresses(&balanced(both)),
            ["2001:db8::1:1", "2001:db8::1:2"]
        );
    }

    #[test]
    fn u130_to_u132_a_service_that_is_not_marked_as_ours_gives_no_address() {
        let with = |metadata: Value| {
            two().with_service(json!({
                "metadata": metadata,
                "spec": {"type": "LoadBalancer", "ports": ports()},
                "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            }))
        };
        for metadata in [
            json!({"annotations": null}),
            json!({"annotations": {"stunner.l7mp.io/related-gateway-name": "stunner/other"}}),
            json!({"ownerReferences": null}),
            json!({"ownerReferences": [{
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "Gateway", "name": "gw", "uid": "of the Gateway before",
            }]}),
        ] {
            assert_eq!(addresses(&with(metadata.clone())), ["-", "-"], "{metadata}");
        }
        let labelled = json!({"annotations": null, "labels": {
            "stunner.l7mp.io/related-gateway-name": "gw",
            "stunner.l7mp.io/related-gateway-namespace": "stunner",
        }});
        assert_eq!(addresses(&with(labelled)), ["1.2.3.4:1", "1.2.3.4:2"]);
    }

    #[test]
    fn u133_u134_a_listener_without_a_port_of_the_service_has_no_address() {
        let world = World::with_listeners(&["a UDP 1", "odd SCTP 2", "c UDP 3", "d TCP 2"])
            .with_service(json!({
                "spec": {"type": "LoadBalancer", "ports": ports()},
                "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            }));
        assert_eq!(addresses(&world), ["1.2.3.4:1", "-", "-", "-"]);
    }

    #[test]
    fn u135_a_load_balancer_may_have_an_address_per_port() {
        let ingress = json!([
            {"ip": "1.2.3.4", "ports": [{"port": 1, "protocol": "UDP"}]},
            {"ip": "5.6.7.8", "ports": [{"port": 2, "protocol": "UDP"}]},
        ]);
        assert_eq!(addresses(&balanced(ingress)), ["1.2.3.4:1", "5.6.7.8:2"]);
    }

    #[test]
    fn u136_a_node_port_is_reached_on_the_first_node_with_an_ip_address() {
        let world = two()
            .with_service(json!({"spec": {"type": "NodePort", "ports": ports()}}))
            .with_node("a", &["InternalIP=10.0.0.1"])
            .with_node("b", &["ExternalDNS=b.example.test"])
            .with_node("c", &["Hostname=c", "ExternalIP=203.0.113.3"])
            .with_node("d", &["ExternalIP=203.0.113.4"]);
        assert_eq!(
            addresses(&world),
            ["203.0.113.3:30001", "203.0.113.3:30002"]
        );
        let named = two()
            .with_service(json!({"spec": {"type": "NodePort", "ports": ports()}}))
            .with_node("b", &["ExternalDNS=b.example.test"]);
        assert_eq!(
            addresses(&named),
            ["!b.example.test:30001", "!b.example.test:30002"]
        );
    }

    #[test]
    fn a_load_balancer_without_address_is_reached_on_a_node() {
        let world = balanced(json!([])).with_node("a", &["ExternalIP=203.0.113.3"]);
        assert_eq!(
            addresses(&world),
            ["203.0.113.3:30001", "203.0.113.3:30002"]
        );
    }

    #[test]
    fn u103_to_u105_the_address_of_a_node_is_external() {
        let of = |addresses: &[&str]| {
            let world = two().with_node("n", addresses);
            world.snapshot.nodes.values().find_map(|n| node_address(n))
        };
        let ip = |address: &str| {
            Some(NodeAddress {
                address: address.to_owned(),
                hostname: false,
            })
        };
        assert_eq!(
            of(&["ExternalIP=1.2.3.4", "ExternalIP=5.6.7.8"]),
            ip("1.2.3.4")
        );
        assert_eq!(
            of(&["ExternalDNS=n.example.test", "ExternalIP=1.2.3.4"]),
            ip("1.2.3.4")
        );
        assert_eq!(of(&["InternalIP=10.0.0.1"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_service_inside_the_cluster_is_reached_there_if_it_is_meant_to_be() {
        let live = |world: World| {
            world.with_service(json!({"spec": {
                "type": "ClusterIP", "clusterIP": "10.96.0.7",
                "ports": [{"name": "a", "port": 1, "protocol": "UDP"}],
            }}))
        };
        let inside = two().annotate("stunner.l7mp.io/service-type", "ClusterIP");
        assert_eq!(addresses(&live(inside)), ["10.96.0.7:1", "-"]);
        assert_eq!(addresses(&live(two())), ["-", "-"]);
    }

    #[test]
    fn a_requested_address_counts_for_every_listener_that_is_served() {
        let world = World::with_listeners(&["a UDP 1", "b TCP 2", "odd SCTP 3"])
            .ask_for_address(None, "198.51.100.7")
            .ask_for_address(None, "198.51.100.8");
        assert_eq!(addresses(&world), ["198.51.100.7:1", "198.51.100.7:2", "-"]);
        let named = two().ask_for_address(Some("Hostname"), "turn.example.test");
        assert_eq!(
            addresses(&named),
            ["!turn.example.test:1", "!turn.example.test:2"]
        );
    }

    #[test]
    fn a_requested_address_of_another_type_is_not_used() {
        for (type_, value) in [
            (Some("NamedAddress"), "a"),
            (Some("example.test/pool"), "a"),
            (None, "not-an-address"),
        ] {
            let world = two().ask_for_address(type_, value);
            assert!(matches!(
                requested_address(&world.gateway),
                Some(RequestedAddress::Unusable { .. })
            ));
            assert_eq!(addresses(&world), ["-", "-"]);
        }
        let empty = two().ask_for_address(None, "");
        assert_eq!(requested_address(&empty.gateway), None);
    }
}
