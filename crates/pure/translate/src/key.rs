//! Which object is meant: kinds, keys, and the units of translation.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Namespace, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass, L4Route, ReferenceGrant};
use stunner_api::v1::{Dataplane, GatewayConfig, StaticService, UdpRoute};

/// The kinds of route that can attach to a Gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// `stunner.l7mp.io` UDPRoute.
    Udp,
    /// `gateway.networking.k8s.io` UDPRoute, in whichever version is served.
    OfficialUdp,
    /// `gateway.networking.k8s.io` TCPRoute.
    OfficialTcp,
}

/// A part of the world that is translated by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    Class(String),
    Gateway(NamespacedName),
    Route(RouteKind, NamespacedName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    GatewayClass,
    GatewayConfig,
    Gateway,
    Route(RouteKind),
    StaticService,
    Dataplane,
    ReferenceGrant,
    Secret,
    Service,
    EndpointSlice,
    Endpoints,
    Namespace,
    Node,
    Deployment,
    DaemonSet,
    ConfigMap,
}

/// The kind as Kubernetes spells it.
impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectKind::Route(RouteKind::Udp | RouteKind::OfficialUdp) => f.write_str("UDPRoute"),
            ObjectKind::Route(RouteKind::OfficialTcp) => f.write_str("TCPRoute"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// Names an object; the namespace of a cluster-scoped one is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub kind: ObjectKind,
    pub name: NamespacedName,
}

/// An object of the world, shared with whoever cached it.
#[derive(Debug, Clone)]
pub enum Object {
    GatewayClass(Arc<GatewayClass>),
    GatewayConfig(Arc<GatewayConfig>),
    Gateway(Arc<Gateway>),
    UdpRoute(Arc<UdpRoute>),
    OfficialUdpRoute(Arc<L4Route>),
    OfficialTcpRoute(Arc<L4Route>),
    StaticService(Arc<StaticService>),
    Dataplane(Arc<Dataplane>),
    ReferenceGrant(Arc<ReferenceGrant>),
    Secret(Arc<Secret>),
    Service(Arc<Service>),
    EndpointSlice(Arc<EndpointSlice>),
    Endpoints(Arc<Endpoints>),
    Namespace(Arc<Namespace>),
    Node(Arc<Node>),
    /// Of the workload kinds only objects named like a Gateway matter: is that name taken, and by whom.
    Deployment(Arc<Deployment>),
    DaemonSet(Arc<DaemonSet>),
    ConfigMap(Arc<ConfigMap>),
}
