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
    context.snapshot.reachable_node().and_then(node_address)
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
            .filter(|address| address.type_ == type_)
            // Cloud providers write these, and a status with an address that is none cannot be stored.
            .find(|address| match type_ {
                "ExternalIP" => address.address.parse::<IpAddr>().is_ok(),
                _ => !address.address.is_empty(),
            })
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
mod tests;
