//! Where clients reach the listeners of a Gateway.

use k8s_openapi::api::core::v1::Node;
use stunner_api::gateway::{Gateway, Listener};
use stunner_config::Protocol;

use crate::context::{GatewayContext, PublicAddress};

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
    let _ = gateway;
    None
}

/// Where each listener is reached, one entry per listener. These belong into the Gateway's status.
pub(crate) fn public_addresses(context: &GatewayContext<'_>) -> Vec<Option<PublicAddress>> {
    context.listeners.iter().map(|_| None).collect()
}

/// What clients of a listener are told, given where it is reached: the host name of a TLS or DTLS listener, which its
/// certificate has to match. It belongs into the configuration only; the status names what DNS is to point at.
pub(crate) fn advertised(
    listener: &Listener,
    protocol: Option<Protocol>,
    address: &PublicAddress,
) -> PublicAddress {
    let _ = (listener, protocol);
    address.clone()
}

/// An address of a node that is reachable from outside the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeAddress {
    pub(crate) address: String,
    /// A host name, not an IP address.
    pub(crate) hostname: bool,
}

pub(crate) fn node_address(node: &Node) -> Option<NodeAddress> {
    let _ = node;
    None
}
