//! Which object is meant: kinds, keys, and the units of translation.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Namespace, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stunner_api::gateway::{Gateway, GatewayClass, L4Route, ReferenceGrant};
use stunner_api::v1::{Dataplane, GatewayConfig, StaticService, UdpRoute};
use stunner_api::{NamespacedName, names};

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

/// Names a route of any kind.
pub(crate) type RouteId = (RouteKind, NamespacedName);

impl RouteKind {
    pub const ALL: [RouteKind; 3] = [
        RouteKind::Udp,
        RouteKind::OfficialUdp,
        RouteKind::OfficialTcp,
    ];

    /// The API group.
    pub fn group(self) -> &'static str {
        match self {
            RouteKind::Udp => names::GROUP,
            RouteKind::OfficialUdp | RouteKind::OfficialTcp => names::GATEWAY_GROUP,
        }
    }

    /// The kind as Kubernetes spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            RouteKind::Udp | RouteKind::OfficialUdp => names::UDP_ROUTE_KIND,
            RouteKind::OfficialTcp => names::TCP_ROUTE_KIND,
        }
    }
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

impl ObjectKind {
    pub const ALL: [ObjectKind; 18] = [
        ObjectKind::GatewayClass,
        ObjectKind::GatewayConfig,
        ObjectKind::Gateway,
        ObjectKind::Route(RouteKind::Udp),
        ObjectKind::Route(RouteKind::OfficialUdp),
        ObjectKind::Route(RouteKind::OfficialTcp),
        ObjectKind::StaticService,
        ObjectKind::Dataplane,
        ObjectKind::ReferenceGrant,
        ObjectKind::Secret,
        ObjectKind::Service,
        ObjectKind::EndpointSlice,
        ObjectKind::Endpoints,
        ObjectKind::Namespace,
        ObjectKind::Node,
        ObjectKind::Deployment,
        ObjectKind::DaemonSet,
        ObjectKind::ConfigMap,
    ];

    /// The kind that a manifest says it is of. The group counts only for UDPRoutes, of which there are two kinds.
    pub fn of_manifest(manifest: &Value) -> Option<Self> {
        let kind = manifest.get("kind")?.as_str()?;
        let api_version = manifest.get("apiVersion").and_then(Value::as_str);
        let group = api_version.and_then(|version| version.split_once('/'));
        let is_official = group.is_some_and(|(group, _)| group == names::GATEWAY_GROUP);
        let mut kinds = Self::ALL.into_iter().filter(|kind| match kind {
            ObjectKind::Route(RouteKind::Udp) => !is_official,
            _ => true,
        });
        kinds.find(|known| known.to_string() == kind)
    }
}

/// The kind as Kubernetes spells it.
impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectKind::Route(kind) => f.write_str(kind.as_str()),
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

impl ObjectKey {
    pub fn new(kind: ObjectKind, namespace: &str, name: &str) -> Self {
        ObjectKey {
            kind,
            name: NamespacedName::new(namespace, name),
        }
    }
}

/// An object of the world, shared with whoever cached it.
#[derive(Clone)]
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

impl Object {
    /// Reads an object of a kind. The error may repeat a value of it.
    pub fn read(kind: ObjectKind, value: Value) -> Result<Object, serde_json::Error> {
        fn typed<T: DeserializeOwned>(value: Value) -> Result<Arc<T>, serde_json::Error> {
            serde_json::from_value(value).map(Arc::new)
        }
        match kind {
            ObjectKind::GatewayClass => typed(value).map(Object::GatewayClass),
            ObjectKind::GatewayConfig => typed(value).map(Object::GatewayConfig),
            ObjectKind::Gateway => typed(value).map(Object::Gateway),
            ObjectKind::Route(RouteKind::Udp) => typed(value).map(Object::UdpRoute),
            ObjectKind::Route(RouteKind::OfficialUdp) => typed(value).map(Object::OfficialUdpRoute),
            ObjectKind::Route(RouteKind::OfficialTcp) => typed(value).map(Object::OfficialTcpRoute),
            ObjectKind::StaticService => typed(value).map(Object::StaticService),
            ObjectKind::Dataplane => typed(value).map(Object::Dataplane),
            ObjectKind::ReferenceGrant => typed(value).map(Object::ReferenceGrant),
            ObjectKind::Secret => typed(value).map(Object::Secret),
            ObjectKind::Service => typed(value).map(Object::Service),
            ObjectKind::EndpointSlice => typed(value).map(Object::EndpointSlice),
            ObjectKind::Endpoints => typed(value).map(Object::Endpoints),
            ObjectKind::Namespace => typed(value).map(Object::Namespace),
            ObjectKind::Node => typed(value).map(Object::Node),
            ObjectKind::Deployment => typed(value).map(Object::Deployment),
            ObjectKind::DaemonSet => typed(value).map(Object::DaemonSet),
            ObjectKind::ConfigMap => typed(value).map(Object::ConfigMap),
        }
    }

    pub fn kind(&self) -> ObjectKind {
        match self {
            Object::GatewayClass(_) => ObjectKind::GatewayClass,
            Object::GatewayConfig(_) => ObjectKind::GatewayConfig,
            Object::Gateway(_) => ObjectKind::Gateway,
            Object::UdpRoute(_) => ObjectKind::Route(RouteKind::Udp),
            Object::OfficialUdpRoute(_) => ObjectKind::Route(RouteKind::OfficialUdp),
            Object::OfficialTcpRoute(_) => ObjectKind::Route(RouteKind::OfficialTcp),
            Object::StaticService(_) => ObjectKind::StaticService,
            Object::Dataplane(_) => ObjectKind::Dataplane,
            Object::ReferenceGrant(_) => ObjectKind::ReferenceGrant,
            Object::Secret(_) => ObjectKind::Secret,
            Object::Service(_) => ObjectKind::Service,
            Object::EndpointSlice(_) => ObjectKind::EndpointSlice,
            Object::Endpoints(_) => ObjectKind::Endpoints,
            Object::Namespace(_) => ObjectKind::Namespace,
            Object::Node(_) => ObjectKind::Node,
            Object::Deployment(_) => ObjectKind::Deployment,
            Object::DaemonSet(_) => ObjectKind::DaemonSet,
            Object::ConfigMap(_) => ObjectKind::ConfigMap,
        }
    }

    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Object::GatewayClass(object) => &object.metadata,
            Object::GatewayConfig(object) => &object.metadata,
            Object::Gateway(object) => &object.metadata,
            Object::UdpRoute(object) => &object.metadata,
            Object::OfficialUdpRoute(object) | Object::OfficialTcpRoute(object) => &object.metadata,
            Object::StaticService(object) => &object.metadata,
            Object::Dataplane(object) => &object.metadata,
            Object::ReferenceGrant(object) => &object.metadata,
            Object::Secret(object) => &object.metadata,
            Object::Service(object) => &object.metadata,
            Object::EndpointSlice(object) => &object.metadata,
            Object::Endpoints(object) => &object.metadata,
            Object::Namespace(object) => &object.metadata,
            Object::Node(object) => &object.metadata,
            Object::Deployment(object) => &object.metadata,
            Object::DaemonSet(object) => &object.metadata,
            Object::ConfigMap(object) => &object.metadata,
        }
    }

    pub fn key(&self) -> ObjectKey {
        ObjectKey {
            kind: self.kind(),
            name: NamespacedName::of(self.metadata()),
        }
    }
}

/// Only its name: it may be a Secret, or carry one in an annotation.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectKey { kind, name } = self.key();
        write!(f, "{kind}({name})")
    }
}
